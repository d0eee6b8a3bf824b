# SPDX-License-Identifier: Apache-2.0
"""Runs where TensorFlow and determined are: batches a second of 32 x 784 floats, ours beside theirs.

    keras_data.py WORK_FOLDER [ROUNDS]

Prints a line for each comparison: its name, ours, theirs (medians), and the median of the rounds' ratios.
`fit` is model.fit() of a model that does next to nothing, `read` is reading alone; both are in turns.
"""
import os
import statistics
import sys
import time
import types

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf

import determined as det

ROW, BATCH, ITEMS, STEPS, EPOCHS = 784, 32, 20000, 25, 3
X = np.arange(ITEMS * ROW, dtype=np.float32).reshape(ITEMS, ROW)
Y = np.arange(ITEMS, dtype=np.int64)
BATCHES = ITEMS // BATCH


class Plain(keras.utils.PyDataset):
    """What a user writes."""

    def __len__(self):
        return BATCHES

    def __getitem__(self, index):
        rows = slice(index * BATCH, (index + 1) * BATCH)
        return X[rows], Y[rows]


class Place:
    distributed = types.SimpleNamespace(rank=0, size=1)
    get_hparams = get_experiment_config = staticmethod(dict)
    get_trial_seed = staticmethod(lambda: 1)


class Nothing(keras.Model):
    """Reads a batch, and trains one number."""

    def __init__(self):
        super().__init__()
        self.one = self.add_weight(shape=(), initializer="zeros")

    def call(self, x):
        return self.one * x[:, :1]


def model():
    made = Nothing()
    made.compile("sgd", "mse", steps_per_execution=STEPS, jit_compile=False)
    return made


def slices():
    return tf.data.Dataset.from_tensor_slices((X, Y))


def cached(shuffle):
    context = det.keras.TFKerasExperimentalContext(Place())
    make = context.cache_train_dataset("bench", "1", shuffle=shuffle)
    return make(slices)().batch(BATCH, drop_remainder=True)


@tf.function
def read(iterator):
    count = tf.constant(0)
    for _ in iterator:
        count += 1
    return count


class Clock(keras.callbacks.Callback):
    """How long epochs take, from their first batch to their last; the first epoch does not count."""

    def on_train_begin(self, logs=None):
        self.times = []

    def on_epoch_begin(self, epoch, logs=None):
        self.began = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        self.times.append(time.perf_counter() - self.began)


def reading(dataset):
    def run():
        began = time.perf_counter()
        read(iter(dataset))
        return BATCHES / (time.perf_counter() - began)

    return run


def fitting(data, context=None):
    made, clock = model(), Clock()

    def run():
        callbacks = [clock]
        if context is not None:  # it reports, and never saves
            callbacks.append(det.keras.DeterminedCallback(context, None, 1, checkpoint_epochs=0))
        made.fit(data, epochs=EPOCHS, verbose=0, shuffle=context is not None, callbacks=callbacks)
        return BATCHES / min(clock.times[1:])

    return run


def compare(name, rounds, ours, theirs):
    ours(), theirs()  # compiled, cached, mapped
    found = [(ours(), theirs()) for _ in range(rounds)]
    ratio = statistics.median(a / b for a, b in found)
    print(name, *(round(statistics.median(side)) for side in zip(*found)), round(ratio, 3), flush=True)


def main(work, rounds=5):
    os.environ.update(XDG_CACHE_HOME=work, DET_OFFLINE_DIR=work + "/run")
    tf.config.threading.set_inter_op_parallelism_threads(2)
    on_disk = slices().cache(work + "/tf").batch(BATCH, drop_remainder=True)
    in_memory = slices().cache().batch(BATCH, drop_remainder=True)
    shuffled = slices().cache(work + "/tf-shuffled").shuffle(ITEMS).batch(BATCH, drop_remainder=True)
    with det.core.init() as context:
        sequence = det.keras.InMemorySequence(X, Y, BATCH)
        compare("fit_sequence", rounds, fitting(sequence, context), fitting(Plain()))
        compare("fit_cached", rounds, fitting(cached(True), context), fitting(shuffled))
    compare("read_cached", rounds, reading(cached(False)), reading(on_disk))
    compare("read_cached_shuffled", rounds, reading(cached(True)), reading(shuffled))
    compare("read_cached_memory", rounds, reading(cached(False)), reading(in_memory))


main(sys.argv[1], *map(int, sys.argv[2:]))
