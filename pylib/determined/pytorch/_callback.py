# SPDX-License-Identifier: Apache-2.0
"""Callbacks for the events of a training."""
import inspect
from typing import Any, Dict, List, Optional


class PyTorchCallback:
    """The base class of callbacks: override the methods you need. PyTorchTrial.build_callbacks() returns callbacks
    by name.

    Every rank has its own. A callback keeps state through state_dict() and load_state_dict(), which are part of
    checkpoints.
    """

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: Optional[str]) -> None:
        """A run begins, before anything is loaded: the batch it begins with, and its checkpoint; None without one."""

    def on_trial_shutdown(self) -> None:
        """A run ends, for any reason."""

    def on_training_start(self) -> None:
        """Training begins or resumes; a checkpoint is already loaded."""

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        """Before the first batch of an epoch, counted from 0."""

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        """After the last batch of an epoch, before the reports, validation and checkpoint of that batch."""

    def on_training_workload_end(self, avg_metrics: Dict[str, Any], batch_metrics: List[Dict[str, Any]]) -> None:
        """Metrics of training are reported: their means over the batches since the last report, over all ranks,
        and the metrics of each batch of this rank."""

    def on_validation_start(self) -> None:
        """A validation begins."""

    def on_validation_epoch_start(self) -> None:
        """The pass through the validation data begins."""

    def on_validation_epoch_end(self, outputs: List[Any]) -> None:
        """The pass has ended: the results of evaluate_batch() for each batch of this rank."""

    def on_validation_end(self, metrics: Dict[str, Any]) -> None:
        """A validation has ended, with these metrics over all ranks; they are reported next."""

    def on_checkpoint_load_start(self, checkpoint: Optional[Dict[str, Any]]) -> None:
        """Before a checkpoint's state_dict.pth is loaded; the dict may be changed."""

    def on_checkpoint_save_start(self, checkpoint: Dict[str, Any]) -> None:
        """Before a checkpoint's state_dict.pth is saved; changes of the dict are saved."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """Deprecated: on_checkpoint_write_end()."""

    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        """A checkpoint's files are written, and more can be added. On rank 0 only. If it is overridden, training
        waits for checkpoints to be saved."""

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        """A checkpoint is complete and reported. On rank 0 only. If it is overridden, training waits for
        checkpoints to be saved."""

    def state_dict(self) -> Dict[str, Any]:
        """The state to keep in checkpoints."""
        return {}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Restores the result of state_dict()."""


class Callbacks:
    """A trial's callbacks, by the events that they override; other events cost nothing."""

    def __init__(self, callbacks: Any) -> None:
        if callbacks is None:
            callbacks = {}
        if not isinstance(callbacks, dict):
            raise TypeError(f"build_callbacks() returned a {type(callbacks).__name__}; expected a dict of callbacks by name")
        for name, each in callbacks.items():
            if not isinstance(name, str) or not isinstance(each, PyTorchCallback):
                raise TypeError(
                    f"build_callbacks() returned {name!r}: a {type(each).__name__}; expected a det.pytorch.PyTorchCallback"
                )
        self.named: Dict[str, PyTorchCallback] = callbacks
        self._heard: Dict[str, List[Any]] = {}

    def hearing(self, occasion: str) -> List[Any]:
        """The methods to call at an event."""
        found = self._heard.get(occasion)
        if found is None:
            default = getattr(PyTorchCallback, occasion)
            found = [
                getattr(each, occasion)
                for each in self.named.values()
                if getattr(getattr(each, occasion), "__func__", None) is not default
            ]
            self._heard[occasion] = found
        return found

    def tell(self, occasion: str, *what: Any) -> None:
        for method in self.hearing(occasion):
            method(*what)

    def tell_epoch(self, occasion: str, epoch: int) -> None:
        """Old callbacks take no number."""
        for method in self.hearing(occasion):
            method(epoch) if inspect.signature(method).parameters else method()

    def states(self) -> Dict[str, Any]:
        return {name: each.state_dict() for name, each in self.named.items()}

    def load(self, states: Dict[str, Any]) -> None:
        """Callbacks that the checkpoint does not contain stay as they are."""
        for name, each in self.named.items():
            if name in states:
                each.load_state_dict(states[name])
