# SPDX-License-Identifier: Apache-2.0
"""The data path of programs in C, beside memcpy of the same bytes and the loaders of torch and TensorFlow."""
import statistics

import peers

ITEMS = 60000  # of 784 floats: as many as MNIST has, and more than any cache holds


def against_loader(b, which, what, key, least, loader):
    """In turns, where the peer is measured at all."""
    if not b.bin:
        return b.against_peer(what, loader, "GB/s", key, least, True)
    rounds = []
    for _ in range(3):
        ours = b.run("bench_data", "batches", ITEMS)[2]
        rounds.append((ours, peers.loader_gbs(b.bin, which, ITEMS)))
    ours, b.peer[key] = (statistics.median(column) for column in zip(*rounds))
    ratio = statistics.median(mine / theirs for mine, theirs in rounds)
    b.row(what, f"{ours:.1f} GB/s", f"{b.peer[key]:.2f} GB/s {which}", f"{ratio:.1f} x", f">= {least} x", ratio >= least)


def section_data(b):
    plain, rows, loader, worker, to_plain, to_rows = b.run("bench_data", "batches", ITEMS)
    b.row("batches of 32 x 784 floats, shuffled", f"{loader:.1f} GB/s", f"{plain:.1f} GB/s memcpy", f"{to_plain:.2f}",
          ">= 0.60", to_plain >= 0.6)
    b.row("  beside memcpy of the same rows", f"{loader:.1f} GB/s", f"{rows:.1f} GB/s memcpy", f"{to_rows:.2f}", "-", None)
    b.row("  behind a worker", f"{worker:.1f} GB/s", f"{plain:.1f} GB/s memcpy", f"{worker / plain:.2f}", "-", None)
    for which, name, key, least in (("torch", "DataLoader", "torch_loader_gbs", 5), ("tf", "tf.data", "tf_data_gbs", 3)):
        against_loader(b, which, f"  beside {name}", key, least, loader)
    few, many, ratio = b.run("bench_data", "seek")
    b.row("seek and load in 100 million items", f"{many:.0f} ns", f"{few:.0f} ns in 1,000", f"{ratio:.2f} x", "<= 2 x",
          ratio <= 2)
