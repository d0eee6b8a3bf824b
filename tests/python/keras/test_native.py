# SPDX-License-Identifier: Apache-2.0
"""determined.experimental.keras.init(): a script that submits itself as an experiment, trained here or submitted;
and the scripts of the guide."""
import json
import os
import re
import sys
import typing
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import numpy as np

import keras

import determined as det
from determined import _hparams, _launch, core
from determined.experimental import keras as native
from offline_case import Offline

CONFIG = {
    "searcher": {"name": "single", "metric": "val_loss", "max_steps": 1},
    "hyperparameters": {
        "global_batch_size": det.Constant(8),
        "units": det.Integer(2, 6),
        "rate": det.Log(-3, -1),
        "kind": det.Categorical(["relu", "tanh"]),
        "drop": det.Double(0.0, 0.5, count=3),
    },
}


def numbers(count):
    x = np.random.default_rng(0).random((count, 4)).astype("float32")
    return x, x.sum(1)


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return numbers(8)


class Spaces(unittest.TestCase):
    def test_they_are_what_a_configuration_has(self):
        self.assertEqual(det.Constant(value=3), {"type": "const", "val": 3})
        self.assertEqual(det.Integer(minval=1, maxval=4), {"type": "int", "minval": 1, "maxval": 4})
        self.assertEqual(det.Double(0, 1, count=2), {"type": "double", "minval": 0, "maxval": 1, "count": 2})
        self.assertEqual(det.Log(minval=-4, maxval=-1, base=10), {"type": "log", "minval": -4, "maxval": -1, "base": 10})
        self.assertEqual(det.Categorical(vals=(1, 2)), {"type": "categorical", "vals": [1, 2]})
        self.assertEqual(json.loads(json.dumps(det.Constant(1))), {"type": "const", "val": 1})

    def test_wrong_ones(self):
        for make, sentence in (
            (lambda: det.Integer(4, 1), "minval is 4, which is more than maxval, 1"),
            (lambda: det.Integer(1.5, 2), "expected a whole number"),
            (lambda: det.Double("a", 2), "expected a number"),
            (lambda: det.Double(1, 2, count=0), "expected 1 or more"),
            (lambda: det.Log(1, 2, base=0), "expected more than 0"),
            (lambda: det.Categorical([]), "at least one value"),
            (lambda: det.Categorical("abc"), "at least one value"),
        ):
            with self.assertRaises((TypeError, ValueError)) as caught:
                make()
            self.assertIn(sentence, str(caught.exception))

    def test_one_of_each(self):
        values, chosen = _hparams.one_of_each({**CONFIG["hyperparameters"], "deep": {"a": det.Integer(0, 4), "b": 1}})
        self.assertEqual(
            values,
            {"global_batch_size": 8, "units": 4, "rate": 0.01, "kind": "relu", "drop": 0.25, "deep": {"a": 2, "b": 1}},
        )
        self.assertEqual(set(chosen), {"units", "rate", "kind", "drop", "deep.a"})
        with self.assertRaisesRegex(ValueError, "'units' is .* lacks something of type 'int'"):
            _hparams.one_of_each({"units": {"type": "int"}})


