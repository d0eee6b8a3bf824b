# SPDX-License-Identifier: Apache-2.0
"""The callback for Hugging Face's Trainer, with a tiny BERT and no master."""
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import unittest

import children
from offline_case import Offline

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

import determined as det
from determined import core
from determined.transformers import DetCallback

transformers.utils.logging.set_verbosity_error()
torch.set_num_threads(1)
GUIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/guide/transformers.md")


class Words(torch.utils.data.Dataset):
    """20 sentences of 6 words; the label is whether the first word is in the upper half. With `noise` a word is
    replaced at random whenever a sentence is read, by the global generator of the reading process."""

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
    def __init__(self, step):
        self.step = step

    def on_step_begin(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            children.kill_me()


class Noting(core._train.TrainContext):
    """Keeps the reports."""

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
    """5 steps per epoch, 15 in all; returns the weights and the reports."""
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
        """Its own run: a folder for checkpoints, and a folder for the Trainer."""
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
        # Complete: it trains no more, and reports nothing again.
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
            for kill_at in (6,) if strategy else (1, 3, 6, 10, 14):
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


    def test_a_training_that_is_asked_to_stop(self):
        whole = self.well(self.train("whole"))
        # In the middle of an epoch, at its end, and in a middle again.
        seen, validated = [], []
        for stop_at, steps in ((3, 3), (2, 5), (4, 9)):
            value = self.well(self.train("run", stop_at=stop_at))
            self.assertTrue(value["is_preempted"])
            self.assertEqual(value["steps"], steps)
            self.assertNotIn("train_loss", {name for _, _, metrics in value["seen"] for name in metrics})
            self.assertNotIn(1.0, value["progress"])
            seen += self.steps(value, "training", "loss")
            validated += self.steps(value, "validation", "eval_loss")
        value = self.well(self.train("run"))
        self.assertEqual(value["weights"], whole["weights"])
        seen += self.steps(value, "training", "loss")
        self.assertEqual(seen, [2, 3, 4, 5, 6, 8, 9, 10, 12, 14])  # every step is in one of them
        # The script's own evaluation counts if the training is over, and half an epoch is not validated.
        self.assertEqual(validated + self.steps(value, "validation", "eval_loss"), [5, 10, 15, 15])

    def test_random_data_is_exact_from_the_beginning_of_an_epoch_and_not_in_its_middle(self):
        whole = self.well(self.train("whole", noise=True, save_strategy="epoch"))
        for name, settings in (("epoch", {"save_strategy": "epoch"}), ("middle", {"save_strategy": "steps"})):
            self.assertEqual(self.train(name, noise=True, kill_at=8, **settings)["code"], children.KILLED)
            value = self.well(self.train(name, noise=True, **settings))
            self.assertEqual(value["weights"] == whole["weights"], name == "epoch", name)

    def test_the_best_model_is_found_again(self):
        settings = {"save_strategy": "best", "load_best_model_at_end": True, "metric_for_best_model": "loss"}
        settings.update(learning_rate=0.3, eval_strategy="steps", eval_steps=1)
        whole = self.well(self.train("whole", **settings))
        best = int(whole["best"].rsplit("-", 1)[1])
        self.assertLess(best, 15)  # so far that it got worse
        value = self.well(self.train("run", stop_at=2 * best + 1, **settings))
        os.rename(self.path("run-out"), self.path("lost"))
        environment, _ = self.place("run")
        moved = {**settings, "output_dir": self.path("elsewhere")}
        value = self.well(children.run(_train, moved, **environment))
        self.assertEqual(value["best"], self.path("elsewhere", f"checkpoint-{best}"))
        self.assertEqual(value["weights"], whole["weights"])

    def test_two_ranks(self):
        def both(name, **settings):
            environment, folder = self.place(name)
            settings = {"per_device_train_batch_size": 2, "ddp_backend": "gloo", **folder, **settings}
            return children.run_ranks(2, _train, settings, **environment)

        whole = [self.well(each) for each in both("whole")]
        self.assertEqual(whole[0]["weights"], whole[1]["weights"])
        self.assertEqual(whole[1]["seen"], [])
        self.assertEqual(self.steps(whole[0], "validation", "eval_loss"), [5, 10, 15, 15])
        self.assertEqual([self.well(each)["steps"] for each in both("run", stop_at=8)], [7, 7])
        os.rename(self.path("run-out"), self.path("lost"))
        for value in map(self.well, both("run")):
            self.assertEqual(value["weights"], whole[0]["weights"])
        self.assertIn("rng_state_1.pth", os.listdir(self.path("run-out", "checkpoint-7")))
        # A script that does not tell the context of them.
        done = children.run_ranks(2, _untold, self.path("untold-out"), **self.place("untold")[0])
        self.assertIn("the Trainer has 2 processes and the context has 1: make it with", done[0]["error"])
        done = both("blind", use_cpu=False, ddp_backend=None)
        self.assertIn("the context has 2 processes and the Trainer has 1: without a GPU", done[0]["error"])

    def test_the_script_of_the_guide(self):
        for _ in range(2):  # the second has nothing left to do
            self.well(children.run(_run_guide, DET_OFFLINE_DIR=self.path("guide")))

    # ---- bad input, which needs no training

    def make(self, args=None, config=None, **more):
        if config is not None:
            os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps({"searcher": config})
        with core.init() as context:
            return DetCallback(context, args or arguments(output_dir=self.path("out")), **more)

    def test_lengths_must_be_those_of_the_searcher(self):
        steps, epochs = arguments(max_steps=10), arguments(num_train_epochs=3)
        for config, args in (
            ({"max_length": {"batches": 10}}, steps),
            ({"max_length": {"epochs": 3}}, epochs),
            ({"time_metric": "batches", "max_time": 10}, steps),
            ({"time_metric": "epochs", "max_time": 3}, epochs),
            ({"time_metric": "tokens", "max_time": 1000}, epochs),
        ):
            self.make(args, config)
        for config, args, sentence in (
            ({"max_length": 10}, steps, "searcher.max_length is 10, without a unit: write {batches: 10}"),
            ({"max_length": {"batches": 12}}, steps, "12 batches and max_steps is 10: train with --max_steps 12"),
            ({"max_length": {"batches": 12}}, epochs, "max_steps is not set"),
            ({"max_length": {"epochs": 2}}, epochs, "2 epochs and num_train_epochs is 3"),
            ({"max_length": {"epochs": 2}}, steps, r"max_steps \(10\) decides over num_train_epochs"),
            ({"max_length": {"records": 2}}, steps, "in records, which the Trainer does not count"),
            ({"time_metric": "batches", "max_time": 9}, steps, "searcher.max_time is 9 batches and max_steps is 10"),
            ({"time_metric": "epochs", "max_time": 9}, epochs, "searcher.max_time is 9 epochs"),
        ):
            with self.assertRaisesRegex(ValueError, sentence):
                self.make(args, config)

    def test_what_is_no_context_no_arguments_no_list_and_no_data(self):
        with self.assertRaisesRegex(TypeError, "core_context is None; expected the context of det.core.init"):
            DetCallback(None, arguments())
        with core.init() as context:
            with self.assertRaisesRegex(TypeError, "args is of type dict; expected the Trainer's"):
                DetCallback(context, {})
        with self.assertRaisesRegex(TypeError, "filter_metrics is 'loss'; expected a list"):
            self.make(filter_metrics="loss")
        with self.assertRaisesRegex(TypeError, "user_data is of type list; expected a dict"):
            self.make(user_data=[1])
        with self.assertRaisesRegex(TypeError, "user_data is saved as JSON, which cannot hold it"):
            self.make(user_data={"model": object()})
        self.write("file", "")
        with self.assertRaisesRegex(OSError, "args.output_dir cannot be written to .*name another folder"):
            self.make(arguments(output_dir=self.path("file", "out")))
        with self.assertLogs("determined.transformers", logging.WARNING) as said:
            self.make(arguments(save_only_model=True))
        self.assertIn("begins with a new optimizer", said.output[0])

    def test_a_checkpoint_of_another_program(self):
        self.write("other/weights", "1")
        with core.init() as context:
            uuid = context.checkpoint.upload(self.path("other"), {"steps_completed": 4})
        with self.assertRaisesRegex(FileNotFoundError, f"checkpoint {uuid} has no 'checkpoint-4/trainer_state.json'"):
            self.make()
        # Until 4.x a script could say that it wants none.
        args = arguments()
        args.overwrite_output_dir = True
        self.make(args)
        self.assertIsNone(args.resume_from_checkpoint)
        # And one whose files are gone.
        shutil.rmtree(self.path("run", "checkpoints", uuid))
        with self.assertRaisesRegex(det.errors.DetError, uuid):
            self.make()

    def test_a_callback_given_twice_and_a_checkpoint_not_resumed_from(self):
        done = self.train("run", twice=True)
        self.assertIn("RuntimeError: the Trainer has two DetCallbacks", done["error"])
        self.well(self.train("anew", stop_at=2))
        done = self.train("anew", resume=False)
        self.well(done)
        self.assertIn("training starts from the beginning although there is a checkpoint of 2 steps: call trainer.train", done["log"])

    def test_metrics_can_be_filtered(self):
        callback = self.make(filter_metrics=["loss", "accuracy"])
        logs = {"loss": 1, "grad_norm": 2, "eval_loss": 3, "eval_a_accuracy": 4, "eval_runtime": 5, "test_loss": 6}
        self.assertEqual(callback._split(logs), ({"loss": 1}, {"eval_loss": 3, "eval_a_accuracy": 4}))

    # ---- the package

    def test_nothing_is_imported_before_it_is_used(self):
        script = """if True:
            import sys
            import determined.transformers, determined.lightning, determined.lightning.experimental
            assert "DetCallback" in dir(determined.transformers)
            assert not {"transformers", "torch", "lightning"} & set(sys.modules)
            for name in ("torch", "transformers", "lightning", "pytorch_lightning"):
                sys.modules[name] = None
            for package, name in ((determined.transformers, "DetCallback"), (determined.lightning, "DetLogger"),
                                  (determined.lightning.experimental, "DetLogger")):
                try:
                    getattr(package, name)
                except ModuleNotFoundError as error:
                    print(error)
            try:
                determined.transformers.Nothing
            except AttributeError as error:
                print(error)
        """
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        for sentence in (
            "determined.transformers.DetCallback needs the package 'transformers', which is not installed: pip install",
            "determined.lightning.DetLogger needs the package 'lightning'",
            "module 'determined.transformers' has no attribute 'Nothing'",
        ):
            self.assertIn(sentence, done.stdout)


def _train(settings):
    return train(**settings)


def _run_guide():
    """The first script of the chapter, unchanged."""
    with open(GUIDE) as file:
        script = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)
    exec(compile(script, GUIDE, "exec"), {"__name__": "__main__"})


def _untold(folder):
    os.environ["DET_OFFLINE_DIR"] += os.environ["RANK"]
    with core.init() as context:
        DetCallback(context, arguments(output_dir=folder, ddp_backend="gloo"))


if __name__ == "__main__":
    unittest.main()
