# SPDX-License-Identifier: Apache-2.0
"""Sequences: batches by index.

    InMemorySequence(data, labels, batch_size)   arrays as a `keras.utils.Sequence`
    SequenceAdapter(sequence, workers=2)         any sequence, made by threads or processes
    ArrayLike, InputData                         types of the results of a TFKerasTrial's builders

A training on the platform recognises an InMemorySequence: it takes the rows from the arrays themselves, in the
order that it uses for arrays.
"""
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

import numpy as np

from determined import _det
from determined.keras._package import Sequence, is_legacy


def _kind(value: Any) -> str:
    return type(value).__name__


def _whole(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} is {value!r}; expected a whole number of at least {least}")
    return int(value)


# ---- arrays


def _array(value: Any, name: str) -> Any:
    if not isinstance(value, np.ndarray):
        if not hasattr(value, "__array__"):
            raise TypeError(
                f"{name} is of type {_kind(value)}; expected an array, or a list or dict of arrays"
            )
        value = np.asarray(value)
    if not value.ndim:
        raise ValueError(f"{name} is a single number; expected an array with one row for each sample")
    if value.dtype == object:
        raise TypeError(f"{name} holds Python objects; expected numbers or strings (are its rows of one length?)")
    return value


def _arrays(value: Any, name: str) -> Any:
    """An array, or tuples and dicts of arrays: Keras turns a list into a tuple anyway."""
    if isinstance(value, dict):
        if not value:
            raise ValueError(f"{name} is a dict without an array in it")
        return {key: _arrays(each, f"{name}[{key!r}]") for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        if not value:
            raise ValueError(f"{name} is a {_kind(value)} without an array in it")
        return tuple(_arrays(each, f"{name}[{i}]") for i, each in enumerate(value))
    return _array(value, name)


def _leaves(value: Any, name: str) -> Iterator[Tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, f"{name}[{key!r}]")
    elif isinstance(value, tuple):
        for i, each in enumerate(value):
            yield from _leaves(each, f"{name}[{i}]")
    else:
        yield name, value


def _rows(value: Any, rows: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rows(each, rows) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_rows(each, rows) for each in value)
    return value[rows]


class InMemorySequence(Sequence):  # type: ignore[misc]
    """Arrays in memory as a sequence of batches.

    `data`, `labels` and `sample_weights` are arrays with one row for each sample, or lists or dicts of such
    arrays; labels and weights may be left out. The last batch may be smaller. With `shuffle` the samples come
    in another order in every epoch, which depends on `seed` and the epoch alone.
    """

    def __init__(
        self,
        data: Any,
        labels: Any = None,
        batch_size: int = 32,
        sample_weights: Any = None,
        shuffle: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if not isinstance(shuffle, (bool, np.bool_)):
            raise TypeError(f"shuffle is {shuffle!r}; expected True or False")
        self.batch_size = _whole(batch_size, "batch_size", 1)
        self.shuffle = bool(shuffle)
        self.seed = _whole(seed, "seed", 0)
        if labels is None and sample_weights is not None:
            raise ValueError("there are sample_weights but no labels; expected both")
        given = (("data", data), ("labels", labels), ("sample_weights", sample_weights))
        parts = [_arrays(each, name) for name, each in given if name == "data" or each is not None]
        # A training looks for this attribute: then it does not ask for batches at all.
        self._arrays = tuple(parts)
        self._samples = self._count(parts)
        self._epoch = 0
        self._order: Optional[np.ndarray] = None

    @staticmethod
    def _count(parts: List[Any]) -> int:
        names = ("data", "labels", "sample_weights")
        counts = {
            name: len(array)
            for part_name, part in zip(names, parts)
            for name, array in _leaves(part, part_name)
        }
        if len(set(counts.values())) > 1:
            told = ", ".join(f"{name} has {count}" for name, count in counts.items())
            raise ValueError(f"the arrays have different numbers of samples: {told}")
        count = next(iter(counts.values()))
        if not count:
            raise ValueError("the data is empty")
        return count

    def __len__(self) -> int:
        return -(-self._samples // self.batch_size)

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no batch {index}: there are {len(self)}")
        first = index % len(self) * self.batch_size
        rows: Any = slice(first, first + self.batch_size)
        if self.shuffle:
            rows = self._shuffled()[rows]
        return _rows(self._arrays, rows)

    def _shuffled(self) -> Any:
        if self._order is None:
            indices, _ = _det.order(
                self._samples, self.batch_size, True, self.seed, self._epoch * len(self), len(self)
            )
            self._order = np.frombuffer(indices, np.int64)
        return self._order

    def on_epoch_end(self) -> None:
        self._epoch += 1
        self._order = None


# ---- workers


class SequenceAdapter(Sequence):  # type: ignore[misc]
    """A sequence whose batches are made ahead of the training.

        SequenceAdapter(sequence, workers=0, use_multiprocessing=False)   by the training itself
        SequenceAdapter(sequence, workers=1, use_multiprocessing=True)    by another process
        SequenceAdapter(sequence, workers=2, use_multiprocessing=False)   by two threads

    A sequence is any object with `__getitem__` and `__len__`: a `keras.utils.Sequence`, also one that never
    calls the `__init__` of its base. At most `max_queue_size` batches are made ahead.
    """

    def __init__(
        self,
        sequence: Any,
        use_multiprocessing: bool = False,
        workers: int = 1,
        max_queue_size: int = 10,
    ) -> None:
        if not isinstance(use_multiprocessing, (bool, np.bool_)):
            raise TypeError(
                f"use_multiprocessing is {use_multiprocessing!r}; expected True or False (the number of workers is the "
                f"third argument: workers={use_multiprocessing!r})"
            )
        if not hasattr(sequence, "__getitem__") or not hasattr(sequence, "__len__"):
            raise TypeError(
                f"SequenceAdapter was given a {_kind(sequence)}; expected a keras.utils.Sequence: an object "
                "with __getitem__ and __len__"
            )
        if isinstance(sequence, (str, bytes, dict, list, tuple, np.ndarray)):
            raise TypeError(
                f"SequenceAdapter was given a {_kind(sequence)}; expected a keras.utils.Sequence, whose "
                "items are whole batches"
            )
        options = {
            "workers": _whole(workers, "workers", 0),
            "use_multiprocessing": bool(use_multiprocessing),
            "max_queue_size": _whole(max_queue_size, "max_queue_size", 1),
        }
        super().__init__(**({} if is_legacy else options))
        if is_legacy:
            self.workers = options["workers"]
            self.use_multiprocessing = options["use_multiprocessing"]
            self.max_queue_size = options["max_queue_size"]
        if not len(sequence):
            raise ValueError("the sequence is empty")
        self.sequence = sequence

    def __len__(self) -> int:
        return len(self.sequence)

    def __getitem__(self, index: int) -> Any:
        return self.sequence[index]

    def on_epoch_begin(self) -> None:
        getattr(self.sequence, "on_epoch_begin", _nothing)()

    def on_epoch_end(self) -> None:
        getattr(self.sequence, "on_epoch_end", _nothing)()


def _nothing() -> None:
    pass


# ---- types

ArrayLike = Union[np.ndarray, List[np.ndarray], Dict[str, np.ndarray]]
# Also a tf.data.Dataset, which this module does not import.
InputData = Union[Sequence, SequenceAdapter, Tuple[ArrayLike, ArrayLike], Tuple[ArrayLike, ArrayLike, ArrayLike], Any]
