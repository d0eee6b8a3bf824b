# SPDX-License-Identifier: Apache-2.0
"""Hyperparameter spaces written in Python, as a YAML configuration would write them.

    config = {"hyperparameters": {"global_batch_size": det.Constant(32),
                                  "learning_rate": det.Log(-4, -1)}, ...}

Each space is a dict of the form that a configuration takes and that json and yaml write.
"""
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

Number = Union[int, float]
_KINDS = ("const", "int", "double", "log", "categorical")


def _number(kind: str, name: str, value: Any, whole: bool = False) -> Any:
    wanted = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise TypeError(f"{kind}({name}={value!r}): expected a {'whole ' if whole else ''}number")
    return value


class HyperparameterSpace(Dict[str, Any]):
    """The base class of the spaces."""


class Constant(HyperparameterSpace):
    """Always `value`."""

    def __init__(self, value: Any) -> None:
        super().__init__(type="const", val=value)


class Categorical(HyperparameterSpace):
    """One of `vals`."""

    def __init__(self, vals: Iterable[Any]) -> None:
        values: List[Any] = list(vals)
        if isinstance(vals, (str, bytes)) or not values:
            raise ValueError(f"Categorical({vals!r}): expected a list of at least one value")
        super().__init__(type="categorical", vals=values)


class _Range(HyperparameterSpace):
    def __init__(self, minval: Any, maxval: Any, count: Optional[int], whole: bool, **more: Any) -> None:
        kind = type(self).__name__
        for name, value in (("minval", minval), ("maxval", maxval)):
            _number(kind, name, value, whole)
        if minval > maxval:
            raise ValueError(f"{kind}: minval is {minval}, which is more than maxval, {maxval}")
        super().__init__(minval=minval, maxval=maxval, **more)
        if count is not None:
            if _number(kind, "count", count, whole=True) < 1:
                raise ValueError(f"{kind}(count={count}): expected 1 or more")
            self["count"] = count


class Integer(_Range):
    """A whole number from `minval` to `maxval`; a grid takes `count` of them."""

    def __init__(self, minval: int, maxval: int, count: Optional[int] = None) -> None:
        super().__init__(minval, maxval, count, True, type="int")


class Double(_Range):
    """A number from `minval` to `maxval`; a grid takes `count` of them."""

    def __init__(self, minval: Number, maxval: Number, count: Optional[int] = None) -> None:
        super().__init__(minval, maxval, count, False, type="double")


class Log(_Range):
    """`base` to a power from `minval` to `maxval`; a grid takes `count` of them."""

    def __init__(
        self, minval: Number, maxval: Number, base: Number = 10, count: Optional[int] = None
    ) -> None:
        if _number("Log", "base", base) <= 0:
            raise ValueError(f"Log(base={base}): expected more than 0")
        super().__init__(minval, maxval, count, False, type="log", base=base)


# ---- one value of each space, for runs without a search


def _one(space: Dict[str, Any]) -> Any:
    kind = space["type"]
    if kind == "const":
        return space["val"]
    if kind == "categorical":
        return space["vals"][0]
    if kind == "int":
        return (space["minval"] + space["maxval"]) // 2
    middle = (space["minval"] + space["maxval"]) / 2
    return float(space.get("base", 10)) ** middle if kind == "log" else middle


def one_of_each(spaces: Dict[str, Any], prefix: str = "") -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Values to train with, and those among them that were chosen: the first one of a list, the middle of a range."""
    values: Dict[str, Any] = {}
    chosen: Dict[str, Any] = {}
    for name, space in spaces.items():
        if not isinstance(space, dict):
            values[name] = space
        elif space.get("type") in _KINDS:
            try:
                values[name] = _one(space)
            except (KeyError, IndexError, TypeError) as error:
                raise ValueError(
                    f"hyperparameter '{prefix}{name}' is {dict(space)!r}, which lacks something of "
                    f"type '{space['type']}': {error}"
                ) from None
            if space["type"] != "const":
                chosen[prefix + name] = values[name]
        else:
            values[name], below = one_of_each(space, f"{prefix}{name}.")
            chosen.update(below)
    return values, chosen
