# SPDX-License-Identifier: Apache-2.0
"""Combines metrics of many batches and ranks.

    Metrics(reducer)    numbers of batches: AVG SUM MAX MIN.  add() after every batch, values() at a report
    Means()             the same with AVG
    Reducers            the user's own: MetricReducer, or a function over all values
    gather()            the objects of all ranks, at rank 0, tensors and arrays as raw bytes

A sum is the true sum of all values, rounded once, to float64: additions keep the rounding errors as further
numbers (Shewchuk's expansions, by math.fsum). So a mean does not depend, to the last bit, on how batches were
shared among ranks, nor on where a training was interrupted; and all ranks compute it from the same numbers in
the same order.

add() only stores a tensor: nothing waits for a GPU before a report.
"""
import abc
import enum
import io
import math
import pickle
import re
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import torch

from determined.core._metrics import element_names
from determined.pytorch import _metrics

_PENDING_MOST = 1024  # stored tensors, before they are combined
_ELEMENT = re.compile(r"(\.\d+)+$")  # after the name of an array


class Reducer(enum.Enum):
    """How the numbers of batches are combined."""

    AVG = 1
    SUM = 2
    MAX = 3
    MIN = 4


# ---- exact sums


def _expansion(values: Sequence[float]) -> List[float]:
    """A few numbers whose sum is exactly that of the values; if it is not finite, one number."""
    parts: List[float] = []
    try:
        rest = math.fsum(values)
        while rest and math.isfinite(rest):
            parts.append(rest)
            rest = math.fsum((*values, *(-part for part in parts)))
    except (OverflowError, ValueError):  # an intermediate sum, or infinities that cancel out
        return [sum(values)]
    return parts if not rest else [rest]


def _total(parts: Iterable[float]) -> float:
    parts = list(parts)
    try:
        return math.fsum(parts)
    except (OverflowError, ValueError):
        return sum(parts)


def _extreme(values: Iterable[float], choose: Callable[..., float]) -> float:
    """NaN stays NaN."""
    values = list(values)
    return math.nan if any(map(math.isnan, values)) else choose(values)


def _numbers(values: Sequence[Any]) -> List[float]:
    """Numbers of tensors on any device: one transfer for each kind."""
    if values and all(isinstance(each, torch.Tensor) for each in values):
        kinds = {(each.device, each.dtype) for each in values}
        if len(kinds) == 1:
            found: List[float] = torch.stack(list(values)).double().tolist()
            return found
    return [float(each) for each in values]


class _Bucket:
    """One metric on this rank."""

    def __init__(self) -> None:
        self.pending: List[Any] = []
        self.weights: List[float] = []
        self.sums: List[float] = []  # expansions
        self.weight_sums: List[float] = []
        self.most = -math.inf
        self.least = math.inf
        self.count = 0

    def fold(self) -> "_Bucket":
        if self.pending:
            numbers = _numbers(self.pending)
            self.count += len(numbers)
            self.most = _extreme((self.most, *numbers), max)
            self.least = _extreme((self.least, *numbers), min)
            self.weight_sums = _expansion((*self.weight_sums, *self.weights))
            self.pending, weights, self.weights = [], self.weights, []
            self.numbers_in(numbers, weights)
        return self

    def numbers_in(self, numbers: List[float], weights: List[float]) -> None:
        products = [number * weight for number, weight in zip(numbers, weights)]
        self.sums = _expansion((*self.sums, *products))

    def state(self) -> List[Any]:
        self.fold()
        return [self.sums, self.weight_sums, self.most, self.least, self.count]

    def load(self, state: Sequence[Any]) -> None:
        self.sums, self.weight_sums = list(state[0]), list(state[1])
        self.most, self.least, self.count = state[2:]


