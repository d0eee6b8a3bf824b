# SPDX-License-Identifier: Apache-2.0
"""The state of a training as bytes, and back.

The course of a training depends on three places: variables (weights, the optimizer's, those of random
generators and of metrics, and others that the model owns, _owned.py), attributes of callbacks, and the generators of Python and NumPy. Here all of it
becomes a list of arrays and a tree of plain values, which a checkpoint holds as

    variables.json   the index: kind, path, type, shape, offset
    variables.bin    the arrays, one after the other
    loop.json        everything else (_saving.py)

without times, ids or addresses, so equal states are equal bytes; and without pickle, so reading a checkpoint
runs no foreign code.
"""
import base64
import collections
import json
import logging
import os
import random
import re
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple

import numpy as np

from determined.keras import _distribute, _hooks, _owned
from determined.keras._package import backend, is_legacy, keras

logger = logging.getLogger("determined.keras")

VARIABLES = "variables.json"
ARRAYS = "variables.bin"
MODEL = "model.json"
LOOP = "loop.json"

# Kinds of variables. The first two are equal on all ranks of a training; the others
# belong to each rank.
TRAINABLE, OPTIMIZER, OTHER, SEED, METRIC, CALLBACK, RATE, SUM, OWN, REPLICAS = (
    "trainable",
    "optimizer",
    "other",
    "seed",
    "metric",
    "callback",
    "rate",
    "sum",
    "own",
    "replicas",
)
WEIGHTS = (TRAINABLE, OTHER)
SHARED = (TRAINABLE, OPTIMIZER)

_ALIGNMENT = 64
_RATE = re.compile(r"(^|/)learning_rate(:\d+)?$")

Entry = Tuple[str, str, Any]


# ---- variables


def variables_of(model: Any, kinds: Optional[Iterable[str]] = None) -> List[Entry]:
    """Every variable of a training, each once: (kind, path, variable); of these kinds, or all."""
    found: List[Entry] = []
    seen = set()
    wanted = None if kinds is None else set(kinds)

    def add(kind: str, variables: Iterable[Any]) -> None:
        for each in variables:
            if id(each) not in seen:
                seen.add(id(each))
                found.append((kind, getattr(each, "path", None) or each.name, each))

    add(METRIC, _distribute.metric_variables(model))
    if wanted == {METRIC}:  # is asked for often
        return found
    optimizers = _owned.optimizers(model)
    for each in optimizers:
        add(RATE, _hooks.rates(each))
    for each in optimizers:
        add(SUM, _distribute.rank_variables(each))
    for each in optimizers:
        add(OPTIMIZER, _owned.variables(each))
    add(TRAINABLE, model.trainable_variables)
    add(OTHER, model.weights)
    add(SEED, model.variables)
    add(SEED, _hooks.seeds(model))
    add(OWN, _owned.other_variables(model, [variable for _, _, variable in found]))
    every = sorted(found, key=lambda entry: _ORDER[entry[0]])
    return every if wanted is None else [entry for entry in every if entry[0] in wanted]


_ORDER = {TRAINABLE: 0, OTHER: 1, SEED: 2, OPTIMIZER: 3, METRIC: 4, CALLBACK: 5, RATE: 6, SUM: 7, OWN: 8}


def _numpy(variable: Any) -> np.ndarray:
    if is_legacy or backend == "tensorflow":
        return np.asarray(variable.numpy())
    return np.asarray(keras.ops.convert_to_numpy(variable))


def _numbered(model: Any, kinds: Iterable[str]) -> List[Tuple[str, Entry]]:
    """The variables of these kinds, each with the path of its replicas: its kind and its number in it."""
    counts: Dict[str, int] = collections.Counter()
    found = []
    for entry in variables_of(model, kinds):
        found.append((f"{entry[0]}/{counts[entry[0]]}", entry))
        counts[entry[0]] += 1
    return found


def _replicas_of(path: str, variable: Any, value: np.ndarray) -> List[Entry]:
    """The values of all replicas as one array, if they are not all `value`."""
    parts = _hooks.replicas(variable)
    if len(parts) < 2:
        return []
    values = np.stack([part.numpy() for part in parts])
    is_equal = all(each.tobytes() == value.tobytes() for each in values)
    return [] if is_equal else [(REPLICAS, path, values)]


