# SPDX-License-Identifier: Apache-2.0
"""Batch inference: trials from checkpoints, their predictions, and classes that process batches; each on one slot
and on two."""
import json
import os
import types
import unittest
import unittest.mock
import weakref

import children
import numpy as np
import offline_case
import torch
from determined import errors, pytorch
from determined.pytorch import experimental
from torch import nn
from torch.utils.data import Dataset, IterableDataset, TensorDataset

import determined as det

X = torch.arange(13.0).reshape(13, 1)
CONFIG = {"searcher": {"name": "single", "metric": "loss"}}


class Line(pytorch.PyTorchTrial):
    """Its validation gets worse and worse, so the best checkpoint is the first."""

    def __init__(self, context, more=None):
        self.context, self.more = context, more
        layer = nn.Linear(1, context.get_hparam("width"), bias=False)
        self.model = context.wrap_model(nn.Sequential(layer, nn.BatchNorm1d(context.get_hparam("width")), nn.Dropout(0.5)))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))
        self.validations = 0

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = self.model(batch[0]).square().mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return loss

    def evaluate_batch(self, batch):
        self.validations += 1
        return {"loss": float(self.validations)}


class Derived(Line):
    def predict_batch(self, batch, batch_idx):
        x, _ = batch
        return {"twice": 2 * x, "both": (x, x.cpu().numpy()), "names": [f"{batch_idx}: {each:g}" for each in x.flatten()]}


class Other(pytorch.PyTorchTrial):
    def train_batch(self, batch, epoch_idx, batch_idx):
        return {}


def loader(records=13, **options):
    return pytorch.DataLoader(TensorDataset(X[:records], X[:records]), **{"batch_size": 4, **options})


def trained():
    context = det.pytorch.init(hparams={"width": 2}, exp_conf=CONFIG)
    trial = context.build_trial(Line)
    data = loader(12, shuffle=True, batch_size=2)
    period = det.Epochs(1)
    context.fit(trial, data, data, max_length=det.Epochs(3), min_validation_period=period, min_checkpoint_period=period)
    return context, trial


def weights(trial):
    return trial.model[0].weight.flatten().tolist()


