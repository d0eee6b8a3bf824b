# SPDX-License-Identifier: Apache-2.0
"""Sums in TensorFlow's graphs.

The arithmetic optimizer of TensorFlow's graphs (Grappler) changes the order of additions, and chooses another order in
each process: the loss of keras.io's variational autoencoder, a sum of two, differs in its last digits between two runs
of the same program in plain Keras, while the weights are equal. Op determinism and a single thread do not help. The
guide tells to switch that optimizer off; here it is off, and each new graph gives the same bits."""
import unittest

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

tf.config.optimizer.set_experimental_options({"arithmetic_optimization": False})


class Autoencoder(keras.Model):
    """In the style of keras.io: train_step(), trackers, and a sum of two losses."""

    def __init__(self):
        super().__init__()
        image = keras.Input((8, 8, 1))
        flat = layers.Flatten()(layers.Conv2D(4, 3, activation="relu", strides=2, padding="same")(image))
        self.encoder = keras.Model(image, [layers.Dense(2)(flat), layers.Dense(2)(flat)])
        self.decoder = keras.Sequential([layers.Dense(64, activation="sigmoid"), layers.Reshape((8, 8, 1))])
        self.total, self.first, self.second = (keras.metrics.Mean(name=name) for name in ("loss", "rebuilt", "kl"))

    @property
    def metrics(self):
        return [self.total, self.first, self.second]

    def call(self, data):
        return self.decoder(self.encoder(data)[0])

    def train_step(self, data):
        with tf.GradientTape() as tape:
            mean, log_var = self.encoder(data)
            rebuilt = self.decoder(mean + ops.exp(0.5 * log_var))
            first = ops.mean(ops.sum(keras.losses.binary_crossentropy(data, rebuilt), axis=(1, 2)))
            second = ops.mean(ops.sum(-0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var)), axis=1))
            total = first + second
        self.optimizer.apply(tape.gradient(total, self.trainable_weights), self.trainable_weights)
        for tracker, value in ((self.total, total), (self.first, first), (self.second, second)):
            tracker.update_state(value)
        return {tracker.name: tracker.result() for tracker in self.metrics}


def train():
    keras.utils.set_random_seed(5)
    model = Autoencoder()
    model.compile(keras.optimizers.Adam())
    data = np.random.default_rng(0).random((64, 8, 8, 1)).astype("float32")
    seen = []
    note = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(dict(logs)))
    model.fit(data, batch_size=8, epochs=1, verbose=0, callbacks=[note])
    return [{name: float(value).hex() for name, value in logs.items()} for logs in seen]


class GraphOrder(unittest.TestCase):
    def test_sums_are_added_in_one_order_without_the_arithmetic_optimizer(self):
        first = train()
        self.assertEqual(len(first), 8)
        for _ in range(2):
            self.assertEqual(train(), first)


if __name__ == "__main__":
    unittest.main()
