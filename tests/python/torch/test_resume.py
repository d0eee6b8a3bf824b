# SPDX-License-Identifier: Apache-2.0
"""A training that was stopped in the middle of an epoch and resumed ends with the same bits as an uninterrupted
one: weights, optimizer, schedulers, generators, reducers, callbacks, unfinished gradients and averages."""
import os
import pathlib
import pickle
import random
import unittest
from unittest import mock

import numpy as np
import torch
import training
from torch import nn
from training import Training

from determined import pytorch
from determined.pytorch import _state


class Sum(pytorch.MetricReducer):
    def reset(self):
        self.values = []

    def update(self, value):
        self.values.append(value)

    def per_slot_reduce(self):
        return sum(self.values)

    def cross_slot_reduce(self, per_slot_metrics):
        return sum(per_slot_metrics)


class Remembers(pytorch.PyTorchCallback):
    def __init__(self):
        self.seen, self.words = [], {"first": "word"}

    def on_training_epoch_end(self, epoch_idx):
        self.seen.append([epoch_idx, "epoch"])

    def on_training_workload_end(self, avg_metrics, batch_metrics):
        self.seen.append([sorted(avg_metrics), len(batch_metrics)])

    def state_dict(self):
        return {"seen": self.seen, "words": self.words, "set": {"b", "a", "c"}, "array": np.arange(3.0)}

    def load_state_dict(self, state_dict):
        self.seen, self.words = state_dict["seen"], state_dict["words"]


class Everything(training.Trial):
    """Everything that a checkpoint must not lose."""

    stop_after = 0

    def __init__(self, context):
        super().__init__(context)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.97)
        context.wrap_lr_scheduler(self.scheduler, pytorch.LRScheduler.StepMode.STEP_EVERY_BATCH)
        self.other = context.wrap_model(nn.Linear(2, 2))
        self.adam = context.wrap_optimizer(torch.optim.AdamW(self.other.parameters(), lr=0.01))
        cosine = torch.optim.lr_scheduler.OneCycleLR(self.adam, 0.1, total_steps=100)
        context.wrap_lr_scheduler(cosine, pytorch.LRScheduler.StepMode.STEP_EVERY_EPOCH)
        self.sums = context.wrap_reducer(Sum(), "sum")

    def train_batch(self, batch, epoch_idx, batch_idx):
        x, y = batch
        noise = random.random() + np.random.rand()
        loss = nn.functional.mse_loss(self.other(self.model(x)) * noise, y)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer, lambda params: nn.utils.clip_grad_norm_(params, 1.0))
        self.context.step_optimizer(self.adam, auto_zero_grads=batch_idx % 2 == 0)  # gradients stay now and then
        self.sums.update(float(x.sum()))
        if self.stop_after and batch_idx + 1 == self.stop_after:
            self.context._loop._trainer.stop()  # as the platform would
        return {"loss": loss, "noise": noise}

    def evaluate_batch(self, batch, batch_idx):
        found = super().evaluate_batch(batch)
        self.sums.update(batch_idx)
        return {**found, "drawn": float(torch.rand(()))}  # validation draws, too

    def build_callbacks(self):
        self.callback = Remembers()
        return {"remembers": self.callback}


class Drawn(Everything):
    def build_training_data_loader(self):
        return training.loader(training.Rows())


class Workers(Everything):
    def build_training_data_loader(self):
        return training.loader(training.Rows(), num_workers=2)


class Aggregated(Everything):
    pass


PERIODS = {
    "max_length": pytorch.Epoch(3),
    "validation_period": pytorch.Batch(7),
    "checkpoint_period": pytorch.Batch([5, 20]),
    "reporting_period": pytorch.Batch(4),
}


