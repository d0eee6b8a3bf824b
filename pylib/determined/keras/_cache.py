# SPDX-License-Identifier: Apache-2.0
"""Datasets cached on disk, before they are batched.

    @self.context.experimental.cache_train_dataset("mnist", "1", shuffle=True)
    def make_dataset():
        return tf.data.Dataset...

    dataset = make_dataset().batch(self.context.get_per_slot_batch_size())

The first call runs the function and writes its dataset into a file of records (det/data.h), named after the
dataset's id and version and whether it is for training or validation: programs use one id for both. From then on,
no process calls the function again. The cached dataset is the same bit
for bit, but it can begin anywhere, and libdet gives its order: a function of the seed, the epoch and the
position.

    file            one record per item, the last one a description in JSON; complete or absent
    _cache_op.c     two operations of TensorFlow: which step comes when, and reading it
    CachedDataset   a tf.data.Dataset of these; its batch() reads whole batches

A pass is a table of steps (epoch, begin, count), made when the pass begins. So it has a length, it can begin
anywhere, and several threads may read it.

A dataset derived from a cached one is traced back to it through tf.data's `_inputs()`. If every step between them
is one to one, or a batch, seek() reaches any batch in one step.

Every pass that reaches the end of the data begins the next epoch. A training sets with seek() where its next
pass begins, so other readers of the data do not disturb it.
"""
import collections
import contextlib
import ctypes
import fcntl
import functools
import glob
import json
import logging
import os
import urllib.parse
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import numpy as np
import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

from determined import _det, errors
from determined.keras._ops import Steps, library, ops, signed

_logger = logging.getLogger("determined.keras")

_RAW, _SHAPED, _STRINGS = 0, 1, 2  # enum component_kind of _cache_op.c
_ROW = 4  # numbers that describe a step
_STEP_ITEMS, _STEP_BYTES = 64, 4 << 20  # read at once when items come one by one
_LARGE = 1 << 20  # a batch of so many bytes is worth its own thread
_AHEAD = 2  # batches that are read ahead
_NAME_BYTES = 200


@functools.lru_cache(maxsize=None)
def _opener() -> Any:
    opener = library().det_cache_open
    opener.restype = ctypes.c_void_p
    opener.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    return opener


# ---- the structure of an item, as JSON


def _shape(shape: Any) -> Optional[List[Optional[int]]]:
    return None if shape.rank is None else shape.as_list()


def _describe(spec: Any) -> Any:
    if isinstance(spec, tf.TensorSpec):
        return {"tensor": [spec.dtype.name, _shape(spec.shape)]}
    if isinstance(spec, tf.RaggedTensorSpec):
        splits = spec.row_splits_dtype.name
        return {"ragged": [spec.dtype.name, _shape(spec.shape), spec.ragged_rank, splits]}
    if isinstance(spec, tf.SparseTensorSpec):
        return {"sparse": [spec.dtype.name, _shape(spec.shape)]}
    if isinstance(spec, dict):
        return {"dict": [[key, _describe(each)] for key, each in spec.items()]}
    if isinstance(spec, tuple) and hasattr(spec, "_fields"):
        return {"named": [type(spec).__name__, list(spec._fields), [_describe(each) for each in spec]]}
    if isinstance(spec, (tuple, list)):
        return {"tuple": [_describe(each) for each in spec]}
    raise TypeError(f"a dataset whose items hold {type(spec).__name__} cannot be cached; expected tensors")


def _understand(text: Any) -> Any:
    ((kind, value),) = text.items()
    if kind == "tensor":
        return tf.TensorSpec(value[1], tf.as_dtype(value[0]))
    if kind == "ragged":
        return tf.RaggedTensorSpec(value[1], tf.as_dtype(value[0]), value[2], tf.as_dtype(value[3]))
    if kind == "sparse":
        return tf.SparseTensorSpec(value[1], tf.as_dtype(value[0]))
    if kind == "dict":
        return {key: _understand(each) for key, each in value}
    if kind == "named":
        made = collections.namedtuple(value[0], value[1])  # type: ignore[misc]
        return made(*map(_understand, value[2]))
    return tuple(map(_understand, value))


