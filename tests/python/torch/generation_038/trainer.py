# SPDX-License-Identifier: Apache-2.0
"""A script as written for the 0.38 generation: pytorch.init(), a trial, Trainer.fit() with all its arguments."""
import collections
import logging

import numpy as np
import torch
from torch import nn

import determined as det
from determined import pytorch
from determined.pytorch import DataLoader, LRScheduler, MetricReducer, PyTorchCallback, PyTorchTrial, Reducer

HPARAMS = {"lr": 0.1, "global_batch_size": 8, "nested": {"width": 6}}
CALLS = collections.Counter()


class Points(torch.utils.data.Dataset):
    def __init__(self, count, seed):
        rng = np.random.default_rng(seed)
        self.x = rng.random((count, 3)).astype("float32")
        self.y = (self.x.sum(1) > 1.5).astype("int64")

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return {"x": self.x[index], "y": self.y[index]}


class Accuracy(MetricReducer):
    def __init__(self):
        self.reset()

    def reset(self):
        self.right = 0
        self.count = 0

    def update(self, scores, y):
        self.right += int((scores.argmax(1) == y).sum())
        self.count += len(y)

    def per_slot_reduce(self):
        return self.right, self.count

    def cross_slot_reduce(self, per_slot_metrics):
        right, count = zip(*per_slot_metrics)
        return sum(right) / max(sum(count), 1)


class Noting(PyTorchCallback):
    """Every hook."""

    def __init__(self):
        self.epochs = 0

    def on_trial_startup(self, first_batch_idx, checkpoint_uuid):
        CALLS["on_trial_startup"] += 1
        CALLS["first batch"] = first_batch_idx

    def on_trial_shutdown(self):
        CALLS["on_trial_shutdown"] += 1

    def on_training_start(self):
        CALLS["on_training_start"] += 1

    def on_training_epoch_start(self, epoch_idx):
        CALLS["on_training_epoch_start"] += 1

    def on_training_epoch_end(self, epoch_idx):
        self.epochs += 1
        CALLS["on_training_epoch_end"] += 1

    def on_training_workload_end(self, avg_metrics, batch_metrics):
        assert "loss" in avg_metrics
        CALLS["on_training_workload_end"] += 1

    def on_validation_start(self):
        CALLS["on_validation_start"] += 1

    def on_validation_epoch_start(self):
        CALLS["on_validation_epoch_start"] += 1

    def on_validation_epoch_end(self, outputs):
        assert "val_loss" in outputs[0]
        CALLS["on_validation_epoch_end"] += 1

    def on_validation_end(self, metrics):
        assert "val_loss" in metrics
        CALLS["on_validation_end"] += 1

    def on_checkpoint_load_start(self, checkpoint):
        assert "models_state_dict" in checkpoint
        CALLS["on_checkpoint_load_start"] += 1

    def on_checkpoint_save_start(self, checkpoint):
        assert "optimizers_state_dict" in checkpoint
        CALLS["on_checkpoint_save_start"] += 1

    def on_checkpoint_write_end(self, checkpoint_dir):
        CALLS["on_checkpoint_write_end"] += 1

    def on_checkpoint_upload_end(self, uuid):
        CALLS["on_checkpoint_upload_end"] += 1

    def state_dict(self):
        return {"epochs": self.epochs}

    def load_state_dict(self, state_dict):
        self.epochs = state_dict["epochs"]