def snapshot(model: Any, kinds: Iterable[str]) -> List[Entry]:
    """The current values of the variables; not copied if that can be avoided. Entries of the kind REPLICAS follow
    for variables whose replicas differ."""
    entries: List[Entry] = []
    more: List[Entry] = []
    for where, (kind, path, variable) in _numbered(model, kinds):
        entries.append((kind, path, _numpy(variable)))
        if kind not in SHARED:
            more.extend(_replicas_of(where, variable, entries[-1][2]))
    return entries + more


def rates(model: Any) -> List[Tuple[Any, np.ndarray]]:
    """The variables that hold learning rates, and copies of their values."""
    found = [each for kind, path, each in variables_of(model) if kind in (RATE, OPTIMIZER) and _RATE.search(path)]
    return [(each, _numpy(each).copy()) for each in found]


def _shape(shape: Iterable[int]) -> str:
    return " x ".join(str(size) for size in shape) or "a single number"


_WHAT = {
    TRAINABLE: "weight",
    OTHER: "weight",
    SEED: "random generator",
    OPTIMIZER: "variable of the optimizer",
    METRIC: "variable of a metric",
    RATE: "learning rate",
    SUM: "sum of gradients",
    OWN: "variable in an attribute",
}


def _check(kind: str, saved: List[Entry], present: List[Entry]) -> None:
    """Names the layer, if a checkpoint belongs to another model."""
    what = _WHAT[kind]
    for (_, old, array), (_, new, variable) in zip(saved, present):
        if tuple(array.shape) != tuple(variable.shape):
            raise ValueError(
                f"the checkpoint belongs to another model: its {what} '{old}' is {_shape(array.shape)}, "
                f"the model's '{new}' is {_shape(variable.shape)}"
            )
    if len(saved) != len(present):
        more, less = ("checkpoint", "model") if len(saved) > len(present) else ("model", "checkpoint")
        first = (saved if len(saved) > len(present) else present)[min(len(saved), len(present))]
        raise ValueError(
            f"the checkpoint belongs to another model: the {more} has a {what} '{first[1]}', the {less} "
            f"does not ({len(saved)} in the checkpoint, {len(present)} in the model)"
        )


def restore(model: Any, entries: List[Entry], kinds: Iterable[str]) -> None:
    """Restores the variables of these kinds: all, or none if the checkpoint belongs to another model."""
    pairs = []
    kinds = tuple(kinds)
    present_of = variables_of(model, kinds)
    for kind in kinds:
        saved = [entry for entry in entries if entry[0] == kind]
        present = [entry for entry in present_of if entry[0] == kind]
        if kind == RATE and not (saved and present):
            continue  # one of them has a schedule
        _check(kind, saved, present)
        pairs.extend(zip(saved, present))
    for (_, _, array), (_, _, variable) in pairs:
        variable.assign(array)
    restore_replicas(model, entries, kinds)


def restore_replicas(model: Any, entries: List[Entry], kinds: Iterable[str]) -> None:
    """Each replica gets its own value, if there are as many as when it was saved."""
    saved = {path: array for kind, path, array in entries if kind == REPLICAS}
    if not saved:
        return
    for where, (_, _, variable) in _numbered(model, kinds):
        parts = _hooks.replicas(variable)
        wanted = (len(parts), *parts[0].shape)
        if where in saved and tuple(saved[where].shape) == wanted:
            for part, value in zip(parts, saved[where]):
                part.assign(value)


# ---- arrays in a file


def _type_name(array: np.ndarray) -> str:
    return array.dtype.str if array.dtype.kind != "V" else array.dtype.name


def _type_of(name: str) -> np.dtype:
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes  # type: ignore[import-untyped,import-not-found,unused-ignore]

        return np.dtype(getattr(ml_dtypes, name))


def encode(entries: List[Entry]) -> Tuple[bytes, bytearray]:
    """The table and the arrays."""
    rows = []
    offset = 0
    for kind, path, array in entries:
        rows.append([kind, path, _type_name(array), list(array.shape), offset])
        offset += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    arrays = bytearray(offset)
    for row, (_, _, array) in zip(rows, entries):
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        arrays[row[4] : row[4] + flat.nbytes] = memoryview(flat)
    return json.dumps(rows, indent=0).encode(), arrays


