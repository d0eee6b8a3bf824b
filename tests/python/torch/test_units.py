# SPDX-License-Identifier: Apache-2.0
"""Lengths and periods of PyTorch's front end."""
import unittest

import determined as det
from determined import _det, pytorch
from determined.pytorch import _units


class Units(unittest.TestCase):
    def test_numbers_become_what_the_trainer_takes(self):
        self.assertEqual(_units.length(pytorch.Batch(100), "p"), (_det.BATCHES, 100))
        self.assertEqual(_units.length(pytorch.Epoch(2), "p"), (_det.EPOCHS, 2))
        self.assertEqual(_units.length(det.Records(64), "p"), (_det.RECORDS, 64))
        self.assertEqual(_units.length(det.Epochs(1), "p"), (_det.EPOCHS, 1))
        self.assertIsNone(_units.length(pytorch.Batch([1, 5]), "p"))

    def test_what_is_no_length_is_refused(self):
        for value in (0, -1):
            with self.assertRaisesRegex(ValueError, "expected 1 or more"):
                pytorch.Batch(value)
        for value in (True, 1.5, None):
            with self.assertRaises(TypeError):
                pytorch.Epoch(value)
        with self.assertRaisesRegex(TypeError, "max_length is 10; expected det.pytorch.Batch"):
            _units.length(10, "max_length")


if __name__ == "__main__":
    unittest.main()
