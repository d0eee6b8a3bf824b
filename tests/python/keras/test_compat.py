# SPDX-License-Identifier: Apache-2.0
"""Programs written for Keras 2 run, with the same numbers and names."""
import json
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
import unittest
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
if os.environ.get("TF_USE_LEGACY_KERAS", "") == "1":
    raise unittest.SkipTest("this is about Keras 3")
try:
    import keras
    import numpy as np
except ImportError as error:
    raise unittest.SkipTest(f"no Keras: {error}")
import determined.keras  # noqa: F401
from determined.keras import _compat, _compat_model, _compat_optimizer

IS_TENSORFLOW = keras.backend.backend() == "tensorflow"


def run(program, **environment):
    """Another process, because the order of imports matters; returns its output by line."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **environment}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=env, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr[-3000:])
    return done.stdout.splitlines()


def small(units=1, **compiled):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(units)])
    if compiled:
        model.compile(**compiled)
    return model


def data(count=16):
    x = np.random.default_rng(0).normal(size=(count, 2)).astype("float32")
    return x, (x @ [[1.0], [2.0]]).astype("float32")


class Batches:
    """A sequence by duck typing only."""

    def __init__(self, size=4):
        self.x, self.y = data()
        self.size, self.ends = size, 0

    def __len__(self):
        return len(self.x) // self.size

    def __getitem__(self, index):
        part = slice(index * self.size, (index + 1) * self.size)
        return self.x[part], self.y[part]

    def on_epoch_end(self):
        self.ends += 1


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        _compat._said.clear()
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", UserWarning)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def says(self, text, times=1):
        """A context in which exactly so many lines of the log contain the text."""
        return _Says(self, text, times)


class _Says:
    def __init__(self, case, text, times):
        self.case, self.text, self.times = case, text, times
        self.log = case.assertLogs("determined.keras", "WARNING") if times else case.assertNoLogs("determined.keras")

    def __enter__(self):
        self.seen = self.log.__enter__()

    def __exit__(self, *error):
        self.log.__exit__(*error)
        if self.times and not error[0]:
            lines = [line for line in self.seen.output if self.text in line]
            self.case.assertEqual(len(lines), self.times, self.seen.output)
            self.case.assertTrue(all("\n" not in line and "today: " in line for line in lines))


class Optimizers(Case):
    NAMES = ("Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "Ftrl", "Lion", "Nadam", "RMSprop", "SGD")

    def test_lr_is_the_learning_rate_of_every_optimizer(self):
        for name in self.NAMES:
            with self.subTest(name):
                optimizer = getattr(keras.optimizers, name)(lr=0.25)
                self.assertEqual(float(optimizer.learning_rate), 0.25)

    def test_it_says_so_once(self):
        with self.says("lr= of optimizers is of Keras 2", 1):
            keras.optimizers.SGD(lr=0.1)
            keras.optimizers.Adam(lr=0.1)

    def test_a_whole_number_is_a_learning_rate(self):
        self.assertEqual(float(keras.optimizers.SGD(lr=1).learning_rate), 1.0)
        self.assertEqual(float(keras.optimizers.SGD(np.float32(0.5)).learning_rate), 0.5)

    def test_decay_of_nadam_never_was_one_of_the_rate(self):
        optimizer = keras.optimizers.Nadam(learning_rate=0.5, decay=0.004)
        self.assertIsNone(_compat_optimizer.first_rate(optimizer))

    def test_decay_divides_by_one_and_the_iterations_so_far(self):
        for name in set(self.NAMES) - {"Nadam"}:
            with self.subTest(name):
                optimizer = getattr(keras.optimizers, name)(learning_rate=0.5, decay=0.1)
                variable = keras.Variable(np.ones(3, "float32"))
                optimizer.build([variable])
                for step in range(5):
                    rate = float(keras.ops.convert_to_numpy(optimizer._get_current_learning_rate()))
                    self.assertAlmostEqual(rate, 0.5 / (1 + 0.1 * step), places=6)
                    optimizer.apply([keras.ops.ones((3,))])

    def test_weights_move_by_the_decayed_rate(self):
        optimizer = keras.optimizers.SGD(lr=0.5, decay=0.25)
        variable = keras.Variable(np.zeros(1, "float32"))
        optimizer.build([variable])
        for step in range(6):
            optimizer.apply([keras.ops.ones((1,))])
        expected = -sum(0.5 / (1 + 0.25 * step) for step in range(6))
        self.assertAlmostEqual(float(keras.ops.convert_to_numpy(variable)[0]), expected, places=5)

    def test_a_decay_of_nothing_is_no_schedule(self):
        with self.assertNoLogs("determined.keras"):
            for nothing in (0, 0.0, None):
                optimizer = keras.optimizers.SGD(0.5, decay=nothing)
                self.assertNotIsInstance(optimizer._learning_rate, keras.optimizers.schedules.LearningRateSchedule)

    def test_decay_with_a_schedule_or_below_zero_is_refused(self):
        schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
        self.assertRaisesRegex(ValueError, "put the decay into the schedule", keras.optimizers.SGD, schedule, decay=0.1)
        self.assertRaisesRegex(ValueError, "decay is -1; expected 0 or more", keras.optimizers.SGD, 0.1, decay=-1)

    @unittest.skipIf(keras.backend.backend() == "jax", "JAX compiles the rate in")
    def test_the_undecayed_rate_can_be_set_while_training(self):
        optimizer = keras.optimizers.SGD(lr=0.5, decay=1.0)
        model = small(optimizer=optimizer, loss="mse")
        x, y = data(4)
        model.fit(x, y, batch_size=4, verbose=0)
        optimizer.lr = 0.25
        self.assertEqual(float(keras.ops.convert_to_numpy(optimizer.lr)), 0.25)
        self.assertEqual(float(keras.ops.convert_to_numpy(optimizer.learning_rate)), 0.25)
        before = model.get_weights()[1][0]
        gradient = float(np.mean(2 * (model.predict(x, verbose=0) - y)))
        model.fit(x, y, batch_size=4, verbose=0)
        self.assertAlmostEqual(float(model.get_weights()[1][0]), float(before - 0.25 / 2 * gradient), places=5)

    @unittest.skipIf(keras.backend.backend() == "jax", "JAX compiles the rate in")
    def test_reduce_on_plateau_and_decay_go_together(self):
        model = small(optimizer=keras.optimizers.SGD(lr=0.5, decay=0.1), loss="mse")
        x, y = data()
        plateau = keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=1, min_delta=1e9)
        model.fit(x, y, epochs=3, verbose=0, callbacks=[plateau])
        self.assertEqual(float(keras.ops.convert_to_numpy(model.optimizer.lr)), 0.5 / 4)

    def test_lr_of_an_optimizer_without_decay_can_be_read_and_set(self):
        optimizer = keras.optimizers.SGD(0.5)
        with self.says("optimizer.lr", 1):
            self.assertEqual(float(keras.ops.convert_to_numpy(optimizer.lr)), 0.5)
            optimizer.lr = 0.25
        self.assertEqual(float(keras.ops.convert_to_numpy(optimizer.learning_rate)), 0.25)

    def test_weights_can_be_had_and_given_back(self):
        first = small(optimizer=keras.optimizers.SGD(lr=0.1, momentum=0.9), loss="mse")
        x, y = data()
        first.fit(x, y, verbose=0)
        weights = first.optimizer.get_weights()
        second = keras.optimizers.SGD(0.5, momentum=0.9)
        second.build(first.trainable_variables)
        second.set_weights(weights)
        for one, other in zip(weights, second.get_weights()):
            np.testing.assert_array_equal(one, other)

    def test_legacy_ones_are_todays(self):
        for name in ("Adadelta", "Adagrad", "Adam", "Adamax", "Ftrl", "Nadam", "Optimizer", "RMSprop", "SGD"):
            self.assertIs(getattr(keras.optimizers.legacy, name), getattr(keras.optimizers, name))
        self.assertRaisesRegex(AttributeError, "'Nothing'", lambda: keras.optimizers.legacy.Nothing)

    def test_what_is_saved_is_the_schedule_itself(self):
        optimizer = keras.optimizers.RMSprop(lr=0.5, decay=0.25)
        saved = keras.optimizers.serialize(optimizer)
        rate = saved["config"]["learning_rate"]
        self.assertEqual((rate["module"], rate["class_name"]), ("keras.optimizers.schedules", "InverseTimeDecay"))
        self.assertEqual(
            {k: rate["config"][k] for k in ("initial_learning_rate", "decay_steps", "decay_rate")},
            {"initial_learning_rate": 0.5, "decay_steps": 1, "decay_rate": 0.25},
        )
        json.dumps(saved)
        again = keras.optimizers.deserialize(saved)
        self.assertIs(type(again._learning_rate), keras.optimizers.schedules.InverseTimeDecay)
        copied = pickle.loads(pickle.dumps(optimizer._learning_rate))
        self.assertEqual(copied.get_config(), optimizer._learning_rate.get_config())

    def test_the_first_rate_is_no_variable_of_the_optimizer(self):
        shimmed = keras.optimizers.SGD(lr=0.5, decay=0.25)
        plain = keras.optimizers.SGD(keras.optimizers.schedules.InverseTimeDecay(0.5, 1, 0.25))
        self.assertEqual(len(shimmed.variables), len(plain.variables))
        self.assertIsNone(_compat_optimizer.first_rate(plain))


class Saved(Case):
    """A model with a shimmed optimizer trains the same without this package."""

    PLAIN = """
        import sys, json, keras, numpy as np
        assert not any(name.startswith("determined") for name in sys.modules)
        model = keras.models.load_model({path!r})
        x, y = np.load({data!r}).values()
        model.fit(x, y, batch_size=4, epochs=1, shuffle=False, verbose=0)
        print(json.dumps([int(model.optimizer.iterations.numpy())] + [w.tolist() for w in model.get_weights()]))
    """

    def test_a_file_loads_in_plain_keras_and_goes_on_the_same(self):
        model = small(optimizer=keras.optimizers.SGD(lr=0.1, decay=0.5, momentum=0.9), loss="mse")
        x, y = data()
        np.savez(self.path("data.npz"), x=x, y=y)
        model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
        model.save(self.path("m.keras"))
        model.fit(x, y, batch_size=4, epochs=1, shuffle=False, verbose=0)
        plain = json.loads(run(self.PLAIN.format(path=self.path("m.keras"), data=self.path("data.npz")))[-1])
        self.assertEqual(plain[0], 12)
        for ours, theirs in zip(model.get_weights(), plain[1:]):
            np.testing.assert_array_equal(ours, np.array(theirs, "float32"))

    def test_models_can_be_pickled(self):
        model = small(optimizer=keras.optimizers.Adam(lr=0.5, decay=0.25), loss="mse")
        x, y = data()
        model.fit(x, y, verbose=0)
        again = pickle.loads(pickle.dumps(model))
        self.assertEqual(again.optimizer.get_config(), model.optimizer.get_config())
        np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))

    def test_a_loaded_model_is_compiled(self):
        model = small(optimizer="sgd", loss="mse")
        model.save(self.path("m.keras"))
        self.assertTrue(keras.models.load_model(self.path("m.keras")).compiled)

    def test_an_h5_file_leaves_the_optimizer_where_it_was(self):
        model = small(optimizer=keras.optimizers.SGD(0.5), loss="mse")
        model.save(self.path("m.h5"))
        model.save(self.path("m.keras"))
        self.assertEqual(keras.models.load_model(self.path("m.keras")).optimizer.name, model.optimizer.name)


class Names(Case):
    def test_sequences_have_their_old_places(self):
        with self.says("keras.Sequence", 1):
            self.assertIs(keras.Sequence, keras.utils.PyDataset)
            self.assertIs(keras.Sequence, keras.utils.Sequence)
        from keras.utils.data_utils import Sequence
        from keras.utils.np_utils import to_categorical

        self.assertIs(Sequence, keras.utils.PyDataset)
        self.assertIs(to_categorical, keras.utils.to_categorical)

    def test_layers_have_their_old_places(self):
        from keras.layers.core import Dense
        from keras.layers.normalization import BatchNormalization

        self.assertIs(Dense, keras.layers.Dense)
        self.assertIs(BatchNormalization, keras.layers.BatchNormalization)

    def test_callbacks_in_prose_are_a_callback(self):
        self.assertIs(keras.callbacks.Callbacks, keras.callbacks.Callback)

    def test_what_never_was_is_still_not(self):
        self.assertFalse(hasattr(keras, "Nothing"))
        self.assertFalse(hasattr(keras.backend, "nothing"))
        with self.assertRaises(ImportError):
            from keras.utils.np_utils import nothing  # noqa: F401

    def test_the_backend_reads_and_sets_variables(self):
        variable = keras.Variable(1.5)
        modules = [keras.backend]
        if IS_TENSORFLOW:
            import tensorflow as tf

            modules.append(tf.keras.backend)
        for backend in modules:
            backend.set_value(variable, 2.5)
            self.assertEqual(backend.get_value(variable), 2.5)
            self.assertEqual(backend.batch_get_value([variable]), [2.5])
            backend.batch_set_value([(variable, 1.5)])
            self.assertEqual((backend.get_value(variable), backend.get_value(3), backend.learning_phase()), (1.5, 3, 0))
            backend.set_learning_phase(1)

    @unittest.skipUnless(IS_TENSORFLOW, "these use TensorFlow")
    def test_the_backend_has_what_tf_keras_has(self):
        import tensorflow as tf

        with self.says("keras.backend.mean", 1):
            self.assertEqual(float(keras.backend.mean(tf.constant([1.0, 3.0]))), 2.0)

    @unittest.skipUnless(IS_TENSORFLOW, "these are TensorFlow's names")
    def test_either_import_may_come_first(self):
        program = """
            import logging; logging.disable(logging.CRITICAL)
            {first}
            {second}
            import tensorflow as tf, keras
            assert tf.keras.optimizers.legacy.SGD is keras.optimizers.SGD
            assert legacy.Adam is keras.optimizers.Adam
            assert RMSprop is keras.optimizers.RMSprop
            assert tf.keras.Sequence is keras.utils.PyDataset
            assert tf.keras.callbacks.Callbacks is keras.callbacks.Callback
            assert load_model is keras.models.load_model is tf.keras.models.load_model
            assert load_model.__module__.startswith("determined."), load_model.__module__
            from tensorflow.keras.callbacks import Callbacks
            from tensorflow.keras.backend import get_value
            assert get_value(RMSprop(lr=0.5, decay=0.5).lr) == 0.5
            print("good")
        """
        ours = "import determined.keras"
        theirs = (
            "from tensorflow.keras.optimizers import legacy; "
            "from tensorflow.keras.optimizers.legacy import RMSprop; from tensorflow.keras.models import load_model"
        )
        self.assertEqual(run(program.format(first=ours, second=theirs))[-1], "good")
        self.assertEqual(run(program.format(first=theirs, second=ours))[-1], "good")


class Runs(Case):
    def test_compile_takes_metrics_by_their_place(self):
        for metrics in (["mae"], ["mae", keras.metrics.MeanAbsoluteError(name="a")], [keras.losses.mean_absolute_error], {"dense": "mae"}):
            model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="dense")])
            model.compile("sgd", "mse", metrics)
            x, y = data()
            self.assertGreaterEqual(len(model.fit(x, y, verbose=0).history), 2)

    def test_compile_takes_weights_after_metrics(self):
        a = keras.Input((2,))
        model = keras.Model(a, [keras.layers.Dense(1, name="one")(a), keras.layers.Dense(1, name="two")(a)])
        with self.says("metrics as third argument", 1):
            model.compile("sgd", ["mse", "mse"], [["mae"], ["mae"]], [0.0, 2.0])
        x, y = data()
        logs = model.evaluate(x, [y, y], verbose=0, return_dict=True)
        self.assertAlmostEqual(logs["loss"], 2 * logs["two_loss"], places=4)
        model.compile("sgd", ["mse", "mse"], None, [0.0, 2.0], None, True)
        self.assertTrue(model.run_eagerly)
        self.assertAlmostEqual(model.evaluate(x, [y, y], verbose=0, return_dict=True)["loss"], logs["loss"], places=4)

    def test_compile_as_of_today_is_left_alone(self):
        a = keras.Input((2,))
        model = keras.Model(a, [keras.layers.Dense(1, name="one")(a), keras.layers.Dense(1, name="two")(a)])
        with self.says("", 0):
            model.compile("sgd", ["mse", "mse"], [0.0, 2.0], [["mae"], ["mae"]])
            model.compile("sgd", ["mse", "mse"], None, [["mae"], ["mae"]])
            model.compile("sgd", "mse", metrics=["mae"])
            model.compile("sgd", "mse")

    def test_arguments_of_old_are_dropped(self):
        model = small()
        with self.says("experimental_run_tf_function= of model.compile()", 1):
            model.compile("sgd", "mse", experimental_run_tf_function=False)
        self.assertRaises(TypeError, model.compile, "sgd", "mse", nothing=1)

    def test_a_sequence_by_likeness_trains_as_a_dataset_does(self):
        results = []
        for make in (lambda: Batches(), lambda: _compat_model.LikeSequence(Batches())):
            model = small(optimizer="sgd", loss="mse")
            model.fit(make(), epochs=2, shuffle=False, verbose=0, validation_data=make())
            results.append((model.evaluate(make(), verbose=0), model.predict(make(), verbose=0).tolist()))
        self.assertEqual(*results)
        batches = Batches()
        small(optimizer="sgd", loss="mse").fit(x=batches, epochs=2, verbose=0)
        self.assertGreaterEqual(batches.ends, 2)

    def test_what_keras_knows_is_no_sequence_by_likeness(self):
        for thing in (np.ones(3), [1], (1,), {"a": 1}, "text", range(3), _compat_model.LikeSequence(Batches()), iter([1]), 3):
            self.assertIs(_compat_model.as_dataset(thing), thing)

    @unittest.skipUnless(IS_TENSORFLOW, "TensorFlow's private folder")
    def test_the_sequence_of_tensorflows_private_folder_is_one(self):
        from tensorflow.python.keras.utils.data_utils import Sequence

        class Own(Batches, Sequence):
            pass

        model, batches = small(optimizer="sgd", loss="mse"), Own()
        before = [weights.copy() for weights in model.get_weights()]
        model.fit(batches, verbose=0)
        self.assertGreaterEqual(batches.ends, 1)
        self.assertFalse(all(np.array_equal(*pair) for pair in zip(before, model.get_weights())))

    def test_workers_are_set_for_the_call(self):
        class Own(keras.utils.PyDataset):
            def __init__(self):  # Keras 2 did not need super().__init__()
                self.inner, self.seen = Batches(), set()

            def __len__(self):
                return len(self.inner)

            def __getitem__(self, index):
                self.seen.add((self.workers, self.use_multiprocessing, self.max_queue_size))
                return self.inner[index]

        model = small(optimizer="sgd", loss="mse")
        dataset, validation = Own(), Own()
        with self.says("max_queue_size= and use_multiprocessing= and workers= of fit", 1):
            model.fit(
                dataset, workers=2, use_multiprocessing=False, max_queue_size=3, verbose=0, validation_data=validation
            )
        self.assertEqual((dataset.seen, validation.seen), ({(2, False, 3)}, {(2, False, 3)}))
        self.assertNotIn("_workers", vars(dataset))
        full = _compat_model.LikeSequence(Batches())
        full.workers = 4
        model.evaluate(full, workers=1, verbose=0)
        model.predict(full, workers=1, use_multiprocessing=False, verbose=0)
        self.assertEqual(full.workers, 4)
        x, y = data()
        model.fit(x, y, workers=3, verbose=0)

    def test_generators_have_their_methods(self):
        model = small(optimizer="sgd", loss="mse")
        history = model.fit_generator(Batches(), 4, 2, verbose=0, validation_data=Batches(), max_queue_size=2)
        self.assertEqual(len(history.history["val_loss"]), 2)
        self.assertEqual(model.evaluate_generator(Batches(), verbose=0), model.evaluate(Batches(), verbose=0))
        self.assertEqual(model.predict_generator(Batches(), workers=1).shape, (16, 1))

        def endless():
            while True:
                yield Batches()[0]

        model.fit_generator(endless(), steps_per_epoch=2, verbose=0)

    def test_metrics_of_one_batch_or_of_all_so_far(self):
        x, y = data()
        model = small(optimizer=keras.optimizers.SGD(0.0), loss="mse")
        halves = (x[:8], y[:8]), (x[8:], y[8:])
        alone = [float(model.test_on_batch(*half, reset_metrics=True)) for half in halves]
        self.assertAlmostEqual(float(model.train_on_batch(*halves[0], reset_metrics=True)), alone[0], places=5)
        self.assertAlmostEqual(float(model.train_on_batch(*halves[1], reset_metrics=False)), sum(alone) / 2, places=5)
        self.assertAlmostEqual(float(model.train_on_batch(*halves[1], reset_metrics=True)), alone[1], places=5)


class Files(Case):
    def test_names_without_suffix_are_found_again(self):
        model = small(optimizer="sgd", loss="mse")
        with self.says("m.keras'), which was written", 1):
            model.save(self.path("new", "m") + "/")
        model.save_weights(self.path("w", "one"), save_format="tf")
        other = small(optimizer="sgd", loss="mse")
        other.set_weights([w + 1 for w in other.get_weights()])
        other.load_weights(self.path("w", "one"), by_name=False)
        loaded = keras.models.load_model(self.path("new", "m"))
        for found in (other, loaded):
            np.testing.assert_array_equal(found.get_weights()[0], model.get_weights()[0])
        self.assertTrue(os.path.isfile(self.path("w", "one.weights.h5")))

    def test_weights_in_an_h5_file_keep_their_name(self):
        model = small(optimizer="sgd", loss="mse")
        model.save_weights(self.path("w.h5"))
        other = small()
        other.set_weights([w + 1 for w in other.get_weights()])
        other.load_weights(self.path("w.h5"))
        np.testing.assert_array_equal(other.get_weights()[0], model.get_weights()[0])

    def test_an_h5_file_with_short_names_is_compiled(self):
        x, y = data()
        for loss, metrics in (("mse", ["mae"]), ("mean_squared_error", ["mse", "accuracy"])):
            model = small(optimizer=keras.optimizers.SGD(lr=0.5, decay=0.25), loss=loss, metrics=metrics)
            model.fit(x, y, verbose=0)
            model.save(self.path("m.h5"))
            loaded = keras.models.load_model(self.path("m.h5"))
            self.assertEqual(loaded.evaluate(x, y, verbose=0), model.evaluate(x, y, verbose=0))
            self.assertEqual(loaded.optimizer.get_config(), model.optimizer.get_config())

    def test_what_is_not_there_is_keras_own_error(self):
        self.assertRaises(ValueError, keras.models.load_model, self.path("nothing"))
        self.assertRaises(ValueError, small().load_weights, self.path("nothing"))
        self.assertRaises((OSError, ValueError), small().load_weights, self.path("nothing.weights.h5"))

    def test_a_checkpoint_callback_needs_no_suffix(self):
        x, y = data()
        for arguments, written in (
            (dict(), "c-02.keras"),
            (dict(save_weights_only=True, options=None), "c-02.weights.h5"),
            (dict(save_weights_only=True, options=object()), "c-02.weights.h5"),
        ):
            model = small(optimizer="sgd", loss="mse")
            callback = keras.callbacks.ModelCheckpoint(self.path("c-{epoch:02d}"), **arguments)
            model.fit(x, y, epochs=2, verbose=0, callbacks=[callback])
            self.assertTrue(os.path.isfile(self.path(written)))

    def test_a_checkpoint_callback_has_its_period(self):
        x, y = data()
        model = small(optimizer="sgd", loss="mse")
        callback = keras.callbacks.ModelCheckpoint(self.path("{epoch}.keras"), period=2)
        model.fit(x, y, epochs=4, verbose=0, callbacks=[callback])
        self.assertEqual(sorted(os.listdir(self.folder)), ["2.keras", "4.keras"])


@unittest.skipUnless(IS_TENSORFLOW, "TensorFlow's formats")
class TensorFlowFiles(Case):
    """Checkpoints and SavedModels in the layout of Keras 2, written by TensorFlow alone."""

    def checkpoint(self, path, model, **change):
        import tensorflow as tf

        layers = {}
        for layer in model.layers:
            if layer.weights:
                values = {w.name: tf.Variable(change.get(w.name, w.numpy() + 1)) for w in layer.weights}
                layers[f"layer_with_weights-{len(layers)}"] = tf.train.Checkpoint(**values)
        tf.train.Checkpoint(**layers, other=tf.Variable(1)).write(path)

    def model(self, width=3):
        return keras.Sequential(
            [
                keras.Input((2,)),
                keras.layers.Dense(width, name="first"),
                keras.layers.Dropout(0.5),
                keras.layers.BatchNormalization(),
                keras.layers.Dense(1),
            ]
        )

    def test_weights_are_read(self):
        model = self.model()
        before = model.get_weights()
        self.checkpoint(self.path("ckpt"), model)
        with self.says("weights of a TensorFlow checkpoint", 1):
            model.load_weights(self.path("ckpt")).expect_partial()
        for old, new in zip(before, model.get_weights()):
            if old.dtype == np.float32:
                np.testing.assert_array_equal(old + 1, new)

    def test_another_models_weights_name_the_layer(self):
        self.checkpoint(self.path("ckpt"), self.model(width=4))
        self.assertRaisesRegex(ValueError, "'.*first/(kernel' is 2 x 4|bias' is 4) in .* and (2 x )?3 in the model",
                               self.model().load_weights, self.path("ckpt"))
        small_one = small(units=3)
        self.checkpoint(self.path("few"), small_one)
        self.assertRaisesRegex(ValueError, "has no values for '.*gamma'", self.model().load_weights, self.path("few"), skip_mismatch=False)
        empty = keras.Sequential([keras.layers.Dense(1)])
        self.assertRaisesRegex(ValueError, "has no weights yet", empty.load_weights, self.path("few"))

    def saved_model(self, path, model, config):
        os.makedirs(os.path.join(path, "variables"))
        self.checkpoint(os.path.join(path, "variables", "variables"), model)
        text = json.dumps(config).encode()
        length = bytes([len(text) & 127 | 128, len(text) >> 7 & 127 | 128, len(text) >> 14])
        node = b"\x10\x00" + b"\x1a\x04root" + b"\x22\x14_tf_keras_sequential" + b"\x2a" + length + text
        length = bytes([len(node) & 127 | 128, len(node) >> 7 & 127 | 128, len(node) >> 14])
        for name, content in (("keras_metadata.pb", b"\x0a" + length + node), ("saved_model.pb", b"")):
            with open(os.path.join(path, name), "wb") as file:
                file.write(content)

    CONFIG = {
        "class_name": "Sequential",
        "config": {
            "name": "sequential",
            "layers": [
                {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 2], "dtype": "float32", "sparse": False, "ragged": False, "name": "i"}},
                {"class_name": "Dense", "config": {"name": "dense", "trainable": True, "dtype": "float32", "units": 1, "activation": "linear", "use_bias": True}},
            ],
        },
        "training_config": {
            "loss": "mse", "metrics": None, "weighted_metrics": None, "loss_weights": None,
            "optimizer_config": {"class_name": "SGD", "config": {"name": "SGD", "learning_rate": 0.5, "decay": 0.25, "momentum": 0.0, "nesterov": False}},
        },
    }

    def test_a_saved_model_becomes_a_compiled_model(self):
        model = small()
        self.saved_model(self.path("saved"), model, self.CONFIG)
        loaded = keras.models.load_model(self.path("saved"))
        np.testing.assert_array_equal(loaded.get_weights()[0], model.get_weights()[0] + 1)
        self.assertEqual(loaded.optimizer._learning_rate.get_config()["decay_rate"], 0.25)
        loaded.fit(*data(), verbose=0)
        other = small()
        other.load_weights(self.path("saved"))
        np.testing.assert_array_equal(other.get_weights()[0], model.get_weights()[0] + 1)

    def test_a_saved_model_that_cannot_be_built_says_the_way_out(self):
        self.saved_model(self.path("own"), small(), {"class_name": "Mine"})
        self.assertRaisesRegex(ValueError, "its own class: build the model in Python and load_weights\(\) of the same", keras.models.load_model, self.path("own"))
        os.unlink(self.path("own", "keras_metadata.pb"))
        self.assertRaisesRegex(ValueError, "was not written by Keras 2", keras.models.load_model, self.path("own"))


class Installed(Case):
    def test_twice_is_once(self):
        before = keras.Model.fit, keras.optimizers.Optimizer.__init__, keras.models.load_model
        self.assertTrue(_compat.install(keras))
        self.assertEqual(before, (keras.Model.fit, keras.optimizers.Optimizer.__init__, keras.models.load_model))

    def test_a_program_of_today_sees_nothing_of_it(self):
        with self.says("", 0):
            model = small(optimizer=keras.optimizers.Adam(learning_rate=0.5), loss="mse", metrics=["mae"])
            x, y = data()
            model.fit(x, y, verbose=0, validation_data=(x, y), callbacks=[keras.callbacks.ModelCheckpoint(self.path("a.keras"))])
            model.evaluate(x, y, verbose=0)
            model.predict(x, verbose=0)
            model.train_on_batch(x, y)
            model.save_weights(self.path("a.weights.h5"))
            model.load_weights(self.path("a.weights.h5"))
            keras.models.load_model(self.path("a.keras"))
        self.assertEqual(keras.Model.fit.__name__, "fit")

    def test_our_package_imports_no_keras_and_waits_for_it(self):
        program = """
            import sys, importlib.util
            import determined.keras
            assert "keras" not in sys.modules and "tensorflow" not in sys.modules
            importlib.util.find_spec("keras")
            import keras
            assert keras.models.load_model.__module__ == "determined.keras._compat_files"
            assert type(keras.__spec__.loader).__module__ != "determined._import_hook"
            assert len([f for f in sys.meta_path if type(f).__module__ == "determined._import_hook"]) == 0
            print("good")
        """
        self.assertEqual(run(program)[-1], "good")

    def test_another_keras_is_left_alone(self):
        class Other:
            __name__, __version__ = "tf_keras", "2.21.0"

        self.assertFalse(_compat.install(Other()))


if __name__ == "__main__":
    logging.getLogger("determined").setLevel(logging.INFO)
    unittest.main()
