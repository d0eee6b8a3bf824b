# SPDX-License-Identifier: Apache-2.0
"""Small functions that training programs often need."""
import json
import os
import pathlib
from typing import Any, Iterator, List, Sequence, TypeVar, Union

_T = TypeVar("_T")


def chunks(items: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    """The items in pieces of `size`; the last one may be shorter."""
    if size < 1:
        raise ValueError(f"size is {size}; expected 1 or more")
    return (items[at : at + size] for at in range(0, len(items), size))


def is_overridden(method: Any, parent: type) -> bool:
    """Whether a bound method overrides that of the class it was inherited from."""
    own = getattr(type(method.__self__), method.__name__)
    return getattr(parent, method.__name__, None) is not own


def is_numerical_scalar(value: Any) -> bool:
    """Whether it is a number, or an array or tensor that holds one; bools do not count."""
    if isinstance(value, bool):
        return False
    if isinstance(value, (int, float)):
        return True
    try:
        return getattr(value, "size", None) == 1 and isinstance(value.item(), (int, float))
    except (AttributeError, TypeError, ValueError):
        return False


def json_encode(value: Any, indent: Union[int, str, None] = None, sort_keys: bool = False) -> str:
    """JSON as the platform writes it: NaN and the infinities are words, arrays are lists."""
    from determined.core import _metrics

    plain = _metrics.plain_metrics({"value": value})["value"]
    return json.dumps(plain, indent=indent, sort_keys=sort_keys, allow_nan=False)


def force_create_symlink(target: Union[str, "os.PathLike[str]"], link: Union[str, "os.PathLike[str]"]) -> None:
    """Makes a symlink, and atomically replaces any file or link of that name."""
    new = f"{os.fspath(link)}.{os.getpid()}.new"
    os.symlink(target, new)
    try:
        os.replace(new, link)
    except OSError:
        os.unlink(new)
        raise


def list_files(folder: Union[str, "os.PathLike[str]"]) -> List[pathlib.Path]:
    """All files below a folder, in order, as paths relative to it."""
    top = pathlib.Path(folder)
    return sorted(path.relative_to(top) for path in top.rglob("*") if path.is_file())