class PointsTrial(PyTorchTrial):
    def __init__(self, context: pytorch.PyTorchTrialContext, hparams: dict) -> None:
        self.context = context
        self.hparams = hparams
        width = hparams["nested"]["width"]
        self.model = self.context.wrap_model(nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 2)))
        self.optimizer = self.context.wrap_optimizer(
            torch.optim.SGD(self.model.parameters(), lr=hparams["lr"], momentum=0.9), backward_passes_per_step=1
        )
        schedulers = torch.optim.lr_scheduler
        self.every_batch = self.context.wrap_lr_scheduler(
            schedulers.ExponentialLR(self.optimizer, 0.99), step_mode=LRScheduler.StepMode.STEP_EVERY_BATCH, frequency=2
        )
        self.every_epoch = self.context.wrap_lr_scheduler(
            schedulers.StepLR(self.optimizer, 1, 0.5), LRScheduler.StepMode.STEP_EVERY_EPOCH
        )
        self.by_hand = self.context.wrap_lr_scheduler(
            schedulers.ConstantLR(self.optimizer, 1.0, 1), LRScheduler.StepMode.MANUAL_STEP
        )
        self.accuracy = self.context.wrap_reducer(Accuracy(), name="accuracy")
        self.most = self.context.wrap_reducer(lambda values: max(values), name="most", for_training=False, for_validation=True)

    def build_training_data_loader(self):
        return DataLoader(Points(64, 1), batch_size=self.context.get_per_slot_batch_size(), shuffle=True, drop_last=True)

    def build_validation_data_loader(self):
        return DataLoader(Points(20, 2), batch_size=self.context.get_per_slot_batch_size())

    def build_callbacks(self):
        return {"noting": Noting()}

    def evaluation_reducer(self):
        return {"val_loss": Reducer.AVG, "worst": Reducer.MAX, "best": Reducer.MIN, "records": Reducer.SUM}

    def get_batch_length(self, batch):
        return len(batch["y"])

    def train_batch(self, batch, epoch_idx, batch_idx):
        assert self.model.training
        assert self.context.current_train_batch() == batch_idx and self.context.current_train_epoch() == epoch_idx
        scores = self.model(batch["x"])
        loss = nn.functional.cross_entropy(scores, batch["y"])
        self.accuracy.update(scores, batch["y"])
        self.context.backward(loss)
        self.context.step_optimizer(
            self.optimizer, clip_grads=lambda params: torch.nn.utils.clip_grad_norm_(params, 1.0), auto_zero_grads=True
        )
        self.by_hand.step()
        return {"loss": loss, "lr": self.optimizer.param_groups[0]["lr"], "numpy": np.float32(1.0)}

    def evaluate_batch(self, batch, batch_idx):
        assert not self.model.training and not torch.is_grad_enabled()
        scores = self.model(batch["x"])
        loss = nn.functional.cross_entropy(scores, batch["y"])
        self.accuracy.update(scores, batch["y"])
        self.most.update(float(scores.max()))
        return {"val_loss": loss, "worst": loss, "best": loss, "records": len(batch["y"])}


def main(max_length=pytorch.Epoch(2), latest_checkpoint=None):
    info = det.get_cluster_info()
    if info is None:  # on a laptop
        hparams, exp_conf = HPARAMS, {"searcher": {"name": "single", "metric": "val_loss", "smaller_is_better": True}}
    else:
        hparams, exp_conf, latest_checkpoint = info.trial.hparams, None, info.latest_checkpoint
    with pytorch.init(hparams=hparams, exp_conf=exp_conf, aggregation_frequency=1, enable_tensorboard_logging=True) as train_context:
        trial = PointsTrial(train_context, hparams=hparams)
        trainer = pytorch.Trainer(trial, train_context)
        trainer.fit(
            checkpoint_period=pytorch.Batch(5),
            validation_period=pytorch.Epoch(1),
            max_length=max_length,
            reporting_period=pytorch.Batch(3),
            checkpoint_policy="all",
            latest_checkpoint=latest_checkpoint,
            step_zero_validation=True,
            test_mode=False,
            profiling_enabled=True,
        )
        writer = train_context.get_tensorboard_writer()
        writer.add_scalar("own", 1.0, 1)
        return trial


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    main()
    print("calls:", " ".join(f"{name}={count}" for name, count in sorted(CALLS.items()) if " " not in name))