class Metrics:
    """Numbers by name, of any number of batches, over all ranks. `reducer` is one for all, or one for each name."""

    def __init__(self, reducer: Union[Reducer, Mapping[str, Reducer]] = Reducer.AVG) -> None:
        for each in reducer.values() if isinstance(reducer, Mapping) else (reducer,):
            if not isinstance(each, Reducer):
                raise TypeError(f"the reducer {each!r} is not one of det.pytorch.Reducer.AVG, SUM, MAX and MIN")
        self._reducer = reducer
        self._buckets: Dict[str, _Bucket] = {}
        self._shapes = _metrics.Shapes()

    def _kind(self, name: str) -> Reducer:
        if isinstance(self._reducer, Reducer):
            return self._reducer
        if name not in self._reducer:
            name = _ELEMENT.sub("", name)  # a number of an array
        if name not in self._reducer:
            raise ValueError(
                f"there is no reducer for the metric '{name}'; there are: {', '.join(self._reducer) or 'none'}"
            )
        return self._reducer[name]

    def _new(self, name: str) -> _Bucket:
        if not isinstance(name, str):
            raise TypeError(f"a metric is named {name!r}; expected a string")
        self._kind(name)
        bucket = self._buckets[name] = _Bucket()
        return bucket

    def add(self, metrics: Mapping[str, Any], weight: float = 1) -> None:
        """Adds one batch, with its weight in a mean."""
        for name, value in metrics.items():
            if getattr(value, "ndim", 0) and element_names(name, value):
                self._shapes.check("evaluate_batch()", name, value)
                for each, part in _metrics.parts("evaluate_batch()", name, value):
                    self._add(each, part, weight)
            else:
                self._add(name, _aside(name, value), weight)

    def _add(self, name: str, value: Any, weight: float) -> None:
        bucket = self._buckets.get(name) or self._new(name)
        bucket.pending.append(value)
        bucket.weights.append(1.0 if self._kind(name) is Reducer.SUM else weight)
        if len(bucket.pending) >= _PENDING_MOST:
            bucket.fold()

    def __bool__(self) -> bool:
        return bool(self._buckets)

    def reset(self) -> None:
        self._buckets = {}

    def values(self, distributed: Any = None) -> Dict[str, float]:
        """The metrics over all ranks, the same on each. All ranks call it; a rank may have none."""
        mine = self.state()
        everyones = [mine] if distributed is None or distributed.size == 1 else distributed.allgather(mine)
        names = dict.fromkeys(name for each in everyones for name in each)
        return {name: self._value(name, [each[name] for each in everyones if name in each]) for name in names}

    def _value(self, name: str, states: List[List[Any]]) -> float:
        kind = self._kind(name)
        if kind is Reducer.MAX:
            return _extreme((each[2] for each in states), max)
        if kind is Reducer.MIN:
            return _extreme((each[3] for each in states), min)
        total = _total(part for each in states for part in each[0])
        weight = _total(part for each in states for part in each[1])
        if kind is Reducer.SUM:
            return total
        return total / weight if weight else math.nan

    def state(self) -> Dict[str, List[Any]]:
        """This rank's state so far; plain numbers."""
        return {name: bucket.state() for name, bucket in self._buckets.items()}

    def load(self, state: Mapping[str, Sequence[Any]]) -> None:
        self.reset()
        for name, each in state.items():
            self._new(name).load(each)


class Means(Metrics):
    """Weighted means."""

    def __init__(self) -> None:
        super().__init__(Reducer.AVG)

    def means(self, distributed: Any = None) -> Dict[str, float]:
        return self.values(distributed)


def _aside(name: str, value: Any) -> Any:
    """A number, or a tensor that does not change later."""
    if isinstance(value, torch.Tensor):
        if value.numel() != 1 or value.is_complex():
            raise TypeError(
                f"the metric '{name}' is a tensor of shape {tuple(value.shape)} and {value.dtype}; expected one "
                "number: reduce it in the batch, or wrap a reducer (wrap_reducer)"
            )
        kept = value.detach()
        kept = kept if value.grad_fn is not None else kept.clone()  # it may be a weight, or a buffer
        return kept.reshape(()) if kept.ndim else kept
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"the metric '{name}' is {value!r:.100}; expected a number, or a tensor with one: wrap a reducer "
            "(wrap_reducer) for other values"
        ) from None


# ---- the user's own


class MetricReducer(metaclass=abc.ABCMeta):
    """A metric that is not a mean over batches: it collects the values of a rank, and combines the parts of all
    ranks. The trial gives it values between these calls."""

    @abc.abstractmethod
    def reset(self) -> None:
        """Forgets everything: a new report begins."""

    @abc.abstractmethod
    def per_slot_reduce(self) -> Any:
        """This rank's part: numbers, tensors, arrays, and lists and dictionaries of them."""

    @abc.abstractmethod
    def cross_slot_reduce(self, per_slot_metrics: List[Any]) -> Any:
        """The metric, or a dictionary of metrics if it was wrapped without a name; from the parts of all ranks, in
        the order of ranks."""


