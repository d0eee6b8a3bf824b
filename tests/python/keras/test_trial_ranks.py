# SPDX-License-Identifier: Apache-2.0
"""TFKerasTrial on two slots: what decides the batch, and which gradients are averaged. One launch runs all stories,
because starting TensorFlow takes most of the time."""
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from determined import _launch
from offline_case import Offline

PRELUDE = """
import json, os, sys
import keras, numpy as np
from determined import _launch, core
from determined.experimental import keras as native
from determined.keras import InMemorySequence, TFKerasTrial, _distribute

GLOBAL, ROWS = 8, 40
X = np.random.default_rng(0).normal(size=(ROWS, 4)).astype("float32")
Y = X.sum(1, keepdims=True)
CONFIG = {"searcher": {"metric": "val_loss", "max_length": {"epochs": 2}}}
HPARAMS = {"global_batch_size": GLOBAL}


def model():
    keras.utils.set_random_seed(1)
    return keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, activation="tanh"), keras.layers.Dense(1)])


class Batches(keras.utils.PyDataset):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def __len__(self):
        return -(-ROWS // self.size)

    def __getitem__(self, index):
        rows = slice(index * self.size, (index + 1) * self.size)
        return X[rows], Y[rows]


class Trial(TFKerasTrial):
    training = staticmethod(lambda context: None)

    def build_model(self):
        self.context.configure_fit(shuffle=False)
        self.model = self.context.wrap_model(model())
        self.model.compile(keras.optimizers.SGD(0.05), "mse")
        return self.model

    def build_training_data_loader(self):
        return type(self).training(self.context)

    def build_validation_data_loader(self):
        return X[:8], Y[:8]


count = 0

def opened(config=CONFIG, hparams=HPARAMS, run=None):
    global count
    count += 1
    os.environ["DET_OFFLINE_DIR"] = os.path.join(sys.argv[1], run or str(count))
    os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps(config)
    os.environ["DET_HPARAMS"] = json.dumps(hparams)
    return core.init(distributed=_launch.distributed())


def train(kind, stop_after=None, **more):
    with opened(**more) as core_context:
        if stop_after is not None:  # the platform wants the slots back
            asked = iter(range(1, 1000))
            core_context.preempt.should_preempt = lambda auto_ack=True: next(asked) >= stop_after
        context = kind.trial_context_class(core_context)
        trial = kind(context)
        kind.trial_controller_class(context, trial).run()
        sums = core_context.distributed.allgather(_distribute.checksum(trial.model))
        assert len(set(sums)) == 1, f"{kind.__name__}: the ranks differ"
        return trial.model


def refused(sentence, kind, **more):
    try:
        train(kind, **more)
    except Exception as error:
        assert sentence in str(error), str(error)
        return
    raise SystemExit(f"not refused: {sentence}")


def near(one, other):
    for a, b in zip(one.get_weights(), other.get_weights()):
        np.testing.assert_allclose(a, b, atol=1e-6)
"""

BATCHES = """
alone = model()
alone.compile(keras.optimizers.SGD(0.05), "mse")
alone.fit(X, Y, batch_size=GLOBAL, epochs=2, shuffle=False, verbose=0)

def of(make):
    return type("Given", (Trial,), {"training": staticmethod(make)})

# by records of all slots, and by those of one: a step has as many records
per_slot = lambda context: context.get_per_slot_batch_size()
for make in (
    lambda context: Batches(GLOBAL),
    lambda context: Batches(per_slot(context)),
    lambda context: InMemorySequence(X, Y, GLOBAL),
    lambda context: InMemorySequence(X, Y, per_slot(context)),
):
    trained = train(of(make))
    assert int(trained.optimizer.iterations) == 10, int(trained.optimizer.iterations)
    near(trained, alone)
# the length in batches is reached, too
trained = train(of(lambda context: Batches(per_slot(context))), config={"searcher": {"metric": "val_loss", "max_length": {"batches": 12}}})
assert int(trained.optimizer.iterations) == 12, int(trained.optimizer.iterations)
print("ok sizes")

class Drawn(Batches):
    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return x + np.random.normal(size=x.shape), y

class Shuffled(Trial):
    training = staticmethod(lambda context: Drawn(per_slot(context)))

    def build_model(self):
        made = super().build_model()
        self.context.configure_fit(shuffle=True)
        return made

whole = train(Shuffled)
broken = train(Shuffled, stop_after=7, run="resumed")
assert int(broken.optimizer.iterations) == 7
assert _distribute.checksum(train(Shuffled, run="resumed")) == _distribute.checksum(whole)
print("ok resumed")

for make in (lambda context: Batches(5), lambda context: InMemorySequence(X, Y, 5)):
    refused("has batches of 5 records: expected get_global_batch_size(), which is 8, or get_per_slot_batch_size(), "
            "which is 4", of(make))
refused("the 2 slots cannot share a batch of 9 records evenly: build the sequence with get_global_batch_size()",
        of(lambda context: Batches(per_slot(context))), hparams={"global_batch_size": 9})

import tensorflow as tf

def dataset(size):
    made = lambda context: context.wrap_dataset(tf.data.Dataset.from_tensor_slices((X, Y))).batch(size(context)).prefetch(2)
    return of(made)

assert int(train(dataset(per_slot)).optimizer.iterations) == 10
refused("returned a tf.data.Dataset with batches of get_global_batch_size(), which is 8, for each of the 2 slots: batch it "
        "by get_per_slot_batch_size(), which is 4", dataset(lambda context: GLOBAL))
print("ok refused")

# the native API: arguments of fit(), and generators
def endless(size):
    at = 0
    while True:
        yield X[at : at + size], Y[at : at + size]
        at = (at + size) % ROWS

def native_fit(*data, **options):
    with opened() as core_context:
        context = native.TFKerasNativeContext(core_context)
        made = context.wrap_model(model())
        made.compile(keras.optimizers.SGD(0.05), "mse")
        made.fit(*data, epochs=2, shuffle=False, validation_data=(X[:8], Y[:8]), **options)
    near(made, alone)

native_fit(X, Y, batch_size=GLOBAL)
native_fit(X, Y, batch_size=GLOBAL // 2)
native_fit(endless(GLOBAL), steps_per_epoch=5)
native_fit(endless(GLOBAL // 2), steps_per_epoch=5)
print("ok native")
"""

