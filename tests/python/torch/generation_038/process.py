# SPDX-License-Identifier: Apache-2.0
"""A script as written for the 0.38 generation that runs a model over a data set: torch_batch_process()."""
import os
import pathlib
import sys

import torch
from trainer import Points, PointsTrial

from determined import pytorch
from determined.pytorch import CheckpointLoadContext, MetricReducer, load_trial_from_checkpoint_path
from determined.pytorch.experimental import TorchBatchProcessor, TorchBatchProcessorContext, torch_batch_process


class Count(MetricReducer):
    def __init__(self):
        self.reset()

    def reset(self):
        self.count = 0

    def update(self, count):
        self.count += count

    def per_slot_reduce(self):
        return self.count

    def cross_slot_reduce(self, per_slot_metrics):
        return sum(per_slot_metrics)


class Scores(TorchBatchProcessor):
    def __init__(self, context: TorchBatchProcessorContext) -> None:
        self.context = context
        path = os.environ["CHECKPOINT"]
        trial = load_trial_from_checkpoint_path(
            path, trial_class=PointsTrial, trial_kwargs={"hparams": {"lr": 0.1, "nested": {"width": 6}}},
            torch_load_kwargs={"map_location": "cpu"},
        )
        assert isinstance(trial.context, CheckpointLoadContext)
        self.model = context.prepare_model_for_inference(trial.model)
        self.count = context.wrap_reducer(Count(), name="count")
        self.output = []
        self.last = 0

    def process_batch(self, batch: pytorch.TorchData, batch_idx: int) -> None:
        batch = self.context.to_device(batch)
        self.output.append(self.model(batch["x"]))
        self.count.update(len(batch["x"]))
        self.last = batch_idx
        self.context.report_metrics("batches", batch_idx + 1, {"size": len(batch["x"])})

    def on_checkpoint_start(self) -> None:
        if self.output:
            with self.context.upload_path() as path:
                torch.save(torch.cat(self.output), pathlib.Path(path) / f"scores_{self.last}.pt")
            self.output = []

    def on_finish(self) -> None:
        print("finished after batch", self.last)


if __name__ == "__main__":
    torch_batch_process(
        Scores,
        Points(30, 3),
        batch_size=4,
        max_batches=6,
        checkpoint_interval=2,
        dataloader_kwargs={"num_workers": 0},
    )
    sys.stdout.flush()
