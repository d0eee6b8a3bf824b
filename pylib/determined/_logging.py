# SPDX-License-Identifier: Apache-2.0
"""Shows the log of this package even if the program has not set up logging."""
import logging

from determined import LOG_FORMAT


class _UntilSetUp(logging.StreamHandler):  # type: ignore[type-arg]
    """Prints nothing once the root logger has a handler."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            super().emit(record)


def set_up(is_debugging: bool) -> None:
    """The platform reads the level at the beginning of a line. A second call does nothing."""
    package = logging.getLogger("determined")
    if any(isinstance(handler, _UntilSetUp) for handler in package.handlers):
        return
    handler = _UntilSetUp()
    handler.setFormatter(logging.Formatter(LOG_FORMAT))
    package.addHandler(handler)
    if package.level == logging.NOTSET:
        package.setLevel(logging.DEBUG if is_debugging else logging.INFO)
