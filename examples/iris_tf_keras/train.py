# SPDX-License-Identifier: Apache-2.0
"""Three species of iris, told apart by four lengths: an ordinary model.fit() with
det.keras.DeterminedCallback among its callbacks.
"""
import csv
import os

import determined as det
import determined.keras
import numpy as np
from tensorflow import keras


def load_data():
    """120 flowers to learn from; every fifth is kept for the validation."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "iris.csv")) as file:
        rows = np.array(list(csv.reader(file))[1:], np.float32)
    x, y = rows[:, :4], keras.utils.to_categorical(rows[:, 4], 3)
    held_back = np.arange(len(rows)) % 5 == 4
    mean, spread = x[~held_back].mean(axis=0), x[~held_back].std(axis=0)
    x = (x - mean) / spread
    return (x[~held_back], y[~held_back]), (x[held_back], y[held_back])


def build_model(hparams):
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(hparams["layer1_dense_size"], activation="relu"),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.RMSprop(hparams["learning_rate"]),
        loss="categorical_crossentropy",
        metrics=["categorical_accuracy"],
    )
    return model


def main(core_context, strategy):
    info = det.get_cluster_info()
    assert info and info.task_type == "TRIAL", "this example only runs as a trial on the cluster"
    hparams = info.trial.hparams

    # The same weights to begin with, also when it is killed before anything was saved.
    keras.utils.set_random_seed(info.trial.trial_seed)
    with strategy.scope():
        model = build_model(hparams)

    det_cb = det.keras.DeterminedCallback(
        core_context,
        checkpoint=info.latest_checkpoint,
        continue_id=info.trial.trial_id,
        checkpoint_epochs=20,
    )
    tb_cb = det.keras.TensorBoard(core_context, update_freq="epoch")

    (x, y), (x_test, y_test) = load_data()
    model.fit(
        x,
        y,
        batch_size=hparams["global_batch_size"],
        epochs=hparams["epochs"],
        validation_data=(x_test, y_test),
        verbose=2,
        callbacks=[det_cb, tb_cb],
    )


if __name__ == "__main__":
    distributed, strategy = det.core.DistributedContext.from_tf_config()
    with det.core.init(distributed=distributed) as core_context:
        main(core_context, strategy)
