# SPDX-License-Identifier: Apache-2.0
"""Runs where PyTorch and determined are: what a step costs in our loop, in a plain one, Lightning's and the HF Trainer's.

    torch_loop.py [ROUNDS] [WHO ...]

Prints a line for each: its name, microseconds of processor time a step, steps a second (medians), and the median of
the rounds' ratios to the plain loop of the same round, of processor time and of steps.  All train the same small
convolutional network on the same batches of 32, in turns.  `tiny` is the same with one layer, where the loop itself
is most of it.  `itself` is our loop around a train_batch() that does nothing, beside walking through the data:
microseconds of processor time of both, and the median of the rounds' differences.  Data comes from det.pytorch.DataLoader but for the HF Trainer, which makes its own.
"""
import logging
import os
import statistics
import sys
import tempfile
import time
import warnings

import torch
from torch import nn

import determined as det

torch.set_num_threads(1)
warnings.simplefilter("ignore")
WARM, STEPS = 20, 200
X = torch.randn(2048, 1, 28, 28, generator=torch.Generator().manual_seed(1))
Y = torch.randint(0, 10, (2048,), generator=torch.Generator().manual_seed(2))


class Net(nn.Module):
    """Notes when the first and the last step that counts began."""

    def __init__(self, tiny, device="cpu"):
        super().__init__()
        torch.manual_seed(3)
        if tiny:
            self.layers = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
        else:
            self.layers = nn.Sequential(
                nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3872, 10)
            )
        self.calls = 0
        self.stamps = []

    def forward(self, x=None, labels=None):
        if self.calls in (WARM, WARM + STEPS):
            if x.is_cuda:
                torch.cuda.synchronize()
            self.stamps.append((time.process_time(), time.perf_counter()))
        self.calls += 1
        out = self.layers(x)
        return out if labels is None else {"loss": nn.functional.cross_entropy(out, labels)}

    def found(self):
        (cpu, wall), (cpu_end, wall_end) = self.stamps[:2]
        return (cpu_end - cpu) / STEPS * 1e6, STEPS / (wall_end - wall)


def optimizer_of(net):
    return torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)


def loader():
    return det.pytorch.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=32, shuffle=True)


DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def plain(tiny):
    net = Net(tiny).to(DEVICE)
    optimizer = optimizer_of(net)
    data, done = loader(), 0
    while True:
        for x, y in data:
            x, y = x.to(DEVICE, non_blocking=True), y.to(DEVICE, non_blocking=True)
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            done += 1
            if done > WARM + STEPS:
                return net.found()


class Trial(det.pytorch.PyTorchTrial):
    tiny = False

    def __init__(self, context):
        self.context = context
        self.net = context.wrap_model(Net(self.tiny))
        self.optimizer = context.wrap_optimizer(optimizer_of(self.net))

    def train_batch(self, batch, epoch_idx, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def build_training_data_loader(self):
        return loader()


def ours(tiny):
    Trial.tiny = tiny
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DET_OFFLINE_DIR"] = folder + "/run"
        with det.pytorch.init(hparams={}) as context:
            trial = Trial(context)
            det.pytorch.Trainer(trial, context).fit(max_length=det.pytorch.Batch(WARM + STEPS + 1))
    return trial.net.found()


def lightning(tiny):
    import lightning.pytorch as pl

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Net(tiny)

        def training_step(self, batch, index):
            x, y = batch
            return nn.functional.cross_entropy(self.net(x), y)

        def configure_optimizers(self):
            return optimizer_of(self.net)

    module = Module()
    trainer = pl.Trainer(
        max_steps=WARM + STEPS + 1,
        accelerator="auto",
        devices=1,
        logger=False,
        enable_progress_bar=False,
        enable_checkpointing=False,
        enable_model_summary=False,
    )
    trainer.fit(module, loader())
    return module.net.found()


class Records(torch.utils.data.Dataset):
    def __len__(self):
        return len(X)

    def __getitem__(self, index):
        return {"x": X[index], "labels": Y[index]}


def transformers(tiny):
    from transformers import Trainer, TrainingArguments

    net = Net(tiny)
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            output_dir=folder,
            max_steps=WARM + STEPS + 1,
            per_device_train_batch_size=32,
            logging_steps=100,
            report_to="none",
            disable_tqdm=True,
            save_strategy="no",
            max_grad_norm=0,
            use_cpu=DEVICE.type == "cpu",
        )
        Trainer(net, args, train_dataset=Records(), optimizers=(optimizer_of(net), None)).train()
    return net.found()


EMPTY = 4000


class Nothing(Trial):
    def __init__(self, context):
        super().__init__(context)
        self.loss = self.net.layers[0].weight.sum() if hasattr(self.net.layers[0], "weight") else torch.zeros(())
        self.stamps = []

    def train_batch(self, batch, epoch_idx, batch_idx):
        if batch_idx in (WARM, WARM + EMPTY):
            self.stamps.append(time.process_time())
        return {"loss": self.loss}


def nothing():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DET_OFFLINE_DIR"] = folder + "/run"
        with det.pytorch.init(hparams={}) as context:
            trial = Nothing(context)
            det.pytorch.Trainer(trial, context).fit(max_length=det.pytorch.Batch(WARM + EMPTY + 1))
    return (trial.stamps[1] - trial.stamps[0]) / EMPTY * 1e6


def walk():
    data, done = loader(), 0
    while True:
        for _ in data:
            if done == WARM:
                begun = time.process_time()
            if done == WARM + EMPTY:
                return (time.process_time() - begun) / EMPTY * 1e6
            done += 1


LOOPS = {"plain": plain, "ours": ours, "lightning": lightning, "transformers": transformers}


def quiet():
    """What the others print is none of the figures."""
    for name in ("lightning.pytorch", "lightning", "transformers", "accelerate"):
        logging.getLogger(name).setLevel(logging.ERROR)
    kept = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return os.fdopen(kept, "w")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    names = ["plain", *(sys.argv[2:] or ["ours", "lightning", "transformers"])]
    out = quiet()
    for tiny in (False, True):
        found = {name: [] for name in names}
        for turn in range(rounds):
            for name in names if turn % 2 else names[::-1]:  # whoever is first has a colder cache
                found[name].append(LOOPS[name](tiny))
        for name in names:
            cpu, pace = (statistics.median(column) for column in zip(*found[name]))
            pairs = list(zip(found[name], found["plain"]))
            more = statistics.median(one[0] / other[0] for one, other in pairs)
            speed = statistics.median(one[1] / other[1] for one, other in pairs)
            print(name + "_tiny" * tiny, f"{cpu:.1f} {pace:.1f} {more:.4f} {speed:.4f}", file=out, flush=True)
    pairs = [(nothing(), walk()) for _ in range(rounds)]
    ours_us, walk_us = (statistics.median(column) for column in zip(*pairs))
    itself = statistics.median(one - other for one, other in pairs)
    print("itself", f"{ours_us:.2f} {walk_us:.2f} {itself:.2f} 0", file=out, flush=True)


if __name__ == "__main__":
    main()
