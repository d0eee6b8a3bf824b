# SPDX-License-Identifier: Apache-2.0
"""Gradients averaged over ranks: real processes under `det launch mpi`, against one process that
sees the same batches."""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest

HAS_TENSORFLOW = importlib.util.find_spec("tensorflow") is not None
DET = os.environ.get("DET", "")

PRELUDE = """
import os, sys, threading, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np, keras, tensorflow as tf
from determined import core
from determined.keras import _distribute as d

dist = core.DistributedContext.from_deepspeed()
BATCH, BATCHES = 4, 6
rng = np.random.default_rng(5)
X = rng.normal(size=(BATCHES, dist.size, BATCH, 8)).astype("float32")
Y = rng.integers(0, 3, (BATCHES, dist.size, BATCH))
WORDS = rng.integers(0, 50, (BATCHES, dist.size, BATCH, 8))
LOSS = lambda: keras.losses.SparseCategoricalCrossentropy(from_logits=True)

def mine(data):
    return data[:, dist.rank].reshape(BATCHES * BATCH, *data.shape[3:])

def whole(data):
    return data.reshape(BATCHES * dist.size * BATCH, *data.shape[3:])

def dense(width=16, dtype=None):
    keras.utils.set_random_seed(1)
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(width, activation="tanh", dtype=dtype),
                             keras.layers.Dense(3, dtype=dtype)])

def words():
    keras.utils.set_random_seed(1)
    return keras.Sequential([keras.Input((8,), dtype="int32"), keras.layers.Embedding(50, 4), keras.layers.Flatten(),
                             keras.layers.Dense(3)])

def fit(model, x, y, batch, epochs=2, **more):
    return model.fit(x, y, batch_size=batch, epochs=epochs, shuffle=False, verbose=0, **more)

def adam():
    return keras.optimizers.Adam(0.01)

def alone(make, x=X, optimizer=adam, **more):
    model = make()
    model.compile(optimizer(), LOSS(), **more)
    fit(model, whole(x), whole(Y), BATCH * dist.size)
    return model

def distance(one, other):
    return max(float(np.max(np.abs(np.asarray(a, "float64") - np.asarray(b, "float64"))))
               for a, b in zip(one.get_weights(), other.get_weights()))

def check(name, model, other=None, most=1e-6):
    sums = dist.allgather(d.checksum(model))
    assert len(set(sums)) == 1, f"{name}: the ranks differ"
    far = distance(model, other) if other is not None else 0
    assert far <= most, f"{name}: {far} from one process"
    print("ok", name, flush=True)
"""


