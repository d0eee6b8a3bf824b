# SPDX-License-Identifier: Apache-2.0
"""The front end for Hugging Face's Trainer: one callback.

    DetCallback     reports, saves, resumes, stops when the platform asks for it
"""
import importlib
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from determined.transformers._callback import DetCallback

# name: the module that has it
_HOMES = {"DetCallback": "_callback"}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'determined.transformers' has no attribute '{name}'")
    try:
        module = importlib.import_module("determined.transformers." + _HOMES[name])
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package not in ("transformers", "torch", "accelerate"):
            raise
        raise ModuleNotFoundError(
            f"determined.transformers.{name} needs the package '{package}', which is not installed: pip install "
            "transformers accelerate torch, or name them in environment.requirements",
            name=package,
        ) from None
    globals()[name] = value = getattr(module, name)
    return value


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))
