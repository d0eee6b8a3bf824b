# SPDX-License-Identifier: Apache-2.0
"""The data path of programs in C, beside memcpy of the same bytes."""

ITEMS = 60000  # of 784 floats: as many as MNIST has, and more than any cache holds


def section_data(b):
    plain, rows, loader, worker, to_plain, to_rows = b.run("bench_data", "batches", ITEMS)
    b.row("batches of 32 x 784 floats, shuffled", f"{loader:.1f} GB/s", f"{plain:.1f} GB/s memcpy", f"{to_plain:.2f}",
          ">= 0.60", to_plain >= 0.6)
    b.row("  beside memcpy of the same rows", f"{loader:.1f} GB/s", f"{rows:.1f} GB/s memcpy", f"{to_rows:.2f}", "-", None)
    b.row("  behind a worker", f"{worker:.1f} GB/s", f"{plain:.1f} GB/s memcpy", f"{worker / plain:.2f}", "-", None)
    few, many, ratio = b.run("bench_data", "seek")
    b.row("seek and load in 100 million items", f"{many:.0f} ns", f"{few:.0f} ns in 1,000", f"{ratio:.2f} x", "<= 2 x",
          ratio <= 2)
