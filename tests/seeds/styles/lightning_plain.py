# SPDX-License-Identifier: Apache-2.0
"""Lightning without a ModelCheckpoint: DetCallback alone saves."""
import lightning as pl
import torch

import determined as det
from determined.lightning import DetCallback, DetLogger, Resumable


class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))

    def training_step(self, batch, batch_idx):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", torch.nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.01)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)]


pl.seed_everything(5)
x = torch.rand(64, 4)
data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
with det.core.init() as context:
    callback = DetCallback(context, checkpoint_batches=4)
    trainer = pl.Trainer(
        max_epochs=8, log_every_n_steps=2, accelerator="cpu", logger=DetLogger(context), callbacks=[callback],
        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(
        Module(), Resumable(torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)),
        torch.utils.data.DataLoader(data, batch_size=16), ckpt_path=callback.ckpt_path)
