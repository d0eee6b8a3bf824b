# SPDX-License-Identifier: Apache-2.0
"""The trainings of test_ddp.py, in its child processes: on two ranks, and alone for comparison."""
import os

import children
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from determined import _launch, core, pytorch
from determined.pytorch import _ddp, _reducer

RECORDS, HELD = 48, 10
FEATURES = 4


def data(count, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, FEATURES, generator=generator)
    return torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True) + torch.randn(count, 1, generator=generator) / 10)


class Spread(pytorch.MetricReducer):
    def __init__(self):
        self.reset()

    def reset(self):
        self.seen = []

    def per_slot_reduce(self):
        return {"targets": self.seen, "count": len(self.seen)}

    def cross_slot_reduce(self, per_slot_metrics):
        targets = torch.cat([each for part in per_slot_metrics for each in part["targets"]])
        return {"spread": float(targets.max() - targets.min()), "parts": sum(part["count"] for part in per_slot_metrics)}


class Trial(pytorch.PyTorchTrial):
    """Each rank takes batches of 4; what a hyperparameter asks for."""

    def __init__(self, context):
        self.context = context
        torch.manual_seed(7 + 100 * context.distributed.rank)  # rank 0's weights are taken
        model = nn.Sequential(nn.Linear(FEATURES, 8), nn.Tanh(), nn.Linear(8, 1))
        model.custom = lambda: "mine"
        self.model = context.wrap_model(model)
        if context.get_hparam("amp"):
            context.experimental.use_amp()
        self.optimizer = context.wrap_optimizer(
            torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9), fp16_compression=context.get_hparam("half")
        )
        self.spread = context.wrap_reducer(Spread(), for_training=False)
        self.largest = context.wrap_reducer(max, name="largest")

    def build_training_data_loader(self):
        return pytorch.DataLoader(data(RECORDS, 1), batch_size=4, shuffle=True)

    def build_validation_data_loader(self):
        return pytorch.DataLoader(data(HELD, 2), batch_size=3)

    def train_batch(self, batch, epoch_idx, batch_idx):
        x, y = batch
        assert self.model.custom() == "mine"
        loss = nn.functional.mse_loss(self.model(x), y)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        self.largest.update(float(y.max()))
        return {"loss": loss, "target": y.mean()}

    def evaluate_batch(self, batch):
        x, y = batch
        self.spread.seen.append(y)
        self.largest.update(float(y.max()))
        return {"error": nn.functional.mse_loss(self.model(x), y), "target": y.double().mean()}


def train(aggregation, batches, amp=False, half=False):
    """Each has its own folder: a training resumes from the checkpoint in it."""
    hparams = {"amp": amp, "half": half}
    name = f"run-{os.environ.get('WORLD_SIZE', 1)}-{aggregation}-{amp}-{half}"
    os.environ["DET_OFFLINE_DIR"] = os.path.join(os.environ["HOME"], name)
    with pytorch.init(hparams=hparams, aggregation_frequency=aggregation, enable_tensorboard_logging=False) as context:
        trial = Trial(context)
        metrics = pytorch.Trainer(trial, context).fit(max_length=pytorch.Batch(batches), checkpoint_policy="none")
        weights = [each.detach().flatten().tolist() for each in _ddp.plain(trial.model).parameters()]
        return {
            "weights": weights,
            "metrics": metrics,
            "wrapped": type(trial.model).__name__,
            "difference": context._ranks.difference(),
        }


def parts(ranks):
    """The parts by themselves; returns their results by name."""
    found = {"device": str(ranks.device), "is_distributed": ranks.is_distributed}
    rank = ranks.rank
    own = DistributedDataParallel(nn.Linear(2, 2), find_unused_parameters=True)
    found["kept"] = ranks.wrap(own) is own
    torch.manual_seed(rank)
    frozen = nn.Linear(2, 2).requires_grad_(False)
    found["frozen"] = [type(ranks.wrap(frozen)).__name__, frozen.weight.flatten().tolist()]
    normed = ranks.wrap(nn.BatchNorm1d(2))
    normed(torch.full((4, 2), float(rank)) + torch.randn(4, 2))
    with ranks.evaluating():
        for _ in range(rank):  # ranks need not have the same number of batches
            normed.eval()(torch.zeros(1, 2))
        found["buffers"] = normed.running_mean.tolist()
    found["again"] = normed.forward_sync_buffers
    found["alike"] = ranks.difference()
    with torch.no_grad():
        own.module.bias += rank
    found["different"] = ranks.difference()
    found["told"] = [ranks._has_told]
    with ranks.evaluating():
        found["told"].append(ranks._has_told)
    return found


def exchange(distributed):
    rank = distributed.rank
    means = _reducer.Means()
    for i in range(rank, 9, 2):
        means.add({"x": torch.tensor(0.1 * i)} if i % 4 else {"x": 0.1 * i, "rare": i}, i)
    stuff = {"t": [torch.full((rank + 1,), 1.5), torch.tensor(rank)], "n": rank, "s": f"rank {rank}"}
    gathered = _reducer.gather(distributed, stuff)
    return {
        "means": means.means(distributed),
        "gathered": None if gathered is None else [[each["t"][0].tolist(), int(each["t"][1]), each["n"], each["s"]] for each in gathered],
        "all": [each["n"] for each in _reducer.allgather(distributed, stuff)],
    }


def main():
    """One rank."""
    with _launch.distributed() as distributed:
        ranks = _ddp.join(distributed)
        found = {"parts": parts(ranks), "exchange": exchange(distributed)}
        ranks.leave()
    found["plain"] = train(1, 12)
    found["aggregated"] = train(2, 12)
    found["half"] = train(1, 12, half=True)
    found["amp"] = train(1, 12, amp=True)
    return found


def alone():
    return {"plain": train(2, 24), "aggregated": train(4, 24)}


def lose(how):
    """Rank 1 fails in the middle; rank 0 waits for its gradients. Returns the error of rank 0, and whether it
    waited for the launcher."""
    _ddp.STAND_BACK_S = 0.2
    with core.init(distributed=_launch.distributed()) as context:
        ranks = _ddp.join(context.distributed)
        model = ranks.wrap(nn.Linear(2, 1))
        with ranks.guard():
            for i in range(1000):
                if i == 3 and ranks.rank == 1:
                    if how == "killed":
                        children.kill_me()
                    raise ValueError("the cause")
                model(torch.ones(1, 2)).sum().backward()