class Resume(Training):
    def train(self, cls, stop_after, **options):
        """One run; returns the files of its checkpoint."""
        cls.stop_after = stop_after
        config = {"optimizations": {"aggregation_frequency": 4}} if cls is Aggregated else {}
        self.trial = self.fit(cls, config, **{**PERIODS, **options})
        return self.files()

    def prove(self, cls, stops, **options):
        self.in_folder("whole")
        reports = training.Reports(self)
        wanted = self.train(cls, 0, **options)
        metrics = self.metrics
        told = {steps: values for steps, values in reports.training + reports.validation}
        self.assertEqual(len(reports.training), len(dict(reports.training)))
        training_told, validation_told = dict(reports.training), dict(reports.validation)
        reports.training.clear()
        reports.validation.clear()
        self.in_folder("stopped")
        for stop in stops:
            self.train(cls, stop, **options)
            self.assertEqual(self.checkpoints()[-1][0], stop)
        found = self.train(cls, 0, **options)
        self.assertEqual(self.metrics, metrics)
        self.assertEqual(dict(reports.training), training_told)
        self.assertEqual(dict(reports.validation), validation_told)
        self.assertTrue(told)
        self.assertEqual(sorted(found), sorted(wanted))
        for name in wanted:
            self.assertEqual(found[name], wanted[name], name)

    def test_arrays(self):
        self.prove(Everything, [3, 7, 18, 23])  # within a window, at a validation, at an epoch's end, within

    def test_a_data_set_that_draws(self):
        self.prove(Drawn, [11])

    def test_workers(self):
        self.prove(Workers, [4, 13])

    def test_gradients_that_are_aggregated(self):
        self.prove(Aggregated, [6, 17])

    def test_mixed_precision(self):
        class Amp(Everything):
            def __init__(self, context):
                super().__init__(context)
                context.experimental.use_amp()

        self.prove(Amp, [10])

    def test_what_was_due_when_it_stopped_is_made_up_for(self):
        self.prove(Everything, [5, 9], validation_period=pytorch.Batch([9]), reporting_period=pytorch.Epoch([2]))

    def test_a_training_that_is_complete_trains_no_more(self):
        wanted = self.train(Everything, 0)
        metrics, batches = self.metrics, len(self.checkpoints())
        again = self.train(Everything, 0)
        self.assertEqual((self.metrics, len(self.checkpoints())), (metrics, batches))
        self.assertEqual(again, wanted)
        self.train(Everything, 0, max_length=pytorch.Epoch(4))  # longer on purpose
        self.assertEqual(self.checkpoints()[-1][0], 36)

    def test_a_stop_that_the_program_asked_for_is_the_end(self):
        class Stops(training.Trial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                if batch_idx == 4:
                    self.context.set_stop_requested(True)
                return super().train_batch(batch, epoch_idx, batch_idx)

        reports = training.Reports(self)
        for _ in range(2):
            self.fit(Stops)
            self.assertEqual([steps for steps, _ in self.checkpoints()], [5])
            self.assertEqual([steps for steps, _ in reports.training], [5])  # nothing that was trained is kept back

        class AtReports(training.Trial):
            def build_callbacks(self):
                return {"stop": Stop(self.context)}

        class Stop(pytorch.PyTorchCallback):
            def __init__(self, context):
                self.context = context

            def on_training_workload_end(self, avg_metrics, batch_metrics):
                self.context.set_stop_requested(True)

        self.in_folder("reports")
        self.fit(AtReports, reporting_period=pytorch.Batch(3))
        self.assertEqual([steps for steps, _ in self.checkpoints()], [3])


class Twins(Training):
    def test_checkpoints_of_equal_states_are_equal_files(self):
        found = []
        for number in range(2):
            self.in_folder(f"run-{number}")
            Drawn.stop_after = 0
            self.fit(Drawn, **PERIODS)
            found.append(self.files())
        self.assertEqual(found[0], found[1])
        self.assertIn("state_dict.pth", found[0])

    def test_equal_values_are_equal_bytes_however_they_came_about(self):
        word = "".join(["a long", " word"])
        base = torch.arange(10.0)
        one = {"a": [word, word], "t": base[2:4], "u": base.clone(), "d": {"x": 1.5, "y": (1, 2)}}
        other = {
            "a": ["a long word", "".join("a long word")],
            "t": torch.tensor([2.0, 3.0]),
            "u": torch.arange(10.0),
            "d": {"x": 1.5, "y": tuple([1, 2])},
        }
        self.assertEqual(bytes(_state.encode(one)), bytes(_state.encode(other)))
        a, b = np.arange(4), np.arange(4)
        b.dtype = np.dtype(b.dtype.str).newbyteorder("=")
        one.update(array=[a, a + 0], words={"b", word, "a"})
        other.update(array=[b, b + 0], words={"a long word", "a", "b"})
        self.assertEqual(bytes(_state.encode(one)), bytes(_state.encode(other)))

    def test_a_plain_checkpoint_runs_nobodys_code(self):
        self.fit(training.Trial)
        path = os.path.join(self.checkpoints()[-1][1], "state_dict.pth")
        state = torch.load(path, weights_only=True)
        self.assertEqual(
            sorted(state),
            ["callbacks", "lr_schedulers_state_dict", "models_state_dict", "optimizers_state_dict", "rng_state"],
        )


class Others(Training):
    """Checkpoints of other trainings."""

    def test_a_rank_that_the_checkpoint_does_not_know(self):
        """It neither draws the random numbers of rank 0 nor reports again what rank 0 has counted."""
        self.fit(Everything, max_length=pytorch.Batch(4))
        _, folder = self.checkpoints()[-1]
        checkpoint, own, memory, _ = _state.read(folder, 0)
        self.assertTrue(checkpoint["rng_state"] and own["reducers"])
        checkpoint, own, memory, _ = _state.read(folder, 1)
        self.assertEqual((checkpoint["rng_state"], own["reducers"], memory["batches"]), (None, None, 4))
        context = mock.Mock(models=[])
        _state.restore_own(context, own)
        context._reducers.load.assert_not_called()

    def test_objects_of_another_kind_are_read_unless_they_are_refused(self):
        path = self.path("state.pth")
        with open(path, "wb") as file:
            file.write(_state.encode({"array": np.arange(3), "word": pathlib.PurePosixPath("a")}))
        self.assertEqual(_state.decode(path)["word"], pathlib.PurePosixPath("a"))
        with self.assertRaises(pickle.UnpicklingError):
            _state.decode(path, weights_only=True)

    def test_those_of_another_training_lend_their_weights(self):
        trial = self.fit(training.Trial)
        wanted = [each.detach().clone() for each in trial.model.parameters()]
        _, folder = self.checkpoints()[-1]
        with open(os.path.join(folder, "continue_id"), "w") as file:
            file.write('"another"')
        self.in_folder("next")

        class Looks(training.Trial):
            def train_batch(trial, batch, epoch_idx, batch_idx):
                if batch_idx == 0:
                    for each, saved in zip(trial.model.parameters(), wanted):
                        self.assertTrue(torch.equal(each, saved))
                return super().train_batch(batch, epoch_idx, batch_idx)

        self.fit(Looks, latest_checkpoint=folder)
        self.assertEqual(self.checkpoints()[-1][0], 9)

    def refused(self, cls, sentence):
        with self.assertRaisesRegex(ValueError, sentence):
            self.fit(cls)
        self.assertEqual(self.checkpoints(), self.kept)  # nothing is lost
        self.close_all()

    def test_those_of_another_class_are_refused_by_the_layer(self):
        class Wide(training.Trial):
            def __init__(self, context):
                self.context = context
                self.model = context.wrap_model(nn.Sequential(nn.Linear(6, 9), nn.BatchNorm1d(9)))
                self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

        class Less(Wide):
            def __init__(self, context):
                self.context = context
                self.model = context.wrap_model(nn.Sequential(nn.Linear(6, 8)))
                self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

        class More(training.Trial):
            def __init__(self, context):
                super().__init__(context)
                context.wrap_model(nn.Linear(1, 1))

        class Adam(training.Trial):
            def __init__(self, context):
                super().__init__(context)
                context.optimizers[0] = self.optimizer = torch.optim.Adam([{"params": [each]} for each in self.model.parameters()])
                context._averaging[id(self.optimizer)] = True

        class Named(training.Trial):
            def __init__(self, context):
                self.context = context
                self.model = context.wrap_model(nn.ModuleDict({"fc": nn.Linear(6, 2)}))
                self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

        self.fit(training.Trial)
        self.kept = self.checkpoints()
        self.refused(Wide, r"another model \(of the trial training:Trial\): its '0.weight' is 8 x 6, that of model 1 \(Sequential\) is 9 x 6")
        self.refused(Less, r"it has '1.weight', which model 1 \(Sequential\) does not have")
        self.refused(More, "it has 1 models, but 2 are wrapped")
        self.refused(Named, r"it has no 'fc.weight', which model 1 \(ModuleDict\) has")
        self.refused(Adam, "its optimizer 1 does not fit the wrapped Adam")

    def test_a_folder_of_something_else_is_refused(self):
        with self.assertRaisesRegex(ValueError, "was not saved by a PyTorchTrial: it has no 'state_dict.pth'"):
            self.fit(latest_checkpoint=self.folder)


if __name__ == "__main__":
    unittest.main()
