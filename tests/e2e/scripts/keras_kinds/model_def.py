# SPDX-License-Identifier: Apache-2.0
"""One small model on every kind of data a trial may have; the hyperparameter `kind` says which.

Everything that can go wrong in a resume is in the model: dropout, running statistics, an
optimizer with a memory, metrics, and callbacks that count.  A sleep after each batch gives whoever
kills it time to do so in the middle.
"""
import time

import numpy as np
import tensorflow as tf
from determined.keras import InMemorySequence, SequenceAdapter, TFKerasTrial, callbacks
from tensorflow import keras

RECORDS = 90  # the last batch of an epoch is a short one


def made(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(RECORDS, 6)).astype(np.float32)
    y = (x @ rng.normal(size=(6, 1)) + 0.1).astype(np.float32)
    return x, y, rng.uniform(0.5, 2, RECORDS).astype(np.float32)


class Numbered(keras.utils.Sequence):
    """Batches by number, with noise from the generators that everybody uses, and weights."""

    def __init__(self, batch_size):
        super().__init__()
        self.x, self.y, self.w = made(1)
        self.batch_size = batch_size

    def __len__(self):
        return -(-RECORDS // self.batch_size)

    def __getitem__(self, index):
        part = slice(index * self.batch_size, (index + 1) * self.batch_size)
        noise = np.random.normal(0, 0.01, self.x[part].shape).astype(np.float32)
        return self.x[part] + noise, self.y[part], self.w[part]


class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.04)


class KindsTrial(TFKerasTrial):
    def __init__(self, context):
        self.context = context
        self.kind = context.get_hparam("kind")
        self.size = context.get_per_slot_batch_size()

    def build_model(self):
        if self.kind in ("lists", "dicts"):
            inputs = [keras.Input((3,), name="left"), keras.Input((3,), name="right")]
            x = keras.layers.Concatenate()(inputs)
        else:
            inputs = keras.Input((6,))
            x = inputs
        x = keras.layers.Dense(8, activation="relu")(x)
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.Dropout(0.3)(x)
        model = keras.Model(inputs, keras.layers.Dense(1)(x))
        model = self.context.wrap_model(model)
        optimizer = self.context.wrap_optimizer(keras.optimizers.Adam(0.01))
        model.compile(optimizer, loss="mse", metrics=["mae"], weighted_metrics=["mse"])
        return model

    def data_of(self, kind):
        x, y, w = made(1)
        records = tf.data.Dataset.from_tensor_slices((x, y, w))
        if kind == "arrays":
            return x, y
        if kind == "lists":
            return [x[:, :3], x[:, 3:]], y
        if kind == "dicts":
            return {"left": x[:, :3], "right": x[:, 3:]}, y, w
        if kind == "dataset":
            return self.context.wrap_dataset(records).shuffle(RECORDS, seed=3).batch(self.size)
        if kind == "sequence":
            return Numbered(self.size)
        if kind == "threads":
            return SequenceAdapter(Numbered(self.size), workers=2, use_multiprocessing=False)
        if kind == "processes":
            return SequenceAdapter(Numbered(self.size), workers=2, use_multiprocessing=True)
        if kind == "memory":
            return InMemorySequence(data=x, labels=y, batch_size=self.size)
        if kind == "cached":
            cache = self.context.experimental.cache_train_dataset("kinds", "1", shuffle=True)
            return self.context.wrap_dataset(cache(lambda: records)()).batch(self.size)
        raise ValueError(f"there is no kind '{kind}'")

    def build_training_data_loader(self):
        return self.data_of(self.kind)

    def build_validation_data_loader(self):
        x, y, _ = made(2)
        if self.kind == "lists":
            return [x[:, :3], x[:, 3:]], y
        if self.kind == "dicts":
            return {"left": x[:, :3], "right": x[:, 3:]}, y
        return x, y

    def keras_callbacks(self):
        return [callbacks.ReduceLROnPlateau(monitor="val_loss", patience=1, factor=0.7), Slow()]
