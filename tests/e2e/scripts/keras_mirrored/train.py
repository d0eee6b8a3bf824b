# SPDX-License-Identifier: Apache-2.0
"""The trainer under MirroredStrategy, with two replicas on the processor, to be killed.

The running statistics of a BatchNormalization are one variable per replica.  Their mean is the value of the layer, but
training goes on from each replica's own value: with the mean on both, the last digits would differ after a resume.  A
sleep after each batch gives time to kill it in the middle."""
import time

import tensorflow as tf

processor = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * 2)

import determined as det
import keras
import numpy as np

x = np.random.default_rng(1).normal(size=(96, 6)).astype("float32")
y = x.sum(1, keepdims=True)


class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.03)


with det.keras.init() as train_context:
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        layers = keras.layers
        model = keras.Sequential(
            [keras.Input((6,)), layers.Dense(8, activation="relu"), layers.BatchNormalization(), layers.Dense(1)]
        )
        model.compile(train_context.wrap_optimizer(keras.optimizers.Adam()), loss="mse", metrics=["mae"])
    train_context.fit(
        model=model,
        x=x,
        y=y,
        batch_size=8,
        epochs=5,
        checkpoint_freq=det.Batches(7),
        validation_data=(x, y),
        callbacks=[Slow()],
        verbose=0,
    )