class _Function(MetricReducer):
    """A function of all values that were given to update(), of all ranks."""

    def __init__(self, function: Callable[[List[Any]], Any]) -> None:
        self._function = function
        self.values: List[Any] = []

    def reset(self) -> None:
        self.values = []

    def update(self, value: Any) -> None:
        self.values.append(value.detach() if isinstance(value, torch.Tensor) else value)

    def per_slot_reduce(self) -> Any:
        return self.values

    def cross_slot_reduce(self, per_slot_metrics: List[Any]) -> Any:
        return self._function([value for values in per_slot_metrics for value in values])


class _Wrapped:
    def __init__(self, reducer: MetricReducer, name: Optional[str], for_training: bool, for_validation: bool) -> None:
        self.reducer, self.name = reducer, name
        self.is_for = {True: for_training, False: for_validation}

    def result(self, parts: List[Any]) -> Dict[str, Any]:
        value = self.reducer.cross_slot_reduce(parts)
        if self.name is not None:
            return {self.name: value}
        if not isinstance(value, dict):
            raise TypeError(
                f"a reducer that was wrapped without a name ({type(self.reducer).__name__}) returned {value!r:.100}; "
                "expected a dictionary of metrics, or wrap_reducer(..., name=...)"
            )
        return value


class Reducers:
    """The reducers of one trial, in the order in which they were wrapped, which is the same on all ranks."""

    def __init__(self) -> None:
        self._all: List[_Wrapped] = []

    def wrap(
        self,
        reducer: Union[MetricReducer, Callable[[List[Any]], Any]],
        name: Optional[str] = None,
        for_training: bool = True,
        for_validation: bool = True,
    ) -> MetricReducer:
        if not isinstance(reducer, MetricReducer):
            if isinstance(reducer, type) or not callable(reducer):
                raise TypeError(f"wrap_reducer() got {reducer!r:.100}; expected a MetricReducer, or a function")
            reducer = _Function(reducer)
        if name is not None and any(each.name == name for each in self._all):
            raise ValueError(f"there is already a reducer with the name '{name}'")
        if not for_training and not for_validation:
            raise ValueError("a reducer must be for_training, for_validation or both, but this one is neither")
        self._all.append(_Wrapped(reducer, name, for_training, for_validation))
        return reducer

    def __bool__(self) -> bool:
        return bool(self._all)

    def _which(self, training: bool) -> List[_Wrapped]:
        return [each for each in self._all if each.is_for[training]]

    def reset(self, training: bool) -> None:
        for each in self._which(training):
            each.reducer.reset()

    def reduce(self, distributed: Any, training: bool) -> Dict[str, Any]:
        """The metrics, the same on all ranks; all call it. Rank 0 computes them."""
        which = self._which(training)
        if not which:
            return {}
        everyones = gather(distributed, [each.reducer.per_slot_reduce() for each in which])
        found: Dict[str, Any] = {}
        for i, each in enumerate(which if everyones is not None else ()):
            assert everyones is not None
            found.update(each.result([parts[i] for parts in everyones]))
        result: Dict[str, Any] = found if distributed.size == 1 else distributed.broadcast(found)
        return result

    # A resumed training continues with the state of its reducers.

    def state(self) -> List[Dict[str, Any]]:
        """Only the data: a reducer gets its other references when the trial makes it again."""
        return [
            {name: value for name, value in vars(each.reducer).items() if _is_data(value)} for each in self._all
        ]

    def elsewhere(self) -> List[List[str]]:
        """Which of them are not on the processor, where checkpoints have them all."""
        return [
            [name for name, value in vars(each.reducer).items() if _is_data(value) and _is_elsewhere(value)]
            for each in self._all
        ]

    def load(
        self,
        state: Sequence[Mapping[str, Any]],
        elsewhere: Sequence[Sequence[str]] = (),
        to_device: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        if len(state) != len(self._all):
            raise ValueError(
                f"the checkpoint has {len(state)} reducers, but this trial wraps {len(self._all)}: it belongs to another trial"
            )
        for i, (each, values) in enumerate(zip(self._all, state)):
            away = elsewhere[i] if i < len(elsewhere) else ()
            vars(each.reducer).update(
                {name: to_device(value) if name in away else value for name, value in values.items()}
            )


_DATA = (bool, int, float, complex, str, bytes, bytearray, type(None), np.generic)


def _is_data(value: Any) -> bool:
    if isinstance(value, _DATA):
        return True
    if isinstance(value, torch.Tensor):
        return not isinstance(value, torch.nn.Parameter)
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    if type(value) is dict:
        return _is_data(list(value)) and _is_data(list(value.values()))
    if type(value) in (list, tuple, set):
        kinds = set(map(type, value))
        if all(issubclass(kind, _DATA) for kind in kinds):
            return True
        return all(map(_is_data, value))
    return False


def _is_elsewhere(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.device.type != "cpu"
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, (list, tuple)) and any(map(_is_elsewhere, value))


# ---- between ranks
#
# A message is a pickle in which tensors and arrays are numbers, then the bytes of all those: the
# elements of one kind are stored together, and copied together.


class _Packer(pickle.Pickler):
    def __init__(self, file: Any) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.tensors: List[torch.Tensor] = []
        self.is_array: List[bool] = []

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, torch.Tensor):
            if obj.layout is not torch.strided or obj.is_quantized:
                return NotImplemented
            tensor, is_array = obj.detach(), False
        elif type(obj) is np.ndarray and obj.dtype.kind in "biuf" and obj.dtype.isnative and obj.dtype.itemsize <= 8:
            tensor, is_array = torch.from_numpy(obj if obj.flags.writeable else obj.copy()), True
        else:
            return NotImplemented
        self.tensors.append(tensor)
        self.is_array.append(is_array)
        return _packed, (len(self.tensors) - 1,)


