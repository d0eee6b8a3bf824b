# SPDX-License-Identifier: Apache-2.0
"""Processor slots as devices of TensorFlow.

TensorFlow knows one processor, and MirroredStrategy makes one replica of it. If a launch layer says that there
are several slots (DET_CPU_REPLICAS), the processor is divided into as many logical devices. This must happen
after TensorFlow is imported and before it is used: `import determined` waits for that import, whichever of the
two comes first.
"""
import logging
import os
from typing import Any

from determined._import_hook import when_imported

logger = logging.getLogger("determined")

_NAME = "DET_CPU_REPLICAS"


def wanted() -> int:
    """The number of replicas; 1: the processor stays as it is."""
    text = os.environ.get(_NAME) or "1"
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1024:
        raise ValueError(f"{_NAME} is '{text}'; expected a whole number from 1 to 1024")
    return int(text)


def divide(tf: Any) -> None:
    """Makes the devices once, but not in the middle of TensorFlow's import. GPUs are devices already."""
    count = wanted()
    if count < 2 or not hasattr(tf, "config") or tf.config.list_physical_devices("GPU"):
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
            "this task has %d slots, but TensorFlow was used before 'import determined', so "
            "MirroredStrategy has one replica: import determined at the top of the script",
            count,
        )


def prepare() -> None:
    """Divides now, or as soon as TensorFlow is imported."""
    if wanted() > 1:
        when_imported("tensorflow", divide)
