# SPDX-License-Identifier: Apache-2.0
"""Random numbers in a Sequence for validation.

Keras reads a Sequence ahead in threads, and reads its first batches once more to learn their types, whenever it makes
a new iterator. So the number of draws from the generators of Python and NumPy depends on the past of the process: a
resumed training would validate with other numbers, and continue with other generators. Here each batch of a
validation is made with generators seeded by the trial's seed, the batches trained so far and its own number, as
_data_order.py does for training, and after the validation the program's generators are seeded by the same numbers.

This looks into evaluate() of Keras 3:

    evaluate()              its local `epoch_iterator`, which exists when on_test_begin is called
    PyDatasetAdapter        .py_dataset, .enqueuer.py_dataset
"""
import random
import sys
from types import FrameType
from typing import Any, Optional

import numpy as np

from determined.keras import _data_order
from determined.keras._package import is_legacy

_VALIDATION = 0x56414C49  # so the numbers are not those of the training


class _View(_data_order._View):
    """A Sequence of the user's for validation."""

    def __init__(self, sequence: Any, seed: int) -> None:
        super().__init__(sequence, seed, (0, 1))
        self.items = list(range(sequence.num_batches))

    def go_to(self, batches: int) -> None:
        self.epoch = batches
        self.at = batches * len(self.items)

    @property
    def may_draw(self) -> bool:
        """Whether making its batches may have changed the program's generators."""
        return self._use_multiprocessing or self._draws is not False


def _adapter_of_evaluate(model: Any) -> Any:
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        names = frame.f_locals
        if frame.f_code.co_name == "evaluate" and names.get("self") is model and "epoch_iterator" in names:
            return getattr(names["epoch_iterator"], "data_adapter", None)
        frame = frame.f_back
    return None


def begin(model: Any, seed: int, rank: int, batches: int) -> Optional[_View]:
    """Called by on_test_begin. Returns the Sequence that is read now; None: the data is of another kind."""
    adapter = None if is_legacy else _adapter_of_evaluate(model)
    if type(adapter).__name__ != "PyDatasetAdapter":
        return None
    sequence = adapter.py_dataset
    if not isinstance(sequence, _View):
        if getattr(sequence, "_arrays", None) is not None or sequence.num_batches is None:
            return None  # arrays do not draw; an endless Sequence has no batch of a number
        sequence = _View(sequence, _data_order._mix(seed ^ _VALIDATION, rank))
        adapter.py_dataset = sequence
        if adapter.enqueuer is not None:
            adapter.enqueuer.py_dataset = sequence
    sequence.go_to(batches)
    return sequence


def end(view: Optional[_View]) -> None:
    """Called by on_test_end."""
    if view is None or not view.may_draw:
        return
    mixed = _data_order._mix(view.seed, -1 - view.at)
    with _data_order._DRAWING:
        random.seed(mixed)
        np.random.seed((mixed >> 32 ^ mixed) & 0xFFFFFFFF)
