# SPDX-License-Identifier: Apache-2.0
"""Runs in the peers' environment: GB/s of an epoch of batches of 32 x 784 floats, shuffled, by their own loaders.

    loaders.py torch | tf ITEMS      the best of three epochs after one that does not count
"""
import os
import sys
import time

import numpy as np

ROW, BATCH = 784, 32


def torch_batches(rows):
    import torch

    # The fastest of what was tried: a tensor as the data set, no workers (they copy each batch between processes).
    return torch.utils.data.DataLoader(torch.from_numpy(rows), batch_size=BATCH, shuffle=True)


def tf_batches(rows):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices(rows).shuffle(len(rows)).batch(BATCH).prefetch(tf.data.AUTOTUNE)


def epoch_s(batches):
    began = time.perf_counter()
    for _ in batches:
        pass
    return time.perf_counter() - began


def main(which, items):
    rows = np.arange(items * ROW, dtype=np.float32).reshape(items, ROW)
    batches = {"torch": torch_batches, "tf": tf_batches}[which](rows)
    times = [epoch_s(batches) for _ in range(4)]
    print(rows.nbytes / 1e9 / min(times[1:]))


main(sys.argv[1], int(sys.argv[2]))
