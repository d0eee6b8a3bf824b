# SPDX-License-Identifier: Apache-2.0
"""Seed 001, the user guide "Keras API": one callback in an ordinary script."""
import inspect
import json

from cluster import Cluster, pause_at
from rows import NOT_GIVEN, main, proved, row

E2E, CALLBACK = "tests/e2e/3019-keras-callback.sh", "tests/python/keras/test_callback.py"
LAUNCH, STRATEGIES = "tests/e2e/3015-launch-tensorflow.sh", "tests/e2e/3020-strategies.sh"

cluster = Cluster(slots=1)

SCRIPT = """
import os
import sys
import time

import determined as det
import numpy as np
import tensorflow as tf
from tensorflow import keras


def my_build_model():
    return keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(4), keras.layers.Dense(1)])


class Waits(keras.callbacks.Callback):
    "In the first run of the first trial, in the middle of its second epoch."
    done = 0

    def on_epoch_begin(self, epoch, logs=None):
        print("epoch begins:", epoch)

    def on_train_batch_end(self, batch, logs=None):
        self.done += 1
        while self.done == 15 and waits and not core_context.preempt.should_preempt():
            print("waiting", flush=True)
            time.sleep(0.1)


def main(core_context, strategy):
    with strategy.scope():
        model = my_build_model()
        model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse", metrics=["mae"])

    info = det.get_cluster_info()
    assert info and info.task_type == "TRIAL", "this example only runs as a trial on the cluster"
    my_starting_checkpoint = info.trial.hparams["start"] or None
    print("latest checkpoint:", info.latest_checkpoint)
    print("trial id:", info.trial.trial_id)

    det_cb = det.keras.DeterminedCallback(
        core_context,
        checkpoint=info.latest_checkpoint or my_starting_checkpoint,
        continue_id=info.trial.trial_id,
        **info.trial.hparams["options"],
    )
    tb_cb = det.keras.TensorBoard(core_context, histogram_freq=1, update_freq="epoch")
    rate_cb = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.9)

    random = np.random.RandomState(1)
    x, y = random.rand(160, 4), random.rand(160, 1)
    print("weights at the beginning:", float(np.abs(model.get_weights()[0]).sum()))
    history = model.fit(
        x, y, epochs=info.trial.hparams["epochs"], batch_size=8, validation_split=0.5, verbose=0,
        callbacks=[det_cb, tb_cb, rate_cb, Waits()],
    )
    print("trained:", history.epoch, int(model.optimizer.iterations), "batches")
    print(f"learning rate: {float(model.optimizer.learning_rate):.6f}")


if __name__ == "__main__":
    waits = det.get_cluster_info().latest_checkpoint is None and not det.get_cluster_info().trial.hparams["start"]
    keras.utils.set_random_seed(1)
    print("arguments:", sys.argv[1:], "TF_CONFIG:", os.environ.get("TF_CONFIG"))
    distributed, strategy = det.core.DistributedContext.from_tf_config()
    print("made:", type(distributed).__name__, isinstance(strategy, tf.distribute.Strategy))
    with det.core.init(distributed=distributed) as core_context:
        print("core context:", type(core_context).__name__, core_context.distributed is distributed)
        main(core_context, strategy)
"""
CONFIG = """
name: {}
entrypoint: >-
  python3 -m determined.launch.tensorflow --
  python3 my_train.py --my-arg 7
hyperparameters: {}
searcher: {{name: single, metric: val_loss}}
max_restarts: 0
"""
guide = cluster.experiment("guide", {"my_train.py": SCRIPT},
                           CONFIG.format("guide", '{epochs: 4, start: "", options: {}}'), act=pause_at("waiting"))
again = cluster.experiment(
    "again", {"my_train.py": SCRIPT},
    CONFIG.format("again", "{epochs: 3, start: X, options: {checkpoint_epochs: 0, train_metrics_report_period: 5}}"),
    args=["--config", lambda: f"hyperparameters.start={guide.checkpoints()[-1]['uuid']}"], after=guide,
)


def callback_parameters():
    import determined as det

    return inspect.signature(det.keras.DeterminedCallback).parameters


# ---- the entrypoint


@row("001.1", "how to use Determined's keras.DeterminedCallback while training your Keras model")
def _(check):
    import keras

    import determined as det

    check.assertTrue(issubclass(det.keras.DeterminedCallback, keras.callbacks.Callback))