def decode(folder: str, table: str = VARIABLES, arrays: str = ARRAYS) -> List[Entry]:
    """Reads what encode() wrote into a folder; the arrays are read when they are used."""
    with open(os.path.join(folder, table), encoding="utf-8") as file:
        rows = json.load(file)
    path = os.path.join(folder, arrays)
    if not os.path.getsize(path):  # an empty file cannot be mapped
        return [(kind, name, np.zeros(shape, _type_of(dtype))) for kind, name, dtype, shape, _ in rows]
    data = np.memmap(path, np.uint8, "r")
    entries = []
    for kind, name, dtype, shape, offset in rows:
        type_ = _type_of(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * type_.itemsize
        entries.append((kind, name, data[offset : offset + size].view(type_).reshape(shape)))
    return entries


# ---- plain values


def pack(value: Any, blobs: List[Entry]) -> Any:
    """A value as JSON; arrays go into `blobs`. TypeError for other kinds of values."""
    if value is None or isinstance(value, (bool, int, float, str)) and type(value).__module__ == "builtins":
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        blobs.append((CALLBACK, str(len(blobs)), value))
        return {"~": "array", "at": len(blobs) - 1}
    if isinstance(value, np.generic):
        return {"~": "number", "type": value.dtype.str, "bytes": base64.b64encode(value.tobytes()).decode()}
    if type(value) is list:
        return [pack(each, blobs) for each in value]
    if type(value) is tuple:
        return {"~": "tuple", "items": [pack(each, blobs) for each in value]}
    if type(value) is collections.deque:
        return {"~": "deque", "items": [pack(each, blobs) for each in value], "most": value.maxlen}
    if type(value) is set:
        return {"~": "set", "items": sorted((pack(each, blobs) for each in value), key=json.dumps)}
    if type(value) is bytes:
        return {"~": "bytes", "bytes": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {"~": "dict", "items": [[pack(k, blobs), pack(v, blobs)] for k, v in value.items()]}
    raise TypeError(type(value).__name__)


def unpack(packed: Any, blobs: List[Entry]) -> Any:
    if isinstance(packed, list):
        return [unpack(each, blobs) for each in packed]
    if not isinstance(packed, dict):
        return packed
    kind = packed["~"]
    if kind == "array":
        return np.array(blobs[packed["at"]][2])
    if kind == "number":
        return np.frombuffer(base64.b64decode(packed["bytes"]), packed["type"])[0]
    if kind == "bytes":
        return base64.b64decode(packed["bytes"])
    items = [unpack(each, blobs) for each in packed["items"]]
    if kind == "deque":
        return collections.deque(items, packed["most"])
    return tuple(items) if kind == "tuple" else set(items) if kind == "set" else dict(items)


# ---- callbacks

# Attributes that a callback must set again by itself, or that depend on the time of day.
_NOT_STATE = {
    "model",
    "_model",
    "params",
    "min_delta",  # EarlyStopping and ReduceLROnPlateau change its sign when they begin
    "_train_accumulated_time",
    "_batch_start_time",
    "_epoch_start_time",
}


def attributes(callback: Any) -> Dict[str, Any]:
    """The plain attributes of a callback, with the arrays in them."""
    plain = {}
    for name, value in vars(callback).items():
        if name in _NOT_STATE:
            continue
        blobs: List[Entry] = []
        try:
            packed = pack(value, blobs)
        except TypeError:
            continue
        plain[name] = (packed, blobs)
    return plain


def _holds_tensors(value: Any) -> bool:
    """Whether training made it and pack() does not support it: tensors, or some of them in a list or dict. A
    variable belongs to the model."""
    if isinstance(value, dict):
        return any(map(_holds_tensors, value.values()))
    if isinstance(value, (list, tuple, set, collections.deque)):
        return any(map(_holds_tensors, value))
    is_taken = isinstance(value, np.generic) or isinstance(value, np.ndarray) and value.dtype.kind != "O"
    return hasattr(value, "__array__") and not is_taken and not hasattr(value, "assign")


_told_of: Set[Tuple[str, str]] = set()


def _begins_epochs(callback: Any) -> bool:
    """Whether it is the program's own callback and does something when an epoch begins."""
    is_own = type(callback).__module__.split(".")[0] not in ("keras", "tf_keras", "determined")
    return is_own and type(callback).on_epoch_begin is not keras.callbacks.Callback.on_epoch_begin


def warn_of_unsaved(callback: Any, before: Dict[str, Any]) -> None:
    """Says once which attributes of a callback will be missing in a resumed training."""
    kept, owner = attributes(callback), type(callback).__name__
    for name, value in vars(callback).items():
        if name in kept or name in _NOT_STATE or (owner, name) in _told_of:
            continue
        if _holds_tensors(value):
            why = "it holds tensors: make them numbers or NumPy arrays, or give the callback get_state() and load_state()"
        elif name not in before and _begins_epochs(callback):
            why = (
                f"it is a {type(value).__name__}: make it in on_train_begin(), since a training that resumes inside an "
                "epoch does not call on_epoch_begin() again"
            )
        else:
            continue
        _told_of.add((owner, name))
        logger.warning("the attribute '%s' of the callback %s is not in checkpoints, because %s", name, owner, why)


_UNSAVED: Any = (object(), [])  # equals nothing


def remember(callback: Any) -> Dict[str, Any]:
    """attributes(), as a copy that does not change when the callback changes an array in place; and the names of the
    others."""
    plain = {
        name: (packed, [(kind, path, array.copy()) for kind, path, array in blobs])
        for name, (packed, blobs) in attributes(callback).items()
    }
    return {**dict.fromkeys(vars(callback), _UNSAVED), **plain}


def _same(one: Any, other: Any) -> bool:
    packed, blobs = one
    before, blobs_before = other
    return packed == before and all(
        np.array_equal(mine[2], old[2]) for mine, old in zip(blobs, blobs_before)
    )


def callback_state(callback: Any, before: Dict[str, Any], blobs: List[Entry]) -> Any:
    """What a callback has learnt since training began: its get_state(), or the attributes that have changed."""
    state = callback.get_state() if callable(getattr(callback, "get_state", None)) else None
    if state is not None:
        return {"state": pack(state, blobs)}
    warn_of_unsaved(callback, before)
    changed = {}
    for name, now in attributes(callback).items():
        if name not in before or not _same(now, before[name]):
            changed[name] = pack(vars(callback)[name], blobs)
    return {"attributes": changed}


def restore_callback(callback: Any, state: Dict[str, Any], blobs: List[Entry]) -> None:
    if "state" in state:
        callback.load_state(unpack(state["state"], blobs))
    for name, packed in state.get("attributes", {}).items():
        value, present = unpack(packed, blobs), vars(callback).get(name)
        if isinstance(present, dict) and type(present) is not dict:  # defaultdict, Counter: keeps its type
            present.clear()
            present.update(value)
        else:
            setattr(callback, name, value)


# ---- random generators


def generators() -> Any:
    """Those of Python and NumPy, and of PyTorch if it is the backend."""
    return (random.getstate(), np.random.get_state(), _hooks.torch_generators())


def restore_generators(state: Any) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])
    _hooks.restore_torch_generators(state[2] if len(state) > 2 else [])