OPTIMIZERS = """
import determined as det
import tensorflow as tf

class Two(keras.Model):
    \"\"\"An optimizer for each of two networks, as in keras.io's GAN.\"\"\"

    outside = None

    def __init__(self):
        super().__init__()
        keras.utils.set_random_seed(1)
        self.first = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, activation="tanh")])
        self.second = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])

    def compile(self, d_optimizer, g_optimizer):
        super().compile()
        self.d_optimizer, self.g_optimizer = d_optimizer, g_optimizer
        self.tracker = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.tracker]

    def call(self, x):
        return self.second(self.first(x))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_mean((self(x) - y) ** 2)
        for part, optimizer in ((self.first, self.outside or self.d_optimizer), (self.second, self.g_optimizer)):
            self.apply(optimizer, tape.gradient(loss, part.trainable_weights), part.trainable_weights)
        self.tracker.update_state(loss)
        return {"loss": self.tracker.result()}

    def apply(self, optimizer, gradients, weights):
        optimizer.apply_gradients(zip(gradients, weights))

    def test_step(self, data):
        self.tracker.update_state(tf.reduce_mean((self(data[0]) - data[1]) ** 2))
        return {"loss": self.tracker.result()}

def adam():
    return keras.optimizers.Adam(0.01)

class Outside(Two):
    outside = adam()  # is not an attribute of the object

class ByHand(Two):
    def apply(self, optimizer, gradients, weights):
        for gradient, weight in zip(gradients, weights):
            weight.assign_sub(0.01 * gradient)

class TrialOfTwo(Trial):
    kind = Two

    def build_model(self):
        self.context.configure_fit(shuffle=False)
        self.model = self.context.wrap_model(self.kind())
        self.model.compile(adam(), keras.optimizers.SGD(0.1, momentum=0.9))  # neither is wrapped
        return self.model

    training = staticmethod(lambda context: (X, Y))

def of(kind):
    return type("Given", (TrialOfTwo,), {"kind": kind})

alone = Two()
alone.compile(adam(), keras.optimizers.SGD(0.1, momentum=0.9))
alone.fit(X, Y, batch_size=GLOBAL, epochs=2, shuffle=False, verbose=0)
near(train(of(Two)), alone)
train(of(Two), stop_after=7, run="resumed")
near(train(of(Two), run="resumed"), alone)
print("ok two optimizers")

refused("the optimizer 'adam' in train_step() is not wrapped", of(Outside))
refused("the slots have trained different weights after 10 batches, the first is", of(ByHand))
print("ok refused")

os.environ["DET_OFFLINE_DIR"] = os.path.join(sys.argv[1], "trainer")
with det.keras.init() as context:
    made = Two()
    made.compile(adam(), keras.optimizers.SGD(0.1, momentum=0.9))
    context.fit(made, x=X, y=Y, batch_size=GLOBAL, epochs=2, shuffle=False, verbose=0)
near(made, alone)
print("ok trainer")
"""


@unittest.skipIf(shutil.which("mpirun") is None, "Open MPI is not here")
class TwoRanks(Offline):
    def launch(self, script):
        path = self.write("train.py", PRELUDE + script)
        command = [_launch.find_det(), "launch", "mpi", "-n", "2", "--", sys.executable, "-B", path, self.folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=280)
        self.assertEqual(done.returncode, 0, done.stdout[-1000:] + done.stderr[-3000:])
        return done.stdout

    def test_the_size_of_the_first_batch_decides(self):
        out = self.launch(BATCHES)
        self.assertEqual(out.count("] ok "), 8, out)

    def test_every_optimizer_averages_its_gradients(self):
        out = self.launch(OPTIMIZERS)
        self.assertEqual(out.count("] ok "), 6, out)


if __name__ == "__main__":
    unittest.main()
