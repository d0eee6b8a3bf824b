# SPDX-License-Identifier: Apache-2.0
"""Which records the batches of an epoch hold, and which rank gets them.

Batch k of an epoch belongs to rank k % size: a *round* is one batch for every rank. The rest at the end, fewer
records than a round has, is shared record by record, so all ranks have the same number of batches, one of them
short. Two rests cannot be shared: fewer records than ranks, and whole batches if batches must stay as they are
(drop_last, a batch_sampler of the user's, no batches at all). In training these are left out, so no rank waits
for another. A validation leaves nothing out and counts nothing twice: there some ranks may have one batch
fewer.

Ranks with different batch sizes (7 records shared by 2) must first agree on a round: it is the sum of their
sizes, and shared as libdet shares a batch, so a rank may have one record more or less than it asked for.

    Computed   without a sampler, or with one of PyTorch's that means the same as shuffle: the records
               in their order, or libdet's permutation of (seed, epoch).  Seeking costs the same for
               any position.
    Listed     the user's sampler, asked once for each epoch, with the generators of Python, NumPy
               and PyTorch seeded by (seed, epoch), and restored afterwards.  So it gives the same
               order when it is asked again, in another process, after a kill: none of it is saved,
               unless it has state_dict() and load_state_dict().
"""
import contextlib
import itertools
import json
import logging
import random
import sys
from typing import Any, Iterator, List, Optional, Sequence

import torch

from determined import _det

logger = logging.getLogger("determined.pytorch")

_FIRST_PIECE, _MOST_BATCHES, _MOST_RECORDS = 8, 4096, 1 << 18  # computed at once
_WORD = (1 << 64) - 1


def mix(*numbers: int) -> int:
    """A hash of 64 bits that depends on every bit of every number (splitmix64)."""
    mixed = 0
    for number in numbers:
        mixed = (mixed + (number & _WORD) + 0x9E3779B97F4A7C15) & _WORD
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _WORD
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _WORD
        mixed ^= mixed >> 31
    return mixed


def seed_generators(seed: int) -> None:
    """Seeds the generators of Python, NumPy and PyTorch's CPU for this batch or epoch."""
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed([seed & 0xFFFFFFFF, seed >> 32])


@contextlib.contextmanager
def lent(seed: int, generators: Sequence[torch.Generator] = ()) -> Iterator[None]:
    """Seeds the generators by `seed`, and restores them afterwards."""
    numpy = sys.modules.get("numpy")
    python, theirs = random.getstate(), numpy.random.get_state() if numpy else None
    states = [(each, each.get_state()) for each in (torch.default_generator, *generators)]
    try:
        seed_generators(seed)
        for each in generators:
            each.manual_seed(mix(seed, each.initial_seed()))  # the user's seed counts
        yield
    finally:
        for each, state in states:
            each.set_state(state)
        if numpy:
            numpy.random.set_state(theirs)
        random.setstate(python)


class Order:
    """The common part. `batches` per epoch are ours; `records` are those of all ranks."""

    batches: int
    records: int

    def batches_from(self, epoch: int, first: int) -> Iterator[Any]:
        """The records of each of our batches, from this one on: indices, as memory of 64-bit integers or as a
        list."""
        raise NotImplementedError

    def state(self) -> Any:
        return None

    def load(self, state: Any) -> None:
        pass


# ---- computed


