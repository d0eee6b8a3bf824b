# SPDX-License-Identifier: Apache-2.0
"""The order of the training data, and where it comes from.

By itself Keras shuffles arrays with a generator whose state cannot be restored, or, under a global seed, in the
same order in every epoch. Here libdet gives the order: a function of the seed, the epoch and the position. So
an epoch can begin anywhere, a resumed training continues with the very next batch, and several ranks take their
parts of the same batches.

A *feed* has the role of Keras's data adapter in fit(): `batches` of an epoch (None if unknown), and steps(),
which yields the steps of the current epoch from the current position on. The type of Keras's adapter decides
which feed is used:

    arrays          the permutation of (seed, epoch), gathered by TensorFlow if it is there
    PyDataset       batches in that order, each made with generators seeded by its position; several ranks take
                    parts of each batch, or batches of their own if the first one has the size of one slot
    tf.data         in its own order: one iterator per epoch; skips batches up to the position
    ... cached      the same, but it seeks (_cache.py)
    anything else   in its own order; a DataLoader of PyTorch draws its order from (seed, epoch)
"""
import contextlib
import functools
import itertools
import random
import sys
import threading
from typing import Any, Callable, Iterator, List, Optional, Tuple

import numpy as np

from determined import _det
from determined.keras import _hooks, _state
from determined.keras._data_shards import is_per_slot
from determined.keras._package import backend, is_legacy, keras, tree

Part = Tuple[int, int]  # which of how many
_ALONE: Part = (0, 1)
_PIECE = 4096  # batches whose items are computed at once


def _generators_of(dataset: Any) -> Any:
    if dataset is None:
        return None
    from determined.keras import _pipeline

    return _pipeline.Generators(dataset)


