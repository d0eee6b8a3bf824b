# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's strategies under the launch layers: workers that train together, processors as replicas,
and the repairs that Keras 3 needs for the first."""
import json
import os
import socket
import subprocess
import sys
import textwrap
import unittest

from offline_case import Offline

MODEL = """
import os
import numpy as np

def model_and_data(keras, tf):
    keras.utils.set_random_seed(1)
    x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
    y = x.sum(1, keepdims=True)
    model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse", metrics=["mae"])
    return model, tf.data.Dataset.from_tensor_slices((x, y)).batch(8), x

def train(strategy, keras, tf):
    with strategy.scope():
        model, data, x = model_and_data(keras, tf)
    model.fit(data, epochs=2, verbose=0, validation_data=data)
    said = model.evaluate(data, verbose=0, return_dict=True)
    predicted = model.predict(x, batch_size=8, verbose=0)
    return {
        "replicas": strategy.num_replicas_in_sync,
        "weights": [float(v) for array in model.get_weights() for v in np.ravel(array)],
        "loss": said["loss"], "mae": said["mae"], "predicted": predicted.ravel().tolist(),
    }
"""
FROM_TF_CONFIG = """
import json
import determined as det
dist, strategy = det.core.DistributedContext.from_tf_config()
import keras, tensorflow as tf
told = train(strategy, keras, tf)
told["ranks"] = dist.allgather(dist.rank)
print("told " + json.dumps(told))
"""
# With one of the repairs left out.
WITHOUT = """
from determined.keras import _strategy
_strategy.{name} = lambda module: None
import tensorflow as tf
strategy = _strategy.choose(2)
import keras
try:
    train(strategy, keras, tf)
    print("told", "nothing is wrong", flush=True)
except Exception as error:
    print("told", type(error).__name__, str(error).replace(chr(10), " "), flush=True)
os._exit(0)  # the other worker may wait in a collective
"""
# Trains once without a stop, and once with a stop after an epoch (of 13 batches) and one in the middle of an epoch,
# where the callback saves the weights in a file of its own.
IN_PARTS = """
import json, os
import determined as det
dist, strategy = det.core.DistributedContext.from_tf_config()
import keras
import training
from determined import core

reported = {}
before = core.TrainContext._report

def report(self, group, steps, metrics, batch_metrics=None):
    reported[group + " " + str(steps)] = {name: value.hex() for name, value in metrics.items() if type(value) is float}
    return before(self, group, steps, metrics, batch_metrics)

core.TrainContext._report = report

class Own(det.keras.DeterminedCallback):
    def save_model(self, model, path, distributed):
        super().save_model(model, path, distributed)

def train(folder, stop_after, cls):
    os.environ["DET_OFFLINE_DIR"] = folder
    keras.utils.set_random_seed(7)
    layers = keras.layers
    with strategy.scope():
        made = keras.Sequential(
            [layers.Input((6,)), layers.Dense(8, name="first"), layers.BatchNormalization(name="norm"),
             layers.Dropout(0.3, seed=1), layers.Dense(2, name="last")]
        )
        made.compile("adam", "mse", metrics=["mae"])
    with det.core.init() as context:
        loop = cls(context, context.latest_checkpoint, 1)
        made.fit(training.X, training.Y, batch_size=16, epochs=3, verbose=0, shuffle=True,
                 validation_data=(training.X, training.Y), callbacks=[loop, training.StopAfter(loop, stop_after)])
    replicas = [each.value.values if hasattr(each.value, "values") else [each.value] for each in made.variables]
    return [part.numpy().tobytes().hex() for parts in replicas for part in parts]

def outcome(folder, *runs):
    reported.clear()
    for stop_after, cls in runs:
        values = train(os.path.join(os.environ["HOME"], folder), stop_after, cls)
    return [dict(reported), values]

