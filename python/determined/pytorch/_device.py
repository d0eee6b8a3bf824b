# SPDX-License-Identifier: Apache-2.0
"""Where a process computes, and bringing data there."""
import logging
from typing import Any, Set

import torch

from determined import core

logger = logging.getLogger("determined.pytorch")


def device_of(distributed: core.DistributedContext) -> torch.device:
    """The GPU of this process, by its place on the machine; the processor where there are none."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count == 0:
        return torch.device("cpu")
    if distributed.local_rank >= count:
        raise RuntimeError(
            f"process {distributed.local_rank} of this machine has no GPU: {distributed.local_size} processes were "
            f"started here, and PyTorch sees {count} GPUs"
        )
    return torch.device("cuda", distributed.local_rank)


def to_device(data: Any, device: torch.device, untouched: Set[type]) -> Any:
    """The same data with its tensors on the device: tensors, what has a to() of its own, and lists, tuples
    and dicts of them.  Other things stay as they are; `untouched` collects their types, and each is
    told of once."""
    if isinstance(data, torch.Tensor):
        return data.to(device, non_blocking=True)
    if isinstance(data, dict):
        return {key: to_device(value, device, untouched) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):  # a named tuple
        return type(data)(*(to_device(value, device, untouched) for value in data))
    if isinstance(data, (list, tuple)):
        return type(data)(to_device(value, device, untouched) for value in data)
    if callable(getattr(data, "to", None)):
        return data.to(device)
    if type(data) not in untouched:
        untouched.add(type(data))
        if not isinstance(data, (str, bytes, int, float, bool, type(None))):
            logger.warning("data of type %s is not brought to '%s': it is no tensor", type(data).__name__, device)
    return data
