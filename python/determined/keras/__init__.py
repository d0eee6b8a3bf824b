# SPDX-License-Identifier: Apache-2.0
"""Front ends for Keras: three ways to the same training.

    DeterminedCallback   one callback in an ordinary script
    init()               a context whose fit() does the rest
    TFKerasTrial         a class that the platform trains

All of them run an ordinary model.fit() with a Loop (_loop.py) among its callbacks.  Importing
this package also puts back the names of Keras 2 that Keras 3 dropped (_compat.py).
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


def _put_back() -> None:
    try:
        from determined.keras import _compat, _which
    except ModuleNotFoundError:
        return  # whoever goes on to use Keras is told which package is missing
    if _which.is_legacy:  # layers draw from generators that can be saved
        _which.keras.backend.experimental.enable_tf_random_generator()
    else:
        _compat.install(_which.keras)


_put_back()
