# SPDX-License-Identifier: Apache-2.0
"""Runs where TensorFlow and determined are: what the three APIs add to a training step.

    keras_hooks.py WORK_FOLDER [ROUNDS]

Trains the tutorial's model with plain Keras and with each API, reporting every batch, in turns.  Prints a line for each
API: its name, the CPU time of our hooks and of a plain step (microseconds, medians), and the median of the
ratios of steps a second.
"""
import functools
import os
import statistics
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

import determined as det
from determined import core
from determined.keras import _loop

ITEMS, BATCH, EPOCHS = 12800, 32, 2
STEPS = ITEMS // BATCH * EPOCHS
_random = np.random.RandomState(0)
X = _random.rand(ITEMS, 28, 28).astype("float32")
Y = _random.randint(0, 10, ITEMS)

spent = [0]  # nanoseconds of CPU in hooks of each batch


def clocked(method):
    @functools.wraps(method)
    def call(self, *args, **kwargs):
        since = time.thread_time_ns()
        method(self, *args, **kwargs)
        spent[0] += time.thread_time_ns() - since

    return call


def clock_itself():
    """What looking at the clock costs, and is taken off."""
    spent[0] = 0
    nothing = clocked(lambda self: None)
    for _ in range(10000):
        nothing(None)
    return spent[0] / 10000


def model():
    layers = keras.layers
    made = keras.Sequential(
        [keras.Input((28, 28)), layers.Flatten(), layers.Dense(128, activation="relu"), layers.Dense(10)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    made.compile("adam", loss, metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")])
    return made


FIT = {"batch_size": BATCH, "epochs": EPOCHS, "verbose": 0}


def plain(made, context):
    made.fit(X, Y, **FIT)


def callback(made, context):
    loop = det.keras.DeterminedCallback(context, None, 1, train_metrics_report_period=1, checkpoint_epochs=0)
    made.fit(X, Y, **FIT, callbacks=[loop])


def trainer(made, context):
    loop = _loop.Loop(context, reporting_period=det.Batches(1), configured=False, saves=False)
    made.fit(X, Y, **FIT, callbacks=[loop])


def trial(made, context):
    loop = _loop.Loop(context, reporting_period=det.Batches(1), configured=False, windows=True, shard=True, saves=False)
    made.fit(X, Y, **FIT, callbacks=[loop])


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    for name in ("on_train_batch_begin", "on_train_batch_end"):
        setattr(_loop.Loop, name, clocked(getattr(_loop.Loop, name)))
    made = model()
    apis = {"callback": callback, "trainer": trainer, "trial": trial}
    cpu, ratios, steps = [], {name: [] for name in apis}, {name: [] for name in apis}
    off = 2 * clock_itself()
    os.environ["DET_OFFLINE_DIR"] = os.path.join(sys.argv[1], "run")
    with core.init() as context:
        for round_ in range(rounds + 1):  # the first one compiles
            since, wall = time.process_time(), time.monotonic()
            plain(made, context)
            alone = time.monotonic() - wall
            if round_:
                cpu.append((time.process_time() - since) / STEPS * 1e6)
            for name, train in apis.items():
                spent[0] = 0
                wall = time.monotonic()
                train(made, context)
                if round_:
                    ratios[name].append(alone / (time.monotonic() - wall))
                    steps[name].append(spent[0] / STEPS / 1e3 - off / 1e3)
    for name in apis:
        print(name, f"{statistics.median(steps[name]):.2f} {statistics.median(cpu):.1f} {statistics.median(ratios[name]):.3f}")


if __name__ == "__main__":
    main()
