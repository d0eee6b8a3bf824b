# SPDX-License-Identifier: Apache-2.0
"""Seed 002, the reference "determined.keras": TFKerasTrial, its data and context, the native API."""
import inspect

import numpy as np
from cluster import Cluster
from rows import main, proved, row

E2E = "tests/e2e/3016-keras-trial.sh"
TRIAL, DATA = "tests/python/keras/test_trial.py", "tests/python/keras/test_data.py"
EXAMPLES, NATIVE = "tests/e2e/3018-keras-examples.sh", "tests/python/keras/test_native.py"

cluster = Cluster(slots=2)

MODEL = """
import keras
import numpy as np
import tensorflow as tf

import determined as det
from determined.keras import SequenceAdapter, TFKerasTensorBoard, TFKerasTrial


def points(count, seed):
    x = np.random.default_rng(seed).random((count, 4)).astype("float32")
    return x, x.sum(1, keepdims=True), np.linspace(0.5, 1.5, count, dtype="float32")


class Points(keras.utils.Sequence):
    def __init__(self, count, seed, batch_size):
        super().__init__()
        self.parts, self.batch_size = points(count, seed), batch_size

    def __len__(self):
        return len(self.parts[0]) // self.batch_size

    def __getitem__(self, index):
        return tuple(part[index * self.batch_size:(index + 1) * self.batch_size] for part in self.parts)


class Tells(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        self.batches = batch + 1

    def on_train_end(self, logs=None):
        print("told: trained", self.batches, "batches in the last epoch")

    def on_test_end(self, logs=None):
        print("told: validated")


class Kinds(TFKerasTrial):
    def __init__(self, context):
        self.context = context
        self.kind = context.get_hparam("kind")

    def build_model(self):
        left, right = keras.Input((2,), name="left"), keras.Input((2,), name="right")
        if self.kind == "dicts":
            both = keras.layers.concatenate([left, right])
            model = keras.Model({"left": left, "right": right}, keras.layers.Dense(1)(both))
        else:
            model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model = self.context.wrap_model(model)
        model.compile("sgd", "mse", weighted_metrics=["mae"])
        print("context:", isinstance(self.context, det.TrialContext), type(self.context).__name__)
        print("distributed:", self.context.distributed.size, self.context.distributed.get_rank())
        print("experimental:", type(self.context.experimental).__name__)
        return model

    def load(self, count, seed):
        x, y, weights = points(count, seed)
        size = self.context.get_per_slot_batch_size()
        if self.kind == "dicts":
            return {"left": x[:, :2], "right": x[:, 2:]}, y, weights
        if self.kind == "adapter":
            return SequenceAdapter(Points(count, seed, size), workers=2, use_multiprocessing=False)
        if self.kind == "sequence":
            return Points(count, seed, size)
        experimental = self.context.experimental
        cache = experimental.cache_train_dataset if seed == 0 else experimental.cache_validation_dataset

        @cache("points", "v1", shuffle=seed == 0)
        def make():
            return tf.data.Dataset.from_tensor_slices((x, y, weights))

        made = make()
        print("cached:", "training" if seed == 0 else "validation", sum(1 for _ in made), "records")
        return made.batch(size)

    def build_training_data_loader(self):
        return self.load(128, 0)

    def build_validation_data_loader(self):
        return self.load(32, 1)

    def keras_callbacks(self):
        return [Tells()] + ([TFKerasTensorBoard(update_freq="batch")] if self.kind == "dicts" else [])
"""
CONFIG = """
name: {}
entrypoint: model_def:Kinds
hyperparameters: {{global_batch_size: 16, kind: {}}}
searcher: {{name: {}, metric: val_mae, max_length: {{epochs: 2}}}}
min_validation_period: {{epochs: 1}}
max_restarts: 0
"""
kinds = cluster.experiment("kinds", {"model_def.py": MODEL},
                           CONFIG.format("kinds", "{type: categorical, vals: [dicts, adapter, cached]}", "grid"))
shared = cluster.experiment("shared", {"model_def.py": MODEL},
                            CONFIG.format("shared", "sequence", "single") + "resources: {slots_per_trial: 2}\n")


def trial(kind):
    """(its place in kinds.trials(), what it printed)"""
    place = kinds.trial_with("kind", kind)
    return place, kinds.logged(place)


