# SPDX-License-Identifier: Apache-2.0
"""Augmentation layers in a serial tf.data.map(), shuffled and prefetched."""
import keras
import numpy as np
import tensorflow as tf

import determined as det

with det.keras.init() as train_context:
    augment = keras.Sequential(
        [keras.layers.RandomFlip("horizontal", seed=1), keras.layers.RandomRotation(0.1, seed=2)])
    images = np.random.default_rng(1).random((64, 8, 8, 1)).astype("float32")
    labels = (images.mean((1, 2, 3)) > 0.5).astype("int32")
    data = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(64, seed=3).batch(8)
    data = data.map(lambda x, y: (augment(x, training=True), y)).prefetch(tf.data.AUTOTUNE)
    model = keras.Sequential(
        [keras.Input((8, 8, 1)), keras.layers.Conv2D(2, 3), keras.layers.Flatten(), keras.layers.Dense(2)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    train_context.fit(model, det.Batches(4), data, epochs=6, verbose=0,
                      validation_data=tf.data.Dataset.from_tensor_slices((images, labels)).batch(16))
