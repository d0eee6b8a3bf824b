# SPDX-License-Identifier: Apache-2.0
"""Digits again, with the Trainer API: a context around plain Keras code, and fit() on the context."""
import determined as det
import determined.keras
import tensorflow as tf
from determined.keras import datasets
from tensorflow import keras

datasets.allow_drawn()  # where MNIST cannot be had, drawn digits take its place


def make_dataset(split, batch_size, seed=None):
    images, labels = split
    dataset = tf.data.Dataset.from_tensor_slices((images / 255.0, labels))
    if seed is not None:  # a shuffle without a seed could not be done again after a pause
        dataset = dataset.shuffle(10000, seed=seed)
    return dataset.batch(batch_size)


with det.keras.init() as train_context:
    trial = det.get_cluster_info().trial
    train, test = keras.datasets.mnist.load_data()
    ds_train = make_dataset(train, trial.hparams["batch_size"], seed=trial.trial_seed)
    ds_test = make_dataset(test, 500)

    model = keras.models.Sequential(
        [
            keras.layers.Flatten(input_shape=(28, 28)),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.Dropout(trial.hparams["dropout"]),
            keras.layers.Dense(10),
        ]
    )

    optimizer = keras.optimizers.Adam(trial.hparams["learning_rate"])
    optimizer = train_context.wrap_optimizer(optimizer)

    ds_train = train_context.wrap_dataset(ds_train)
    ds_test = train_context.wrap_dataset(ds_test)

    model.compile(
        optimizer=optimizer,
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[keras.metrics.SparseCategoricalAccuracy()],
    )

    train_context.fit(
        model=model,
        checkpoint_freq=2,
        x=ds_train,
        epochs=6,
        validation_data=ds_test,
        verbose=2,
        callbacks=[],
    )
