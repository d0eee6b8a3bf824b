# SPDX-License-Identifier: Apache-2.0
"""The Trainer API in this process, offline, and on two ranks of this machine. With a platform:
tests/e2e/3017-keras-trainer.sh."""
import contextlib
import io
import json
import logging
import os
import shutil
import subprocess
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import numpy as np

try:
    import keras
    import tensorflow as tf
except ModuleNotFoundError as missing:
    raise unittest.SkipTest(str(missing))

import determined as det
from determined import _launch, errors
from determined.keras import _data_shards, _trainer
from offline_case import Offline

X = np.random.default_rng(0).random((50, 4)).astype("float32")
Y = X.sum(1, keepdims=True)


class Batches(keras.utils.PyDataset):
    """`count` batches of 6."""

    def __init__(self, count):
        super().__init__()
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return X[6 * index : 6 * index + 6], Y[6 * index : 6 * index + 6]


def small_model(width=3):
    model = keras.Sequential(
        [keras.layers.Input((4,)), keras.layers.Dense(width), keras.layers.Dropout(0.2), keras.layers.Dense(1)]
    )
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    return model


def dataset(size=6):
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(size)


class Calls(keras.callbacks.Callback):
    """Does something at the end of a batch, counted from 1 over the training."""

    def __init__(self, **actions):
        super().__init__()
        self.actions = {int(name[1:]): action for name, action in actions.items()}
        self.done = 0

    def on_train_batch_end(self, batch, logs=None):
        self.done += 1
        if self.done in self.actions:
            self.actions[self.done]()


class Trainer(Offline):
    def setUp(self):
        super().setUp()
        os.environ["DET_OFFLINE_LOGS"] = "0"

    def configure(self, config):
        os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps(config)

    def fit(self, model=None, **arguments):
        """Trains in its own context; returns the model and its history."""
        arguments = {"x": X, "y": Y, "batch_size": 8, "epochs": 2, "verbose": 0, **arguments}
        with det.keras.init() as context:
            model = small_model() if model is None else model
            history = context.fit(model, **arguments)
            self.batches = context._loop.batches
        return model, history.history

    def checkpoints(self):
        folder = self.path("run", "checkpoints")
        found = [os.path.join(folder, name) for name in (os.listdir(folder) if os.path.isdir(folder) else [])]
        return sorted(found, key=lambda path: self.steps_of(path))

    def steps_of(self, path):
        with open(os.path.join(path, "metadata.json")) as file:
            return json.load(file)["steps_completed"]

    def steps(self):
        return [self.steps_of(path) for path in self.checkpoints()]


