# SPDX-License-Identifier: Apache-2.0
"""A data loader that is sharded over ranks and can begin anywhere.

DataLoader is PyTorch's own, and behaves like it for programs that iterate over it. A training does not iterate
over it: it makes a *feed* of it, which knows its position (epoch, position), seeks at once, and yields the
batches of one rank.

    which records       _data_order.py: a function of (seed, epoch, position)
    arrays              _data_arrays.py: gathered at once; with workers, in a thread ahead of the training
    other data sets     made here, one after the other; with workers, by PyTorch's (_data_workers.py)

Random numbers of a batch. Without workers a batch is made when it is asked for and never before, so its draws
from the process's generators match the generators in a checkpoint. With workers every batch is made with
generators seeded by (seed, epoch, batch), whatever the number of workers. Either way a resumed training gets
exactly the batches it would have got. Private generators of a data set are not handled: such a data set should
seed them by index.

A validation always reads epoch 0, so it sees the same data every time.
"""
import itertools
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Union

import torch
from torch.utils import data

from determined.pytorch import _data_arrays, _data_order, _data_workers, samplers

TorchData = Union[Dict[str, torch.Tensor], Sequence[torch.Tensor], torch.Tensor]

_REFUSED = (
    "context.experimental.disable_dataset_reproducibility_checks() allows a plain torch.utils.data.DataLoader"
)


class DataLoader(data.DataLoader):  # type: ignore[type-arg]
    """torch.utils.data.DataLoader for data sets with a length and an item for each index.

    The batch size is that of one rank: context.get_per_slot_batch_size(). In a training it is sharded, shuffled
    by the training's seed, differently in each epoch, and resumed automatically. In addition to PyTorch's
    types, the data may be a dict of arrays, or a tuple of arrays of different shapes. Arrays need no worker
    processes: for them num_workers above 0 means a thread, and worker_init_fn is not called. Batches always
    come in order."""

    def __init__(
        self,
        dataset: Any,
        batch_size: Optional[int] = 1,
        shuffle: Optional[bool] = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Optional[Callable[[Any], Any]] = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Optional[Callable[[int], None]] = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: Optional[int] = None,
        persistent_workers: bool = False,
        **more: Any,
    ) -> None:
        self._is_own = sampler is None and batch_sampler is None  # we compute the order
        dataset = _checked_dataset(dataset, self._is_own)
        _check_arguments(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if shuffle and len(dataset) == 0:
            raise ValueError("the data set is empty, so it cannot be shuffled")
        self._is_shuffled = bool(shuffle)
        self._has_batch_sampler = batch_sampler is not None
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            num_workers,
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            **more,
        )

    def __iter__(self) -> Any:
        gather = _gatherer(self)
        if gather is None:
            return super().__iter__()
        return self._gathered(gather)

    def _gathered(self, gather: Callable[[Any], Any]) -> Iterator[Any]:
        # PyTorch draws here as well: equal seeds give equal batches.
        torch.empty((), dtype=torch.int64).random_(generator=self.generator)
        return _data_workers.ahead(gather, iter(_sampler_of(self)), _depth(self))

    def get_data_loader(self, repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0) -> "DataLoader":
        """A loader for manual iteration: repeated forever, then one batch of every `num_replicas`, then without
        the first `skip`."""
        kept: Dict[str, Any] = dict(
            num_workers=self.num_workers,
            collate_fn=self.collate_fn,
            pin_memory=self.pin_memory,
            timeout=self.timeout,
            worker_init_fn=self.worker_init_fn,
            multiprocessing_context=self.multiprocessing_context,
            generator=self.generator,
            prefetch_factor=self.prefetch_factor,
            persistent_workers=self.persistent_workers,
        )
        given: Any = (repeat, skip, num_replicas, rank)
        if self.batch_sampler is None:
            return DataLoader(self.dataset, None, sampler=samplers.adapt_sampler(self.sampler, *given), **kept)
        return DataLoader(self.dataset, batch_sampler=samplers.adapt_batch_sampler(self.batch_sampler, *given), **kept)


def _checked_dataset(dataset: Any, must_be_counted: bool) -> Any:
    if isinstance(dataset, data.IterableDataset):
        raise TypeError(
            f"{type(dataset).__name__} is an IterableDataset, whose records have no indices: it can be neither "
            "sharded nor resumed; make it a data set with __len__ and __getitem__, or " + _REFUSED
        )
    dataset = _data_arrays.as_dataset(dataset)
    for name in ("__getitem__", "__len__") if must_be_counted else ("__getitem__",):
        if not hasattr(dataset, name):
            raise TypeError(
                f"the data set is of the type {type(dataset).__name__}, which has no {name}; expected one with __len__ and "
                "__getitem__, or arrays"
            )
    return dataset