class Loading(offline_case.Offline):
    def checkpoints(self):
        root = self.path("run", "checkpoints")
        found = {}
        for name in os.listdir(root):
            said = torch.load(os.path.join(root, name, "state_dict.pth"), weights_only=False)
            found[name] = said["models_state_dict"][0]["0.weight"].flatten().tolist()
        return found

    def test_the_best_checkpoint_of_a_trial_is_taken(self):
        with trained()[0] as context:
            loaded = context.load_checkpoint_trial(Line, trial_id=1)
            found = self.checkpoints()
            self.assertEqual(len(found), 3)
            self.assertIn(weights(loaded), list(found.values()))
            by_uuid = {name: weights(context.load_checkpoint_trial(Line, uuid=name)) for name in found}
            self.assertEqual(by_uuid, found)
            steps = context._core.checkpoint.get_metadata
            first = min(found, key=lambda name: steps(name)["steps_completed"])
            self.assertEqual(weights(loaded), found[first])
        with det.pytorch.init(hparams={"width": 7}) as context:  # it has its own hyperparameters
            before = torch.get_rng_state()
            again = context.load_checkpoint_trial(Derived, trial_id=1)
            self.assertEqual(weights(again), weights(loaded))
            self.assertEqual(again.context.get_hparams(), {"width": 2})
            self.assertTrue(torch.equal(before, torch.get_rng_state()))

    def test_else_the_latest_is(self):
        context = det.pytorch.init(hparams={"width": 2}, exp_conf={})
        with context:
            trial = context.build_trial(Line)
            context.fit(trial, loader(12), max_length=det.Batches(2), min_checkpoint_period=det.Batches(1))
            self.assertEqual(weights(context.load_checkpoint_trial(Line, trial_id=1)), weights(trial))

    def test_what_cannot_be_loaded_is_named(self):
        nobody = "00000000-0000-4000-8000-000000000000"
        with trained()[0] as context:
            uuid = next(iter(self.checkpoints()))
            with context._core.checkpoint.store_path({"steps_completed": 100}) as (_, foreign):
                pass
            load = context.load_checkpoint_trial
            for words, error, sentence in (
                ((Other, 1), ValueError, "belongs to the class 'test_inference:Line', not to 'Other'"),
                ((Line, 7), errors.NotFoundError, "trial 7 is not known|no offline run '7'"),
                ((Line, None, nobody), errors.NotFoundError, nobody),
                ((Line, None, foreign), ValueError, "was not saved by a PyTorchTrial: it has no 'load_data.json'"),
                ((Line,), TypeError, "either trial_id or uuid"),
                ((Line, 1, uuid), TypeError, "either trial_id or uuid"),
                ((Line, "1"), TypeError, "trial_id is '1'; expected a whole number"),
                ((Line, None, 3), TypeError, "uuid is 3"),
                ((dict, 1), TypeError, "expected a subclass of PyTorchTrial"),
            ):
                with self.assertRaisesRegex(error, sentence):
                    load(*words)

    def test_a_folder_is_enough(self):
        with trained()[0]:
            pass
        name, wanted = next(iter(self.checkpoints().items()))
        path = self.path("run", "checkpoints", name)
        load = pytorch.load_trial_from_checkpoint_path
        given = load(path, Line, trial_kwargs={"more": 3}, torch_load_kwargs={"weights_only": True})
        self.assertEqual((weights(given), given.more), (wanted, 3))
        self.assertIsInstance(given.context, pytorch.CheckpointLoadContext)
        found = load(path)  # the class is in the checkpoint
        self.assertEqual(weights(found), wanted)
        self.assertIsNot(type(found), Line)
        self.assertTrue(found.context.get_tensorboard_path().is_dir())
        for words, error, sentence in (
            ((self.path("nowhere"),), FileNotFoundError, "there is no checkpoint in"),
            ((self.path("run"),), ValueError, "was not saved by a PyTorchTrial"),
            ((path, Other), ValueError, "it has 1 models, but 0 are wrapped"),
            ((path, Line, {"less": 1}), TypeError, "Line cannot be made from a context and .'less'. .*unexpected"),
        ):
            with self.assertRaisesRegex(error, sentence):
                load(*words)
        said = self.path("run", "checkpoints", name, "load_data.json")
        with open(said) as file:
            text = file.read().replace("test_inference:Line", "gone:Line")
        with open(said, "w") as file:
            file.write(text)
        with self.assertRaisesRegex(ValueError, "cannot be loaded from .* give load_trial_from_checkpoint_path"):
            load(path)


# ---- predicting


class Slow(Dataset):
    """One record at a time, counted."""

    taken = 0

    def __len__(self):
        return 13

    def __getitem__(self, index):
        self.taken += 1
        return X[index]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(X)


class Two(Line):
    def __init__(self, context):
        super().__init__(context)
        context.wrap_model(nn.Linear(1, 1))


class Bad(Line):
    def predict_batch(self, batch):
        return self.model(batch[0]).mean()


class Ragged(Line):
    def predict_batch(self, batch):
        return torch.zeros(len(batch[0]), len(batch[0]))


class Silent(Line):
    def predict_batch(self, batch):
        return None


