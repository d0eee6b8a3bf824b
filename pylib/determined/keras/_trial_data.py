# SPDX-License-Identifier: Apache-2.0
"""The data of a trial's builders, classified and checked.

Five kinds are supported: `(x, y)` and `(x, y, sample_weights)` of arrays, where x may be a list or a dict of
them; a `tf.data.Dataset`; a `keras.utils.Sequence`; a `SequenceAdapter`. Each becomes a Given, which knows its
number of batches, and the part of each slot if several slots validate together.
"""
import math
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from determined.keras._data_shards import is_dataset, is_sequence
from determined.keras._package import Sequence

ARRAYS, SEQUENCE, DATASET, GENERATOR = "arrays", "sequence", "dataset", "generator"

_EXPECTED = (
    "expected a tuple (x, y) or (x, y, sample_weights) of arrays, a tf.data.Dataset, a "
    "keras.utils.Sequence or a determined.keras.SequenceAdapter"
)


# ---- arrays


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _leaf(value: Any, where: str) -> Any:
    if _is_array(value):
        array = value
    elif isinstance(value, (list, tuple)):
        array = np.asarray(value)
        if array.dtype == object:
            raise TypeError(f"{where} is a list whose rows are not all of one length; expected an array")
    else:
        array = None if value is None or isinstance(value, (str, bytes)) else _pandas(value)
    if array is None:
        raise TypeError(f"{where} is of type {_name(value)}; expected an array")
    if len(array.shape) == 0:
        raise TypeError(f"{where} is a single value; expected an array with one row for each sample")
    return array


def _pandas(value: Any) -> Any:
    convert = getattr(value, "to_numpy", None)
    return convert() if callable(convert) else None


def _is_several(value: Any) -> bool:
    """A list of arrays, one for each input or output, and not an array written as a list."""
    return (
        isinstance(value, (list, tuple))
        and len(value) > 0
        and all(_is_array(each) and len(each.shape) > 0 for each in value)
    )


def _tree(value: Any, where: str) -> Any:
    if isinstance(value, dict):
        return {name: _leaf(each, f"{where}['{name}']") for name, each in value.items()}
    if _is_several(value):
        return [_leaf(each, f"{where}[{i}]") for i, each in enumerate(value)]
    return _leaf(value, where)


def leaves(tree: Any, name: str) -> List[Tuple[str, Any]]:
    """The arrays in it, each with a readable name."""
    if tree is None:
        return []
    if isinstance(tree, dict):
        return [(f"{name}['{key}']", each) for key, each in tree.items()]
    if isinstance(tree, (list, tuple)):
        return [(f"{name}[{i}]", each) for i, each in enumerate(tree)]
    return [(name, tree)]


def _rows(tree: Any, rows: slice) -> Any:
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {name: each[rows] for name, each in tree.items()}
    if isinstance(tree, list):
        return [each[rows] for each in tree]
    return tree[rows]


def _name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


# ---- a part of a sequence


class _Part(Sequence):  # type: ignore[misc,valid-type]
    """Every size-th batch of a sequence, from the rank-th on."""

    def __init__(self, whole: Any, rank: int, size: int) -> None:
        super().__init__()
        self._whole, self._rank, self._size = whole, rank, size
        for name in ("workers", "use_multiprocessing", "max_queue_size"):
            if hasattr(whole, name):
                setattr(self, name, getattr(whole, name))

    def __len__(self) -> int:
        return max(0, math.ceil((len(self._whole) - self._rank) / self._size))

    def __getitem__(self, index: int) -> Any:
        return self._whole[self._rank + index * self._size]

    def on_epoch_end(self) -> None:
        self._whole.on_epoch_end()


# ---- all of them