class OneSlot(Trainer):
    def test_arrays_sequences_datasets_and_generators_are_trained(self):
        forever = ((X[:6], Y[:6]) for _ in iter(int, 1))
        cases = [
            ({"validation_data": (X[:9], Y[:9])}, 14),
            ({"validation_split": 0.2}, 10),
            ({"x": Batches(7), "y": None, "batch_size": None, "validation_data": Batches(2)}, 14),
            ({"x": dataset(), "y": None, "batch_size": None, "validation_data": dataset()}, 18),
            ({"x": forever, "y": None, "batch_size": None, "steps_per_epoch": 3}, 6),
            ({"x": dataset().repeat(), "y": None, "batch_size": None, "steps_per_epoch": 4}, 8),
            ({"sample_weight": np.ones(50), "class_weight": None, "initial_epoch": 1}, 7),
        ]
        for number, (arguments, batches) in enumerate(cases):
            os.environ["DET_OFFLINE_DIR"] = self.path(f"run-{number}")
            _, history = self.fit(**arguments)
            self.assertEqual(self.batches, batches, arguments)
            self.assertEqual("val_loss" in history, number < 4)

    def test_an_unwrapped_dropout_of_everything_can_be_trained(self):
        model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1), keras.layers.Dropout(1.0)])
        with det.keras.init() as context:
            model.compile(context.wrap_optimizer(keras.optimizers.Adam()), "mse")
            before = model.get_weights()
            context.fit(model, x=X, y=Y, verbose=0)
            np.testing.assert_array_equal(before[0], model.get_weights()[0])

    def test_arguments_of_older_keras_reach_the_sequence(self):
        data = Batches(4)
        self.fit(x=data, y=None, batch_size=None, workers=2, use_multiprocessing=False, max_queue_size=3)
        self.assertEqual((data.workers, data.use_multiprocessing, data.max_queue_size), (2, False, 3))

    def test_checkpoint_freq_counts_epochs_or_batches(self):
        self.fit(epochs=5)
        self.assertEqual(self.steps(), [14, 28, 35])
        os.environ["DET_OFFLINE_DIR"] = self.path("other", "run")
        self.folder = self.path("other")
        self.fit(epochs=2, checkpoint_freq=det.Batches(5))
        self.assertEqual(self.steps(), [5, 10, 14])

    def test_a_training_that_was_stopped_goes_on_to_the_bit(self):
        self.configure({"reproducibility": {"experiment_seed": 5}})
        arguments = {"x": dataset(), "y": None, "batch_size": None, "validation_data": (X[:9], Y[:9])}
        wanted, history = self.fit(**arguments)
        os.environ["DET_OFFLINE_DIR"] = self.path("parts")
        with det.keras.init() as context:

            def stop():
                context.core.preempt.should_preempt = lambda auto_ack=True: True

            context.fit(small_model(), **arguments, epochs=2, verbose=0, callbacks=[Calls(_10=stop)])
            self.assertEqual(context._loop.batches, 10)
        found, rest = self.fit(**arguments)
        self.assertEqual(self.batches, 18)
        for mine, other in zip(found.get_weights(), wanted.get_weights()):
            np.testing.assert_array_equal(mine, other)
        self.assertEqual(rest["val_loss"], history["val_loss"])

    def test_validation_comes_when_the_program_or_the_platform_wants_it(self):
        self.configure({"min_validation_period": {"epochs": 2}})
        _, history = self.fit(epochs=6, validation_freq=3, validation_data=(X[:9], Y[:9]))
        self.assertEqual(len(history["val_loss"]), 4)  # after 2, 3, 4 and 6
        os.environ["DET_OFFLINE_DIR"] = self.path("list")
        self.configure({})
        _, history = self.fit(epochs=4, validation_freq=[1, 3], validation_data=(X[:9], Y[:9]))
        self.assertEqual(len(history["val_loss"]), 3)  # after 1 and 3, and at the end

    def test_the_platform_validates_in_the_middle_of_an_epoch(self):
        self.configure({"min_validation_period": {"batches": 5}})
        seen = []

        class Sees(keras.callbacks.Callback):
            def on_test_end(self, logs=None):
                seen.append(sorted(logs))

        self.fit(validation_data=(X[:9], Y[:9]), callbacks=[Sees()])
        self.assertEqual(seen, [["loss", "mae"]] * 4)  # after 5, 7, 10 and 14

    def test_the_configuration_decides_how_long(self):
        self.configure({"searcher": {"max_length": {"batches": 10}}})
        self.fit(epochs=1)
        self.assertEqual(self.batches, 10)
        os.environ["DET_OFFLINE_DIR"] = self.path("epochs")
        self.configure({"searcher": {"max_length": {"epochs": 2}}})
        self.fit(epochs=5)
        self.assertEqual(self.batches, 14)

    def test_the_callbacks_also_serve_a_fit_of_ones_own(self):
        with det.keras.init() as context:
            history = small_model().fit(
                X, Y, epochs=4, verbose=0, validation_data=(X[:9], Y[:9]),
                validation_freq=context.ValidationFreq(),
                callbacks=[context.DeterminedCallback(None, 2, None)],
            )
        self.assertEqual(len(history.history["val_loss"]), 2)
        self.assertEqual(self.steps(), [8])

    def own_fit(self, arguments, **fit):
        """A model.fit() of the program's own with the callback; returns the number of batches of each validation."""
        seen = []

        class Counts(keras.callbacks.Callback):
            def on_test_begin(self, logs=None):
                seen.append(0)

            def on_test_batch_end(self, batch, logs=None):
                seen[-1] += 1

        fit = {"epochs": 2, "verbose": 0, "batch_size": 8, "validation_data": (X, Y), **fit}
        with det.keras.init() as context:
            loop = context.DeterminedCallback(*arguments)
            fit.setdefault("validation_freq", context.ValidationFreq())
            small_model().fit(X, Y, callbacks=[Counts(), loop], **fit)
        return seen

    def test_its_callback_decides_how_much_a_fit_of_ones_own_validates(self):
        for arguments, fit, wanted in (
            ((), {}, [7, 7]),
            ((3, 1, None), {}, [3, 3]),
            ((None, 1, 25), {}, [2, 2]),
            ((1, [2], 25), {}, [1]),
            ((2, 1, None), {"validation_data": dataset()}, [2, 2]),
            ((2, 1, None), {"validation_data": None, "validation_split": 0.5}, [2, 2]),
            ((), {"validation_steps": 4}, [4, 4]),
            ((4, 1, None), {"validation_steps": 4}, [4, 4]),
        ):
            with self.subTest(arguments=arguments, fit=list(fit)):
                os.environ["DET_OFFLINE_DIR"] = self.path(str(wanted) + str(arguments) + str(list(fit)))
                self.assertEqual(self.own_fit(arguments, **fit), wanted)

    def test_its_callback_validates_within_epochs_of_a_fit_of_ones_own(self):
        self.configure({"min_validation_period": {"batches": 5}})
        self.assertEqual(self.own_fit((3, 1, None)), [3, 3, 3, 3])  # after 5, 7, 10 and 14

    def test_a_validation_that_the_callback_cannot_have_is_refused(self):
        for arguments, fit, sentence in (
            ((0, 1, None), {}, "validation_steps is 0; expected a whole number of at least 1"),
            ((None, 1, "8"), {}, "validation_batch_size is '8'; expected a whole number of at least 1"),
            ((3, 1, None), {"validation_steps": 4}, "validation_steps is 3 in DeterminedCallback.. and 4 in fit"),
            ((None, 1, 8), {"validation_batch_size": 9}, "validation_batch_size is 8 in .* and 9 in fit"),
            ((None, 2, None), {"validation_freq": 1}, "validation_freq is 2 in .* give fit.. validation_freq=context.V"),
            ((3, 1, None), {"validation_data": None}, "validation_steps is 3, but fit.. has no validation data"),
            ((None, 1, 8), {"validation_data": dataset()}, "validation_batch_size is 8, but .* has batches"),
            ((None, 1, 8), {"validation_data": Batches(2)}, "validation_batch_size is 8, but .* has batches"),
        ):
            with self.subTest(sentence), self.assertRaisesRegex(ValueError, sentence):
                os.environ["DET_OFFLINE_DIR"] = self.path(sentence)
                self.own_fit(arguments, **fit)

    def test_every_validation_comes_with_a_report_of_training(self):
        for frequency, wanted in ((2, [14, 28]), ([1, 3], [7, 21, 28]), (range(3, 4), [21, 28])):
            with self.subTest(frequency), mock.patch.object(det.core.TrainContext, "report_training_metrics") as report:
                os.environ["DET_OFFLINE_DIR"] = self.path(str(wanted))
                _, history = self.fit(epochs=4, validation_freq=frequency, validation_data=(X[:9], Y[:9]))
            told = {call.args[0]: call.args[1]["loss"] for call in report.call_args_list}
            self.assertEqual([call.args[0] for call in report.call_args_list], wanted)
            self.assertEqual(list(told.values()), [history["loss"][batches // 7 - 1] for batches in wanted])

    def test_a_model_checkpoint_of_the_program_replaces_ours(self):
        mine = keras.callbacks.ModelCheckpoint(self.path("mine-{epoch}.keras"))
        model, _ = self.fit(epochs=3, checkpoint_freq=det.Batches(1), callbacks=[mine])
        self.assertEqual(self.steps(), [7, 14, 21])
        last = self.checkpoints()[-1]
        self.assertTrue(os.path.exists(os.path.join(last, "mine-3.keras")))
        self.assertFalse(os.path.exists(os.path.join(last, "mine-2.keras")))
        copy = keras.saving.load_model(os.path.join(last, "mine-3.keras"))
        np.testing.assert_array_equal(copy.get_weights()[0], model.get_weights()[0])
        self.assertIs(mine.model, model)
        self.assertNotIn("set_model", vars(mine))

    def test_a_model_checkpoint_may_count_batches_and_weights_only(self):
        mine = keras.callbacks.ModelCheckpoint(self.path("mine.weights.h5"), save_freq=4, save_weights_only=True)
        self.fit(epochs=1, callbacks=[mine])
        self.assertEqual(self.steps(), [4, 7])
        self.assertTrue(os.path.exists(os.path.join(self.checkpoints()[0], "mine.weights.h5")))

    def test_a_whole_model_comes_out_of_a_checkpoint(self):
        model, _ = self.fit()
        uuid = os.path.basename(self.checkpoints()[-1])
        with det.keras.init() as context:
            loaded = context.load_model_from_checkpoint(uuid)
            np.testing.assert_array_equal(loaded.predict(X, verbose=0), model.predict(X, verbose=0))
            self.assertEqual(int(loaded.optimizer.iterations), 14)
            loaded.evaluate(X, Y, verbose=0)
            with self.assertRaises(errors.NotFoundError):
                context.load_model_from_checkpoint("00000000-0000-4000-8000-000000000000")
            with self.assertRaisesRegex(TypeError, "id of a trial"):
                context.load_model_from_checkpoint(None)
            with self.assertRaises(errors.DetError):  # no master knows a trial
                context.load_model_from_checkpoint(7)

    def test_model_optimizer_and_loss_come_from_the_source(self):
        model, _ = self.fit(model=small_model(7))
        weights = model.get_weights()
        self.configure({"searcher": {"source_trial_id": 3}})
        with det.keras.init() as context:
            context.core._values["trial_id"] = 9
            with mock.patch.object(_trainer.TrainerContext, "_continue_id", "trial 9"):
                with self.assertLogs("determined.keras", logging.INFO) as said:
                    own = small_model(3)
                    history = context.fit(own, x=X, y=Y, batch_size=8, epochs=1, verbose=0)
        self.assertTrue(any("come from trial 3" in line for line in said.output), said.output)
        self.assertTrue(any("history.model" in line for line in said.output), said.output)
        self.assertEqual(history.model.get_weights()[0].shape, weights[0].shape)
        self.assertEqual(int(history.model.optimizer.iterations), 21)
        self.assertEqual(own.get_weights()[0].shape, (4, 3))

    def test_predicting_while_training_disturbs_nothing(self):
        self.configure({"reproducibility": {"experiment_seed": 5}})
        wanted, _ = self.fit()
        os.environ["DET_OFFLINE_DIR"] = self.path("again")
        with det.keras.init() as context:
            model = small_model()
            shapes = []
            predict = lambda: shapes.append(context.predict(model, X, verbose=0).shape)  # noqa: E731
            context.fit(model, x=X, y=Y, batch_size=8, epochs=2, verbose=0, callbacks=[Calls(_3=predict, _7=predict)])
        self.assertEqual(shapes, [(50, 1)] * 2)
        np.testing.assert_array_equal(wanted.get_weights()[0], model.get_weights()[0])

    def test_seeds_are_the_trials(self):
        self.configure({"reproducibility": {"experiment_seed": 5}})
        first = []
        for folder in ("a", "b"):
            os.environ["DET_OFFLINE_DIR"] = self.path(folder)
            with det.keras.init():
                first.append((np.random.random(), float(keras.random.normal((1,))[0])))
        self.assertEqual(*first)


class Guide(Trainer):
    def test_its_first_script_runs_on_a_laptop(self):
        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, "../../../docs/guide/keras-trainer.md")) as file:
            script = file.read().split("```python\n")[1].split("```")[0]
        names = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(script, "keras-trainer.md", "exec"), names)
        self.assertEqual(self.steps(), [28, 56, 84])
        self.assertEqual(names["train_context"].info, None)


