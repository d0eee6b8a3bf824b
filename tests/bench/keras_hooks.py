# SPDX-License-Identifier: Apache-2.0
"""Runs where TensorFlow and determined are: what the three APIs add to a training step.

    keras_hooks.py WORK_FOLDER [ROUNDS]

Trains the tutorial's model with plain Keras and with each API, reporting every batch, in turns.  Prints a line for each
API: its name, the CPU time of our hooks and of a plain step (microseconds, medians), and the medians of the
ratios of steps a second and of the CPU time of a whole step, with all that the hooks have others do.

The hooks are all methods of our callbacks that Keras calls around a batch.  What looking at the clock costs in the middle of a
training is taken off: the same is done with a callback that does nothing.
"""
import json
import os
import statistics
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

import determined as det
from determined import core
from determined.keras import _trainer, _trial, _trial_data

ITEMS, BATCH, EPOCHS = 12800, 32, 2
STEPS = ITEMS // BATCH * EPOCHS
_random = np.random.RandomState(0)
X = _random.rand(ITEMS, 28, 28).astype("float32")
Y = _random.randint(0, 10, ITEMS)
FIT = {"batch_size": BATCH, "epochs": EPOCHS, "verbose": 0}

spent = [0, 0]  # nanoseconds of CPU in hooks, and how many there were


def clocked(method):
    def call(*args, **kwargs):
        since = time.thread_time_ns()
        method(*args, **kwargs)
        spent[0] += time.thread_time_ns() - since
        spent[1] += 1

    return call


def clock(callbacks):
    for each in callbacks:
        for name in ("on_train_batch_begin", "on_train_batch_end"):
            setattr(each, name, clocked(getattr(each, name)))


def watch(loop):
    """Clocks our callbacks when all of them are there."""
    begin = loop.on_train_begin

    def on_train_begin(logs=None):
        begin(logs)
        clock([each for each in loop.callback_list().callbacks if type(each).__module__.startswith("determined.")])

    loop.on_train_begin = on_train_begin
    loop.save = lambda: ""  # nothing is saved: it would be in the steps a second
    return loop


def model():
    layers = keras.layers
    made = keras.Sequential(
        [keras.Input((28, 28)), layers.Flatten(), layers.Dense(128, activation="relu"), layers.Dense(10)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    made.compile("adam", loss, metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")])
    return made


def plain(made, context):
    made.fit(X, Y, **FIT)


def nothing(made, context):
    idle = keras.callbacks.Callback()
    clock([idle])
    made.fit(X, Y, **FIT, callbacks=[idle])


def callback(made, context):
    loop = det.keras.DeterminedCallback(context, None, 1, train_metrics_report_period=1, checkpoint_epochs=0)
    made.fit(X, Y, **FIT, callbacks=[watch(loop)])


def trainer(made, context):
    loop = _trainer.TrainerContext(context).DeterminedCallback()
    made.fit(X, Y, **FIT, callbacks=[watch(loop)])


def trial(made, context):
    place = _trial.TFKerasTrialContext(context, hparams={"global_batch_size": BATCH})
    run = _trial.Training(place, made, _trial_data.understand((X, Y), "the data"), None)
    run.batch_size, run.max_length = BATCH, det.Epochs(EPOCHS)
    make = run._make_loop
    run._make_loop = lambda: watch(make())
    run.run()


def measure(train, made, context):
    spent[:] = [0, 0]
    wall, cpu = time.monotonic(), time.process_time()
    train(made, context)
    return time.monotonic() - wall, time.process_time() - cpu, spent[0] / 1e3, spent[1]


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    os.environ["DET_OFFLINE_DIR"] = os.path.join(sys.argv[1], "run")
    os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps({"scheduling_unit": 1})
    trains = (plain, nothing, callback, trainer, trial)
    made = model()
    with core.init() as context:
        measure(plain, made, context)  # compiles
        measure(trial, made, context)
        found = [{train: measure(train, made, context) for train in trains} for _ in range(rounds)]
    median = statistics.median
    step = median(each[plain][1] for each in found) / STEPS * 1e6
    look = median(each[nothing][2] / each[nothing][3] for each in found)
    for train in trains[2:]:
        hooks = median((each[train][2] - each[train][3] * look) / STEPS for each in found)
        speed = median(each[plain][0] / each[train][0] for each in found)
        whole = median(each[train][1] / each[plain][1] for each in found)
        print(train.__name__, f"{hooks:.2f} {step:.1f} {speed:.3f} {whole:.3f}")


if __name__ == "__main__":
    main()
