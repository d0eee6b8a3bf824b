# SPDX-License-Identifier: Apache-2.0
"""Our own operations (_tf_ops.so), and Dataset.map() without other threads.

Both make tf.data pipelines fast: the operations choose and read the items of a batch without Python, and a map()
that stays on its thread saves a change of threads for every element.
"""
import ctypes
import functools
import os
from typing import Any, Callable, List

import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

import determined

LIBRARY = os.path.join(os.path.dirname(determined.__file__), "_tf_ops.so")
_TEXT = 2048


@functools.lru_cache(maxsize=None)
def ops() -> Any:
    """The operations, as functions."""
    # TensorFlow must load it first, because it notes the operations that come with a library.
    module = tf.load_op_library(LIBRARY)
    told(ctypes.CDLL(LIBRARY).det_tf_ready)
    return module


@functools.lru_cache(maxsize=None)
def library() -> Any:
    """The same library, for functions that Python calls."""
    ops()
    return ctypes.CDLL(LIBRARY)


def told(function: Any, *arguments: Any) -> None:
    """Calls a function of the library that returns a status and writes a sentence."""
    text = ctypes.create_string_buffer(_TEXT)
    if function(*arguments, text, ctypes.c_size_t(_TEXT)):
        raise RuntimeError(text.value.decode(errors="replace"))


def signed(seed: int) -> int:
    """A seed as an attribute of an operation."""
    seed &= (1 << 64) - 1
    return seed - (1 << 64) if seed >> 63 else seed


class Steps(tf.data.Dataset):  # type: ignore[misc]
    """Applies a function of TensorFlow to every element, on the thread that asks for it.

    Dataset.map() hands each element to another thread and waits, which for a small batch takes longer than the
    work itself; one prefetch() at the end is the only hand-over that pays. `function` takes an element, a
    single tensor, and returns tensors; `spec` is their structure. There may be fewer elements than the input
    promises."""

    def __init__(self, rows: Any, function: Callable[[Any], Any], spec: Any) -> None:
        self._rows = rows
        self._spec = spec
        traced = tf.function(function, autograph=False)
        self._traced = traced.get_concrete_function(rows.element_spec)  # lives as long as the dataset
        flat = tf.nest.flatten(spec)
        super().__init__(
            tf.raw_ops.MapDataset(
                input_dataset=rows._variant_tensor,
                other_arguments=self._traced.captured_inputs,
                f=self._traced,
                output_types=[each.dtype for each in flat],
                output_shapes=[each.shape for each in flat],
                use_inter_op_parallelism=False,
                preserve_cardinality=True,
            )
        )

    def _inputs(self) -> List[Any]:
        return [self._rows]

    @property
    def element_spec(self) -> Any:
        return self._spec
