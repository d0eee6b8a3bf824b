# SPDX-License-Identifier: Apache-2.0
"""Metrics with several numbers, as keras.metrics.F1Score(): each is reported as `name.0`, `name.1`, ..., in all front
ends, and they are in checkpoints."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import keras
import numpy as np
import test_trial
from training import X, callback

import determined as det

Y = np.eye(3, dtype="float32")[np.arange(len(X)) % 3]
NAMES = ["f1_score.0", "f1_score.1", "f1_score.2", "loss"]


def compiled(model):
    metrics = [keras.metrics.F1Score()]
    model.compile(keras.optimizers.SGD(0.1), "categorical_crossentropy", metrics=metrics, run_eagerly=True)
    return model


def network():
    keras.utils.set_random_seed(7)
    return keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(3, activation="softmax")])


class Vectors(test_trial.Place):
    def names(self, group, run="run"):
        return sorted({name for _, name, _ in self.metrics(group, run)} - {"batches", "epochs"})

    def check_value(self, model, name, data):
        keras.backend.clear_session()
        wanted = model.evaluate(*data, batch_size=50, verbose=0, return_dict=True)["f1_score"]
        self.assertEqual([self.value(f"{name}.{i}") for i in range(3)], [float(each) for each in wanted])

    def test_with_the_callback_and_a_pause(self):
        histories = []
        for run, pauses in (("run", (None,)), ("paused", (6, None))):
            for pause in pauses:
                keras.backend.clear_session()
                os.environ["DET_OFFLINE_DIR"] = self.path(run)
                model = compiled(network())
                with det.core.init() as context:
                    loop = callback(context, train_metrics_report_period=3)
                    if pause:
                        context.preempt.should_preempt = lambda auto_ack=True: loop.batches + 1 >= pause
                    given = dict(batch_size=50, epochs=3, validation_data=(X[:50], Y[:50]), verbose=0)
                    history = model.fit(X, Y, callbacks=[loop], **given)
            histories.append({name: np.array(values).tolist() for name, values in history.history.items()})
            self.assertEqual(self.names("training", run), NAMES)
            self.assertEqual(self.names("validation", run), NAMES)
        self.assertEqual(histories[0], histories[1])
        self.assertEqual(len(histories[1]["val_f1_score"]), 3)
        self.assertEqual(self.metrics(run="run"), self.metrics(run="paused"))

    def test_with_fit(self):
        with det.keras.init() as context:
            model = compiled(network())
            context.fit(model, x=X, y=Y, batch_size=50, epochs=2, validation_data=(X[:50], Y[:50]), verbose=0)
        self.assertEqual(self.names("training"), NAMES)
        self.assertEqual(self.names("validation"), ["val_" + name for name in NAMES])
        self.check_value(model, "val_f1_score", (X[:50], Y[:50]))

    def test_in_a_trial_whose_searcher_looks_at_one_of_them(self):
        models = []

        class Trial(test_trial.Trial):
            training = staticmethod(lambda self: (X, Y))
            validation = staticmethod(lambda self: (X[:50], Y[:50]))

            def build_model(self):
                models.append(compiled(self.context.wrap_model(network())))
                return models[-1]

        arguments = dict(hparams={"global_batch_size": 50}, batches=6, scheduling_unit=3)
        with self.assertLogs("determined.keras", "INFO") as seen:
            self.train(Trial, searcher={"metric": "f1_score.1"}, **arguments)
        self.assertRegex("\n".join(seen.output), r"after 3 batches: .*f1_score\.2 [0-9.]+")
        self.assertEqual(self.names("training"), NAMES)
        self.assertEqual(self.names("validation"), sorted(["f1_score.1", *("val_" + name for name in NAMES)]))
        self.check_value(models[0], "val_f1_score", (X[:50], Y[:50]))
        sentence = "'f1_score' is not among the validation metrics: val_f1_score.0, val_f1_score.1, val_f1_score.2,"
        self.refused(sentence, trial=Trial, run="other", searcher={"metric": "f1_score"}, **arguments)


RANKS = """
import json, keras, numpy as np
import determined as det

X = np.random.default_rng(0).random((60, 6)).astype("float32")
Y = np.eye(3, dtype="float32")[np.arange(60) % 3]
with det.keras.init() as context:
    model = keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(3, activation="softmax")])
    model.compile("sgd", "categorical_crossentropy", metrics=[keras.metrics.F1Score()], run_eagerly=True)
    data = (X[:30], Y[:30])
    found = context.fit(model, x=X, y=Y, batch_size=20, epochs=1, validation_data=data, verbose=0).history
    whole = model.evaluate(*data, verbose=0, return_dict=True)
    scores = (found["f1_score"], found["val_f1_score"][-1], whole["f1_score"])
    print(json.dumps([np.array(each).tolist() for each in scores]))
"""


@unittest.skipIf(shutil.which("mpirun") is None, "Open MPI is not here")
class TwoRanks(Vectors):
    def test_numbers_are_those_of_all_ranks(self):
        command = [os.environ["DET"], "launch", "mpi", "-n", "2", "--", sys.executable, self.write("train.py", RANKS)]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:] + done.stdout[-2000:])
        one, two = [json.loads(line.split("] ", 1)[1]) for line in done.stdout.split("\n") if "[[" in line]
        self.assertEqual(one, two)
        np.testing.assert_allclose(one[1], one[2], rtol=1e-5)
        self.assertEqual(self.names("training"), NAMES)
        self.assertEqual(self.names("validation"), ["val_" + name for name in NAMES])

    test_with_the_callback_and_a_pause = test_with_fit = test_in_a_trial_whose_searcher_looks_at_one_of_them = None


if __name__ == "__main__":
    unittest.main()