def keras_api(name):
    import determined.keras

    return getattr(determined.keras, name)


def members(name):
    return {each for each in dir(keras_api(name)) if not each.startswith("_")}


# ---- TFKerasTrial


@row("002.1", "determined.keras.TFKerasTrial")
def _(check):
    check.assertTrue(inspect.isclass(keras_api("TFKerasTrial")))


@row("002.2", "TFKerasTrial.__init__(context)")
def _(check):
    check.assertEqual(list(inspect.signature(keras_api("TFKerasTrial")).parameters), ["context"])


@row("002.3", "its members: build_model, build_training_data_loader, build_validation_data_loader, keras_callbacks")
def _(check):
    wanted = {"build_model", "build_training_data_loader", "build_validation_data_loader", "keras_callbacks"}
    check.assertLessEqual(wanted, members("TFKerasTrial"))


@row("002.4", "trial_controller_class, trial_context_class")
def _(check):
    trial_class = keras_api("TFKerasTrial")
    check.assertIs(trial_class.trial_context_class, keras_api("TFKerasTrialContext"))
    check.assertTrue(inspect.isclass(trial_class.trial_controller_class))


@row("002.5", "session_config()")
def _(check):
    check.assertIn("session_config", members("TFKerasTrial"))


@row("002.6", "names that the examples of this generation import: InputData, ArrayLike")
def _(check):
    check.assertIsNotNone(keras_api("InputData"))
    check.assertIsNotNone(keras_api("ArrayLike"))


@row("002.7", "... TFKerasContext, TFKerasNativeContext")
def _(check):
    from determined.experimental import keras as native

    check.assertTrue(issubclass(keras_api("TFKerasTrialContext"), keras_api("TFKerasContext")))
    check.assertTrue(issubclass(native.TFKerasNativeContext, keras_api("TFKerasNativeContext")))


# ---- five kinds of data

proved("002.8", "A tuple (x, y) of Numpy arrays", E2E, "every kind of data")
proved("002.9", "x must be a NumPy array (or array-like), a list of arrays (in case the model has multiple inputs)",
       TRIAL, "test_lists_and_dicts_of_arrays")


@row("002.10", "or a dict mapping input names to the corresponding array, if the model has named inputs")
def _(check):
    number, _ = trial("dicts")
    check.assertEqual([steps for steps, _ in kinds.values("validation", "val_mae", number)], [8, 16])


proved("002.11", "y should be a numpy array", TRIAL,
       "test_arrays_a_sequence_of_them_and_a_sequence_train_alike_without_shuffling")


@row("002.12", "A tuple (x, y, sample_weights) of Numpy arrays")
def _(check):
    number, _ = trial("dicts")  # its arrays have weights; those of the adapter, too
    check.assertEqual([steps for steps, _ in kinds.values("training", "mae", number)], [8, 16])


proved("002.13", "A tf.data.dataset returning a tuple of either (inputs, targets) or (inputs, targets, sample_weights)",
       TRIAL, "test_weights_from_any_kind")


@row("002.14", "A keras.utils.Sequence returning (inputs, targets) or (inputs, targets, sample weights)")
def _(check):
    check.assertEqual(len(shared.completed().values("validation", "val_mae")), 2)


@row("002.15", "... built with get_per_slot_batch_size() on two slots, the effective batch stays global_batch_size")
def _(check):
    # 128 records in batches of 16 are 8 batches, of which each slot has 8 records
    check.assertEqual(sorted(shared.printed("told: trained")), ["8 batches in the last epoch"] * 2)


@row("002.16", "A determined.keras.SequenceAdapter returning (inputs, targets) or with sample weights")
def _(check):
    number, _ = trial("adapter")
    check.assertEqual([steps for steps, _ in kinds.values("validation", "val_mae", number)], [8, 16])


@row("002.17", "Loading data is done by defining build_training_data_loader() and build_validation_data_loader()")
def _(check):
    abstract = keras_api("TFKerasTrial").__abstractmethods__
    check.assertLessEqual({"build_training_data_loader", "build_validation_data_loader"}, abstract)


# ---- SequenceAdapter


@row("002.18", "SequenceAdapter.__init__(sequence, use_multiprocessing=False, workers=1, max_queue_size=10)")
def _(check):
    adapter = keras_api("SequenceAdapter")
    check.has_parameter(adapter, "use_multiprocessing", 1, False)
    check.has_parameter(adapter, "workers", 2, 1)
    check.has_parameter(adapter, "max_queue_size", 3, 10)