class Predicting(offline_case.Offline):
    def setUp(self):
        super().setUp()
        self.context = det.pytorch.init(hparams={"width": 2}, exp_conf={})
        self.addCleanup(self.context.close)
        self.trial = self.context.build_trial(Line)
        self.predict = self.context.predict

    def wanted(self):
        self.trial.model.eval()
        with torch.no_grad():
            return self.trial.model(X.to(self.context.device)).cpu()

    def test_one_output_for_each_record_in_the_order_of_the_data(self):
        wanted = self.wanted()
        self.trial.model.train()
        for data in (
            loader(),
            loader(shuffle=True, drop_last=True),
            loader(batch_size=13),
            pytorch.DataLoader(Slow(), batch_size=5),
            torch.utils.data.DataLoader(TensorDataset(X, X), batch_size=4, shuffle=True),
            torch.utils.data.DataLoader(Stream(), batch_size=4),
            [X[:4], (X[4:8],), [X[8:], None]],
        ):
            found = self.predict(self.trial, data)
            torch.testing.assert_close(found, wanted)
            self.assertFalse(found.requires_grad)
        backwards = loader(sampler=range(12, -1, -1))
        torch.testing.assert_close(self.predict(self.trial, backwards), wanted.flip(0))

    def test_training_goes_on_as_if_nothing_had_been(self):
        self.trial.model.train()
        self.trial.model[1].eval()  # frozen
        state, modes = torch.get_rng_state(), [each.training for each in self.trial.model.modules()]
        numbers = np.random.get_state()[1].tolist()
        self.predict(self.trial, loader())
        self.assertEqual([each.training for each in self.trial.model.modules()], modes)
        self.assertTrue(torch.equal(torch.get_rng_state(), state))
        self.assertEqual(np.random.get_state()[1].tolist(), numbers)
        self.assertTrue(torch.is_grad_enabled())

    def test_the_trial_says_what_is_computed(self):
        trial = self.context.build_trial(Derived)
        found = self.predict(trial, loader())
        self.assertTrue(torch.equal(found["twice"], 2 * X))
        self.assertTrue(torch.equal(found["both"][0], X))
        np.testing.assert_array_equal(found["both"][1], X.numpy())
        self.assertEqual(found["names"][:5] + found["names"][-1:], ["0: 0", "0: 1", "0: 2", "0: 3", "1: 4", "3: 12"])
        self.assertIsNone(self.predict(self.context.build_trial(Silent), loader()))

    def test_batches_are_handed_on_as_they_come(self):
        data, seen, refs = Slow(), [], []

        def take(outputs):
            self.assertLessEqual(data.taken, sum(map(len, seen)) + 4)
            self.assertTrue(all(ref() is None for ref in refs))  # nobody keeps them
            seen.append(outputs.tolist())
            refs.append(weakref.ref(outputs))

        self.assertIsNone(self.predict(self.trial, pytorch.DataLoader(data, batch_size=4), take))
        self.assertEqual([len(each) for each in seen], [4, 4, 4, 1])
        torch.testing.assert_close(torch.tensor(sum(seen, [])), self.wanted())

    def test_what_cannot_be_predicted_is_refused(self):
        build = self.context.build_trial
        for trial, data, error, sentence in (
            (build(Two), loader(), TypeError, "has 2 wrapped models, so it must say what to compute: define predict_batch"),
            (build(Bad), loader(), ValueError, r"predict_batch\(\) returned a Tensor of shape \(\) for a batch of 4 records"),
            (build(Ragged), loader(), ValueError, r"different shapes, \(4,\) and \(1,\)"),
            (self.trial, [{"x": X}], TypeError, "a batch is a dict of 1"),
            (self.trial, TensorDataset(X), TypeError, r"a data set \(TensorDataset\); expected a data loader"),
            (self.trial, X, TypeError, "the data is of type Tensor"),
            (self.trial, loader(0), ValueError, "the data to predict is empty"),
            (nn.Linear(1, 1), loader(), TypeError, "predict.. was given a Linear; expected a PyTorchTrial"),
        ):
            with self.assertRaisesRegex(error, sentence):
                self.predict(trial, data)
        with self.assertRaisesRegex(TypeError, "on_batch is 3"):
            self.predict(self.trial, loader(), 3)


# ---- two slots


def predict_on_a_rank():
    context, trial = trained()
    with context:
        alone = trial.model.module.eval()(X).tolist()
        trial.model.train()
        streamed = []
        context.predict(trial, loader(), on_batch=lambda outputs: streamed.extend(outputs.tolist()))
        loaded = context.load_checkpoint_trial(Derived, trial_id=1)
        return {
            "alone": alone,
            "together": [context.predict(trial, loader(n)).tolist() for n in (13, 9, 1)],
            "passed": context.predict(trial, [X[:5], X[5:6], X[6:]]).tolist(),
            "streamed": streamed,
            "names": context.predict(loaded, loader())["names"],
            "is_training": trial.model.training,
            "rank": loaded.context.distributed.rank,
        }


