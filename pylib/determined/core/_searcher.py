# SPDX-License-Identifier: Apache-2.0
import enum
from typing import Any, Iterator, Optional, Tuple

from determined import _det
from determined.core._distributed import DistributedContext


class Unit(enum.Enum):
    EPOCHS = "EPOCHS"
    RECORDS = "RECORDS"
    BATCHES = "BATCHES"


# enum det_unit
_UNITS = (None, Unit.BATCHES, Unit.RECORDS, Unit.EPOCHS)


class SearcherMode(enum.Enum):
    """Which process iterates, if several processes train together."""

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    ChiefOnly = "CHIEF_ONLY"


class SearcherOperation:
    """One stretch of training: up to `length`, counted from the beginning of the trial."""

    def __init__(self, det: _det.Context, length: int, is_chief: bool) -> None:
        self._det = det
        self._length = length
        self._is_chief = is_chief
        self._is_completed = False

    @property
    def length(self) -> int:
        return self._length

    def report_progress(self, length: float) -> None:
        """Reports how much of `length` is done."""
        self._need_chief("report_progress")
        self._det.searcher_progress(float(length))

    def report_completed(self, searcher_metric: Any) -> None:
        """Reports that the operation is done. The searcher itself reads the reported validation metrics."""
        self._need_chief("report_completed")
        if self._is_completed:
            raise RuntimeError("this operation was already completed")
        self._is_completed = True

    def _need_chief(self, what: str) -> None:
        if not self._is_chief:
            raise RuntimeError(f"only rank 0 calls {what}()")


class SearcherContext:
    """How long to train, if the experiment's configuration says so."""

    def __init__(self, det: _det.Context, dist: DistributedContext) -> None:
        self._det = det
        self._dist = dist

    def _need_length(self) -> Tuple[int, Optional[Unit]]:
        length = self._det.searcher_length()
        if length is None:
            raise ValueError(
                "the searcher of this experiment has no max_length: set searcher.max_length, or "
                "train for as long as your program decides itself"
            )
        return length[0], _UNITS[length[1]]

    def operations(
        self, searcher_mode: SearcherMode = SearcherMode.WorkersAskChief, auto_ack: bool = True
    ) -> Iterator[SearcherOperation]:
        """Yields one operation: train until its length, then report_completed()."""
        length, _ = self._need_length()
        is_chief = self._dist.rank == 0
        if searcher_mode is SearcherMode.ChiefOnly and not is_chief:
            raise RuntimeError("with SearcherMode.ChiefOnly only rank 0 iterates")
        return iter((SearcherOperation(self._det, length, is_chief),))

    def get_configured_units(self) -> Optional[Unit]:
        """The unit of searcher.max_length; None if it is a plain number."""
        return self._need_length()[1]
