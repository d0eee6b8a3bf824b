# SPDX-License-Identifier: Apache-2.0
"""Seed 000, "Keras Trainer API": det.keras.init(), context.fit() and what belongs to them."""
import json
import os
import shutil
import tempfile

import numpy as np
from cluster import Cluster, pause_at
from rows import NOT_GIVEN, main, proved, row

E2E, TRAINER = "tests/e2e/3017-keras-trainer.sh", "tests/python/keras/test_trainer.py"

cluster = Cluster(slots=2)

DATA = """
import numpy as np

random = np.random.default_rng(3)
images = random.random((96, 28, 28)).astype("float32")
labels = (images.reshape(96, -1)[:, :10]).argmax(1)
"""
CONFIG = """
name: {}
entrypoint: {}
hyperparameters: {{learning_rate: 0.001}}
searcher: {{name: single, metric: val_loss}}
reproducibility: {{experiment_seed: 7}}
max_restarts: 0
"""


def config(name, entrypoint="python3 train.py", *lines):
    return CONFIG.format(name, entrypoint) + "".join(line + "\n" for line in lines)


def without_removed(diff):
    """The program that a diff leads to."""
    return "".join(line[1:] for line in diff.strip("\n").splitlines(keepends=True) if not line.startswith("-"))


SNIPPET = r"""
 # Initialize a train context
+with det.keras.init() as train_context:
     # Define your model
     model = keras.models.Sequential([
         keras.layers.Flatten(input_shape=(28, 28)),
         keras.layers.Dense(128, activation='relu'),
         keras.layers.Dense(10),
         keras.layers.Dropout(1.0)
     ])
 
     # Access hparams from the ClusterInfo API
-    learning_rate = 0.001
+    learning_rate = det.get_cluster_info().trial.hparams["learning_rate"]
 
     # Wrap your optimizer
     # This is needed before model.compile
     # Train context wraps the optimizer with HorovodOptimizer if doing distributed training and
     # makes sure optimizer state is saved correctly in checkpoints
     optimizer = keras.optimizers.Adam(learning_rate)
+    optimizer = train_context.wrap_optimizer(optimizer)
     
     # Wrap your datasets
     # This ensures proper sharding happens for distributed training before the .fit call
+    ds_train = train_context.wrap_dataset(ds_train)
+    ds_test = train_context.wrap_dataset(ds_test)
     
     # Compile your model as usual
     model.compile(
         optimizer=optimizer,
         loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
         metrics=[keras.metrics.SparseCategoricalAccuracy()],
     )
 
     # Training is done with a fit call on the context object with a similar API as native Keras but the
     # model is passed in.
          
-    model.fit(
+    train_context.fit(
+        model=model,
         x=ds_train,
         epochs=6,
         # Validation data must be passed into the fit call instead of a separate evaluate call
         validation_data=ds_test,
         validation_split=0.0,
         # Add custom callbacks here. The Trainer will by default inject certain Determined callbacks to
         # handle automatic checkpointing and metrics reporting
         callbacks=[],
     )
"""
BEFORE_SNIPPET = """
import determined as det
import tensorflow as tf
from tensorflow import keras

from data import images, labels

ds_train = tf.data.Dataset.from_tensor_slices((images[:64], labels[:64])).batch(16)
ds_test = tf.data.Dataset.from_tensor_slices((images[64:], labels[64:])).batch(16)
"""
AFTER_SNIPPET = """
    print("learning rate:", learning_rate, float(model.optimizer.learning_rate))
    print("compiled with:", model.optimizer is optimizer)
    print("iterations:", int(optimizer.iterations))
"""
printed = cluster.experiment(
    "printed", {"data.py": DATA, "train.py": BEFORE_SNIPPET + without_removed(SNIPPET) + AFTER_SNIPPET},
    config("printed"),
)

# ---- training


@row("000.1", "with det.keras.init() as train_context:")
def _(check):
    printed.completed()


@row("000.2", "keras.models.Sequential([Flatten(input_shape=(28, 28)), Dense(128), Dense(10), Dropout(1.0)])")
def _(check):
    losses = [round(value, 2) for _, value in printed.completed().values("training", "loss")]
    check.assertEqual(losses, [2.3] * 6)  # everything is dropped: the logarithm of ten


