# SPDX-License-Identifier: Apache-2.0
"""A metric whose result is a vector: one F1 score for each class."""
import keras
import numpy as np

import determined as det

x = np.random.default_rng(1).random((80, 4)).astype("float32")
y = keras.utils.to_categorical(x.argmax(1) % 3, 3)
with det.keras.init() as train_context:
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3, activation="softmax")])
    model.compile("adam", "categorical_crossentropy", metrics=[keras.metrics.F1Score(), "accuracy"])
    train_context.fit(model, det.Batches(4), x, y, epochs=6, batch_size=8, verbose=0, validation_data=(x[:16], y[:16]))
