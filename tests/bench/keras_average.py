# SPDX-License-Identifier: Apache-2.0
"""Averaging between ranks, beside what it is made of: section `keras` of tools/bench."""
import os
import re
import statistics
import subprocess

from table import ROOT

FLOATS = 25_000_000


def ranks(b, *arguments):
    """Rows of numbers that rank 0 of two prints."""
    env = {**os.environ, "PYTHONPATH": b.build + "/python", "DET_DISTRIBUTED_SECRET": b.fresh("average"),
           "HOME": b.fresh("home")}
    command = [b.det, "launch", "mpi", "-n", "2", "--", b.build + "/venv/bin/python3", "-B",
               ROOT + "/tests/bench/average_ranks.py", *map(str, arguments)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=env, check=True).stdout
    lines = re.findall(r"^\[rank=0\] ((?:[\d.]+ ?)+)$", out, re.M)
    return [[float(word) for word in line.split()] for line in lines]


def middle(rows, of, beside):
    """The median of the rounds' ratios; the first round warms up."""
    return statistics.median(row[of] / row[beside] for row in rows[1:])


def averaging(b):
    if subprocess.run([ROOT + "/tools/venv", b.build + "/venv"]).returncode:
        return b.row("averaging between two slots", "-", "no TensorFlow here", "-", "", None)
    rows = ranks(b, "vector", FLOATS, 9)
    ours, through_numpy, bare = (min(row[i] for row in rows) for i in range(3))
    ratio = middle(rows, 1, 0)
    b.row("25 million floats averaged by the op", f"{ours:.1f} ms", f"{through_numpy:.1f} ms numpy_function",
          f"{ratio:.2f} x", ">= 1.2 x", ratio >= 1.2)
    ratio = middle(rows, 2, 0)
    b.row("  beside MPI_Allreduce alone", f"{ours:.1f} ms", f"{bare:.1f} ms MPI_Allreduce", f"{ratio:.2f} x", ">= 0.9 x",
          ratio >= 0.9)
    rows = ranks(b, "training", 6)
    alone, together = (max(row[i] for row in rows) for i in range(2))
    ratio = middle(rows, 1, 0)
    b.row("two slots averaging, steps a second", f"{together:.0f}/s", f"{alone:.0f}/s each for itself", f"{ratio:.2f}",
          ">= 0.8", ratio >= 0.8)
