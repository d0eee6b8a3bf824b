# SPDX-License-Identifier: Apache-2.0
"""The callback, the logger and the loader for Lightning, with a tiny module and no master."""
import contextlib
import io
import os
import subprocess
import sys
import unittest
import warnings

import children
from place import Offline

import lightning.pytorch as pl
import torch

import determined as det
from determined import core
from determined.lightning import DetCallback, DetLogger, Resumable

torch.set_num_threads(1)
warnings.filterwarnings("ignore")


class Points(torch.utils.data.Dataset):
    """20 points; with `noise` each is moved at random whenever it is read."""

    def __init__(self, noise=False):
        self.points = torch.randn(20, 4, generator=torch.Generator().manual_seed(3))
        self.noise = noise

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        point = self.points[index]
        return point + (torch.randn(4) if self.noise else 0), point.sum()


class Module(pl.LightningModule):
    def __init__(self, kill_at=None, plateau=False, log_every=2):
        super().__init__()
        torch.manual_seed(7)
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.3), torch.nn.Linear(4, 1))
        self.kill_at, self.plateau = kill_at, plateau

    def training_step(self, batch, batch_idx):
        if self.kill_at is not None and self.global_step >= self.kill_at:
            children.kill_me()
        loss = torch.nn.functional.mse_loss(self.net(batch[0])[:, 0], batch[1])
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("val_loss", torch.nn.functional.mse_loss(self.net(batch[0])[:, 0], batch[1]), sync_dist=True)
        self.log("val_each", float(batch_idx), on_step=True, on_epoch=False)

    def test_step(self, batch, batch_idx):
        self.log("test_loss", 1.0)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.05)
        if self.plateau:
            scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5, threshold=0.9)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "val_loss"}}
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)}


class Noting(core._train.TrainContext):
    """Keeps what is reported."""

    def _report(self, group, steps_completed, metrics, batch_metrics=None):
        super()._report(group, steps_completed, metrics, batch_metrics)
        self.__dict__.setdefault("seen", []).append((group, steps_completed, metrics))

    def report_progress(self, progress):
        super().report_progress(progress)
        self.__dict__.setdefault("progress", []).append(progress)


def loader_of(kind, noise, workers):
    sampler = None
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        sampler = torch.utils.data.DistributedSampler(Points(), int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"]), seed=5)
    batch = 4 if sampler is None else 2
    loader = torch.utils.data.DataLoader(Points(noise), batch, shuffle=sampler is None, sampler=sampler, num_workers=workers)
    return Resumable(loader) if kind == "resumable" else loader


def train(
    kill_at=None, stop_at=None, kind="resumable", noise=False, workers=0, plateau=False, batches=2, resume=True, twice=False,
    callbacks=(), after=False, **more
):
    """5 steps an epoch, 15 in all; the weights and what was reported."""
    torch.manual_seed(os.getpid())  # nothing comes from here
    is_ranked = int(os.environ.get("WORLD_SIZE", "1")) > 1
    distributed = core.DistributedContext.from_torch_distributed() if is_ranked else None
    with core.init(distributed=distributed) as context:
        context.train.__class__ = Noting
        callback = DetCallback(context, checkpoint_batches=batches)
        if stop_at is not None:
            asks = iter(range(1, 1000))
            context.preempt.should_preempt = lambda: next(asks) >= stop_at
        module = Module(kill_at, plateau)
        settings = dict(max_epochs=3, log_every_n_steps=2, accelerator="cpu", enable_progress_bar=False)
        settings.update(enable_model_summary=False, default_root_dir=os.environ["HOME"], **more)
        if is_ranked:
            settings.update(devices=int(os.environ["WORLD_SIZE"]), strategy="ddp", use_distributed_sampler=False)
        torch.manual_seed(11)  # of the first run; a resumed one has its own
        if callback.ckpt_path is not None and resume:
            torch.manual_seed(os.getpid())
        trainer = pl.Trainer(
            callbacks=[callback, *callbacks, *([DetCallback(context)] if twice else [])],
            logger=DetLogger(context),
            **settings,
        )
        trainer.fit(
            module,
            loader_of(kind, noise, workers),
            torch.utils.data.DataLoader(Points(), 4),
            ckpt_path=callback.ckpt_path if resume else None,
        )
        if after:
            trainer.validate(module, torch.utils.data.DataLoader(Points(), 4), verbose=False)
            trainer.test(module, torch.utils.data.DataLoader(Points(), 4), verbose=False)
        return {
            "weights": {name: value.tolist() for name, value in module.state_dict().items()},
            "steps": trainer.global_step,
            "epochs": trainer.current_epoch,
            "seen": context.train.__dict__.get("seen", []),
            "progress": context.train.__dict__.get("progress", []),
            "is_preempted": callback.is_preempted,
            "limit": trainer.limit_val_batches,
        }


def _train(settings):
    return train(**settings)


class Lightning(Offline):
    def setUp(self):
        super().setUp()
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)

    def well(self, done):
        self.assertEqual(done["code"], 0, done["log"][-3000:])
        return done["value"]

    def train(self, name, **more):
        return children.run(_train, more, DET_OFFLINE_DIR=self.path(name))

    def kill(self, name, *places, **more):
        for place in places:
            done = self.train(name, kill_at=place, **more)
            self.assertEqual(done["code"], children.KILLED, done["log"][-3000:])

    def steps(self, value, group, name):
        return [step for kind, step, metrics in value["seen"] if kind == group and name in metrics]

    def test_a_training(self):
        value = self.well(self.train("run", after=True))
        self.assertEqual((value["steps"], value["epochs"]), (15, 3))
        self.assertEqual(self.steps(value, "training", "train_loss"), [2, 4, 6, 8, 10, 12, 14])
        self.assertEqual(self.steps(value, "validation", "val_loss"), [5, 10, 15, 15])
        metrics = [each for _, step, each in value["seen"] if step == 10][-1]
        self.assertEqual(set(metrics), {"val_loss", "batches", "epochs"})
        self.assertEqual((metrics["batches"], metrics["epochs"]), (10, 2))
        names = {name for _, _, metrics in value["seen"] for name in metrics}
        self.assertEqual(names, {"train_loss", "val_loss", "batches", "epochs"})
        self.assertEqual(value["progress"], sorted(value["progress"]))
        self.assertEqual(value["progress"][-1], 1.0)
        again = self.well(self.train("run"))  # complete: nothing is trained
        self.assertEqual((again["weights"], again["seen"]), (value["weights"], []))

    def test_a_killed_training_ends_with_the_same_weights(self):
        whole = self.well(self.train("whole"))
        self.kill("killed", 1, 3, 4, 5, 6, 9, 10, 14)
        self.assertEqual(self.well(self.train("killed"))["weights"], whole["weights"])
        self.assertEqual(self.well(self.train("plain", kind="plain", batches=None))["weights"], whole["weights"])


if __name__ == "__main__":
    unittest.main()
