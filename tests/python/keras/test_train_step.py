# SPDX-License-Identifier: Apache-2.0
"""Models whose train_step() does everything and that have no call(), as keras.io's VAE and DCGAN: they train, with
checkpoints, and resume to the bit. In all front ends: det.keras.DeterminedCallback, context.fit(), TFKerasTrial."""
import os
import unittest

import keras
import numpy as np
import tensorflow as tf
import test_trial
from keras import layers, ops
from training import callback

import determined as det

PICTURES = np.random.RandomState(0).rand(40, 4, 4, 1).astype("float32")
EPOCHS, BATCHES = 2, 5  # of eight


class Sampling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        mean, log_var = inputs
        epsilon = keras.random.normal(shape=ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * epsilon


class VAE(keras.Model):
    """https://keras.io/examples/generative/vae/, smaller; with the test_step that a validation needs."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        inputs = keras.Input((4, 4, 1))
        x = layers.Dense(6, activation="relu")(layers.Flatten()(inputs))
        mean, log_var = layers.Dense(2, name="z_mean")(x), layers.Dense(2, name="z_log_var")(x)
        self.encoder = keras.Model(inputs, [mean, log_var, Sampling()([mean, log_var])])
        latent = keras.Input((2,))
        outputs = layers.Reshape((4, 4, 1))(layers.Dense(16, activation="sigmoid")(latent))
        self.decoder = keras.Model(latent, outputs)
        self.total_loss_tracker = keras.metrics.Mean(name="total_loss")
        self.kl_loss_tracker = keras.metrics.Mean(name="kl_loss")

    @property
    def metrics(self):
        return [self.total_loss_tracker, self.kl_loss_tracker]

    def losses_of(self, data):
        mean, log_var, z = self.encoder(data)
        found = ops.mean(ops.sum(ops.square(data - self.decoder(z)), axis=(1, 2, 3)))
        kl_loss = ops.mean(ops.sum(-0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var)), axis=1))
        return found + kl_loss, kl_loss

    def result(self, total_loss, kl_loss):
        self.total_loss_tracker.update_state(total_loss)
        self.kl_loss_tracker.update_state(kl_loss)
        return {"loss": self.total_loss_tracker.result(), "kl_loss": self.kl_loss_tracker.result()}

    def train_step(self, data):
        with tf.GradientTape() as tape:
            total_loss, kl_loss = self.losses_of(data)
        grads = tape.gradient(total_loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        return self.result(total_loss, kl_loss)

    def test_step(self, data):
        return self.result(*self.losses_of(data))


class GAN(keras.Model):
    """https://keras.io/examples/generative/dcgan_overriding_train_step/, smaller; its networks are built by the first
    step."""

    def __init__(self):
        super().__init__()
        self.discriminator = keras.Sequential([layers.Flatten(), layers.Dense(6), layers.Dropout(0.2), layers.Dense(1)])
        self.generator = keras.Sequential([layers.Dense(16), layers.Reshape((4, 4, 1))])
        self.seed_generator = keras.random.SeedGenerator(1337)

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer, self.g_optimizer, self.loss_fn = d_optimizer, g_optimizer, loss_fn
        self.d_loss_metric = keras.metrics.Mean(name="d_loss")
        self.g_loss_metric = keras.metrics.Mean(name="g_loss")

    @property
    def metrics(self):
        return [self.d_loss_metric, self.g_loss_metric]

    def draw(self, count):
        return keras.random.normal(shape=(count, 3), seed=self.seed_generator)

    def train_step(self, real_images):
        count = ops.shape(real_images)[0]
        images = ops.concatenate([self.generator(self.draw(count)), real_images], axis=0)
        labels = ops.concatenate([ops.ones((count, 1)), ops.zeros((count, 1))], axis=0)
        with tf.GradientTape() as tape:
            d_loss = self.loss_fn(labels, self.discriminator(images, training=True))
        grads = tape.gradient(d_loss, self.discriminator.trainable_weights)
        self.d_optimizer.apply_gradients(zip(grads, self.discriminator.trainable_weights))
        noise = self.draw(count)
        with tf.GradientTape() as tape:
            g_loss = self.loss_fn(ops.zeros((count, 1)), self.discriminator(self.generator(noise)))
        grads = tape.gradient(g_loss, self.generator.trainable_weights)
        self.g_optimizer.apply_gradients(zip(grads, self.generator.trainable_weights))
        self.d_loss_metric.update_state(d_loss)
        self.g_loss_metric.update_state(g_loss)
        return {"d_loss": self.d_loss_metric.result(), "g_loss": self.g_loss_metric.result()}

    def test_step(self, real_images):
        loss = self.loss_fn(ops.zeros((ops.shape(real_images)[0], 1)), self.discriminator(real_images))
        self.d_loss_metric.update_state(loss)
        return {"d_loss": self.d_loss_metric.result()}


def vae(wrap=lambda model: model):
    model = wrap(VAE())
    model.compile(keras.optimizers.Adam(0.01))
    return model


def gan(wrap=lambda model: model):
    model = wrap(GAN())
    # without state besides the weights
    optimizers = [keras.optimizers.SGD(0.05), keras.optimizers.SGD(0.02)]
    model.compile(*optimizers, keras.losses.BinaryCrossentropy(from_logits=True))
    return model


class Models(test_trial.Place):
    kinds = {"vae": (vae, "kl_loss"), "gan": (gan, "g_loss")}

    def pause_after(self, context, batches, loop):
        if batches is not None:
            context.preempt.should_preempt = lambda auto_ack=True: loop().batches + 1 >= batches

    def begin(self, run):
        keras.backend.clear_session()
        keras.utils.set_random_seed(7)
        os.environ["DET_OFFLINE_DIR"] = self.path(run)

    def data(self):
        return tf.data.Dataset.from_tensor_slices(PICTURES).batch(8)

    def plain(self, make):
        self.begin("plain")
        model = make()
        model.fit(self.data(), epochs=EPOCHS, verbose=0)
        return model

    def with_callback(self, make, run, pause=None):
        self.begin(run)
        model = make()
        with det.core.init() as context:
            loop = callback(context)
            self.pause_after(context, pause, lambda: loop)
            model.fit(self.data(), epochs=EPOCHS, verbose=0, callbacks=[loop])
        return model

    def with_fit(self, make, run, pause=None):
        self.begin(run)
        with det.keras.init() as context:
            keras.utils.set_random_seed(7)
            model = make()
            self.pause_after(context.core, pause, lambda: context._loop)
            context.fit(model, x=self.data(), epochs=EPOCHS, verbose=0)
        return model

    def with_trial(self, make, run, pause=None):
        models = []
        self.begin(run)

        class Trial(test_trial.Trial):
            training = staticmethod(lambda trial: trial.context.wrap_dataset(self.data()))
            validation = staticmethod(lambda trial: trial.context.wrap_dataset(self.data().take(1)))

            def build_model(self):
                keras.utils.set_random_seed(7)
                models.append(make(self.context.wrap_model))
                return models[0]

        metric = "val_loss" if make is vae else "val_d_loss"
        self.train(Trial, run=run, stop_after=pause, searcher={"metric": metric, "max_length": {"epochs": EPOCHS}})
        return models[0]

    def check(self, front_end, kind):
        make, name = self.kinds[kind]
        wanted = [each.numpy().tolist() for each in self.plain(make).weights]
        for run, pauses in (("whole", ()), ("paused", (BATCHES + 2,))):
            for pause in (*pauses, None):
                model = front_end(make, run, pause)
            self.assertEqual([each.numpy().tolist() for each in model.weights], wanted)
            self.assertIn(2 * BATCHES, self.when(name, run))


for kind in Models.kinds:
    for front_end in ("with_callback", "with_fit", "with_trial"):
        test = lambda self, kind=kind, front_end=front_end: self.check(getattr(self, front_end), kind)
        setattr(Models, f"test_{kind}_{front_end}", test)


class Errors(Models):
    def test_a_step_that_fails_says_its_own_sentence(self):
        class Wrong(VAE):
            def train_step(self, data):
                raise KeyError("nothing of this name")

        def make():
            model = Wrong()
            model.compile("adam")
            return model

        for front_end in (self.with_callback, self.with_fit):
            with self.assertRaisesRegex(KeyError, "nothing of this name"):
                front_end(make, "run")

    def test_a_call_that_is_not_for_the_training_data(self):
        """A generator's model may be called with noise, and trained with pictures."""

        class Called(GAN):
            def call(self, noise):
                return self.generator(ops.reshape(noise, (-1, 3)))

        def make():
            model = Called()
            optimizers = [keras.optimizers.SGD(0.05), keras.optimizers.SGD(0.02)]
            model.compile(*optimizers, keras.losses.BinaryCrossentropy(from_logits=True))
            return model

        model = self.with_fit(make, "run")
        self.assertTrue(model.d_optimizer.built and model.g_optimizer.built)


for name in [name for name in dir(Errors) if name.startswith(("test_vae", "test_gan"))]:
    setattr(Errors, name, None)

if __name__ == "__main__":
    unittest.main()
