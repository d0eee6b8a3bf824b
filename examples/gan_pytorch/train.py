# SPDX-License-Identifier: Apache-2.0
"""The same trial without a platform: python3 train.py"""
import determined as det
import determined.pytorch
from model_def import GANTrial

if __name__ == "__main__":
    context = det.pytorch.init()
    metrics = context.fit(context.build_trial(GANTrial), max_length=det.Batches(1000))
    print(metrics)
