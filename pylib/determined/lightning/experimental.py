# SPDX-License-Identifier: Apache-2.0
"""determined.lightning.experimental.DetLogger, the name in 0.38: a logger that needs no context.

Without a context it makes one itself: of the trial in a task; elsewhere of an offline run (DET_OFFLINE_DIR),
which `det import` sends to a master.
"""
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from determined.lightning._logger import DetLogger


def __getattr__(name: str) -> Any:
    if name != "DetLogger":
        raise AttributeError(f"module 'determined.lightning.experimental' has no attribute '{name}'")
    from determined import lightning

    return lightning.DetLogger


def __dir__() -> List[str]:
    return ["DetLogger"]


__all__ = ["DetLogger"]
