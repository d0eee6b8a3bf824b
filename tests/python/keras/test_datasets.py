# SPDX-License-Identifier: Apache-2.0
"""Drawn pictures in place of Keras's data sets: when, which, and that they can be learnt."""
import contextlib
import io
import os
import unittest
import unittest.mock

import keras
import numpy as np
import tensorflow as tf
from determined.keras import datasets


def loaded(module):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        result = module.load_data()
    return result, said.getvalue()


class Drawn(unittest.TestCase):
    def test_they_have_the_shapes_of_the_real_ones(self):
        for name, side, colours, labels in (("mnist", 28, (), ()), ("fashion_mnist", 28, (), ()), ("cifar10", 32, (3,), (1,))):
            (x, y), (x_test, y_test) = datasets.drawn(name, 50, 20)
            self.assertEqual((x.shape, x.dtype), ((50, side, side) + colours, np.uint8))
            self.assertEqual((y.shape, y.dtype), ((50,) + labels, np.uint8))
            self.assertEqual((x_test.shape[0], y_test.shape[0]), (20, 20))
            self.assertLess(y.max(), 10)

    def test_they_are_always_the_same_and_the_test_set_is_another(self):
        (x, y), (x_test, _) = datasets.drawn("mnist", 40, 40)
        (again, y_again), _ = datasets.drawn("mnist", 40, 40)
        np.testing.assert_array_equal(x, again)
        np.testing.assert_array_equal(y, y_again)
        self.assertTrue((x != x_test).any())

    def test_there_are_as_many_as_of_the_real_ones(self):
        (x, _), (x_test, _) = datasets.drawn("mnist")
        self.assertEqual((len(x), len(x_test)), (60000, 10000))

    def test_another_name_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no drawn pictures for 'imagenet', only for mnist"):
            datasets.drawn("imagenet")

    def test_a_network_learns_them(self):
        (x, y), (x_test, y_test) = datasets.drawn("mnist", 3000, 500)
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((28, 28)), keras.layers.Rescaling(1 / 255),
                                  keras.layers.Flatten(), keras.layers.Dense(10)])
        model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
        model.fit(x, y, epochs=3, verbose=0)
        self.assertGreater(model.evaluate(x_test, y_test, verbose=0, return_dict=True)["accuracy"], 0.6)


class Allowed(unittest.TestCase):
    """Keras stays unchanged until it is asked for."""

    def setUp(self):
        self.before = {(m, n): getattr(m.datasets, n).load_data for m in (keras, tf.keras) for n in ("mnist", "cifar10")}
        self.addCleanup(self.put_back)

    def put_back(self):
        datasets._sources.clear()
        for (module, name), load in self.before.items():
            getattr(module.datasets, name).load_data = load

    def test_a_number_of_them_is_drawn_without_asking_the_network(self):
        with unittest.mock.patch.dict(os.environ, {"DRAWN_DATA": "55"}):
            keras.datasets.mnist.load_data = lambda: self.fail("it was asked for")
            datasets.allow_drawn()
            ((x, _), (x_test, _)), said = loaded(keras.datasets.mnist)
        self.assertEqual((len(x), len(x_test)), (55, 11))
        self.assertEqual(datasets.source("mnist"), "drawn 55")
        self.assertEqual(said, "mnist: drawn pictures take its place (DRAWN_DATA is 55)\n")

    def test_the_real_ones_come_first(self):
        with unittest.mock.patch.dict(os.environ, {"DRAWN_DATA": ""}):
            tf.keras.datasets.cifar10.load_data = lambda: "the real ones"
            datasets.allow_drawn()
            datasets.allow_drawn()
            self.assertEqual(loaded(tf.keras.datasets.cifar10), ("the real ones", ""))
        self.assertEqual(datasets.source("cifar10"), "keras")

    def test_what_cannot_be_fetched_is_drawn_and_said_so(self):
        def fails():
            raise Exception("URL fetch failure on https://nowhere/mnist.npz\nmore")

        with unittest.mock.patch.dict(os.environ, {"DRAWN_DATA": ""}), unittest.mock.patch.object(
            datasets, "_SETS", {"mnist": datasets._SETS["mnist"]._replace(train=30, test=10)}
        ):
            keras.datasets.mnist.load_data = fails
            datasets.allow_drawn()
            ((x, _), _), said = loaded(keras.datasets.mnist)
            self.assertEqual(loaded(keras.datasets.mnist)[1], "")  # once is enough
        self.assertEqual(len(x), 30)
        self.assertEqual(said, "mnist: drawn pictures take its place (URL fetch failure on https://nowhere/mnist.npz)\n")

    def test_what_was_not_loaded_has_no_source(self):
        with self.assertRaisesRegex(ValueError, "'imagenet' has not been loaded"):
            datasets.source("imagenet")

    def test_a_wrong_number_is_named(self):
        with unittest.mock.patch.dict(os.environ, {"DRAWN_DATA": "few"}):
            datasets.allow_drawn()
            with self.assertRaisesRegex(ValueError, "DRAWN_DATA is 'few'; expected a number of pictures"):
                keras.datasets.mnist.load_data()


if __name__ == "__main__":
    unittest.main()
