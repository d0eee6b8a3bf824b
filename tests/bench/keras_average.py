# SPDX-License-Identifier: Apache-2.0
"""Averaging between ranks beside MPI_Allreduce: section `keras` of tools/bench."""
import os
import re
import statistics
import subprocess

from table import ROOT

FLOATS = 25_000_000
SIZES = 1_000, 10_000, 100_000, 1_000_000, FLOATS
SLOT_FLOATS = 262_144  # a larger vector does not fit into a rank's slot of the shared memory


def ranks(b, *command, **more):
    """Rows of numbers that rank 0 of two prints."""
    env = {**os.environ, "PYTHONPATH": b.build + "/pylib", "DET_DISTRIBUTED_SECRET": b.fresh("average"),
           "HOME": b.fresh("home"), **more}
    command = [b.det, "launch", "mpi", "-n", "2", "--", *map(str, command)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=env, check=True).stdout
    lines = re.findall(r"^\[rank=0\] ((?:[\d.]+ ?)+)$", out, re.M)
    return [[float(word) for word in line.split()] for line in lines]


def middle(rows, of, beside):
    """The median of the rounds' ratios; the first round warms up."""
    return statistics.median(row[of] / row[beside] for row in rows[1:])


def exchanges(b):
    """Our exchanges beside MPI_Allreduce, both after the ranks have agreed; without TensorFlow.  A small vector in shared
    memory has no bar: waking a sleeping rank takes most of its time, and a spinning rank would take it from training."""
    for transport, bar, more in (("one machine", 0.9, {}), ("TCP", 0.8, {"OMPI_MCA_btl": "tcp,self"})):
        for floats, messages, shared, agreed, _ in ranks(b, b.program("bench_average"), 30, *SIZES, **more):
            ratio = agreed / messages
            b.row(f"{floats:,.0f} floats by messages, {transport}", f"{messages:.1f} us", f"{agreed:.1f} us MPI_Allreduce",
                  f"{ratio:.2f} x", f">= {bar} x", ratio >= bar)
            if more or floats > SLOT_FLOATS:
                continue
            ratio, is_small = agreed / shared, floats < 100_000
            b.row("  in shared memory", f"{shared:.1f} us", f"{agreed:.1f} us MPI_Allreduce", f"{ratio:.2f} x",
                  "-" if is_small else ">= 1 x", None if is_small else ratio >= 1)


def averaging(b):
    exchanges(b)
    if subprocess.run([ROOT + "/tools/venv", b.build + "/venv"]).returncode:
        return b.row("averaging between two slots", "-", "no TensorFlow here", "-", "", None)
    python = b.build + "/venv/bin/python3", "-B", ROOT + "/tests/bench/average_ranks.py"
    rows = ranks(b, *python, "vector", FLOATS, 9)
    ours, through_numpy, bare = (min(row[i] for row in rows) for i in range(3))
    ratio = middle(rows, 1, 0)
    b.row("25 million floats averaged by the op", f"{ours:.1f} ms", f"{through_numpy:.1f} ms numpy_function",
          f"{ratio:.2f} x", ">= 1.2 x", ratio >= 1.2)
    ratio = middle(rows, 2, 0)
    b.row("  beside MPI_Allreduce alone", f"{ours:.1f} ms", f"{bare:.1f} ms MPI_Allreduce", f"{ratio:.2f} x", ">= 0.9 x",
          ratio >= 0.9)
    rows = ranks(b, *python, "training", 6)
    alone, together = (max(row[i] for row in rows) for i in range(2))
    ratio = middle(rows, 1, 0)
    b.row("two slots averaging, steps per second", f"{together:.0f}/s", f"{alone:.0f}/s each for itself", f"{ratio:.2f}",
          ">= 0.8", ratio >= 0.8)
