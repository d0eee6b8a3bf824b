# SPDX-License-Identifier: Apache-2.0
"""The loop: its calls, its reports, and its errors for wrong trials."""
import os
import unittest

import numpy as np
import torch
import training
from torch import nn
from training import Reports, Trial, Training

from determined import pytorch

HOOKS = [name for name in vars(pytorch.PyTorchCallback) if name.startswith("on_")]


class Listens(pytorch.PyTorchCallback):
    """To everything: (event, arguments)."""

    def __init__(self):
        self.heard = []
        self.loaded = None

    def state_dict(self):
        return {"heard": len(self.heard)}

    def load_state_dict(self, state_dict):
        self.loaded = state_dict


def _listening(name):
    def method(self, *what):
        self.heard.append((name, what))

    return method


for _name in HOOKS:
    setattr(Listens, _name, _listening(_name))


class Vectors(Training):
    def test_each_number_of_a_metric_is_reported_and_can_be_searched(self):
        class Several(Trial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                loss = super().train_batch(batch, epoch_idx, batch_idx)["loss"]
                return {"loss": loss, "f1": torch.stack([loss, 2 * loss]), "counts": np.array([1, batch_idx])}

            def evaluate_batch(self, batch):
                return {"f1": torch.tensor([0.5, 0.25]), "loss": 1.0}

            def build_callbacks(self):
                self.callback = Listens()
                return {"listens": self.callback}

        reports = Reports(self)
        trial = self.fit(Several, {"searcher": {"metric": "f1.1"}}, max_length=pytorch.Epoch(1))
        self.assertEqual(set(reports.validation[0][1]), {"f1.0", "f1.1", "loss", "batches", "epochs"})
        self.assertEqual(self.metrics, {"f1.0": 0.5, "f1.1": 0.25, "loss": 1.0})
        ((means, batches),) = [what for name, what in trial.callback.heard if name == "on_training_workload_end"]
        self.assertEqual(list(means), ["loss", "f1.0", "f1.1", "counts.0", "counts.1"])
        self.assertEqual((means["counts.1"], means["f1.0"]), (4.0, means["loss"]))
        self.assertEqual(list(batches[0]), list(means))


class Callbacks(Training):
    def test_every_hook_with_its_arguments(self):
        class Heard(Trial):
            def build_callbacks(self):
                self.callback = Listens()
                return {"listens": self.callback}

        options = {"max_length": pytorch.Epoch(2), "reporting_period": pytorch.Batch(6), "checkpoint_period": pytorch.Epoch(1)}
        heard = self.fit(Heard, **options).callback.heard
        names = [name for name, _ in heard]
        self.assertEqual(set(names) | {"on_checkpoint_load_start"}, set(HOOKS))
        self.assertEqual(names[:3], ["on_trial_startup", "on_training_start", "on_training_epoch_start"])
        self.assertEqual(heard[0][1], (0, None))
        self.assertEqual(names[-1], "on_trial_shutdown")
        told = lambda name: [what for each, what in heard if each == name]  # noqa: E731
        self.assertEqual(told("on_training_epoch_start"), [(0,), (1,)])
        self.assertEqual(told("on_training_epoch_end"), [(0,), (1,)])
        workloads = told("on_training_workload_end")
        self.assertEqual([len(batches) for _, batches in workloads], [6, 6, 6])
        for means, batches in workloads:
            self.assertAlmostEqual(means["loss"], sum(each["loss"] for each in batches) / 6)
        (outputs,) = told("on_validation_epoch_end")[0]
        self.assertEqual((len(outputs), list(outputs[0])), (9, ["validation_loss"]))
        self.assertEqual(told("on_validation_end"), [(self.metrics,)])
        (state,) = told("on_checkpoint_save_start")[0]
        self.assertIn("models_state_dict", state)
        (folder,) = told("on_checkpoint_write_end")[0]
        self.assertIsInstance(folder, str)
        self.assertEqual(told("on_checkpoint_end"), told("on_checkpoint_write_end"))
        uuids = [uuid for (uuid,) in told("on_checkpoint_upload_end")]
        self.assertEqual(sorted(uuids), sorted(os.path.basename(path) for _, path in self.checkpoints()))
        validation = names.index("on_validation_start")
        self.assertEqual(
            names[validation : validation + 5],
            ["on_validation_start", "on_validation_epoch_start", "on_validation_epoch_end", "on_validation_end", "on_checkpoint_save_start"],
        )
        again = self.fit(Heard, **{**options, "max_length": pytorch.Epoch(3)}).callback
        self.assertEqual([name for name, _ in again.heard][:3], ["on_trial_startup", "on_checkpoint_load_start", "on_training_start"])
        self.assertEqual(again.heard[0][1], (18, uuids[-1]))
        self.assertIn("heard", again.loaded)

    def test_epoch_hooks_of_old_take_no_number(self):
        class Old(pytorch.PyTorchCallback):
            count = 0

            def on_training_epoch_start(self):
                self.count += 1

        class Heard(Trial):
            def build_callbacks(self):
                self.callback = Old()
                return {"old": self.callback}

        self.assertEqual(self.fit(Heard).callback.count, 1)

    def test_what_callbacks_change_is_saved_and_written(self):
        class Adds(pytorch.PyTorchCallback):
            def on_checkpoint_save_start(self, checkpoint):
                checkpoint["mine"] = 5

            def on_checkpoint_load_start(self, checkpoint):
                self.found = checkpoint["mine"]

            def on_checkpoint_write_end(self, checkpoint_dir):
                with open(os.path.join(checkpoint_dir, "more.txt"), "w") as file:
                    file.write("more")

        class Adding(Trial):
            def build_callbacks(self):
                self.callback = Adds()
                return {"adds": self.callback}

        self.fit(Adding)
        self.assertEqual(self.files()["more.txt"], b"more")
        self.assertEqual(self.fit(Adding).callback.found, 5)

    def test_what_is_no_callback_is_refused(self):
        for given, sentence in (({"a": 1}, "'a': a int; expected a det.pytorch.PyTorchCallback"), ([], "returned a list; expected a dict")):

            class Wrong(Trial):
                def build_callbacks(self):
                    return given

            with self.assertRaisesRegex(TypeError, sentence):
                self.fit(Wrong)
            self.close_all()

    def test_shutdown_is_told_whatever_happens(self):
        told = []

        class Last(pytorch.PyTorchCallback):
            def on_trial_shutdown(self):
                told.append(True)

        class Fails(Trial):
            def build_callbacks(self):
                return {"last": Last()}

            def train_batch(self, batch, epoch_idx, batch_idx):
                raise KeyError("the user's own")

        with self.assertRaisesRegex(KeyError, "the user's own"):
            self.fit(Fails)
        self.assertEqual(told, [True])


class Validation(Training):
    def test_metrics_are_weighed_by_records_and_reduced_as_said(self):
        R = pytorch.Reducer

        class Reduced(Trial):
            def build_validation_data_loader(self):
                return pytorch.DataLoader(torch.utils.data.TensorDataset(torch.arange(10.0)), batch_size=4)

            def evaluate_batch(self, batch):
                mean = batch[0].mean()
                return {"avg": mean, "sum": float(mean), "most": mean.numpy(), "least": mean}

            def evaluation_reducer(self):
                return {"avg": R.AVG, "sum": R.SUM, "most": R.MAX, "least": R.MIN}

        self.fit(Reduced, max_length=pytorch.Batch(1))
        self.assertEqual(self.metrics, {"avg": 4.5, "sum": 1.5 + 5.5 + 8.5, "most": 8.5, "least": 1.5})

    def test_the_whole_data_set_at_once(self):
        class Whole(Trial):
            evaluate_batch = pytorch.PyTorchTrial.evaluate_batch

            def evaluate_full_dataset(self, data_loader):
                assert not self.model.training and not torch.is_grad_enabled()
                rows = sum(len(x) for x, _ in data_loader)
                return {"rows": rows}

        trial = self.fit(Whole, max_length=pytorch.Batch(1))
        self.assertEqual(self.metrics, {"rows": training.ROWS})
        self.assertTrue(trial.model.training)

    def test_no_validation_data_no_validation(self):
        class Alone(Trial):
            build_validation_data_loader = pytorch.PyTorchTrial.build_validation_data_loader

        reports = Reports(self)
        self.fit(Alone)
        self.assertEqual(reports.validation, [])
        self.assertEqual(list(self.metrics), ["loss"])
        self.assertEqual(len(self.checkpoints()), 1)

    def test_own_reducers_in_training_and_validation(self):
        class Both(Trial):
            def __init__(self, context):
                super().__init__(context)
                self.both = context.wrap_reducer(lambda values: len(values), "count")
                self.one = context.wrap_reducer(lambda values: {"total": sum(values)}, for_validation=False)

            def train_batch(self, batch, epoch_idx, batch_idx):
                self.both.update(1)
                self.one.update(batch_idx)
                return super().train_batch(batch, epoch_idx, batch_idx)

            def evaluate_batch(self, batch):
                self.both.update(1)
                return super().evaluate_batch(batch)

            def build_validation_data_loader(self):
                return training.loader(training.X[:16].split(1), shuffle=False)

            def get_batch_length(self, batch):
                return 8

            evaluate = None

        class Counting(Both):
            def evaluate_batch(self, batch):
                self.both.update(1)
                return {"x": batch.mean()}

        reports = Reports(self)
        self.fit(Counting, reporting_period=pytorch.Batch(5))
        counts = [(steps, metrics["count"], metrics["total"]) for steps, metrics in reports.training]
        self.assertEqual(counts, [(5, 5, 10), (9, 4, 26)])
        self.assertEqual([metrics["count"] for _, metrics in reports.validation], [2])


class Reported(Training):
    def test_means_of_windows_with_batches_and_epochs(self):
        class Counts(Trial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                super().train_batch(batch, epoch_idx, batch_idx)
                return {"index": batch_idx, "tensor": torch.tensor([float(batch_idx)]), "flag": True}

        reports = Reports(self)
        self.fit(Counts, max_length=pytorch.Batch(10), reporting_period=pytorch.Batch(4))
        self.assertEqual(
            reports.training,
            [
                (4, {"index": 1.5, "tensor": 1.5, "flag": 1.0, "batches": 4, "epochs": 0}),
                (8, {"index": 5.5, "tensor": 5.5, "flag": 1.0, "batches": 8, "epochs": 0}),
                (10, {"index": 8.5, "tensor": 8.5, "flag": 1.0, "batches": 10, "epochs": 1}),
            ],
        )
        self.assertEqual([steps for steps, _ in reports.validation], [10])
        self.assertEqual(reports.validation[0][1]["batches"], 10)

    def test_a_loss_alone_is_a_metric(self):
        class Loss(Trial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                return super().train_batch(batch, epoch_idx, batch_idx)["loss"]

        reports = Reports(self)
        self.fit(Loss)
        self.assertIn("loss", reports.training[0][1])

    def test_loaders_that_are_let_through(self):
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(zip(training.X, training.Y))

        class Plain(Trial):
            def __init__(self, context):
                super().__init__(context)
                context.experimental.disable_dataset_reproducibility_checks()

            def build_training_data_loader(self):
                return torch.utils.data.DataLoader(Stream(), batch_size=8)

        reports = Reports(self)
        self.fit(Plain, max_length=pytorch.Epoch(2), validation_period=pytorch.Epoch(1))
        self.assertEqual([steps for steps, _ in reports.validation], [9, 18])
        self.assertEqual(reports.training[-1][1]["epochs"], 2)

    def test_timing(self):
        self.fit(profiling_enabled=True, max_length=pytorch.Batch(3))
        self.assertEqual(self.checkpoints()[-1][0], 3)


class Wrong(Training):
    """One sentence each."""

    def refused(self, error, sentence, **methods):
        cls = type("Wrong", (Trial,), methods)
        with self.assertRaisesRegex(error, sentence):
            self.fit(cls)
        self.assertEqual(self.checkpoints(), [])
        self.close_all()

    def test_what_is_not_there(self):
        class Nothing(pytorch.PyTorchTrial):
            def __init__(self, context):
                pass

        with self.assertRaisesRegex(TypeError, r"Nothing has no train_batch\(\): a PyTorchTrial needs it to train"):
            Nothing(None)

        class Unwrapped(Trial):
            def __init__(self, context):
                self.context = context

        def no_optimizer(self, context):
            self.context = context
            context.wrap_model(nn.Linear(1, 1))

        def other_model(self, context):
            self.context = context
            context.wrap_model(nn.Linear(1, 1))
            context.wrap_optimizer(torch.optim.Adam(nn.Linear(3, 2).parameters()))

        def own_optimizer(self, batch, epoch_idx, batch_idx):
            loss = self.model(batch[0]).sum()
            self.context.backward(loss)
            self.context.step_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))

        nothing = pytorch.PyTorchTrial
        self.refused(ValueError, "has wrapped no model: self.model = context.wrap_model", __init__=Unwrapped.__init__)
        self.refused(ValueError, "has wrapped no optimizer", __init__=no_optimizer)
        self.refused(ValueError, "an? Adam trains 2 parameters .the first of shape 2 x 3. of a model that is not wrapped", __init__=other_model)
        self.refused(RuntimeError, "given a SGD that is not wrapped", train_batch=own_optimizer)
        self.refused(ValueError, "there is no training data", build_training_data_loader=nothing.build_training_data_loader)
        self.refused(ValueError, "neither evaluate_batch.. nor evaluate_full_dataset", evaluate_batch=nothing.evaluate_batch)
        self.refused(ValueError, "define one of them", evaluate_full_dataset=lambda self, data: {})
        self.refused(TypeError, "reducer 'avg'|evaluation_reducer", evaluation_reducer=lambda self: "avg")

    def test_metrics(self):
        gives = lambda *values: lambda self, batch, epoch_idx, batch_idx: values[min(batch_idx, len(values) - 1)]  # noqa: E731
        self.refused(TypeError, r"train_batch\(\) returned nothing; expected the loss, or a dict", train_batch=gives(None))
        self.refused(TypeError, r"train_batch\(\) returned a str", train_batch=gives("loss"))
        self.refused(TypeError, r"train_batch\(\) returned the metric 'word' as a str; expected a number", train_batch=gives({"word": "high"}))
        self.refused(
            TypeError, r"the metric 'all' as a Tensor of shape \(40, 40\); expected a number; take its mean", train_batch=gives({"all": torch.ones(40, 40)})
        )
        self.refused(
            ValueError,
            r"the metric 'all' with the shape \(3,\), but \(4,\) for the batches before it: .* per record, take its mean",
            train_batch=gives({"all": torch.ones(4)}, {"all": torch.ones(3)}),
        )
        self.refused(TypeError, "a metric named 3; expected a word", train_batch=gives({3: 1.0}))
        self.refused(
            ValueError,
            r"train_batch\(\) returned the metrics b for batch 1, but a for those before it: every batch must return the same",
            train_batch=gives({"a": 1}, {"b": 1}),
        )
        self.refused(
            ValueError,
            r"evaluate_batch\(\) returned the metrics 1 for batch 1, but 0 for those before it",
            evaluate_batch=lambda self, batch, index: {str(index): 1},
        )
        self.refused(TypeError, "'x'.* is 'y'; expected a number", evaluate_batch=lambda self, batch: {"x": "y"})

    def test_the_searchers_metric_is_among_what_validation_gives(self):
        with self.assertRaisesRegex(ValueError, "searcher's metric 'accuracy' is not among the validation metrics: validation_loss"):
            self.fit(config={"searcher": {"name": "single", "metric": "accuracy"}})

    def test_data_that_is_empty(self):
        def empty(self):
            return pytorch.DataLoader(training.X[:0], batch_size=4)

        self.refused(ValueError, "the training data is empty", build_training_data_loader=empty)


if __name__ == "__main__":
    unittest.main()