class Profiler(Trainer):
    """Whether the profiler is on is asked at the beginning of every batch."""

    def profiled(self, callback, config=None, epochs=2):
        self.configure({"profiling": config or {}})
        on = []

        class Asks(keras.callbacks.Callback):
            def on_train_batch_begin(self, batch, logs=None):
                on.append(state["on"])

            def on_test_begin(self, logs=None):
                on.append(("validation", state["on"]))

        state = {"on": False}
        with det.keras.init() as context:
            profiler = context.core.profiler
            profiler.on = lambda **_: state.update(on=True)
            profiler.off = lambda: state.update(on=False)
            context.fit(
                small_model(), x=X, y=Y, batch_size=10, epochs=epochs, verbose=0,
                validation_data=(X[:9], Y[:9]), callbacks=[callback, Asks()],
            )
        self.assertFalse(state["on"])
        if callback.profiling_end is not None:
            self.assertNotIn(("validation", True), on)
        return [number for number, each in enumerate(each for each in on if each in (True, False)) if each]

    def test_it_measures_from_the_first_to_before_the_last_batch(self):
        callback = det.keras.DeterminedProfilerCallback(True, 2, 5, None)
        self.assertEqual(self.profiled(callback), [2, 3, 4])

    def test_nothing_is_measured_without_a_word(self):
        self.assertEqual(self.profiled(det.keras.DeterminedProfilerCallback(None, 0, 5)), [])
        os.environ["DET_OFFLINE_DIR"] = self.path("no")
        config = {"enabled": True}
        self.assertEqual(self.profiled(det.keras.DeterminedProfilerCallback(False), config), [])

    def test_none_takes_the_configuration(self):
        config = {"enabled": True, "begin_on_batch": 3, "end_after_batch": 4, "sync_timings": True}
        self.assertEqual(self.profiled(det.keras.DeterminedProfilerCallback(), config), [3, 4])
        os.environ["DET_OFFLINE_DIR"] = self.path("to-the-end")
        callback = det.keras.DeterminedProfilerCallback(profiling_start=8)
        self.assertEqual(self.profiled(callback, {"enabled": True}), [8, 9])

    def test_nonsense_is_refused(self):
        with self.assertRaisesRegex(ValueError, "profiling_start is -1"):
            det.keras.DeterminedProfilerCallback(True, -1, 2)
        with self.assertRaisesRegex(ValueError, "before it begins"):
            self.profiled(det.keras.DeterminedProfilerCallback(True, 5, 2))
        with self.assertRaisesRegex(RuntimeError, "det.keras.init"):
            small_model().fit(X, Y, verbose=0, callbacks=[det.keras.DeterminedProfilerCallback(True)])


