# SPDX-License-Identifier: Apache-2.0
"""A checkpoint holds the program's generators, even while a thread that makes a batch ahead has replaced them."""
import random
import threading
import unittest

import numpy as np
from determined.keras import _data_order


class Generators(unittest.TestCase):
    def setUp(self):
        random.seed(1)
        np.random.seed(1)
        self.inside, self.go = threading.Event(), threading.Event()
        self.seen = []

    def make_a_batch(self):
        with _data_order._seeded(7, 3):
            self.inside.set()
            random.random(), np.random.normal()
            self.go.wait(30)

    def while_a_batch_is_made(self, act):
        maker = threading.Thread(target=self.make_a_batch)
        actor = threading.Thread(target=act)
        maker.start()
        self.assertTrue(self.inside.wait(30))
        actor.start()
        self.assertEqual(self.seen, [])
        self.go.set()
        maker.join()
        actor.join()

    def test_what_is_saved_is_what_the_program_left(self):
        wanted = repr(_data_order.generators())
        self.while_a_batch_is_made(lambda: self.seen.append(repr(_data_order.generators())))
        self.assertEqual(self.seen, [wanted])

    def test_what_is_restored_stays(self):
        kept = _data_order.generators()
        random.random(), np.random.normal()
        self.while_a_batch_is_made(lambda: _data_order.restore_generators(kept))
        self.assertEqual(repr(_data_order.generators()), repr(kept))


if __name__ == "__main__":
    unittest.main()
