# SPDX-License-Identifier: Apache-2.0
"""Section of tools/bench: charts of many reports, from the question to the last byte of the answer.

The rounds of the two that are compared take turns; the ratio is the median of the rounds' ratios.
"""
import contextlib
import http.client
import statistics
import subprocess
import time

from cluster import Cluster

ROUNDS = 7


class Place:
    """A master on data that bench_series made."""

    def __init__(self, b, stack, trials, metrics, steps):
        name = b.fresh(f"series-{trials}-{steps}")
        subprocess.run([b.program("bench_series"), "make", name, *map(str, (trials, metrics, steps))], check=True)
        self.cluster = stack.enter_context(Cluster(b.det, name, slots=0))
        self.path = ("/api/v1/det/series?points=600&trials=" + ",".join(str(i + 1) for i in range(trials)) +
                     "".join(f"&metrics=training.m{i}" for i in range(metrics)))
        self.connection = http.client.HTTPConnection("127.0.0.1", self.cluster.port, timeout=60)

    def ask(self, more=""):
        """Seconds, and how many bytes came."""
        begun = time.perf_counter()
        self.connection.request("GET", self.path + more, headers={"Authorization": f"Bearer {self.cluster.token}"})
        reply = self.connection.getresponse()
        size = len(reply.read())
        if reply.status != 200:
            raise RuntimeError(f"{self.path}: {reply.status}")
        return time.perf_counter() - begun, size


def compare(b, what, few, many, bar, more="", times=1):
    few.ask(more), many.ask(more)
    rounds = []
    for _ in range(ROUNDS):
        rounds.append([statistics.median(place.ask(more)[0] for _ in range(times)) for place in (few, many)])
    ratio = statistics.median(large / small for small, large in rounds)
    small, large = (statistics.median(column) * 1e3 for column in zip(*rounds))
    b.row(what[0], f"{large:.1f} ms", f"{small:.1f} ms {what[1]}", f"{ratio:.1f} x", f"<= {bar} x", ratio <= bar)


def section_series(b):
    with contextlib.ExitStack() as stack:
        few, many = Place(b, stack, 1, 1, 10000), Place(b, stack, 1, 1, 10000000)
        compare(b, ("a chart of 10,000,000 reports, 600 pixels", "of 10,000"), few, many, 2, times=15)
        compare(b, ("  by time", "of 10,000"), few, many, 2, "&x=time", times=15)
    with contextlib.ExitStack() as stack:
        few, many = Place(b, stack, 100, 10, 1000), Place(b, stack, 1000, 10, 10000)
        compare(b, ("1,000 trials x 10 metrics x 10,000 steps", "of 100 x 10 x 1,000"), few, many, 5)
        seconds, size = many.ask()
        b.row("  its answer", f"{size / 1e6:.1f} MB", "-", "-", "-", None)
