# SPDX-License-Identifier: Apache-2.0
"""Samplers that repeat, distribute, skip and shuffle; each can be used alone, and around any other.

    RepeatSampler, RepeatBatchSampler                              repeated forever
    DistributedSampler, DistributedBatchSampler                    every num_workers-th, from `rank` on
    SkipSampler, SkipBatchSampler                                  without the first `skip`
    ReproducibleShuffleSampler, ReproducibleShuffleBatchSampler    in libdet's order of (seed, epoch)

They are nested in the order shuffle, repeat, distribute, skip: adapt_sampler() and adapt_batch_sampler() do the
last three. A sampler yields records and a batch sampler lists of records; both are treated the same.

Positions are computed where possible, instead of skipping items. iterate_from(n) is an iteration without its
first n items, and asks the inner sampler for the same; items of a user's sampler are skipped.
ReproducibleShuffle counts epochs: an iteration is one, and set_epoch() sets the next one.
"""
import itertools
from typing import Any, Iterable, Iterator, Sequence

from torch.utils import data

from determined import _det

_PIECE = 1 << 12  # its order is computed at once


# ---- around any sampler


def _is_plain(sampler: Any) -> bool:
    """Records in their order, or batches of them: every iteration is the same, and begins anywhere."""
    if type(sampler) is data.BatchSampler:
        return _is_plain(sampler.sampler)
    return type(sampler) in (data.SequentialSampler, range)


def _from(sampler: Any, first: int) -> Iterator[Any]:
    """An iteration without its first items."""
    if isinstance(sampler, _Around):
        return sampler.iterate_from(first)
    if not _is_plain(sampler):
        return itertools.islice(iter(sampler), first, None)
    if type(sampler) is not data.BatchSampler:
        return iter(range(len(sampler))[first:])
    within: Any = sampler.sampler
    size, records = sampler.batch_size, range(len(within))
    return (list(records[k * size : (k + 1) * size]) for k in range(first, len(sampler)))


def _pass_over(sampler: Any, passes: int) -> None:
    """Counts so many iterations as done."""
    if isinstance(sampler, _Around):
        sampler.pass_over(passes)
    elif not _is_plain(sampler):
        for _ in range(passes):
            for _ in sampler:
                pass


