# SPDX-License-Identifier: Apache-2.0
"""Seed 004, "TensorFlow Keras MNIST Tutorial": a TFKerasTrial from the first line to the WebUI."""
import inspect
import json
import os
import re
import urllib.request

import numpy as np
from cluster import Cluster
from rows import main, proved, row

os.environ["DRAWN_DATA"] = "640"
E2E, EXAMPLES = "tests/e2e/3016-keras-trial.sh", "tests/e2e/3018-keras-examples.sh"
CLASSES = "tests/e2e/3021-classes.sh"
TRIAL, CREATE = "tests/python/keras/test_trial.py", "tests/e2e/2001-create.sh"

cluster = Cluster(slots=1)

# The snippets, in one file; the imports are ours.  Pictures are drawn where MNIST cannot be downloaded.
MODEL = """
import determined as det
import tensorflow as tf
from tensorflow import keras
from determined.keras import data, datasets

datasets.allow_drawn()

from determined.keras import InMemorySequence, TFKerasTrial

class MNISTTrial(TFKerasTrial):
    def __init__(self, context: det.keras.TFKerasTrialContext):
        # required: store TFKerasTrialContext for later use
        self.context = context
        print("hyperparameter:", self.context.get_hparam("global_batch_size"))
        print("data:", self.context.get_data_config()["place"])

    def build_training_data_loader(self):
        mnist = keras.datasets.mnist
        (train_images, train_labels), (_, _) = mnist.load_data()

        global_batch_size = self.context.get_hparam('global_batch_size')
        train = data.InMemorySequence(data=train_images, labels=train_labels, batch_size=global_batch_size)
        return train

    def build_validation_data_loader(self):
        mnist = keras.datasets.mnist
        (_, _), (test_images, test_labels) = mnist.load_data()

        batch_size = self.context.get_per_slot_batch_size()
        print("per slot:", batch_size)
        test = data.InMemorySequence(data=test_images, labels=test_labels, batch_size=batch_size)
        return test

    def build_model(self):
        model = keras.Sequential(
            [
                keras.layers.Flatten(input_shape=(28, 28)),
                keras.layers.Dense(128, activation="relu"),
                keras.layers.Dense(10),
            ]
        )
        model = self.context.wrap_model(model)
        model.compile(
            optimizer="adam",
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=[tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        )
        return model
"""
# The tutorial's configuration.  It trains 4000 batches; `short` has its first 200.
CONST = """
description: mnist_keras_const_simple
hyperparameters:
    global_batch_size: 32
searcher:
    name: single
    metric: val_accuracy
    max_steps: 40
min_validation_period: 10
entrypoint: model_def:MNISTTrial
"""
SHORT = CONST.replace("max_steps: 40", "max_steps: 2").replace("period: 10", "period: 1") + "data: {place: here}\n"
INIT = "from model_def import MNISTTrial\n"
short = cluster.experiment("mnist_tf_keras", {"model_def.py": MODEL, "__init__.py": INIT}, SHORT)
whole = cluster.experiment("whole", {"model_def.py": MODEL, "__init__.py": INIT}, CONST, args=["--paused"])


def keras_api(name):
    import determined.keras

    return getattr(determined.keras, name)


def configuration(experiment):
    """As the master has completed it."""
    number = str(experiment.created().id)
    return cluster.det("experiment", "config", number)


def elsewhere():
    """The home of somebody whose machine has no master."""
    cluster.start()
    return {name: cluster.path("other") for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}


# ---- prerequisites and overview


@row("004.1", "mnist_tf_keras.tgz: the complete model code for this tutorial can be downloaded")
def _(check):
    import rows

    check.assertTrue(rows.has_test(EXAMPLES, "they are packed"))
    for name in ("model_def.py", "__init__.py", "const.yaml"):
        check.assertTrue(os.path.exists(os.path.join(rows.ROOT, "examples/mnist_tf_keras", name)), name)


@row("004.2", "setting the DET_MASTER environment variable to the hostname or IP address where Determined is running")
def _(check):
    code, said = cluster.run(cluster.program, "experiment", "list", env={**elsewhere(), "DET_MASTER": cluster.url})
    check.assertEqual(code, 0, said)
    check.assertIn("Experiment (", said)


@row("004.3", "... or via the -m flag")
def _(check):
    home = elsewhere()
    code, said = cluster.run(cluster.program, "-m", cluster.url, "experiment", "list", env=home)
    check.assertEqual(code, 0, said)


@row("004.4", "has the user define a compiled model and generate the data, similar to tf.keras")
def _(check):
    short.completed()