class Here(Offline):
    def begin(self, **arguments):
        os.environ["DET_OFFLINE_LOGS"] = "0"
        context = native.init(config=arguments.pop("config", CONFIG), local=True, **arguments)
        self.addCleanup(context._core.close)
        return context

    def model(self, context, kinds=1):
        model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(context.get_hparam("units")), keras.layers.Dense(1)])
        model = context.wrap_model(model)
        model.compile("sgd", "mse", run_eagerly=True)
        return model

    def test_it_trains_here_with_chosen_values(self):
        with self.assertLogs("determined.keras", "WARNING") as logs:
            context = self.begin()
        self.assertIn("hyperparameter 'units' is searched; this local run uses 4", "\n".join(logs.output))
        model = self.model(context)
        history = context.fit(*numbers(256), validation_data=numbers(16), epochs=50)
        self.assertEqual(int(model.optimizer.iterations), 100)  # the configuration decides
        self.assertEqual(len(history.epoch), 3)  # the fourth, of 32 batches, is not over
        self.assertTrue(any("val_loss" in name for name in history.history))
        self.assertTrue(b"val_loss" in self.reported())

    def test_a_test_is_one_batch(self):
        context = self.begin(test=True)
        model = self.model(context)
        context.fit(*numbers(256), validation_split=0.25)
        self.assertEqual(int(model.optimizer.iterations), 1)
        self.assertTrue(b"val_loss" in self.reported())

    def test_epochs_count_where_nothing_is_configured(self):
        config = {"searcher": {"name": "single", "metric": "val_loss"}, "hyperparameters": {"units": 2}}
        context = self.begin(config=config)
        model = self.model(context)
        context.fit(*numbers(16), batch_size=4, epochs=2, validation_data=numbers(4))
        self.assertEqual(int(model.optimizer.iterations), 8)

    def test_fit_generator_with_a_sequence_and_a_generator(self):
        config = {"searcher": {"name": "single", "metric": "val_loss"}, "hyperparameters": {"units": 2}}
        context = self.begin(config=config)
        model = self.model(context)
        context.fit_generator(Batches(), epochs=2, validation_data=Batches(), workers=1)
        self.assertEqual(int(model.optimizer.iterations), 8)

    def test_a_generator(self):
        def batches():
            while True:
                yield numbers(8)

        config = {"searcher": {"name": "single", "metric": "val_loss"}, "hyperparameters": {"units": 2}}
        context = self.begin(config=config)
        model = self.model(context)
        context.fit_generator(batches(), steps_per_epoch=3, epochs=2, validation_data=numbers(8))
        self.assertEqual(int(model.optimizer.iterations), 6)

    def test_the_models_own_fit_is_the_contexts(self):
        """The form of that generation: reports, checkpoints, the configured length."""
        context = self.begin()
        model = self.model(context)
        history = model.fit(*numbers(256), validation_data=numbers(16), epochs=50)
        self.assertEqual(int(model.optimizer.iterations), 100)  # max_steps: 1
        self.assertEqual(len(history.epoch), 3)
        self.assertTrue(b"val_loss" in self.reported())
        self.assertTrue(os.listdir(self.path("run", "checkpoints")))
        with self.assertRaisesRegex(RuntimeError, "already called"):
            model.fit(*numbers(16))
        model.evaluate(*numbers(8), verbose=0)  # is Keras's own

    def test_the_models_own_fit_in_a_test(self):
        context = self.begin(test=True)
        model = self.model(context)
        model.fit(*numbers(256), batch_size=context.get_per_slot_batch_size(), validation_split=0.25, epochs=2)
        self.assertEqual(int(model.optimizer.iterations), 1)
        self.assertTrue(b"val_loss" in self.reported())

    def test_the_models_own_fit_generator_and_a_model_beside_it(self):
        config = {"searcher": {"name": "single", "metric": "val_loss"}, "hyperparameters": {"units": 2}}
        context = self.begin(config=config)
        model, other = self.model(context), self.model(context)
        model.fit_generator(generator=Batches(), epochs=2, validation_data=Batches(), workers=1, use_multiprocessing=False)
        self.assertEqual((int(model.optimizer.iterations), int(other.optimizer.iterations)), (8, 0))
        self.assertTrue(b"val_loss" in self.reported())

    def test_a_model_without_labels(self):
        class Itself(keras.Sequential):
            def compute_loss(self, x=None, y=None, y_pred=None, *_, **__):
                return keras.ops.mean((y_pred - x) ** 2)

        context = self.begin(config={"searcher": {"name": "single", "metric": "val_loss"}})
        model = context.wrap_model(Itself([keras.layers.Input((4,)), keras.layers.Dense(4)]))
        model.compile("sgd", run_eagerly=True)
        model.fit(numbers(16)[0], batch_size=8, epochs=2, validation_data=(numbers(8)[0], None))
        self.assertEqual(int(model.optimizer.iterations), 4)

    def test_a_script_that_trains_nothing_is_told(self):
        context = self.begin()
        with self.assertLogs("determined.keras", "WARNING") as logs:
            context._end()
        self.assertIn("ended without model.fit()", "\n".join(logs.output))

    def test_what_it_refuses(self):
        context = self.begin()
        with self.assertRaisesRegex(RuntimeError, "there are 0"):
            context.fit(*numbers(8))
        model = self.model(context)
        with self.assertRaisesRegex(TypeError, "fit\\(validation_freq=\\[2, 3\\]\\): expected a whole number"):
            model.fit(*numbers(8), validation_data=numbers(8), validation_freq=[2, 3])
        with self.assertRaisesRegex(ValueError, "initial_epoch"):
            context.fit(*numbers(8), initial_epoch=2)
        with self.assertRaisesRegex(ValueError, "validation_split"):
            context.fit(*numbers(8), validation_split=0.5, validation_data=numbers(8))
        with self.assertRaisesRegex(ValueError, "leaves nothing"):
            context.fit(*numbers(1), validation_split=0.5)
        model.compile("sgd", "mse", run_eagerly=True)
        context._is_test = True
        context.fit(*numbers(16), validation_data=numbers(8))
        with self.assertRaisesRegex(RuntimeError, "already called"):
            context.fit(*numbers(16))


