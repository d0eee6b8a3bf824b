# SPDX-License-Identifier: Apache-2.0
"""Random numbers in a Sequence for validation: a training that stops and resumes validates with the same numbers, and
goes on with the same generators, as one that does not stop."""
import os
import unittest
from unittest import mock

import numpy as np
from training import Sequence, StopAfter, Training, callback, model

import determined as det
from determined import core


class Draws(det.keras.callbacks.Callback):
    """Draws from NumPy's generator after each epoch, as a program may."""

    def __init__(self):
        super().__init__()
        self.drawn = []

    def on_epoch_end(self, epoch, logs=None):
        self.drawn.append(np.random.rand())


class ValidationOrder(Training):
    def train(self, folder, stop_after, **kind):
        self.in_folder(folder)
        draws = Draws()
        reported = {}
        before = core.TrainContext._report

        def report(train, group, steps, metrics, batch_metrics=None):
            reported[group, steps] = {name: value for name, value in metrics.items() if type(value) is float}
            return before(train, group, steps, metrics, batch_metrics)

        with mock.patch.object(core.TrainContext, "_report", report), core.init() as context:
            loop = callback(context)
            model().fit(
                Sequence(),
                epochs=2,
                verbose=0,
                validation_data=Sequence(**kind),
                callbacks=[draws, loop, StopAfter(loop, stop_after)],
            )
        return reported, draws.drawn, self.files()

    def check(self, **kind):
        whole, drawn, files = self.train("whole", 0, **kind)
        parts, _, _ = self.train("parts", 20, **kind)  # an epoch has 13 batches
        rest, last_drawn, last_files = self.train("parts", 0, **kind)
        self.assertEqual({**parts, **rest}, whole)
        self.assertEqual(last_drawn, drawn[-len(last_drawn) :])
        for name in files:
            self.assertEqual(files[name], last_files[name], name)
        validations = [metrics["loss"] for (group, _), metrics in sorted(whole.items()) if group == "validation"]
        self.assertEqual(len(validations), 2)

    def test_in_the_main_process(self):
        self.check()

    def test_with_threads(self):
        self.check(workers=3)

    def test_with_processes(self):
        self.check(workers=2, use_multiprocessing=True)


class Numbers(Training):
    def test_each_validation_has_numbers_of_its_own(self):
        seen = []

        class Noting(Sequence):
            def __getitem__(self, index):
                x, y = super().__getitem__(index)
                seen.append((index, x[0, 0]))
                return x, y

        os.environ["DET_OFFLINE_DIR"] = self.path("numbers")
        with core.init() as context:
            loop = callback(context)
            model().fit(Sequence(), epochs=2, verbose=0, validation_data=Noting(), callbacks=[loop])
        first, second = seen[-26:-13], seen[-13:]
        self.assertEqual([index for index, _ in first], list(range(13)))
        self.assertEqual([index for index, _ in second], list(range(13)))
        self.assertEqual(len({value for _, value in first + second}), 26)


if __name__ == "__main__":
    unittest.main()
