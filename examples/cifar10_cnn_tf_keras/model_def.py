# SPDX-License-Identifier: Apache-2.0
"""A convolutional network for small colour pictures in ten classes.

The data is a tf.data.Dataset, cached on the disk by the first trial that needs it.  From there it
is read back from any batch on, in an order of its own for every epoch, so that a trial which
was paused goes on exactly where it was.
"""
import determined as det
import tensorflow as tf
from determined.keras import TFKerasTensorBoard, TFKerasTrial, datasets
from tensorflow import keras
from tensorflow.keras import layers

datasets.allow_drawn()  # where CIFAR-10 cannot be had, drawn pictures take its place


def records(split):
    images, labels = split
    return tf.data.Dataset.from_tensor_slices((images, labels[:, 0]))


def scaled(image, label):
    return tf.cast(image, tf.float32) / 255.0, label


class CIFARTrial(TFKerasTrial):
    def __init__(self, context: det.keras.TFKerasTrialContext):
        self.context = context
        self.train, self.test = keras.datasets.cifar10.load_data()
        self.version = datasets.source("cifar10")  # what is drawn is not taken for the real ones later

    def build_model(self):
        width = self.context.get_hparam("filters")
        model = keras.Sequential(
            [
                keras.Input((32, 32, 3)),
                layers.RandomFlip("horizontal"),
                layers.Conv2D(width, 3, padding="same", activation="relu"),
                layers.MaxPooling2D(),
                layers.Conv2D(2 * width, 3, padding="same", activation="relu"),
                layers.BatchNormalization(),
                layers.MaxPooling2D(),
                layers.Conv2D(2 * width, 3, padding="same", activation="relu"),
                layers.MaxPooling2D(),
                layers.Flatten(),
                layers.Dropout(self.context.get_hparam("dropout")),
                layers.Dense(10),
            ]
        )
        model = self.context.wrap_model(model)
        optimizer = keras.optimizers.RMSprop(self.context.get_hparam("learning_rate"))
        model.compile(
            optimizer=self.context.wrap_optimizer(optimizer),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        )
        return model

    def build_training_data_loader(self):
        @self.context.experimental.cache_train_dataset("cifar10", self.version, shuffle=True)
        def make_dataset():
            return records(self.train)

        dataset = self.context.wrap_dataset(make_dataset())
        return dataset.batch(self.context.get_per_slot_batch_size()).map(scaled)

    def build_validation_data_loader(self):
        @self.context.experimental.cache_validation_dataset("cifar10", self.version)
        def make_dataset():
            return records(self.test)

        dataset = self.context.wrap_dataset(make_dataset())
        return dataset.batch(self.context.get_per_slot_batch_size()).map(scaled)

    def keras_callbacks(self):
        return [TFKerasTensorBoard(update_freq="epoch")]