@row("000.3", 'det.get_cluster_info().trial.hparams["learning_rate"]')
def _(check):
    check.assertEqual(len(printed.printed("learning rate: 0.001 0.00")), 1)


@row("000.4", "optimizer = train_context.wrap_optimizer(optimizer), before model.compile")
def _(check):
    check.assertEqual(printed.printed("compiled with:"), ["True"])
    check.assertEqual(printed.printed("iterations:"), ["24"])


proved("000.5", "Train context wraps the optimizer with HorovodOptimizer if doing distributed training",
       E2E, "both have the same weights")


@row("000.6", "and makes sure optimizer state is saved correctly in checkpoints")
def _(check):
    check.assertEqual(rest.printed("optimizer of trial 1:"), ["24 iterations, adam"])


def train_gan(folder, stop_after=None):
    """Two wrapped optimizers, as in keras.io's GAN; returns how many steps each has made."""
    import keras

    import determined as det

    class Gan(keras.Model):
        def __init__(self):
            super().__init__()
            self.discriminator = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
            self.generator = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(4)])

        def compile(self, d_optimizer, g_optimizer):
            super().compile()
            self.d_optimizer, self.g_optimizer = d_optimizer, g_optimizer

        def train_step(self, real):
            import tensorflow as tf

            noise = tf.ones((tf.shape(real)[0], 2))
            with tf.GradientTape(persistent=True) as tape:
                fake = self.generator(noise)
                d_loss = tf.reduce_mean(self.discriminator(fake) ** 2 + (self.discriminator(real) - 1) ** 2)
                g_loss = tf.reduce_mean((self.discriminator(fake) - 1) ** 2)
            parts = ((self.d_optimizer, d_loss, self.discriminator), (self.g_optimizer, g_loss, self.generator))
            for optimizer, loss, part in parts:
                optimizer.apply_gradients(zip(tape.gradient(loss, part.trainable_weights), part.trainable_weights))
            return {"d_loss": d_loss, "g_loss": g_loss}

    class Stops(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if stop_after and batch + 1 == stop_after:
                context.core.preempt.should_preempt = lambda auto_ack=True: True

    os.environ.update(DET_OFFLINE_DIR=folder, DET_OFFLINE_LOGS="0")
    with det.keras.init() as context:
        keras.utils.set_random_seed(1)
        gan = Gan()
        gan.compile(*(context.wrap_optimizer(keras.optimizers.Adam(0.1)) for _ in range(2)))
        context.fit(gan, x=np.ones((32, 4), "float32"), batch_size=4, epochs=1, verbose=0, callbacks=[Stops()])
    optimizers = gan.d_optimizer, gan.g_optimizer
    return [int(each.iterations) for each in optimizers], [np.asarray(v) for each in optimizers for v in each.variables]


@row("000.7", "the state of each wrapped optimizer is saved, also if a model has several")
def _(check):
    folder = tempfile.mkdtemp()
    try:
        whole = train_gan(folder + "/whole")
        train_gan(folder + "/parts", stop_after=3)
        parts = train_gan(folder + "/parts")
        check.assertEqual(parts[0], [8, 8])
        for one, other in zip(whole[1], parts[1]):
            np.testing.assert_array_equal(one, other)
    finally:
        shutil.rmtree(folder)


@row("000.8", "ds_train = train_context.wrap_dataset(ds_train): proper sharding for distributed training")
def _(check):
    check.assertEqual(sorted(two.printed("its part of the data:")), ["[0, 1, 4, 5, 8, 9]", "[2, 3, 6, 7, 10, 11]"])


@row("000.9", "ds_test = train_context.wrap_dataset(ds_test)")
def _(check):
    printed.completed()
    check.assertEqual([steps for steps, _ in printed.values("validation", "val_loss")], [4, 8, 12, 16, 20, 24])


@row("000.10", "model.compile(optimizer=optimizer, loss=..., metrics=[keras.metrics.SparseCategoricalAccuracy()])")
def _(check):
    check.assertEqual(len(printed.completed().values("training", "sparse_categorical_accuracy")), 6)


@row("000.11", "train_context.fit(model=model, x=ds_train, epochs=6, ...)")
def _(check):
    check.assertEqual([steps for steps, _ in printed.completed().values("training", "loss")], [4, 8, 12, 16, 20, 24])


@row("000.12", "Validation data must be passed into the fit call: validation_data=ds_test")
def _(check):
    check.assertEqual(len(printed.completed().values("validation", "val_sparse_categorical_accuracy")), 6)


@row("000.13", "validation_split=0.0")
def _(check):
    check.assertEqual(printed.printed("iterations:"), ["24"])  # all 64 records are trained in every epoch


@row("000.14", "Add custom callbacks here: callbacks=[...]")
def _(check):
    check.assertEqual(two.printed("own callback:"), ["12 batches"] * 2)


@row("000.15", "The Trainer will by default inject certain Determined callbacks to handle automatic checkpointing")
def _(check):
    check.assertLessEqual({8, 16, 24}, set(printed.steps()))  # checkpoint_freq=2


@row("000.16", "... and metrics reporting")
def _(check):
    described = cluster.det("trial", "describe", str(printed.completed().trials()[0]))
    check.assertIn("val_sparse_categorical_accuracy", described)


TWO = """
import determined as det
import numpy as np
import tensorflow as tf
from tensorflow import keras

from data import images, labels


class Own(keras.callbacks.Callback):
    done = 0

    def on_train_batch_end(self, batch, logs=None):
        self.done += 1

    def on_train_end(self, logs=None):
        print("own callback:", self.done, "batches")


with det.keras.init() as train_context:
    model = keras.Sequential([keras.layers.Input((28, 28)), keras.layers.Flatten(), keras.layers.Dense(10)])
    model.compile(train_context.wrap_optimizer(keras.optimizers.Adam()), "mse")
    numbers = train_context.wrap_dataset(tf.data.Dataset.range(12).batch(2))
    print("its part of the data:", [int(number) for batch in numbers for number in batch])
    print("processes:", train_context.core.distributed.size, "this one:", train_context.core.distributed.rank)
    targets = keras.utils.to_categorical(labels, 10)
    train_context.fit(model, x=images[:48], y=targets[:48], batch_size=16, epochs=4, callbacks=[Own()], verbose=0,
                      validation_data=tf.data.Dataset.from_tensor_slices((images[48:], targets[48:])).batch(16))
    print("weights:", float(sum(np.abs(each).sum() for each in model.get_weights())))
    alone = model.predict(images, batch_size=8, verbose=0)
    together = train_context.predict(model, images, batch_size=8, verbose=0)
    print("predicted:", together.shape, np.array_equal(together, alone))
    print("evaluated:", float(model.evaluate(images[48:], targets[48:], verbose=0)))
"""
two = cluster.experiment("two", {"data.py": DATA, "train.py": TWO},
                         config("two", "python3 train.py", "resources: {slots_per_trial: 2}"))


@row("000.17", "Horovod will be the default launch layer if slots_per_trial > 1, no launch layer needs to be specified")
def _(check):
    check.assertEqual(sorted(two.printed("processes:")), ["2 this one: 0", "2 this one: 1"])


# ---- native Keras distributed training

MIRRORED = """
import determined as det
import tensorflow as tf

from data import images, labels

with det.keras.init() as train_context:
    # Choose a distributed training strategy
    strategy = tf.distribute.MirroredStrategy()

    # Model must be defined and compiled within the tf.keras strategy scope
    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Conv2D(32, 3, activation="relu", input_shape=(28, 28, 1)),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(10)
        ])

        model.compile(loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                      optimizer=tf.keras.optimizers.Adam(),
                      metrics=["accuracy"])

    # Fit is called from the train context
    train_context.fit(model, x=images[:64, ..., None], y=labels[:64], batch_size=16, epochs=2, verbose=0,
                      validation_data=(images[64:, ..., None], labels[64:]))
    print("replicas:", strategy.num_replicas_in_sync)
"""
mirrored = cluster.experiment(
    "mirrored", {"data.py": DATA, "train.py": MIRRORED},
    config("mirrored", "python3 -m determined.launch.tensorflow_distributed train.py",
           "resources: {slots_per_trial: 2}"),
)


@row("000.18", "entrypoint: python3 -m determined.launch.tensorflow_distributed train.py")
def _(check):
    check.assertEqual(len(mirrored.printed("replicas:")), 1)  # one process


@row("000.19", "strategy = tf.distribute.MirroredStrategy()")
def _(check):
    check.assertEqual(mirrored.printed("replicas:"), ["2"])


@row("000.20", "Model must be defined and compiled within the tf.keras strategy scope")
def _(check):
    mirrored.completed()
    check.assertEqual([steps for steps, _ in mirrored.values("training", "accuracy")], [4, 8])


@row("000.21", "Fit is called from the train context: train_context.fit(model, ...)")
def _(check):
    mirrored.completed()
    check.assertEqual([steps for steps, _ in mirrored.values("validation", "val_accuracy")], [4, 8])


proved("000.22", "a Keras launch layer which initializes the environment variables needed for distributed training",
       "tests/e2e/3015-launch-tensorflow.sh", "on one node it is a process with a replica a slot")

# ---- inference, loading, profiling

REST = """
import determined as det
from determined.keras import DeterminedProfilerCallback
from tensorflow import keras

from data import images, labels

trial_id = det.get_cluster_info().trial.hparams["trial_id"]
with det.keras.init() as train_context:
    model = train_context.load_model_from_checkpoint(trial_id)
    print("predicted:", model.predict(images[:3], verbose=0).shape)
    print(f"optimizer of trial {trial_id}:", int(model.optimizer.iterations), "iterations,", model.optimizer.name)

    model = keras.Sequential([keras.layers.Input((28, 28)), keras.layers.Flatten(), keras.layers.Dense(10)])
    model.compile("sgd", "mse")
    history = train_context.fit(
        model, x=images[:64], y=labels[:64], batch_size=4, verbose=0,
        callbacks=[
            DeterminedProfilerCallback(
                profiling=True,
                profiling_start=0,
                profiling_end=10,
                sync_timings=None,
            )
        ]
    )
    print("trained:", len(history.model.layers), "layers,", int(history.model.optimizer.iterations), "iterations")
"""
rest = cluster.experiment(
    "rest", {"data.py": DATA, "train.py": REST}, config("rest"), after=printed,
    args=["--config", lambda: f"hyperparameters.trial_id={printed.trials()[0]}",
          "--config", lambda: f"searcher.source_trial_id={printed.trials()[0]}"],
)


@row("000.23", "a thin wrapper around model.predict for distributed batch inference")
def _(check):
    check.assertEqual(two.printed("predicted:"), ["(96, 10) True"] * 2)


@row("000.24", "model = train_context.load_model_from_checkpoint(trial_id)")
def _(check):
    rest.completed()


@row("000.25", "For normal use cases, model.predict can be called directly")
def _(check):
    check.assertEqual(rest.printed("predicted:"), ["(3, 10)"])


@row("000.26", "The Determined profiler is configured as a Keras callback to be passed into context.fit")
def _(check):
    import keras

    from determined.keras import DeterminedProfilerCallback

    check.assertTrue(issubclass(DeterminedProfilerCallback, keras.callbacks.Callback))


@row("000.27", "DeterminedProfilerCallback(profiling=True, profiling_start=0, profiling_end=10, ...)")
def _(check):
    trial = rest.completed().trials()[0]
    profile = json.loads(cluster.det("trial", "profile", str(trial), "--json"))
    check.assertEqual([each["count"] for each in profile if each["name"] == "step"], [10])


@row("000.28", "sync_timings=None")
def _(check):
    from determined.keras import DeterminedProfilerCallback

    wanted = ("profiling", "profiling_start", "profiling_end", "sync_timings")
    check.has_signature(DeterminedProfilerCallback, [(name, None) for name in wanted])


# ---- technical details: context.fit


@row("000.29", "Additional features are automatically included by default with the call to fit on the context")
def _(check):
    check.assertGreater(len(two.steps()), 0)  # the program names no callback of ours


@row("000.30", "Training and validation datasets passed in will be automatically wrapped and sharded")
def _(check):
    check.assertEqual(two.printed("own callback:"), ["12 batches"] * 2)  # 48 records in batches of 16, 4 epochs
    check.assertEqual(len(set(two.printed("weights:"))), 1)


@row("000.31", "Callbacks will be injected to handle metrics reporting")
def _(check):
    check.assertEqual([steps for steps, _ in two.completed().values("training", "loss")], [3, 6, 9, 12])


proved("000.32", "... hyperparameter search", TRAINER, "test_the_configuration_decides_how_long")
proved("000.33", "... preemption", E2E, "with the same bits")


@row("000.34", "... and checkpointing")
def _(check):
    check.assertLessEqual({6, 12}, set(two.steps()))


@row("000.35", "Evaluation/validation on the model will be called as part of the training loop")
def _(check):
    reported = two.completed().values("validation", "val_loss")
    check.assertEqual([steps for steps, _ in reported], [3, 6, 9, 12])
    for value in two.printed("evaluated:"):  # of all the data, however it was shared
        check.assertAlmostEqual(float(value), reported[-1][1], 5)


FIT = [
    ("model", NOT_GIVEN), ("checkpoint_freq", 2), ("x", None), ("y", None), ("batch_size", None), ("epochs", 1),
    ("verbose", "auto"), ("callbacks", None), ("validation_split", 0.0), ("validation_data", None), ("shuffle", True),
    ("class_weight", None), ("sample_weight", None), ("initial_epoch", 0), ("steps_per_epoch", None),
    ("validation_steps", None), ("validation_batch_size", None), ("validation_freq", 1), ("max_queue_size", 10),
    ("workers", 1), ("use_multiprocessing", False),
]


@row("000.36", "def fit(...): these arguments in this order, and no other")
def _(check):
    import determined as det

    check.has_signature(det.keras.TrainerContext.fit, FIT)


def fit_has(name, default=NOT_GIVEN):
    def check_parameter(check):
        import determined as det

        check.has_parameter(det.keras.TrainerContext.fit, name, [each for each, _ in FIT].index(name), default)

    return check_parameter


row("000.37", "fit(model=model)")(fit_has("model"))
row("000.38", "fit(checkpoint_freq=2)")(fit_has("checkpoint_freq", 2))
row("000.39", "fit(x=None)")(fit_has("x", None))
row("000.40", "fit(y=None)")(fit_has("y", None))
row("000.41", "fit(batch_size=None)")(fit_has("batch_size", None))
row("000.42", "fit(epochs=1)")(fit_has("epochs", 1))
row("000.43", "fit(verbose='auto')")(fit_has("verbose", "auto"))
row("000.44", "fit(callbacks=None)")(fit_has("callbacks", None))
row("000.45", "fit(validation_split=0.0)")(fit_has("validation_split", 0.0))
row("000.46", "fit(validation_data=None)")(fit_has("validation_data", None))
row("000.47", "fit(shuffle=True)")(fit_has("shuffle", True))
row("000.48", "fit(class_weight=None)")(fit_has("class_weight", None))
row("000.49", "fit(sample_weight=None)")(fit_has("sample_weight", None))
row("000.50", "fit(initial_epoch=0)")(fit_has("initial_epoch", 0))
row("000.51", "fit(steps_per_epoch=None)")(fit_has("steps_per_epoch", None))
row("000.52", "fit(validation_steps=None)")(fit_has("validation_steps", None))
row("000.53", "fit(validation_batch_size=None)")(fit_has("validation_batch_size", None))
row("000.54", "fit(validation_freq=1)")(fit_has("validation_freq", 1))
row("000.55", "fit(max_queue_size=10)")(fit_has("max_queue_size", 10))
row("000.56", "fit(workers=1)")(fit_has("workers", 1))
row("000.57", "fit(use_multiprocessing=False)")(fit_has("use_multiprocessing", False))

# ---- the body of fit(), as a program of its own.  Keras 3 saves whole models in files that end in .keras.

OWN = """
import time

import determined as det
import tensorflow as tf

from data import images, labels


class Counts(tf.keras.callbacks.Callback):
    tested = trained = 0

    def on_test_batch_end(self, batch, logs=None):
        self.tested += 1

    def on_test_end(self, logs=None):
        print("validation of", self.tested, "batches")
        self.tested = 0

    def on_train_batch_end(self, batch, logs=None):
        self.trained += 1
        while self.trained == 6 and is_first and not context.core.preempt.should_preempt():
            print("waiting", flush=True)
            time.sleep(0.1)


is_first = det.get_cluster_info().latest_checkpoint is None
with det.keras.init() as context:
    model = tf.keras.Sequential([tf.keras.layers.Input((28, 28)), tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    checkpoint_freq, validation_steps, validation_freq, validation_batch_size = 2, 3, 1, 8
    # Model checkpointing callback is just native keras implementation
    checkpoint_callback = tf.keras.callbacks.ModelCheckpoint(
        "checkpoint_path.keras",
        monitor="val_loss",
        verbose=0,
        save_best_only=False,
        save_weights_only=False,
        mode='auto',
        save_freq=checkpoint_freq,
        initial_value_threshold=None,
    )

    callbacks = [
        checkpoint_callback,
        # Handles metrics reporting, preemption
        context.DeterminedCallback(validation_steps, validation_freq, validation_batch_size),
        Counts(),
    ]

    # We pass in a subclassed container to validation_freq to call evaluate during training
    model.fit(images[:64], labels[:64], batch_size=16, epochs=3, validation_data=(images[64:], labels[64:]), verbose=0,
              validation_freq=context.ValidationFreq(),
              callbacks=callbacks)
    print("iterations:", int(model.optimizer.iterations))
"""
own = cluster.experiment("own", {"data.py": DATA, "train.py": OWN}, config("own"), act=pause_at("waiting"))


@row("000.58", "checkpoint_callback = tf.keras.callbacks.ModelCheckpoint(...)")
def _(check):
    own.completed()


proved("000.59", "save_freq=checkpoint_freq: the program's callback saves platform checkpoints",
       TRAINER, "test_a_model_checkpoint_may_count_batches_and_weights_only")


@row("000.60", "context.DeterminedCallback(validation_steps, validation_freq, validation_batch_size)")
def _(check):
    import determined as det

    for place, name in enumerate(("validation_steps", "validation_freq", "validation_batch_size")):
        default = 1 if name == "validation_freq" else None
        check.has_parameter(det.keras.TrainerContext.DeterminedCallback, name, place, default)


@row("000.61", "context.DeterminedCallback(3, 1, 8): validations of three batches of eight")
def _(check):
    check.assertEqual(own.printed("validation of"), ["3 batches"] * 3)


@row("000.62", "Handles metrics reporting")
def _(check):
    check.assertEqual([steps for steps, _ in own.completed().values("training", "loss")], [4, 8, 12])


@row("000.63", "... preemption")
def _(check):
    check.assertIn("continuing after 6 batches", own.log())
    check.assertEqual(own.printed("iterations:"), ["6", "12"])


@row("000.64", "We pass in a subclassed container to validation_freq to call evaluate during training")
def _(check):
    import determined as det

    check.assertEqual([steps for steps, _ in own.completed().values("validation", "val_loss")], [4, 8, 12])
    check.assertTrue(hasattr(det.keras.ValidationFreq, "__contains__"))


# ---- notes

proved("000.65", "handle forking as usual", "tests/e2e/2008-fork-continue.sh", "a fork of it waits")


@row("000.66", "if specifying a source trial in the config, fit call gets overriden, model compile basically useless")
def _(check):
    check.assertEqual(rest.printed("trained:"), ["4 layers, 40 iterations"])  # 24 of the source, and 16
    check.assertIn("model, optimizer and loss come from trial", rest.log())


proved("000.67", "Do we want to support predict inference during training?",
       TRAINER, "test_predicting_while_training_disturbs_nothing")
proved("000.68", "Should we support custom model checkpoint callback?",
       TRAINER, "test_a_model_checkpoint_of_the_program_replaces_ours")

if __name__ == "__main__":
    main(cluster)