def adapted(**options):
    import keras

    class Batches(keras.utils.Sequence):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return np.full((2, 1), index), np.zeros((2, 1))

    return keras_api("SequenceAdapter")(Batches(), **options)


@row("002.19", "SequenceAdapter(sequence, workers=0, use_multiprocessing=False)")
def _(check):
    made = adapted(workers=0, use_multiprocessing=False)
    check.assertEqual((made.workers, made.use_multiprocessing, len(made)), (0, False, 3))


proved("002.20", "Use main Python process with no multithreading and no multiprocessing", DATA, "test_nobody_else")


@row("002.21", "SequenceAdapter(sequence, workers=1, use_multiprocessing=True)")
def _(check):
    made = adapted(workers=1, use_multiprocessing=True)
    check.assertEqual((made.workers, made.use_multiprocessing), (1, True))


proved("002.22", "Use one background process", DATA, "test_processes")


@row("002.23", "SequenceAdapter(sequence, workers=2, use_multiprocessing=False)")
def _(check):
    made = adapted(workers=2, use_multiprocessing=False)
    check.assertEqual((made.workers, made.use_multiprocessing), (2, False))


proved("002.24", "Use two background threads", DATA, "test_threads")

# ---- wrappers and context


@row("002.25", "Users are required wrap their model prior to compiling it using self.context.wrap_model")
def _(check):
    method = keras_api("TFKerasTrialContext").wrap_model
    check.assertEqual(list(inspect.signature(method).parameters), ["self", "model"])
    kinds.completed()


proved("002.26", "... a model that is not wrapped is refused", TRIAL, "test_models")


@row("002.27", "required to wrap both their training and validation dataset using self.context.wrap_dataset")
def _(check):
    parameters = list(inspect.signature(keras_api("TFKerasTrialContext").wrap_dataset).parameters)
    check.assertEqual(parameters[:2], ["self", "dataset"])


proved("002.28", "This wrapper is used to shard the dataset for multi-gpu-training", TRIAL, "test_wrappers")


@row("002.29", "TFKerasTrialContext is a sub-class of determined.TrialContext")
def _(check):
    import determined as det

    check.assertTrue(issubclass(keras_api("TFKerasTrialContext"), det.TrialContext))
    check.assertEqual(set(kinds.printed("context:")), {"True TFKerasTrialContext"})


@row("002.30", "always has a DistributedContext accessible via context.distributed")
def _(check):
    check.assertEqual(set(kinds.printed("distributed:")), {"1 0"})
    check.assertEqual(sorted(shared.printed("distributed:")), ["2 0", "2 1"])


@row("002.31", "always has a TFKerasExperimentalContext accessible via context.experimental")
def _(check):
    check.assertEqual(set(kinds.printed("experimental:")), {"TFKerasExperimentalContext"})


@row("002.32", "cache_train_dataset(dataset_id, dataset_version, shuffle=False, skip_shuffle_at_epoch_end=False)")
def _(check):
    method = keras_api("TFKerasExperimentalContext").cache_train_dataset
    check.has_parameter(method, "dataset_id", 0)
    check.has_parameter(method, "dataset_version", 1)
    check.has_parameter(method, "shuffle", 2, False)
    check.has_parameter(method, "skip_shuffle_at_epoch_end", 3, False)


@row("002.33", "cache_validation_dataset(dataset_id, dataset_version, shuffle=False)")
def _(check):
    method = keras_api("TFKerasExperimentalContext").cache_validation_dataset
    check.has_parameter(method, "dataset_id", 0)
    check.has_parameter(method, "dataset_version", 1)
    check.has_parameter(method, "shuffle", 2, False)


@row("002.34", "one id for the training and the validation dataset, as in the examples: each is its own")
def _(check):
    _, said = trial("cached")
    check.assertIn("cached: training 128 records", said)
    check.assertIn("cached: validation 32 records", said)


# ---- callbacks


@row("002.35", "implement the standard Keras callback interface and supply them by implementing keras_callbacks")
def _(check):
    check.assertEqual(kinds.printed("told: trained"), ["8 batches in the last epoch"] * 3)
    check.assertEqual(len([line for line in kinds.log().splitlines() if "told: validated" in line]), 6)


