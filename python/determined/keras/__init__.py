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
    from determined.keras._callback import DeterminedCallback, TensorBoard

# name: the module that has it
_HOMES = {
    "DeterminedCallback": "_callback",
    "TensorBoard": "_callback",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'determined.keras' has no attribute '{name}'")
    value = getattr(importlib.import_module("determined.keras." + _HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))
