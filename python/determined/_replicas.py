# SPDX-License-Identifier: Apache-2.0
"""Slots that are processors as devices of TensorFlow.

TensorFlow knows one processor, and MirroredStrategy makes one replica of it.  Where a launch layer
says that there are several slots (DET_CPU_REPLICAS), the processor is divided into as many logical
devices.  That must be done after TensorFlow is imported and before it is used: `import determined`
waits for that import, whichever of the two comes first.
"""
import importlib.abc
import importlib.machinery
import logging
import os
import sys
from types import ModuleType
from typing import Any, Optional, Sequence

logger = logging.getLogger("determined")

_NAME = "DET_CPU_REPLICAS"


def wanted() -> int:
    """How many; 1: the processor is left as it is."""
    text = os.environ.get(_NAME) or "1"
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1024:
        raise ValueError(f"{_NAME} is '{text}'; expected a whole number from 1 to 1024")
    return int(text)


def divide(tf: Any) -> None:
    """Makes the devices, once.  GPUs are devices already."""
    count = wanted()
    if count < 2 or tf.config.list_physical_devices("GPU"):
        return
    processor = tf.config.list_physical_devices("CPU")[0]
    if len(tf.config.get_logical_device_configuration(processor) or ()) > 1:
        return
    try:
        tf.config.set_logical_device_configuration(
            processor, [tf.config.LogicalDeviceConfiguration()] * count
        )
    except RuntimeError:
        logger.warning(
            "this task has %d slots, but TensorFlow was in use before 'import determined', and "
            "MirroredStrategy has one replica: import determined at the top of the script",
            count,
        )


class _Loader(importlib.abc.Loader):
    """Loads a module as its own loader does, and then divides."""

    def __init__(self, own: importlib.abc.Loader) -> None:
        self._own = own

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        module.__loader__ = self._own
        self._own.exec_module(module)
        divide(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds TensorFlow, the first time."""

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if fullname != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def prepare() -> None:
    """Divides now, or as soon as TensorFlow is imported."""
    if wanted() < 2:
        return
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and hasattr(tensorflow, "config"):
        divide(tensorflow)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