@row("004.5", "handling the device management, initial training or .fit() call")
def _(check):
    check.assertNotIn(".fit(", MODEL)
    check.assertTrue(short.completed().values("training", "loss"))


@row("004.6", "The core file will be model_def.py and contains the MNIST TFKerasTrial class")
def _(check):
    short.completed()


proved("004.7", "An entrypoint (__init__.py): it imports the user-defined TFKerasTrial class",
       CLASSES, "the one trial of the folder is its entrypoint")


@row("004.8", "An experiment configuration file (.yaml)")
def _(check):
    check.assertEqual(short.created().code, 0)


@row("004.9", "information on the hyperparameters, used by user code: global_batch_size, ...")
def _(check):
    check.assertEqual(short.printed("hyperparameter:"), ["32"])


# ---- the class


@row("004.10", "requires three specific functions to be overridden")
def _(check):
    check.assertEqual(keras_api("TFKerasTrial").__abstractmethods__ - {"__init__"},
                      {"build_training_data_loader", "build_validation_data_loader", "build_model"})


@row("004.11", "build_model should return a traditional compiled tf.keras model")
def _(check):
    check.assertEqual(list(inspect.signature(keras_api("TFKerasTrial").build_model).parameters), ["self"])


proved("004.12", "... one that is not compiled is refused", TRIAL, "test_models")


@row("004.13", "from determined.keras import InMemorySequence, TFKerasTrial")
def _(check):
    from determined.keras import InMemorySequence, TFKerasTrial

    check.assertTrue(inspect.isclass(InMemorySequence) and inspect.isclass(TFKerasTrial))


@row("004.14", "def __init__(self, context: det.keras.TFKerasTrialContext)")
def _(check):
    check.assertTrue(inspect.isclass(keras_api("TFKerasTrialContext")))
    short.completed()


@row("004.15", "Determined will call each function at the appropriate time")
def _(check):
    check.assertEqual(short.printed("per slot:"), ["32"])


@row("004.16", "TFKerasTrial.__init__ is passed a single parameter: a TFKerasTrialContext")
def _(check):
    check.assertEqual(list(inspect.signature(keras_api("TFKerasTrial")).parameters), ["context"])


@row("004.17", "self.context.get_hparam(<variable name>)")
def _(check):
    check.has_parameter(keras_api("TFKerasTrialContext").get_hparam, "name", 0)
    check.assertEqual(short.printed("hyperparameter:"), ["32"])


@row("004.18", "self.context.get_data_config()[<variable name>]")
def _(check):
    check.assertEqual(short.printed("data:"), ["here"])


# ---- data


@row("004.19", "the data functions expect a tf.keras.Sequence dataset to be returned")
def _(check):
    import keras

    check.assertTrue(issubclass(keras_api("InMemorySequence"), keras.utils.Sequence))


@row("004.20", "InMemorySequence: the user defines the data, labels, and batch size")
def _(check):
    for place, name in enumerate(("data", "labels", "batch_size")):
        check.assertEqual(list(inspect.signature(keras_api("InMemorySequence")).parameters)[place], name)


@row("004.21", "... then converts the information into a tf.keras.Sequence object")
def _(check):
    made = keras_api("InMemorySequence")(data=np.arange(10).reshape(5, 2), labels=np.arange(5), batch_size=2)
    check.assertEqual(len(made), 3)
    images, labels = made[1]
    np.testing.assert_array_equal(images, [[4, 5], [6, 7]])
    np.testing.assert_array_equal(labels, [2, 3])


@row("004.22", "mnist = keras.datasets.mnist; (train_images, train_labels), (_, _) = mnist.load_data()")
def _(check):
    short.completed()


@row("004.23", "global_batch_size = self.context.get_hparam('global_batch_size')")
def _(check):
    check.assertEqual(short.printed("hyperparameter:"), ["32"])


@row("004.24", "train = data.InMemorySequence(data=train_images, labels=train_labels, batch_size=global_batch_size)")
def _(check):
    from determined.keras import data

    check.assertIs(data.InMemorySequence, keras_api("InMemorySequence"))


@row("004.25", "batch_size = self.context.get_per_slot_batch_size()")
def _(check):
    check.assertEqual(short.printed("per slot:"), ["32"])


# ---- the model


@row("004.26", "keras.Sequential([Flatten(input_shape=(28, 28)), Dense(128, activation='relu'), Dense(10)])")
def _(check):
    short.completed()


proved("004.27", "self.context.wrap_model to access Determined's multi-GPU capabilities", E2E, "the same thing")


