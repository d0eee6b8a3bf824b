# SPDX-License-Identifier: Apache-2.0
"""Data in memory as arrays: the rows of a batch are gathered at once.

PyTorch's loader takes a record out of every array for each row of a batch, and stacks them again. If records
are rows of arrays, and the default collate_fn is used, the same batch is one gather for each array. Such data
are a TensorDataset, an array or a tensor, a Subset of these, and, unknown to PyTorch's loader, a dict of arrays
of one length, or a tuple of such arrays with different shapes. PyTorch takes a tuple of arrays with one shape
for records.

Arrays with long rows are gathered by `_det.gather()`, which requests rows ahead of their use, as libdet's loader
does.
"""
import math
from typing import Any, Callable, List, Optional

import torch
from torch.utils import data

from determined import _det

try:
    import numpy as np
except ImportError:  # PyTorch works without it
    np = None  # type: ignore[assignment]

Take = Callable[[Any], torch.Tensor]

_MOST_COLUMNS = 16  # of a tuple: a longer one is records rather than columns


class Columns(data.Dataset):  # type: ignore[type-arg]
    """A tuple or a dict of arrays of one length, as a data set of records."""

    def __init__(self, columns: Any) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())) if isinstance(self.columns, dict) else self.columns[0])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.columns, dict):
            return {name: column[index] for name, column in self.columns.items()}
        return tuple(column[index] for column in self.columns)


def as_dataset(given: Any) -> Any:
    """The data of a loader, as a data set."""
    if type(given) is dict and given and all(map(_is_array, given.values())):
        _check_lengths({repr(name): len(column) for name, column in given.items()})
        return Columns(given)
    if type(given) is tuple and 0 < len(given) <= _MOST_COLUMNS and all(map(_is_array, given)):
        if len({len(column) for column in given}) == 1 < len({tuple(column.shape) for column in given}):
            return Columns(given)
    return given


def _is_array(value: Any) -> bool:
    return isinstance(value, torch.Tensor if np is None else (torch.Tensor, np.ndarray)) and value.ndim > 0


def _check_lengths(lengths: Any) -> None:
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"the arrays of a data set must have one row for each record: {told}")


def gatherer(dataset: Any, pins: bool = False) -> Optional[Callable[[Any], Any]]:
    """The function that makes a batch of records, by their indices; None: they are not rows of arrays. With `pins`
    long rows are gathered directly into pinned memory."""
    if type(dataset) is data.Subset:
        inner = gatherer(dataset.dataset, pins)
        if inner is None or np is None:
            return None
        chosen = np.asarray(dataset.indices, dtype=np.int64)
        return lambda indices: inner(chosen[np.asarray(indices, dtype=np.int64)])
    names: Any = None
    if isinstance(dataset, data.TensorDataset) and type(dataset).__getitem__ is data.TensorDataset.__getitem__:
        columns: List[Any] = list(dataset.tensors)
    elif type(dataset) is Columns:
        names = list(dataset.columns) if isinstance(dataset.columns, dict) else None
        columns = list(dataset.columns.values()) if names else list(dataset.columns)
    elif _is_array(dataset):
        take = _taker(dataset, pins)
        return None if take is None else (lambda indices: take(_as_indices(indices)))
    else:
        return None
    return _together([_taker(column, pins) for column in columns], names)


def _together(takers: List[Optional[Take]], names: Any) -> Optional[Callable[[Any], Any]]:
    if not takers or any(take is None for take in takers):
        return None
    takes: List[Any] = takers

    def many(indices: Any) -> Any:
        rows = _as_indices(indices)
        return [take(rows) for take in takes]

    def named(indices: Any) -> Any:
        rows = _as_indices(indices)
        return {name: take(rows) for name, take in zip(names, takes)}

    return named if names else many


def _as_indices(indices: Any) -> Any:
    if np is not None:
        return np.asarray(indices, dtype=np.int64)
    return torch.as_tensor(list(indices), dtype=torch.int64)


def _taker(column: Any, pins: bool) -> Optional[Take]:
    """The function that gathers rows of one array; None: PyTorch itself must do it."""
    if isinstance(column, torch.Tensor):
        return _tensor_taker(column, pins)
    if column.dtype.kind not in "biufc":
        return None
    try:
        kind = torch.from_numpy(np.empty(0, column.dtype)).dtype
    except (TypeError, ValueError):  # a type or byte order that PyTorch does not have
        return None
    return _array_taker(column, kind, pins)


def _tensor_taker(column: torch.Tensor, pins: bool) -> Optional[Take]:
    if column.layout != torch.strided or type(column) is not torch.Tensor or column.ndim == 0:
        return None
    carrier = _CARRIERS.get(column.dtype, column.dtype)
    if np is not None and column.device.type == "cpu" and not column.requires_grad and not column.is_conj():
        try:
            return _array_taker(column.view(carrier).numpy(), column.dtype, pins)
        except (RuntimeError, TypeError):  # a type that NumPy does not have
            pass
    return lambda rows: column.index_select(0, torch.as_tensor(rows, device=column.device))


_CARRIERS = {torch.bfloat16: torch.int16}  # NumPy's types of the same size, for types that it lacks
_LONG_ROW = 512  # bytes; shorter ones NumPy copies faster


def _array_taker(array: Any, kind: torch.dtype, pins: bool) -> Take:
    """Both ways let other threads run meanwhile."""
    shape = array.shape[1:]
    row_bytes = array.itemsize * math.prod(shape)
    if row_bytes < _LONG_ROW or not array.flags.c_contiguous:
        return lambda rows: torch.from_numpy(np.take(array, rows, axis=0)).view(kind)

    carrier = torch.from_numpy(np.empty(0, array.dtype)).dtype

    def room(count: int) -> torch.Tensor:
        if pins:
            return torch.empty((count, *shape), dtype=carrier, pin_memory=True)
        return torch.from_numpy(np.empty((count, *shape), array.dtype))  # in huge pages, which PyTorch does not request

    def take(rows: Any) -> torch.Tensor:
        made = room(len(rows))
        _det.gather(array, row_bytes, rows, made.numpy())
        return made.view(kind)

    return take
