# SPDX-License-Identifier: Apache-2.0
"""A checkpoint that several processes write together.

Rank 0 begins it and everybody writes into a folder of its own; then all compare what they
have, and whoever has a file first by rank copies it into the one checkpoint, which rank 0
commits.  Nobody waits for one that has failed: each step ends with an exchange of what went
wrong, and all raise together.
"""
import hashlib
import os
import shutil
from typing import Any, Callable, Dict, List, Optional, Set

from determined.core._distributed import DistributedContext

Selector = Callable[[str], bool]
_CHUNK = 1 << 20


def list_files(folder: str, selector: Optional[Selector]) -> List[str]:
    """Paths below the folder, folders with a slash at the end; of a selection, the files and
    folders it takes."""
    found: List[str] = []
    for where, folders, files in os.walk(folder):
        below = os.path.relpath(where, folder)
        prefix = "" if below == "." else below + "/"
        found += [prefix + name + "/" for name in sorted(folders)]
        found += [prefix + name for name in sorted(files)]
    return [path for path in found if selector is None or selector(path)]


def copy_files(source: str, target: str, paths: List[str]) -> None:
    for path in paths:
        to = os.path.join(target, path)
        if path.endswith("/"):
            os.makedirs(to, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(os.path.join(source, path), to)


def _digest(path: str) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def merge_metadata(parts: List[Optional[Dict[str, Any]]]) -> Dict[str, Any]:
    """The metadata of all ranks as one; they must not contradict each other."""
    merged: Dict[str, Any] = {}
    for rank, part in enumerate(parts):
        for key, value in (part or {}).items():
            if key in merged and merged[key] != value:
                raise RuntimeError(
                    f"rank {rank} has '{key}' in its metadata as {value!r}, others as "
                    f"{merged[key]!r}"
                )
            merged[key] = value
    return merged


def together(dist: DistributedContext, work: Callable[[], Any]) -> List[Any]:
    """What `work` returned everywhere; raises everywhere when it failed anywhere."""
    result: Any = None
    failure: Optional[BaseException] = None
    try:
        result = work()
    except BaseException as error:
        failure = error
    all_results = dist.allgather((result, None if failure is None else str(failure)))
    if failure is not None:
        raise failure
    for rank, (_, sentence) in enumerate(all_results):
        if sentence is not None:
            raise RuntimeError(f"rank {rank} failed to save its part: {sentence}")
    return [each for each, _ in all_results]


def raise_it(failure: Optional[BaseException]) -> None:
    if failure is not None:
        raise failure


def _check_conflicts(dist: DistributedContext, folder: Optional[str], lists: List[List[str]]) -> None:
    """A file that several ranks have must be the same in all of them."""
    seen: Set[str] = set()
    double: Set[str] = set()
    for paths in lists:
        for path in paths:
            if not path.endswith("/"):
                (double if path in seen else seen).add(path)
    mine = [path for path in lists[dist.rank] if path in double]
    sums = together(
        dist, lambda: {path: _digest(os.path.join(folder or "", path)) for path in mine}
    )
    for path in sorted(double):
        if len({each[path] for each in sums if path in each}) > 1:
            ranks = [rank for rank, each in enumerate(sums) if path in each]
            raise RuntimeError(f"the ranks {ranks} save '{path}' with different content")


def write_part(
    dist: DistributedContext, folder: Optional[str], draft: str, selector: Optional[Selector]
) -> None:
    """Brings this process's files into the draft; `folder` None: it has none."""
    lists = together(
        dist, lambda: [] if folder is None else list_files(folder, selector)
    )
    _check_conflicts(dist, folder, lists)
    earlier: Set[str] = {path for paths in lists[: dist.rank] for path in paths}
    mine = [path for path in lists[dist.rank] if path not in earlier]
    together(dist, lambda: copy_files(folder or "", draft, mine))