class Computed(Order):
    def __init__(
        self,
        items: int,
        batch_size: int,
        shuffle: bool,
        seed: int,
        rank: int,
        size: int,
        drop_last: bool,
        is_exact: bool,
        round_size: Optional[int] = None,
    ) -> None:
        is_even = round_size is None
        whole = batch_size * size if round_size is None else round_size
        self._round = whole if drop_last else min(whole, items * size)
        batch_size = self._round * (rank + 1) // size - self._round * rank // size
        self.items, self.batch_size, self.shuffle, self.seed = items, batch_size, shuffle, seed & _WORD
        self.rank, self.size = rank, size
        self._rounds = -(-items // self._round)  # libdet's, the short one as well
        self._apart = -1  # the batch that is not part of a round
        full, left = divmod(items, self._round)
        self.batches, self.records = full, full * self._round
        if drop_last and is_exact and is_even:
            over = left // batch_size
            self.records += over * batch_size
            if rank < over:
                self._apart, self.batches = full, full + 1
        elif not drop_last and (left >= size or is_exact):
            self.records = items
            self.batches += left * (rank + 1) // size > left * rank // size

    def batches_from(self, epoch: int, first: int) -> Iterator[Any]:
        last = self._apart if self._apart >= 0 else self.batches
        piece = _FIRST_PIECE
        while first < last:
            count = min(last - first, piece)
            items = self._part(epoch, first, count)
            for at in range(0, len(items), self.batch_size):
                yield items[at : at + self.batch_size]
            first += count
            piece = min(piece * 4, _MOST_BATCHES, max(_FIRST_PIECE, _MOST_RECORDS // self.batch_size))
        if self._apart >= first:
            whole = -(-self.items // self.batch_size)
            at = epoch * whole + self._apart * self.size + self.rank
            yield memoryview(_det.order(self.items, self.batch_size, self.shuffle, self.seed, at, 1)[0]).cast("q")

    def _part(self, epoch: int, first: int, count: int) -> memoryview:
        """The items of these rounds; only the last of an epoch may be short, so batches lie at multiples."""
        indices, _ = _det.order(
            self.items, self._round, self.shuffle, self.seed, epoch * self._rounds + first, count, self.rank, self.size
        )
        return memoryview(indices).cast("q")


# ---- listed


def share(batches: List[Any], rank: int, size: int, is_exact: bool, may_split: bool) -> List[Any]:
    """Our batches of these: one of each round, and our share of the rest (see above)."""
    if size == 1:
        return batches
    full = len(batches) // size
    if may_split and full * size == len(batches) and len(batches[-1]) < len(batches[0]):
        full -= 1  # a round with too few records is shared like one with too few batches
    mine, left = batches[rank : full * size : size], batches[full * size :]
    records = list(itertools.chain.from_iterable(left)) if may_split else []
    if len(records) >= size:
        mine.append(records[len(records) * rank // size : len(records) * (rank + 1) // size])
    elif is_exact:
        mine += left[rank : rank + 1]
    return mine


class Listed(Order):
    def __init__(self, sampler: Any, most: int, seed: int, rank: int, size: int, is_exact: bool, may_split: bool) -> None:
        self.sampler = sampler  # yields batches, or records that count as batches
        self._most = most  # batches per epoch; a sampler with more is endless
        self.seed, self.rank, self.size = seed, rank, size
        self.is_exact, self.may_split = is_exact, may_split
        self._state = self._sampler_state()
        self._epoch = -1
        self._mine: List[Any] = []
        self._has_said = False
        whole = self._list(0)
        self._mine, self._epoch = share(whole, rank, size, is_exact, may_split), 0
        self.batches = len(self._mine)
        full = len(whole) if is_exact else len(whole) // size * size
        over = sum(map(len, whole[full:])) if may_split else 0
        self.records = sum(_length(each) for each in whole[:full]) + (over if over >= size else 0)

    def batches_from(self, epoch: int, first: int) -> Iterator[Any]:
        if epoch != self._epoch:
            self._mine = share(self._list(epoch), self.rank, self.size, self.is_exact, self.may_split)
            self._epoch = epoch
            if len(self._mine) != self.batches and not self._has_said:
                self._has_said = True
                logger.warning(
                    "%s returns %d batches in epoch %d, but returned %d before: epochs keep the length of the first; "
                    "it starts again if it has fewer, and additional ones are left out",
                    _name(self.sampler), len(self._mine), epoch, self.batches,
                )  # fmt: skip
        mine = self._mine
        if not mine:
            raise ValueError(f"{_name(self.sampler)} returns no batch for rank {self.rank} in epoch {epoch}")
        return (mine[k % len(mine)] for k in range(first, self.batches))

    def state(self) -> Any:
        return self._state

    def load(self, state: Any) -> None:
        if state is not None:
            self._state = state
            self._epoch = -1

    def is_known(self) -> bool:
        """Checks that it draws only from the seeded generators."""
        homes = ("torch.utils.data.", "determined.pytorch.")
        return all(
            type(part) in (list, tuple, range) or type(part).__module__.startswith(homes) for part in chain(self.sampler)
        )

    def check(self) -> None:
        """Checks that it gives the same order when it is asked again."""
        again = share(self._list(0), self.rank, self.size, self.is_exact, self.may_split)
        if _plain(again) == _plain(self._mine):
            return
        raise ValueError(
            f"{_name(self.sampler)} returns another order when it is asked for the same epoch again, so a training could "
            "not be resumed; let it draw from random, numpy.random or torch's generator, which are seeded "
            "for each epoch, or give it set_epoch(epoch), or call "
            "context.experimental.disable_dataset_reproducibility_checks()"
        )

    def _list(self, epoch: int) -> List[Any]:
        parts = list(chain(self.sampler))
        if self._epoch < 0 or epoch == self._epoch:
            self._put_back(parts)
        elif epoch == self._epoch + 1:
            self._state = self._sampler_state()
        found = [each for each in (getattr(part, "generator", None) for part in parts) if isinstance(each, torch.Generator)]
        with lent(mix(self.seed, epoch), list({id(each): each for each in found}.values())):
            for part in parts:
                if callable(getattr(part, "set_epoch", None)):
                    part.set_epoch(epoch)
            batches = self._all()
        return [each if hasattr(each, "__len__") else list(each) for each in batches] if self.may_split else batches

    def _all(self) -> List[Any]:
        """One pass. A sampler of determined.pytorch.samplers that repeats knows the length of a pass."""
        if any(getattr(part, "is_endless", False) for part in chain(self.sampler)):
            return list(itertools.islice(self.sampler, len(self.sampler)))
        batches = list(itertools.islice(self.sampler, self._most + 1))
        if len(batches) > self._most:
            raise ValueError(
                f"{_name(self.sampler)} returned more than {self._most} batches and does not end: an epoch is one pass; "
                "let it end, and training continues with the next pass"
            )
        return batches

    def _sampler_state(self) -> Any:
        """The states of samplers that have one, before an epoch; None if there are none."""
        found = {
            str(i): part.state_dict()
            for i, part in enumerate(chain(self.sampler))
            if callable(getattr(part, "state_dict", None)) and callable(getattr(part, "load_state_dict", None))
        }
        try:
            return json.loads(json.dumps(found)) if found else None
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"state_dict() of {_name(self.sampler)} cannot be saved: {error}; let it return numbers, strings, lists and dicts"
            ) from error

    def _put_back(self, parts: List[Any]) -> None:
        for i, state in (self._state or {}).items():
            parts[int(i)].load_state_dict(state)


def chain(sampler: Any) -> Iterator[Any]:
    """A sampler, and those it contains."""
    seen: List[int] = []
    while sampler is not None and id(sampler) not in seen:
        seen.append(id(sampler))
        yield sampler
        within = getattr(sampler, "batch_sampler", None)
        sampler = getattr(sampler, "sampler", None) if within is None else within


def _plain(value: Any) -> Any:
    """For comparison: tensors and arrays as lists."""
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _length(batch: Any) -> int:
    return len(batch) if hasattr(batch, "__len__") else 1


def _name(sampler: Any) -> str:
    inner: Optional[Any] = getattr(sampler, "sampler", None)
    if type(sampler) is torch.utils.data.BatchSampler and inner is not None:
        sampler = inner
    return f"the sampler {type(sampler).__name__}"