def _check_arguments(batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
    if batch_size is not None and (isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1):
        raise ValueError(
            f"batch_size is {batch_size!r}; expected a whole number above 0, or None for records without batches"
        )
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError(
            "a batch_sampler decides which records a batch has: do not give batch_size, shuffle, sampler or drop_last with it"
        )
    if sampler is not None and shuffle:
        raise ValueError("a sampler decides the order of the records: do not give shuffle=True with it")


def _sampler_of(loader: data.DataLoader) -> Any:  # type: ignore[type-arg]
    """The sampler of batches, or of records if there are no batches."""
    return loader.sampler if loader.batch_sampler is None else loader.batch_sampler


def _is_default(collate: Any) -> bool:
    return collate is data.default_collate


def _gatherer(loader: data.DataLoader) -> Optional[Callable[[Any], Any]]:  # type: ignore[type-arg]
    """If the records are rows of arrays: the function that gathers them, pinned if requested."""
    if loader.batch_sampler is None or not _is_default(loader.collate_fn):
        return None
    gather = _data_arrays.gatherer(loader.dataset, _pins(loader))
    if gather is None or not _pins(loader):
        return gather
    return lambda indices: _data_workers.pinned(gather(indices))


def _pins(loader: data.DataLoader) -> bool:  # type: ignore[type-arg]
    return bool(loader.pin_memory and torch.cuda.is_available())


def _depth(loader: data.DataLoader) -> int:  # type: ignore[type-arg]
    """The number of batches that are gathered ahead."""
    return loader.num_workers * (loader.prefetch_factor or 2) if loader.num_workers else 0


# ---- feeds


class Feed:
    """The batches of one rank, epoch after epoch.

        batches     of an epoch, on this rank; None: unknown before it ends (a plain PyTorch loader)
        records     of an epoch, over all ranks; None as above

    After the last batch of an epoch comes the first of the next."""

    batches: Optional[int] = None
    records: Optional[int] = None

    def __init__(self) -> None:
        self._epoch = 0
        self._position = 0
        self._running: Optional[Iterator[Any]] = None

    def go_to(self, epoch: int, position: int) -> None:
        """The next epoch() begins with this batch of this epoch; takes the same time for any position."""
        self.pause()
        self._epoch, self._position = epoch, position

    def where(self) -> Any:
        """(epoch, position) of the next batch."""
        self._settle()
        return self._epoch, self._position

    def epoch(self) -> Iterator[Any]:
        """The rest of the current epoch."""
        self.pause()
        self._settle()
        self._running = running = self._walk()
        return running

    def pause(self) -> None:
        """Ends an iteration of epoch(); the position stays."""
        running, self._running = self._running, None
        if running is not None:
            running.close()  # type: ignore[attr-defined]

    def state(self) -> Dict[str, Any]:
        """State for a checkpoint that does not follow from the seed and the position: plain values."""
        return {}

    def load(self, state: Dict[str, Any]) -> None:
        """Restores the result of state(); call it before go_to()."""

    def close(self) -> None:
        """Ends the workers."""
        self.pause()

    def _settle(self) -> None:
        if self.batches and self._position >= self.batches:
            self._epoch, self._position = self._epoch + 1, 0

    def _walk(self) -> Iterator[Any]:
        batches = self._open(self._epoch, self._position)
        try:
            for batch in batches:
                self._position += 1
                yield batch
            self._epoch, self._position = self._epoch + 1, 0
        finally:
            batches.close()  # type: ignore[attr-defined]

    def _open(self, epoch: int, position: int) -> Iterator[Any]:
        raise NotImplementedError


class _OwnFeed(Feed):
    """The feed of our own DataLoader."""

    def __init__(self, loader: DataLoader, order: _data_order.Order, source: Any, is_exact: bool) -> None:
        super().__init__()
        self.loader = loader
        self.batches, self.records = order.batches, order.records
        self._order, self._source, self._is_exact = order, source, is_exact

    def state(self) -> Dict[str, Any]:
        found = self._order.state()
        return {} if found is None else {"sampler": found}

    def load(self, state: Dict[str, Any]) -> None:
        self._order.load(state.get("sampler"))

    def close(self) -> None:
        super().close()
        self._source.close()

    def _open(self, epoch: int, position: int) -> Iterator[Any]:
        epoch = 0 if self._is_exact else epoch
        items = self._order.batches_from(epoch, position) if self.batches else iter(())
        opened: Iterator[Any] = self._source.open(items, epoch, position)
        return opened


class _PlainFeed(Feed):
    """A plain PyTorch loader: in its own order, skipping batches up to the position. Its order depends on (seed,
    epoch), as far as it draws from the generators of the process."""

    def __init__(self, loader: Any, seed: int, is_exact: bool) -> None:
        super().__init__()
        self.loader, self.seed, self._is_exact = loader, seed, is_exact
        try:
            self.batches = len(loader)
        except TypeError:
            pass
        dataset: Any = getattr(loader, "dataset", None)
        if not isinstance(dataset, data.IterableDataset) and hasattr(dataset, "__len__"):
            self.records = len(dataset)

    def _open(self, epoch: int, position: int) -> Iterator[Any]:
        with _data_order.lent(_data_order.mix(self.seed, 0 if self._is_exact else epoch)):
            passed = iter(self.loader)
            if position:
                next(itertools.islice(passed, position - 1, None), None)
                first = []
            else:
                first = list(itertools.islice(passed, 1))  # the order is drawn now
        yield from first
        yield from passed


def make_feed(
    loader: Any,
    *,
    seed: int,
    rank: int = 0,
    size: int = 1,
    checks: bool = True,
    training: bool = True,
    round_size: Optional[int] = None,
) -> Feed:
    """The feed through which a training or a validation reads a loader. `round_size` is round_of() the ranks."""
    what = "training" if training else "validation"
    if not isinstance(loader, DataLoader):
        if not isinstance(loader, data.DataLoader):
            raise TypeError(f"the {what} data is of the type {type(loader).__name__}; expected a det.pytorch.DataLoader")
        if checks:
            raise TypeError(
                f"the {what} data is a torch.utils.data.DataLoader, which can be neither sharded nor resumed; expected a "
                "det.pytorch.DataLoader, which takes the same arguments; " + _REFUSED
            )
        return _PlainFeed(loader, seed, not training)
    if _count(loader) == 0:
        raise ValueError(f"the {what} data is empty")
    order = _order(loader, seed, rank, size, checks, training, round_size)
    if training and not order.batches:
        raise ValueError(_too_few(loader, size))
    return _OwnFeed(loader, order, _source(loader, seed, rank, size), not training)


def round_of(loader: Any, distributed: Any) -> Optional[int]:
    """The number of records of a batch over all ranks, if their batch sizes differ; None if they are equal. All
    ranks call it."""
    mine = loader.batch_size if isinstance(loader, DataLoader) and not loader._has_batch_sampler else None
    sizes = [mine] if distributed.size == 1 else distributed.allgather(mine)
    if len(set(sizes)) == 1:
        return None
    if not all(sizes):
        raise ValueError(f"the ranks have data loaders of different kinds: their batch sizes are {_told(sizes)}")
    return sum(sizes)


def _told(sizes: Sequence[Any]) -> str:
    return ", ".join(str(each) if each else "unknown" for each in sizes)


def _order(
    loader: DataLoader, seed: int, rank: int, size: int, checks: bool, training: bool, round_size: Optional[int]
) -> _data_order.Order:
    if loader._is_own or _is_as_own(loader):
        generator = loader.generator if loader._is_own else getattr(loader.sampler, "generator", None)
        if generator is not None:  # the user's seed counts
            seed = _data_order.mix(seed, generator.initial_seed())
        items, batch_size = _count(loader) or 0, loader.batch_size or 1
        return _data_order.Computed(
            items, batch_size, _is_shuffled(loader), seed, rank, size, loader.drop_last, not training, round_size
        )
    if round_size is not None:
        raise ValueError(
            f"with a sampler all ranks need batches of one size, but the {size} of them have {round_size} records together: "
            f"use a global batch size that {size} divides"
        )
    for part in _data_order.chain(_sampler_of(loader)):
        if isinstance(part, data.DistributedSampler) and part.num_replicas > 1:
            raise ValueError(
                "the sampler is a torch.utils.data.DistributedSampler, but batches are already shared among the ranks: "
                "every rank would get a part of its part; remove it, and give shuffle=True instead"
            )
    may_split = loader.batch_sampler is not None and not loader._has_batch_sampler and not loader.drop_last
    most = 10 * (_count(loader) or 0) + 100_000
    order = _data_order.Listed(_sampler_of(loader), most, seed, rank, size, is_exact=not training, may_split=may_split)
    if checks and not order.is_known():
        order.check()
    return order


def _is_shuffled(loader: DataLoader) -> bool:
    return loader._is_shuffled or type(loader.sampler) is data.RandomSampler


def _is_as_own(loader: DataLoader) -> bool:
    """A sampler of PyTorch with the same meaning as `shuffle`."""
    sampler: Any = loader.sampler
    if loader._has_batch_sampler or type(sampler) not in (data.SequentialSampler, data.RandomSampler):
        return False
    return not getattr(sampler, "replacement", False) and len(sampler) == len(sampler.data_source) == _count(loader)


def _count(loader: DataLoader) -> Optional[int]:
    """The number of records; None if only a sampler knows the indices of the data set."""
    dataset: Any = loader.dataset
    return len(dataset) if hasattr(dataset, "__len__") else None


def _too_few(loader: DataLoader, size: int) -> str:
    if loader._has_batch_sampler:
        return f"the batch_sampler returns fewer batches than the {size} processes that train"
    records = f"{_count(loader) or 'the'} records"
    if loader.drop_last:
        return (
            f"{records} are not enough for a batch of {loader.batch_size} on each of {size} processes, and drop_last=True "
            "leaves out incomplete batches; make batch_size smaller"
        )
    return f"{records}, or those that the sampler chose, cannot be shared by {size} processes"


def _source(loader: DataLoader, seed: int, rank: int, size: int) -> Any:
    gather = _gatherer(loader)
    if gather is not None:
        return _data_workers.Gathered(gather, _depth(loader))
    made = _data_workers.Maker(loader.dataset, loader.collate_fn, loader.batch_sampler is not None)
    if loader.num_workers:
        return _data_workers.Workers(loader, made, seed, rank, size)
    return _data_workers.Inline(made, _pins(loader))
