# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import sys
from typing import Dict, Iterator, Set, Union
from types import ModuleType


def _below(module: ModuleType, folder: str) -> bool:
    path = getattr(module, "__file__", None)
    return bool(path) and os.path.realpath(str(path)).startswith(folder + os.sep)


@contextlib.contextmanager
def import_from_path(path: Union[str, "os.PathLike[str]"]) -> Iterator[None]:
    """Imports inside of the `with` find modules in `path` first.

    Afterwards everything is as before: modules from `path` are forgotten, and modules that they had hidden are
    back. So the code in a checkpoint can be loaded beside today's code. Keep the objects you need in variables.
    """
    folder = os.path.realpath(path)
    if not os.path.isdir(folder):
        raise NotADirectoryError(f"'{os.fspath(path)}' is not a directory to import from")
    names: Set[str] = {
        entry.split(".")[0] for entry in os.listdir(folder) if not entry.startswith((".", "_"))
    }
    hidden: Dict[str, ModuleType] = {
        name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] in names
    }
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
        for name, module in list(sys.modules.items()):
            if module is not None and _below(module, folder):
                del sys.modules[name]
        sys.modules.update(hidden)
