# SPDX-License-Identifier: Apache-2.0
"""Two networks against each other: one draws digits, the other tells them from real ones.

Two models, two optimizers, in turn: each batch first trains the one that judges, then the one that draws.
"""
import data
import torch
from determined import pytorch
from torch import nn


def labels(like, *values):
    """One for each picture of a batch, as many times as there are values."""
    return torch.cat([torch.full((len(like), 1), float(value), device=like.device) for value in values])


class GANTrial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.noise = context.get_hparam("noise")
        width = context.get_hparam("width")
        self.generator = context.wrap_model(
            nn.Sequential(
                nn.Linear(self.noise, width),
                nn.LeakyReLU(0.2),
                nn.Linear(width, 784),
                nn.Sigmoid(),
                nn.Unflatten(1, (1, 28, 28)),
            )
        )
        self.discriminator = context.wrap_model(
            nn.Sequential(nn.Flatten(), nn.Linear(784, width), nn.LeakyReLU(0.2), nn.Linear(width, 1))
        )
        self.generator_optimizer = context.wrap_optimizer(
            torch.optim.Adam(self.generator.parameters(), context.get_hparam("generator_lr"), betas=(0.5, 0.999))
        )
        self.discriminator_optimizer = context.wrap_optimizer(
            torch.optim.Adam(self.discriminator.parameters(), context.get_hparam("discriminator_lr"), betas=(0.5, 0.999))
        )

    # ---- data

    def build_training_data_loader(self):
        x, y = data.load("train")
        batch_size = self.context.get_per_slot_batch_size()
        return pytorch.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=batch_size, shuffle=True)

    def build_validation_data_loader(self):
        x, y = data.load("test")
        batch_size = self.context.get_per_slot_batch_size()
        return pytorch.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=batch_size)

    # ---- training

    def draw(self, count):
        return self.generator(self.context.to_device(torch.randn(count, self.noise)))

    def judge(self, pictures, is_real):
        return nn.functional.binary_cross_entropy_with_logits(self.discriminator(pictures), is_real)

    def train_discriminator(self, real):
        with torch.no_grad():
            fake = self.draw(len(real))
        loss = self.judge(torch.cat([real, fake]), labels(real, 1, 0))
        self.context.backward(loss)
        self.context.step_optimizer(self.discriminator_optimizer)
        return loss

    def train_generator(self, real):
        self.discriminator.requires_grad_(False)  # it only passes gradients on
        loss = self.judge(self.draw(len(real)), labels(real, 1))
        self.context.backward(loss)
        self.context.step_optimizer(self.generator_optimizer)
        self.discriminator.requires_grad_(True)
        return loss

    def train_batch(self, batch, epoch_idx, batch_idx):
        real, _ = batch
        return {
            "discriminator_loss": self.train_discriminator(real),
            "generator_loss": self.train_generator(real),
        }

    def evaluate_batch(self, batch):
        real, _ = batch
        fake = self.draw(len(real))
        return {
            "discriminator_loss": self.judge(torch.cat([real, fake]), labels(real, 1, 0)),
            "generator_loss": self.judge(fake, labels(real, 1)),
        }

    # ---- afterwards

    def predict_batch(self, batch):
        """Of noise, pictures."""
        (noise,) = batch
        return self.generator(noise)
