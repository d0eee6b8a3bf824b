# SPDX-License-Identifier: Apache-2.0
"""A TFKerasTrial that had to stop resumes where it was, to the bit, with its callbacks."""
import os
import unittest
from unittest import mock

from determined.keras import _hooks, callbacks, load_model_from_checkpoint_path

import test_trial
from test_trial import dataset, numbers


class Counts(callbacks.Callback):
    """Remembers its calls."""

    told = []

    def __init__(self):
        super().__init__()
        self.seen = 0

    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1

    def on_train_workload_begin(self, total_batches_trained, batches_requested, logs=None):
        self.told.append(("begin", total_batches_trained, batches_requested))

    def on_train_workload_end(self, total_batches_trained, logs=None):
        self.told.append(("end", total_batches_trained, sorted(logs)))

    def on_checkpoint_end(self, checkpoint_dir):
        self.told.append(("saved", sorted(os.listdir(checkpoint_dir))))

    def get_state(self):
        return {"seen": self.seen}

    def load_state(self, state):
        self.seen = state["seen"]


def everything():
    return [
        Counts(),
        callbacks.EarlyStopping(monitor="val_loss", patience=50, restore_best_weights=True),
        callbacks.ReduceLROnPlateau(monitor="val_accuracy", mode="max", patience=1, cooldown=1),
    ]


class Resume(test_trial.Place):
    periods = {"min_validation_period": {"batches": 4}, "min_checkpoint_period": {"batches": 7}}

    def compare(self, training, stop_after=11, batches=18, **more):
        trial = {"training": staticmethod(training), "callbacks": staticmethod(everything), "dropout": 0.3, **more}
        self.train(trial, batches=batches, run="whole", **self.periods)
        self.train(trial, batches=batches, run="two", stop_after=stop_after, **self.periods)
        self.assertIn(stop_after, self.checkpoints("two"))
        self.assertNotIn(batches, self.checkpoints("two"))
        self.train(trial, batches=batches, run="two", **self.periods)
        one, two = self.bytes_of(self.checkpoints("whole")[batches]), self.bytes_of(self.checkpoints("two")[batches])
        self.assertEqual(sorted(one), sorted(two))
        for name in one:
            self.assertEqual(one[name], two[name], name)
        self.assertEqual(self.metrics(run="whole"), self.metrics(run="two"))

    def test_arrays(self):
        self.compare(lambda self: numbers(64))

    def test_a_sequence(self):
        self.compare(lambda self: test_trial.Weighted())

    def test_at_the_end_of_an_epoch(self):
        self.compare(lambda self: numbers(64), stop_after=16)

    def test_a_validation_that_was_due_when_it_had_to_stop(self):
        self.compare(lambda self: numbers(64), stop_after=12)

    def test_it_ends_with_the_validation_that_was_due(self):
        stopping = lambda: [callbacks.EarlyStopping(monitor="val_loss", patience=2)]
        kind = type("Kind", (test_trial.Still,), {"callbacks": staticmethod(stopping)})
        self.train(kind, batches=40, min_validation_period={"batches": 3}, stop_after=9)
        self.assertEqual(self.when("val_loss"), [3, 6])
        self.train(kind, batches=40, min_validation_period={"batches": 3})
        self.assertEqual(self.when("val_loss"), [3, 6, 9])
        self.assertEqual(max(self.checkpoints()), 9)

    def test_what_is_complete_is_not_trained_again(self):
        self.train(batches=11)
        before = self.bytes_of(self.checkpoints()[11])
        self.train(batches=11)
        self.assertEqual(list(self.checkpoints()), [11])
        self.assertEqual(self.bytes_of(self.checkpoints()[11]), before)
        self.train(batches=13)
        self.assertEqual(self.when("val_loss"), [11, 13])

    def test_a_dataset_that_is_shuffled(self):
        self.compare(lambda self: dataset(self).shuffle(8, seed=3))

    def test_metrics_that_begin_anew_inside_of_the_step_are_those_that_begin_anew_before_it(self):
        """At the end of data of unknown length, around validations and checkpoints, and resumed."""
        unknown = lambda self: dataset(self).filter(lambda x, y: True)
        trial = {"training": staticmethod(unknown), "run_eagerly": False, "dropout": 0.3}
        steps = []
        train = _hooks.Reset._train_anew
        inside = lambda reset, iterator: steps.append(1) or train(reset, iterator)
        for run, often, stops in (("before", 0, ()), ("inside", 10, (11,))):
            with mock.patch.multiple(_hooks.Reset, _OFTEN=often, _train_anew=inside):
                for stop_after in (*stops, None):
                    self.train(trial, batches=20, run=run, stop_after=stop_after, scheduling_unit=2, **self.periods)
            self.assertEqual(bool(steps), bool(often))
        self.assertEqual(self.metrics(run="before"), self.metrics(run="inside"))
        for batches in (7, 14, 20):
            self.assertEqual(*[self.bytes_of(self.checkpoints(run)[batches]) for run in ("before", "inside")])

    def test_what_callbacks_are_told(self):
        Counts.told.clear()
        self.train({"callbacks": staticmethod(lambda: [Counts()])}, batches=8, scheduling_unit=5)
        self.assertEqual(
            [each for each in Counts.told if each[0] != "saved"],
            [("begin", 0, 5), ("end", 5, ["accuracy", "loss"]), ("begin", 5, 3), ("end", 8, ["accuracy", "loss"])],
        )
        saved = [each for each in Counts.told if each[0] == "saved"]
        self.assertIn("variables.bin", saved[-1][1])

    def test_a_whole_model_comes_back(self):
        self.train()
        model = load_model_from_checkpoint_path(self.checkpoints()[8], tags=["serve"])
        loss, accuracy = model.evaluate(*numbers(8, 1), verbose=0, batch_size=8)
        self.assertAlmostEqual(loss, self.value("val_loss"), places=6)
        self.assertAlmostEqual(accuracy, self.value("val_accuracy"), places=6)
        with self.assertRaises(NotADirectoryError):
            load_model_from_checkpoint_path(self.path("nowhere"))


if __name__ == "__main__":
    unittest.main()
