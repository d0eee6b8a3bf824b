# SPDX-License-Identifier: Apache-2.0
"""What this package logs is seen also where the program has set up no logging of its own."""
import logging

from determined import LOG_FORMAT


class _UntilSetUp(logging.StreamHandler):  # type: ignore[type-arg]
    """Steps back as soon as somebody has given the root logger a handler."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            super().emit(record)


def set_up(is_debugging: bool) -> None:
    """The platform reads the level at the beginning of a line.  Does nothing the second time."""
    package = logging.getLogger("determined")
    if any(isinstance(handler, _UntilSetUp) for handler in package.handlers):
        return
    handler = _UntilSetUp()
    handler.setFormatter(logging.Formatter(LOG_FORMAT))
    package.addHandler(handler)
    if package.level == logging.NOTSET:
        package.setLevel(logging.DEBUG if is_debugging else logging.INFO)
