# SPDX-License-Identifier: Apache-2.0
"""Section of tools/bench: what measuring costs the training that is measured."""
import statistics

ROUNDS = 5
SECONDS = 10


def section_profiler(b):
    share, = b.run("bench_profiler", "share", b.fresh("profiler"), SECONDS)
    b.row("the profiler, a sample a second: of one core", f"{share:.3f} %", "-", "-", "<= 1 %", share <= 1)
    rounds = [b.run("bench_profiler", "marks", b.fresh("profiler"), 1000000) for _ in range(ROUNDS)]
    on, off, clock = (statistics.median(column) for column in zip(*rounds))
    ratio = statistics.median(on / clock for on, _, clock in rounds)
    b.row("  a timing, begin and end", f"{on:.0f} ns", f"{clock:.0f} ns two clock readings", f"{ratio:.2f} x", "<= 2 x",
          ratio <= 2)
    ratio = statistics.median(off / clock for _, off, clock in rounds)
    b.row("  the same while it is off", f"{off:.1f} ns", f"{clock:.0f} ns two clock readings", f"{ratio:.2f} x",
          "<= 0.25 x", ratio <= 0.25)