def _packed(index: int) -> Any:
    raise pickle.UnpicklingError(f"tensor {index} lies outside of this pickle")


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: Any, values: List[Any]) -> None:
        super().__init__(file)
        self._values = values

    def find_class(self, module: str, name: str) -> Any:
        if name == "_packed" and module == __name__:
            return self._values.__getitem__
        return super().find_class(module, name)


def _together(tensors: Sequence[torch.Tensor]) -> np.ndarray:
    """The bytes of tensors of one kind."""
    flat = torch.cat([each.reshape(-1) for each in tensors]) if len(tensors) > 1 else tensors[0].reshape(-1)
    found: np.ndarray = flat.contiguous().cpu().view(torch.uint8).numpy()
    return found


def pack(stuff: Any) -> bytes:
    """Of anything that can be pickled."""
    skeleton = io.BytesIO()
    packer = _Packer(skeleton)
    packer.dump(stuff)
    groups: Dict[Any, List[int]] = {}
    for i, tensor in enumerate(packer.tensors):
        groups.setdefault((tensor.dtype, tensor.device), []).append(i)
    blocks = [_together([packer.tensors[i] for i in group]) for group in groups.values()]
    shapes = [tuple(each.shape) for each in packer.tensors]
    kinds = [(kind, group, block.nbytes) for (kind, _), group, block in zip(groups, groups.values(), blocks)]
    head = pickle.dumps((kinds, shapes, packer.is_array, skeleton.getbuffer().nbytes), pickle.HIGHEST_PROTOCOL)
    return b"".join((len(head).to_bytes(8, "little"), head, skeleton.getbuffer(), *blocks))


def _apart(kind: torch.dtype, data: memoryview, shapes: List[Tuple[int, ...]]) -> List[torch.Tensor]:
    sizes = [math.prod(shape) for shape in shapes]
    if not data.nbytes:
        return [torch.empty(shape, dtype=kind) for shape in shapes]
    # A copy: they are writable, and aligned for their kind.
    flat = torch.frombuffer(bytearray(data), dtype=kind)
    return [part.view(shape) for part, shape in zip(flat.split(sizes), shapes)]


def unpack(message: Any) -> Any:
    """Tensors come on the processor."""
    view = memoryview(message)
    start = 8 + int.from_bytes(view[:8], "little")
    kinds, shapes, is_array, skeleton_bytes = pickle.loads(view[8:start])
    values: List[Any] = [None] * len(shapes)
    at = start + skeleton_bytes
    for kind, group, size in kinds:
        tensors = _apart(kind, view[at : at + size], [shapes[i] for i in group])
        for i, tensor in zip(group, tensors):
            values[i] = tensor.numpy() if is_array[i] else tensor
        at += size
    return _Unpacker(io.BytesIO(view[start : start + skeleton_bytes]), values).load()


def gather(distributed: Any, stuff: Any) -> Optional[List[Any]]:
    """The objects of all ranks, at rank 0; None elsewhere."""
    if distributed is None or distributed.size == 1:
        return [stuff]
    parts = distributed._group.gather(pack(stuff), False)
    return None if parts is None else [unpack(part) for part in parts]


def allgather(distributed: Any, stuff: Any) -> List[Any]:
    """The objects of all ranks, on every rank."""
    if distributed is None or distributed.size == 1:
        return [stuff]
    return [unpack(part) for part in distributed._group.allgather(pack(stuff), False)]
