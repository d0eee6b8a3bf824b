# SPDX-License-Identifier: Apache-2.0
"""A tf.data pipeline, without reading it: the shapes of its batches, and the random generators in its functions.

Reading a pipeline has effects: augmentation layers in a map() keep their generators in variables, and prefetch() and
parallel calls read ahead in threads. One batch that is read to build the model would advance them by an unknown number
of draws. So the model is built from the shapes alone, as Keras does it.

The functions of a pipeline capture these variables. A pass changes them, a complete pass always by the same number of
draws. A checkpoint inside a pass therefore holds their values at its beginning, and a resumed training restores them
before it reads the pass again up to its position.
"""
import logging
from typing import Any, List, Optional

import numpy as np
import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

logger = logging.getLogger("determined.keras")

_MOST_NUMBERS = 4096  # a generator has a few


def batch_spec(dataset: Any) -> Any:
    """The structure of a batch, as tf.TensorSpec; None if a number of dimensions is unknown."""
    spec = tf.nest.map_structure(_first_replica, getattr(dataset, "element_spec", None))
    flat = tf.nest.flatten(spec)
    are_known = all(getattr(each, "shape", None) is not None and each.shape.rank is not None for each in flat)
    return spec if flat and are_known else None


def _first_replica(spec: Any) -> Any:
    """A dataset that a strategy of TensorFlow has distributed has a value for each replica."""
    values = getattr(spec, "_value_specs", None)
    return values[0] if isinstance(values, (list, tuple)) and values else spec


def _functions(dataset: Any) -> List[Any]:
    """The traced functions of a pipeline."""
    found: List[Any] = []
    seen = set()
    todo = [dataset]
    while todo:
        each = todo.pop()
        if id(each) in seen or not hasattr(each, "__dict__"):
            continue
        seen.add(id(each))
        todo.extend(getattr(each, "_inputs", list)())
        held = [getattr(value, "function", None) for value in vars(each).values() if value is not None]
        found.extend(function for function in held if hasattr(function, "captured_inputs"))
    return found


def _is_generator(handle: Any) -> bool:
    """Whether a captured tensor is a variable of a few whole numbers."""
    known = getattr(handle, "_handle_data", None) if handle.dtype == tf.resource else None
    if known is None or not known.is_set or len(known.shape_and_type) != 1:
        return False
    shape, dtype = tf.TensorShape(known.shape_and_type[0].shape), tf.as_dtype(known.shape_and_type[0].dtype)
    return dtype.is_integer and shape.is_fully_defined() and shape.num_elements() <= _MOST_NUMBERS


class Generators:
    """The variables with whole numbers that the functions of a pipeline use; None has none."""

    def __init__(self, dataset: Any) -> None:
        self._handles: List[Any] = []
        for function in _functions(dataset):
            for handle in function.captured_inputs:
                if _is_generator(handle) and not any(handle is each for each in self._handles):
                    self._handles.append(handle)

    def read(self) -> List[np.ndarray]:
        types = [tf.as_dtype(each._handle_data.shape_and_type[0].dtype) for each in self._handles]
        found = [tf.raw_ops.ReadVariableOp(resource=each, dtype=dtype) for each, dtype in zip(self._handles, types)]
        return [each.numpy() for each in found]

    def write(self, values: Optional[List[np.ndarray]]) -> None:
        now = self.read()
        if values is None or not (now or values):
            return
        if [(each.shape, each.dtype) for each in now] != [(each.shape, each.dtype) for each in values]:
            logger.warning(
                "the training data has other random generators than when the checkpoint was saved (%d, not %d): it "
                "continues with other random numbers",
                len(now),
                len(values),
            )
            return
        for handle, value in zip(self._handles, values):
            tf.raw_ops.AssignVariableOp(resource=handle, value=value)
