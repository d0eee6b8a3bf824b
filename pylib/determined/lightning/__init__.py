# SPDX-License-Identifier: Apache-2.0
"""The front end for Lightning: a callback, a logger, and a resumable data loader.

    DetCallback     saves, resumes, stops when the platform asks for it
    DetLogger       reports the module's logged values
    Resumable       a data loader that keeps its position in the epoch

Both packages of Lightning are supported, `lightning` and `pytorch_lightning`: the one that the program has
imported, see _package.py.
"""
import importlib
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from determined.lightning import experimental
    from determined.lightning._callback import DetCallback
    from determined.lightning._data import Resumable
    from determined.lightning._logger import DetLogger

# name: the module that has it
_HOMES = {"DetCallback": "_callback", "DetLogger": "_logger", "Resumable": "_data"}
_MODULES = ("experimental",)

__all__ = [*_HOMES, *_MODULES]


def _find(name: str) -> Any:
    try:
        return getattr(importlib.import_module("determined.lightning." + _HOMES[name]), name)
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package not in ("lightning", "pytorch_lightning", "torch"):
            raise
        raise ModuleNotFoundError(
            f"determined.lightning.{name} needs the package '{package}', which is not installed: pip install "
            "lightning, or name it in environment.requirements",
            name=package,
        ) from None


def __getattr__(name: str) -> Any:
    value: Any
    if name in _MODULES:
        value = importlib.import_module("determined.lightning." + name)
    elif name in _HOMES:
        value = _find(name)
    else:
        raise AttributeError(f"module 'determined.lightning' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))
