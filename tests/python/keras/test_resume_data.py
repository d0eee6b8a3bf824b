# SPDX-License-Identifier: Apache-2.0
"""The same proof as test_resume.py, for the data classes of determined.keras."""
import unittest

import test_resume
from training import OUR_KINDS


class Data(test_resume.Training):
    train = test_resume.Resume.train


test_resume.prove_all(Data, OUR_KINDS)

if __name__ == "__main__":
    unittest.main()
