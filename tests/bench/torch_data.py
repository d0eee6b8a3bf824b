# SPDX-License-Identifier: Apache-2.0
"""Runs where PyTorch and determined are: batches a second of det.pytorch.DataLoader beside PyTorch's own.

    torch_data.py [ROUNDS]

Prints a line for each comparison: its name, ours, theirs (medians), and the median of the rounds' ratios.
All are in turns, shuffled, a float32 row and an int64 label a record.  `driven` is what a training
reads, `plain` iterating over the loader by hand.  `seek_*` is the time in us to make a feed, go to 90 % of an epoch and have the
first batch: of 10 million records, beside 1,000.
"""
import statistics
import sys
import time

import torch
from torch.utils import data

from determined.pytorch import _data

torch.set_num_threads(1)

# name: records, floats a record, batch, workers
SHAPES = {
    "rows": (60000, 784, 32, 0),
    "rows_workers": (60000, 784, 32, 2),
    "rows_large_batch": (60000, 784, 256, 0),
    "small_rows": (100000, 8, 32, 0),
    "images": (500, 3 * 224 * 224, 16, 0),
}
SECONDS = 0.4
SEEKS = 200


def pace(batches):
    """Batches a second, the first not counted."""
    batches = iter(batches)
    next(batches)
    count, begin = 0, time.perf_counter()
    for _ in batches:
        count += 1
        if time.perf_counter() - begin > SECONDS:
            break
    return count / (time.perf_counter() - begin)


def driven(loader, seed):
    feed = _data.make_feed(loader, seed=seed)
    try:
        return pace(feed.epoch())
    finally:
        feed.close()


def report(name, rounds):
    ours, theirs = (statistics.median(column) for column in zip(*rounds))
    ratio = statistics.median(one / other for one, other in rounds)
    print(name, f"{ours:.1f} {theirs:.1f} {ratio:.3f}", flush=True)


def compare(name, rounds):
    records, width, batch, workers = SHAPES[name]
    dataset = data.TensorDataset(torch.randn(records, width), torch.arange(records))
    given = {"batch_size": batch, "shuffle": True, "num_workers": workers}
    ours, theirs = _data.DataLoader(dataset, **given), data.DataLoader(dataset, **given)
    found = [(driven(ours, i), pace(ours), pace(theirs)) for i in range(rounds)]
    report("driven_" + name, [(one, other) for one, _, other in found])
    report("plain_" + name, [(one, other) for _, one, other in found])


class Numbers(data.Dataset):
    """Records that are made when they are asked for."""

    def __init__(self, records):
        self.records = records

    def __len__(self):
        return self.records

    def __getitem__(self, index):
        return index


def seek(dataset, seed):
    loader = _data.DataLoader(dataset, 32, shuffle=True)
    begin = time.perf_counter()
    feed = _data.make_feed(loader, seed=seed)
    feed.go_to(3, feed.batches * 9 // 10)
    next(feed.epoch())
    took = time.perf_counter() - begin
    feed.close()
    return took * 1e6


def compare_seeks(name, many, few):
    for seed in range(20):
        seek(many, seed), seek(few, seed)
    report(name, [(seek(many, seed), seek(few, seed)) for seed in range(SEEKS)])


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    for name in SHAPES:
        compare(name, rounds)
    rows = [data.TensorDataset(torch.randn(records, 4), torch.arange(records)) for records in (10**7, 1000)]
    compare_seeks("seek_rows", *rows)
    compare_seeks("seek_records", Numbers(10**7), Numbers(1000))


if __name__ == "__main__":
    main()
