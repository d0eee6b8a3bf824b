# SPDX-License-Identifier: Apache-2.0
"""Moves data to the device of the process."""
import logging
from typing import Any, Dict, Set

import torch

logger = logging.getLogger("determined.pytorch")


def to_device(data: Any, device: torch.device, untouched: Set[type]) -> Any:
    """The same data with its tensors on the device: tensors, objects with a to() method, and lists, tuples and
    dicts of them. Other objects stay as they are; `untouched` collects their types, and each type is reported
    once."""
    if isinstance(data, torch.Tensor):
        return data.to(device, non_blocking=True)
    if isinstance(data, dict):
        moved = {key: to_device(value, device, untouched) for key, value in data.items()}
        return moved if type(data) is dict else _same_kind(data, moved)
    if isinstance(data, tuple) and hasattr(data, "_fields"):  # a named tuple
        return type(data)(*(to_device(value, device, untouched) for value in data))
    if isinstance(data, (list, tuple)):
        return type(data)(to_device(value, device, untouched) for value in data)
    if callable(getattr(data, "to", None)):
        return data.to(device)
    if type(data) not in untouched:
        untouched.add(type(data))
        if not isinstance(data, (str, bytes, int, float, bool, type(None))):
            logger.warning("data of type %s is not moved to '%s': it is not a tensor", type(data).__name__, device)
    return data


def _same_kind(data: Any, moved: Dict[Any, Any]) -> Any:
    """For a subclass of dict: a new object, filled again, if possible."""
    try:
        return type(data)(moved)
    except TypeError:
        return moved
