# SPDX-License-Identifier: Apache-2.0
"""PyTorch with autocast, a scaler and gradients of several batches, as in its documentation of mixed precision."""
import torch
from torch import nn

from determined import pytorch


class Trial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)))
        self.optimizer = context.wrap_optimizer(torch.optim.AdamW(self.model.parameters(), lr=0.01))
        self.scaler = context.wrap_scaler(torch.amp.GradScaler(context.device.type, init_scale=64.0, growth_interval=5))

    def train_batch(self, batch, epoch_idx, batch_idx):
        x, y = batch
        with torch.autocast(self.context.device.type, dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(self.model(x), y)
        self.context.backward(self.scaler.scale(loss))
        self.context.step_optimizer(self.optimizer, scaler=self.scaler)
        self.scaler.update()
        return {"loss": loss, "scale": self.scaler.get_scale()}

    def evaluate_batch(self, batch):
        x, y = batch
        return {"validation_loss": nn.functional.mse_loss(self.model(x), y)}

    def build_training_data_loader(self):
        return pytorch.DataLoader(DATA, batch_size=8, shuffle=True)

    def build_validation_data_loader(self):
        return pytorch.DataLoader(DATA, batch_size=8)


torch.manual_seed(5)
X = torch.rand(64, 4)
DATA = torch.utils.data.TensorDataset(X, X.sum(1, keepdim=True))
with pytorch.init(aggregation_frequency=3) as context:
    pytorch.Trainer(Trial(context), context).fit(
        max_length=pytorch.Epoch(10), validation_period=pytorch.Epoch(1), checkpoint_period=pytorch.Batch(5),
    )