def _flat(structure: Any) -> List[Any]:
    found: List[Any] = tf.nest.flatten(structure, expand_composites=True)
    return found


def _has_composites(spec: Any) -> bool:
    return not all(isinstance(each, tf.TensorSpec) for each in tf.nest.flatten(spec))


# ---- writing


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def _numbers(*values: int) -> bytes:
    return np.array(values, "<i8").tobytes()


class _Component:
    """One tensor of an item: how it is written, and the common shape of all items."""

    def __init__(self, spec: Any) -> None:
        self.dtype = spec.dtype
        if self.dtype in (tf.variant, tf.resource):
            raise TypeError(f"a dataset whose items hold a {self.dtype.name} cannot be cached; expected tensors")
        self.kind = _STRINGS if self.dtype == tf.string else _RAW
        if self.kind == _RAW and not spec.shape.is_fully_defined():
            self.kind = _SHAPED
        self.shape: Any = ()  # (): no item yet; None: they differ

    def encode(self, value: Any) -> bytes:
        array = np.asarray(value.numpy(), dtype=object if self.kind == _STRINGS else None)
        shape = list(array.shape)
        self.shape = shape if self.shape == () or self.shape == shape else None
        if self.kind == _RAW:
            return _padded(array.tobytes())
        head = _numbers(len(shape), *shape)
        if self.kind == _SHAPED:
            return head + _padded(array.tobytes())
        texts = [bytes(each) for each in array.reshape(-1)]
        return head + _padded(_numbers(*map(len, texts)) + b"".join(texts))

    def described(self) -> Any:
        return {"type": self.dtype.name, "kind": self.kind, "shape": self.shape}