class BadInput(Trainer):
    def refused(self, kind, sentence, model=None, **arguments):
        arguments = {"x": X, "y": Y, "verbose": 0, **arguments}
        with self.assertRaisesRegex(kind, sentence):
            with det.keras.init() as context:
                context.fit(small_model() if model is None else model, **arguments)

    def test_fit_says_what_is_wrong(self):
        plain = keras.Sequential([keras.layers.Dense(1)])
        self.refused(ValueError, "not compiled", model=plain)
        self.refused(TypeError, "expected a Keras model", model="model")
        self.refused(TypeError, "checkpoint_freq is Ellipsis", checkpoint_freq=...)
        self.refused(ValueError, "validation_freq is 0", validation_freq=0)
        self.refused(ValueError, "batch_size is 0", batch_size=0)
        self.refused(ValueError, "never ends", x=dataset().repeat(), y=None)
        self.refused(ValueError, "validation_split is 1.0", validation_split=1.0)
        self.refused(TypeError, "callbacks has 'x'", callbacks=["x"])
        self.refused(ValueError, "arrays of 40 and of 50 records", y=Y[:40], validation_split=0.2)
        self.refused(ValueError, "empty", x=dataset().take(0), y=None)

    def test_a_second_fit_is_a_mistake(self):
        with self.assertRaisesRegex(RuntimeError, "fit.. was already called"):
            with det.keras.init() as context:
                model = small_model()
                context.fit(model, x=X, y=Y, verbose=0)
                context.fit(model, x=X, y=Y, verbose=0)

    def test_a_checkpoint_of_another_model_is_named(self):
        self.fit()
        self.refused(ValueError, "4 x 3.*4 x 7|4 x 7.*4 x 3", model=small_model(7))

    def test_the_programs_own_exception_comes_through(self):
        def fail():
            raise KeyError("mine")

        self.refused(KeyError, "mine", callbacks=[Calls(_2=fail)])


