# SPDX-License-Identifier: Apache-2.0
import contextlib
from typing import Any, Dict, Iterator, Optional

from determined import _det

_KINDS = {"data": 0, "step": 1, "report": 2, "checkpoint": 3, "validate": 4}


class ProfilerContext:
    """What the machine does while the trial runs, and how the trial spends its time.

    A thread of the library reads processors, memory, disks, network and GPUs and reports them as metrics; `det
    trial profile` shows them. With `profiling: {enabled: true}` in the experiment's configuration it is on from
    the start. One process of each machine measures; in the others every call is allowed and does nothing.
    """

    def __init__(
        self, det: _det.Context, local_rank: int, config: Optional[Dict[str, Any]] = None
    ) -> None:
        self._det = det
        self._is_first = local_rank == 0
        profiling = (config or {}).get("profiling") or {}
        if not profiling.get("enabled"):
            return
        if self._is_first:
            # The library may not have started it: not every process asks whether to stop.
            det.profiler_on(0, 0, True)
        else:
            det.profiler_off()

    def on(self, sampling_interval: float = 1, samples_per_report: int = 10) -> None:
        """Starts measuring, every `sampling_interval` seconds; a report is the mean of `samples_per_report`
        samples."""
        if not isinstance(sampling_interval, (int, float)) or not sampling_interval >= 0.1:
            raise ValueError(f"sampling_interval is {sampling_interval}; expected 0.1 or more")
        if not isinstance(samples_per_report, int) or samples_per_report < 1:
            raise ValueError(f"samples_per_report is {samples_per_report}; expected 1 or more")
        if self._is_first:
            self._det.profiler_on(round(sampling_interval * 1000), samples_per_report)

    def off(self) -> None:
        """Stops measuring, and reports the samples since the last report."""
        if self._is_first:
            self._det.profiler_off()

    @contextlib.contextmanager
    def timing(self, kind: str) -> Iterator[None]:
        """Counts the time inside as "data" (waiting for a batch), "step" or "validate".

        Reports and checkpoints are counted by themselves. Waits for data and reports inside a step or a
        validation are subtracted from it.
        """
        if kind not in _KINDS:
            raise ValueError(f"kind is '{kind}'; expected one of {', '.join(_KINDS)}")
        begun = self._det.timing_begin()
        try:
            yield
        finally:
            self._det.timing_end(_KINDS[kind], begun)
