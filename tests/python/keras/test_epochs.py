# SPDX-License-Identifier: Apache-2.0
"""An epoch begins once: a training that was paused inside an epoch continues it, and callbacks do not get its
beginning again. In all front ends: det.keras.DeterminedCallback, context.fit(), TFKerasTrial."""
import os
import unittest

import keras
import numpy as np
import test_trial
from training import X, Y, callback

import determined as det

PAUSES = (6, 15, 17)  # in the middle of epochs 0 and 2, twice; an epoch has 7 batches
EPOCHS = 4
BATCH = 32


class Heard(keras.callbacks.Callback):
    """Writes down which epochs began and ended, also in earlier processes, and prepares each of them."""

    events = []

    def on_epoch_begin(self, epoch, logs=None):
        self.events.append(("begin", epoch))
        self.prepared = np.random.rand()

    def on_train_batch_end(self, batch, logs=None):
        self.used = self.prepared

    def on_epoch_end(self, epoch, logs=None):
        self.events.append(("end", epoch))


def made():
    keras.backend.clear_session()
    keras.utils.set_random_seed(7)
    model = keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(2)])
    model.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=True)
    return model


def listed(more=()):
    return [keras.callbacks.LearningRateScheduler(lambda epoch, lr: lr * 0.9), Heard(), *more]


class Epochs(test_trial.Place):
    def run_all(self, front_end, pauses):
        Heard.events = []
        for pause in (*pauses, None):
            model = front_end(self, pause)
        return float(model.optimizer.learning_rate.numpy()), [each.numpy().tolist() for each in model.weights]

    def check(self, front_end):
        self.folder_of = "whole"
        wanted = self.run_all(front_end, ())
        events = Heard.events
        self.assertAlmostEqual(wanted[0], 0.1 * 0.9**EPOCHS, places=6)
        self.folder_of = "paused"
        found = self.run_all(front_end, PAUSES)
        self.assertEqual(Heard.events, events)
        self.assertEqual(events, [(word, epoch) for epoch in range(EPOCHS) for word in ("begin", "end")])
        self.assertEqual(found, wanted)

    def use_folder(self):
        os.environ["DET_OFFLINE_DIR"] = self.path(self.folder_of)

    def pause_after(self, context, batches, loop):
        if batches is not None:
            context.preempt.should_preempt = lambda auto_ack=True: loop().batches + 1 >= batches

    def with_callback(self, pause, *more):
        self.use_folder()
        model = made()
        with det.core.init() as context:
            loop = callback(context)
            self.pause_after(context, pause, lambda: loop)
            model.fit(X, Y, batch_size=BATCH, epochs=EPOCHS, verbose=0, callbacks=[loop, *listed(more)])
        return model

    def with_fit(self, pause):
        self.use_folder()
        with det.keras.init() as context:
            model = made()
            self.pause_after(context.core, pause, lambda: context._loop)
            context.fit(model, x=X, y=Y, batch_size=BATCH, epochs=EPOCHS, verbose=0, callbacks=listed())
        return model

    def with_trial(self, pause):
        models = []

        class Trial(test_trial.Trial):
            def build_model(self):
                keras.utils.set_random_seed(7)
                model = keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(2)])
                models.append(self.context.wrap_model(model))
                model.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=True)
                return model

            training = staticmethod(lambda self: (X, Y))
            validation = staticmethod(lambda self: (X[:8], Y[:8]))
            callbacks = staticmethod(listed)

        searcher = {"metric": "val_loss", "max_length": {"epochs": EPOCHS}}
        begun = 0
        if self.folder_of == "paused" and pause is not None:
            begun = PAUSES[PAUSES.index(pause) - 1] if pause != PAUSES[0] else 0
        self.train(
            Trial,
            hparams={"global_batch_size": BATCH},
            run=self.folder_of,
            searcher=searcher,
            stop_after=None if pause is None else pause - begun,
        )
        return models[0]

    def test_with_the_callback(self):
        self.check(Epochs.with_callback)

    def test_with_fit(self):
        self.check(Epochs.with_fit)

    def test_in_a_trial(self):
        self.check(Epochs.with_trial)


class Rates(Epochs):
    """The learning rate is state: a callback that sets it as training begins does not set it again."""

    def test_of_a_callback_after_ours(self):
        class Sets(keras.callbacks.Callback):
            def on_train_begin(self, logs=None):
                self.model.optimizer.learning_rate = 0.2

        self.folder_of = "whole"
        wanted = self.with_callback(None, Sets()).optimizer.learning_rate.numpy()
        self.folder_of = "paused"
        for pause in PAUSES:
            self.with_callback(pause, Sets())
        self.assertEqual(self.with_callback(None, Sets()).optimizer.learning_rate.numpy(), wanted)

    def test_things_that_cannot_be_saved_are_made_as_training_begins(self):
        class Draws(keras.callbacks.Callback):
            def on_train_begin(self, logs=None):
                self.kept = iter(())

            def on_epoch_begin(self, epoch, logs=None):
                self.bar = iter(())

        self.folder_of = "whole"
        with self.assertLogs("determined.keras", "WARNING") as logs:
            self.with_callback(None, Draws())
        (line,) = logs.output
        self.assertIn("the attribute 'bar' of the callback Draws is not in checkpoints", line)
        self.assertIn("make it in on_train_begin()", line)

    def test_the_weights_of_swapped_averages(self):
        """SwapEMAWeights exchanges the weights when an epoch begins and ends."""

        def weights(pauses):
            found = None
            for pause in (*pauses, None):
                self.use_folder()
                model = made()
                optimizer = keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5)
                model.compile(optimizer, "mse", run_eagerly=True)
                with det.core.init() as context:
                    loop = callback(context)
                    self.pause_after(context, pause, lambda: loop)
                    more = [loop, keras.callbacks.SwapEMAWeights(swap_on_epoch=True)]
                    model.fit(X, Y, batch_size=BATCH, epochs=EPOCHS, verbose=0, callbacks=more)
                found = [each.numpy().tolist() for each in model.weights]
            return found

        self.folder_of = "whole"
        wanted = weights(())
        self.folder_of = "paused"
        self.assertEqual(weights((6, 14, 17)), wanted)

    test_with_the_callback = test_with_fit = test_in_a_trial = None


if __name__ == "__main__":
    unittest.main()
