# SPDX-License-Identifier: Apache-2.0
"""keras.io's GAN: train_step(), no call(), an optimizer for each of two networks."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

import determined as det


class GAN(keras.Model):
    def __init__(self, discriminator, generator, latent_dim):
        super().__init__()
        self.discriminator, self.generator, self.latent_dim = discriminator, generator, latent_dim
        self.seed_generator = keras.random.SeedGenerator(1337)

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer, self.g_optimizer, self.loss_fn = d_optimizer, g_optimizer, loss_fn
        self.d_loss_metric = keras.metrics.Mean(name="d_loss")
        self.g_loss_metric = keras.metrics.Mean(name="g_loss")

    @property
    def metrics(self):
        return [self.d_loss_metric, self.g_loss_metric]

    def train_step(self, real):
        count = ops.shape(real)[0]
        points = keras.random.normal((count, self.latent_dim), seed=self.seed_generator)
        everything = ops.concatenate([self.generator(points), real], axis=0)
        labels = ops.concatenate([ops.ones((count, 1)), ops.zeros((count, 1))], axis=0)
        labels += 0.05 * keras.random.uniform(ops.shape(labels), seed=self.seed_generator)
        with tf.GradientTape() as tape:
            d_loss = self.loss_fn(labels, self.discriminator(everything))
        grads = tape.gradient(d_loss, self.discriminator.trainable_weights)
        self.d_optimizer.apply_gradients(zip(grads, self.discriminator.trainable_weights))
        points = keras.random.normal((count, self.latent_dim), seed=self.seed_generator)
        with tf.GradientTape() as tape:
            g_loss = self.loss_fn(ops.zeros((count, 1)), self.discriminator(self.generator(points)))
        grads = tape.gradient(g_loss, self.generator.trainable_weights)
        self.g_optimizer.apply_gradients(zip(grads, self.generator.trainable_weights))
        self.d_loss_metric.update_state(d_loss)
        self.g_loss_metric.update_state(g_loss)
        return {"d_loss": self.d_loss_metric.result(), "g_loss": self.g_loss_metric.result()}


with det.keras.init() as train_context:
    discriminator = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="relu"), layers.Dense(1)])
    generator = keras.Sequential([keras.Input((3,)), layers.Dense(8, activation="relu"), layers.Dense(6)])
    gan = GAN(discriminator, generator, latent_dim=3)
    gan.compile(
        d_optimizer=train_context.wrap_optimizer(keras.optimizers.Adam(0.003)),
        g_optimizer=train_context.wrap_optimizer(keras.optimizers.Adam(0.003)),
        loss_fn=keras.losses.BinaryCrossentropy(from_logits=True),
    )
    data = np.random.default_rng(1).random((96, 6)).astype("float32")
    train_context.fit(gan, det.Batches(4), data, epochs=6, batch_size=8, verbose=0)
