# SPDX-License-Identifier: Apache-2.0
"""PyTorch with OneCycleLR, stepped after every batch, momentum that it cycles, and an average of the weights (EMA)."""
import torch
from torch import nn

import determined as det
from determined import pytorch


class Trial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1)))
        average = torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
        self.average = context.wrap_model(torch.optim.swa_utils.AveragedModel(self.model, multi_avg_fn=average))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9))
        schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, max_lr=0.1, total_steps=80)
        self.schedule = context.wrap_lr_scheduler(schedule, pytorch.LRScheduler.StepMode.STEP_EVERY_BATCH)

    def train_batch(self, batch, epoch_idx, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.model(x), y)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        self.average.update_parameters(self.model)
        return {"loss": loss, "rate": self.schedule.get_last_lr()[0]}

    def evaluate_batch(self, batch):
        x, y = batch
        return {"validation_loss": nn.functional.mse_loss(self.average(x), y)}


torch.manual_seed(5)
X = torch.rand(64, 4)
DATA = torch.utils.data.TensorDataset(X, X.sum(1, keepdim=True))
with pytorch.init() as context:
    context.train(
        context.build_trial(Trial), pytorch.DataLoader(DATA, 8, shuffle=True), pytorch.DataLoader(DATA, 8),
        min_validation_period=det.Epochs(1), min_checkpoint_period=det.Batches(5), max_length=det.Epochs(10),
    )
