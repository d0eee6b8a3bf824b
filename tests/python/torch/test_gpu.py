# SPDX-License-Identifier: Apache-2.0
"""What only a GPU can show; skipped where there is none.  test_resume, test_data, test_data_workers, test_reducer and
test_inference run on one, too; the others expect the processor."""
import unittest

import torch
import training
from torch import nn
from training import Training

from determined import pytorch


@unittest.skipUnless(torch.cuda.is_available(), "needs a GPU")
class Gpu(Training):
    def test_models_batches_and_metrics_are_there(self):
        class Looks(training.Trial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                self.found = {each.device.type for each in (*batch, *self.model.parameters())}
                return super().train_batch(batch, epoch_idx, batch_idx)

            def build_training_data_loader(self):
                return training.loader(pin_memory=True, num_workers=batchless)

        for batchless in (0, 2):
            self.in_folder(f"workers-{batchless}")
            reports = training.Reports(self)
            trial = self.fit(Looks, reporting_period=pytorch.Batch(2))
            self.assertEqual(trial.found, {"cuda"})
            self.assertTrue(all(isinstance(values["loss"], float) for _, values in reports.training))

    def test_mixed_precision_is_float16_with_a_scaler(self):
        class Amp(training.Trial):
            def __init__(self, context):
                super().__init__(context)
                context.experimental.use_amp()

            def train_batch(self, batch, epoch_idx, batch_idx):
                x, y = batch
                out = self.model(x)
                self.kind = out.dtype
                loss = nn.functional.mse_loss(out, y)
                self.context.backward(loss)
                self.context.step_optimizer(self.optimizer)
                return loss

        self.assertEqual(self.fit(Amp).kind, torch.float16)

    def test_a_reducer_that_counts_there_goes_on_there(self):
        class Sum(pytorch.MetricReducer):
            def reset(self):
                self.total = torch.zeros(2, device="cuda")

            def per_slot_reduce(self):
                return self.total

            def cross_slot_reduce(self, per_slot_metrics):
                return float(sum(per_slot_metrics).sum())

        class Counts(training.Trial):
            def __init__(self, context):
                super().__init__(context)
                self.sum = context.wrap_reducer(Sum(), name="sum")

            def train_batch(self, batch, epoch_idx, batch_idx):
                self.sum.total += torch.ones(2, device=self.context.device)
                if batch_idx == self.last:
                    self.context._loop._trainer.stop()  # as the platform would
                return super().train_batch(batch, epoch_idx, batch_idx)

        reports = training.Reports(self)
        for Counts.last in (3, -1):
            self.fit(Counts)
        self.assertEqual(reports.training[-1][1]["sum"], 18.0)

    def test_a_full_gpu_says_what_was_asked_for_and_what_was_free(self):
        class Greedy(training.Trial):
            def train_batch(self, batch, epoch_idx, batch_idx):
                self.much = torch.empty(2**42, dtype=torch.uint8, device=self.context.device)

        with self.assertRaisesRegex(
            torch.OutOfMemoryError, r"the GPU cuda:0 is full: 4096.00 GiB was asked for, [\d.]+ GiB of [\d.]+ GiB was free; "
        ):
            self.fit(Greedy)


if __name__ == "__main__":
    unittest.main()
