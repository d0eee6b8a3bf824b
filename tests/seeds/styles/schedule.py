# SPDX-License-Identifier: Apache-2.0
"""LearningRateScheduler as in Keras's documentation: the next rate follows from the last one."""
import keras
import numpy as np

import determined as det

info = det.get_cluster_info()
keras.utils.set_random_seed(info.trial.trial_seed)
x = np.random.default_rng(1).random((80, 4)).astype("float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
with det.core.init() as core_context:
    model.fit(
        x, x.sum(1), epochs=8, batch_size=8, verbose=0, validation_data=(x[:16], x[:16].sum(1)),
        callbacks=[
            keras.callbacks.LearningRateScheduler(lambda epoch, lr: lr if epoch < 2 else float(lr * np.exp(-0.1))),
            det.keras.DeterminedCallback(core_context, info.latest_checkpoint, continue_id=info.trial.trial_id),
        ],
    )