class _Around:
    """A sampler around another, `_inner`."""

    _inner: Any

    @property
    def is_endless(self) -> bool:
        return bool(getattr(self._inner, "is_endless", False))

    def __len__(self) -> int:
        return len(self._inner)

    def __iter__(self) -> Iterator[Any]:
        return self.iterate_from(0)

    def iterate_from(self, first: int) -> Iterator[Any]:
        """An iteration without its first items."""
        raise NotImplementedError

    def pass_over(self, passes: int) -> None:
        """Counts so many iterations as done."""
        _pass_over(self._inner, passes)

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is that of this epoch, for inner samplers that count epochs."""
        if callable(getattr(self._inner, "set_epoch", None)):
            self._inner.set_epoch(epoch)

    # attributes that a batch sampler must have
    batch_size = property(lambda self: getattr(self._inner, "batch_size", None))
    drop_last = property(lambda self: getattr(self._inner, "drop_last", False))


class _Repeat(_Around):
    """Its length is that of one pass."""

    is_endless = True

    def iterate_from(self, first: int) -> Iterator[Any]:
        if first:
            passes, first = divmod(first, len(self._inner)) if len(self._inner) else (0, 0)
            _pass_over(self._inner, passes)
        while True:
            is_empty = not first
            for is_empty, item in zip(itertools.repeat(False), _from(self._inner, first)):
                yield item
            if is_empty:
                return
            first = 0


class _Distribute(_Around):
    def __init__(self, num_workers: int, rank: int) -> None:
        if num_workers < 1 or not 0 <= rank < num_workers:
            raise ValueError(f"rank {rank} of {num_workers} workers: expected 0 to num_workers - 1")
        self.num_workers, self.rank = num_workers, rank

    def __len__(self) -> int:
        return (len(self._inner) - self.rank + self.num_workers - 1) // self.num_workers

    def iterate_from(self, first: int) -> Iterator[Any]:
        return itertools.islice(_from(self._inner, first * self.num_workers + self.rank), 0, None, self.num_workers)


class _Skip(_Around):
    """The length of an iteration; if it is repeated, that of one pass."""

    def __init__(self, skip: int) -> None:
        if skip < 0:
            raise ValueError(f"skip is {skip}; expected 0 or more")
        self.skip = skip

    def __len__(self) -> int:
        return len(self._inner) if self.is_endless else max(0, len(self._inner) - self.skip)

    def iterate_from(self, first: int) -> Iterator[Any]:
        return _from(self._inner, self.skip + first)


class _Shuffle(_Around):
    def __init__(self, seed: int) -> None:
        self.seed = seed & (1 << 64) - 1
        self.epoch = 0

    def iterate_from(self, first: int) -> Iterator[Any]:
        epoch, self.epoch = self.epoch, self.epoch + 1
        return self._walk(epoch, first)

    def pass_over(self, passes: int) -> None:
        self.epoch += passes

    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(epoch)
        self.epoch = epoch

    def _walk(self, epoch: int, first: int) -> Iterator[Any]:
        items = _reachable(self._inner)
        count, piece = len(items), min(64, _PIECE)
        while first < count:
            stretch = min(count - first, piece)
            indices, _ = _det.order(count, 1, True, self.seed, epoch * count + first, stretch)
            yield from map(items.__getitem__, memoryview(indices).cast("q"))
            first, piece = first + stretch, min(piece * 4, _PIECE)


def _reachable(sampler: Any) -> Sequence[Any]:
    """The items of an iteration by number."""
    if type(sampler) is range:
        return sampler
    return range(len(sampler)) if type(sampler) is data.SequentialSampler else list(sampler)


# ---- public classes


class RepeatSampler(_Repeat, data.Sampler):  # type: ignore[type-arg]
    """The records of a sampler, repeated forever."""

    def __init__(self, sampler: Iterable[Any]) -> None:
        self._inner = self.sampler = sampler


class RepeatBatchSampler(_Repeat, data.BatchSampler):
    """The batches of a batch sampler, repeated forever."""

    def __init__(self, batch_sampler: Iterable[Any]) -> None:
        self._inner = self.batch_sampler = batch_sampler


class DistributedSampler(_Distribute, data.Sampler):  # type: ignore[type-arg]
    """Of every `num_workers` records, the one of `rank`."""

    def __init__(self, sampler: Iterable[Any], num_workers: int, rank: int) -> None:
        super().__init__(num_workers, rank)
        self._inner = self.sampler = sampler


class DistributedBatchSampler(_Distribute, data.BatchSampler):
    """Of every `num_workers` batches, the one of `rank`."""

    def __init__(self, batch_sampler: Iterable[Any], num_workers: int, rank: int) -> None:
        super().__init__(num_workers, rank)
        self._inner = self.batch_sampler = batch_sampler


class SkipSampler(_Skip, data.Sampler):  # type: ignore[type-arg]
    """Records without the first ones."""

    def __init__(self, sampler: Iterable[Any], skip: int) -> None:
        super().__init__(skip)
        self._inner = self.sampler = sampler


class SkipBatchSampler(_Skip, data.BatchSampler):
    """Batches without the first ones."""

    def __init__(self, batch_sampler: Iterable[Any], skip: int) -> None:
        super().__init__(skip)
        self._inner = self.batch_sampler = batch_sampler


class ReproducibleShuffleSampler(_Shuffle, data.Sampler):  # type: ignore[type-arg]
    """Records in an order that depends on the seed and the epoch only."""

    def __init__(self, sampler: Iterable[Any], seed: int) -> None:
        super().__init__(seed)
        self._inner = self.sampler = sampler


class ReproducibleShuffleBatchSampler(_Shuffle, data.BatchSampler):
    """Batches, each unchanged, in an order that depends on the seed and the epoch only."""

    def __init__(self, batch_sampler: Iterable[Any], seed: int) -> None:
        super().__init__(seed)
        self._inner = self.batch_sampler = batch_sampler


# ---- combinations


def adapt_sampler(sampler: Any, repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0) -> Any:
    """Repeated, then distributed, then skipped, as far as requested."""
    if repeat:
        sampler = RepeatSampler(sampler)
    if num_replicas > 1:
        sampler = DistributedSampler(sampler, num_replicas, rank)
    return SkipSampler(sampler, skip) if skip else sampler


def adapt_batch_sampler(
    batch_sampler: Any, repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0
) -> Any:
    """Repeated, then distributed, then skipped, as far as requested."""
    if repeat:
        batch_sampler = RepeatBatchSampler(batch_sampler)
    if num_replicas > 1:
        batch_sampler = DistributedBatchSampler(batch_sampler, num_replicas, rank)
    return SkipBatchSampler(batch_sampler, skip) if skip else batch_sampler
