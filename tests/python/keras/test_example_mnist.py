# SPDX-License-Identifier: Apache-2.0
"""The tutorial's trial does the same as plain Keras: with the same batches in the same order, from the same
weights, a script without our package ends with the same metrics, to the bit."""
import csv
import io
import os
import re
import shutil
import subprocess

import keras
import numpy as np
import offline_case
import tensorflow as tf
from determined import _det
from determined.keras import datasets

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../examples/mnist_tf_keras")
RECORDS, BATCH, BATCHES = 400, 32, 100  # a step: seven epochs and a part of the eighth, with short last batches

# Added to the example, which does not print its seed.
TELL = """

class MNISTTrial(MNISTTrial):
    def __init__(self, context):
        super().__init__(context)
        with open("seed", "w") as file:
            file.write(str(context.get_trial_seed()))
"""


class InOrder(keras.utils.Sequence):
    """The batches in libdet's order."""

    def __init__(self, x, y, seed):
        super().__init__()
        items, counts = _det.order(len(x), BATCH, True, seed, 0, BATCHES, 0, 1)
        ends = np.cumsum(np.frombuffer(counts, np.int64))
        self.batches = np.split(np.frombuffer(items, np.int64), ends[:-1])
        self.x, self.y = x, y

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.x[self.batches[index]], self.y[self.batches[index]]


def plain(seed):
    """The script that the tutorial ports."""
    (x, y), test = datasets.drawn("mnist", RECORDS, RECORDS // 5)
    keras.utils.set_random_seed(seed)
    model = keras.Sequential(
        [
            keras.layers.Flatten(input_shape=(28, 28)),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer="adam",
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
    )
    trained = model.fit(InOrder(x, y, seed), shuffle=False, verbose=0).history
    return trained, model.evaluate(*test, batch_size=BATCH, verbose=0, return_dict=True)


class Tutorial(offline_case.Offline):
    def trial(self):
        """Runs the unchanged example offline; returns its last reports, by group and name."""
        shutil.copytree(EXAMPLE, self.path("example"))
        with open(self.path("example", "model_def.py"), "a") as file:
            file.write(TELL.replace('"seed"', repr(self.path("seed"))))
        config = self.path("example", "const.yaml")
        with open(config) as file:
            text = re.sub(" *requirements:.*", "", file.read())
        text = text.replace("max_steps: 40", "max_steps: 1").replace("min_validation_period: 10", "min_validation_period: 1")
        with open(config, "w") as file:
            file.write(text)
        env = {**os.environ, "DRAWN_DATA": str(RECORDS)}
        det = os.environ.get("DET") or self.before["DET"]
        done = subprocess.run(
            [det, "experiment", "create", config, self.path("example"), "--local",
             "--config", "reproducibility.experiment_seed=7"],
            env=env, capture_output=True, text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        shown = subprocess.run(
            [det, "trial", "metrics", "1", "--local=" + self.path("run"), "--csv"],
            env=env, capture_output=True, text=True,
        )
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return {(row["group"], row["name"]): float(row["value"]) for row in csv.DictReader(io.StringIO(shown.stdout))}

    def test_it_ends_with_the_metrics_of_plain_keras(self):
        reported = self.trial()
        with open(self.path("seed")) as file:
            trained, validated = plain(int(file.read()))
        for name in ("loss", "accuracy"):
            self.assertEqual(reported["training", name], trained[name][0])
            self.assertEqual(reported["validation", "val_" + name], validated[name])


if __name__ == "__main__":
    import unittest

    unittest.main()
