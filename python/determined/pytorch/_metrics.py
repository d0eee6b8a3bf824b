# SPDX-License-Identifier: Apache-2.0
"""The results of batches: the loss or a dict of metrics, the same names each time, finally numbers."""
import math
from typing import Any, Dict, List, Tuple

import torch

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
                    raise no_number("train_batch()", name, value) from None
            else:
                add(name, number("train_batch()", name, value))
        if self._waiting >= _PENDING_MOST:
            self.settle()
        if self._keeps:
            self.batches.append({name: number("train_batch()", name, value) for name, value in metrics.items()})

    def _check_names(self, metrics: Metrics, batch: int) -> None:
        if self._names is not None:
            raise uneven("train_batch()", self._names, metrics, batch)
        for name in metrics:
            if not isinstance(name, str) or not name or "\n" in name:
                raise TypeError(f"train_batch() returned a metric named {name!r}; expected a word")
        self._names = set(metrics)

    def _wait(self, name: str, value: torch.Tensor) -> None:
        # A tensor that autograd computed belongs to this batch; a tensor of the user's may change later.
        kept = value.detach() if value.requires_grad and not value.is_leaf else value.detach().clone()
        if kept.dim():
            if kept.numel() != 1:
                raise no_number("train_batch()", name, value)
            kept = kept.reshape(())
        self._pending.setdefault(name, []).append(kept)
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