ours = det.keras.DeterminedCallback
told = {"replicas": strategy.num_replicas_in_sync, "whole": outcome("whole", (0, ours))}
told["parts"] = outcome("parts", (26, ours), (34, Own), (0, Own))
print("told " + json.dumps(told))
"""
ALONE = {}


def free_ports(count):
    with_ports = [socket.socket() for _ in range(count)]
    for each in with_ports:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in with_ports]
    for each in with_ports:
        each.close()
    return ports


class Strategies(Offline):
    def start(self, script, **variables):
        env = {**os.environ, "DET_DISTRIBUTED_SECRET": self.folder, "TF_CPP_MIN_LOG_LEVEL": "2"}
        env.update(variables)
        return subprocess.Popen(
            [sys.executable, "-B", "-c", textwrap.dedent(script)],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, *processes):
        try:
            ends = [(p.communicate(timeout=300), p.returncode) for p in processes]
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
                    process.communicate()
        for (out, err), code in ends:
            self.assertEqual(code, 0, out + err)
        lines = [line for (out, _), _ in ends for line in out.splitlines() if line.startswith("told ")]
        self.assertEqual(len(lines), len(processes), ends)
        return [line[len("told ") :] for line in lines]

    def workers(self, script):
        one, two, talk = free_ports(3)
        cluster = {"worker": [f"127.0.0.1:{one}", f"127.0.0.1:{two}"]}
        return self.finish(
            *(
                self.start(
                    MODEL + script,
                    TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}}),
                    INTER_TRAIN_PROCESS_COMM_PORT_1=str(talk),
                )
                for index in range(2)
            )
        )

    def one_process(self, **variables):
        return json.loads(self.finish(self.start(MODEL + FROM_TF_CONFIG, **variables))[0])

    def alone(self):
        """The result that all others are compared with; computed once."""
        if not ALONE:
            ALONE.update(self.one_process())
        return ALONE

    def check_close(self, one, other, names=("weights", "loss", "mae", "predicted")):
        for name in names:
            pairs = zip(*(v if isinstance(v, list) else [v] for v in (one[name], other[name])))
            for a, b in pairs:
                self.assertAlmostEqual(a, b, places=5, msg=name)


class Workers(Strategies):
    def test_two_workers_train_what_one_would(self):
        first, second = map(json.loads, self.workers(FROM_TF_CONFIG))
        self.assertEqual((first["replicas"], first["ranks"]), (2, [0, 1]))
        self.assertEqual(first, second)
        alone = self.alone()
        self.assertEqual((alone["replicas"], alone["ranks"]), (1, [0]))
        self.check_close(first, alone, ("weights", "predicted"))

    def test_both_repairs_are_needed_and_there_is_something_to_repair(self):
        """Fails when Keras has changed: when it no longer needs a repair, or when the repaired function has moved."""
        from determined.keras import _strategy

        self.assertEqual(_strategy.repair(), [])
        said = self.workers(WITHOUT.replace("{name}", "_repair_build"))
        self.assertIn("PerReplica", " ".join(said), "Keras builds models among workers by itself by now")
        said = self.workers(WITHOUT.replace("{name}", "_repair_reduce"))
        self.assertIn("Invalid reduction dimension", " ".join(said), "Keras reduces metrics among workers by itself by now")

    def test_what_keras_no_longer_has_is_named(self):
        script = """
            from determined.keras import _strategy
            _strategy._TRAINER = "keras.src.backend.tensorflow.elsewhere"
            for sentence in _strategy.repair():
                print(sentence)
            print("told")
            print("told ", _strategy.repair() == [])
        """
        out, err = self.start(script).communicate()
        self.assertIn("elsewhere.reduce_per_replica", out, err)
        self.assertIn("elsewhere.TensorFlowTrainer._maybe_symbolic_build", out)
        self.assertIn("told  True", out)


class Replicas(Strategies):
    def test_processors_as_slots_are_replicas(self):
        both = self.one_process(DET_CPU_REPLICAS="2", DET_LAUNCH="tensorflow")
        self.assertEqual(both["replicas"], 2)
        self.check_close(both, self.alone())

    def test_every_replica_goes_on_where_it_was(self):
        """In the middle of an epoch, and after one: the metrics, and the statistics of a BatchNormalization."""
        told = json.loads(self.finish(self.start(IN_PARTS, DET_CPU_REPLICAS="2", DET_LAUNCH="tensorflow"))[0])
        self.assertEqual(told["replicas"], 2)
        (reported, values), (reported_in_parts, values_in_parts) = told["whole"], told["parts"]
        ends = [f"{group} {at}" for group in ("training", "validation") for at in (13, 26, 39)]
        self.assertEqual(sorted(reported), sorted(ends))
        for end in ends:
            self.assertEqual(reported_in_parts[end], reported[end], end)
        self.assertEqual(values_in_parts, values)

    ORDERS = {
        "determined first": "import determined\nimport tensorflow as tf\n",
        "tensorflow first": "import tensorflow as tf\nimport determined\n",
    }

    def test_a_strategy_of_ones_own_has_them_whatever_is_imported_first(self):
        say = "print('told', tf.distribute.MirroredStrategy().num_replicas_in_sync, tf.__spec__.loader.__class__.__name__)"
        started = {
            name: self.start(imports + say, DET_CPU_REPLICAS="3", DET_LAUNCH="tensorflow_distributed")
            for name, imports in self.ORDERS.items()
        }
        for name, process in started.items():
            with self.subTest(name):
                self.assertEqual(self.finish(process), ["3 SourceFileLoader"])

    def test_too_late_is_said(self):
        process = self.start(
            """
            import tensorflow as tf
            tf.constant(1)
            import determined
            print(tf.distribute.MirroredStrategy().num_replicas_in_sync)
            """,
            DET_CPU_REPLICAS="2",
        )
        out, err = process.communicate()
        self.assertEqual(out, "1\n")
        self.assertIn("this task has 2 slots, but TensorFlow was used before 'import determined'", err)

    def test_without_slots_nothing_is_changed(self):
        process = self.start(
            """
            import sys
            import determined
            print(len(sys.meta_path), [name for name in sys.modules if name.startswith("determined")])
            """
        )
        self.assertIn("['determined']", process.communicate()[0])


if __name__ == "__main__":
    unittest.main()
