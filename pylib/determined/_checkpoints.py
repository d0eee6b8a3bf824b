# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of other trainings, for programs that load a model from them.

The trial itself is asked first: its own storage, of a cluster or of an offline run. The master knows about all
other checkpoints: each comes with the storage of its experiment. That works in a trial, in a job, and on any
machine that reaches the master and sees the storage. Without a master, offline runs are searched and numbered
as `det ... --local` does. DET_OFFLINE_DIR names one offline run and is asked before a master.
"""
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Union

from determined import _det, _launch, core, errors
from determined._info import get_cluster_info

# enum det_restore_flag: a checkpoint of another program has no manifest
_FOREIGN = 2
_USABLE = ("STATE_COMPLETED", "STATE_PARTIALLY_DELETED")


class _Master:
    """The checkpoints that the master knows."""

    def _get(self, path: str, wanted: str) -> Dict[str, Any]:
        try:
            reply: Dict[str, Any] = json.loads(_det.client().call("GET", path))
            return reply
        except errors.NotFoundError:
            raise errors.NotFoundError(f"the master does not know {wanted}: is the id right?") from None

    def trial(self, trial_id: int) -> Dict[str, Any]:
        found: Dict[str, Any] = self._get(f"/api/v1/trials/{trial_id}", f"trial {trial_id}")["trial"]
        return found

    def checkpoints(self, trial_id: int) -> List[Dict[str, Any]]:
        path = f"/api/v1/trials/{trial_id}/checkpoints?states=STATE_COMPLETED"
        found: List[Dict[str, Any]] = self._get(path, f"trial {trial_id}")["checkpoints"]
        return found

    def checkpoint(self, uuid: str) -> Dict[str, Any]:
        found: Dict[str, Any] = self._get(f"/api/v1/checkpoints/{uuid}", f"checkpoint {uuid}")["checkpoint"]
        return found


class _Runs:
    """The checkpoints of offline runs; one run is an experiment with one trial."""

    def _get(self, wanted: str, *words: str) -> Any:
        where = os.environ.get("DET_OFFLINE_DIR")
        done = subprocess.run(
            [_launch.find_det(), *words, f"--local={where}" if where else "--local", "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            why = (done.stderr.splitlines() or ["det: it failed"])[0].removeprefix("det: ")
            raise errors.NotFoundError(f"{wanted}: {why}")
        return json.loads(done.stdout)

    def trial(self, trial_id: int) -> Dict[str, Any]:
        found: Dict[str, Any] = self._get(f"trial {trial_id}", "trial", "describe", str(trial_id))[0]
        return found

    def checkpoints(self, trial_id: int) -> List[Dict[str, Any]]:
        found = self._get(f"trial {trial_id}", "checkpoint", "list", "--trial", str(trial_id))
        return [each for each in found if each.get("state") == "STATE_COMPLETED"]

    def checkpoint(self, uuid: str) -> Dict[str, Any]:
        found: Dict[str, Any] = self._get(f"checkpoint {uuid}", "checkpoint", "describe", uuid)
        return found


def _has_master() -> bool:
    try:
        _det.client()
        return True
    except errors.DetError:
        return False


def _known() -> Union[_Master, _Runs]:
    is_away = get_cluster_info() is None
    if is_away and (os.environ.get("DET_OFFLINE_DIR") or not _has_master()):
        return _Runs()
    return _Master()


def checkpoint_of(trial_id: int) -> str:
    """The checkpoint of a trial's best validation; its latest one if nothing was validated."""
    known = _known()
    best = (known.trial(trial_id).get("bestCheckpoint") or {}).get("uuid")
    if best:
        return str(best)
    found = known.checkpoints(trial_id)
    if not found:
        raise errors.NotFoundError(f"trial {trial_id} has no checkpoint, or all its checkpoints were deleted")
    latest = max(found, key=lambda each: int((each.get("metadata") or {}).get("steps_completed") or 0))
    return str(latest["uuid"])


def uuid_of(which: Union[int, str]) -> str:
    """The record of a checkpoint, by its uuid or the id of a trial."""
    if isinstance(which, bool) or not isinstance(which, (int, str)) or which == "":
        raise TypeError(f"the model to load is {which!r}; expected the id of a trial, or a checkpoint's uuid")
    if isinstance(which, int) or which.isdigit():
        return checkpoint_of(int(which))
    return which


@contextlib.contextmanager
def _elsewhere(uuid: str) -> Iterator[pathlib.Path]:
    """The read-only folder of a known checkpoint."""
    checkpoint = _known().checkpoint(uuid)
    if checkpoint.get("state") not in _USABLE:
        state = str(checkpoint.get("state")).replace("STATE_", "")
        raise errors.StateError(f"checkpoint {uuid} is {state}: there is nothing to load")
    storage = checkpoint["training"]["experimentConfig"]["checkpoint_storage"]
    with tempfile.TemporaryDirectory(prefix="det-") as folder:
        apart = _det.open(folder, checkpoint_storage=json.dumps(storage), quiet=True, apart=True)
        try:
            yield pathlib.Path(apart.checkpoint_restore(uuid, _FOREIGN))
        finally:
            apart.close()


@contextlib.contextmanager
def checkpoint_path(which: Union[int, str], core_context: Optional[core.Context] = None) -> Iterator[pathlib.Path]:
    """The read-only folder of a checkpoint, by its uuid or the id of a trial."""
    uuid = uuid_of(which)
    with contextlib.ExitStack() as stack:
        path = None
        if core_context is not None and core_context._values["is_trial"]:
            mode = core.DownloadMode.NoSharedDownload
            try:
                path = stack.enter_context(core_context.checkpoint.restore_path(uuid, mode))
            except errors.NotFoundError:
                pass
        yield path if path is not None else stack.enter_context(_elsewhere(uuid))
