# SPDX-License-Identifier: Apache-2.0
"""What a trained model sees in the first ten test pictures: python3 predict.py TRIAL"""
import sys

import determined as det
import determined.keras
from determined.keras import datasets
from tensorflow import keras

datasets.allow_drawn()

with det.keras.init() as train_context:
    model = train_context.load_model_from_checkpoint(int(sys.argv[1]))
    _, (images, labels) = keras.datasets.mnist.load_data()
    scores = model.predict(images[:10] / 255.0, verbose=0)
    print("seen:", *scores.argmax(axis=1))
    print("true:", *labels[:10])