class Given:
    """Data of one of the kinds: the x, y and sample_weight of model.fit() and model.evaluate()."""

    def __init__(self, kind: str, source: str, x: Any, y: Any = None, weights: Any = None) -> None:
        self.kind = kind
        self.source = source  # the function that returned it, for messages
        self.x, self.y, self.weights = x, y, weights

    def records(self) -> Optional[int]:
        """The number of samples; None if unknown before all were seen."""
        return int(leaves(self.x, "x")[0][1].shape[0]) if self.kind == ARRAYS else None

    def arrays(self) -> Any:
        """x, if it is in memory, also that of an InMemorySequence."""
        held = getattr(self.x, "_arrays", None) if self.kind == SEQUENCE else None
        return self.x if self.kind == ARRAYS else held[0] if held else None

    def batches(self, batch_size: Optional[int]) -> Optional[int]:
        """The number of batches per epoch; None if unknown or endless."""
        if self.kind == ARRAYS:
            assert batch_size is not None
            return math.ceil((self.records() or 0) / batch_size)
        if self.kind == SEQUENCE:
            return len(self.x)
        if self.kind == DATASET:
            count = int(self.x.cardinality())
            return count if count >= 0 else None
        return None

    def is_endless(self) -> bool:
        return self.kind == DATASET and int(self.x.cardinality()) == -1

    def part(self, rank: int, size: int) -> "Given":
        """The validation data of one of several ranks. If there is not enough for all, each takes all of it:
        metrics are the same, only later."""
        if size == 1:
            return self
        if self.kind == SEQUENCE and len(self.x) >= size:
            return Given(self.kind, self.source, _Part(self.x, rank, size))
        if self.kind == ARRAYS and (self.records() or 0) >= size:
            count = self.records() or 0
            rows = slice(count * rank // size, count * (rank + 1) // size)
            parts = (_rows(tree, rows) for tree in (self.x, self.y, self.weights))
            return Given(self.kind, self.source, *parts)
        return self

    def split(self, fraction: float) -> Tuple["Given", "Given"]:
        """As in Keras: the last part of the arrays is for validation."""
        records = self.records() or 0
        at = math.floor(records * (1 - fraction))
        if not 0 < at < records:
            raise ValueError(f"validation_split={fraction} of {records} samples leaves nothing on one side")
        parts = (self.x, self.y, self.weights)
        first, second = ([_rows(part, rows) for part in parts] for rows in (slice(0, at), slice(at, None)))
        return Given(self.kind, self.source, *first), Given(self.kind, self.source, *second)

    def for_validation(self) -> Any:
        """For model.fit(validation_data=...)."""
        if self.kind != ARRAYS:
            return self.x
        return (self.x, self.y) if self.weights is None else (self.x, self.y, self.weights)


def _hint(data: Any) -> str:
    if isinstance(data, list):
        return "; a tuple is written (x, y), not [x, y]"
    if isinstance(data, tuple):
        return f"; this tuple has {len(data)} parts"
    if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not _is_array(data):
        return f"; {type(data).__name__} may be a sequence, if it is derived from keras.utils.Sequence"
    if data is None:
        return "; is there a `return` in it?"
    return ""


def _arrays(data: Tuple[Any, ...], source: str) -> Given:
    names = ("x", "y", "sample_weights")
    parts: List[Any] = [
        None if name != "x" and part is None else _tree(part, f"{name} of {source}")
        for name, part in zip(names, data)
    ]
    given = Given(ARRAYS, source, *parts)
    counts = {
        name: int(array.shape[0])
        for part_name, part in zip(names, parts)
        for name, array in leaves(part, part_name)
    }
    if not counts:
        raise ValueError(f"{source} returned x without an array in it")
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise ValueError(f"{source} returned arrays with different numbers of samples: {told}")
    return given


def is_batches(data: Any) -> bool:
    """Whether it has batches of its own: a dataset or a sequence."""
    return is_dataset(data) or is_sequence(data)


def understand(data: Any, source: str, may_generate: bool = False) -> Given:
    """Classifies the data of a builder. `source` names it: "build_training_data_loader()"."""
    from determined.keras.data import SequenceAdapter

    given: Given
    if isinstance(data, SequenceAdapter):
        given = Given(SEQUENCE, source, data)
    elif is_sequence(data):
        given = Given(SEQUENCE, source, data)
    elif is_dataset(data):
        given = Given(DATASET, source, data)
    elif isinstance(data, tuple) and len(data) in (2, 3):
        given = _arrays(data, source)
    elif may_generate and hasattr(data, "__next__"):
        given = Given(GENERATOR, source, data)
    else:
        raise TypeError(f"{source} returned a {_name(data)}; {_EXPECTED}{_hint(data)}")
    is_empty = given.records() == 0 if given.kind == ARRAYS else given.batches(None) == 0
    if is_empty:
        raise ValueError(f"{source} returned no data: there is not one {'sample' if given.kind == ARRAYS else 'batch'}")
    return given


# ---- against the model


def _inputs(model: Any) -> Optional[List[Tuple[str, Tuple[Any, ...]]]]:
    """Names and shapes of a model's inputs; None if unknown."""
    try:
        found = model.inputs
    except (AttributeError, ValueError):
        return None
    if not found:
        return None
    return [(each.name.split(":")[0], tuple(each.shape)[1:]) for each in found]


def _fits(wanted: Tuple[Any, ...], got: Tuple[Any, ...]) -> bool:
    """Keras itself adds and removes dimensions of 1."""
    if len(wanted) == len(got):
        return all(a is None or b is None or a == b for a, b in zip(wanted, got))
    return [a for a in wanted if a != 1] == [b for b in got if b != 1] or None in wanted


def _shape(shape: Tuple[Any, ...]) -> str:
    return " x ".join("?" if each is None else str(each) for each in shape) or "one number"


def check_shapes(given: Given, model: Any) -> None:
    """Checks that arrays have the shapes of the model's inputs. Other sequences and datasets are seen only when
    they are read; then Keras reports a mismatch."""
    inputs, held = _inputs(model), given.arrays()
    if held is None or inputs is None:
        return
    arrays = leaves(held, "x")
    if len(arrays) != len(inputs):
        raise ValueError(
            f"{given.source} returned {len(arrays)} arrays as x, but the model has {len(inputs)} inputs: "
            f"{', '.join(name for name, _ in inputs)}"
        )
    by_name: Dict[str, Any] = held if isinstance(held, dict) else {}
    for (input_name, wanted), (name, array) in zip(inputs, arrays):
        if by_name and input_name in by_name:
            name, array = f"x['{input_name}']", by_name[input_name]
        got = tuple(int(each) for each in array.shape[1:])
        if not _fits(wanted, got):
            raise ValueError(
                f"{given.source} returned samples of {_shape(got)} as {name}, but the model's input "
                f"'{input_name}' takes {_shape(wanted)}"
            )


# ---- datasets


def _sources(dataset: Any) -> Callable[[], List[Any]]:
    return getattr(dataset, "_inputs", lambda: [])


def batched_by(dataset: Any) -> Optional[int]:
    """The size of its batches as the program asked for it, without reading any; None: unknown."""
    import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

    while dataset is not None and getattr(dataset, "_batch_size", None) is None:
        sources = _sources(dataset)()
        dataset = sources[0] if len(sources) == 1 else None
    size = None if dataset is None else tf.get_static_value(dataset._batch_size)
    return None if size is None else int(size)


def comes_from(dataset: Any, wrapped: List[Any]) -> bool:
    """Whether a dataset was derived from one of those."""
    todo, seen = [dataset], set()
    while todo:
        each = todo.pop()
        if any(each is one for one in wrapped) or hasattr(each, "set_position"):  # the latter is cached
            return True
        if id(each) not in seen:
            seen.add(id(each))
            todo.extend(_sources(each)())
            todo.append(getattr(each, "origin", None))  # of a cached one that is read in batches
    return False