@row("001.2", "update your model.fit() call to include a DeterminedCallback and submit it to a Determined cluster")
def _(check):
    guide.completed()


proved("001.3", "the Iris categorization example", "tests/e2e/3018-keras-examples.sh", "the irises")


@row("001.4", "entrypoint: >- python3 -m determined.launch.tensorflow -- python3 my_train.py --my-arg...")
def _(check):
    check.assertIn("['--my-arg', '7'] TF_CONFIG: None", guide.printed("arguments:"))


proved("001.5", "configure your training script with the right TF_CONFIG when distributed resources are available",
       LAUNCH, "one of several nodes knows the others")


@row("001.6", "and will safely do nothing when they are not")
def _(check):
    check.assertTrue(all(line.endswith("TF_CONFIG: None") for line in guide.printed("arguments:")))


# ---- the context and the strategy


@row("001.7", "distributed, strategy = det.core.DistributedContext.from_tf_config()")
def _(check):
    check.assertEqual(set(guide.printed("made:")), {"DistributedContext True"})


@row("001.8", "with det.core.init(distributed=distributed) as core_context:")
def _(check):
    check.assertEqual(set(guide.printed("core context:")), {"Context True"})


@row("001.9", "main(core_context, strategy)")
def _(check):
    check.assertEqual(guide.printed("trained:")[-1], "[0, 1, 2, 3] 40 batches")


proved("001.10", "create both a suitable DistributedContext and Strategy for the training environment: two nodes",
       STRATEGIES, "with a strategy over workers")
proved("001.11", "... two slots of one node", STRATEGIES, "with a replica each")
proved("001.12", "... one slot", STRATEGIES, "without a strategy")


@row("001.13", "with strategy.scope(): model = my_build_model(); model.compile(...)")
def _(check):
    check.assertEqual(len(guide.completed().values("training", "mae")), 4)


# ---- the callback: what it does


@row("001.14", "It reports train metrics")
def _(check):
    check.assertEqual([steps for steps, _ in guide.completed().values("training", "loss")], [10, 20, 30, 40])


@row("001.15", "... and test metrics")
def _(check):
    check.assertEqual([steps for steps, _ in guide.completed().values("validation", "loss")], [10, 20, 30, 40])


@row("001.16", "reports progress")
def _(check):
    found = json.loads(cluster.det("experiment", "describe", str(guide.completed().id), "--json"))
    texts = json.dumps(found)
    check.assertRegex(texts, r'"progress": *1(\.0)?\b')


@row("001.17", "saves checkpoints")
def _(check):
    check.assertLessEqual({10, 20, 30, 40}, set(guide.steps()))  # after every epoch
    check.assertIn(15, guide.steps())  # and where it was paused


@row("001.18", "and uploads them to checkpoint storage")
def _(check):
    guide.completed()
    check.assertEqual(guide.checkpoints()[-1]["state"], "STATE_COMPLETED")  # the policy removes others
    cluster.det("checkpoint", "download", guide.checkpoints()[-1]["uuid"], "-o", cluster.path("downloaded"))


@row("001.19", "it manages preemption signals from the Determined master (for example, when you pause your experiment)")
def _(check):
    check.assertEqual(len(guide.printed("latest checkpoint:")), 2)


@row("001.20", "gracefully halting training and later resuming from where it left off")
def _(check):
    check.assertIn("continuing after 15 batches", guide.log())
    check.assertEqual(guide.printed("trained:")[-1], "[0, 1, 2, 3] 40 batches")


@row("001.21", "... so that the learning rate is what it would have been without a pause")
def _(check):
    check.assertEqual(guide.printed("learning rate:")[-1], f"{0.1 * 0.9 ** 4:.6f}")


@row("001.22", "... and no epoch begins twice")
def _(check):
    check.assertEqual(guide.printed("epoch begins:"), ["0", "1", "2", "3"])


# ---- its arguments


@row("001.23", "The DeterminedCallback has only three required inputs")
def _(check):
    required = [name for name, each in callback_parameters().items() if each.default is NOT_GIVEN]
    check.assertEqual(required, ["core_context", "checkpoint", "continue_id"])


@row("001.24", "the core_context you already created")
def _(check):
    check.assertEqual(list(callback_parameters())[0], "core_context")


