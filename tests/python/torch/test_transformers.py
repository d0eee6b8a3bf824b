# SPDX-License-Identifier: Apache-2.0
"""The callback for Hugging Face's Trainer, with a tiny BERT and no master."""
import json
import logging
import os
import subprocess
import sys
import unittest

import children
from place import Offline

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

import determined as det
from determined import core
from determined.transformers import DetCallback

transformers.utils.logging.set_verbosity_error()
torch.set_num_threads(1)


class Words(torch.utils.data.Dataset):
    """20 sentences of 6 words; the label is whether the first word is in the upper half.  With `noise` a word is
    replaced at random whenever a sentence is read, by the global generator of whoever reads it."""

    def __init__(self, noise=False):
        random = torch.Generator().manual_seed(3)
        self.words = torch.randint(0, 32, (20, 6), generator=random)
        self.noise = noise

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        words = self.words[index].clone()
        if self.noise:
            words[3] = torch.randint(0, 32, ())
        return {"input_ids": words, "labels": (words[0] >= 16).long()}


class KillAt(TrainerCallback):
    def __init__(self, step, raises=False):
        self.step = step

    def on_step_begin(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            children.kill_me()


class Noting(core._train.TrainContext):
    """Keeps what is reported."""

    def _report(self, group, steps_completed, metrics, batch_metrics=None):
        super()._report(group, steps_completed, metrics, batch_metrics)
        self.__dict__.setdefault("seen", []).append((group, steps_completed, metrics))

    def report_progress(self, progress):
        super().report_progress(progress)
        self.__dict__.setdefault("progress", []).append(progress)


def arguments(**more):
    settings = dict(
        output_dir="out",
        num_train_epochs=3,
        per_device_train_batch_size=4,
        logging_steps=2,
        eval_strategy="epoch",
        save_strategy="steps",
        save_steps=2,
        learning_rate=1e-2,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        seed=7,
    )
    settings.update(more)
    return TrainingArguments(**settings)


def train(kill_at=None, stop_at=None, callbacks=(), noise=False, user_data=None, twice=False, resume=True, **more):
    """5 steps an epoch, 15 in all; the weights and what was reported."""
    torch.manual_seed(os.getpid())  # nothing comes from here
    is_ranked = int(os.environ.get("WORLD_SIZE", "1")) > 1
    distributed = core.DistributedContext.from_torch_distributed() if is_ranked else None
    with core.init(distributed=distributed) as context:
        context.train.__class__ = Noting
        args = arguments(**more)
        callback = DetCallback(context, args, user_data=user_data)
        if stop_at is not None:
            asks = iter(range(1, 1000))
            context.preempt.should_preempt = lambda: next(asks) >= stop_at
        torch.manual_seed(7)
        model = BertForSequenceClassification(
            BertConfig(
                vocab_size=32,
                hidden_size=8,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=16,
                max_position_embeddings=8,
            )
        )
        extra = [KillAt(kill_at)] if kill_at is not None else []
        extra += [callback] if twice else []
        trainer = Trainer(
            model, args, train_dataset=Words(noise), eval_dataset=Words(), callbacks=[callback, *extra, *callbacks]
        )
        output = trainer.train(resume_from_checkpoint=args.resume_from_checkpoint if resume else None)
        after = trainer.evaluate()
        trainer.predict(Words())
        weights = {name: value.tolist() for name, value in trainer.model.state_dict().items()}
        return {
            "weights": weights,
            "steps": output.global_step,
            "seen": context.train.__dict__.get("seen", []),
            "progress": context.train.__dict__.get("progress", []),
            "resumed": args.resume_from_checkpoint,
            "is_preempted": callback.is_preempted,
            "user_data": callback.user_data,
            "eval_loss": after["eval_loss"],
            "best": trainer.state.best_model_checkpoint,
        }


class Callback(Offline):
    def setUp(self):
        super().setUp()
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)

    def place(self, name):
        """A run of its own: its folder for checkpoints, its folder for the Trainer."""
        return {"DET_OFFLINE_DIR": self.path(name)}, {"output_dir": self.path(name + "-out")}

    def well(self, done):
        self.assertEqual(done["code"], 0, done["log"][-3000:])
        return done["value"]

    def train(self, name, **more):
        environment, folder = self.place(name)
        return children.run(_train, {**folder, **more}, **environment)

    def steps(self, value, group, name):
        return [step for kind, step, metrics in value["seen"] if kind == group and name in metrics]

    # ---- what is reported and saved

    def test_a_training(self):
        data = {"corpus": "words"}
        value = self.well(self.train("run", user_data=data))
        self.assertEqual(value["steps"], 15)
        self.assertFalse(value["is_preempted"])
        self.assertEqual(self.steps(value, "training", "loss"), [2, 4, 6, 8, 10, 12, 14])
        # Each epoch's end; the last one once, and once more by the script itself.
        self.assertEqual(self.steps(value, "validation", "eval_loss"), [5, 10, 15, 15])
        names = {name for group, _, metrics in value["seen"] for name in metrics if group == "training"}
        self.assertEqual(
            names, {"loss", "grad_norm", "learning_rate", "batches", "epochs", "train_loss", "total_flos"}
        )
        last = [metrics for group, _, metrics in value["seen"] if group == "validation"][-1]
        self.assertEqual(set(last), {"eval_loss", "batches", "epochs"})
        self.assertEqual((last["batches"], last["epochs"]), (15, 3.0))
        self.assertEqual(value["progress"][-1], 1.0)
        self.assertEqual(value["progress"], sorted(value["progress"]))
        # Complete: it trains no more, and reports no curve again.
        again = self.well(self.train("run", user_data={}))
        self.assertEqual(again["weights"], value["weights"])
        self.assertTrue(again["resumed"].endswith("run-out/checkpoint-15"))
        self.assertEqual(self.steps(again, "training", "loss"), [])
        self.assertEqual(self.steps(again, "training", "train_loss"), [])
        self.assertEqual(again["user_data"], data)
        self.assertEqual(again["eval_loss"], value["eval_loss"])

    def test_a_killed_training_ends_with_the_same_weights(self):
        whole = self.well(self.train("whole"))
        for strategy in ({}, {"save_strategy": "epoch"}, {"gradient_accumulation_steps": 2, "max_steps": 8}):
            unbroken = whole if not strategy else self.well(self.train("u" + "".join(strategy), **strategy))
            name = "killed" + "".join(strategy)
            for kill_at in (3, 4, 6) if strategy else (1, 3, 5, 6, 9, 10, 14):
                done = self.train(name, kill_at=kill_at, **strategy)
                self.assertEqual(done["code"], children.KILLED, done["log"][-3000:])
            value = self.well(self.train(name, **strategy))
            self.assertEqual(value["weights"], unbroken["weights"], strategy)
            self.assertEqual(value["eval_loss"], unbroken["eval_loss"])
        # On another machine there is only what was uploaded.
        self.assertEqual(self.train("moved", kill_at=9)["code"], children.KILLED)
        os.rename(self.path("moved-out"), self.path("lost"))
        self.assertEqual(self.well(self.train("moved"))["weights"], whole["weights"])
        self.assertEqual(sorted(os.listdir(self.path("moved-out")))[-1], "checkpoint-8")


def _train(settings):
    return train(**settings)


if __name__ == "__main__":
    unittest.main()
