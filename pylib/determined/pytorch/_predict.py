# SPDX-License-Identifier: Apache-2.0
"""Prediction with a trial: one output for every record, in the order of the data, over all slots.

Batch k belongs to rank k % size; the rest at the end is shared record by record (_data_order.py). So the
outputs of the ranks in one round, one after the other, are a part of the data in its order:

    round 0    batch 0 of rank 0 | batch 1 of rank 1
    round 1    batch 2 of rank 0 | batch 3 of rank 1         gathered, and handed on

One round is in memory at a time, and all outputs if they are wanted. Nothing is computed twice or padded, so
nothing has to be removed again.

It runs in evaluation mode, without gradients, and with its own generators: afterwards models and generators are
restored, and a training may continue.
"""
import contextlib
import inspect
import itertools
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
import torch
from torch.utils import data

from determined import core
from determined.pytorch import _data, _data_order, _reducer, _trial
from determined.pytorch._trial_context import PyTorchTrialContext

_SORTED = (data.SequentialSampler, data.RandomSampler)


# ---- the model


def _inputs(batch: Any) -> Any:
    """The inputs of a tensor, of (inputs,) and of (inputs, labels)."""
    if isinstance(batch, torch.Tensor):
        return batch
    if isinstance(batch, (tuple, list)) and 1 <= len(batch) <= 2:
        return batch[0]
    kind = f"{type(batch).__name__} of {len(batch)}" if hasattr(batch, "__len__") else type(batch).__name__
    raise TypeError(
        f"a batch is a {kind}, and its inputs for the model are unknown; expected a tensor or "
        "(inputs, labels), or define predict_batch(self, batch) in the trial"
    )


def _computation(trial: Any, context: PyTorchTrialContext) -> Callable[[Any, int], Any]:
    """The function that computes the outputs of a batch, given its number."""
    own = getattr(trial, "predict_batch", None)
    if own is None:
        models = context.models
        if len(models) != 1:
            raise TypeError(
                f"{type(trial).__name__} has {len(models)} wrapped models, so it must say what to compute: define "
                "predict_batch(self, batch)"
            )
        return lambda batch, _: models[0](_inputs(batch))
    try:
        is_told = len(inspect.signature(own).parameters) > 1
    except (TypeError, ValueError):
        is_told = False
    return own if is_told else lambda batch, _: own(batch)


def _rows(output: Any) -> Optional[int]:
    """The number of records of an output; None if unknown, or if it is not an output."""
    if isinstance(output, (torch.Tensor, np.ndarray)):
        return output.shape[0] if output.ndim else None
    if isinstance(output, list):
        return len(output)
    parts: Sequence[Any] = ()
    if isinstance(output, dict):
        parts = list(output.values())
    elif isinstance(output, tuple):
        parts = output
    counts = {_rows(part) for part in parts if part is not None}
    return counts.pop() if len(counts) == 1 else None


def _check(output: Any, records: int, name: str) -> None:
    if output is not None and _rows(output) != records:
        shape = f" of shape {tuple(output.shape)}" if hasattr(output, "shape") else ""
        raise ValueError(
            f"{name} returned a {type(output).__name__}{shape} for a batch of {records} records; expected one output for "
            "each: a tensor or an array whose first dimension they are, a tuple or a dict of those, or a list"
        )


def _settled(output: Any) -> Any:
    """A copy on the CPU that later code does not change."""
    if isinstance(output, torch.Tensor):
        return output.detach().cpu()
    if isinstance(output, dict):
        return {name: _settled(part) for name, part in output.items()}
    if isinstance(output, tuple) and hasattr(output, "_fields"):
        return type(output)(*map(_settled, output))
    if isinstance(output, (tuple, list)):
        return type(output)(map(_settled, output))
    return output


# ---- all outputs together


def _join(parts: List[Any]) -> Any:
    first = parts[0]
    if isinstance(first, dict):
        return {name: _join([part[name] for part in parts]) for name in first}
    if isinstance(first, tuple):
        joined = [_join(list(each)) for each in zip(*parts)]
        return type(first)(*joined) if hasattr(first, "_fields") else tuple(joined)
    if isinstance(first, list):
        return list(itertools.chain.from_iterable(parts))
    if first is None:
        return None
    shapes = dict.fromkeys(tuple(part.shape[1:]) for part in parts)
    if len(shapes) > 1:
        one, other, *_ = shapes
        raise ValueError(
            f"batches have outputs of different shapes, {one} and {other} per record: pad them in predict_batch(), or "
            "take them batch by batch with on_batch"
        )
    return torch.cat(parts) if isinstance(first, torch.Tensor) else np.concatenate(parts)


# ---- the data


class _InOrder:
    """The batches of a loader in the order of its data, without shuffling, and with all records; ours of each
    round."""

    def __init__(self, loader: Any, seed: int, distributed: Any) -> None:
        if len(loader.dataset) == 0:
            raise ValueError("the data to predict is empty")
        ours = _sorted(loader)
        self._feed = _data.make_feed(
            ours,
            seed=seed,
            rank=distributed.rank,
            size=distributed.size,
            checks=False,
            training=False,
            round_size=_data.round_of(ours, distributed),
        )
        self.rounds: Optional[int] = max(distributed.allgather(self._feed.batches))

    def __iter__(self) -> Iterator[Any]:
        self._feed.go_to(0, 0)
        return self._feed.epoch()

    def close(self) -> None:
        self._feed.close()


