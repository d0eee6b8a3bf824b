# SPDX-License-Identifier: Apache-2.0
"""A model with two inputs and two outputs, each with its loss, weight and metric; EarlyStopping and a plateau."""
import keras
import numpy as np

import determined as det

random = np.random.default_rng(1)
a, b = random.random((80, 3)).astype("float32"), random.random((80, 2)).astype("float32")
with det.keras.init() as train_context:
    first, second = keras.Input((3,), name="first"), keras.Input((2,), name="second")
    x = keras.layers.Dropout(0.2)(keras.layers.Dense(8, activation="relu")(keras.layers.concatenate([first, second])))
    outputs = {"total": keras.layers.Dense(1, name="total")(x),
               "large": keras.layers.Dense(1, activation="sigmoid", name="large")(x)}
    model = keras.Model({"first": first, "second": second}, outputs)
    model.compile(
        keras.optimizers.RMSprop(0.01), loss={"total": "mse", "large": "binary_crossentropy"},
        loss_weights={"total": 1.0, "large": 0.2}, metrics={"total": ["mae"], "large": ["accuracy"]},
    )
    total = a.sum(1) + b.sum(1)
    data, wanted = {"first": a, "second": b}, {"total": total, "large": (total > 2.5).astype("float32")}
    train_context.fit(
        model, det.Batches(4), data, wanted, epochs=6, batch_size=8, verbose=0, validation_data=(data, wanted),
        callbacks=[keras.callbacks.EarlyStopping(patience=50), keras.callbacks.ReduceLROnPlateau(patience=1)],
    )
