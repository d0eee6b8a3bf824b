# SPDX-License-Identifier: Apache-2.0
"""The callback API on every Keras: Keras 3 on TensorFlow, JAX and PyTorch, and tf_keras. A training that was
stopped in the middle of an epoch and resumed ends with exactly the state, history and reports of an
uninterrupted one. Backends without their packages are skipped."""
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import unittest

BACKENDS = {  # name: (packages, environment, kinds of data; test_resume.py has the others of TensorFlow)
    "tensorflow": (("tensorflow", "keras"), {"KERAS_BACKEND": "tensorflow"}, ["arrays", "generator", "legacy"]),
    "tf_keras": (
        ("tensorflow", "tf_keras"),
        {"TF_USE_LEGACY_KERAS": "1"},
        ["arrays", "weighted", "sequence", "threads", "unknown", "steps", "augmented", "generator", "legacy"],
    ),
    "jax": (("jax", "keras"), {"KERAS_BACKEND": "jax"}, []),
    "torch": (("torch", "keras"), {"KERAS_BACKEND": "torch"}, []),
}


class Backends(unittest.TestCase):
    def proof(self, backend):
        packages, environment, kinds = BACKENDS[backend]
        for package in packages:
            if importlib.util.find_spec(package) is None:
                self.skipTest(f"the package '{package}' is not installed")
        env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1", **environment}
        done = subprocess.run([sys.executable, "-B", __file__, "child", *kinds], env=env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-6000:])
        results = json.loads(done.stdout.splitlines()[-1])
        self.assertIn("arrays", results)
        for kind, (whole, resumed) in results.items():
            with self.subTest(kind):
                self.assertEqual(whole, resumed)

    def test_tensorflow(self):
        self.proof("tensorflow")

    def test_tf_keras(self):
        self.proof("tf_keras")

    def test_jax(self):
        self.proof("jax")

    def test_torch(self):
        self.proof("torch")


# ---- in the child


EPOCHS, ROWS, BATCH = 3, 22, 4
STOPS = (3, 8)  # batches after which the training is stopped and resumed


