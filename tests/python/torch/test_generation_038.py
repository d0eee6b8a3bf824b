# SPDX-License-Identifier: Apache-2.0
"""Scripts written for the 0.38 generation run unchanged (generation_038/): here offline, through a master in
tests/e2e/3023-pytorch-scripts.sh."""
import json
import os
import re
import runpy
import sys
import unittest

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # processors: sums in one order, and any number of processes

import children
import offline_case
import torch

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "generation_038")


def run(name):
    sys.path.insert(0, FOLDER)
    sys.argv[:] = [os.path.join(FOLDER, name)]
    runpy.run_path(sys.argv[0], run_name="__main__")


def run_trainer(*arguments):
    sys.path.insert(0, FOLDER)
    import trainer

    trainer.main(*arguments)
    return dict(trainer.CALLS)


def run_class():
    sys.path.insert(0, FOLDER)
    from by_class import LegacyTrial
    from determined.exec import harness

    seen = []
    own = LegacyTrial.build_callbacks
    LegacyTrial.build_callbacks = lambda trial: seen.append(trial) or own(trial)
    harness.run(LegacyTrial)
    return seen[0].epochs_seen


class Generation(offline_case.Offline):
    def done(self, *words, **environment):
        answer = children.run(*words, **environment)
        self.assertEqual(answer["code"], 0, answer.get("error", "") + answer["log"])
        return answer

    def checkpoints(self):
        root = self.path("run", "checkpoints")
        found = {}
        for name in os.listdir(root):
            if os.path.exists(os.path.join(root, name, "metadata.json")):
                with open(os.path.join(root, name, "metadata.json")) as file:
                    found[json.load(file)["steps_completed"]] = os.path.join(root, name)
        return found

    def test_the_trainer_and_then_batches_are_processed(self):
        log = self.done(run, "trainer.py")["log"]
        calls = {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", log.split("calls:")[1])}
        self.assertEqual(calls["on_training_epoch_start"], 2)
        self.assertEqual(calls["on_training_epoch_end"], 2)
        self.assertEqual(calls["on_validation_end"], 3)  # one before the first batch
        self.assertEqual(calls["on_checkpoint_upload_end"], calls["on_checkpoint_write_end"])
        self.assertEqual(set(calls) & {"on_checkpoint_load_start"}, set())
        for name in ("on_trial_startup", "on_trial_shutdown", "on_training_start"):
            self.assertEqual(calls[name], 1, name)
        found = self.checkpoints()
        self.assertEqual(set(found), {5, 8, 10, 15, 16})
        state = torch.load(os.path.join(found[16], "state_dict.pth"), weights_only=False)
        self.assertEqual(
            set(state) & {"models_state_dict", "optimizers_state_dict", "lr_schedulers_state_dict", "callbacks", "rng_state"},
            {"models_state_dict", "optimizers_state_dict", "lr_schedulers_state_dict", "callbacks", "rng_state"},
        )
        reported = self.reported()
        for name in (b"accuracy", b"worst", b"records", b"most", b"lr"):
            self.assertTrue(name in reported, name)
        os.environ["DET_OFFLINE_DIR"] = self.path("other")
        os.environ["CHECKPOINT"] = found[16]
        log = self.done(run, "process.py")["log"]
        self.assertIn("finished after batch 5", log)
        scores = {
            name: len(torch.load(os.path.join(where, name)))
            for where, _, names in os.walk(self.path("other"))
            for name in names
            if name.startswith("scores_")
        }
        self.assertEqual(scores, {"scores_1.pt": 8, "scores_3.pt": 8, "scores_5.pt": 8})

    def test_a_checkpoint_is_gone_on_from(self):
        from determined import pytorch

        self.done(run_trainer, pytorch.Epoch(1))
        # the same folder is the same training; one more epoch
        calls = self.done(run_trainer, pytorch.Epoch(2))["value"]
        self.assertEqual((calls["first batch"], calls["on_checkpoint_load_start"], calls["on_training_epoch_end"]), (8, 1, 1))

    def test_a_class(self):
        os.environ["DET_HPARAMS"] = json.dumps({"global_batch_size": 8, "lr": 0.01, "last_epoch": 1})
        os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps(
            {
                "data": {"records": 40},
                "hyperparameters": {"global_batch_size": 8},
                "searcher": {"name": "single", "metric": "val_loss", "max_length": {"batches": 50}},
                "records_per_epoch": 40,
                "min_validation_period": {"batches": 5},
            }
        )
        self.assertEqual(self.done(run_class)["value"], [2, 2])
        self.assertTrue(b"val_loss" in self.reported())
        self.assertEqual(max(self.checkpoints()), 10)

    def test_a_loop_of_its_own(self):
        self.assertIn("done after 30 steps on 1", self.done(run, "core_loop.py")["log"])
        self.assertEqual(set(self.checkpoints()), {10, 20, 30})
        os.environ["DET_OFFLINE_DIR"] = self.path("two")
        answers = children.run_ranks(2, run, "core_loop.py")
        self.assertEqual([each["code"] for each in answers], [0, 0], answers)
        self.assertIn("done after 30 steps on 2", answers[1]["log"])


if __name__ == "__main__":
    unittest.main()
