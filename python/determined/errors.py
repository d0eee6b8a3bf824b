# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, by the statuses of libdet (include/det/status.h).

Each is a DetError, which is a RuntimeError, and also what Python itself would raise for the
same thing; the text is libdet's sentence, `status` the name of its code.
"""
from typing import Dict, Type


class DetError(RuntimeError):
    """A call of libdet that failed."""

    status: str = "FAILED"


class InvalidError(DetError, ValueError):
    """What was asked for makes no sense."""


class NotFoundError(DetError, LookupError):
    """No such thing."""


class StateError(DetError):
    """Not now: the context is closed, this is a forked child, nobody has asked, ..."""


class BusyError(DetError):
    """Try again later; nothing was kept."""


class CorruptError(DetError):
    """What was stored has changed since."""


class DeniedError(DetError, PermissionError):
    """The master does not allow it."""


class UnsupportedError(DetError, NotImplementedError):
    """Not built yet."""


class WaitError(DetError, TimeoutError):
    """It took too long; nothing is lost."""


class UnreachableError(DetError, ConnectionError):
    """The other side does not answer: the master, or a rank that died or left."""


class InvalidHP(Exception):
    """Raise it where hyperparameters cannot be trained with: `core.init()` tells the
    searcher, which goes on without this trial, and the program ends with 0."""


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
    """The exception for a status, to be raised; _det calls it."""
    if status == "NOMEM":
        return MemoryError(sentence)
    error = _CLASSES.get(status, DetError)(sentence)
    error.status = status
    return error
