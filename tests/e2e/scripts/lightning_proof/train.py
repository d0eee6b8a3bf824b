# SPDX-License-Identifier: Apache-2.0
"""A Lightning module with ModelCheckpoint, to be killed.  Its checkpoints are PyTorch files, in which equal strings
are one object or two: the bytes of equal states differ.  Their folder is one that stays: Lightning forgets the best
score of a ModelCheckpoint whose folder has changed."""
import os

import determined as det
import lightning.pytorch as pl
import torch
from determined.lightning import DetCallback, DetLogger, Resumable
from lightning.pytorch.callbacks import ModelCheckpoint

torch.set_num_threads(1)


class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.1), torch.nn.Linear(8, 1))

    def loss(self, batch):
        return torch.nn.functional.mse_loss(self.net(batch), batch.sum(1, keepdim=True))

    def training_step(self, batch, batch_idx):
        loss = self.loss(batch)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", self.loss(batch))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 0.01)


def main(core_context):
    pl.seed_everything(core_context.info.trial.trial_seed)
    train = torch.utils.data.DataLoader(torch.randn(256, 4), batch_size=8, shuffle=True)
    validation = torch.utils.data.DataLoader(torch.randn(64, 4), batch_size=16)
    callback = DetCallback(core_context, checkpoint_batches=10)
    best = os.path.join(os.environ["HOME"], f"best-{core_context.info.trial.experiment_id}")
    trainer = pl.Trainer(
        max_epochs=12,
        callbacks=[callback, ModelCheckpoint(best, monitor="val_loss")],
        logger=DetLogger(core_context),
        log_every_n_steps=4,
        enable_progress_bar=False,
    )
    trainer.fit(Module(), Resumable(train), validation, ckpt_path=callback.ckpt_path)


if __name__ == "__main__":
    with det.core.init() as context:
        main(context)
