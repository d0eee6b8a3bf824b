# SPDX-License-Identifier: Apache-2.0
"""What test_resume.py proves, of the data that determined.keras has of its own."""
import unittest

import test_resume
from training import OUR_KINDS


class Data(test_resume.Training):
    train = test_resume.Resume.train


test_resume.prove_all(Data, OUR_KINDS)

if __name__ == "__main__":
    unittest.main()
