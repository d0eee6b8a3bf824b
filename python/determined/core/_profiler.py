# SPDX-License-Identifier: Apache-2.0
from determined import errors


class ProfilerContext:
    """Measures of the machine while the trial runs: not built yet, and it says so."""

    def on(self, sampling_interval: float = 1, samples_per_report: int = 10) -> None:
        if sampling_interval < 0.1:
            raise ValueError(f"sampling_interval is {sampling_interval}; expected 0.1 or more")
        if samples_per_report < 1:
            raise ValueError(f"samples_per_report is {samples_per_report}; expected 1 or more")
        raise errors.UnsupportedError(
            "the profiler is not built yet: leave out profiler.on(), or catch NotImplementedError"
        )

    def off(self) -> None:
        """Nothing is on."""
