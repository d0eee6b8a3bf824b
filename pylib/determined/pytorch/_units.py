# SPDX-License-Identifier: Apache-2.0
"""Lengths and periods of today's Trainer: a number, or single steps.

    Batch(100)        every 100 batches, or a training of 100
    Epoch([1, 5])     after the first and the fifth epoch

det.Batches, det.Epochs and det.Records, the units of the older API, are accepted wherever these are.
"""
from typing import Any, Container, Optional, Tuple, Union

from determined import _det, _units

_KINDS = {"Batch": _det.BATCHES, "Epoch": _det.EPOCHS}
_SEEDS = {_units.Batches: _det.BATCHES, _units.Records: _det.RECORDS, _units.Epochs: _det.EPOCHS}


class TrainUnit:
    """A whole number above 0, or a container of single steps."""

    def __init__(self, value: Union[int, Container[int]]) -> None:
        name = type(self).__name__
        if isinstance(value, bool) or not (isinstance(value, int) or hasattr(value, "__contains__")):
            raise TypeError(f"{name}({value!r}): expected a whole number, or a container of them")
        if isinstance(value, int) and value < 1:
            raise ValueError(f"{name}({value!r}): expected 1 or more")
        self.value = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.value == other.value  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]


class Batch(TrainUnit):
    """Steps of the optimizer."""


class Epoch(TrainUnit):
    """Passes through the training data."""


Unit = Union[TrainUnit, _units.TrainUnit, None]


def length(unit: Unit, what: str) -> Optional[Tuple[int, int]]:
    """The form of libdet's trainer: (kind, count); None for a container, which the loop asks itself."""
    if unit is None:
        return None
    kind = _SEEDS.get(type(unit)) or _KINDS.get(type(unit).__name__)  # type: ignore[call-overload]
    if kind is None:
        raise TypeError(f"{what} is {unit!r}; expected det.pytorch.Batch(n) or det.pytorch.Epoch(n)")
    value: Any = unit.value
    return (kind, value) if isinstance(value, int) else None
