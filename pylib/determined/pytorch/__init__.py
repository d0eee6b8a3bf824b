# SPDX-License-Identifier: Apache-2.0
"""The front end for PyTorch: a trial is a class, and one loop trains it.

    init()          a context: context.fit(trial, ...), or Trainer(trial, context).fit(...)
    PyTorchTrial    the model and its steps: train_batch(), evaluate_batch()
    DataLoader      PyTorch's own, sharded and resumable

All of them use the Loop (_loop.py), which asks libdet's trainer after every batch what is due.
"""
import importlib
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from determined.pytorch import experimental, samplers
    from determined.pytorch._callback import PyTorchCallback
    from determined.pytorch._data import DataLoader, TorchData
    from determined.pytorch._init import TrainerContext, init
    from determined.pytorch._load import CheckpointLoadContext, load_trial_from_checkpoint_path
    from determined.pytorch._lr_scheduler import LRScheduler
    from determined.pytorch._reducer import MetricReducer, Reducer
    from determined.pytorch._trainer import Trainer
    from determined.pytorch._trial import PyTorchTrial, PyTorchTrialController
    from determined.pytorch._trial_context import PyTorchExperimentalContext, PyTorchTrialContext
    from determined.pytorch._units import Batch, Epoch, TrainUnit

# name: the module that has it
_HOMES = {
    "Batch": "_units",
    "CheckpointLoadContext": "_load",
    "DataLoader": "_data",
    "Epoch": "_units",
    "LRScheduler": "_lr_scheduler",
    "MetricReducer": "_reducer",
    "PyTorchCallback": "_callback",
    "PyTorchExperimentalContext": "_trial_context",
    "PyTorchTrial": "_trial",
    "PyTorchTrialContext": "_trial_context",
    "PyTorchTrialController": "_trial",
    "Reducer": "_reducer",
    "TorchData": "_data",
    "TrainUnit": "_units",
    "Trainer": "_trainer",
    "TrainerContext": "_init",
    "init": "_init",
    "load_trial_from_checkpoint_path": "_load",
}
_MODULES = ("experimental", "samplers")

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    value: Any
    if name in _MODULES:
        value = importlib.import_module("determined.pytorch." + name)
    elif name in _HOMES:
        value = getattr(importlib.import_module("determined.pytorch." + _HOMES[name]), name)
    else:
        raise AttributeError(f"module 'determined.pytorch' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))
