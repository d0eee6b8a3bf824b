# SPDX-License-Identifier: Apache-2.0
"""Who started this process, and how it starts itself again as several processes.

Launch layers are written in C (`det launch`), and each sets DET_LAUNCH. This module finds the program `det` and
reads this process's rank. For the front ends that distribute by themselves, it starts the same command line
again under a layer that makes one process per slot: `det launch mpi` for Keras, `det launch torch_distributed`
for PyTorch.
"""
import os
import shutil
import signal
import sys
from typing import List, NoReturn

from determined._info import get_cluster_info
from determined.core._distributed import DistributedContext

# If one of them is set, a launcher has already started this process.
_SIGNS = (
    "DET_LAUNCH",
    "RANK",
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "HOROVOD_RANK",
    "TF_CONFIG",
)
# Where the program is, relative to the package: in a build directory; as installed by us or by pip.
_NEAR = ("../../det", "../../../../bin/det")


def find_det() -> str:
    """The program that belongs to this package."""
    here = os.path.dirname(os.path.abspath(__file__))
    for near in _NEAR:
        path = os.path.normpath(os.path.join(here, near))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    found = shutil.which("det")
    if found is None:
        raise FileNotFoundError(
            "the program 'det' is neither beside the package nor in PATH: nothing can be launched"
        )
    return found


def run_det(words: List[str]) -> NoReturn:
    """Becomes `det WORDS...`."""
    program = find_det()
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores these signals, and an ignored signal stays ignored in the next program.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        try:
            signal.signal(number, signal.SIG_DFL)
        except ValueError:
            pass  # not in the main thread
    os.execv(program, [program, *words])


def is_launched() -> bool:
    """Whether a launcher, ours or another, has made this process one of its ranks."""
    return any(os.environ.get(name) for name in _SIGNS)


def slots() -> int:
    """The number of slots of this task on all its nodes; 1 outside of a task."""
    info = get_cluster_info()
    return 1 if info is None else max(sum(info.container_slot_counts), len(info.slot_ids), 1)


def _command_line(layer: str) -> List[str]:
    """The command line that started this process."""
    words = list(sys.orig_argv[1:])
    script = sys.argv[0] if sys.argv else ""
    if script in ("", "-") or not words:
        raise RuntimeError(
            f"this task has {slots()} slots and needs one process for each, but a program from "
            "standard input cannot be started again: put it in a file, or name a launcher in the "
            f"entrypoint: det launch {layer} -- python3 FILE"
        )
    return [sys.executable, *words]


def _go_back() -> None:
    """Changes back to the directory in which this process was started: the command line may name files relative to
    it."""
    start = os.environ.get("PWD", "")
    script = sys.argv[0]
    if not os.path.isabs(script) and not os.path.exists(script):
        if os.path.exists(os.path.join(start, script)):
            os.chdir(start)


def needs_relaunch() -> bool:
    """Whether this task has several slots and no process for each yet."""
    return not is_launched() and slots() > 1


def relaunch_if_needed(layer: str = "mpi") -> None:
    """In a task of several slots whose processes were not started yet, this does not return: the process becomes
    `det launch LAYER`, which runs this command line once for each slot."""
    if not needs_relaunch():
        return
    words = _command_line(layer)
    _go_back()
    run_det(["launch", layer, "--", *words])


def distributed() -> DistributedContext:
    """The context of the launcher that started this process; without a launcher, a group of one."""
    if os.environ.get("TF_CONFIG") or os.environ.get("DET_LAUNCH", "").startswith("tensorflow"):
        return DistributedContext._from_tf_config()
    return DistributedContext._from_any()
