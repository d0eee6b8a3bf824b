# SPDX-License-Identifier: Apache-2.0
"""Models with several optimizers, in the style of keras.io's GAN: checkpoints hold all that the model owns, and a
resumed training goes on to the bit. On several slots: test_trial_ranks.py."""
import os
import subprocess
import sys
import unittest

import keras
import numpy as np
import tensorflow as tf

import determined as det
import test_trial
import training
from determined import core
from determined.keras import TFKerasTrial, _owned, _state


def network(units, name):
    return keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(units, name=name)], name=name + "s")


class GAN(keras.Model):
    """Two networks, each with its optimizer; metrics, a counter and a random generator of its own."""

    def __init__(self):
        super().__init__()
        self.discriminator, self.generator = network(1, "judge"), network(4, "maker")
        self.noise = keras.random.SeedGenerator(3)
        self.drawn = tf.random.Generator.from_seed(5)
        self.steps = tf.Variable(0, dtype=tf.int64)

    def compile(self, d_optimizer, g_optimizer, **more):
        super().compile(**more)
        self.d_optimizer, self.others = d_optimizer, {"g": [g_optimizer]}
        self.d_loss = keras.metrics.Mean(name="d_loss")
        self.g_loss = keras.metrics.Mean(name="g_loss")
        self.ever = keras.metrics.Mean(name="ever")  # not among `metrics`: Keras never resets it

    @property
    def metrics(self):
        return [self.d_loss, self.g_loss]

    def call(self, x):
        return self.discriminator(self.generator(x))

    def train_step(self, data):
        x = data[0] if isinstance(data, tuple) else data
        noise = keras.random.normal((4, 4), seed=self.noise) + self.drawn.normal((4, 4))
        with tf.GradientTape() as tape:
            fake = self.discriminator(self.generator(noise))
            loss = tf.reduce_mean(fake) - tf.reduce_mean(self.discriminator(x)) + tf.reduce_mean(fake**2)
        weights = self.discriminator.trainable_weights
        self.d_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        if self.steps % 3 == 2:  # the generator is trained in every third batch only
            with tf.GradientTape() as tape:
                made = -tf.reduce_mean(self.discriminator(self.generator(noise)))
            weights = self.generator.trainable_weights
            self.others["g"][0].apply_gradients(zip(tape.gradient(made, weights), weights))
            self.g_loss.update_state(made)
        self.steps.assign_add(1)
        self.d_loss.update_state(loss)
        self.ever.update_state(loss)
        return {each.name: each.result() for each in self.metrics}

    def test_step(self, data):
        x = data[0] if isinstance(data, tuple) else data
        self.d_loss.update_state(tf.reduce_mean(self.discriminator(x)))
        return {each.name: each.result() for each in self.metrics}


def gan(wrap=lambda optimizer: optimizer, made=lambda model: model):
    model = made(GAN())
    model.compile(
        wrap(keras.optimizers.Adam(0.01)),
        wrap(keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.9), momentum=0.9)),
        run_eagerly=True,
    )
    return model


class Trial(TFKerasTrial):
    wraps = True

    def build_model(self):
        self.model = gan(self.context.wrap_optimizer if self.wraps else lambda optimizer: optimizer, self.context.wrap_model)
        return self.model

    def build_training_data_loader(self):
        return training.X[:64, :4], training.Y[:64]

    def build_validation_data_loader(self):
        return training.X[:8, :4], training.Y[:8]


class Resumes(test_trial.Place):
    def compare(self, train):
        """`train(run, stop_after)` for a whole training, and for one in two parts."""
        train("whole", None)
        for stop_after in (7, None):
            train("two", stop_after)
        one, two = (self.bytes_of(self.checkpoints(run)[11]) for run in ("whole", "two"))
        self.assertEqual(sorted(one), sorted(two))
        for name in one:
            self.assertEqual(one[name], two[name], name)

    def saved(self, run="whole"):
        """The names of what a checkpoint has, by kind."""
        found = {}
        for kind, path, _ in _state.decode(self.checkpoints(run)[11]):
            found.setdefault(kind, []).append(path)
        return found

    def check_saved(self):
        found = self.saved()
        words = " ".join(found["optimizer"])
        for name in ("judge_kernel_momentum", "judge_bias_velocity", "maker_kernel_momentum"):
            self.assertIn(name, words)
        self.assertTrue(any("ever" in path for path in found["own"]), found["own"])
        self.assertEqual(len(found["own"]), 6)  # two of `ever`, two of the unused loss; the counter; the generator
        self.assertEqual(len(found["metric"]), 4)

    def test_a_trial(self):
        for wraps in (True, False):
            kind = type("Given", (Trial,), {"wraps": wraps})
            self.compare(
                lambda run, stop: self.train(
                    kind, batches=11, run=f"{run}", stop_after=stop, searcher={"metric": "val_d_loss"}, scheduling_unit=4
                )
            )
            self.check_saved()
            for run in ("whole", "two"):
                os.rename(self.path(run), self.path(f"{run}-{wraps}"))

    def test_the_trainer(self):
        def train(run, stop_after):
            keras.backend.clear_session()
            os.environ["DET_OFFLINE_DIR"] = self.path(run)
            os.environ["DET_EXPERIMENT_CONFIG"] = '{"reproducibility": {"experiment_seed": 3}}'
            with det.keras.init() as context:
                if stop_after is not None:
                    self.preempt(context.core, stop_after)
                model = gan(context.wrap_optimizer)
                context.fit(model, x=training.X[:88, :4], batch_size=8, epochs=1, verbose=0)

        self.compare(train)
        self.check_saved()

    def test_the_callback(self):
        def train(run, stop_after):
            keras.backend.clear_session()
            keras.utils.set_random_seed(1)
            os.environ["DET_OFFLINE_DIR"] = self.path(run)
            with core.init() as context:
                if stop_after is not None:
                    self.preempt(context, stop_after)
                loop = training.callback(context)
                gan().fit(training.X[:88, :4], batch_size=8, verbose=0, callbacks=[loop])

        self.compare(train)
        self.check_saved()

    def test_a_checkpoint_of_a_model_with_other_optimizers(self):
        unwrapped = type("Given", (Trial,), {"wraps": False})
        self.train(unwrapped, batches=4, run="run", searcher={"metric": "val_d_loss"})

        class Fewer(unwrapped):
            def build_model(self):
                model = super().build_model()
                model.others = {}
                model.train_step = lambda data: {"d_loss": 0.0, "g_loss": 0.0}
                return model

        with self.assertRaisesRegex(ValueError, "the checkpoint has 3 optimizers, the model has 2"):
            self.train(Fewer, batches=8, run="run", searcher={"metric": "val_d_loss"})


