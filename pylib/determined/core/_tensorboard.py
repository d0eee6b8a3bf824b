# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import shutil
import tempfile
from typing import Any, Callable, Dict

from determined import _det


class Board:
    """TensorBoard's files of a trial.

    In TensorboardMode.AUTO libdet writes the chief's numbers into the trial's own folder in the checkpoint
    storage; files that the program writes belong there, too. In MANUAL, and in every other process, each
    process has its own folder, and its files are copied when the program asks for it.
    """

    def __init__(self, det: _det.Context, info: Dict[str, Any], manual: bool, rank: int) -> None:
        self._det = det
        self._info = info
        self._manual = manual
        self._rank = rank

    def path(self) -> pathlib.Path:
        if not self._manual and self._rank == 0 and self._info["is_trial"]:
            return pathlib.Path(self._det.tensorboard_directory())
        name = f"tensorboard-{self._info['allocation_id'] or os.getpid()}-{self._rank}"
        path = pathlib.Path(self._info["directory"] or tempfile.gettempdir()) / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def upload(
        self,
        selector: Callable[[pathlib.Path], bool],
        mangler: Callable[[pathlib.Path, int], pathlib.Path],
    ) -> None:
        if not self._manual:
            raise RuntimeError(
                "upload_tensorboard_files() needs core.init(tensorboard_mode=TensorboardMode.MANUAL)"
            )
        source = self.path()
        target = pathlib.Path(self._det.tensorboard_directory())
        for path in sorted(source.rglob("*")):
            name = path.relative_to(source)
            if path.is_file() and selector(name):
                _copy(path, _inside(target, mangler(name, self._rank)))


def _inside(folder: pathlib.Path, name: "os.PathLike[str]") -> pathlib.Path:
    path = folder / name
    if ".." in path.parts or not path.is_relative_to(folder) or path == folder:
        raise ValueError(f"the mangler returned '{name}'; expected a path inside of the folder")
    return path


def _copy(source: pathlib.Path, target: pathlib.Path) -> None:
    """Files that are up to date stay; a reader never sees half a file."""
    found = source.stat()
    try:
        there = target.stat()
        if (there.st_size, there.st_mtime_ns) == (found.st_size, found.st_mtime_ns):
            return
    except FileNotFoundError:
        target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.copy2(source, draft)
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