@unittest.skipIf(torch.cuda.is_available(), "two processes would need two GPUs")
class TwoSlots(offline_case.Offline):
    def test_all_get_everything_in_order(self):
        answers = children.run_ranks(2, predict_on_a_rank)
        self.assertEqual([each["code"] for each in answers], [0, 0], answers)
        for rank, each in enumerate(answers):
            value = each["value"]
            for records, found in zip((13, 9, 1), value["together"]):
                self.close(found, value["alone"][:records])
            self.close(value["passed"], value["alone"])
            self.close(value["streamed"], value["alone"] if rank == 0 else [])
            self.assertEqual([name.split(": ")[1] for name in value["names"]], [f"{x:g}" for x in range(13)])
            self.assertEqual((value["is_training"], value["rank"]), (True, rank))
        self.assertEqual(answers[0]["value"]["together"], answers[1]["value"]["together"])

    def close(self, found, wanted):
        self.assertEqual(len(found), len(wanted))
        np.testing.assert_allclose(np.array(found), np.array(wanted), rtol=1e-5, atol=1e-6)


# ---- a class that processes batches

NUMBERS = torch.utils.data.TensorDataset(torch.arange(23.0))


class Notes(experimental.TorchBatchProcessor):
    """Writes down its input, and may be stopped or die."""

    seen = []
    calls = []
    dies_at = -1

    def __init__(self, context):
        self.context = context
        self.model = context.prepare_model_for_inference(torch.nn.Dropout(0.5))
        self.rows = []
        self.count = context.wrap_reducer(sum, "count")

    def process_batch(self, batch, batch_idx):
        if batch_idx == type(self).dies_at:
            raise RuntimeError("killed here")
        assert not torch.is_grad_enabled() and not self.model.training
        (values,) = self.context.to_device(batch)
        self.seen.append((batch_idx, self.model(values).tolist()))
        self.rows += values.tolist()
        self.count.update(len(values))
        self.context.report_metrics("own", batch_idx + 1, {"first": values[0].item()})

    def on_checkpoint_start(self):
        if self.rows:
            with self.context.upload_path() as path:
                (path / f"rows-{self.rows[0]:g}.json").write_text(json.dumps(self.rows))
        self.rows = []
        self.calls.append("checkpoint")

    def on_finish(self):
        self.calls.append("finish")


