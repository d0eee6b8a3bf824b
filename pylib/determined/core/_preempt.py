# SPDX-License-Identifier: Apache-2.0
import enum

from determined import _det
from determined.core._distributed import DistributedContext


class PreemptMode(enum.Enum):
    """Which process asks whether to stop, if several processes train together."""

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    ChiefOnly = "CHIEF_ONLY"
    WorkersAskMaster = "WORKERS_ASK_MASTER"


# enum det_preempt_mode
_MODES = {
    PreemptMode.WorkersAskChief: 0,
    PreemptMode.ChiefOnly: 1,
    PreemptMode.WorkersAskMaster: 2,
}


class PreemptContext:
    """Whether the platform wants the slots back."""

    def __init__(self, det: _det.Context, dist: DistributedContext, mode: PreemptMode) -> None:
        self._det = det
        self._dist = dist
        self._mode = mode
        self._code = _MODES[mode]
        self._is_acknowledged = False

    def should_preempt(self, auto_ack: bool = True) -> bool:
        """True: save a checkpoint and exit with 0; the trial continues from there later.

        It costs one load from memory: ask after every batch. With WorkersAskChief, if several processes train
        together, each of them must ask, equally often: rank 0 tells the others. With `auto_ack` the master
        learns at once that the request was received; without it, call acknowledge_preemption_signal().
        """
        preempted = self._dist._group.preempted(self._det, self._code)
        if preempted and auto_ack and self._may_acknowledge() and not self._is_acknowledged:
            self.acknowledge_preemption_signal()
        return preempted

    def _may_acknowledge(self) -> bool:
        return self._dist.rank == 0 or self._mode is PreemptMode.WorkersAskMaster

    def acknowledge_preemption_signal(self) -> None:
        """Tells the master that the request was received, so the end of the program counts as an interruption and
        not as the end of the trial."""
        if not self._may_acknowledge():
            raise RuntimeError("only rank 0 acknowledges the request to stop")
        self._det.preempt_ack()
        self._is_acknowledged = True