# One launch for all that succeeds: starting TensorFlow is what takes time.
TRAINING = """
def as_one_process():
    one = alone(dense)
    def run(name, make=dense, x=X, other=one, most=1e-6, optimizer=adam, fits=1, compile={}, **options):
        model = make()
        model.compile(d.wrap_optimizer(optimizer(), dist, **options), LOSS(), **compile)
        for _ in range(fits):
            fit(model, mine(x), mine(Y), BATCH, epochs=2 // fits)
        check(name, model, other, most)
        return model
    run("plain")
    run("several fits, several steps an execution", fits=2, compile=dict(steps_per_execution=3))
    run("eagerly", compile=dict(run_eagerly=True))
    # Adam divides small differences by themselves: its steps amplify what rounding changed
    run("halves on the way", fp16=True, most=5e-3)
    run("doubles", make=lambda: dense(dtype="float64"), other=alone(lambda: dense(dtype="float64")), most=1e-8)
    run("bfloat16 weights", make=lambda: dense(dtype="bfloat16"), other=None)
    run("an embedding", make=words, x=WORDS, other=alone(words, WORDS))
    wide = lambda: dense(width=40000)  # its kernels are averaged where they are
    clip = lambda: keras.optimizers.SGD(0.1, global_clipnorm=0.01)
    run("large gradients, clipped after averaging", make=wide, other=alone(wide, optimizer=clip), optimizer=clip)
    steps = lambda: keras.optimizers.Adam(0.01, gradient_accumulation_steps=2)
    run("two batches a step", other=alone(dense, optimizer=steps), aggregation_frequency=2)

def wrapped_models():
    model = d.wrap_model(dense(), dist)
    model.compile("adam", LOSS(), jit_compile=True)
    model.optimizer.learning_rate = 0.01
    assert model.jit_compile is False and d.is_wrapped(model.optimizer)
    assert d.wrap_optimizer(model.optimizer, dist) is model.optimizer and d.wrap_model(model, dist) is model
    fit(model, mine(X), mine(Y), BATCH)
    check("by name, and XLA asked for", model, alone(dense))
    path = os.path.join(os.environ["FOLDER"], f"{dist.rank}.keras")
    model.save(path)
    again = keras.models.load_model(path)
    assert type(again.optimizer) is keras.optimizers.Adam and again.optimizer.iterations == 12

    dead = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3), keras.layers.Dropout(1.0)])
    dead.compile(d.wrap_optimizer("adam", dist), LOSS())
    fit(dead, mine(X), mine(Y), BATCH)
    print("ok no gradients at all")

    # models compiled by XLA before, and beside, those that average
    plain = dense()
    plain.compile("adam", LOSS(), jit_compile=True)
    fit(plain, mine(X), mine(Y), BATCH)
    refused = dense()
    refused.compile(d.wrap_optimizer("adam", dist), LOSS(), jit_compile=True)
    try:
        fit(refused, mine(X), mine(Y), BATCH)
        raise SystemExit("it was not refused")
    except ValueError as error:
        assert "jit_compile=False" in str(error), error
    fit(d.settle(refused), mine(X), mine(Y), BATCH)
    check("what was put right", refused)

    # two models in two threads, begun in opposite order: each has messages of its own
    models = [d.wrap_model(dense(width), dist) for width in (5, 7)]
    for each in models:
        each.compile(adam(), LOSS())
    def train(each):
        fit(each, mine(X), mine(Y), BATCH, epochs=4)
    order = models if dist.rank == 0 else models[::-1]
    threads = [threading.Thread(target=train, args=(each,)) for each in order]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for each in models:
        check("in a thread", each)

def what_is_added_up_is_state():
    def make():
        model = d.wrap_model(dense(), dist, aggregation_frequency=4)
        model.compile(adam(), LOSS())
        model.optimizer.build(model.trainable_variables)
        return model
    def batches(model, first, last):
        for i in range(first, last):
            model.train_on_batch(X[i, dist.rank], Y[i, dist.rank])
    model = make()
    batches(model, 0, 6)
    broken, resumed = make(), make()
    batches(broken, 0, 3)
    for theirs, ours in zip(broken.optimizer.variables, resumed.optimizer.variables):
        ours.assign(theirs)
    resumed.set_weights(broken.get_weights())
    batches(resumed, 3, 6)
    assert d.checksum(model) != d.checksum(broken)
    check("resumed in the middle", resumed, model, most=0)

def weights_statistics_and_metrics():
    keras.utils.set_random_seed(dist.rank)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16), keras.layers.BatchNormalization(),
                              keras.layers.Dropout(0.5), keras.layers.Dense(3)])
    model.compile(adam(), LOSS(), metrics=["accuracy"], weighted_metrics=[keras.metrics.SparseCategoricalCrossentropy(from_logits=True)])
    fit(model, mine(X), mine(Y), BATCH)
    assert len(set(dist.allgather(d.checksum(model)))) == dist.size
    seeds = [v.numpy().tolist() for v in model.variables if "seed" in v.path]
    d.broadcast(model, dist)
    assert seeds == [v.numpy().tolist() for v in model.variables if "seed" in v.path]
    check("broadcast", model)
    fit(model, mine(X), mine(Y), BATCH)
    d.average_statistics(model, dist)
    d.broadcast(model, dist)

    # one rank sees much, the other little, in batches that are not full
    parts = [slice(0, 37), slice(37, 48)]
    weights = np.linspace(0.1, 2, 48)
    model.evaluate(whole(X)[parts[dist.rank]], whole(Y)[parts[dist.rank]], sample_weight=weights[parts[dist.rank]], batch_size=5, verbose=0)
    before = [v.numpy().tolist() for v in model.metrics_variables]
    sums = d.reduce_metrics(model, dist)
    assert before == [v.numpy().tolist() for v in model.metrics_variables]
    assert len({str(each) for each in dist.allgather(sums)}) == 1
    one = model.evaluate(whole(X), whole(Y), sample_weight=weights, batch_size=48, verbose=0, return_dict=True)
    # Keras weighs its loss by the samples of a batch, not by their weights
    losses = dist.allgather(None)
    assert sums.keys() == one.keys()
    for name in ("accuracy", "sparse_categorical_crossentropy"):
        assert abs(sums[name] - one[name]) < 1e-6, (name, sums, one)

    # a rank that has seen nothing
    model = dense()
    model.compile(adam(), LOSS(), metrics=["accuracy"])
    if dist.rank == 0:
        logs = model.evaluate(whole(X), whole(Y), verbose=0, return_dict=True)
    sums = d.reduce_metrics(model, dist)
    logs = dist.broadcast(logs if dist.rank == 0 else None)
    assert abs(sums["accuracy"] - logs["accuracy"]) < 1e-6 and abs(sums["loss"] - logs["loss"]) < 1e-6, (sums, logs)
    try:
        d.broadcast(dense(width=3 + dist.rank), dist)
        raise SystemExit("other shapes were not noticed")
    except ValueError as error:
        assert "8 x 4 float32" in str(error) and "8 x 3 float32" in str(error), error

def mixed_precision():
    keras.mixed_precision.set_global_policy("mixed_float16")
    wrapped = d.wrap_optimizer(adam(), dist)
    model = dense()
    model.compile(wrapped, LOSS())
    try:
        fit(model, mine(X), mine(Y), BATCH)
        raise SystemExit("it was not refused")
    except ValueError as error:
        assert "LossScaleOptimizer" in str(error), error
    wrapped = d.wrap_optimizer(adam(), dist)
    model = dense()
    model.compile(wrapped, LOSS())
    d.settle(model)
    assert d.is_wrapped(model.optimizer) and not d.is_wrapped(wrapped)
    fit(model, mine(X), mine(Y), BATCH)
    check("mixed precision", model)
    model = d.wrap_model(dense(), dist, aggregation_frequency=2)
    model.compile(adam(), LOSS())
    x = mine(X).copy()
    if dist.rank == 1:
        x[BATCH] = 1e30  # an overflow of one rank
    fit(model, x, mine(Y), BATCH)
    check("an overflow of one rank", model)
    assert model.optimizer.iterations == 4, model.optimizer.iterations  # of 6, 2 were skipped
    assert np.all(np.isfinite(model.get_weights()[0]))

def late_ranks():
    # TensorFlow's threads take such floats for zero, and each slice is summed by a thread of its rank
    tiny = np.full(300, 1e-39, "float32")
    for stream in (50, 1000):
        mean = tf.function(lambda x: d._op[0].module.det_average(gradients=[x], stream=stream)[0])
        for late in (None, 0, 1):
            if dist.rank == late:
                time.sleep(0.5)
            assert mean(tiny).numpy().tobytes() == tiny.tobytes(), f"rank {late} was late, and it shows"
    print("ok late ranks", flush=True)

def through_memory_and_by_messages():
    # Of the first 64 streams small gradients go through memory that the ranks of a machine share.
    op = d._op[0].module.det_average
    kinds = ("float32", "float16", "float64", "bfloat16", "float32")
    for counts in ((3, 1000, 5, 70, 1), (300, 4, 5, 6, 300000), (200000, 1, 0, 70000, 200000)):
        drawn = [np.random.default_rng(10 * dist.rank + i).normal(size=count) for i, count in enumerate(counts)]
        own = [tf.cast(tf.constant(each), kind) for each, kind in zip(drawn, kinds)]
        for halves in (False, True):
            ways = [op(gradients=own, stream=stream, as_half=halves) for stream in (51, 1001) for _ in range(2)]
            found = [b"".join(each.numpy().tobytes() for each in way) for way in ways]
            assert len(set(found)) == 1, (counts, halves)
            assert len(set(dist.allgather(found[0]))) == 1, (counts, halves)
            every = dist.allgather([each.numpy() for each in own])
            for i, mean in enumerate(ways[0]):
                exact = sum(each[i].astype("float64") for each in every) / dist.size
                np.testing.assert_allclose(mean.numpy().astype("float64"), exact, atol=0.05)
    gather = d._op[0].module.det_gather
    for rows in ((3, 5), (0, 7), (2, 0), (0, 0), (1000, 40000)):  # the last do not fit into a slot
        own = rows[dist.rank]
        indices = tf.range(own, dtype=tf.int64) + 100 * dist.rank
        values = tf.constant(np.random.default_rng(dist.rank).normal(size=(own, 9)))
        ways = [gather(indices=indices, values=values, stream=stream) for stream in (51, 1001) for _ in range(2)]
        wanted = [np.concatenate(each) for each in zip(*dist.allgather((indices.numpy(), values.numpy())))]
        for way in ways:
            assert all(np.array_equal(one.numpy(), other) for one, other in zip(way, wanted)), rows
    print("ok through memory and by messages", flush=True)

for story in (as_one_process, wrapped_models, what_is_added_up_is_state, weights_statistics_and_metrics, mixed_precision,
              late_ranks, through_memory_and_by_messages):
    story()
"""