@row("002.36", "TFKerasTrial.keras_callbacks returns a list, by default an empty one")
def _(check):
    check.assertEqual(list(inspect.signature(keras_api("TFKerasTrial").keras_callbacks).parameters), ["self"])
    check.assertEqual(keras_api("TFKerasTrial").keras_callbacks(None), [])


@row("002.37", "determined.keras.TFKerasTensorBoard")
def _(check):
    import keras

    check.assertTrue(issubclass(keras_api("TFKerasTensorBoard"), keras.callbacks.TensorBoard))


proved("002.38", "... its files are in the checkpoint storage", E2E,
       "TensorBoard's callback has written where the platform looks")

# ---- the native API

SCRIPT = """
import sys

import determined as det
import keras
import numpy as np
from determined.experimental import keras as native

context = native.init(
    config={
        "name": "native",
        "searcher": {"name": "single", "metric": "val_loss", "max_steps": 1},
        "batches_per_step": 12,
        "hyperparameters": {"global_batch_size": 8, "units": det.Integer(3, 4)},
        "max_restarts": 0,
    },
    context_dir=sys.path[0],
    local="--local" in sys.argv,
    test="--test" in sys.argv,
)
x = np.random.default_rng(0).random((64, 4)).astype("float32")
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(1)])
model = context.wrap_model(model)
model.compile("sgd", "mse")
model.fit(x, x.sum(1), batch_size=8, epochs=5, validation_data=(x[:8], x[:8].sum(1)), verbose=0)
print("trained:", int(model.optimizer.iterations))
"""
state = {}


def native():
    """The number of the experiment that the script has created, when it has ended."""
    if "id" not in state:
        cluster.start()
        folder = cluster.write("native", {"train.py": SCRIPT})
        code, state["said"] = cluster.python(folder + "/train.py")
        numbers = [line.split()[-1] for line in state["said"].splitlines() if line.startswith("Created experiment ")]
        state["id"] = numbers[0] if code == 0 and numbers else None
        if state["id"]:
            state["code"], state["end"] = cluster.run(cluster.program, "experiment", "wait", state["id"])
            state["log"] = cluster.det("experiment", "logs", state["id"])
    assert state["id"], state["said"]
    return state


@row("002.39", "determined.experimental.keras.init(config, local, test, context_dir, command, master_url)")
def _(check):
    from determined.experimental import keras as native

    parameters = inspect.signature(native.init).parameters
    check.assertLessEqual({"config", "local", "test", "context_dir", "command", "master_url"}, set(parameters))


@row("002.40", "the script submits itself, and is trained by the cluster")
def _(check):
    check.assertEqual(native()["code"], 0, native()["log"][-4000:])


@row("002.41", "model.fit() of a wrapped model: the searcher's max_steps is its length")
def _(check):
    check.assertIn("trained: 12", native()["log"])


@row("002.42", "... its metrics are reported")
def _(check):
    metrics = cluster.det("experiment", "metrics", native()["id"], "--csv")
    check.assertRegex(metrics, r",12,[^,]*,training,loss,")
    check.assertRegex(metrics, r",12,[^,]*,validation,val_loss,")


@row("002.43", "... and a checkpoint is saved")
def _(check):
    check.assertIn("COMPLETED", cluster.det("experiment", "list-checkpoints", native()["id"], "--csv"))


@row("002.44", "init(local=True, test=True): one batch, here")
def _(check):
    cluster.start()
    folder = cluster.write("here", {"train.py": SCRIPT})
    code, said = cluster.python(folder + "/train.py", "--local", "--test", cwd=folder)
    check.assertEqual(code, 0, said)
    check.assertIn("trained: 1\n", said)


proved("002.45", "init(test=True): one trial of one batch", NATIVE, "test_a_test_is_one_trial")
proved("002.46", "the context's fit() and fit_generator()", NATIVE,
       "test_fit_generator_with_a_sequence_and_a_generator")

# ---- examples

proved("002.47", "Fashion MNIST example", EXAMPLES, "the clothes")
proved("002.48", "CIFAR-10 example", EXAMPLES, "the colour pictures")
proved("002.49", "/examples/fashion_mnist_tf_keras.tgz, /examples/cifar10_cnn_tf_keras.tgz",
       EXAMPLES, "they are packed")

if __name__ == "__main__":
    main(cluster)
