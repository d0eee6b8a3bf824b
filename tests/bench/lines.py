# SPDX-License-Identifier: Apache-2.0
"""Looking at logs: jumps in ten million lines beside ten thousand, and searches beside grep over the same bytes."""
import os
import statistics
import subprocess
import time

LINES = int(os.environ.get("DET_BENCH_LINES", 10000000))
FEW = 10000
ROUNDS = 5
SEARCHES = [("a text", ["out of memory"]), ("a text in any case", ["-i", "OUT OF MEMORY"]), ("a text in every tenth line", ["loss=0.1"]),
            ("an expression", ["-E", r"loss=0\.00000[0-9] "]), ("words with | between", ["-E", "[0-9]+ bytes|no such|fatal"]),
            ("an expression that every line may begin", ["-E", r"loss=0\.[0-9]*99 "])]


def jumps(b, few, many):
    rounds = [(b.run("bench_lines", "jump", few, 200), b.run("bench_lines", "jump", many, 200)) for _ in range(ROUNDS)]
    for at, what in enumerate(("the end", "a time")):
        small, large = (statistics.median(r[side][at] for r in rounds) for side in (0, 1))
        ratio = statistics.median(large_[at] / small_[at] for small_, large_ in rounds)
        b.row(f"log of {LINES:,} lines: jump to {what}", f"{large:.0f} us", f"{small:.0f} us of {FEW:,}", f"{ratio:.2f} x", "<= 2 x", ratio <= 2)


def grep(what, path):
    start = time.perf_counter()
    out = subprocess.run(["grep", "-c", *what, path], stdout=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, check=True).stdout
    return time.perf_counter() - start, int(out)


def searches(b, many, text):
    size = os.path.getsize(text)
    for name, what in SEARCHES:
        ours, theirs, first = [], [], 0
        for _ in range(ROUNDS):
            took, hits, first = b.run("bench_lines", "search", many, *what)
            seconds, count = grep(what, text)
            if hits != count:
                raise SystemExit(f"{what}: {hits:.0f} hits, grep has {count}")
            ours.append(took)
            theirs.append(seconds)
        ratio = statistics.median(t / o for o, t in zip(ours, theirs))
        b.row(f"log search: {name}", f"{size / statistics.median(ours) / 1e9:.2f} GB/s", f"{size / statistics.median(theirs) / 1e9:.2f} GB/s grep",
              f"{ratio:.2f}", ">= 0.30", ratio >= 0.3)
    b.row("log search: the first piece after", f"{first * 1e3:.1f} ms", "-", "-", "-", None)


def section_lines(b):
    work = b.fresh("lines")
    os.makedirs(work)
    few, many, text = work + "/few", work + "/many", work + "/many.txt"
    for place, count in ((few, FEW), (many, LINES)):
        subprocess.run([b.program("bench_lines"), "make", place, str(count)], check=True)
    subprocess.run([b.program("bench_lines"), "text", many, text], check=True)
    jumps(b, few, many)
    searches(b, many, text)
