# SPDX-License-Identifier: Apache-2.0
"""Which piece of clothing is it?  Plain arrays as data, a search over the size of the layer and
the learning rate.
"""
import determined as det
from determined.keras import TFKerasTrial, callbacks, datasets
from tensorflow import keras

datasets.allow_drawn()  # where Fashion-MNIST cannot be had, drawn clothes take its place


class FashionMNISTTrial(TFKerasTrial):
    def __init__(self, context: det.keras.TFKerasTrialContext):
        self.context = context
        (self.images, self.labels), (self.test_images, self.test_labels) = (
            keras.datasets.fashion_mnist.load_data()
        )

    def build_model(self):
        model = keras.Sequential(
            [
                keras.Input((28, 28)),
                keras.layers.Flatten(),
                keras.layers.Dense(self.context.get_hparam("dense1"), activation="relu"),
                keras.layers.Dropout(self.context.get_hparam("dropout")),
                keras.layers.Dense(10),
            ]
        )
        model = self.context.wrap_model(model)
        optimizer = keras.optimizers.Adam(self.context.get_hparam("learning_rate"))
        model.compile(
            optimizer=self.context.wrap_optimizer(optimizer),
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
        )
        return model

    def build_training_data_loader(self):
        return self.images / 255.0, self.labels

    def build_validation_data_loader(self):
        return self.test_images / 255.0, self.test_labels

    def keras_callbacks(self):
        # Its counters are part of every checkpoint: a trial that was paused goes on counting.
        return [callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=2)]