class Guide(Offline):
    """Runs every script of keras-trial.md unchanged."""

    def scripts(self):
        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, "../../../docs/guide/keras-trial.md")) as file:
            return re.findall(r"```python\n(.*?)```", file.read(), re.S)

    def run_script(self, text):
        names = {"__name__": "guide"}
        exec(compile(text, "guide", "exec"), names)
        return names

    def test_the_trial(self):
        trial = self.run_script(self.scripts()[0])["PointsTrial"]
        os.environ["DET_TEST_MODE"] = "1"
        os.environ["DET_HPARAMS"] = json.dumps({"global_batch_size": 32, "learning_rate": 0.01})
        os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps({"searcher": {"metric": "val_accuracy"}})
        with core.init() as core_context:
            context = trial.trial_context_class(core_context)
            trial.trial_controller_class(context, trial(context)).run()
            uuid = os.listdir(self.path("run", "checkpoints"))[0]
        where = os.getcwd()
        self.addCleanup(os.chdir, where)
        os.chdir(self.folder)
        os.symlink(self.path("run", "checkpoints", uuid), "checkpoint")
        with mock.patch("sys.stdout"):
            self.assertEqual(len(self.run_script(self.scripts()[1])["model"].layers), 2)

    def test_the_native_script(self):
        where = os.getcwd()
        self.addCleanup(os.chdir, where)
        names = self.run_script(self.scripts()[2])
        self.addCleanup(names["context"]._core.close)
        self.assertTrue(b"val_loss" in self.reported())


