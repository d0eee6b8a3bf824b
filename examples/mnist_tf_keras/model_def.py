# SPDX-License-Identifier: Apache-2.0
"""A network of two layers learns to read handwritten digits: the model of TensorFlow's tutorial
on basic image classification, as a TFKerasTrial.
"""
import determined as det
import tensorflow as tf
from determined.keras import TFKerasTrial, data, datasets
from tensorflow import keras

datasets.allow_drawn()  # where MNIST cannot be had, drawn digits take its place


class MNISTTrial(TFKerasTrial):
    def __init__(self, context: det.keras.TFKerasTrialContext):
        self.context = context

    def build_model(self):
        model = keras.Sequential(
            [
                keras.layers.Flatten(input_shape=(28, 28)),
                keras.layers.Dense(128, activation="relu"),
                keras.layers.Dense(10),
            ]
        )
        model = self.context.wrap_model(model)
        model.compile(
            optimizer="adam",
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=[tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        )
        return model

    def build_training_data_loader(self):
        mnist = keras.datasets.mnist
        (train_images, train_labels), (_, _) = mnist.load_data()

        global_batch_size = self.context.get_hparam('global_batch_size')
        train = data.InMemorySequence(data=train_images, labels=train_labels, batch_size=global_batch_size)
        return train

    def build_validation_data_loader(self):
        mnist = keras.datasets.mnist
        (_, _), (test_images, test_labels) = mnist.load_data()

        batch_size = self.context.get_per_slot_batch_size()
        test = data.InMemorySequence(data=test_images, labels=test_labels, batch_size=batch_size)
        return test
