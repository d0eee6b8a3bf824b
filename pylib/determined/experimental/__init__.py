# SPDX-License-Identifier: Apache-2.0
"""Parts that later versions may change. Each is loaded when it is first used."""
from typing import Any

_LATER = {
    "client": "the client in Python",
    "core_v2": "detached mode",
}

__all__ = ["keras"]


def __getattr__(name: str) -> Any:
    import importlib

    if name in __all__:
        return importlib.import_module("determined.experimental." + name)
    if name in _LATER:
        raise ImportError(
            f"determined.experimental.{name} is not built yet: {_LATER[name]} comes with a later version",
            name="determined.experimental." + name,
        )
    raise AttributeError(f"module 'determined.experimental' has no attribute '{name}'")
