# SPDX-License-Identifier: Apache-2.0
"""Lengths of training, in one of three units."""


class TrainUnit:
    """A number of units: a whole number above 0."""

    def __init__(self, value: int) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{type(self).__name__}({value!r}): expected a whole number")
        if value < 1:
            raise ValueError(f"{type(self).__name__}({value!r}): expected 1 or more")
        self.value = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TrainUnit):
            return NotImplemented
        return type(self) is type(other) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self), self.value))


class Epochs(TrainUnit):
    """Passes through the training data."""


class Batches(TrainUnit):
    """Steps of the optimizer, over all slots."""


class Records(TrainUnit):
    """Samples, over all slots."""
