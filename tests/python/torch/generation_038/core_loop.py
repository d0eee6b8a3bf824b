# SPDX-License-Identifier: Apache-2.0
"""A script as written for the 0.38 generation, with its own PyTorch loop on the Core API."""
import logging
import pathlib
import random

import torch
import torch.distributed as dist
from torch import nn

import determined as det
from determined import core


def save(core_context, model, optimizer, steps):
    metadata = {"steps_completed": steps, "note": "from the loop"}
    with core_context.checkpoint.store_path(metadata) as (path, uuid):
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "steps": steps}, path / "state.pt")
    return uuid


def load(core_context, uuid, model, optimizer):
    with core_context.checkpoint.restore_path(uuid) as path:
        state = torch.load(pathlib.Path(path) / "state.pt", weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["steps"]


def main(core_context, latest_checkpoint, seed, lr):
    random.seed(seed)
    torch.manual_seed(seed)
    model = nn.Linear(2, 1)
    trained = nn.parallel.DistributedDataParallel(model) if core_context.distributed.size > 1 else model
    optimizer = torch.optim.SGD(trained.parameters(), lr=lr)
    steps = 0
    if latest_checkpoint is not None:
        steps = load(core_context, latest_checkpoint, model, optimizer)
        core_context.checkpoint.get_metadata(latest_checkpoint)
    is_chief = core_context.distributed.rank == 0
    core_context.train.set_status("training")
    core_context.profiler.on(sampling_interval=1, samples_per_report=10)
    while steps < 30:
        x = torch.rand(4, 2, generator=torch.Generator().manual_seed(steps))
        loss = (trained(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        if steps % 10 == 0:
            losses = core_context.distributed.gather(loss.item())
            if is_chief:
                mean = sum(losses) / len(losses)
                core_context.train.report_training_metrics(steps_completed=steps, metrics={"loss": mean})
                core_context.train.report_validation_metrics(steps_completed=steps, metrics={"val_loss": mean})
                core_context.train.report_metrics("extra", steps_completed=steps, metrics={"lr": lr})
                core_context.train.report_progress(steps / 30)
                save(core_context, model, optimizer, steps)
            if core_context.preempt.should_preempt():
                return
    core_context.profiler.off()
    core_context.train.get_experiment_best_validation()
    print("done after", steps, "steps on", core_context.distributed.get_size())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    latest_checkpoint = info.latest_checkpoint if info is not None else None
    hparams = info.trial.hparams if info is not None else {"lr": 0.1}
    seed = info.trial.trial_seed if info is not None else 0
    distributed = None
    try:
        distributed = core.DistributedContext.from_torch_distributed()
    except (KeyError, ValueError, RuntimeError):
        pass  # nobody has launched it
    if distributed is not None and distributed.size > 1:
        dist.init_process_group("gloo")
    with core.init(distributed=distributed) as core_context:
        main(core_context, latest_checkpoint, seed, hparams["lr"])
