# SPDX-License-Identifier: Apache-2.0
"""Calls a function right after another package is imported, no matter which code imports it.

We do not import the package ourselves, which takes seconds, and we do not ask the program to import in the
right order. Instead, a finder stands first in sys.meta_path until it is asked for that package.
"""
import importlib.abc
import importlib.util
import sys
from typing import Any, Callable


def when_imported(name: str, then: Callable[[Any], Any]) -> None:
    """Calls then(module) as soon as the module of this name is imported; at once if it is already."""
    watcher = _Watcher(name, then)
    if name in sys.modules:
        then(sys.modules[name])
    elif watcher not in sys.meta_path:
        sys.meta_path.insert(0, watcher)


class _Watcher(importlib.abc.MetaPathFinder):
    """Finds nothing itself: it lets the other finders find the module and wraps its loader."""

    def __init__(self, name: str, then: Callable[[Any], Any]) -> None:
        self.name, self.then = name, then
        self._is_asking = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Watcher) and (other.name, other.then) == (self.name, self.then)

    def __hash__(self) -> int:
        return hash((self.name, self.then))

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self.name or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._is_asking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads the module with its own loader, then calls the function."""

    def __init__(self, inner: Any, watcher: _Watcher) -> None:
        self._inner, self._watcher = inner, watcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create_module(self, spec: Any) -> Any:
        return self._inner.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__loader__ = module.__spec__.loader = self._inner
        self._inner.exec_module(module)
        if self._watcher in sys.meta_path:
            sys.meta_path.remove(self._watcher)
            self._watcher.then(module)
