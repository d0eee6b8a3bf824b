# SPDX-License-Identifier: Apache-2.0
"""The state after a failed training, and states that are easily forgotten."""
import collections
import shutil
import subprocess
import sys
import threading
import unittest

import keras
import numpy as np
import training
from training import KINDS, StopAfter, Training, callback

import determined as det
from determined import _launch


def fit(made, callbacks, **options):
    validation = (training.X[:20], training.Y[:20])
    options = {"epochs": 3, "verbose": 0, "batch_size": 16, "validation_data": validation, **options}
    return made.fit(training.X, training.Y, callbacks=callbacks, **options)


class Fails(keras.callbacks.Callback):
    def __init__(self, where):
        super().__init__()
        setattr(self, where, self.fail)

    def fail(self, *_, **__):
        raise KeyboardInterrupt


class LeftBehind(Training):
    """A model whose training has failed can be trained again like any other."""

    def check(self, made):
        history = fit(made, [], epochs=2).history
        self.assertEqual(len(history["loss"]), 2)
        self.assertEqual(len(history["val_loss"]), 2)

    def stop(self, batches):
        with det.core.init() as context:
            loop = callback(context)
            fit(training.model(), [loop, StopAfter(loop, batches)])

    def test_by_one_that_goes_on(self):
        self.stop(20)  # the next epoch begins in this process
        for where in ("on_train_batch_begin", "on_epoch_begin", "on_train_end"):
            made = training.model()
            with self.subTest(where), self.assertRaises(KeyboardInterrupt), det.core.init() as context:
                fit(made, [callback(context), Fails(where)])
            self.check(made)

    def test_by_one_that_was_stopped_in_an_epoch(self):
        made = training.model()
        with self.assertRaises(KeyboardInterrupt), det.core.init() as context:
            loop = callback(context)
            fit(made, [loop, StopAfter(loop, 3), Fails("on_train_end")])
        self.check(made)

    def test_by_one_that_was_complete(self):
        with det.core.init() as context:
            fit(training.model(), [callback(context)])
        made = training.model()
        with self.assertRaises(KeyboardInterrupt), det.core.init() as context:
            fit(made, [callback(context), Fails("on_train_end")])
        self.check(made)


    def test_by_workers_of_an_epoch_that_is_left(self):
        for kind in ("sequence and threads", "sequence and processes"):
            self.in_folder(kind)
            before = set(threading.enumerate())
            with self.subTest(kind), det.core.init() as context:
                loop = callback(context)
                training.model().fit(**KINDS[kind](), verbose=0, callbacks=[loop, StopAfter(loop, 3)])
                self.assertEqual(loop.batches, 3)
            self.assertFalse(loop._fit.adapter.enqueuer.is_running())
            left = [each.name for each in set(threading.enumerate()) - before if "worker" in each.name.lower()]
            self.assertEqual(left, [])


class Remembers(keras.callbacks.Callback):
    """State of the kinds that are changed in place."""

    def __init__(self):
        super().__init__()
        self.sums = np.zeros(3)
        self.counts = collections.defaultdict(int)
        self.last = collections.deque([], 5)

    def on_train_batch_end(self, batch, logs=None):
        self.sums[batch % 3] += 1
        self.counts[str(batch % 4)] += 1
        self.last.append(batch)


class Draws(keras.callbacks.Callback):
    """Draws from the generator behind keras.random, which is made when it is first needed."""

    def on_train_begin(self, logs=None):
        self.drawn = []

    def on_epoch_end(self, epoch, logs=None):
        self.drawn.append(float(keras.random.uniform(())))