class Feed:
    """Data in its own order, one pass per epoch."""

    def __init__(self, fit: _hooks.Fit, seed: int = 0) -> None:
        self.fit = fit
        self.seed = seed
        self.batches: Optional[int] = fit.steps_per_epoch or fit.iterator._num_batches
        self.epoch = 0
        self.first = 0
        self._passes = 0  # begun so far
        self._opened = 0  # iterators
        self._current: Optional[Iterator[Any]] = None
        self._generators = _generators_of(fit.dataset)
        self._begun: Optional[List[np.ndarray]] = None  # their values when the current pass began
        self._restored: Optional[List[np.ndarray]] = None  # for the first pass

    def go_to(self, epoch: int, step: int) -> None:
        """The next steps() are those of this epoch, from this step on."""
        self.epoch, self.first = epoch, step

    def settle(self) -> None:
        """A new training begins with its first epoch."""

    def generators(self, position: int) -> List[np.ndarray]:
        """The random generators in a dataset's functions, from which the pass can be read again up to this position
        in the epoch."""
        if self._generators is None:
            return []
        is_inside = position > 0 or bool(self.fit.steps_per_epoch)
        return self._begun if is_inside and self._begun is not None else self._generators.read()

    def restore_generators(self, values: Optional[List[np.ndarray]]) -> None:
        """The first pass begins with these."""
        self._restored = values

    def prepare(self) -> None:
        """An epoch begins."""

    def steps(self) -> Iterator[Tuple[int, Iterator[Any]]]:
        batches = self.open()
        step, self.first = self.first, 0
        while self.batches is None or step < self.batches:
            yield step, batches
            step += self.fit.stride
        self.epoch += 1

    def open(self) -> Iterator[Any]:
        """The position to read from, for the batches of this epoch from `first` on."""
        if self.fit.steps_per_epoch and self._current is not None:
            return self._current  # epochs are parts of one long pass
        # an epoch reads whole executions
        stretch = -(-(self.fit.steps_per_epoch or 0) // self.fit.stride) * self.fit.stride
        skipped = self.first + self.epoch * stretch
        number = 0
        if not self.fit.steps_per_epoch:
            number = self._next_pass()
        self._current = self._pass_over(skipped, number)
        return self._current

    def _next_pass(self) -> int:
        """The number of the pass that begins now. A shuffled dataset counts its iterators, so as many are opened
        before as Keras opens."""
        number = max(self.epoch, self._passes)  # the length is unknown, so only passes are counted
        self._passes = number + 1
        if type(self.fit.adapter).__name__ != "TorchDataLoaderAdapter":
            for _ in range(self._opened, self.fit.iterators_before(number)):
                self.fit.open_iterator()
            self._opened = self.fit.iterators_before(number) + 1
        return number

    def _pass_over(self, batches: int, number: int) -> Iterator[Any]:
        if self._generators is not None:
            self._generators.write(self._restored)
            self._begun, self._restored = self._generators.read(), None
        passed = self._open_seeded(number)
        for _ in range(batches):
            try:
                next(passed)
            except StopIteration:  # starting it again repeats it
                number += 1
                passed = self._open_seeded(number)
                next(passed)
        return passed

    def _open_seeded(self, number: int) -> Iterator[Any]:
        """The pass of this number."""
        if backend != "torch":
            return self.fit.open_iterator()
        with _hooks.torch_seeded(self.seed, number):
            passed = self.fit.open_iterator()
            first = list(itertools.islice(passed, 1))  # the order is drawn now
        return itertools.chain(first, passed)


class CachedFeed(Feed):
    """A tf.data.Dataset derived from a cached one: the epoch can be set, and in most cases the position, too."""

    def __init__(self, fit: _hooks.Fit, seek: Callable[[int, int], Optional[bool]]) -> None:
        super().__init__(fit)
        self._seek = seek

    def open(self) -> Iterator[Any]:
        if self.fit.steps_per_epoch:
            if self._current is None:
                self._seek(0, 0)
            return super().open()
        number = self._next_pass()
        return self._pass_over(0 if self._seek(number, self.first) else self.first, number)


class Order:
    """Which items each batch of our part holds, for any number of epochs."""

    def __init__(self, items: int, batch_size: int, shuffle: Any, seed: int, part: Part) -> None:
        if items < 1:
            raise ValueError("the training data is empty")
        self.items, self.batch_size = items, batch_size
        self.shuffle, self.seed, self.part = bool(shuffle), seed, part
        self._all = -(-items // batch_size)
        # a last batch of which some rank would get nothing is left out on all ranks
        self.batches = self._all - (0 < items % batch_size < part[1])
        if self.batches < 1 or batch_size < part[1]:
            raise ValueError(f"batches of {min(items, batch_size)} items cannot be shared by {part[1]} processes")

    def batches_from(self, position: int, most: int) -> List[np.ndarray]:
        """The items of batches from this one on, counted over all epochs; to the end of its epoch, and at most
        `most` batches."""
        epoch, first = divmod(position, self.batches)
        count = min(self.batches - first, most)
        indices, counts = _det.order(
            self.items, self.batch_size, self.shuffle, self.seed, epoch * self._all + first, count, *self.part
        )
        ends = np.cumsum(np.frombuffer(counts, np.int64))
        return np.split(np.frombuffer(indices, np.int64), ends[:-1])

    def numbers(self, positions: np.ndarray) -> np.ndarray:
        """libdet's number of a batch; it also counts the batches that are left out."""
        return (positions // self.batches * self._all + positions % self.batches).astype(np.int64)


class OrderedFeed(Feed):
    """Data that can be reached by index: nothing is skipped."""

    def open(self) -> Iterator[Any]:
        return self._open_seeded(self.epoch)


class ArrayFeed(OrderedFeed):
    """Arrays in memory."""

    def __init__(self, fit: _hooks.Fit, arrays: Any, order: Order) -> None:
        super().__init__(fit)
        self.order = order
        self.batches = fit.steps_per_epoch or order.batches
        self._at = 0
        if backend == "tensorflow":
            fit.use_dataset(self._dataset(arrays))
        else:
            fit.use_batches(lambda: self._batches(arrays))

    def open(self) -> Iterator[Any]:
        self._at = self.epoch * (self.batches or 0) + self.first  # the generators below begin here
        self._left = (self.batches or 0) - self.first
        return self._open_seeded(self.epoch)

    def _pieces(self) -> Iterator[List[np.ndarray]]:
        """The items of the batches of this epoch; in several pieces if an epoch of Keras is not a pass through the
        data."""
        at, left = self._at, self._left
        while left > 0:
            piece = self.order.batches_from(at, min(left, _PIECE))
            at, left = at + len(piece), left - len(piece)
            yield piece

    def _numbers(self) -> np.ndarray:
        """The items of these batches, counted over all epochs."""
        return self.order.numbers(np.arange(self._at, self._at + self._left))

    def _batches(self, arrays: Any) -> Iterator[Any]:
        for piece in self._pieces():
            for items in piece:
                yield tree.map_structure(lambda each: np.asarray(each)[items], arrays)

    def _dataset(self, arrays: Any) -> Any:
        import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

        from determined.keras._ops import Steps, ops, signed

        order = self.order
        with tf.device("CPU:0"):  # where it is gathered
            held = tf.nest.map_structure(tf.convert_to_tensor, tree.lists_to_tuples(arrays))
        spec = tf.nest.map_structure(lambda each: tf.TensorSpec([None, *each.shape[1:]], each.dtype), held)

        def numbers(_: Any) -> Any:
            found = tf.numpy_function(self._numbers, [], tf.int64)
            found.set_shape([None])
            return found

        def gather(number: Any) -> Any:
            items = ops().det_order(
                number,
                items=order.items,
                batch_size=order.batch_size,
                seed=signed(order.seed),
                shuffle=int(order.shuffle),
                shard=order.part[0],
                shard_count=order.part[1],
            )
            items.set_shape([None])
            return tuple(tf.gather(each, items) for each in tf.nest.flatten(held))

        plain = tf.autograph.experimental.do_not_convert
        batches = Steps(tf.data.Dataset.from_tensors(0).map(plain(numbers)).unbatch(), gather, spec)
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
        return batches.with_options(options).prefetch(tf.data.AUTOTUNE)


# ---- sequences


_DRAWING = threading.RLock()  # held while a batch uses the generators of Python and NumPy
_OWN = np.random.MT19937()  # used by np.random while a batch is made


def _mix(seed: int, position: int) -> int:
    return (seed * 0x9E3779B97F4A7C15 + position * 0xBF58476D1CE4E5B9 + 1) & 0xFFFFFFFFFFFFFFFF


@contextlib.contextmanager
def _seeded(seed: int, position: int) -> Iterator[None]:
    """Seeds the generators of Python and NumPy for this batch, and restores them afterwards: a sequence's random
    values depend on the batch alone."""
    mixed = _mix(seed, position)
    with _DRAWING:
        before, theirs = random.getstate(), np.random.get_bit_generator()
        random.seed(mixed)
        np.random.set_bit_generator(_OWN)
        np.random.seed((mixed >> 32 ^ mixed) & 0xFFFFFFFF)
        try:
            yield
        finally:
            np.random.set_bit_generator(theirs)
            random.setstate(before)


def generators() -> Any:
    """The program's generators, not the ones that another thread has set while it makes a batch."""
    with _DRAWING:
        return _state.generators()


def restore_generators(state: Any) -> None:
    with _DRAWING:
        _state.restore_generators(state)


def _is_untouched(seed: int, position: int) -> bool:
    """Whether nothing has drawn since _seeded() began."""
    python, numpy = random.getstate(), np.random.random_sample()
    with _seeded(seed, position):
        return python == random.getstate() and numpy == np.random.random_sample()


def cut(batch: Any, part: Part) -> Any:
    """Our rows of a batch; the first parts have one more if it cannot be shared evenly."""
    which, count = part
    if count == 1:
        return batch
    arrays = [each for each in tree.flatten(batch) if each is not None]
    rows = len(arrays[0])
    if rows < count:
        raise ValueError(f"a batch of {rows} items cannot be shared by {count} processes")
    begin = which * (rows // count) + min(which, rows % count)
    end = begin + rows // count + (which < rows % count)
    return tree.map_structure(lambda each: None if each is None else each[begin:end], batch)


class _View(keras.utils.PyDataset if not is_legacy else object):  # type: ignore[misc]
    """A sequence of the user's, in our order, from our position on."""

    def __init__(self, sequence: Any, seed: int, part: Part, turn: Part = (0, 1)) -> None:
        """`part`: our rows of each batch. `turn`: whose batches are ours; ranks with batches of their own draw
        different numbers."""
        self.sequence = sequence
        self.seed = seed
        self.part = part
        self.turn = turn
        self.epoch = 0
        self.at = 0  # the position of items[0]
        self.items: List[int] = []
        for name in ("workers", "use_multiprocessing", "max_queue_size"):
            setattr(self, "_" + name, getattr(sequence, name))
        # Threads share the generators: if the first batch drew from them, batches are made one
        # after the other.
        self._is_parallel = self._workers > 1 and not self._use_multiprocessing
        self._draws: Optional[bool] = None

    workers = property(lambda self: self._workers)
    use_multiprocessing = property(lambda self: self._use_multiprocessing)
    max_queue_size = property(lambda self: self._max_queue_size)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def num_batches(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        if index >= len(self.items):
            raise IndexError(index)
        item = self.items[index]
        if self._is_parallel and self._draws is False:
            return cut(self.sequence[item], self.part)
        rank, ranks = self.turn
        position = (self.at + index) * ranks + rank
        with _seeded(self.seed, position):
            batch = cut(self.sequence[item], self.part)
            if self._draws is None:
                self._draws = not _is_untouched(self.seed, position)
        return batch

    def on_epoch_begin(self) -> None:
        with _seeded(self.seed, -2 * self.epoch - 1):
            self.sequence.on_epoch_begin()

    def on_epoch_end(self) -> None:
        with _seeded(self.seed, -2 * self.epoch - 2):
            self.sequence.on_epoch_end()


class SequenceFeed(OrderedFeed):
    """A PyDataset. `order` says which batches are ours, `part` which rows of each."""

    def __init__(self, fit: _hooks.Fit, order: Order, seed: int, part: Part) -> None:
        super().__init__(fit)
        self.batches = fit.steps_per_epoch or order.batches
        self.order = order
        self.view = _View(fit.adapter.py_dataset, seed, part, order.part)
        fit.use_sequence(self.view)

    def settle(self) -> None:
        """Before a training begins, Keras has read some batches ahead in its own thread. The number of draws from
        the generators is unknown, so they are seeded again."""
        with _DRAWING:
            random.seed(_mix(self.view.seed, -1))
            np.random.seed(_mix(self.view.seed, -1) & 0xFFFFFFFF)

    def go_to(self, epoch: int, step: int) -> None:
        """on_epoch_end() of a sequence may change it, so it is called for every past epoch."""
        super().go_to(epoch, step)
        for self.view.epoch in range(epoch):
            self.view.on_epoch_begin()
            self.view.on_epoch_end()

    def prepare(self) -> None:
        self.fit.forget_prepared()
        order, left = self.order, (self.batches or 0) - self.first
        self.view.epoch = self.epoch
        self.view.at = at = self.epoch * (self.batches or 0) + self.first
        self.view.items = []
        while left > len(self.view.items):
            more = order.batches_from(at + len(self.view.items), left - len(self.view.items))
            self.view.items += [int(batch[0]) for batch in more]


# ---- the choice of the feed


def make(fit: _hooks.Fit, seed: int, part: Part = _ALONE, batch_size: Optional[int] = None) -> Feed:
    """The feed for the data of fit(). `batch_size`, if known, is the number of records in a step of all ranks."""
    adapter = fit.adapter
    kind = type(adapter).__name__
    if kind == "PyDatasetAdapter":
        sequence = adapter.py_dataset
        held = getattr(sequence, "_arrays", None)
        if held is not None:  # our own arrays, wrapped as a sequence
            size = sequence.batch_size
            if batch_size is not None and is_per_slot(size, batch_size, part[1]):
                size = batch_size
            shuffle = adapter.shuffle or sequence.shuffle
            return ArrayFeed(fit, held, Order(len(_first(held)), size, shuffle, seed, part))
        if sequence.num_batches is not None:
            if batch_size is not None and _has_own_batches(sequence, seed, part, batch_size):
                return SequenceFeed(fit, Order(sequence.num_batches, part[1], adapter.shuffle, seed, part), seed, _ALONE)
            return SequenceFeed(fit, Order(sequence.num_batches, 1, adapter.shuffle, seed, _ALONE), seed, part)
    if kind == "ArrayDataAdapter" and all(_is_dense(each) for each in tree.flatten(adapter._inputs)):
        order = Order(adapter._num_samples, adapter._batch_size, adapter._shuffle, seed, part)
        return ArrayFeed(fit, adapter._inputs, order)
    cache = sys.modules.get("determined.keras._cache")
    if kind == "TFDatasetAdapter" and cache is not None and cache.leaf_of(adapter._dataset) is not None:
        return CachedFeed(fit, functools.partial(cache.seek, adapter._dataset))
    return Feed(fit, seed)


def _has_own_batches(sequence: Any, seed: int, part: Part, batch_size: int) -> bool:
    """Whether each rank takes batches of its own, because the first one has the size of one slot. A single batch may
    be smaller than the others would be: it is shared."""
    if part[1] == 1 or sequence.num_batches == 1:
        return False
    with _seeded(seed, 0):
        rows = len(_first(sequence[0]))
    return is_per_slot(rows, batch_size, part[1])


def _first(arrays: Any) -> Any:
    return next(each for each in tree.flatten(arrays) if each is not None)


def _is_dense(array: Any) -> bool:
    return hasattr(array, "shape") and hasattr(array, "dtype") and hasattr(array, "__getitem__") and hasattr(array, "__array__")
