# SPDX-License-Identifier: Apache-2.0
"""A small training for tests: data of every kind, and a callback that stops it."""
import json
import os
import types

import keras
import numpy as np
import tensorflow as tf
from offline_case import Offline

import determined as det

ROWS, BATCH = 200, 16
_random = np.random.RandomState(3)
X = _random.rand(ROWS, 6).astype("float32")
Y = _random.rand(ROWS, 2).astype("float32")
WEIGHTS = _random.rand(ROWS).astype("float32")


class Sequence(keras.utils.PyDataset):
    """Its data depends on NumPy's generator."""

    def __len__(self):
        return -(-ROWS // BATCH)

    def __getitem__(self, index):
        rows = slice(index * BATCH, (index + 1) * BATCH)
        noise = np.random.rand(*X[rows].shape).astype("float32")
        return X[rows] + noise * 0.01, Y[rows]


def dataset():
    return tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(100).batch(BATCH)


class Place:
    """The part of a trial's context that a cached dataset uses."""

    def __init__(self, rank=0, size=1, hparams=None, config=None):
        self.distributed = types.SimpleNamespace(rank=rank, size=size)
        self.get_hparams = lambda: hparams or {}
        self.get_experiment_config = lambda: config or {}
        self.get_trial_seed = lambda: 5


def cached(name="train", make=lambda: tf.data.Dataset.from_tensor_slices((X, Y)), place=None, **options):
    context = det.keras.TFKerasExperimentalContext(place or Place())
    return context.cache_train_dataset(name, "1", **{"shuffle": True, **options})(make)()


KINDS = {
    "arrays": lambda: {"x": X, "y": Y, "batch_size": BATCH},
    "weighted arrays": lambda: {"x": X, "y": Y, "sample_weight": WEIGHTS, "batch_size": BATCH},
    "arrays, short epochs": lambda: {"x": X, "y": Y, "batch_size": BATCH, "steps_per_epoch": 9},
    "sequence": lambda: {"x": Sequence()},
    "sequence and threads": lambda: {"x": Sequence(workers=2)},
    "sequence and processes": lambda: {"x": Sequence(workers=2, use_multiprocessing=True)},
    "tf.data": lambda: {"x": dataset()},
    "tf.data of unknown length": lambda: {"x": dataset().filter(lambda x, y: True)},
    "tf.data, repeated": lambda: {"x": dataset().repeat(), "steps_per_epoch": 9},
}

# data classes of determined.keras
OUR_KINDS = {
    "sequence in memory": lambda: {"x": det.keras.InMemorySequence(X, Y, BATCH, WEIGHTS)},
    "cached": lambda: {"x": cached().batch(BATCH)},
    "cached, drawn": lambda: {"x": cached().map(lambda x, y: (x + tf.random.uniform([6], seed=1), y)).batch(BATCH)},
    "cached, shuffled": lambda: {"x": cached(shuffle=False).shuffle(50, seed=1).batch(BATCH)},
    "cached, of unknown length": lambda: {"x": cached().filter(lambda x, y: x[0] > 0.1).batch(BATCH)},
    "cached, repeated": lambda: {"x": cached().repeat().batch(BATCH), "steps_per_epoch": 9},
}


def model(units=8):
    keras.backend.clear_session()
    keras.utils.set_random_seed(7)
    layers = keras.layers
    made = keras.Sequential(
        [
            layers.Input((6,)),
            layers.Dense(units, activation="relu", name="first"),
            layers.BatchNormalization(),
            layers.Dropout(0.3),
            layers.Dense(2, name="last"),
        ]
    )
    made.compile("adam", "mse", metrics=["mae"])
    return made


class StopAfter(keras.callbacks.Callback):
    """Has the platform ask for the slots after so many batches."""

    def __init__(self, loop, batches):
        super().__init__()
        self.loop, self.batches = loop, batches

    def on_train_batch_end(self, batch, logs=None):
        if self.loop.batches + 1 == self.batches:
            self.loop._trainer.stop()


class Training(Offline):
    """Each training has its own folder."""

    def in_folder(self, name):
        os.environ["DET_OFFLINE_DIR"] = self.path(name)

    def files(self):
        """The files of the latest checkpoint, except those that identify it."""
        run = os.environ["DET_OFFLINE_DIR"]
        with open(os.path.join(run, "latest.json")) as file:
            folder = os.path.join(run, "checkpoints", json.load(file)["uuid"])
        found = {}
        for name in os.listdir(folder):
            if name not in ("metadata.json", "manifest.det.json"):
                with open(os.path.join(folder, name), "rb") as file:
                    found[name] = file.read()
        return found


def callback(context, **options):
    return det.keras.DeterminedCallback(context, context.latest_checkpoint, 1, **options)
