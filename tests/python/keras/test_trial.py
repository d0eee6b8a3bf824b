# SPDX-License-Identifier: Apache-2.0
"""TFKerasTrial, offline: its data, its reports, and its errors. Resuming: test_trial_resume.py."""
import csv
import importlib.util
import io
import json
import logging
import os
import subprocess
import sys
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import numpy as np

import keras
import tensorflow as tf

import determined as det
from determined import core
from determined.keras import (
    InMemorySequence,
    SequenceAdapter,
    TFKerasTensorBoard,
    TFKerasTrial,
    TFKerasTrialContext,
    callbacks,
)
from offline_case import Offline


def numbers(count, seed=0):
    """Points of four coordinates, and whether their sum is large."""
    x = np.random.default_rng(seed).random((count, 4)).astype("float32")
    return x, (x.sum(1) > 2).astype("int32")


class Trial(TFKerasTrial):
    """Learns that, from arrays; the tests vary its attributes."""

    training = staticmethod(lambda self: numbers(64))
    validation = staticmethod(lambda self: numbers(8, 1))
    callbacks = staticmethod(lambda: [])
    dropout = 0.0
    run_eagerly = True  # training a few batches is faster than compiling

    def __init__(self, context: det.keras.TFKerasTrialContext):
        self.context = context

    def build_model(self):
        layers = [keras.layers.Input((4,)), keras.layers.Dense(6, activation="relu")]
        if self.dropout:
            layers.append(keras.layers.Dropout(self.dropout))
        model = self.context.wrap_model(keras.Sequential([*layers, keras.layers.Dense(2)]))
        self.compile(model)
        return model

    def compile(self, model):
        model.compile(
            "adam",
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
            run_eagerly=self.run_eagerly,
        )

    def build_training_data_loader(self):
        return type(self).training(self)

    def build_validation_data_loader(self):
        return type(self).validation(self)

    def keras_callbacks(self):
        return type(self).callbacks()


class Place(Offline):
    """A folder, and trials that train in it."""

    def setUp(self):
        super().setUp()
        os.environ["DET"] = self.before.get("DET", "det")
        os.environ["DET_OFFLINE_LOGS"] = "0"

    def train(self, trial=None, batches=8, hparams=None, run="run", stop_after=None, **config):
        """As the harness does it; returns the context."""
        keras.backend.clear_session()  # gives layers the names they have in a new process
        kind = type("Given", (Trial,), trial or {}) if not isinstance(trial, type) else trial
        os.environ["DET_OFFLINE_DIR"] = self.path(run)
        os.environ["DET_HPARAMS"] = json.dumps({"global_batch_size": 8} if hparams is None else hparams)
        searcher = {"name": "single", "metric": "val_accuracy", "max_length": {"batches": batches}}
        searcher.update(config.pop("searcher", {}))
        os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps({"searcher": searcher, **config})
        with core.init() as core_context:
            if stop_after is not None:
                self.preempt(core_context, stop_after)
            context = kind.trial_context_class(core_context)
            kind.trial_controller_class(context, kind(context)).run()
        return context

    def preempt(self, core_context, batches):
        """The platform wants the slots back after so many batches."""
        asked = []

        def should_preempt(auto_ack=True):
            asked.append(True)
            return len(asked) >= batches

        core_context.preempt.should_preempt = should_preempt

    def metrics(self, group=None, run="run"):
        """[(batches, name, value), ...] as they are on record."""
        command = [os.environ["DET"], "trial", "metrics", "1", f"--local={self.path(run)}", "--csv"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows = csv.DictReader(io.StringIO(text))
        return [
            (int(row["batches"]), row["name"], float(row["value"]))
            for row in rows
            if group in (None, row["group"])
        ]

    def value(self, name, run="run"):
        """The last reported value."""
        return [value for _, each, value in self.metrics(run=run) if each == name][-1]

    def when(self, name, run="run"):
        return [batches for batches, each, _ in self.metrics(run=run) if each == name]

    def checkpoints(self, run="run"):
        """Folders, by the batches after which they were saved."""
        folder = self.path(run, "checkpoints")
        found = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name, "metadata.json")) as file:
                found[json.load(file)["steps_completed"]] = os.path.join(folder, name)
        return found

    def bytes_of(self, folder):
        """All files of a checkpoint except those that identify it."""
        found = {}
        for name in sorted(set(os.listdir(folder)) - {"manifest.det.json", "metadata.json"}):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
        return found

    def refused(self, sentence, kind=ValueError, **arguments):
        with self.assertRaises(kind) as caught:
            self.train(**arguments)
        self.assertIn(sentence, str(caught.exception))


