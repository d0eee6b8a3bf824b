# SPDX-License-Identifier: Apache-2.0
"""Augmentation layers in the map() of a tf.data pipeline keep their generators in variables, and prefetch() runs ahead
of the training. A training with our front ends draws what plain Keras draws, every time, and so does a resumed one."""
import os
import unittest

import keras
import numpy as np
import tensorflow as tf
import test_trial
from training import callback

import determined as det

PICTURES = np.random.RandomState(0).rand(48, 6, 6, 1).astype("float32")
LABELS = np.arange(48) % 3
BATCHES, EPOCHS = 6, 3


def data(size=8):
    layers = [keras.layers.RandomFlip("horizontal", seed=1), keras.layers.RandomTranslation(0.2, 0.2, seed=2)]
    augment = keras.Sequential(layers)
    dataset = tf.data.Dataset.from_tensor_slices((PICTURES, LABELS)).shuffle(48, seed=3).batch(size)
    return dataset.map(lambda x, y: (augment(x, training=True), y)).prefetch(tf.data.AUTOTUNE)


def made():
    keras.utils.set_random_seed(7)
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)])
    compiled(model)
    return model


def compiled(model):
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), run_eagerly=True)


def weights(model):
    return [each.numpy().tolist() for each in model.weights]


class Augmentation(test_trial.Place):
    def plain(self):
        keras.backend.clear_session()
        model = made()
        model.fit(data(), epochs=EPOCHS, verbose=0)
        return weights(model)

    def pause_after(self, context, batches, loop):
        if batches is not None:
            context.preempt.should_preempt = lambda auto_ack=True: loop().batches + 1 >= batches

    def with_callback(self, run, pause=None):
        keras.backend.clear_session()
        os.environ["DET_OFFLINE_DIR"] = self.path(run)
        model = made()
        with det.core.init() as context:
            loop = callback(context)
            self.pause_after(context, pause, lambda: loop)
            model.fit(data(), epochs=EPOCHS, verbose=0, callbacks=[loop])
        return weights(model)

    def with_fit(self, run, pause=None):
        keras.backend.clear_session()
        os.environ["DET_OFFLINE_DIR"] = self.path(run)
        with det.keras.init() as context:
            model = made()
            self.pause_after(context.core, pause, lambda: context._loop)
            context.fit(model, x=data(), epochs=EPOCHS, verbose=0)
        return weights(model)

    def with_trial(self, run, pause=None):
        models = []

        class Trial(test_trial.Trial):
            training = staticmethod(lambda self: self.context.wrap_dataset(data()))
            validation = staticmethod(lambda self: (PICTURES[:8], LABELS[:8]))

            def build_model(self):
                keras.utils.set_random_seed(7)
                models.append(keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)]))
                compiled(self.context.wrap_model(models[0]))
                return models[0]

        self.train(Trial, run=run, stop_after=pause, searcher={"metric": "val_loss", "max_length": {"epochs": EPOCHS}})
        return weights(models[0])

    def check(self, front_end):
        wanted = self.plain()
        self.assertEqual(front_end("whole"), wanted)
        front_end("paused", BATCHES + 2)
        self.assertEqual(front_end("paused"), wanted)

    def test_with_fit(self):
        self.check(self.with_fit)

    def test_with_the_callback(self):
        self.check(self.with_callback)

    def test_in_a_trial(self):
        self.check(self.with_trial)


if __name__ == "__main__":
    unittest.main()
