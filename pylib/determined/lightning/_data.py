# SPDX-License-Identifier: Apache-2.0
"""A data loader that keeps its position in the epoch.

Lightning resumes in the middle of an epoch with the right number of batches left, but reads them from the
beginning of the loader, in another order. It asks loaders that have state_dict() and load_state_dict() for
their position: this class adds both to any loader, in one of two ways.

    determined.pytorch.DataLoader   its feed moves to the position at once, whatever its workers and
                                    random transformations; its ranks share the data among them
    any other                       the generators are restored to the beginning of the epoch, and
                                    the batches up to the position are read again and discarded
"""
from typing import Any, Dict, Iterator, Optional

import torch.utils.data

from determined import core
from determined.lightning import _rng


def _feed(loader: Any, core_context: Optional[core.Context], seed: Optional[int]) -> Any:
    """The feed of a loader of determined.pytorch; None for others."""
    if not type(loader).__module__.startswith("determined.pytorch"):
        return None
    from determined.pytorch._data import make_feed, round_of

    if core_context is None:
        raise TypeError("a determined.pytorch.DataLoader needs Resumable(loader, core_context), to know the seed")
    dist = core_context.distributed
    where = core_context._values["seed"] if seed is None else seed
    ours = round_of(loader, dist)
    return make_feed(loader, seed=where, rank=dist.rank, size=dist.size, checks=False, round_size=ours)


class Resumable:
    """A loader for Trainer.fit(train_dataloaders=...), or for train_dataloader() of a module, that can be resumed
    in the middle of an epoch.

      loader          a determined.pytorch.DataLoader, or any other; with several ranks it must share the
                      data among them: Lightning does that only for PyTorch's own loaders
      core_context    needed by a determined.pytorch.DataLoader
      seed            of its order; None: the trial's
    """

    def __init__(self, loader: Any, core_context: Optional[core.Context] = None, seed: Optional[int] = None) -> None:
        if not hasattr(loader, "__iter__") or hasattr(loader, "__next__"):
            raise TypeError(
                f"the loader is of type {type(loader).__name__}; expected one that can be read repeatedly"
            )
        try:
            len(loader)
        except TypeError:
            raise TypeError(
                "the loader has no length, and Lightning reads such a loader ahead of the training: its position "
                "is unknown; give it a __len__()"
            ) from None
        if isinstance(loader, torch.utils.data.DataLoader) and loader.persistent_workers:
            raise ValueError(
                "a loader with persistent_workers cannot be resumed, because its workers hide their generators; "
                "leave it out"
            )
        self.loader = loader
        self._feed = _feed(loader, core_context, seed)
        self._position = 0
        self._skip = 0
        self._begun: Optional[Dict[str, Any]] = None  # the generators at the beginning of the epoch

    def __getattr__(self, name: str) -> Any:
        # Lightning looks at dataset, sampler and batch_sampler.
        if name.startswith("_") or name == "loader":
            raise AttributeError(name)
        return getattr(self.loader, name)

    def __len__(self) -> int:
        return self._feed.batches if self._feed is not None else len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        if self._feed is not None:
            yield from self._feed.epoch()
            return
        for batch in self._replay():
            self._position += 1
            yield batch

    def _replay(self) -> Iterator[Any]:
        skip, self._skip = self._skip, 0
        if not skip or self._begun is None:
            self._position, self._begun = 0, _rng.get()
            yield from self.loader
            return
        now = _rng.get()
        _rng.put(self._begun)
        batches = iter(self.loader)
        for _ in range(skip):
            next(batches)
        _rng.put(now)
        yield from batches

    # ---- called by Lightning

    def state_dict(self) -> Dict[str, Any]:
        if self._feed is not None:
            return {"place": list(self._feed.where()), "feed": self._feed.state()}
        # Lightning stops after the last batch, without asking for one more.
        position = self._position if self._position < len(self.loader) else 0
        return {"position": position, "begun": self._begun if position else None}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        if self._feed is not None:
            self._feed.load(state["feed"])
            self._feed.go_to(*state["place"])
        else:
            self._position = self._skip = state["position"]
            self._begun = state["begun"]
