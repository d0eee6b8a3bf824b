# SPDX-License-Identifier: Apache-2.0
"""Whole models out of checkpoints, with no code of the model at hand.

Where a checkpoint lies is asked of the trial itself first: its own storage, of a cluster or of a
run without a master.  What is not there the master knows about: each checkpoint comes with the
storage of its experiment.  That way works in a trial, in a job, and on any machine that reaches
the master and sees the storage.
"""
import contextlib
import json
import logging
import pathlib
import tempfile
from typing import Any, Dict, Iterator, Optional, Union

from determined import _det, core, errors

logger = logging.getLogger("determined.keras")

# enum det_restore_flag: another program's checkpoint has no manifest
_FOREIGN = 2
_USABLE = ("STATE_COMPLETED", "STATE_PARTIALLY_DELETED")


def _call(path: str, wanted: str) -> Dict[str, Any]:
    try:
        reply: Dict[str, Any] = json.loads(_det.client().call("GET", path))
        return reply
    except errors.NotFoundError as error:
        raise errors.NotFoundError(f"{wanted}: {error}") from None


def checkpoint_of(trial_id: int) -> str:
    """The checkpoint of a trial's best validation; where none was validated, its latest."""
    wanted = f"trial {trial_id}"
    best = (_call(f"/api/v1/trials/{trial_id}", wanted)["trial"].get("bestCheckpoint") or {}).get("uuid")
    if best:
        return str(best)
    path = f"/api/v1/trials/{trial_id}/checkpoints?states=STATE_COMPLETED"
    found = _call(path, wanted)["checkpoints"]
    if not found:
        raise errors.NotFoundError(f"trial {trial_id} has no checkpoint, or all it had were deleted")
    latest = max(found, key=lambda each: int((each.get("metadata") or {}).get("steps_completed") or 0))
    return str(latest["uuid"])


def _uuid(which: Union[int, str]) -> str:
    if isinstance(which, bool) or not isinstance(which, (int, str)) or which == "":
        raise TypeError(f"the model to load is {which!r}; expected the id of a trial, or a checkpoint's uuid")
    if isinstance(which, int) or which.isdigit():
        return checkpoint_of(int(which))
    return which


@contextlib.contextmanager
def _elsewhere(uuid: str) -> Iterator[pathlib.Path]:
    """The folder of a checkpoint that the master knows, to be read only."""
    checkpoint = _call(f"/api/v1/checkpoints/{uuid}", f"checkpoint {uuid}")["checkpoint"]
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
    """The folder of a checkpoint, by its uuid or the id of a trial; to be read only."""
    uuid = _uuid(which)
    with contextlib.ExitStack() as stack:
        path = None
        if core_context is not None and core_context._values["is_trial"]:
            mode = core.DownloadMode.NoSharedDownload
            try:
                path = stack.enter_context(core_context.checkpoint.restore_path(uuid, mode))
            except errors.NotFoundError:
                if not core_context._values["is_on_cluster"] and not _has_master():
                    raise
        yield path if path is not None else stack.enter_context(_elsewhere(uuid))


def _has_master() -> bool:
    try:
        _det.client()
        return True
    except errors.DetError:
        return False


def load_model_from_checkpoint(
    which: Union[int, str],
    *,
    custom_objects: Optional[Dict[str, Any]] = None,
    core_context: Optional[core.Context] = None,
) -> Any:
    """The compiled model of a checkpoint, with its weights and the state of its optimizer.

    `which` is a checkpoint's uuid, or the id of a trial: of that the checkpoint with the best
    validation, else the latest.  Classes of the model's that are not Keras's own must be imported
    (and registered: keras.saving.register_keras_serializable), or be given as `custom_objects`.
    """
    from determined.keras import _state

    with checkpoint_path(which, core_context) as path:
        return _state.load_model(str(path), custom_objects)
