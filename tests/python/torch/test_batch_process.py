# SPDX-License-Identifier: Apache-2.0
"""torch_batch_process(): every record once, checkpoints, going on, on one slot and on two."""
import json
import os
import types
import unittest
import unittest.mock

import children
import place
import torch
from determined import errors
from determined.pytorch import experimental

NUMBERS = torch.utils.data.TensorDataset(torch.arange(23.0))


class Notes(experimental.TorchBatchProcessor):
    """Writes down what it is given, and may be stopped or die."""

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


class OneSlot(place.Offline):
    def setUp(self):
        super().setUp()
        Notes.seen, Notes.calls, Notes.dies_at = [], [], -1

    def process(self, **options):
        experimental.torch_batch_process(Notes, NUMBERS, **{"batch_size": 4, "checkpoint_interval": 2, **options})

    def folders(self):
        """Those of the storage, the checkpoints by their steps."""
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
        self.assertIn(b"inference", self.reported())

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
        with self.assertRaisesRegex(errors.StateError, "which a trial has and a job has not"):
            with context.upload_path():
                pass

    def test_what_cannot_be_processed_is_refused(self):
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(())

        process = experimental.torch_batch_process
        for words, error, sentence in (
            ((dict, NUMBERS), TypeError, "no subclass of TorchBatchProcessor"),
            ((Notes, Stream()), TypeError, "the data set is a Stream, which cannot be shared"),
            ((Notes, NUMBERS, 0), ValueError, "batch_size is 0; expected a whole number"),
            ((Notes, NUMBERS, 1, True), ValueError, "max_batches is True"),
            ((Notes, NUMBERS, 1, None, 0), ValueError, "checkpoint_interval is 0"),
            ((Notes, NUMBERS, 1, None, 5, {"shuffle": True}), ValueError, "has 'shuffle', which this loop decides: leave it out"),
        ):
            with self.assertRaisesRegex(error, sentence):
                process(*words)
        os.environ["DET_OFFLINE_DIR"] = self.path("run")
        import determined as det

        with det.core.init() as core_context:
            with core_context.checkpoint.store_path({"steps_completed": 1}):
                pass
        with self.assertRaisesRegex(ValueError, "is none of torch_batch_process"):
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


class TwoSlots(place.Offline):
    def test_they_take_batches_in_turn(self):
        answers = children.run_ranks(2, sum_up)
        self.assertEqual([each["code"] for each in answers], [0, 0], answers)
        first, second = (each["value"] for each in answers)
        self.assertEqual(first, [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19])
        self.assertEqual(sorted(first + second), list(range(23)))
        self.assertIn(b"total", self.reported())


if __name__ == "__main__":
    unittest.main()
