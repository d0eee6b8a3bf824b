# SPDX-License-Identifier: Apache-2.0
"""Makes the batches in this thread, in a thread ahead of it, or in PyTorch's worker processes.

A *source* has open(items, epoch, first), a generator of batches, one for each of `items` (the records of a
batch, from _data_order.py), and close().

    Gathered   arrays, gathered here or, with workers, in a thread some batches ahead
    Inline     records fetched and collated here, each batch when it is asked for
    Workers    the same in PyTorch's worker processes.  PyTorch's loader gets *jobs* rather than
               records: a job is the items of a batch and the seed of its generators.  So a batch does
               not depend on the worker that makes it, nor on the number of workers.

When a worker dies, PyTorch raises from a signal handler, wherever the program is. Here that can happen only
while we wait for a batch, and we check the workers first: a death is noticed at once, and reported in a
sentence.
"""
import queue
import signal
import threading
from multiprocessing import connection
from typing import Any, Callable, Iterator, List, Optional, Tuple

import torch
from torch.utils import data

from determined.pytorch import _data_order, _torch_internals

_GRACE_S = 1.0  # for the end of a process that has closed its pipes

Job = Tuple[int, Any]  # the seed, and the items


pinned = _torch_internals.pin


# ---- arrays


def ahead(make: Callable[[Any], Any], items: Iterator[Any], depth: int) -> Iterator[Any]:
    """The batches of `items`, in their order; a thread makes up to `depth` of them ahead."""
    return _ahead(make, items, depth) if depth else (make(each) for each in items)


class _Hand:
    """A thread that makes one batch after the other."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.todo: Any = queue.SimpleQueue()  # what to make, and None after the last
        self.done: Any = queue.SimpleQueue()  # (batch, None) or (None, error)
        self._make = make
        self._is_over = False
        self._thread = threading.Thread(target=self._work, name="det-data", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._is_over = True
        self.todo.put(None)
        self._thread.join()

    def _work(self) -> None:
        for each in iter(self.todo.get, None):
            if self._is_over:
                return
            try:
                self.done.put((self._make(each), None))
            except Exception as error:  # raised again by the reader
                self.done.put((None, error))


def _ahead(make: Callable[[Any], Any], items: Iterator[Any], depth: int) -> Iterator[Any]:
    """`items` are read here: their order may draw from the generators of this thread."""
    hand = _Hand(make)
    try:
        waiting = 0
        for each in items:
            hand.todo.put(each)
            waiting += 1
            if waiting > depth:
                yield _taken(hand.done.get())
                waiting -= 1
        for _ in range(waiting):
            yield _taken(hand.done.get())
    finally:
        hand.end()


def _taken(made: Any) -> Any:
    batch, error = made
    if error is not None:
        raise error
    return batch


class Gathered:
    def __init__(self, gather: Callable[[Any], Any], depth: int) -> None:
        self._gather, self._depth = gather, depth

    def open(self, items: Iterator[Any], epoch: int, first: int) -> Iterator[Any]:
        return ahead(self._gather, items, self._depth)

    def close(self) -> None:
        pass


# ---- records


class Uneven(ValueError):
    """Records that cannot be collated."""


class Maker:
    """Fetches records and collates them; picklable if the data set is."""

    def __init__(self, dataset: Any, collate: Callable[[Any], Any], is_batched: bool) -> None:
        self.dataset, self.collate, self.is_batched = dataset, collate, is_batched

    def __call__(self, items: Any) -> Any:
        if not self.is_batched:
            return self.collate(self.dataset[items[0] if isinstance(items, memoryview) else items])
        indices = items.tolist() if isinstance(items, memoryview) else items
        many = getattr(self.dataset, "__getitems__", None)
        records = many(indices) if many else [self.dataset[each] for each in indices]
        if self.collate is not data.default_collate:
            return self.collate(records)
        try:
            return self.collate(records)
        except (RuntimeError, TypeError, KeyError, IndexError, ValueError) as error:
            told = difference(records, indices)
            if told is None:
                raise
            raise Uneven(told) from error


def difference(records: Any, indices: Any) -> Optional[str]:
    """The difference between two records of a batch that should be alike; None if no difference is known."""
    for record, index in zip(records, indices):
        path, one, other = _unlike(records[0], record, "")
        if path is None:
            continue
        return (
            f"the records of a batch differ and cannot be collated: {_part(path)}record {indices[0]} {one}, but {_part(path)}"
            f"record {index} {other}; make them alike, or give the loader a collate_fn"
        )
    return None


def _part(path: str) -> str:
    return f"{path} of " if path else ""


def _unlike(one: Any, other: Any, path: str) -> Any:
    """(path, description of the one, of the other); path is None if they are alike."""
    if isinstance(one, dict) and isinstance(other, dict):
        if set(one) != set(other):
            return path, f"has the keys {_listed(one)}", f"has {_listed(other)}"
        return _first_unlike([(one[key], other[key], f"{path}[{key!r}]") for key in one])
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) != len(other):
            return path, f"has {len(one)} parts", f"has {len(other)}"
        return _first_unlike([(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(one, other))])
    if hasattr(one, "shape") and hasattr(other, "shape"):
        alike = tuple(one.shape) == tuple(other.shape)
        return (None, "", "") if alike else (path, f"has the shape {tuple(one.shape)}", f"has {tuple(other.shape)}")
    if type(one) is not type(other):
        return path, f"is of the type {type(one).__name__}", f"is of {type(other).__name__}"
    return None, "", ""


def _first_unlike(parts: List[Any]) -> Any:
    for one, other, path in parts:
        found = _unlike(one, other, path)
        if found[0] is not None:
            return found
    return None, "", ""


def _listed(names: Any) -> str:
    return ", ".join(sorted(map(repr, names))) or "none"


class Inline:
    def __init__(self, maker: Maker, pins: bool) -> None:
        self._maker, self._pins = maker, pins

    def open(self, items: Iterator[Any], epoch: int, first: int) -> Iterator[Any]:
        for each in items:
            batch = self._maker(each)
            yield pinned(batch) if self._pins else batch

    def close(self) -> None:
        pass


# ---- worker processes


class _Told:
    """An error of a worker instead of a batch."""

    def __init__(self, text: str) -> None:
        self.text = text


class _Jobs(data.Dataset):  # type: ignore[type-arg]
    """In a worker: the batch of a job."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker

    def __getitem__(self, job: Job) -> Any:
        seed, items = job
        _data_order.seed_generators(seed)
        try:
            return self.maker(items)
        except Uneven as error:
            return _Told(str(error))