def child(wanted):
    import random
    import tempfile

    import numpy as np

    import determined.keras  # before the model, as a program does
    from determined import core
    from determined.keras._package import backend, is_legacy, keras

    Sequence = keras.utils.Sequence if is_legacy else keras.utils.PyDataset
    x = np.random.default_rng(0).normal(size=(ROWS, 3)).astype("float32")
    y = x.sum(axis=1, keepdims=True)

    class Drawn(Sequence):
        """A sequence that draws, and changes at the end of an epoch."""

        def __init__(self, **settings):
            if not is_legacy:
                super().__init__(**settings)
            self.turn = 0

        def __len__(self):
            return -(-ROWS // BATCH)

        def __getitem__(self, index):
            rows = slice(index * BATCH, (index + 1) * BATCH)
            return x[rows] + np.random.normal(scale=0.1) + self.turn, y[rows] + random.random()

        def on_epoch_end(self):
            self.turn += 1

    def dataset(repeat=False, unknown=False):
        import tensorflow as tf

        made = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(ROWS, seed=5).batch(BATCH)
        if unknown:
            made = made.filter(lambda a, b: True)
        return made.repeat() if repeat else made

    def augmented():
        """Its functions draw from a generator in a variable, and read ahead."""
        noise = keras.layers.GaussianNoise(0.1, seed=3)
        return dataset().map(lambda a, b: (noise(a, training=True), b)).prefetch(2)

    def generator():
        while True:
            yield from ((x[i : i + BATCH], y[i : i + BATCH]) for i in range(0, ROWS, BATCH))

    def loader():
        import torch

        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return ROWS

            def __getitem__(self, index):
                return x[index], y[index]

        return torch.utils.data.DataLoader(Rows(), batch_size=BATCH, shuffle=True)

    threads = {"workers": 2, "max_queue_size": 3}
    data = {
        "arrays": lambda: (dict(x=x, y=y, batch_size=BATCH, validation_split=0.2), {}),
        "weighted": lambda: (dict(x={"a": x}, y=y, batch_size=BATCH, sample_weight=np.arange(ROWS) / ROWS), {"inputs": "a"}),
        "sequence": lambda: (dict(x=Drawn(), validation_data=(x, y)), {}),
        "threads": lambda: (dict(x=Drawn(), **threads) if is_legacy else dict(x=Drawn(**threads)), {}),
        "dataset": lambda: (dict(x=dataset(), validation_data=(x, y)), {}),
        "unknown": lambda: (dict(x=dataset(unknown=True)), {}),
        "steps": lambda: (dict(x=dataset(repeat=True), steps_per_epoch=5), {}),
        "augmented": lambda: (dict(x=augmented()), {}),
        "generator": lambda: (dict(x=generator(), steps_per_epoch=6), {}),
        "legacy": lambda: (dict(x=x, y=y, batch_size=BATCH), {"optimizer": keras.optimizers.legacy.SGD(lr=0.1, decay=0.1, momentum=0.9)}),
        "loader": lambda: (dict(x=loader()), {}),
    }
    if backend not in ("tensorflow",):
        for kind in ("dataset", "unknown", "steps", "augmented"):
            del data[kind]
    if backend != "torch":
        del data["loader"]

    def build(inputs=None, optimizer=None):
        keras.utils.set_random_seed(7)
        entry = keras.Input((3,), name=inputs)
        inner = keras.layers.Dense(8, activation="relu")(entry)
        inner = keras.layers.BatchNormalization()(inner)
        inner = keras.layers.Dropout(0.3)(inner)
        model = keras.Model({inputs: entry} if inputs else entry, keras.layers.Dense(1)(inner))
        model.compile(optimizer or keras.optimizers.Adam(learning_rate=0.01), loss="mse", metrics=["mae"])
        return model

    def callbacks(kind):
        monitor = {"monitor": "loss", "min_delta": 10.0}
        stopping = keras.callbacks.EarlyStopping(patience=5, restore_best_weights=False, **monitor)
        if kind == "legacy" and backend == "jax":  # there a rate with decay cannot be set
            return [stopping]
        falling = keras.callbacks.LearningRateScheduler(lambda epoch, lr: float(lr) * 0.9)
        return [keras.callbacks.ReduceLROnPlateau(factor=0.5, patience=1, **monitor), stopping, falling]

    def state(model):
        from determined.keras import _state

        kinds = (_state.TRAINABLE, _state.OTHER, _state.SEED, _state.OPTIMIZER, _state.RATE)
        digest = hashlib.sha256()
        for _, _, array in _state.snapshot(model, kinds):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def train(kind, stops):
        arguments, settings = data[kind]()
        checkpoint, reports = None, []
        for stop in (*stops, None):
            with core.init() as context:
                model = build(**settings)
                if kind == "legacy":
                    settings = data[kind]()[1]
                report = context.train.report_training_metrics
                context.train.report_training_metrics = lambda steps, metrics: (reports.append([steps, metrics]), report(steps, metrics))
                test = context.train.report_validation_metrics
                context.train.report_validation_metrics = lambda steps, metrics: (reports.append([-steps, metrics]), test(steps, metrics))
                callback = determined.keras.DeterminedCallback(context, checkpoint, "one", train_metrics_report_period=2)
                context.preempt.should_preempt = lambda: stop is not None and callback.batches + 1 >= stop
                saved = []
                save = callback.save
                callback.save = lambda: saved.append(save()) or saved[-1]
                arguments, _ = data[kind]()
                history = model.fit(**arguments, epochs=EPOCHS, verbose=0, callbacks=[*callbacks(kind), callback])
                if stop is not None:
                    assert callback.batches == stop, (kind, callback.batches, stop)
                checkpoint = saved[-1]
        logs = {name: [float(value) for value in values] for name, values in history.history.items()}
        return [state(model), logs, reports, int(model.optimizer.iterations.numpy()) if hasattr(model.optimizer.iterations, "numpy") else 0]

    results = {}
    for kind in wanted or data:
        with tempfile.TemporaryDirectory() as folder:
            os.environ.update(HOME=folder, DET_OFFLINE_DIR=os.path.join(folder, "run"), XDG_DATA_HOME=folder)
            results[kind] = [train(kind, ()), train(kind, STOPS)]
    print(json.dumps(results))


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2:])
    else:
        unittest.main()