# ---- lengths and reports


class Reports(Place):
    def test_lengths_in_batches_and_steps_of_a_hundred(self):
        self.train({"run_eagerly": False}, batches=130, min_validation_period={"batches": 60})
        self.assertEqual(self.when("val_loss"), [60, 120, 130])
        self.assertTrue({100, 130} <= set(self.when("loss")))
        self.assertEqual({name for _, name, _ in self.metrics("validation")}, {"val_loss", "val_accuracy"})
        self.assertEqual({name for _, name, _ in self.metrics("training")}, {"loss", "accuracy"})

    def test_the_log_shows_that_it_trains(self):
        with self.assertLogs("determined.keras", "INFO") as seen:
            self.train(batches=8, scheduling_unit=4, min_validation_period={"batches": 8})
        text = "\n".join(seen.output)
        self.assertRegex(text, "after 4 batches: .*loss [0-9.]+")
        self.assertRegex(text, "validated after 8 batches: .*val_loss [0-9.]+")

    def test_lengths_in_epochs_and_records(self):
        self.train(searcher={"max_length": {"epochs": 3}}, min_validation_period={"epochs": 1}, run="epochs")
        self.assertEqual(self.when("val_loss", "epochs"), [8, 16, 24])
        self.train(searcher={"max_length": {"records": 96}}, min_validation_period={"records": 32}, run="records")
        self.assertEqual(self.when("val_loss", "records"), [4, 8, 12])

    def test_a_report_is_the_mean_over_its_window_also_where_an_epoch_ends_in_it(self):
        seen = []

        class Sees(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                seen.append(float(logs["loss"]))

        batch_losses = []
        self.train({"training": staticmethod(lambda self: numbers(24)), "callbacks": staticmethod(lambda: [Sees()])},
                   batches=12, scheduling_unit=4)
        # `seen` are running means over the window; from them the losses of the batches
        for at in range(12):
            before = seen[at - 1] * (at % 4) if at % 4 else 0.0
            batch_losses.append(seen[at] * (at % 4 + 1) - before)
        reported = [value for _, name, value in self.metrics("training") if name == "loss"]
        self.assertEqual(self.when("loss"), [4, 8, 12])
        for at, value in enumerate(reported):
            self.assertAlmostEqual(value, float(np.mean(batch_losses[4 * at : 4 * at + 4])), places=4)
        self.assertEqual(reported, [seen[3], seen[7], seen[11]])

    def test_the_searchers_metric_by_either_name(self):
        self.train(searcher={"metric": "accuracy"}, batches=2)
        self.assertIn("accuracy", {name for _, name, _ in self.metrics("validation")})

    def test_an_initial_validation(self):
        self.train(batches=2, perform_initial_validation=True)
        self.assertEqual(self.when("val_loss"), [0, 2])

    def test_test_mode_is_one_batch(self):
        os.environ["DET_TEST_MODE"] = "1"
        self.train(batches=1000)
        self.assertEqual(self.when("val_loss"), [1])
        self.assertEqual(list(self.checkpoints()), [1])


# ---- data


class Weighted(keras.utils.PyDataset):
    """Batches of eight, with weights."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.x, self.y = numbers(64)

    def __len__(self):
        return 8

    def __getitem__(self, index):
        rows = slice(index * 8, index * 8 + 8)
        return self.x[rows], self.y[rows], np.full(8, 0.5, "float32")


def dataset(self, weights=None):
    x, y = numbers(64)
    parts = (x, y) if weights is None else (x, y, weights)
    made = self.context.wrap_dataset(tf.data.Dataset.from_tensor_slices(parts))
    return made.batch(self.context.get_per_slot_batch_size())


class TwoInputs(Trial):
    names = ("left", "right")

    def build_model(self):
        inputs = [keras.layers.Input((2,), name=name) for name in self.names]
        output = keras.layers.Dense(2)(keras.layers.Concatenate()(inputs))
        model = self.context.wrap_model(keras.Model(inputs, output))
        self.compile(model)
        return model


class Data(Place):
    def last(self, training, run, **more):
        self.train({"training": staticmethod(training), **more}, run=run)
        return self.value("val_loss", run)

    def test_arrays_a_sequence_of_them_and_a_sequence_train_alike_without_shuffling(self):
        def still(training):
            def build(self):
                self.context.configure_fit(shuffle=False)
                return training(self)

            return build

        arrays = self.last(still(lambda self: numbers(64)), "arrays")
        memory = self.last(still(lambda self: InMemorySequence(*numbers(64), batch_size=8)), "memory")
        self.assertEqual(arrays, memory)
        self.assertEqual(arrays, self.last(still(dataset), "dataset"))

    def test_weights_from_any_kind(self):
        half = np.full(64, 0.5, "float32")
        kinds = {
            "arrays": lambda self: (*numbers(64), half),
            "dataset": lambda self: dataset(self, half),
            "sequence": lambda self: Weighted(),
            "adapter": lambda self: SequenceAdapter(Weighted(), workers=2),
        }

        def still(kind):
            def build(self):
                self.context.configure_fit(shuffle=False)
                return kind(self)

            return build

        values = {name: self.last(still(kind), name) for name, kind in kinds.items()}
        self.assertEqual(len(set(values.values())), 1, values)

    def test_lists_and_dicts_of_arrays(self):
        x, y = numbers(64)
        listed = lambda self: ([x[:, :2], x[:, 2:]], y)
        named = lambda self: ({"left": x[:, :2], "right": x[:, 2:]}, y)
        for training in (listed, named):
            kind = type("Kind", (TwoInputs,), {"training": staticmethod(training), "validation": staticmethod(training)})
            self.train(kind, run=str(id(training)))
        self.assertEqual(self.value("val_loss", str(id(listed))), self.value("val_loss", str(id(named))))

    def test_shuffled_epochs_differ_and_repeat_with_the_seed(self):
        orders = []

        class Sees(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                orders[-1].append(float(logs["loss"]))

        for run in ("one", "two"):
            orders.append([])
            self.train({"callbacks": staticmethod(lambda: [Sees()])}, run=run, reproducibility={"experiment_seed": 7})
        self.assertEqual(orders[0], orders[1])

    def test_class_weights_and_validation_steps(self):
        def build(self):
            self.context.configure_fit(class_weight={0: 0.0, 1: 0.0}, validation_steps=1, verbose=0)
            return numbers(64)

        self.train({"training": staticmethod(build)})
        self.assertEqual(self.value("loss"), 0.0)

    def test_a_dataset_without_an_end(self):
        endless = lambda self: dataset(self).repeat()
        self.train({"training": staticmethod(endless)}, batches=20, records_per_epoch=64,
                   min_validation_period={"epochs": 1})
        self.assertEqual(self.when("val_loss"), [8, 16, 20])
        self.refused("without an end", trial={"training": staticmethod(endless)}, run="other",
                     searcher={"max_length": {"epochs": 2}})


# ---- callbacks


class Still(Trial):
    """Learns nothing: every validation is like the one before."""

    def compile(self, model):
        model.compile(
            keras.optimizers.SGD(0.0 if self.rate is None else self.rate),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
            run_eagerly=True,
        )

    rate = 1e-30


class Callbacks(Place):
    def test_early_stopping_counts_validations(self):
        stopping = lambda: [callbacks.EarlyStopping(monitor="val_loss", patience=2)]
        kind = type("Kind", (Still,), {"callbacks": staticmethod(stopping)})
        self.train(kind, batches=40, min_validation_period={"batches": 3})
        self.assertEqual(self.when("val_loss"), [3, 6, 9])
        self.assertIn(9, self.checkpoints())
        self.train(kind, batches=40, min_validation_period={"batches": 3})  # it has stopped
        self.assertEqual(self.when("val_loss"), [3, 6, 9])

    def test_the_learning_rate_falls_after_validations(self):
        rates = []

        class Sees(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                rates.append(float(self.model.optimizer.learning_rate))

        made = lambda: [callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=1), Sees()]
        kind = type("Kind", (Still,), {"callbacks": staticmethod(made)})
        self.train(kind, batches=9, min_validation_period={"batches": 3})
        self.assertEqual(len(set(rates[:6])), 1)
        self.assertLess(rates[6], rates[5])

    @unittest.skipUnless(importlib.util.find_spec("tensorboard"), "TensorBoard is not here")
    def test_tensorboards_files(self):
        board = lambda: [TFKerasTensorBoard(update_freq="batch", write_graph=False), callbacks.TensorBoard(write_graph=False)]
        self.train({"callbacks": staticmethod(board)}, batches=8, min_validation_period={"epochs": 1})
        found = [where for where, _, names in os.walk(self.path("run", "tensorboard")) if any("tfevents" in name for name in names)]
        self.assertEqual({os.path.basename(where) for where in found}, {"tensorboard", "train", "validation"})

    def test_a_callback_that_has_had_enough(self):
        ends = []

        class Enough(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                ends.append(logs["loss"])

            def on_train_batch_end(self, batch, logs=None):
                self.model.stop_training = int(self.model.optimizer.iterations) == 11

        self.train({"callbacks": staticmethod(lambda: [Enough()])}, batches=40)
        self.assertEqual((self.when("val_loss"), self.when("loss")), ([11], [11]))
        self.assertEqual(list(self.checkpoints()), [11])
        # the same with a report that is due after that batch anyway
        self.train({"callbacks": staticmethod(lambda: [Enough()])}, batches=40, run="due", scheduling_unit=11)
        self.assertEqual((self.when("val_loss", "due"), self.when("loss", "due")), ([11], [11]))
        self.assertEqual([self.value("loss", "due")] * 2, [self.value("loss"), ends[-1]])
        self.train({"callbacks": staticmethod(lambda: [Enough()])}, batches=40)
        self.assertEqual(self.when("val_loss"), [11])

    def test_a_trial_that_asks_to_be_stopped(self):
        def build(self):
            class Asks(keras.callbacks.Callback):
                def on_train_batch_begin(callback, batch, logs=None):
                    self.context.set_stop_requested(int(callback.model.optimizer.iterations) == 4)

            return [Asks()]

        self.train(type("Kind", (Trial,), {"keras_callbacks": build}), batches=40)
        self.assertEqual(list(self.checkpoints()), [5])

    def test_what_a_callback_keeps_and_no_checkpoint_has_is_told_once(self):
        class Keeps(keras.callbacks.Callback):
            def on_train_begin(self, logs=None):
                self.losses, self.plain, self.tensors, self.weights = [], [], {}, self.model.trainable_weights

            def on_train_batch_end(self, batch, logs=None):
                self.plain.append(logs["loss"])
                self.tensors["last"] = tf.constant(logs["loss"])

        with self.assertLogs("determined.keras", "WARNING") as seen:
            self.train({"callbacks": staticmethod(lambda: [Keeps()])}, min_checkpoint_period={"batches": 2})
        self.assertEqual(len(seen.output), 1)
        self.assertIn("the attribute 'tensors' of the callback Keeps is not in checkpoints", seen.output[0])

    def test_the_end_of_a_training_has_the_last_metrics(self):
        """Those of the last report and the last validation, wherever in an epoch the training ends."""
        seen = []
        end = keras.callbacks.LambdaCallback(on_train_end=lambda logs: seen.append(dict(logs)))
        # at the end of an epoch; in the middle of one; the same, resumed
        for run, batches, stops in (("epoch", 8, ()), ("middle", 11, ()), ("two", 11, (9,))):
            for stop_after in (*stops, None):
                self.train({"callbacks": staticmethod(lambda: [end])}, batches=batches, run=run, stop_after=stop_after)
            self.assertEqual(seen[-1], {name: value for _, name, value in self.metrics(run=run)})
            self.assertEqual(len(seen[-1]), 4)

    def test_keras_callbacks_must_be_some(self):
        self.refused("keras_callbacks() returned a str", kind=TypeError, trial={"callbacks": staticmethod(lambda: ["a"])})


# ---- the context


class Context(Place):
    def context(self, hparams=None, **config):
        os.environ["DET_HPARAMS"] = json.dumps(hparams or {})
        os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps(config)
        core_context = core.init()
        self.addCleanup(core_context.close)
        return TFKerasTrialContext(core_context)

    def test_what_it_says(self):
        context = self.context({"global_batch_size": 12, "lr": 0.5}, data={"url": "here"})
        self.assertIsInstance(context, det.TrialContext)
        self.assertEqual(context.get_hparam("lr"), 0.5)
        self.assertEqual(context.get_hparams(), {"global_batch_size": 12, "lr": 0.5})
        self.assertEqual(context.get_data_config(), {"url": "here"})
        self.assertEqual(context.get_data_config()["url"], "here")
        self.assertEqual(context.get_experiment_config()["data"], {"url": "here"})
        self.assertEqual((context.get_global_batch_size(), context.get_per_slot_batch_size()), (12, 12))
        self.assertEqual((context.distributed.get_rank(), context.distributed.get_size()), (0, 1))

    def test_wrappers(self):
        context = self.context()
        model = keras.Sequential([keras.layers.Dense(1)])
        self.assertIs(context.wrap_model(context.wrap_model(model)), model)
        optimizer = keras.optimizers.SGD()
        self.assertIs(context.wrap_optimizer(optimizer), optimizer)
        made = tf.data.Dataset.range(4)
        self.assertEqual(len(list(context.wrap_dataset(made, shard_dataset=False))), 4)
        context.distributed = types.SimpleNamespace(rank=0, size=2)
        part = context.wrap_dataset(tf.data.Dataset.range(8))
        again = context.wrap_dataset(part.map(lambda each: each + 1))
        self.assertEqual([int(each) for each in again], [1, 3, 5, 7])
        with self.assertRaisesRegex(TypeError, "expected a keras.Model"):
            context.wrap_model("model")
        with self.assertRaisesRegex(TypeError, "expected a tf.data.Dataset"):
            context.wrap_dataset([1, 2])
        with self.assertRaisesRegex(ValueError, "workers=-1"):
            context.configure_fit(workers=-1)

    def test_seeds_come_first(self):
        first = [self.train({}, run=name, reproducibility={"experiment_seed": 5}) and self.value("val_loss", name)
                 for name in ("a", "b")]
        self.assertEqual(*first)

    def test_session_config(self):
        class Session(Trial):
            def session_config(self):
                return tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1)

        with self.assertLogs("determined.keras", logging.WARNING) as logs:  # TensorFlow is already running here
            self.train(Session, batches=1)
        self.assertIn("comes too late", logs.output[0])


# ---- what cannot be trained


class Wrong(Place):
    def model(self, build):
        return type("Kind", (Trial,), {"build_model": build})

    def test_models(self):
        bare = lambda self: keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(2)])

        def unwrapped(self):
            model = bare(self)
            self.compile(model)
            return model

        self.refused("not compiled", trial=self.model(lambda self: self.context.wrap_model(bare(self))))
        self.refused("not wrapped", trial=self.model(unwrapped))
        self.refused("is there a `return`", kind=TypeError, trial=self.model(lambda self: None))

    def test_no_length(self):
        self.refused("does not say how long to train", searcher={"max_length": None})

    def data(self, sentence, build, kind=ValueError, **arguments):
        self.refused(sentence, kind=kind, trial={"training": staticmethod(build)}, **arguments)

    def test_data(self):
        x, y = numbers(64)
        bare = lambda self: tf.data.Dataset.from_tensor_slices((x, y)).batch(8)

        class Looks:
            __len__ = lambda self: 1
            __getitem__ = lambda self, index: (x, y)

        self.data("tf.data.Dataset that is not wrapped", bare)
        self.data("returned a list; expected a tuple (x, y)", lambda self: [x, y], TypeError)
        self.data("derived from keras.utils.Sequence", lambda self: Looks(), TypeError)
        self.data("returned a NoneType", lambda self: None, TypeError)
        self.data("this tuple has 4 parts", lambda self: (x, y, y, y), TypeError)
        self.data("x has 64, y has 63", lambda self: (x, y[1:]))
        self.data("sample_weights has 3", lambda self: (x, y, y[:3]))
        self.data("samples of 3 as x, but the model's input", lambda self: (x[:, :3], y))
        self.data("samples of 3 as x, but the model's input", lambda self: InMemorySequence(x[:, :3], y, 8))
        self.data("returned 2 arrays as x, but the model has 1 inputs", lambda self: ([x, x], y))
        self.data("there is not one sample", lambda self: (x[:0], y[:0]))
        self.data("there is not one batch", lambda self: dataset(self).take(0))
        self.data("y of build_training_data_loader() is of type str", lambda self: (x, "y"), TypeError)

    def test_configurations(self):
        self.refused("no hyperparameter 'global_batch_size', which a TFKerasTrial needs", hparams={"a": 1})
        self.refused("global_batch_size is 0", hparams={"global_batch_size": 0}, run="zero")
        self.refused("'f1' is not among the validation metrics: val_accuracy, val_loss", run="metric",
                     batches=2, searcher={"metric": "f1"})

    def test_a_checkpoint_of_another_model(self):
        self.train()

        def wider(self):
            model = self.context.wrap_model(keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3)]))
            self.compile(model)
            return model

        self.refused("the checkpoint belongs to another model", trial=self.model(wider), batches=16)


if __name__ == "__main__":
    unittest.main()
