# SPDX-License-Identifier: Apache-2.0
"""Front ends for Keras: three APIs over the same training.

    DeterminedCallback   one callback in an ordinary script
    init()               a context whose fit() does the rest
    TFKerasTrial         a class that the platform trains

All of them run an ordinary model.fit() with a Loop (_loop.py) among its callbacks. Importing this package also
restores the names of Keras 2 that Keras 3 dropped (_compat.py).
"""
import importlib
import os
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from determined.experimental.keras import TFKerasNativeContext
    from determined.keras import callbacks, data
    from determined.keras._cache import TFKerasExperimentalContext
    from determined.keras._callback import DeterminedCallback, TensorBoard
    from determined.keras._load import load_model_from_checkpoint
    from determined.keras._loop import ValidationFreq
    from determined.keras._trainer import DeterminedProfilerCallback, TrainerContext, init
    from determined.keras._trial import TFKerasTrial, TFKerasTrialController, load_model_from_checkpoint_path
    from determined.keras._trial_context import TFKerasContext, TFKerasTrialContext
    from determined.keras.callbacks import TFKerasTensorBoard
    from determined.keras.data import ArrayLike, InMemorySequence, InputData, SequenceAdapter

# name: the module that has it
_HOMES = {
    "ArrayLike": "data",
    "DeterminedCallback": "_callback",
    "InMemorySequence": "data",
    "InputData": "data",
    "SequenceAdapter": "data",
    "TensorBoard": "_callback",
    "init": "_trainer",
    "TrainerContext": "_trainer",
    "ValidationFreq": "_loop",
    "DeterminedProfilerCallback": "_trainer",
    "load_model_from_checkpoint": "_load",
    "TFKerasTensorBoard": "callbacks",
    "TFKerasContext": "_trial_context",
    "TFKerasExperimentalContext": "_cache",
    "TFKerasNativeContext": ".experimental.keras",
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
        value = getattr(importlib.import_module("." + _HOMES[name], "determined.keras"), name)
    else:
        raise AttributeError(f"module 'determined.keras' has no attribute '{name}'")
    globals()[name] = value
    if os.environ.get("TF_CONFIG"):
        importlib.import_module("determined.keras._strategy").repair()
    return value


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))


def _put_back() -> None:
    from determined._import_hook import when_imported
    from determined.keras import _compat

    if os.environ.get("TF_USE_LEGACY_KERAS", "") in ("1", "true", "True"):
        # layers draw from generators that can be saved
        when_imported("tf_keras", lambda keras: keras.backend.experimental.enable_tf_random_generator())
    else:
        when_imported("keras", _compat.install)


_put_back()
