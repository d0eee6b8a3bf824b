# SPDX-License-Identifier: Apache-2.0
"""A small training for tests: a trial that uses every feature, and a way to stop it."""
import json
import os
import tempfile

import numpy as np
import torch
from offline_case import Offline
from torch import nn

import determined as det
from determined import pytorch

torch.set_num_threads(1)
if os.access("/dev/shm", os.W_OK):
    tempfile.tempdir = "/dev/shm"  # checkpoints are flushed, and tests need not wait for a disk

ROWS, BATCH = 72, 8  # 9 batches per epoch
_random = np.random.RandomState(3)
X = torch.from_numpy(_random.rand(ROWS, 6).astype("float32"))
Y = torch.from_numpy(_random.rand(ROWS, 2).astype("float32"))
HPARAMS = {"global_batch_size": BATCH, "lr": 0.1}


class Rows(torch.utils.data.Dataset):
    """Its data depends on the generators."""

    def __len__(self):
        return ROWS

    def __getitem__(self, index):
        return X[index] + 0.01 * torch.rand(6), Y[index]


def loader(rows=None, **options):
    data = torch.utils.data.TensorDataset(X, Y) if rows is None else rows
    return pytorch.DataLoader(data, **{"batch_size": BATCH, "shuffle": True, **options})


class Trial(pytorch.PyTorchTrial):
    """One model with dropout and batch norm, an optimizer with momentum, a scheduler."""

    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(
            nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))
        )
        rate = context.get_hparams().get("lr", 0.1)
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=rate, momentum=0.9))

    def train_batch(self, batch, epoch_idx, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.model(x), y)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        x, y = batch
        return {"validation_loss": nn.functional.mse_loss(self.model(x), y)}

    def build_training_data_loader(self):
        return loader()

    def build_validation_data_loader(self):
        return loader(shuffle=False)


class Training(Offline):
    """Contexts are closed after each test."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.close_all)

    def close_all(self):
        from determined.pytorch import _init

        _init._close_all()

    def in_folder(self, name):
        """The next run has its own folder."""
        self.close_all()
        os.environ["DET_OFFLINE_DIR"] = self.path(name)

    def context(self, hparams=None, **options):
        return pytorch.init(hparams=dict(HPARAMS, **(hparams or {})), **options)

    def fit(self, cls=Trial, config=None, **options):
        """The current form; returns the trial and the metrics."""
        options.setdefault("max_length", pytorch.Epoch(1))
        config = {"reproducibility": {"experiment_seed": 7}, **(config or {})}
        with self.context(exp_conf=config) as context:
            trial = cls(context)
            self.metrics = pytorch.Trainer(trial, context).fit(**options)
        return trial

    def checkpoints(self):
        """Storage ids in the order of their batches, with their folders."""
        folder = os.path.join(os.environ["DET_OFFLINE_DIR"], "checkpoints")
        found = []
        for uuid in os.listdir(folder) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, uuid, "metadata.json")) as file:
                found.append((json.load(file)["steps_completed"], os.path.join(folder, uuid)))
        return sorted(found)

    def files(self):
        """The last checkpoint: names and bytes; ids of the trial left out."""
        _, top = self.checkpoints()[-1]
        found = {}
        for where, _, names in os.walk(top):
            for name in names:
                if name not in ("continue_id", "manifest.det.json", "metadata.json"):
                    path = os.path.join(where, name)
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, top)] = file.read()
        return found


class Reports:
    """The reports, recorded between loop and core."""

    def __init__(self, test):
        self.training, self.validation = [], []
        from determined.core._train import TrainContext

        for name, kept in (("report_training_metrics", self.training), ("report_validation_metrics", self.validation)):
            before = getattr(TrainContext, name)

            def note(context, steps, metrics, before=before, kept=kept):
                kept.append((steps, metrics))
                before(context, steps, metrics)

            setattr(TrainContext, name, note)
            test.addCleanup(setattr, TrainContext, name, before)


__all__ = ["BATCH", "HPARAMS", "ROWS", "Reports", "Rows", "Trial", "Training", "X", "Y", "det", "loader"]