class Alike:
    """Ranks, as the functions that share data see them."""

    def __init__(self, rank, size):
        self.rank, self.size = rank, size

    def allgather(self, value):
        return self.values


class Sharing(unittest.TestCase):
    def parts(self, data, size=2):
        return [_data_shards.wrap_dataset(data, Alike(rank, size)) for rank in range(size)]

    def numbers(self, data):
        return [np.ravel(each).tolist() for each in data.as_numpy_iterator()]

    def test_a_dataset_is_shared_by_batches_and_only_once(self):
        data = tf.data.Dataset.range(10).batch(2)
        one, two = self.parts(data)
        self.assertEqual(self.numbers(one), [[0, 1], [4, 5], [8, 9]])
        self.assertEqual(self.numbers(two), [[2, 3], [6, 7]])
        self.assertIs(_data_shards.wrap_dataset(one, Alike(0, 2)), one)
        later = one.map(lambda x: x + 1).prefetch(1)
        self.assertIs(_data_shards.wrap_dataset(later, Alike(0, 2)), later)

    def test_fewer_batches_than_ranks_are_split(self):
        one, two = self.parts(tf.data.Dataset.range(5).batch(5))
        self.assertEqual(self.numbers(one), [[0, 2, 4]])
        self.assertEqual(self.numbers(two), [[1, 3]])
        with self.assertRaisesRegex(ValueError, "fewer elements"):
            self.parts(tf.data.Dataset.range(1))

    def test_all_ranks_train_the_least_number_of_batches(self):
        for data in (tf.data.Dataset.range(5), tf.data.Dataset.range(9).filter(lambda x: x < 5)):
            dist = Alike(0, 2)
            dist.values = [3, 2]
            part = _data_shards.training_part(data, None, dist)
            self.assertEqual(len(self.numbers(part)), 2)
        dist.values = [1, 0]
        with self.assertRaisesRegex(ValueError, "no batch for some of the 2 slots"):
            _data_shards.training_part(data, None, dist)

    def test_a_validation_leaves_nothing_out(self):
        for data, read in (
            (np.arange(5), lambda part: part.tolist()),
            (Batches(5), lambda part: [part[i][0][0, 0] for i in range(len(part))]),
            (Batches(1), lambda part: part[0][0][:, 0].tolist()),
            ((each for each in range(5)), list),
        ):
            if hasattr(data, "__next__"):
                parts = [list(range(5))[rank::2] for rank in range(2)]
                mine = [list(_data_shards.validation_part(iter(range(5)), Alike(rank, 2))) for rank in range(2)]
                self.assertEqual(mine, parts)
                continue
            parts = [read(_data_shards.validation_part(data, Alike(rank, 2))) for rank in range(2)]
            whole = read(data)
            self.assertEqual(sorted(parts[0] + parts[1]), sorted(whole))
            self.assertEqual(len(parts[0]) + len(parts[1]), len(whole))
        with self.assertRaisesRegex(ValueError, "fewer than the 2 slots"):
            _data_shards.validation_part(np.arange(1), Alike(0, 2))

    def test_generators_end_for_all_ranks_at_the_same_step(self):
        parts = [list(_data_shards.training_part(iter(range(5)), None, Alike(rank, 2))) for rank in range(2)]
        self.assertEqual(parts, [[0, 2], [1, 3]])

    def test_strange_data_cannot_be_shared(self):
        with self.assertRaisesRegex(TypeError, "of type str cannot be shared"):
            _data_shards.training_part("data", None, Alike(0, 2))


