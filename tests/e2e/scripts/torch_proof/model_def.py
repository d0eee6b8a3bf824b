# SPDX-License-Identifier: Apache-2.0
"""A small PyTorch trial for resume proofs: everything in it that a checkpoint must not lose."""
import random

import numpy as np
import torch
from torch import nn

from determined import pytorch

ROWS = 96
X = torch.linspace(0, 1, ROWS * 6).reshape(ROWS, 6)
Y = X.sum(1, keepdim=True).sin()


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return ROWS

    def __getitem__(self, index):
        return X[index] + 0.01 * torch.rand(6), Y[index]


class Remembers(pytorch.PyTorchCallback):
    def __init__(self):
        self.best = 1e9

    def on_validation_end(self, metrics):
        self.best = min(self.best, metrics["validation_loss"])

    def state_dict(self):
        return {"best": self.best}

    def load_state_dict(self, state_dict):
        self.best = state_dict["best"]


class Trial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.workers = context.get_hparam("workers")
        model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
        self.model = context.wrap_model(model)
        self.optimizer = context.wrap_optimizer(torch.optim.AdamW(self.model.parameters(), lr=0.01))
        schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(self.optimizer, 50)
        context.wrap_lr_scheduler(schedule, pytorch.LRScheduler.StepMode.STEP_EVERY_BATCH)
        self.sum = context.wrap_reducer(lambda values: float(sum(values)), "sum", for_validation=False)

    def train_batch(self, batch, epoch_idx, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.model(x), y + 0.01 * (random.random() + np.random.rand()))
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer, lambda params: nn.utils.clip_grad_norm_(params, 1.0))
        self.sum.update(x.sum().item())
        return {"loss": loss}

    def evaluate_batch(self, batch):
        x, y = batch
        return {"validation_loss": nn.functional.mse_loss(self.model(x), y), "drawn": torch.rand(())}

    def build_callbacks(self):
        return {"remembers": Remembers()}

    def build_training_data_loader(self):
        size = self.context.get_per_slot_batch_size()
        return pytorch.DataLoader(Rows(), batch_size=size, shuffle=True, num_workers=self.workers)

    def build_validation_data_loader(self):
        return pytorch.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=32)
