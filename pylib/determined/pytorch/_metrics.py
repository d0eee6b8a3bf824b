# SPDX-License-Identifier: Apache-2.0
"""The results of batches: the loss or a dict of metrics, the same names and shapes each time, finally numbers. Each
number of an array or tensor is a metric of its own (core/_metrics.py)."""
import math
from typing import Any, Dict, Iterable, List, Tuple

import torch

from determined.core._metrics import element_names, elements

_PENDING_MOST = 1024  # metrics of so many batches may stay on the GPU

Metrics = Dict[str, Any]


def no_number(source: str, name: str, value: Any) -> TypeError:
    shape = f" of shape {tuple(value.shape)}" if hasattr(value, "shape") else ""
    hint = "; take its mean, or give it to a reducer (context.wrap_reducer)" if shape else ""
    return TypeError(f"{source} returned the metric '{name}' as a {type(value).__name__}{shape}; expected a number{hint}")


def number(source: str, name: str, value: Any) -> float:
    if isinstance(value, (int, float)):
        return value
    try:
        return float(value.item())
    except (AttributeError, TypeError, ValueError, RuntimeError):
        raise no_number(source, name, value) from None


def parts(source: str, name: str, value: Any) -> Iterable[Tuple[str, Any]]:
    """The numbers of a metric, each with its name; those of a tensor stay on its device."""
    if isinstance(value, torch.Tensor):
        names = element_names(name, value) or [name]
        if value.is_complex() or value.numel() != len(names):
            raise no_number(source, name, value)
        return zip(names, flat(value))
    return [(each, number(source, each, part)) for each, part in elements(name, value)]


def flat(value: torch.Tensor) -> Tuple[torch.Tensor, ...]:
    """The numbers of a tensor, which do not change if it does. A tensor that autograd computed belongs to its batch; a
    tensor of the user's may change later."""
    kept = value.detach() if value.requires_grad and not value.is_leaf else value.detach().clone()
    return kept.reshape(-1).unbind() if kept.dim() else (kept,)


def numbers(source: str, metrics: Metrics) -> Metrics:
    found = [part for name, value in metrics.items() for part in parts(source, name, value)]
    return {name: number(source, name, value) for name, value in found}


class Shapes:
    """The shapes of arrays and tensors, by name: those of the first batch."""

    def __init__(self) -> None:
        self._shapes: Dict[str, Tuple[int, ...]] = {}

    def check(self, source: str, name: str, value: Any) -> None:
        """Refuses an array that is not reported by its numbers, or has another shape than before."""
        shape = tuple(value.shape)
        if not element_names(name, value):
            raise no_number(source, name, value)
        before = self._shapes.setdefault(name, shape)
        if before != shape:
            raise ValueError(
                f"{source} returned the metric '{name}' with the shape {shape}, but {before} for the batches before it: every "
                "batch must return the same; if it has a value per record, take its mean"
            )


def named(source: str, metrics: Any) -> Metrics:
    """A loss alone becomes a dict."""
    if isinstance(metrics, dict):
        return metrics
    if isinstance(metrics, torch.Tensor):
        return {"loss": metrics}
    if metrics is None:
        raise TypeError(f"{source} returned nothing; expected the loss, or a dict of metrics: is there a `return` in it?")
    raise TypeError(f"{source} returned a {type(metrics).__name__}; expected the loss, or a dict of metrics")


def even(before: Any, metrics: Metrics, batch: int) -> Any:
    """Checks the names, which must be those of the first batch."""
    if before is not None:
        raise uneven("evaluate_batch()", before, metrics, batch)
    return set(metrics)


def listed(names: Any) -> str:
    return ", ".join(sorted(map(str, names))) or "none"


def uneven(source: str, before: Any, now: Any, batch: int) -> ValueError:
    return ValueError(
        f"{source} returned the metrics {listed(now)} for batch {batch}, but {listed(before)} for those before it: every batch "
        "must return the same"
    )


class Windows:
    """Metrics of training on their way into libdet's averaging windows."""

    def __init__(self, trainer: Any, keeps_batches: bool) -> None:
        self._trainer = trainer
        self._names: Any = None
        self._shapes = Shapes()
        self._pending: Dict[str, List[torch.Tensor]] = {}
        self._waiting = 0
        self._keeps = keeps_batches
        self.batches: List[Metrics] = []  # of this window, for callbacks

    def add(self, metrics: Any, batch: int) -> None:
        if type(metrics) is not dict:
            metrics = named("train_batch()", metrics)
        if metrics.keys() != self._names:
            self._check_names(metrics, batch)
        add = self._trainer.metric
        for name, value in metrics.items():
            if isinstance(value, torch.Tensor):
                if value.is_cuda:
                    self._wait(name, value)
                    continue
                try:
                    add(name, value.item())
                except (RuntimeError, TypeError):
                    self._add_parts(name, value)
            elif getattr(value, "ndim", 0) and value.size != 1:
                self._add_parts(name, value)
            else:
                add(name, number("train_batch()", name, value))
        if self._waiting >= _PENDING_MOST:
            self.settle()
        if self._keeps:
            self.batches.append(numbers("train_batch()", metrics))

    def _add_parts(self, name: str, value: Any) -> None:
        self._shapes.check("train_batch()", name, value)
        for each, part in parts("train_batch()", name, value):
            self._trainer.metric(each, number("train_batch()", each, part))

    def _check_names(self, metrics: Metrics, batch: int) -> None:
        if self._names is not None:
            raise uneven("train_batch()", self._names, metrics, batch)
        for name in metrics:
            if not isinstance(name, str) or not name or "\n" in name:
                raise TypeError(f"train_batch() returned a metric named {name!r}; expected a word")
        self._names = set(metrics)

    def _wait(self, name: str, value: torch.Tensor) -> None:
        if value.numel() != 1:
            self._shapes.check("train_batch()", name, value)
        for each, part in parts("train_batch()", name, value):
            self._pending.setdefault(each, []).append(part)
            self._waiting += 1

    def settle(self) -> None:
        """Reads the values that are still on the GPU."""
        for name, values in self._pending.items():
            for value in torch.stack(values).double().tolist():
                self._trainer.metric(name, value)
        self._pending.clear()
        self._waiting = 0

    def close(self) -> Tuple[Metrics, List[Metrics]]:
        """The means, and the metrics of each batch if they are kept; then a new window begins."""
        self.settle()
        batches, self.batches = self.batches, []
        return self._trainer.window(), batches


def mean_of_ranks(ranks: List[Metrics]) -> Metrics:
    """Every rank trains the same number of batches, so the mean of their means is that of all."""
    for rank, each in enumerate(ranks):
        if each.keys() != ranks[0].keys():
            raise ValueError(
                f"train_batch() returned the metrics {listed(ranks[0])} on rank 0, but {listed(each)} on rank {rank}: every rank "
                "must return the same"
            )
    return {name: math.fsum(each[name] for each in ranks) / len(ranks) for name in ranks[0]}
