# SPDX-License-Identifier: Apache-2.0
"""keras.io's variational autoencoder: a model with train_step() and no call(), trackers, a layer that samples."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

import determined as det


class Sampling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        mean, log_var = inputs
        return mean + ops.exp(0.5 * log_var) * keras.random.normal(ops.shape(mean), seed=self.seed_generator)


class VAE(keras.Model):
    def __init__(self, encoder, decoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder, self.decoder = encoder, decoder
        self.total_loss_tracker = keras.metrics.Mean(name="total_loss")
        self.kl_loss_tracker = keras.metrics.Mean(name="kl_loss")

    @property
    def metrics(self):
        return [self.total_loss_tracker, self.kl_loss_tracker]

    def train_step(self, data):
        with tf.GradientTape() as tape:
            mean, log_var, z = self.encoder(data)
            difference = ops.mean(ops.sum((data - self.decoder(z)) ** 2, axis=1))
            kl_loss = ops.mean(ops.sum(-0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var)), axis=1))
            total_loss = difference + kl_loss
        grads = tape.gradient(total_loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        self.total_loss_tracker.update_state(total_loss)
        self.kl_loss_tracker.update_state(kl_loss)
        return {"loss": self.total_loss_tracker.result(), "kl_loss": self.kl_loss_tracker.result()}


with det.keras.init() as train_context:
    inputs = keras.Input((8,))
    x = layers.Dense(8, activation="relu")(inputs)
    mean, log_var = layers.Dense(2, name="z_mean")(x), layers.Dense(2, name="z_log_var")(x)
    encoder = keras.Model(inputs, [mean, log_var, Sampling()([mean, log_var])], name="encoder")
    decoder = keras.Sequential([keras.Input((2,)), layers.Dense(8, activation="relu"), layers.Dense(8)], name="decoder")
    vae = VAE(encoder, decoder)
    vae.compile(optimizer=train_context.wrap_optimizer(keras.optimizers.Adam(0.01)))
    data = np.random.default_rng(1).random((96, 8)).astype("float32")
    train_context.fit(vae, det.Batches(4), data, epochs=6, batch_size=8, verbose=0)
