# SPDX-License-Identifier: Apache-2.0
"""A training that was stopped in the middle of an epoch and resumed ends with the same bits as an uninterrupted
one: weights, optimizer, generators, history, callbacks."""
import unittest

import keras
import numpy as np
import training
from training import KINDS, OUR_KINDS, StopAfter, Training, callback

import determined as det


class Resume(Training):
    def train(self, kind, stop_after, **fit):
        """One run; returns the files of its checkpoint, and the callback."""
        made = training.model()
        with det.core.init() as context:
            loop = callback(context, train_metrics_report_period=5)
            callbacks = [
                loop,
                StopAfter(loop, stop_after),
                keras.callbacks.EarlyStopping(patience=50, restore_best_weights=True),
                keras.callbacks.ReduceLROnPlateau(patience=1, min_delta=0.05),
            ]
            validation = (training.X[:50], training.Y[:50])
            history = made.fit(
                **{**KINDS, **OUR_KINDS}[kind](), **fit, epochs=4, validation_data=validation, verbose=0, callbacks=callbacks
            )
        return self.files(), loop, history.history


def prove(kind):
    def test(self):
        self.in_folder("whole")
        wanted, loop, history = self.train(kind, 0)
        batches = loop.batches
        self.in_folder("stopped")
        _, loop, _ = self.train(kind, 17)
        self.assertEqual(loop.batches, 17)
        found, loop, history_found = self.train(kind, 0)
        self.assertEqual(loop.batches, batches)
        self.assertEqual(history_found, history)
        self.assertEqual(sorted(found), sorted(wanted))
        for name in wanted:
            self.assertEqual(found[name], wanted[name], name)

    return test


def prove_all(tests, kinds):
    for kind in kinds:
        name = "test_" + "_".join("".join(c if c.isalnum() else " " for c in kind).split())
        setattr(tests, name, prove(kind))


prove_all(Resume, KINDS)


class Twins(Training):
    def test_trainings_of_two_trials_are_the_same_files(self):
        """det resume-proof compares them: they must not contain the id of the trial."""
        found = []
        for number in range(2):
            self.in_folder(f"trial-{number}")
            made = training.model()
            with det.core.init() as context:
                loop = det.keras.DeterminedCallback(context, None, continue_id=number)
                made.fit(training.X, training.Y, batch_size=100, verbose=0, callbacks=[loop])
            found.append(self.files())
        self.assertNotEqual(found[0].pop("continue_id"), found[1].pop("continue_id"))
        self.assertEqual(found[0], found[1])


class Order(Training):
    def test_epochs_are_shuffled_differently_under_a_global_seed(self):
        made = training.model()
        with det.core.init() as context:
            loop = callback(context)
            made.fit(training.X, training.Y, batch_size=16, epochs=1, verbose=0, callbacks=[loop])
            order = loop._feed.order
        first, second = (np.concatenate(order.batches_from(epoch * 13, 13)).tolist() for epoch in range(2))
        self.assertEqual(sorted(first), list(range(training.ROWS)))
        self.assertEqual(sorted(first), sorted(second))
        self.assertNotEqual(first, second)

    def test_what_is_not_to_be_shuffled_comes_as_it_is(self):
        made = training.model()
        with det.core.init() as context:
            loop = callback(context)
            made.fit(training.X, training.Y, batch_size=16, shuffle=False, epochs=1, verbose=0, callbacks=[loop])
            found = [items.tolist() for items in loop._feed.order.batches_from(0, 99)]
        self.assertEqual(sum(found, []), list(range(training.ROWS)))

    def test_ranks_share_every_batch(self):
        from determined.keras._data_order import Order

        whole = Order(100, 32, True, 5, (0, 1))
        parts = [Order(100, 32, True, 5, (rank, 3)) for rank in range(3)]
        self.assertEqual({each.batches for each in parts}, {whole.batches})
        for position in range(2 * whole.batches):
            (items,) = whole.batches_from(position, 1)
            shared = [each.batches_from(position, 1)[0].tolist() for each in parts]
            self.assertEqual(sum(shared, []), items.tolist())

    def test_a_short_last_batch_that_not_every_rank_could_have_is_left_out(self):
        from determined.keras._data_order import Order

        parts = [Order(33, 32, False, 5, (rank, 2)) for rank in range(2)]
        self.assertEqual([each.batches for each in parts], [1, 1])
        with self.assertRaisesRegex(ValueError, "batches of 1 items cannot be shared by 2 processes"):
            Order(10, 1, False, 5, (0, 2))


if __name__ == "__main__":
    unittest.main()