@unittest.skipUnless(HAS_TENSORFLOW, "there is no TensorFlow here")
@unittest.skipUnless(DET and shutil.which("mpirun"), "needs det (DET=...) and Open MPI's mpirun")
class Ranks(unittest.TestCase):
    def launch(self, script, ranks=2, **variables):
        """(exit code, output) of det launch mpi."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "script.py")
            with open(path, "w") as file:
                file.write(PRELUDE + textwrap.dedent(script))
            env = {name: value for name, value in os.environ.items() if not name.startswith(("DET_", "TF_CONFIG"))}
            env.update(HOME=folder, FOLDER=folder, OMP_NUM_THREADS="1", DET_DISTRIBUTED_SECRET=folder, **variables)
            command = [DET, "launch", "mpi", "-n", str(ranks), "--", sys.executable, "-B", path]
            try:
                done = subprocess.run(
                    command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=280
                )
            except subprocess.TimeoutExpired as late:
                self.fail(f"it took too long: {(late.stdout or b'').decode(errors='replace')[-4000:]}")
        return done.returncode, done.stdout

    def fails(self, script, sentence, **more):
        code, out = self.launch(script, **more)
        self.assertNotEqual(code, 0, out[-4000:])
        self.assertIn(sentence, " ".join(out.replace("[rank=0]", "").replace("[rank=1]", "").split()))


class Training(Ranks):
    def test_two_ranks_train_as_one_process(self):
        code, out = self.launch(TRAINING)
        self.assertEqual(code, 0, out[-6000:])


class Failures(Ranks):
    def test_one_rank_has_fewer_batches(self):
        self.fails(
            """
            model = d.wrap_model(dense(), dist)
            model.compile(adam(), LOSS())
            fit(model, mine(X)[dist.rank * BATCH:], mine(Y)[dist.rank * BATCH:], BATCH)
            """,
            "gradients cannot be averaged: rank 1 has ended its training and rank 0 goes on: every rank must train the same "
            "number of batches",
        )

    def test_another_model(self):
        self.fails(
            """
            model = d.wrap_model(dense(width=5 + dist.rank), dist)
            model.compile(adam(), LOSS())
            fit(model, mine(X), mine(Y), BATCH)
            """,
            "gradients cannot be averaged: rank 1 averages 4 gradients of 300 bytes and rank 0 4 of 252: every rank must train "
            "the same model",
        )

    def test_a_rank_dies_and_one_dawdles(self):
        code, out = self.launch(
            """
            import time
            d.NOTICE_S = 0.5
            model = d.wrap_model(dense(), dist)
            model.compile(adam(), LOSS())
            fit(model, mine(X), mine(Y), BATCH)
            if dist.rank == 1:
                time.sleep(4)
            fit(model, mine(X), mine(Y), BATCH)
            if dist.rank == 1:
                os.kill(os.getpid(), 9)
            fit(model, mine(X), mine(Y), BATCH)
            """
        )
        self.assertEqual(code, 137, out[-3000:])
        self.assertIn("det: rank 1 was killed by signal 9", out)
        self.assertRegex(out, r"det: rank 0 has waited \d+ s for rank 1 to average its gradients")


@unittest.skipUnless(HAS_TENSORFLOW, "there is no TensorFlow here")
class Alone(unittest.TestCase):
    def test_bad_input(self):
        from determined.keras import _distribute as d

        with self.assertRaisesRegex(TypeError, "is not an optimizer of Keras"):
            d.wrap_optimizer(object())
        for wrong in (0, -1, True, 1.5, "2"):
            with self.assertRaisesRegex(ValueError, "aggregation_frequency is .*at least 1"):
                d.wrap_optimizer("adam", aggregation_frequency=wrong)
        with self.assertRaisesRegex(TypeError, "is not a model"):
            d.wrap_model("model")

    @unittest.skipUnless(shutil.which("mpirun"), "needs Open MPI")
    def test_ranks_that_mpi_did_not_start(self):
        from determined.keras import _distribute as d

        group = types.SimpleNamespace(rank=0, size=2)
        with self.assertRaisesRegex(RuntimeError, "rank 0 of 2 for the training and 0 of 1 for MPI: start the ranks with"):
            d.wrap_optimizer("adam", group)

    def test_a_model_that_cannot_learn_runs(self):
        import keras
        import numpy as np
        from determined.keras import _distribute as d

        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(10), keras.layers.Dropout(1.0)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(d.wrap_optimizer("adam"), loss)
        history = model.fit(np.ones((8, 4)), np.zeros(8), verbose=0).history
        self.assertAlmostEqual(history["loss"][0], np.log(10), places=5)

    def test_every_third_batch_in_one_process(self):
        import keras
        import numpy as np
        from determined.keras import _distribute as d

        weights = []
        x, y = np.random.default_rng(0).normal(size=(6, 4, 3)), np.ones((6, 4, 1))
        for optimizer, batches in (
            (d.wrap_optimizer(keras.optimizers.SGD(0.1), aggregation_frequency=3), (x, y)),
            (keras.optimizers.SGD(0.1), (x.reshape(2, 12, 3), y.reshape(2, 12, 1))),
            (d.wrap_optimizer(keras.optimizers.SGD(0.1 / 3), aggregation_frequency=3, average_aggregated_gradients=False), (x, y)),
        ):
            keras.utils.set_random_seed(1)
            model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
            model.compile(optimizer, "mse")
            for each in zip(*batches):
                model.train_on_batch(*each)
            self.assertEqual(int(optimizer.iterations), 2)
            weights.append(model.get_weights()[0])
        np.testing.assert_allclose(weights[0], weights[1], atol=1e-6)
        np.testing.assert_allclose(weights[0], weights[2], atol=1e-6)


if __name__ == "__main__":
    unittest.main()