@row("004.28", 'model.compile(optimizer="adam", loss=..., metrics=[SparseCategoricalAccuracy(name="accuracy")])')
def _(check):
    check.assertEqual(len(short.completed().values("training", "accuracy")), 2)


@row("004.29", "the tutorial's model learns")
def _(check):
    losses = [value for _, value in short.completed().values("training", "loss")]
    check.assertLess(losses[-1], losses[0])


# ---- the configuration


@row("004.30", "An experiment is a collection of one or more trials: here, a single trial")
def _(check):
    check.assertEqual(len(short.completed().trials()), 1)


@row("004.31", "description: mnist_keras_const_simple")
def _(check):
    check.assertIn("description: mnist_keras_const_simple", configuration(whole))


@row("004.32", "hyperparameters: {global_batch_size: 32}")
def _(check):
    check.assertRegex(configuration(whole), r"global_batch_size: *(\n.*const\n.*val: )?32|val: 32")


@row("004.33", "searcher: {name: single, metric: val_accuracy}")
def _(check):
    check.assertIn("metric: val_accuracy", configuration(whole))
    check.assertIn("name: single", configuration(whole))


@row("004.34", "max_steps: 40, a step consists of 100 batches: trained on 4000 batches of data")
def _(check):
    check.assertRegex(configuration(whole), r"max_length:\s+(\{)?batches: 4000|max_steps: 40")
    preview = cluster.det("preview-search", os.path.join(whole.created().folder, "const.yaml"))
    check.assertIn("4000", preview.replace(",", ""))


@row("004.35", "min_validation_period: 10")
def _(check):
    check.assertRegex(configuration(whole), r"min_validation_period:\s+(\{)?batches: 1000|min_validation_period: 10\b")


@row("004.36", "... counts steps")
def _(check):
    check.assertEqual([steps for steps, _ in short.completed().values("validation", "val_accuracy")], [100, 200])


@row("004.37", "entrypoint: model_def:MNISTTrial")
def _(check):
    check.assertIn("entrypoint: model_def:MNISTTrial", configuration(whole))


@row("004.38", "metric: val_accuracy without smaller_is_better: create says that smaller counts as better")
def _(check):
    check.assertRegex(whole.created().said, r"smaller_is_better")


@row("004.39", "... and so does the log")
def _(check):
    check.assertIn("smaller_is_better", short.log())


# ---- running


@row("004.40", "det experiment create const.yaml .")
def _(check):
    check.assertEqual(whole.created().code, 0)


@row("004.41", "Preparing files (../mnist_tf_keras) to send to master... 2.5KB and 4 files")
def _(check):
    line = r"(?m)^Preparing files \(\.\./mnist_tf_keras\) to send to master\.\.\. [\d.]+KB and 3 files$"
    check.assertRegex(short.created().said, line)


@row("004.42", "Created experiment xxx")
def _(check):
    check.assertRegex(short.created().said, r"(?m)^Created experiment \d+$")


@row("004.43", "Activated experiment xxx")
def _(check):
    check.assertRegex(short.created().said, rf"(?m)^Activated experiment {short.id}$")


proved("004.44", "these three lines, and no other", CREATE, "and prints these three lines")

# ---- evaluating


@row("004.45", "Model evaluation is done automatically for you by Determined")
def _(check):
    check.assertEqual(len(short.completed().values("validation", "val_loss")), 2)


@row("004.46", "simply go to the WebUI by entering the address of the Determined master in your web browser")
def _(check):
    short.created()
    with urllib.request.urlopen(cluster.url + "/") as answer:
        check.assertEqual(answer.status, 200)
        check.assertIn(b"<html", answer.read(100_000).lower())


@row("004.47", "you can find your experiment either via the experiment ID (xxx)")
def _(check):
    found = json.loads(cluster.det("experiment", "describe", str(short.completed().id), "--json"))
    check.assertIn("mnist_keras_const_simple", json.dumps(found))


@row("004.48", "or via its description")
def _(check):
    listed = json.loads(cluster.det("experiment", "list", "--json"))
    descriptions = [each["id"] for each in listed if each.get("description") == "mnist_keras_const_simple"]
    check.assertIn(short.completed().id, descriptions)


# ---- next steps: each link has a page


@row("004.49", "experiment-configuration, command-configuration, topic-guides_yaml, terminology-concepts")
def _(check):
    import rows

    for page in ("experiment-configuration", "job-configuration", "yaml", "concepts", "installation", "cli"):
        with open(os.path.join(rows.ROOT, "docs/guide", page + ".md")) as file:
            check.assertTrue(re.match(r"# ", file.read()), page)


if __name__ == "__main__":
    main(cluster)