RANKS = """
import json
import determined as det
import numpy as np, keras, tensorflow as tf

X = np.random.default_rng(0).random((50, 4)).astype("float32")
Y = X.sum(1, keepdims=True)
data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(6)  # 9 batches: 5 and 4
with det.keras.init() as context:
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    history = context.fit(model, x=data, epochs=2, verbose=0, validation_data=(X[:9], Y[:9]))
    print(json.dumps({
        "batches": context._loop.batches,
        "history": history.history,
        "weights": [each.tolist() for each in model.get_weights()],
        "whole": model.evaluate(X[:9], Y[:9], verbose=0, return_dict=True),
        "predicted": [
            bool(np.array_equal(context.predict(model, some, verbose=0), model.predict(X, verbose=0)))
            for some in (X, data.map(lambda x, y: x))
        ],
    }))
"""


@unittest.skipIf(shutil.which("mpirun") is None, "Open MPI is not here")
class TwoRanks(Trainer):
    def test_they_train_one_model_and_predict_in_order(self):
        command = [_launch.find_det(), "launch", "mpi", "-n", "2", "--", sys.executable, self.write("train.py", RANKS)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:] + done.stdout[-2000:])
        found = [line.split("] ", 1)[1] for line in done.stdout.split("\n") if "{" in line]
        one, two = map(json.loads, found)
        self.assertEqual(one["batches"], 8)
        self.assertEqual(one["weights"], two["weights"])
        self.assertEqual(one["history"], two["history"])
        self.assertEqual(one["predicted"] + two["predicted"], [True] * 4)
        # metrics are those of all the data, however it was shared
        self.assertAlmostEqual(one["history"]["val_loss"][-1], one["whole"]["loss"], 5)
        self.assertAlmostEqual(one["history"]["val_mae"][-1], one["whole"]["mae"], 5)


if __name__ == "__main__":
    unittest.main()
