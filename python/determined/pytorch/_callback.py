# SPDX-License-Identifier: Apache-2.0
"""What a program wants to do at the occasions of a training."""
import inspect
from typing import Any, Dict, List, Optional


class PyTorchCallback:
    """The base of callbacks: override what you need.  PyTorchTrial.build_callbacks() returns them, by name.

    Every rank has its own; what a callback is to remember goes through state_dict() and
    load_state_dict(), which are part of checkpoints.
    """

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: Optional[str]) -> None:
        """A run begins, before anything is loaded: which batch it begins with, and from which
        checkpoint; None: anew."""

    def on_trial_shutdown(self) -> None:
        """A run ends, however."""

    def on_training_start(self) -> None:
        """Training begins, or goes on; what a checkpoint has is loaded."""

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        """Before the first batch of an epoch, counted from 0."""

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        """After the last batch of an epoch, before what is due then: reports, validation, checkpoint."""

    def on_training_workload_end(self, avg_metrics: Dict[str, Any], batch_metrics: List[Dict[str, Any]]) -> None:
        """Metrics of training are reported: their means over the batches since the last report, over all
        ranks, and what each batch of this rank gave."""

    def on_validation_start(self) -> None:
        """A validation begins."""

    def on_validation_epoch_start(self) -> None:
        """The pass through the validation data begins."""

    def on_validation_epoch_end(self, outputs: List[Any]) -> None:
        """The pass has ended: what evaluate_batch() gave for each batch of this rank."""

    def on_validation_end(self, metrics: Dict[str, Any]) -> None:
        """A validation has ended, with these metrics over all ranks; they are reported next."""

    def on_checkpoint_load_start(self, checkpoint: Optional[Dict[str, Any]]) -> None:
        """Before a checkpoint's state_dict.pth is loaded; changes of the dict count."""

    def on_checkpoint_save_start(self, checkpoint: Dict[str, Any]) -> None:
        """Before a checkpoint's state_dict.pth is saved; changes of the dict are saved."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """Deprecated: on_checkpoint_write_end()."""

    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        """A checkpoint's files are written, and can still be added to.  On rank 0 only.  Where it is
        overridden training waits for checkpoints to be saved."""

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        """A checkpoint is complete and reported.  On rank 0 only.  Where it is overridden training
        waits for checkpoints to be saved."""

    def state_dict(self) -> Dict[str, Any]:
        """What is to be remembered in checkpoints."""
        return {}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Goes on from what state_dict() gave."""


class Callbacks:
    """A trial's callbacks, and which of them listen to what; those that do not cost nothing."""

    def __init__(self, callbacks: Any) -> None:
        if callbacks is None:
            callbacks = {}
        if not isinstance(callbacks, dict):
            raise TypeError(f"build_callbacks() gave a {type(callbacks).__name__}; expected a dict of callbacks by name")
        for name, each in callbacks.items():
            if not isinstance(name, str) or not isinstance(each, PyTorchCallback):
                raise TypeError(
                    f"build_callbacks() gave {name!r}: a {type(each).__name__}; expected a det.pytorch.PyTorchCallback"
                )
        self.named: Dict[str, PyTorchCallback] = callbacks
        self._heard: Dict[str, List[Any]] = {}

    def hearing(self, occasion: str) -> List[Any]:
        """The methods to be called at an occasion."""
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
        """Callbacks of old take no number."""
        for method in self.hearing(occasion):
            method(epoch) if inspect.signature(method).parameters else method()

    def states(self) -> Dict[str, Any]:
        return {name: each.state_dict() for name, each in self.named.items()}

    def load(self, states: Dict[str, Any]) -> None:
        """Callbacks that the checkpoint does not know stay as they are."""
        for name, each in self.named.items():
            if name in states:
                each.load_state_dict(states[name])
