# SPDX-License-Identifier: Apache-2.0
"""Which Lightning: the package that the program has imported; where it has both, or none yet, the one
that is called `lightning`.  They are two copies of one program whose classes do not know each other."""
import importlib
import sys
from typing import Any


def _choose() -> Any:
    if sys.modules.get("pytorch_lightning") and not sys.modules.get("lightning.pytorch"):
        return importlib.import_module("pytorch_lightning")
    try:
        return importlib.import_module("lightning.pytorch")
    except ModuleNotFoundError as error:
        if error.name not in ("lightning", "lightning.pytorch"):
            raise
        try:
            return importlib.import_module("pytorch_lightning")
        except ModuleNotFoundError:
            raise error from None


pl = _choose()