class Submitted(Offline):
    def submit(self, argv, code=0, **arguments):
        """The arguments of `det`, and the configuration."""
        seen = {}

        def run(words, **_):
            seen["words"] = words
            with open(words[3]) as file:
                seen["config"] = json.load(file)
            return mock.Mock(returncode=code)

        with mock.patch.object(_launch, "find_det", lambda: "det"), mock.patch("subprocess.run", run):
            with mock.patch.object(sys, "argv", argv), self.assertRaises(SystemExit) as left:
                native.init(**{"config": CONFIG, **arguments})
        self.assertEqual(left.exception.code, code)
        return seen

    def test_the_folder_and_the_configuration_go_to_the_master(self):
        script = self.write("code/train.py", "")
        seen = self.submit([script, "--flag", "value"], context_dir=self.path("code"))
        self.assertEqual(seen["words"][:3], ["det", "experiment", "create"])
        self.assertEqual(seen["words"][4], self.path("code"))
        self.assertEqual(seen["config"]["entrypoint"], ["python3", "train.py", "--flag", "value"])
        self.assertEqual(seen["config"]["hyperparameters"]["units"], {"type": "int", "minval": 2, "maxval": 6})
        self.assertEqual(seen["config"]["searcher"]["max_steps"], 1)

    def test_a_command_of_ones_own_and_a_failure(self):
        self.write("code/train.py", "")
        seen = self.submit([""], code=3, context_dir=self.path("code"), command=["bash", "run.sh"])
        self.assertEqual(seen["config"]["entrypoint"], ["bash", "run.sh"])

    def test_a_test_is_one_trial(self):
        script = self.write("code/train.py", "")
        seen = self.submit([script], context_dir=self.path("code"), test=True)
        self.assertEqual(seen["config"]["searcher"], {"name": "single", "metric": "val_loss", "max_length": {"batches": 1}})
        self.assertEqual(seen["config"]["hyperparameters"]["units"], 4)

    def test_a_test_of_a_search_is_one_trial_too(self):
        script = self.write("code/train.py", "")
        for searcher in (
            {"name": "random", "max_trials": 5, "max_concurrent_trials": 2, "max_steps": 3},
            {"name": "adaptive_simple", "max_trials": 5, "max_steps": 5},
            {"name": "async_halving", "num_rungs": 3, "max_length": {"epochs": 9}, "mode": "standard", "divisor": 4},
        ):
            config = {**CONFIG, "searcher": {**searcher, "metric": "val_acc", "smaller_is_better": False, "source_trial_id": 7}}
            seen = self.submit([script], context_dir=self.path("code"), test=True, config=config)
            wanted = {"name": "single", "metric": "val_acc", "smaller_is_better": False, "source_trial_id": 7}
            self.assertEqual(seen["config"]["searcher"], {**wanted, "max_length": {"batches": 1}})

    def test_a_master_by_its_address(self):
        script = self.write("code/train.py", "")
        seen = self.submit([script], context_dir=self.path("code"), master_url="http://10.0.0.7:8080")
        at = seen["words"].index("--master")
        self.assertEqual(seen["words"][at + 1], "http://10.0.0.7:8080")
        with self.assertRaisesRegex(TypeError, "init\\(master_url=7\\): expected the address of a master"):
            native.init(config=CONFIG, master_url=7)
        with self.assertLogs("determined.keras", "WARNING") as logs:
            context = native.init(config=CONFIG, local=True, master_url="http://10.0.0.7:8080")
        self.addCleanup(context._core.close)
        self.assertIn("trains here: the master http://10.0.0.7:8080 is not used", "\n".join(logs.output))

    def test_names_of_that_generation(self):
        from determined.keras import ArrayLike, InputData, TFKerasContext, TFKerasNativeContext, TFKerasTrialContext

        self.assertIs(TFKerasNativeContext, native.TFKerasNativeContext)
        for each in (TFKerasNativeContext, TFKerasTrialContext):
            self.assertTrue(issubclass(each, TFKerasContext))

        def build_training_data_loader(x: ArrayLike) -> InputData:
            return x, x

        self.assertEqual(set(typing.get_type_hints(build_training_data_loader)), {"x", "return"})

    def test_what_cannot_be_submitted(self):
        script = self.write("elsewhere/train.py", "")
        folder = self.path("code")
        os.mkdir(folder)
        for argv, arguments, sentence in (
            ([script], {}, "needs context_dir"),
            ([script], {"context_dir": self.path("no")}, "there is no such folder"),
            ([script], {"context_dir": folder}, "is not in that folder"),
            ([""], {"context_dir": folder}, "needs command"),
            ([""], {"context_dir": folder, "command": "train.py"}, "expected a list of words"),
            ([""], {"context_dir": folder, "config": []}, "expected a dict"),
            ([""], {"context_dir": folder, "config": {"a": object()}}, "a configuration cannot hold"),
        ):
            with mock.patch.object(sys, "argv", argv), self.assertRaises(Exception) as caught:
                native.init(**{"config": CONFIG, **arguments})
            self.assertIn(sentence, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
