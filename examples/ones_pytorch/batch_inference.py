# SPDX-License-Identifier: Apache-2.0
# batch_inference.py
"""
uses the model of a trial that train.py has trained: det job run batch_inference.yaml .
"""

from train import OneVarPytorchTrial, OnesDataset

import torch
from torch import nn

import determined as det
import determined.pytorch

context = det.pytorch.init()


def my_upload_fn(predictions):
    # every slot has all predictions; one of them writes
    if context.distributed.rank == 0:
        torch.save(predictions, context.config_data["output"])
        print("predicted", len(predictions), "values, the first is", predictions[0].item())


# you can access values from your config's .data field
# which is just a dictionary of arbitrary user data
trial_id = context.config_data["trial_id"]

# load a trial from a checkpoint
my_trial = context.load_checkpoint_trial(OneVarPytorchTrial, trial_id=trial_id)

# You are still free to shard your batch_size but since we are not training
# there isn't any particular need to.
batch_size = context.config_data["batch_size"]

# build a dataset, same as for training
pred_data = det.pytorch.DataLoader(OnesDataset(), batch_size=batch_size)

predictions = context.predict(my_trial, pred_data)

# you'll want to upload your predictions to somewhere persistent
my_upload_fn(predictions)
