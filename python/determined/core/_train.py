# SPDX-License-Identifier: Apache-2.0
import enum
import json
import operator
import os
import pathlib
from typing import Any, Callable, Dict, List, Mapping, Optional

from determined import _det, errors
from determined.core import _metrics
from determined.core._master import Master
from determined.core._tensorboard import Board


class EarlyExitReason(enum.Enum):
    """Why a trial ends before its time."""

    INVALID_HP = "EXITED_REASON_INVALID_HP"
    USER_REQUESTED_STOP = "EXITED_REASON_USER_REQUESTED_STOP"


_INVALID_HP = 1  # DET_EXIT_INVALID_HP


def _whole(steps: Any) -> int:
    try:
        return operator.index(steps)
    except TypeError:
        raise TypeError(f"steps_completed is {steps!r}; expected a whole number") from None


class TrainContext:
    """What a trial tells of itself.

    A report is in a file of the task when the call returns, and reaches the master however
    long that is away; training is never held up.
    """

    def __init__(
        self, det: _det.Context, info: Dict[str, Any], master: Master, manual: bool, rank: int
    ) -> None:
        self._det = det
        self._numbers = det.report_numbers
        self._info = info
        self._master = master
        self._board = Board(det, info, manual, rank)
        self._notes_path = pathlib.Path(info["directory"] or "") / "metadata.json"

    def set_status(self, status: str) -> None:
        """Tells in a word what the trial is doing: "training", "validating", ..."""
        self._det.status(status)

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: Mapping[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        if not isinstance(steps_completed, int):
            steps_completed = _whole(steps_completed)
        if steps_completed < 0:
            raise ValueError(f"steps_completed is {steps_completed}; expected 0 or more")
        if batch_metrics is None and isinstance(metrics, dict):
            if self._numbers(group, steps_completed, metrics):
                return
        self._det.report_json(group, steps_completed, *_metrics.encode(metrics, batch_metrics))

    def report_training_metrics(
        self,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        """Reports metrics of training after `steps_completed` batches."""
        self._report("training", steps_completed, metrics, batch_metrics)

    def report_validation_metrics(self, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Reports metrics of a validation: those that searchers look at.  None of them may
        be None."""
        self._report("validation", steps_completed, metrics)

    def report_metrics(self, group: str, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Reports metrics of a group: a name of your own, without a dot."""
        self._report(group, steps_completed, metrics)

    def report_progress(self, progress: float) -> None:
        """Tells how far the trial is, from 0 to 1."""
        self._det.progress(progress)

    def report_early_exit(self, reason: EarlyExitReason) -> None:
        """Tells that the trial ends before its time.  Exit with 0 then."""
        if not isinstance(reason, EarlyExitReason):
            raise TypeError(f"the reason is {reason!r}; expected an EarlyExitReason")
        if reason is EarlyExitReason.USER_REQUESTED_STOP:
            raise errors.UnsupportedError(
                "a trial that is done early need not say so: exit with 0, and it is COMPLETED"
            )
        self._det.early_exit(_INVALID_HP)

    def get_metadata(self) -> Optional[Dict[str, Any]]:
        """The notes of this trial; None: there are none."""
        if not self._info["is_on_cluster"]:
            return self._read_notes() or None
        reply = self._master.call("GET", f"/api/v1/runs/{self._info['trial_id']}/metadata")
        return reply.get("metadata") or None

    def set_metadata(self, metadata: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """Adds to the notes of this trial and returns all of them."""
        if not isinstance(metadata, dict):
            raise TypeError(f"the metadata is of type {type(metadata).__name__}; expected a dict")
        if not self._info["is_on_cluster"]:
            return self._add_notes(metadata)
        trial = self._info["trial_id"]
        body = {"runId": trial, "metadata": metadata}
        return self._master.call("POST", f"/api/v1/runs/{trial}/metadata", body).get("metadata")

    def _read_notes(self) -> Dict[str, Any]:
        """Of a run without a master: a file beside what it reports."""
        try:
            return dict(json.loads(self._notes_path.read_text("utf-8")))
        except FileNotFoundError:
            return {}

    def _add_notes(self, metadata: Dict[str, Any]) -> Dict[str, Any]:
        notes = {**self._read_notes(), **metadata}
        draft = self._notes_path.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(notes) + "\n", "utf-8")
        os.replace(draft, self._notes_path)
        return notes

    def get_experiment_best_validation(self) -> Optional[float]:
        """The searcher's best metric over all trials so far; None: none yet."""
        if not self._info["is_on_cluster"]:
            return None
        experiment = self._info["experiment_id"]
        path = f"/api/v1/experiments/{experiment}/searcher/best_searcher_validation_metric"
        try:
            metric = self._master.call("GET", path).get("metric")
        except errors.NotFoundError:
            return None
        return None if metric is None else float(metric)

    def get_tensorboard_path(self) -> pathlib.Path:
        """The folder for TensorBoard's files of this process.

        Of the chief in TensorboardMode.AUTO it is the trial's own, in the checkpoint storage;
        otherwise upload_tensorboard_files() takes files from it.
        """
        return self._board.path()

    def upload_tensorboard_files(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Callable[[pathlib.Path, int], pathlib.Path] = lambda path, rank: path,
    ) -> None:
        """Copies files of get_tensorboard_path() into the trial's folder in the checkpoint storage:
        those that `selector` wants, under the names that `mangler` gives them.  Both see paths
        relative to the folder; `mangler` also the rank.  Only in TensorboardMode.MANUAL."""
        self._board.upload(selector, mangler)