def _write_rows(writer: _det.RecordWriter, dataset: Any, components: List[_Component]) -> int:
    """Items that are all alike, many at once."""
    specs = _flat(dataset.element_spec)
    sizes = [spec.dtype.size * spec.shape.num_elements() for spec in specs]
    row = sum(size + -size % 8 for size in sizes)
    written = 0
    if not row:
        return _write_items(writer, dataset, components)
    for component, spec in zip(components, specs):
        component.shape = spec.shape.as_list()
    for batch in dataset.batch(max(1, min(256, (8 << 20) // row))):
        arrays = [np.ascontiguousarray(each.numpy()) for each in _flat(batch)]
        rows = np.zeros((len(arrays[0]), row), np.uint8)
        at = 0
        for array, size in zip(arrays, sizes):
            rows[:, at : at + size] = np.frombuffer(array.tobytes(), np.uint8).reshape(len(rows), size)
            at += size + -size % 8
        writer.add_rows(rows, row)
        written += len(rows)
    return written


def _write_items(writer: _det.RecordWriter, dataset: Any, components: List[_Component]) -> int:
    written = 0
    for item in dataset:
        parts = zip(components, _flat(item))
        writer.add(b"".join(component.encode(value) for component, value in parts))
        written += 1
    return written


def _write(path: str, dataset: Any, name: str) -> None:
    if not isinstance(dataset, tf.data.Dataset):
        raise TypeError(f"the function that makes {name} returned a {type(dataset).__name__}; expected a tf.data.Dataset")
    if int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY:
        raise ValueError(f"{name} never ends; cache it before it is repeated")
    spec = dataset.element_spec
    structure = _describe(spec)
    components = [_Component(each) for each in _flat(spec)]
    if not components or len(components) > 64:
        raise ValueError(f"the items of {name} have {len(components)} tensors; expected 1 to 64")
    are_alike = not _has_composites(spec) and all(each.kind == _RAW for each in components)
    writer = _det.RecordWriter(path)
    try:
        written = (_write_rows if are_alike else _write_items)(writer, dataset, components)
        if not written:
            raise ValueError(f"{name} is empty")
        described = [each.described() for each in components]
        writer.add(json.dumps({"det-cache": 1, "items": structure, "components": described}).encode())
        writer.finish()
    finally:
        writer.abort()
    _logger.info("%s: %d items were written to %s", name, written, path)


# ---- files


class _File:
    """A complete cache."""

    _open: Dict[Tuple[str, int, int], int] = {}  # mappings are kept: a new one costs page faults

    def __init__(self, path: str) -> None:
        records = _det.Records(path)
        try:
            described = json.loads(records[len(records) - 1])
            if described["det-cache"] != 1:
                raise KeyError
        except (ValueError, KeyError, TypeError, IndexError):
            raise errors.CorruptError(f"'{path}' is not a cached dataset") from None
        self.path = path
        self.items = len(records) - 1
        self.spec = _understand(described["items"])
        self.specs = _flat(self.spec)
        self.components = described["components"]
        self.handle = self._map(path)

    @classmethod
    def _map(cls, path: str) -> int:
        state = os.stat(path)
        key = (os.path.realpath(path), state.st_ino, state.st_mtime_ns)
        if key not in cls._open:
            sentence = ctypes.create_string_buffer(1024)
            handle = _opener()(os.fsencode(path), sentence, len(sentence))
            if not handle:
                raise errors.CorruptError(os.fsdecode(sentence.value))
            cls._open[key] = handle
        return cls._open[key]

    def is_uniform(self) -> bool:
        """Whether items can be stacked."""
        return not _has_composites(self.spec) and all(each["shape"] is not None for each in self.components)

    def item_bytes(self) -> int:
        sizes = [
            (tf.as_dtype(each["type"]).size or 16) * int(np.prod(each["shape"] or [1]))
            for each in self.components
        ]
        return max(1, sum(sizes))

    def layout(self) -> List[int]:
        """For DetCacheRead: kind, width and rank of each, then the dimensions of all."""
        heads: List[int] = []
        dims: List[int] = []
        for each in self.components:
            width = 0 if each["kind"] == _STRINGS else tf.as_dtype(each["type"]).size
            heads += [each["kind"], width, -1 if each["shape"] is None else len(each["shape"])]
            dims += each["shape"] or []
        return heads + dims

    def shape(self, i: int) -> Any:
        """The known part of a component's shape."""
        shape = self.components[i]["shape"]
        return self.specs[i].shape if shape is None else tf.TensorShape(shape)


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Admits one process of this machine at a time."""
    with open(path + ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _file_of(path: str, make: Callable[[], Any], name: str) -> _File:
    """The cache at `path`; makes it first if it is missing or damaged."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with contextlib.suppress(errors.NotFoundError, errors.CorruptError):
        return _File(path)
    with _locked(path):
        try:
            return _File(path)  # another process was faster
        except errors.NotFoundError:
            pass
        except errors.CorruptError as error:
            _logger.warning("%s: %s; making it again", name, error)
        folder, last = os.path.split(path)
        for draft in glob.glob(os.path.join(glob.escape(folder), "." + glob.escape(last) + ".records*")):
            os.remove(draft)  # of a process that was killed
        _write(path, make(), name)
        return _File(path)


# ---- datasets


class _View:
    """Which items of a file a process sees, and in which order."""

    def __init__(
        self,
        *,
        seed: int = 0,
        shuffle: int = 0,  # 1: in every epoch, 2: once
        rank: int = 0,
        size: int = 1,
        is_even: bool = True,  # all processes see the same number of items
        global_batch: Optional[int] = None,
    ) -> None:
        self.seed, self.shuffle = seed, shuffle
        self.rank, self.size = rank, size
        self.is_even, self.global_batch = is_even, global_batch

    def share(self, items: int) -> int:
        """How many of the items are ours: the first ranks have one more."""
        return items // self.size + (0 if self.is_even else self.rank < items % self.size)

    def _part(self, items: int) -> Tuple[int, int]:
        """Where our part of a batch begins, and its length."""
        each, more = divmod(items, self.size)
        return self.rank * each + min(self.rank, more), each + (self.rank < more)

    def plan(self, items: int, count: int, drop: bool, skipped: int = 0) -> Dict[str, int]:
        """Steps of `count` items: every size-th item of the order is ours."""
        ours = self.share(items) - skipped
        steps = ours // count if drop else -(-ours // count)
        begin = self.rank + skipped * self.size
        return {
            "steps": steps,
            "step": count * self.size,
            "begin": begin,
            "count": count,
            "last_begin": begin + (steps - 1) * count * self.size,
            "last_count": min(count, ours - (steps - 1) * count),
            "stride": self.size,
        }

    def global_plan(self, items: int, drop: bool) -> Dict[str, int]:
        """Our parts of batches of the global size, as for arrays."""
        whole = self.global_batch or 0
        left = items % whole
        steps = items // whole + (not drop and left >= self.size)
        begin, count = self._part(whole)
        last_begin, last_count = self._part(min(whole, items - (steps - 1) * whole))
        return {
            "steps": steps,
            "step": whole,
            "begin": begin,
            "count": count,
            "last_begin": (steps - 1) * whole + last_begin,
            "last_count": last_count,
            "stride": 1,
        }

    def is_global(self, batch: int) -> bool:
        whole = self.global_batch
        return bool(whole and self.is_even and self.size > 1 and whole >= self.size and self._part(whole)[1] == batch)


class _Position:
    """Where the next pass begins; in memory that is never freed, since a pipeline may outlive its Python object."""

    def __init__(self) -> None:
        new = library().det_cache_position_new
        new.restype = ctypes.c_void_p
        self.address = new()
        if not self.address:
            raise MemoryError("no memory for the position in a cached dataset")

    def set(self, epoch: int, element: int) -> None:
        numbers = ctypes.c_int64(epoch), ctypes.c_int64(element)
        library().det_cache_position_set(ctypes.c_void_p(self.address), *numbers)

    def epoch(self) -> int:
        function = library().det_cache_position_epoch
        function.restype = ctypes.c_int64
        return int(function(ctypes.c_void_p(self.address)))


class _Leaf(tf.data.Dataset):  # type: ignore[misc]
    """The start of a pipeline: a dataset of ours, which can begin anywhere. `origin` is the dataset that it
    replaces, for callers that ask for its inputs."""

    def __init__(self, inner: Any, spec: Any, position: _Position, origin: Any = None) -> None:
        self._inner = inner
        self.origin = origin
        self._spec = spec
        self._position = position
        super().__init__(inner._variant_tensor)

    def _inputs(self) -> List[Any]:
        return [self._inner]

    @property
    def element_spec(self) -> Any:
        return self._spec

    def set_position(self, epoch: int, element: int = 0) -> None:
        """The next pass is of this epoch, from this element on."""
        self._position.set(epoch, max(element, 0))


class CachedDataset(_Leaf):
    """The items of a cached dataset, one by one; its batch() reads batches."""

    def __init__(self, file: _File, view: _View, skipped: int = 0) -> None:
        self._file, self._view, self._skipped = file, view, skipped
        if view.share(file.items) - skipped < 1 and not skipped:
            raise ValueError(f"{file.items} items cannot be shared by {view.size} processes")
        ours = view.share(file.items) - skipped
        position = _Position()
        is_uniform = file.is_uniform()
        count = max(1, min(_STEP_ITEMS, _STEP_BYTES // file.item_bytes())) if is_uniform else 1
        plan = view.plan(file.items, count, drop=False, skipped=skipped)
        steps = self._steps(plan, position, [count] if is_uniform else None, unit=count)
        if is_uniform:
            # Also if the last step is shorter: its true shape is known when it is read.
            steps = steps.unbatch().take(ours)
        spec = file.spec
        if _has_composites(spec):
            steps = steps.map(lambda *flat: tf.nest.pack_sequence_as(spec, flat, expand_composites=True))
        elif is_uniform:
            shapes = [tf.TensorSpec(file.shape(i), each.dtype) for i, each in enumerate(file.specs)]
            spec = tf.nest.pack_sequence_as(spec, shapes)
        super().__init__(steps, spec, position)

    def _steps(
        self,
        plan: Dict[str, int],
        position: _Position,
        stack: Optional[List[Optional[int]]],
        unit: int = 1,
        is_large: bool = False,
    ) -> Any:
        """The steps of a plan, each of `unit` elements. `stack` comes before an item's shape; None: items are not
        stacked."""
        file, view = self._file, self._view
        attrs = dict(
            plan,
            position=position.address,
            records=file.handle,
            items=file.items,
            seed=signed(view.seed),
            shuffle=view.shuffle,
            unit=unit,
            stacked=int(stack is not None),
        )
        specs = [
            tf.TensorSpec(tf.TensorShape(stack or []).concatenate(file.shape(i)), each.dtype)
            for i, each in enumerate(file.specs)
        ]
        types, layout = [each.dtype for each in file.specs], file.layout()

        def begin(_: Any) -> Any:
            rows = ops().det_cache_pass(**attrs)
            rows.set_shape([plan["steps"], _ROW])  # or fewer, in a pass that begins later
            return rows

        def read(row: Any) -> Any:
            found = ops().det_cache_read(row, types=types, layout=layout, **attrs)
            for tensor, spec in zip(found, specs):
                tensor.set_shape(spec.shape)
            return tuple(found)

        rows = tf.data.Dataset.from_tensors(0).map(_plain(begin)).unbatch()
        if is_large:
            return rows.map(_plain(read), num_parallel_calls=tf.data.AUTOTUNE)
        return Steps(rows, read, tuple(specs))

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: Any = None,
    ) -> Any:
        """Like Dataset.batch(), but each batch is read at once."""
        size, drop = _static(batch_size), _static(drop_remainder)
        file, view = self._file, self._view
        if size is None or drop is None or size < 1 or not file.is_uniform():
            return super().batch(batch_size, drop_remainder, num_parallel_calls, deterministic, name)
        if view.is_global(size) and not self._skipped:
            plan = view.global_plan(file.items, bool(drop))
        else:
            plan = view.plan(file.items, size, bool(drop), self._skipped)
        if plan["steps"] < 1:
            return super().batch(batch_size, drop_remainder, num_parallel_calls, deterministic, name)
        position = _Position()
        position.set(self._position.epoch(), 0)
        is_large = size * file.item_bytes() >= _LARGE
        steps = self._steps(plan, position, [size if drop else None], is_large=is_large)
        spec = tf.nest.pack_sequence_as(file.spec, steps.element_spec)
        return _Leaf(steps, spec, position, origin=self).prefetch(_AHEAD)

    def skip(self, count: Any, name: Any = None) -> Any:
        """Like Dataset.skip(), but skipped items are not read."""
        number = _static(count)
        if number is None or number < 0 or self._skipped + number >= self._view.share(self._file.items):
            return super().skip(count, name)
        rest = CachedDataset(self._file, self._view, self._skipped + number)
        rest.origin = self
        return rest

    def shard(self, num_shards: Any, index: Any, name: Any = None) -> Any:
        """Like Dataset.shard(); does nothing if it is the part that we have already."""
        if (_static(num_shards), _static(index)) == (self._view.size, self._view.rank):
            return self
        return super().shard(num_shards, index, name)


def _plain(function: Any) -> Any:
    return tf.autograph.experimental.do_not_convert(function)


def _static(value: Any) -> Optional[int]:
    """The number, if it is known now."""
    found = tf.get_static_value(value) if tf.is_tensor(value) else value
    try:
        return int(found)
    except (TypeError, ValueError):
        return None


# ---- seeking


def _is_pure(dataset: Any) -> bool:
    """Whether the function of a map() is deterministic."""
    try:
        return not any(each.op_def.is_stateful for each in dataset._map_func.function.graph.get_operations())
    except AttributeError:
        return False


def _elements_below(dataset: Any) -> int:
    """How many elements of its input make one element of a dataset; 0 if unknown."""
    kind = type(dataset).__name__.strip("_")
    if kind in ("OptionsDataset", "PrefetchDataset", "TakeDataset"):
        return 1
    if kind in ("MapDataset", "ParallelMapDataset"):
        return int(_is_pure(dataset))
    if kind in ("BatchDataset", "ParallelBatchDataset"):
        return _static(dataset._batch_size) or 0
    return 0


def leaf_of(dataset: Any) -> Optional[_Leaf]:
    """The cached dataset that another one is derived from; None without one."""
    todo = [dataset]
    while todo:
        each = todo.pop()
        if isinstance(each, _Leaf):
            return each
        todo.extend(getattr(each, "_inputs", list)())
    return None


def seek(dataset: Any, epoch: int, element: int) -> Optional[bool]:
    """Makes the next pass through a dataset derived from a cached one this epoch's. True: it begins with this
    element. False: it begins with its first element, and the caller skips the earlier ones. None: it is not
    derived from a cached dataset."""
    leaf = leaf_of(dataset)
    if leaf is None:
        return None
    factor, each = 1, dataset
    while each is not leaf and factor:
        factor *= _elements_below(each)
        (each,) = each._inputs() if factor else (leaf,)
    leaf.set_position(epoch, element * factor)
    return factor > 0 or not element


# ---- the user's interface


def _quoted(word: Any, what: str) -> str:
    if not isinstance(word, str):
        raise TypeError(f"{what} is {word!r}; expected a string")
    if not word:
        raise ValueError(f"{what} is empty; expected a name")
    name = urllib.parse.quote(word, safe="").replace(".", "%2E")
    if len(name) > _NAME_BYTES:
        raise ValueError(f"{what} is too long: {len(name)} characters; expected at most {_NAME_BYTES}")
    return name


class TFKerasExperimentalContext:
    """`context.experimental` of a TFKerasTrial."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def _folder(self) -> str:
        """Where caches are: the configured folder, else among the user's caches."""
        layer = (self._context.get_experiment_config() or {}).get("data_layer") or {}
        for name in ("container_storage_path", "host_storage_path"):
            path = layer.get(name)
            if isinstance(path, str) and os.path.isdir(path):
                return os.path.join(path, "determined-datasets")
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        return os.path.join(home, "determined", "datasets")

    def _cached(self, make: Callable[[], Any], name: Tuple[str, str], shuffle: int, is_training: bool) -> Any:
        context = self._context
        whole = context.get_hparams().get("global_batch_size")
        view = _View(
            seed=context.get_trial_seed(),
            shuffle=shuffle,
            rank=context.distributed.rank,
            size=context.distributed.size,
            is_even=is_training,
            global_batch=whole if isinstance(whole, int) else None,
        )
        dataset_id = _quoted(name[0], "dataset_id") + ("_train" if is_training else "_val")
        path = os.path.join(self._folder(), dataset_id, _quoted(name[1], "dataset_version"))
        file = _file_of(path + ".records", make, f"dataset '{name[0]}' version '{name[1]}'")
        dataset = CachedDataset(file, view)
        # It is sharded already: the user need not wrap it.
        getattr(context, "_datasets", []).append(dataset)
        return dataset

    def _decorator(self, name: Tuple[str, str], shuffle: int, is_training: bool) -> Any:
        _quoted(name[0], "dataset_id"), _quoted(name[1], "dataset_version")

        def decorate(make: Callable[..., Any]) -> Callable[..., Any]:
            if not callable(make):
                raise TypeError(f"{make!r} cannot be called; expected a function that makes a tf.data.Dataset")

            @functools.wraps(make)
            def cached(*args: Any, **kwargs: Any) -> Any:
                return self._cached(lambda: make(*args, **kwargs), name, shuffle, is_training)

            return cached

        return decorate

    def cache_train_dataset(
        self,
        dataset_id: str,
        dataset_version: str,
        shuffle: bool = False,
        skip_shuffle_at_epoch_end: bool = False,
    ) -> Any:
        """Caches the dataset of a function, a `tf.data.Dataset` that is not batched yet, on disk under this id and
        version, apart from a validation dataset of the same id. With `shuffle` every epoch has its own order; with
        `skip_shuffle_at_epoch_end` all have the first one's. Each slot gets its part, with the same number of items."""
        mode = (2 if skip_shuffle_at_epoch_end else 1) if shuffle else 0
        return self._decorator((dataset_id, dataset_version), mode, True)

    def cache_validation_dataset(self, dataset_id: str, dataset_version: str, shuffle: bool = False) -> Any:
        """The same for validation data; with `shuffle`, always in the same order. Every item belongs to one slot."""
        return self._decorator((dataset_id, dataset_version), 2 if shuffle else 0, False)
