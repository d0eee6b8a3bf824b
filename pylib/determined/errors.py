# SPDX-License-Identifier: Apache-2.0
"""Exceptions, one for each status of libdet (include/det/status.h).

Each is a DetError, which is a RuntimeError, and also the exception that Python itself would raise for the same
failure. The text is libdet's sentence, and `status` is the name of its code.
"""
from typing import Dict, Type


class DetError(RuntimeError):
    """A call of libdet failed."""

    status: str = "FAILED"


class InvalidError(DetError, ValueError):
    """The arguments are not valid."""


class NotFoundError(DetError, LookupError):
    """No such object."""


class StateError(DetError):
    """Not possible now: for example the context is closed, or this is a forked child."""


class BusyError(DetError):
    """Try again later; nothing was stored."""


class CorruptError(DetError):
    """The stored object has changed since it was read."""


class DeniedError(DetError, PermissionError):
    """The master does not allow it."""


class UnsupportedError(DetError, NotImplementedError):
    """Not built yet."""


class WaitError(DetError, TimeoutError):
    """It took too long; nothing is lost."""


class UnreachableError(DetError, ConnectionError):
    """The other side does not answer: the master, or a rank that died or left."""


class SearcherMetricError(ValueError):
    """A validation lacks searcher.metric. Every run would fail like this, so the trial is not run again (its
    supervisor knows this exception by its name)."""


class InvalidHP(Exception):
    """Raise it if these hyperparameters cannot be trained: `core.init()` tells the searcher, which continues
    without this trial, and the program ends with 0."""


_CLASSES: Dict[str, Type[DetError]] = {
    "INVALID": InvalidError,
    "TOO_LARGE": InvalidError,
    "NOT_FOUND": NotFoundError,
    "STATE": StateError,
    "EXISTS": StateError,
    "BUSY": BusyError,
    "FULL": BusyError,
    "CORRUPT": CorruptError,
    "UNAUTHENTICATED": DeniedError,
    "FORBIDDEN": DeniedError,
    "UNSUPPORTED": UnsupportedError,
    "TIMEOUT": WaitError,
    "UNREACHABLE": UnreachableError,
}


def of_status(status: str, sentence: str) -> Exception:
    """Returns the exception for a status; _det calls it."""
    if status == "NOMEM":
        return MemoryError(sentence)
    error = _CLASSES.get(status, DetError)(sentence)
    error.status = status
    return error