@row("001.25", "a checkpoint UUID to start training from, or None")
def _(check):
    check.assertEqual(list(callback_parameters())[1], "checkpoint")
    check.assertEqual(guide.printed("latest checkpoint:")[0], "None")
    check.assertIn("beginning with the weights of the checkpoint", again.log())


@row("001.26", "a continue_id used to decide how to treat the checkpoint")
def _(check):
    check.assertEqual(list(callback_parameters())[2], "continue_id")


@row("001.27", "det.get_cluster_info().latest_checkpoint: the latest checkpoint saved by this trial, or None")
def _(check):
    first, second = guide.printed("latest checkpoint:")
    saved = {each["uuid"]: each["metadata"]["steps_completed"] for each in guide.checkpoints()}
    check.assertEqual(first, "None")
    check.assertEqual(saved[second], 15)


@row("001.28", "info.latest_checkpoint or my_starting_checkpoint")
def _(check):
    check.assertEqual(again.printed("latest checkpoint:"), ["None"])
    check.assertEqual(again.printed("trained:"), ["[0, 1, 2] 30 batches"])


@row("001.29", "just the starting weights and training should begin at epoch=0")
def _(check):
    check.assertEqual(again.printed("epoch begins:"), ["0", "1", "2"])


@row("001.30", "or a partially complete training that should pick up where it left off (at epoch > 0)")
def _(check):
    check.assertEqual(guide.completed().values("validation", "epochs")[-1], (40, 4.0))


@row("001.31", "The provided continue_id is saved along with every checkpoint")
def _(check):
    again.completed()  # the same checkpoint, another continue_id: only the weights were taken
    check.assertNotIn("continuing after", again.log())


proved("001.32", "if the continue_id matches what was in the checkpoint, training state is also loaded",
       "tests/python/keras/test_resume.py", "test_trainings_of_two_trials_are_the_same_files")


@row("001.33", "an easy value for continue_id is det.get_cluster_info().trial.trial_id")
def _(check):
    check.assertEqual(set(guide.printed("trial id:")), {str(guide.trials()[0])})


@row("001.34", "optional parameters: train_metrics_report_period='epoch'")
def _(check):
    check.assertEqual(callback_parameters()["train_metrics_report_period"].default, "epoch")


@row("001.35", "train_metrics_report_period=5 reports every five batches")
def _(check):
    check.assertEqual([steps for steps, _ in again.completed().values("training", "loss")], [5, 10, 15, 20, 25, 30])


@row("001.36", "optional parameters: checkpoint_epochs=1")
def _(check):
    check.assertEqual(callback_parameters()["checkpoint_epochs"].default, 1)


@row("001.37", "checkpoint_epochs=0 saves at the end only")
def _(check):
    check.assertEqual(again.steps(), [30])


@row("001.38", "and there is no other optional parameter")
def _(check):
    optional = [name for name, each in callback_parameters().items() if each.default is not NOT_GIVEN]
    check.assertEqual(optional, ["train_metrics_report_period", "checkpoint_epochs"])


@row("001.39", 'assert info and info.task_type == "TRIAL"')
def _(check):
    import determined as det

    check.assertIsNone(det.get_cluster_info())  # outside of the cluster
    guide.completed()


@row("001.40", "det.keras.DeterminedCallback(core_context, checkpoint=..., continue_id=info.trial.trial_id)")
def _(check):
    guide.completed()


# ---- data, TensorBoard, fit()

proved("001.41", "ensure that your input data is properly sharded", STRATEGIES, "to the same weights")


@row("001.42", "Determined's TensorBoard callback, which extends Keras' TensorBoard callback")
def _(check):
    import keras

    import determined as det

    check.assertTrue(issubclass(det.keras.TensorBoard, keras.callbacks.TensorBoard))


@row("001.43", "tb_cb = det.keras.TensorBoard(core_context, ...): an additional initial argument")
def _(check):
    import determined as det

    check.assertEqual(list(inspect.signature(det.keras.TensorBoard).parameters)[0], "core_context")


proved("001.44", "the ability to automatically upload metrics to Determined's checkpoint storage",
       E2E, "TensorBoard's files lie in the checkpoint storage")


@row("001.45", "model.fit(..., callbacks=[det_cb, tb_cb])")
def _(check):
    guide.completed()


proved("001.46", "the reference of its optional parameters is the guide of the callback",
       CALLBACK, "test_arguments")

if __name__ == "__main__":
    main(cluster)
