# SPDX-License-Identifier: Apache-2.0
"""The Lightning package that the program has imported; if it has imported both or none, the one named `lightning`.
They are two copies of one program, and their classes are unrelated."""
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
