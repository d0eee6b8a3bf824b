# SPDX-License-Identifier: Apache-2.0
"""The data of one training on several slots.

Two kinds of data are shared differently, because their batches have different sizes:

    arrays, Sequences    their batches are global: each rank takes its part of every batch, in
                         libdet's order (Loop(shard=True) does that while training); in a trial, the
                         first batch of a Sequence may also have the size of one slot
    tf.data, generators  their batches are those of one slot: batch N goes to rank N % ranks

During training every rank must take the same number of batches, otherwise a rank would wait for gradients that
are never sent. So all ranks agree on the smallest number. In a validation no rank waits, so no batch is left
out: some ranks may have one batch more, and their metrics are combined exactly.
"""
import itertools
import logging
import sys
from typing import Any, Callable, Iterator, List, Optional, Tuple

import numpy as np

from determined.core import DistributedContext
from determined.keras._package import Sequence

logger = logging.getLogger("determined.keras")

_UNKNOWN, _INFINITE = -2, -1
_MARK = "_det_wrapped"


def is_dataset(data: Any) -> bool:
    """Whether it is a tf.data.Dataset; does not import TensorFlow."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and isinstance(data, tensorflow.data.Dataset)


def is_sequence(data: Any) -> bool:
    return isinstance(data, Sequence)


def is_arrays(data: Any) -> bool:
    """Whether it is arrays and tensors, also in lists, tuples and dicts."""
    if data is None or is_dataset(data) or is_sequence(data):
        return False
    leaves = _flatten(data)
    return bool(leaves) and all(each is None or hasattr(each, "shape") for each in leaves)


def _flatten(data: Any) -> List[Any]:
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, (list, tuple)) else None
    return [data] if parts is None else [leaf for part in parts for leaf in _flatten(part)]


def map_arrays(change: Callable[[Any], Any], data: Any) -> Any:
    """The same structure with every array changed; None stays."""
    if isinstance(data, dict):
        return {key: map_arrays(change, each) for key, each in data.items()}
    if isinstance(data, (list, tuple)):
        return type(data)(map_arrays(change, each) for each in data)
    return None if data is None else change(getattr(data, "iloc", data))


def rows(data: Any) -> int:
    """The number of records in arrays."""
    counts = sorted({int(each.shape[0]) for each in _flatten(data) if each is not None})
    if len(counts) > 1:
        raise ValueError(f"arrays of {counts[0]} and of {counts[-1]} records do not belong together")
    return counts[0]


def is_per_slot(rows: int, batch_size: int, ranks: int) -> bool:
    """Whether the first batch of a sequence or generator, with so many records, is that of one slot; otherwise it is
    that of all ranks, `batch_size`. Refuses any other size: a step would have another number of records."""
    if ranks == 1 or rows == batch_size:
        return False
    if rows not in (batch_size // ranks, -(-batch_size // ranks)):
        raise ValueError(
            f"the training data has batches of {rows} records: expected get_global_batch_size(), which is {batch_size}, "
            f"or get_per_slot_batch_size(), which is {batch_size // ranks} for each of the {ranks} slots"
        )
    if batch_size % ranks:
        raise ValueError(
            f"the {ranks} slots cannot share a batch of {batch_size} records evenly: build the sequence with "
            "get_global_batch_size()"
        )
    return True


# ---- tf.data


def is_wrapped(dataset: Any) -> bool:
    """Whether it, or a dataset it is derived from, is already shared among the ranks: later transformations (map,
    batch, prefetch) keep the part of the rank."""
    if getattr(dataset, _MARK, False):
        return True
    inputs = getattr(dataset, "_inputs", None)
    return callable(inputs) and any(is_wrapped(each) for each in inputs())


def _mark(dataset: Any) -> Any:
    setattr(dataset, _MARK, True)
    return dataset


def _split_batches(dataset: Any, rank: int, size: int) -> Any:
    """Shares every batch, if there are fewer batches than ranks."""
    import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

    specs = tf.nest.flatten(dataset.element_spec)
    if any(spec.shape.rank is None or spec.shape.rank < 1 for spec in specs):
        raise ValueError(f"this dataset has fewer elements than there are slots ({size}): it cannot be shared")
    is_tuple = isinstance(dataset.element_spec, tuple)

    def part_of(*batch: Any) -> Any:
        cut = tf.nest.map_structure(lambda each: each[rank::size], batch)
        return cut if is_tuple else cut[0]

    parts = dataset.map(part_of)
    return parts.filter(lambda *batch: tf.shape(tf.nest.flatten(batch)[0])[0] > 0)


def wrap_dataset(dataset: Any, dist: DistributedContext) -> Any:
    """Takes the part of this rank, once."""
    if not is_dataset(dataset) or is_wrapped(dataset):
        return dataset
    if dist.size == 1:
        return dataset
    count = int(dataset.cardinality())
    if 0 < count < dist.size:
        logger.warning("a dataset has %d batches for %d slots: each batch is shared", count, dist.size)
        return _mark(_split_batches(dataset, dist.rank, dist.size))
    return _mark(dataset.shard(dist.size, dist.rank))


def _count(dataset: Any) -> int:
    logger.info("the number of batches of this dataset is unknown: it is read once to count them")
    return int(dataset.reduce(np.int64(0), lambda count, *_: count + 1))


def equal_dataset(dataset: Any, steps: Optional[int], dist: DistributedContext) -> Any:
    """The dataset, limited to the number of batches that every rank has."""
    count = int(dataset.cardinality())
    if count == _INFINITE:
        if steps is None:
            raise ValueError("the training data never ends: fit() needs steps_per_epoch")
        return dataset
    if count == 0:
        raise ValueError("the training data is empty")
    if dist.size == 1:
        return dataset
    is_counted = count == _UNKNOWN and steps is None
    if is_counted:
        count = _count(dataset)
    if count == _UNKNOWN:
        # A rank's data may end within steps_per_epoch: it starts again, and the others do not wait for it.
        return _mark(dataset.repeat())
    counts = dist.allgather(count)
    least = min(counts)
    if least == 0:
        raise ValueError(
            f"the training data has no batch for some of the {dist.size} slots: they have "
            f"{', '.join(map(str, counts))}"
        )
    if least < max(counts):
        logger.info("the slots have %s batches: each trains %d per epoch", ", ".join(map(str, counts)), least)
    # A later pass may have fewer batches than counted; then the epoch is filled from the beginning.
    return _mark((dataset.repeat() if is_counted else dataset).take(least))


# ---- generators


def own_batches(batches: Any, dist: DistributedContext, whole: bool) -> Iterator[Any]:
    """The batches of this rank from a generator; `whole`: only as long as every rank has one."""
    rank, size = dist.rank, dist.size
    for group in iter(lambda: list(itertools.islice(batches, size)), []):
        if len(group) > rank and (len(group) == size or not whole):
            yield group[rank]


# ---- validation


class SequencePart(Sequence):  # type: ignore[misc,valid-type]
    """The batches of this rank from a Sequence; if there are fewer batches than ranks, its part of each."""

    def __init__(self, sequence: Any, rank: int, size: int) -> None:
        keys = ("workers", "use_multiprocessing", "max_queue_size")
        super().__init__(**{key: getattr(sequence, key) for key in keys if hasattr(sequence, key)})
        count = len(sequence)
        self._sequence = sequence
        self._is_split = count < size
        self._part = slice(rank, None, size)
        self._numbers = range(count) if self._is_split else range(rank, count, size)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> Any:
        batch = self._sequence[self._numbers[index]]
        if not self._is_split:
            return batch
        part = map_arrays(lambda each: each[self._part], batch)
        if not rows(part):
            raise ValueError("the validation data has fewer records than there are slots: it cannot be shared")
        return part

    def on_epoch_end(self) -> None:
        self._sequence.on_epoch_end()


def validation_part(data: Any, dist: DistributedContext) -> Any:
    """The validation data of this rank."""
    rank, size = dist.rank, dist.size
    if size == 1 or data is None:
        return data
    if is_dataset(data):
        return wrap_dataset(data, dist)
    if is_sequence(data):
        return SequencePart(data, rank, size)
    if is_arrays(data):
        count = rows(data)
        if count < size:
            raise ValueError(f"the validation data has {count} records, fewer than the {size} slots")
        return map_arrays(lambda each: each[rank::size], data)
    if hasattr(data, "__next__"):
        return own_batches(data, dist, whole=False)
    raise _unknown(data)


def _unknown(data: Any) -> TypeError:
    return TypeError(
        f"data of type {type(data).__name__} cannot be shared among slots: expected arrays, a "
        "Sequence, a tf.data.Dataset or a generator"
    )


def training_part(data: Any, steps: Optional[int], dist: DistributedContext) -> Any:
    """The training data of this rank; arrays and Sequences stay whole, their batches are shared later."""
    if is_dataset(data):
        return equal_dataset(wrap_dataset(data, dist), steps, dist)
    if dist.size == 1 or is_sequence(data) or is_arrays(data) or data is None:
        return data
    if hasattr(data, "__next__"):
        return own_batches(data, dist, whole=True)
    raise _unknown(data)


def per_slot(batch_size: Optional[int], dist: DistributedContext) -> Optional[int]:
    """How many records of a global batch each rank validates at a time."""
    return batch_size and -(-batch_size // dist.size)


def split_validation(data: Any, fraction: float) -> Tuple[Any, Any]:
    """The first records of arrays for training, the last ones for validation, as in Keras."""
    count = rows(data)
    at = int(count * (1.0 - fraction))
    if not 0 < at < count:
        raise ValueError(
            f"validation_split is {fraction}, which leaves {at} of {count} records to train on and "
            f"{count - at} to validate with"
        )
    return map_arrays(lambda each: each[:at], data), map_arrays(lambda each: each[at:], data)


# ---- prediction


class _Range(Sequence):  # type: ignore[misc,valid-type]
    """Some batches of a Sequence."""

    def __init__(self, sequence: Any, numbers: range) -> None:
        super().__init__()
        self._sequence = sequence
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> Any:
        return self._sequence[self._numbers[index]]


def _stretch(count: int, dist: DistributedContext) -> range:
    """Neighbouring records stay together, so results can simply be concatenated."""
    return range(count * dist.rank // dist.size, count * (dist.rank + 1) // dist.size)


def stretch_of(data: Any, steps: Optional[int], batch_size: Optional[int], dist: DistributedContext) -> Any:
    """The records of this rank; None if it has none."""
    if is_dataset(data):
        count = int(data.cardinality())
        if count == _INFINITE and steps is None:
            raise ValueError("the data never ends: predict() needs steps")
        if count == _UNKNOWN and steps is None:
            count = _count(data)
        count = steps if count < 0 else count if steps is None else min(count, steps)
        mine = _stretch(count, dist)
        return data.skip(mine.start).take(len(mine)) if mine else None
    if is_sequence(data):
        count = len(data) if steps is None else min(len(data), steps)
        mine = _stretch(count, dist)
        return _Range(data, mine) if mine else None
    if is_arrays(data):
        count = rows(data)
        if steps is not None:
            count = min(count, steps * (batch_size or 32))
        mine = _stretch(count, dist)
        return map_arrays(lambda each: each[mine.start : mine.stop], data) if mine else None
    raise _unknown(data)


def join(parts: List[Any]) -> Any:
    """The results of the ranks, in their order, as one; each is an array or a structure of arrays."""
    there = [part for part in parts if part is not None]
    if not there:
        raise ValueError("there is nothing to predict: the data is empty")
    first = there[0]
    if isinstance(first, dict):
        return {key: join([part[key] for part in there]) for key in first}
    if isinstance(first, (list, tuple)):
        return type(first)(join([part[at] for part in there]) for at in range(len(first)))
    return np.concatenate(there)
