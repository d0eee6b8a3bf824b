# SPDX-License-Identifier: Apache-2.0
"""Runs where a GPU is: what a step costs in our loop beside a plain one, in float32 and with mixed precision.

    torch_gpu.py [ROUNDS]

Prints the machine, then for each precision a line: its name, milliseconds a step in the plain loop and in ours, the
median of the rounds' ratios of time, and of processor time.  A residual network of 7 million weights on batches of
256 pictures of 3 x 32 x 32, which det.pytorch.DataLoader gathers and pins.
"""
import os
import statistics
import sys
import tempfile
import time

import torch
from torch import nn

import determined as det

WARM, STEPS, BATCH = 30, 200, 256
CUDA = torch.device("cuda", 0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width),
        )

    def forward(self, x):
        return nn.functional.relu(x + self.layers(x))


class Net(nn.Module):
    """Notes when the first and the last step that counts began."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        layers, before = [], 3
        for width in (64, 128, 256, 512):
            layers += [nn.Conv2d(before, width, 3, stride=1 if before == 3 else 2, padding=1), Block(width)]
            before = width
        self.layers = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 10))
        self.calls = 0
        self.stamps = []

    def forward(self, x):
        if self.calls in (WARM, WARM + STEPS):
            torch.cuda.synchronize()
            self.stamps.append((time.perf_counter(), time.process_time()))
        self.calls += 1
        return self.layers(x)

    def found(self):
        (wall, cpu), (wall_end, cpu_end) = self.stamps[:2]
        return (wall_end - wall) / STEPS * 1e3, (cpu_end - cpu) / STEPS * 1e3


def optimizer_of(net):
    return torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)


def loader():
    draw = torch.Generator().manual_seed(2)
    pictures = torch.randn(4096, 3, 32, 32, generator=draw)
    labels = torch.randint(0, 10, (4096,), generator=draw)
    data = torch.utils.data.TensorDataset(pictures, labels)
    return det.pytorch.DataLoader(data, batch_size=BATCH, shuffle=True, pin_memory=True)


def plain(amp, data):
    net = Net().to(CUDA)
    optimizer = optimizer_of(net)
    scaler = torch.amp.GradScaler("cuda", enabled=amp)
    done = 0
    while True:
        for x, y in data:
            x, y = x.to(CUDA, non_blocking=True), y.to(CUDA, non_blocking=True)
            with torch.autocast("cuda", enabled=amp):
                loss = nn.functional.cross_entropy(net(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            done += 1
            if done > WARM + STEPS:
                return net.found()


class Trial(det.pytorch.PyTorchTrial):
    amp, data = False, None

    def __init__(self, context):
        self.context = context
        self.net = context.wrap_model(Net())
        self.optimizer = context.wrap_optimizer(optimizer_of(self.net))
        if self.amp:
            context.experimental.use_amp()

    def train_batch(self, batch, epoch_idx, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def build_training_data_loader(self):
        return self.data


def ours(amp, data):
    Trial.amp, Trial.data = amp, data
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DET_OFFLINE_DIR"] = folder + "/run"
        with det.pytorch.init(hparams={}) as context:
            trial = Trial(context)
            det.pytorch.Trainer(trial, context).fit(max_length=det.pytorch.Batch(WARM + STEPS + 1))
    return trial.net.found()


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    data = loader()
    print(torch.cuda.get_device_name(CUDA), "torch", torch.__version__, flush=True)
    for amp in (False, True):
        pairs = []
        for turn in range(rounds):
            loops = (plain, ours) if turn % 2 else (ours, plain)
            found = {loop.__name__: loop(amp, data) for loop in loops}
            pairs.append((found["plain"], found["ours"]))
        walls = [statistics.median(each[who][0] for each in pairs) for who in (0, 1)]
        ratios = [statistics.median(ours[i] / plain[i] for plain, ours in pairs) for i in (0, 1)]
        print("amp" if amp else "float32", f"{walls[0]:.3f} {walls[1]:.3f} {ratios[0]:.4f} {ratios[1]:.4f}", flush=True)


if __name__ == "__main__":
    main()