# ---- whole models


def describe(model: Any) -> Optional[bytes]:
    """Model and compilation as JSON; None if they cannot be serialised without their code."""
    if is_legacy:
        return None
    try:
        return json.dumps(keras.saving.serialize_keras_object(model)).encode()
    except (TypeError, ValueError, NotImplementedError, AttributeError):
        return None


def load_model(folder: str, custom_objects: Optional[Dict[str, Any]] = None) -> Any:
    """The compiled model of a checkpoint, with its weights and its optimizer's state."""
    path = os.path.join(folder, MODEL)
    if not os.path.exists(path):
        raise ValueError(
            f"the checkpoint in '{folder}' does not hold a whole model: it was not saved by "
            "determined.keras, or the model's class has no get_config(); build the model "
            "and load the checkpoint into it"
        )
    with open(path, encoding="utf-8") as file:
        model = keras.saving.deserialize_keras_object(json.load(file), custom_objects=custom_objects)
    entries = decode(folder)
    if not model.built:
        raise ValueError(f"the model in '{folder}' is not built: its input has no shape; give it an Input layer")
    if getattr(model, "optimizer", None) is not None and any(kind == OPTIMIZER for kind, _, _ in entries):
        model.optimizer.build(model.trainable_variables)
        with open(os.path.join(folder, LOOP), encoding="utf-8") as file:
            _owned.build(model, json.load(file).get("optimizers") or [None])
        restore(model, entries, (OPTIMIZER,))
    restore(model, entries, WEIGHTS)
    return model