class _Init:
    """Calls the user's worker_init_fn in a new worker, with the user's own data set in the worker info."""

    def __init__(self, theirs: Optional[Callable[[int], None]]) -> None:
        self.theirs = theirs

    def __call__(self, worker: int) -> None:
        info: Any = data.get_worker_info()
        object.__setattr__(info, "dataset", info.dataset.maker.dataset)
        if self.theirs is not None:
            self.theirs(worker)


def _same(batch: Any) -> Any:
    return batch


class _Queued:
    """The jobs of the part that is being loaded, as a sampler."""

    def __init__(self) -> None:
        self.jobs: Iterator[Job] = iter(())

    def __iter__(self) -> Iterator[Job]:
        return self.jobs


class Workers:
    def __init__(self, loader: Any, maker: Maker, seed: int, rank: int, size: int) -> None:
        self._seed, self._rank, self._size = seed, rank, size
        self._queued = _Queued()
        self._generator = torch.Generator()  # so PyTorch does not draw from the program's generator
        self._timeout = loader.timeout
        self._inner: Any = data.DataLoader(
            _Jobs(maker),
            batch_size=None,
            sampler=self._queued,
            num_workers=loader.num_workers,
            collate_fn=_same,
            pin_memory=loader.pin_memory,
            timeout=loader.timeout,
            worker_init_fn=_Init(loader.worker_init_fn),
            multiprocessing_context=loader.multiprocessing_context,
            generator=self._generator,
            prefetch_factor=loader.prefetch_factor,
            persistent_workers=loader.persistent_workers,
        )

    def open(self, items: Iterator[Any], epoch: int, first: int) -> Iterator[Any]:
        self._queued.jobs = self._jobs(items, epoch, first)
        self._generator.manual_seed(_data_order.mix(self._seed, epoch))
        batches = iter(self._inner)
        _torch_internals.unwatch(batches)
        pids = tuple(worker.pid for worker in _torch_internals.workers(batches))
        while True:
            self._look_after(batches)
            try:
                batch = _next(batches, pids)
            except StopIteration:
                return
            except Exception as error:
                self._look_after(batches, error)
                raise
            if isinstance(batch, _Told):
                raise Uneven(batch.text)
            yield batch

    def close(self) -> None:
        _torch_internals.end_workers(self._inner)

    def _jobs(self, items: Iterator[Any], epoch: int, first: int) -> Iterator[Job]:
        for k, each in enumerate(items, first):
            seed = _data_order.mix(self._seed, epoch, k * self._size + self._rank)
            yield seed, each.tolist() if isinstance(each, memoryview) else each

    def _look_after(self, batches: Any, cause: Optional[BaseException] = None) -> None:
        """Raises if a worker has died, or if nothing came in time."""
        workers = _torch_internals.workers(batches)
        if isinstance(cause, (OSError, EOFError)):  # the pipe may belong to a dying worker
            ended = connection.wait([worker.sentinel for worker in workers], _GRACE_S)
            for worker in workers:
                worker.join(_GRACE_S if worker.sentinel in ended else 0)
        for i, worker in enumerate(workers):
            if worker.exitcode is not None:
                raise RuntimeError(_death(i, len(workers), worker)) from cause
        if cause is not None and "timed out" in str(cause):
            raise RuntimeError(
                f"no batch came from the {len(workers)} workers of the data loader within {self._timeout} seconds (timeout); "
                "increase the timeout, or find what they wait for with num_workers=0"
            ) from cause


def _death(number: int, count: int, worker: Any) -> str:
    how = f"ended with exit code {worker.exitcode}"
    if worker.exitcode < 0:
        number_of, text = -worker.exitcode, signal.strsignal(-worker.exitcode)
        how = f"was killed by signal {number_of} ({text})"
    why = {
        -signal.SIGKILL: "perhaps the memory is too small for so many workers",
        -signal.SIGBUS: "perhaps the shared memory (/dev/shm) is full",
        -signal.SIGSEGV: "a library that the data set uses crashed",
    }.get(worker.exitcode, "its output may say why")
    return (
        f"worker {number} of {count} of the data loader (process {worker.pid}) {how}; {why}: try fewer workers, or num_workers=0, which "
        "loads in this process"
    )


def _next(batches: Any, pids: Tuple[int, ...]) -> Any:
    """Lets PyTorch's handler of SIGCHLD raise if one of these workers dies; outside of it the handler does not."""
    _torch_internals.watch(batches, pids)
    try:
        return next(batches)
    finally:
        _torch_internals.unwatch(batches)
