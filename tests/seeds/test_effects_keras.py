# SPDX-License-Identifier: Apache-2.0
"""Arguments of Keras's fit() and predict() that no other test shows: each changes what it changes in plain Keras.

A training leaves a trace: its weights, how many batches it trained and how many each validation had, its history and
its output.  With an argument our fit() leaves the trace that Keras's leaves, and another one than without it."""
import contextlib
import io
import os
import tempfile
import types
import unittest

import keras
import numpy as np
import tensorflow as tf
from offline_case import Offline

import determined as det
from determined.experimental import keras as native

X = np.random.default_rng(5).random((48, 3)).astype("float32")
Y = (X.sum(1) > 1.5).astype("float32")[:, None]
CONFIG = {"searcher": {"name": "single", "metric": "val_loss"}, "hyperparameters": {}}


def small_model():
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.SGD(0.5), "binary_crossentropy", run_eagerly=True)
    return model


class Counts(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.trained, self.tested, self.epochs = 0, [], []

    def on_epoch_begin(self, epoch, logs=None):
        self.epochs.append(epoch)

    def on_train_batch_end(self, batch, logs=None):
        self.trained += 1

    def on_test_begin(self, logs=None):
        self.tested.append(0)

    def on_test_batch_end(self, batch, logs=None):
        self.tested[-1] += 1


class Batches(keras.utils.PyDataset):
    """Tells which threads or processes made them."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return X[index * 8:index * 8 + 8], Y[index * 8:index * 8 + 8]


if os.access("/dev/shm", os.W_OK):
    tempfile.tempdir = "/dev/shm"  # checkpoints are flushed, and tests need not wait for a disk


class Effects(Offline):
    runs = 0
    plain = {}  # traces of Keras's own fit(), by the name of the case

    def setUp(self):
        super().setUp()
        os.environ["DET_OFFLINE_LOGS"] = "0"

    @staticmethod
    def fit_of_keras(model, **arguments):
        return model.fit(**arguments)

    def shown(self, history):
        """The part of the history that must be as in Keras."""
        return history

    def trace(self, fit, arguments):
        """`fit(model, **arguments)` trains."""
        type(self).runs += 1
        os.environ["DET_OFFLINE_DIR"] = self.path(f"run-{self.runs}")
        given = {"x": X, "y": Y, "batch_size": 8, "epochs": 2, "shuffle": False, "verbose": 0,
                 "validation_data": (X[:16], Y[:16]), **arguments}
        given = {name: value for name, value in given.items() if value is not ...}
        counts, out = Counts(), io.StringIO()
        given["callbacks"] = [counts, *given.get("callbacks", [])]
        model = small_model()
        with contextlib.redirect_stdout(out):
            history = fit(model, **given).history
        values = {name: np.round(found, 5).tolist() for name, found in history.items()}
        weights = np.round(np.concatenate([np.ravel(each) for each in model.get_weights()]), 5).tolist()
        return {"weights": weights, "trained": counts.trained, "tested": counts.tested, "epochs": counts.epochs,
                "history": values if fit is self.fit_of_keras else self.shown(values),
                "printed": "Epoch" in out.getvalue()}

    def check(self, fit, cases):
        before = self.trace(fit, {})
        for name, arguments in cases.items():
            with self.subTest(name):
                ours = self.trace(fit, arguments)
                if name not in self.plain:
                    self.plain[name] = self.trace(self.fit_of_keras, arguments)
                self.assertEqual(ours, {**self.plain[name], "history": self.shown(self.plain[name]["history"])})
                self.assertNotEqual(ours, before)


CASES = {
    "y": {"y": 1 - Y},
    "x": {"x": X[:24], "y": Y[:24]},
    "batch_size": {"batch_size": 12},
    "epochs": {"epochs": 3},
    "verbose": {"verbose": 2},
    "validation_split": {"validation_split": 0.25, "validation_data": ...},
    "validation_data": {"validation_data": (X[:4], Y[:4])},
    "class_weight": {"class_weight": {0: 1.0, 1: 5.0}},
    "sample_weight": {"sample_weight": np.linspace(0, 1, 48)},
    "steps_per_epoch": {"steps_per_epoch": 3},
    "validation_steps": {"validation_steps": 1},
    "validation_batch_size": {"validation_batch_size": 4},
    "validation_freq": {"validation_freq": 2},
}


def train(model, **arguments):
    with det.keras.init() as context:
        return context.fit(model, **arguments)


def train_natively(model, **arguments):
    with native.init(config=CONFIG, local=True) as context:
        context.wrap_model(model)
        return context.fit(**arguments)


class Trainer(Effects):
    def test_fit_of_the_trainer(self):
        self.check(train, {**CASES, "initial_epoch": {"initial_epoch": 1}})

    def test_shuffle(self):
        self.assertNotEqual(self.trace(train, {"shuffle": True})["weights"], self.trace(train, {})["weights"])

    def test_callbacks_and_the_model(self):
        seen = Counts()
        model = small_model()
        with det.keras.init() as context:
            history = context.fit(model, x=X, y=Y, callbacks=[seen], verbose=0)
        self.assertIs(history.model, model)
        self.assertEqual(seen.trained, 2)

    def test_a_context_that_was_made_for_several_processes(self):
        alone = det.core.DistributedContext(rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1)
        with det.keras.init(distributed=alone) as context:
            self.assertIs(context.distributed, alone)

    def test_custom_objects(self):
        def own(x):
            return x * 2

        model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1, activation=own)])
        model.compile("sgd", "mse")
        with det.keras.init() as context:
            context.fit(model, x=X, y=Y, verbose=0)
            uuid = os.listdir(self.path("run", "checkpoints"))[0]
            with self.assertRaises(Exception):
                context.load_model_from_checkpoint(uuid)
            loaded = context.load_model_from_checkpoint(uuid, custom_objects={"own": own})
            np.testing.assert_array_equal(loaded.predict(X, verbose=0), model.predict(X, verbose=0))
            again = det.keras.load_model_from_checkpoint(uuid, custom_objects={"own": own}, core_context=context.core)
            np.testing.assert_array_equal(again.predict(X, verbose=0), model.predict(X, verbose=0))

    def test_predict(self):
        class Predicts(keras.callbacks.Callback):
            sizes = ()

            def on_predict_batch_end(self, batch, logs=None):
                self.sizes += (len(logs["outputs"]),)

        model = small_model()
        with det.keras.init() as context:
            seen, out = Predicts(), io.StringIO()
            with contextlib.redirect_stdout(out):
                found = context.predict(model, X, batch_size=20, verbose=1, callbacks=[seen])
            self.assertEqual(seen.sizes, (20, 20, 8))
            self.assertEqual(found.shape, (48, 1))
            self.assertIn("3/3", out.getvalue())
            data = tf.data.Dataset.from_tensor_slices(X).batch(10)
            self.assertEqual(len(context.predict(model, data, steps=2, verbose=0)), 20)


class Native(Effects):
    def shown(self, history):
        """Without the loss: a report of this API is the mean since the last one, which may be of several epochs."""
        return {name: values for name, values in history.items() if name != "loss"}

    def test_fit_of_the_native_api(self):
        self.check(train_natively, CASES)

    def test_shuffle(self):
        shuffled = self.trace(train_natively, {"shuffle": True})
        self.assertNotEqual(shuffled["weights"], self.trace(train_natively, {})["weights"])

    def test_workers(self):
        data = Batches()
        self.trace(train_natively, {"x": data, "y": ..., "batch_size": ..., "workers": 2, "use_multiprocessing": False,
                                    "max_queue_size": 3})
        self.assertEqual((data.workers, data.use_multiprocessing, data.max_queue_size), (2, False, 3))

    def test_fit_generator(self):
        def generate(model, **given):
            with native.init(config=CONFIG, local=True) as context:
                context.wrap_model(model)
                for name in ("y", "batch_size"):
                    given.pop(name)
                return context.fit_generator(given.pop("x"), **given)

        def plainly(model, **given):
            for name in ("y", "batch_size"):
                given.pop(name)
            return model.fit(given.pop("x"), **given)

        before = self.trace(generate, {"x": Batches()})
        for name, arguments in {
            "epochs": {"epochs": 3}, "verbose": {"verbose": 2}, "steps_per_epoch": {"steps_per_epoch": 3},
            "validation_data": {"validation_data": (X[:4], Y[:4])}, "validation_freq": {"validation_freq": 2},
            "validation_steps": {"validation_data": Batches(), "validation_steps": 2},
            "class_weight": {"class_weight": {0: 1.0, 1: 5.0}},
        }.items():
            with self.subTest(name):
                ours = self.trace(generate, {"x": Batches(), **arguments})
                self.assertEqual(ours, self.trace(plainly, {"x": Batches(), **arguments}))
                self.assertNotEqual(ours, before)
        self.assertNotEqual(self.trace(generate, {"x": Batches(), "shuffle": True})["weights"], before["weights"])
        data = Batches()
        self.trace(generate, {"x": data, "workers": 2, "use_multiprocessing": False, "max_queue_size": 3})
        self.assertEqual((data.workers, data.use_multiprocessing, data.max_queue_size), (2, False, 3))


class Adapter(Offline):
    def test_the_queue_is_as_long_as_it_is_said(self):
        made = det.keras.SequenceAdapter(Batches(), workers=1, max_queue_size=2)
        self.assertEqual(made.max_queue_size, 2)

    def test_a_seed_decides_the_order(self):
        orders = [det.keras.InMemorySequence(X, Y, 8, shuffle=True, seed=seed)[0][0].tolist() for seed in (1, 1, 2)]
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])


class Cached(Offline):
    def test_a_validation_dataset_is_shuffled_if_it_is_told_to(self):
        place = types.SimpleNamespace(
            distributed=types.SimpleNamespace(rank=0, size=1), get_hparams=dict, get_experiment_config=dict,
            get_trial_seed=lambda: 5)
        for shuffle in (False, True):
            experimental = det.keras.TFKerasExperimentalContext(place)
            cache = experimental.cache_validation_dataset(f"a{shuffle}", "1", shuffle=shuffle)
            found = [int(each) for each in cache(lambda: tf.data.Dataset.range(50))()]
            self.assertEqual(sorted(found), list(range(50)))
            self.assertEqual(found != list(range(50)), shuffle)


class Board(Offline):
    def test_tensorboard_has_the_arguments_of_keras(self):
        with det.core.init() as core_context:
            made = det.keras.TensorBoard(core_context, histogram_freq=3, write_images=True, update_freq="batch")
            self.assertEqual((made.histogram_freq, made.write_images), (3, True))
            self.assertEqual(str(made._log_dir if hasattr(made, "_log_dir") else made.log_dir),
                             str(core_context.train.get_tensorboard_path()))
            # by place, as in Keras: log_dir comes first there, and is the platform's here
            self.assertEqual(det.keras.TensorBoard(core_context, "logs", 5).histogram_freq, 5)


if __name__ == "__main__":
    unittest.main()
