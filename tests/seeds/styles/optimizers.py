# SPDX-License-Identifier: Apache-2.0
"""Two optimizers for two parts of one model, in train_step(); averages of Keras's own EMA in one of them."""
import keras
import numpy as np
import tensorflow as tf

import determined as det


class TwoSpeeds(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = keras.layers.Dense(8, activation="relu")
        self.head = keras.layers.Dense(1)

    def call(self, x):
        return self.head(self.body(x))

    def compile(self, body, head, **kwargs):
        super().compile(**kwargs)
        self.slow, self.fast = body, head

    def train_step(self, data):
        x, y = data
        with tf.GradientTape(persistent=True) as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        for optimizer, part in ((self.slow, self.body), (self.fast, self.head)):
            optimizer.apply_gradients(zip(tape.gradient(loss, part.trainable_weights), part.trainable_weights))
        return {"loss": loss}


x = np.random.default_rng(1).random((80, 4)).astype("float32")
with det.keras.init() as train_context:
    model = TwoSpeeds()
    model.compile(
        train_context.wrap_optimizer(keras.optimizers.SGD(0.01, momentum=0.9)),
        train_context.wrap_optimizer(keras.optimizers.Adam(0.01, use_ema=True, ema_momentum=0.9)),
        loss="mse",
    )
    train_context.fit(model, det.Batches(4), x, x.sum(1, keepdims=True), epochs=6, batch_size=8, verbose=0)
