# SPDX-License-Identifier: Apache-2.0
"""Metrics of any kind, as JSON. Plain numbers never come here: _det takes them directly.

Metrics with several numbers have one rule for all front ends, spread(): each number of an array or tensor is a metric of
its own, with its index after the name (`f1_score.0`, `f1_score.1`; `confusion.0.1` for a matrix). So each has a curve,
and searchers can use it. An array with one number is that number. Lists and dicts stay as they are, and so do arrays with
more than ELEMENTS_MOST numbers.
"""
import itertools
import json
import logging
import math
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

logger = logging.getLogger("determined.core")

DEEPEST = 64
ELEMENTS_MOST = 1000


# ---- several numbers


def _sizes(value: Any) -> List[int]:
    """The shape of an array or tensor; empty for anything else."""
    try:
        return [int(size) for size in getattr(value, "shape", ())]
    except (TypeError, ValueError):
        return []


def element_names(name: str, value: Any) -> List[str]:
    """The names of the numbers of an array or tensor, in their order; empty if the value stays one metric."""
    sizes = _sizes(value)
    if not isinstance(name, str) or not 1 < math.prod(sizes) <= ELEMENTS_MOST:
        return []
    return [".".join((name, *map(str, index))) for index in itertools.product(*map(range, sizes))]


def _flat(value: Any) -> List[Any]:
    """The elements of an array or tensor, or of nested lists."""
    if isinstance(value, list):
        return [number for each in value for number in _flat(each)]
    if not _sizes(value):
        return [value]
    value = value.detach() if getattr(value, "requires_grad", False) else value
    return _flat((value if callable(getattr(value, "tolist", None)) else value.numpy()).tolist())


def elements(name: str, value: Any) -> List[Tuple[str, Any]]:
    """The numbers of an array or tensor, each with its name; otherwise the value itself."""
    if _sizes(value) and math.prod(_sizes(value)) == 1:
        return [(name, *_flat(value))]
    names = element_names(name, value)
    numbers = _flat(value) if names else []
    are_numbers = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in numbers)
    return list(zip(names, numbers)) if names and are_numbers else [(name, value)]


def spread(metrics: Mapping[Any, Any]) -> Dict[Any, Any]:
    """The metrics with arrays and tensors of several numbers replaced by these."""
    found: Dict[Any, Any] = {}
    for name, value in metrics.items():
        for each, part in elements(name, value):
            if each in found or (each != name and each in metrics):
                raise ValueError(f"there are two metrics '{each}': one is a number of the array '{name}'; rename one")
            found[each] = part
    return found


# ---- JSON


def _number(value: float) -> Any:
    """Numbers that JSON lacks become words, which libdet reads as numbers."""
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _from_array(name: str, value: Any, depth: int) -> Any:
    """Arrays of numpy, torch, tensorflow, jax; none of these is imported for it."""
    for method in ("tolist", "numpy", "item"):
        if callable(getattr(value, method, None)):
            if getattr(value, "requires_grad", False):
                value = value.detach()
            return _plain(name, getattr(value, method)(), depth + 1)
    raise TypeError(
        f"metric '{name}' is of type {type(value).__name__}; expected a number, a string, True or "
        "False, None, or a list, dict or array of them"
    )


def _plain(name: str, value: Any, depth: int = 0) -> Any:
    if depth > DEEPEST:
        raise ValueError(f"metric '{name}' is nested more than {DEEPEST} levels deep")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return _plain_items(value, name + ".", depth + 1)
    if isinstance(value, (list, tuple)):
        return [_plain(name, each, depth + 1) for each in value]
    return _from_array(name, value, depth)


def _plain_items(metrics: Mapping[Any, Any], prefix: str = "", depth: int = 0) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for name, value in metrics.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a metric is {name!r}; expected a string")
        if isinstance(value, (bytes, bytearray, memoryview)):
            logger.warning("metric '%s' is bytes, which cannot be reported; left out", prefix + name)
            continue
        found[name] = _plain(prefix + name, value, depth)
    return found


def plain(name: str, value: Any) -> Any:
    """A value as numbers, words, lists and dicts only; NaN as a word."""
    return _plain(name, value)


def plain_metrics(metrics: Any) -> Dict[str, Any]:
    """The metrics as numbers, words, lists and dicts only, spread; NaN as a word."""
    if not isinstance(metrics, Mapping):
        raise TypeError(f"the metrics are of type {type(metrics).__name__}; expected a dict")
    return _plain_items(spread(metrics))


def encode(
    metrics: Any, batches: Optional[Sequence[Mapping[str, Any]]]
) -> Tuple[str, Optional[str]]:
    """The metrics, and those of each batch if there are any, as JSON."""
    listed: Optional[List[Dict[str, Any]]] = None
    if batches is not None:
        if isinstance(batches, (str, bytes, Mapping)):
            raise TypeError("the batch metrics must be a list of dicts, one for each batch")
        listed = [plain_metrics(each) for each in batches]
    return json.dumps(plain_metrics(metrics)), None if listed is None else json.dumps(listed)