# The predecessor of Keras 3, with both of its kinds of optimizers.
LEGACY = """
import json, os, sys
import determined.keras
import numpy as np, tensorflow as tf, tf_keras as keras
from determined import core

X = np.random.default_rng(0).random((44, 4)).astype("float32")
layers = keras.layers

class GAN(keras.Model):
    def __init__(self):
        super().__init__()
        self.judge = keras.Sequential([layers.Input((4,)), layers.Dense(1)])
        self.maker = keras.Sequential([layers.Input((4,)), layers.Dense(4)])
        self.drawn = tf.random.Generator.from_seed(5)

    def compile(self, d_optimizer, g_optimizer):
        super().compile(run_eagerly=True)
        self.d_optimizer, self.others = d_optimizer, {"g": [g_optimizer]}
        self.mean, self.ever = keras.metrics.Mean(name="mean"), keras.metrics.Mean(name="ever")

    @property
    def metrics(self):
        return [self.mean]

    def call(self, x):
        return self.judge(self.maker(x))

    def train_step(self, x):
        for part, optimizer in ((self.judge, self.d_optimizer), (self.maker, self.others["g"][0])):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x + self.drawn.normal((4,))) - 1) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, part.trainable_weights), part.trainable_weights))
        self.mean.update_state(loss)
        self.ever.update_state(loss)
        return {"mean": self.mean.result()}

def train(run, kinds, stop_after=None):
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    os.environ["DET_OFFLINE_DIR"] = folder = os.path.join(sys.argv[1], run)
    with core.init() as context:
        if stop_after is not None:
            asked = iter(range(1, 1000))
            context.preempt.should_preempt = lambda auto_ack=True: next(asked) >= stop_after
        model = GAN()
        model.compile(kinds.Adam(0.01), kinds.SGD(0.1, momentum=0.9))
        loop = determined.keras.DeterminedCallback(context, context.latest_checkpoint, 1)
        model.fit(X, batch_size=4, verbose=0, callbacks=[loop])
    with open(os.path.join(folder, "latest.json")) as file:
        folder = os.path.join(folder, "checkpoints", json.load(file)["uuid"])
    names = set(os.listdir(folder)) - {"metadata.json", "manifest.det.json"}
    return {name: open(os.path.join(folder, name), "rb").read() for name in names}

for kinds in (keras.optimizers, keras.optimizers.legacy):
    name = kinds.__name__
    whole = train(name, kinds)
    train(name + "-two", kinds, 5)
    assert b"/momentum" in whole["variables.json"] or b"SGD/m/" in whole["variables.json"]
    assert train(name + "-two", kinds) == whole, name
"""


class Legacy(test_trial.Place):
    def test_tf_keras(self):
        environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1"}
        command = [sys.executable, "-B", self.write("train.py", LEGACY), self.folder]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])


class Owned(unittest.TestCase):
    def test_optimizers_of_a_model_and_of_its_parts(self):
        model = gan()
        model.generator.compile("adam", "mse")
        found = [type(each).__name__ for each in _owned.optimizers(model)]
        self.assertEqual(sorted(found), ["Adam", "Adam", "RMSprop", "SGD"])
        self.assertIs(_owned.optimizers(model)[0], model.optimizer)
        self.assertEqual(_owned.optimizers(keras.Sequential()), [])

    def test_an_optimizer_is_built_for_its_own_weights(self):
        model, other = gan(), gan()
        x = np.ones((4, 4), "float32")
        for _ in range(3):
            model.train_on_batch(x)
        _owned.build(other, _owned.weights_of_optimizers(model))
        self.assertEqual(
            [tuple(each.shape) for one in _owned.optimizers(model) for each in one.variables],
            [tuple(each.shape) for one in _owned.optimizers(other) for each in one.variables],
        )


if __name__ == "__main__":
    unittest.main()
