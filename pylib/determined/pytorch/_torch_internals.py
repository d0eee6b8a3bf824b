# SPDX-License-Identifier: Apache-2.0
"""All undocumented parts of PyTorch that are used, in one place for the review of a new version
(tests/python/torch/test_torch_internals.py names each).

    divide                   torch._foreach_div_: many gradients in one kernel
    sync_buffers             DistributedDataParallel._sync_buffers, modules_buffers, broadcast_buffers
    pin                      torch.utils.data._utils.pin_memory.pin_memory
    workers, watch, unwatch  the worker processes of a loader's iterator, and the handler of SIGCHLD
                             that watches them
    end_workers              DataLoader._iterator, which has persistent workers
"""
from typing import Any, List, Tuple

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data._utils import pin_memory, signal_handling

_signals: Any = signal_handling


def divide(tensors: List[torch.Tensor], by: float) -> None:
    """Divides in place. An empty list is allowed."""
    if tensors:
        torch._foreach_div_(tensors, by)


# ---- buffers of models on several ranks


def sync_buffers(model: DistributedDataParallel) -> bool:
    """Takes the buffers of rank 0, if forward passes do so; returns whether they do."""
    does = bool(model.broadcast_buffers)  # the name that all versions have
    if does and model.modules_buffers:
        model._sync_buffers()
    return does


def set_sync_in_forward(model: DistributedDataParallel, does: bool) -> None:
    model.broadcast_buffers = does


# ---- data loaders


def pin(batch: Any) -> Any:
    """Its tensors in pinned memory."""
    found: Any = pin_memory.pin_memory
    return found(batch)


def workers(batches: Any) -> List[Any]:
    """The processes of an iterator over a DataLoader with num_workers."""
    found: List[Any] = batches._workers
    return found


def watch(batches: Any, pids: Tuple[int, ...]) -> None:
    """From now on PyTorch raises, from a signal handler, if one of these dies."""
    _signals._set_worker_pids(id(batches), pids)
    batches._worker_pids_set = True


def unwatch(batches: Any) -> None:
    if batches._worker_pids_set:
        _signals._remove_worker_pids(id(batches))
        batches._worker_pids_set = False


def end_workers(loader: Any) -> None:
    """Ends persistent workers."""
    loader._iterator = None
