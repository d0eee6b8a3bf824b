# SPDX-License-Identifier: Apache-2.0
"""Front ends for Keras: three ways to the same training.

    DeterminedCallback   one callback in an ordinary script
    init()               a context whose fit() does the rest
    TFKerasTrial         a class that the platform trains

All of them run an ordinary model.fit() with a Loop (_loop.py) among its callbacks.
"""
import importlib
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from determined.keras import callbacks, data
    from determined.keras._callback import DeterminedCallback, TensorBoard
    from determined.keras._load import load_model_from_checkpoint
    from determined.keras._trainer import DeterminedProfilerCallback, TrainerContext, ValidationFreq, init
    from determined.keras._trial import TFKerasTrial, TFKerasTrialController, load_model_from_checkpoint_path
    from determined.keras._trial_context import TFKerasTrialContext
    from determined.keras.callbacks import TFKerasTensorBoard

# name: the module that has it
_HOMES = {
    "DeterminedCallback": "_callback",
    "TensorBoard": "_callback",
    "init": "_trainer",
    "TrainerContext": "_trainer",
    "ValidationFreq": "_trainer",
    "DeterminedProfilerCallback": "_trainer",
    "load_model_from_checkpoint": "_load",
    "TFKerasTensorBoard": "callbacks",
    "TFKerasTrial": "_trial",
    "TFKerasTrialContext": "_trial_context",
    "TFKerasTrialController": "_trial",
    "load_model_from_checkpoint_path": "_trial",
}
_MODULES = ("callbacks", "data")

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    value: Any
    if name in _MODULES:
        value = importlib.import_module("determined.keras." + name)
    elif name in _HOMES:
        value = getattr(importlib.import_module("determined.keras." + _HOMES[name]), name)
    else:
        raise AttributeError(f"module 'determined.keras' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))