class Processing(offline_case.Offline):
    def setUp(self):
        super().setUp()
        Notes.seen, Notes.calls, Notes.dies_at = [], [], -1

    def process(self, **options):
        experimental.torch_batch_process(Notes, NUMBERS, **{"batch_size": 4, "checkpoint_interval": 2, **options})

    def folders(self):
        """Folders of the storage, the checkpoints by their steps."""
        found, root = {}, self.path("run", "checkpoints")
        for name in os.listdir(root):
            path = os.path.join(root, name, "metadata.json")
            if os.path.exists(path):
                with open(path) as file:
                    metadata = json.load(file)
                found[metadata["steps_completed"]] = metadata
            else:
                self.assertNotIn("output", found)
                found["output"] = os.path.join(root, name)
        return found

    def rows(self):
        output = self.folders()["output"]
        rows = []
        for name in os.listdir(output):
            with open(os.path.join(output, name)) as file:
                rows += json.load(file)
        return sorted(rows)

    def test_every_record_is_processed_once_in_order(self):
        self.process()
        self.assertEqual([index for index, _ in Notes.seen], list(range(6)))
        self.assertEqual([value for _, batch in Notes.seen for value in batch], list(range(23)))
        self.assertEqual(Notes.calls, ["checkpoint"] * 3 + ["finish"])
        self.assertEqual(self.rows(), list(range(23)))
        folders = self.folders()
        self.assertEqual(set(folders), {2, 4, 6, "output"})
        self.assertEqual(folders[6]["records_completed"], 23)
        self.assertEqual(folders[4]["default_output_uuid"], os.path.basename(folders["output"]))
        self.assertTrue(b"inference" in self.reported())

    def test_a_run_that_died_goes_on_after_its_last_checkpoint(self):
        Notes.dies_at = 5
        with self.assertRaisesRegex(RuntimeError, "killed here"):
            self.process()
        self.assertEqual(set(self.folders()), {2, 4, "output"})
        Notes.seen, Notes.calls, Notes.dies_at = [], [], -1
        self.process(batch_size=3)  # which may be another
        self.assertEqual(Notes.seen[0], (4, [16, 17, 18]))
        self.assertEqual(self.rows(), list(range(23)))
        self.assertEqual(set(self.folders()), {2, 4, 6, 7, "output"})
        Notes.seen, Notes.calls = [], []
        self.process()
        self.assertEqual((Notes.seen, Notes.calls[-1]), ([], "finish"))  # nothing is left

    def test_it_stops_when_the_platform_asks(self):
        asked = iter([False, False, True])
        stop = unittest.mock.patch("determined.core.PreemptContext.should_preempt", lambda self: next(asked))
        with stop:
            self.process(checkpoint_interval=100)
        self.assertEqual(len(Notes.seen), 3)
        self.assertEqual(Notes.calls, ["checkpoint"])
        self.process(checkpoint_interval=100)
        self.assertEqual([value for _, batch in Notes.seen for value in batch], list(range(23)))

    def test_limits_and_loader_arguments_hold(self):
        self.process(max_batches=2, dataloader_kwargs={"drop_last": True})
        self.assertEqual(len(Notes.seen), 2)
        self.process(dataloader_kwargs={"drop_last": True})  # and the rest
        self.assertEqual([len(batch) for _, batch in Notes.seen], [4] * 5)

    def test_a_job_has_neither_checkpoints_nor_storage(self):
        core = types.SimpleNamespace(_values={"is_trial": False}, info=None, distributed=types.SimpleNamespace(local_rank=0, local_size=1))
        context = experimental.TorchBatchProcessorContext(core)
        with self.assertLogs("determined.pytorch", "INFO") as log:
            context.report_metrics("own", 3, {"loss": 1.0})
        self.assertIn("own after 3 batches: {'loss': 1.0}", log.output[0])
        with self.assertRaisesRegex(errors.StateError, "which only trials have, not jobs"):
            with context.upload_path():
                pass

    def test_what_cannot_be_processed_is_refused(self):
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(())

        process = experimental.torch_batch_process
        for words, error, sentence in (
            ((dict, NUMBERS), TypeError, "not a subclass of TorchBatchProcessor"),
            ((Notes, Stream()), TypeError, "the data set is a Stream, which can be neither shared"),
            ((Notes, NUMBERS, 0), ValueError, "batch_size is 0; expected a whole number"),
            ((Notes, NUMBERS, 1, True), ValueError, "max_batches is True"),
            ((Notes, NUMBERS, 1, None, 0), ValueError, "checkpoint_interval is 0"),
            ((Notes, NUMBERS, 1, None, 5, {"shuffle": True}), ValueError, "has 'shuffle', which this loop decides: leave it out"),
        ):
            with self.assertRaisesRegex(error, sentence):
                process(*words)
        os.environ["DET_OFFLINE_DIR"] = self.path("run")
        with det.core.init() as core_context:
            with core_context.checkpoint.store_path({"steps_completed": 1}):
                pass
        with self.assertRaisesRegex(ValueError, "was not saved by torch_batch_process"):
            self.process()


class Sums(experimental.TorchBatchProcessor):
    def __init__(self, context):
        self.seen = []
        self.total = context.wrap_reducer(lambda values: sum(values), "total")
        type(self).made = self

    def process_batch(self, batch, batch_idx):
        self.seen += batch[0].tolist()
        self.total.update(batch[0].sum().item())


def sum_up():
    experimental.torch_batch_process(Sums, NUMBERS, 4, checkpoint_interval=2)
    return Sums.made.seen


@unittest.skipIf(torch.cuda.is_available(), "two processes would need two GPUs")
class ProcessingOnTwoSlots(offline_case.Offline):
    def test_they_take_batches_in_turn(self):
        answers = children.run_ranks(2, sum_up)
        self.assertEqual([each["code"] for each in answers], [0, 0], answers)
        first, second = (each["value"] for each in answers)
        self.assertEqual(first, [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19])
        self.assertEqual(sorted(first + second), list(range(23)))
        self.assertTrue(b"total" in self.reported())


if __name__ == "__main__":
    unittest.main()
