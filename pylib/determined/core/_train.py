# SPDX-License-Identifier: Apache-2.0
import enum
import json
import logging
import operator
import pathlib
from typing import Any, Callable, Dict, List, Mapping, Optional

from determined import _det, errors
from determined.core import _media, _metrics
from determined.core._distributed import DistributedContext
from determined.core._tensorboard import Board

logger = logging.getLogger("determined.core")


class EarlyExitReason(enum.Enum):
    """Why a trial ends early."""

    INVALID_HP = "EXITED_REASON_INVALID_HP"
    USER_REQUESTED_STOP = "EXITED_REASON_USER_REQUESTED_STOP"


# enum det_exit_reason
_REASONS = {EarlyExitReason.INVALID_HP: 1, EarlyExitReason.USER_REQUESTED_STOP: 3}


def _whole(steps: Any) -> int:
    try:
        return operator.index(steps)
    except TypeError:
        raise TypeError(f"steps_completed is {steps!r}; expected a whole number") from None


class TrainContext:
    """A trial's reports.

    A report is in a file of the task when the call returns. It reaches the master even if the master is away
    for long, and it never delays the training.

    If there are several processes, only rank 0 reports the metrics of training and validation and the progress:
    a trial has one curve. All ranks may report groups of other names.
    """

    def __init__(
        self, det: _det.Context, info: Dict[str, Any], dist: DistributedContext, manual: bool
    ) -> None:
        self._det = det
        self._numbers = det.report_numbers
        self._info = info
        self._rank = dist.rank
        self._board = Board(det, info, manual, dist.rank)

    def _need_chief(self, what: str) -> None:
        if self._rank != 0:
            raise RuntimeError(
                f"only rank 0 reports {what}, and this is rank {self._rank}: check "
                "core_context.distributed.rank == 0 first"
            )

    def set_status(self, status: str) -> None:
        """Sets one word for what the trial is doing: "training", "validating", ..."""
        self._det.status(status)

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: Mapping[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        if self._rank != 0 and group in ("training", "validation"):
            self._need_chief(f"metrics of {group}")
        if batch_metrics is None and self._numbers(group, steps_completed, metrics):
            return  # the usual case: it may be called after every batch
        if not isinstance(steps_completed, int):
            steps_completed = _whole(steps_completed)
        if steps_completed < 0:
            raise ValueError(f"steps_completed is {steps_completed}; expected 0 or more")
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
        """Reports metrics of a validation: those that searchers read. None of them may be None."""
        self._report("validation", steps_completed, metrics)

    def report_metrics(self, group: str, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Reports metrics of another group; its name must not contain a dot."""
        self._report(group, steps_completed, metrics)

    def report_media(
        self, name: str, steps_completed: int, data: Any, *, type: Optional[str] = None
    ) -> None:
        """Reports a picture, sound, text, page, table or histogram, which the WebUI shows at its step.

        `data` may be

        - bytes, or a pathlib.Path of a file: PNG, JPEG, GIF, WebP, WAV, MP3 and Ogg are recognised;
        - an array of uint8 pixels, (height, width) or (height, width, channels), of numpy, PyTorch or TensorFlow; a PIL
          image; a matplotlib figure;
        - a str: a text, or with type="html" or type="svg" markup, of which no script runs;
        - a list of dicts, or {"columns": [...], "rows": [[...], ...]}: a table;
        - {"edges": [...], "counts": [...]}, or numpy.histogram(...) with type="histogram".

        `type` is one of png, jpeg, gif, webp, svg, wav, mp3, ogg, text, html, table and histogram. An item has at most 4 MB.
        A second item with the same name and steps replaces the first. Every rank may report; use different names.
        """
        steps_completed = _whole(steps_completed)
        if steps_completed < 0:
            raise ValueError(f"steps_completed is {steps_completed}; expected 0 or more")
        _media.report(self._det, name, steps_completed, data, type)

    def report_progress(self, progress: float) -> None:
        """Reports the progress of the trial, from 0 to 1."""
        self._need_chief("progress")
        self._det.progress(progress)

    def report_early_exit(self, reason: EarlyExitReason) -> None:
        """Reports that the trial ends early. Exit with 0 then. With USER_REQUESTED_STOP the trial is COMPLETED
        when the program has ended."""
        if not isinstance(reason, EarlyExitReason):
            raise TypeError(f"the reason is {reason!r}; expected an EarlyExitReason")
        self._det.early_exit(_REASONS[reason])
        if reason is EarlyExitReason.USER_REQUESTED_STOP:
            logger.info("the trial is complete when this program exits with 0")

    def get_metadata(self) -> Optional[Dict[str, Any]]:
        """The metadata of this trial; None without any."""
        return json.loads(self._det.metadata_get()) or None

    def set_metadata(self, metadata: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """Adds to the metadata of this trial and returns all of it. It outlives the run; in an offline run it is
        in the folder of the run."""
        if not isinstance(metadata, dict):
            raise TypeError(f"the metadata is of type {type(metadata).__name__}; expected a dict")
        notes: Dict[str, Any] = json.loads(self._det.metadata_set(json.dumps(metadata)))
        return notes

    def get_experiment_best_validation(self) -> Optional[float]:
        """The searcher's best metric over all trials so far; None if there is none yet."""
        return self._det.searcher_best()

    def get_tensorboard_path(self) -> pathlib.Path:
        """The folder for TensorBoard's files of this process.

        For the chief in TensorboardMode.AUTO it is the trial's own, in the checkpoint storage; otherwise
        upload_tensorboard_files() takes files from it.
        """
        return self._board.path()

    def upload_tensorboard_files(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Callable[[pathlib.Path, int], pathlib.Path] = lambda path, rank: path,
    ) -> None:
        """Copies files of get_tensorboard_path() into the trial's folder in the checkpoint storage: those that
        `selector` accepts, under the names that `mangler` returns. Both get paths relative to the folder;
        `mangler` also gets the rank. Only in TensorboardMode.MANUAL."""
        self._board.upload(selector, mangler)
