# SPDX-License-Identifier: Apache-2.0
"""Runs the three parallel scripts of the guide unchanged."""
import os
import re
import types
import unittest.mock

import determined as det
import keras
import numpy as np
import offline_case
from determined.exec import harness

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/guide/keras.md")


def blocks():
    with open(PAGE) as file:
        text = file.read().split("## The same model, three times")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", text, re.S)


class Guide(offline_case.Offline):
    def setUp(self):
        super().setUp()
        os.environ["DET_HPARAMS"] = '{"global_batch_size": 32}'
        os.environ["DET_EXPERIMENT_CONFIG"] = '{"searcher": {"metric": "val_loss", "max_length": {"epochs": 2}}}'
        rng = np.random.default_rng(0)
        x = rng.random((96, 4)).astype("float32")
        y = x.sum(1, keepdims=True)
        self.names = {
            "__name__": "__main__",
            "keras": keras,
            "build_model": lambda hparams: keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)]),
            "x": x[:64], "y": y[:64], "x_test": x[64:], "y_test": y[64:],
        }  # fmt: skip

    def run_block(self, number):
        trial = types.SimpleNamespace(hparams={}, trial_id=1)
        info = types.SimpleNamespace(trial=trial, latest_checkpoint=None)
        with unittest.mock.patch.object(det, "get_cluster_info", lambda: info, create=True):
            exec(compile(blocks()[number], PAGE, "exec"), self.names)

    def test_the_callback(self):
        self.run_block(0)
        self.assertIn(b"mae", self.reported())

    def test_the_trainer(self):
        self.run_block(1)
        self.assertIn(b"val_mae", self.reported())

    def test_the_trial(self):
        self.run_block(2)
        harness.run(self.names["Trial"])
        self.assertIn(b"val_mae", self.reported())


if __name__ == "__main__":
    unittest.main()