class States(Training):
    def train(self, make, stop_after):
        made, other = training.model(), make()
        with det.core.init() as context:
            loop = callback(context)
            fit(made, [loop, StopAfter(loop, stop_after), other])
        return self.files(), other

    def prove(self, make):
        self.in_folder("whole")
        wanted, whole = self.train(make, 0)
        self.in_folder("stopped")
        self.train(make, 17)
        found, other = self.train(make, 0)
        for name in wanted:
            self.assertEqual(found[name], wanted[name], name)
        return whole, other

    def test_what_is_changed_in_place(self):
        whole, other = self.prove(Remembers)
        self.assertEqual(other.sums.tolist(), whole.sums.tolist())
        self.assertEqual(other.counts, whole.counts)
        self.assertEqual(type(other.counts), collections.defaultdict)
        self.assertEqual(other.last, whole.last)

    def test_a_generator_that_is_made_while_training(self):
        whole, other = self.prove(Draws)
        self.assertEqual(other.drawn, whole.drawn)

    def executions(self, kind, stop_after):
        made = training.model()
        made.compile("adam", "mse", steps_per_execution=4)
        with det.core.init() as context:
            loop = callback(context)
            made.fit(**KINDS[kind](), epochs=3, verbose=0, callbacks=[loop, StopAfter(loop, stop_after)])
        return self.files(), loop

    def test_executions_that_do_not_share_an_epoch_evenly(self):
        for kind, batches in (("arrays", 13), ("tf.data, repeated", 9)):
            with self.subTest(kind):
                self.in_folder(kind + " whole")
                wanted, loop = self.executions(kind, 0)
                self.assertEqual((loop.batches, loop.epochs), (3 * batches, 3))
                self.in_folder(kind + " stopped")
                _, loop = self.executions(kind, batches + 1)  # within the second epoch's first execution
                self.assertEqual(loop.batches, batches + 4)
                self.assertEqual(self.executions(kind, 0)[0], wanted)


class Counts(keras.Sequential):
    """Resets metrics in its own way."""

    resets = 0

    def reset_metrics(self):
        self.resets += 1
        super().reset_metrics()


class Metrics(Training):
    def test_a_model_that_resets_them_itself_is_asked_every_time(self):
        from determined.keras import _hooks

        made = Counts([keras.layers.Input((6,)), keras.layers.Dense(2)])
        made.compile("sgd", "mse", metrics=["mae"])
        made.fit(training.X, training.Y, verbose=0)
        reset, made.resets = _hooks.Reset(made), 0
        for _ in range(3):
            reset()
        self.assertEqual(made.resets, 3)


class Adds(det.keras.DeterminedCallback):
    """Saves an additional file beside the weights."""

    def save_model(self, model, path, distributed):
        super().save_model(model, path, distributed)
        open(path + "/more", "w").close()


class Looks(det.keras.DeterminedCallback):
    def load_model(self, model, path, distributed):
        super().load_model(model, path, distributed)


class Foreign(det.keras.DeterminedCallback):
    loaded = 0

    def load_model(self, model, path, distributed):
        self.loaded += 1


class Overridden(Training):
    def test_a_checkpoint_of_another_program(self):
        with det.core.init() as context:
            with context.checkpoint.store_path({"steps_completed": 1}) as (_, uuid):
                pass
            loop = Foreign(context, uuid, 1)
            fit(training.model(), [loop], epochs=1)
        self.assertEqual((loop.loaded, loop.batches), (1, 13))

    def test_only_one_of_both(self):
        for kind in (Adds, Looks):
            with self.subTest(kind.__name__):
                self.in_folder(kind.__name__)
                for epochs in (1, 2):
                    with det.core.init() as context:
                        loop = kind(context, context.latest_checkpoint, 1)
                        fit(training.model(), [loop], epochs=epochs)
                    self.assertEqual(loop.epochs, epochs)


RANKS = """
import determined as det
import keras, numpy as np

class Enough(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.model.stop_training = batch == 2

X = np.random.default_rng(0).random((48, 4)).astype("float32")
with det.keras.init() as context:
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    own = [Enough()] if context.distributed.rank == 1 else []
    context.fit(model, x=X, y=X[:, :1], batch_size=8, epochs=2, verbose=0, callbacks=own)
    print(context._loop.batches, "batches")
"""


@unittest.skipIf(shutil.which("mpirun") is None, "Open MPI is not here")
class TwoRanks(Training):
    def test_where_one_rank_has_had_enough_both_stop(self):
        command = [_launch.find_det(), "launch", "mpi", "-n", "2", "--", sys.executable, self.write("train.py", RANKS)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.assertEqual(done.stdout.count("] 3 batches"), 2, done.stdout)


if __name__ == "__main__":
    unittest.main()
