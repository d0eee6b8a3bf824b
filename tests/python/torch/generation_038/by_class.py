# SPDX-License-Identifier: Apache-2.0
"""A trial as written for the 0.38 generation, run by its class: entrypoint: by_class:LegacyTrial."""
from typing import Any, Dict, Sequence, Union

import torch
from torch import nn

from determined.pytorch import (
    DataLoader,
    PyTorchCallback,
    PyTorchExperimentalContext,
    PyTorchTrial,
    PyTorchTrialContext,
    TorchData,
    samplers,
)


class Stopping(PyTorchCallback):
    def __init__(self, context):
        self.context = context

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        if epoch_idx >= self.context.get_hparam("last_epoch"):
            self.context.set_stop_requested(True)


class LegacyTrial(PyTorchTrial):
    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context
        assert isinstance(context.experimental, PyTorchExperimentalContext)
        assert context.get_experiment_config()["searcher"]["name"] == "single"
        assert context.get_data_config() == {"records": 40}
        assert context.get_hparams()["global_batch_size"] == context.get_global_batch_size() == 8
        assert context.distributed.get_size() == context.distributed.size
        assert isinstance(context.get_trial_seed(), int) and context.get_initial_batch() >= 0
        self.records = context.get_data_config()["records"]
        context.experimental.disable_dataset_reproducibility_checks()
        context.experimental.disable_auto_to_device()
        self.generator = context.wrap_model(nn.Linear(2, 2))
        self.judge = context.wrap_model(nn.Linear(2, 1))
        self.optimizers = [
            context.wrap_optimizer(torch.optim.Adam(model.parameters(), lr=context.get_hparam("lr")))
            for model in (self.generator, self.judge)
        ]
        context.experimental.use_amp()
        self.writer = context.get_tensorboard_writer()
        self.epochs_seen = [0, 0]

    def build_training_data_loader(self) -> Any:
        x = torch.rand(self.records, 2, generator=torch.Generator().manual_seed(3))
        dataset = torch.utils.data.TensorDataset(x)
        sampler = torch.utils.data.BatchSampler(
            torch.utils.data.SequentialSampler(dataset), self.context.get_per_slot_batch_size(), drop_last=False
        )
        sampler = samplers.ReproducibleShuffleBatchSampler(sampler, seed=self.context.get_trial_seed())
        sampler = samplers.RepeatBatchSampler(sampler)
        distributed = self.context.distributed
        sampler = samplers.DistributedBatchSampler(sampler, num_workers=distributed.size, rank=distributed.rank)
        return torch.utils.data.DataLoader(dataset, batch_sampler=samplers.SkipBatchSampler(sampler, self.context.get_initial_batch()))

    def build_validation_data_loader(self) -> Any:
        return DataLoader(torch.utils.data.TensorDataset(torch.rand(16, 2)), batch_size=4, num_workers=0)

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:
        return {"stopping": Stopping(self.context)}

    def train_batch(self, batch: TorchData, epoch_idx: int, batch_idx: int) -> Union[torch.Tensor, Dict[str, Any]]:
        self.epochs_seen[0] += self.context.is_epoch_start()
        self.epochs_seen[1] += self.context.is_epoch_end()
        (x,) = self.context.to_device(batch)
        loss = self.judge(self.generator(x)).square().mean()
        self.context.backward(loss)
        for optimizer in self.optimizers:
            self.context.step_optimizer(optimizer)
        self.writer.add_scalar("train_batch", loss.item(), batch_idx)
        return loss

    def evaluate_full_dataset(self, data_loader: torch.utils.data.DataLoader) -> Dict[str, Any]:
        total, count = 0.0, 0
        for batch in data_loader:
            (x,) = self.context.to_device(batch)
            total += self.judge(self.generator(x)).square().sum().item()
            count += len(x)
        return {"val_loss": total / count, "count": count}