def _sorted(loader: Any) -> _data.DataLoader:
    """The same loader without shuffling and without leaving anything out."""
    kept: Dict[str, Any] = {
        "num_workers": loader.num_workers,
        "collate_fn": loader.collate_fn,
        "pin_memory": loader.pin_memory,
        "timeout": loader.timeout,
        "worker_init_fn": loader.worker_init_fn,
        "multiprocessing_context": loader.multiprocessing_context,
    }
    if loader.num_workers:
        kept["prefetch_factor"] = loader.prefetch_factor
    if type(loader.batch_sampler) not in (data.BatchSampler, type(None)):
        return _data.DataLoader(loader.dataset, batch_sampler=loader.batch_sampler, **kept)
    sampler = None if type(loader.sampler) in _SORTED else loader.sampler
    return _data.DataLoader(loader.dataset, loader.batch_size, sampler=sampler, **kept)


class _Passing:
    """Batches in their own order: of an IterableDataset, of a list, of a generator. Every rank reads all of them."""

    rounds: Optional[int] = None

    def __init__(self, batches: Any, distributed: Any) -> None:
        self._batches, self._rank, self._size = batches, distributed.rank, distributed.size

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(iter(self._batches), self._rank, None, self._size)

    def close(self) -> None:
        pass


def _source(given: Any, seed: int, distributed: Any) -> Any:
    if isinstance(given, data.DataLoader):
        if not isinstance(given.dataset, data.IterableDataset):
            return _InOrder(given, seed, distributed)
        return _Passing(given, distributed)
    if isinstance(given, data.Dataset):
        raise TypeError(
            f"the data is a data set ({type(given).__name__}); expected a data loader: "
            "det.pytorch.DataLoader(dataset, batch_size=...)"
        )
    if isinstance(given, (torch.Tensor, np.ndarray, dict, str, bytes)) or not hasattr(given, "__iter__"):
        raise TypeError(f"the data is of type {type(given).__name__}; expected a det.pytorch.DataLoader, or batches")
    return _Passing(given, distributed)


# ---- rounds


@contextlib.contextmanager
def _evaluating(context: PyTorchTrialContext) -> Iterator[None]:
    """Afterwards every module is in its previous mode, and every generator in its previous state."""
    modules = [module for model in context.models for module in model.modules()]
    modes = [module.training for module in modules]
    kind = context.device.type
    cuda = [context.device] if kind == "cuda" else []
    try:
        for model in context.models:
            model.eval()
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng(cuda))
            stack.enter_context(_data_order.lent(context.get_trial_seed()))
            stack.enter_context(torch.no_grad())
            stack.enter_context(torch.autocast(kind, enabled=context.experimental._auto_amp))
            stack.enter_context(context._ranks.evaluating())
            yield
    finally:
        for module, was in zip(modules, modes):
            module.training = was


def _on_device(context: PyTorchTrialContext, batch: Any) -> Any:
    return context.to_device(batch) if context.experimental._auto_to_device else batch


def _computed(
    trial: Any, context: PyTorchTrialContext, batches: Iterator[Any], distributed: Any
) -> Iterator[Tuple[bool, Any]]:
    """(True, output) for each batch of this rank; then (False, None) forever."""
    compute = _computation(trial, context)
    name = "predict_batch()" if hasattr(trial, "predict_batch") else "the model"
    for k, batch in enumerate(batches):
        records = trial.get_batch_length(batch)
        output = compute(_on_device(context, batch), k * distributed.size + distributed.rank)
        _check(output, records, name)
        yield True, _settled(output)
    yield from itertools.repeat((False, None))


def _rounds(
    distributed: Any, mine: Iterator[Tuple[bool, Any]], rounds: Optional[int], collect: Callable[[Any, Any], Any]
) -> Iterator[List[Any]]:
    """The outputs of the ranks, round by round; nothing on ranks that do not receive them."""
    for k in itertools.count():
        if k == rounds:
            return
        found = collect(distributed, next(mine)) if distributed.size > 1 else [next(mine)]
        parts = [part for is_there, part in found or () if is_there]
        if rounds is None and not distributed.broadcast(bool(parts)):
            return
        yield parts


def predict(core_context: core.Context, trial: Any, given: Any, on_batch: Optional[Callable[[Any], Any]] = None) -> Any:
    """Outputs of a trial for data, one for each record, in order.

    All ranks call it, and all get all outputs: tensors and arrays joined along their first dimension, also
    within dicts and tuples, and lists one after the other. With `on_batch` nothing is kept or returned: the
    first rank calls it with the outputs of one batch at a time."""
    if not isinstance(trial, _trial.PyTorchTrial):
        raise TypeError(f"predict() was given a {type(trial).__name__}; expected a PyTorchTrial")
    if on_batch is not None and not callable(on_batch):
        raise TypeError(f"on_batch is {on_batch!r}; expected a function that takes the outputs of a batch")
    own = _trial.context_of(trial)
    distributed = core_context.distributed
    source = _source(given, own.get_trial_seed(), distributed)
    collect = _reducer.allgather if on_batch is None else _reducer.gather
    outputs: List[Any] = []
    try:
        with _evaluating(own):
            mine = _computed(trial, own, iter(source), distributed)
            for parts in _rounds(distributed, mine, source.rounds, collect):
                if on_batch is None:
                    outputs += parts
                for part in parts if on_batch is not None else ():
                    on_batch(part)
    finally:
        source.close()
    return _join(outputs) if outputs else None
