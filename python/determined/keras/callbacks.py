# SPDX-License-Identifier: Apache-2.0
"""Callbacks for trials: `determined.keras.callbacks`

Every callback of Keras works in a TFKerasTrial, and its state is saved and restored.  Those here know more:
`Callback` hears of reports and checkpoints and says itself what its state is; `EarlyStopping` and
`ReduceLROnPlateau` act after each validation, wherever in an epoch it is, instead of after each epoch, which
may have had none; `TensorBoard` writes where the platform looks.
"""
import logging
import os
from typing import Any, Dict, List, Optional

from determined.keras._which import keras

__all__ = ["Callback", "EarlyStopping", "ReduceLROnPlateau", "TensorBoard", "TFKerasTensorBoard"]

logger = logging.getLogger("determined.keras")

Logs = Optional[Dict[str, Any]]


def _default(method: Any) -> Any:
    """Nobody needs to call it: it does nothing."""
    method.is_default = True
    return method


class Callback(keras.callbacks.Callback):  # type: ignore[misc]
    """A callback of Keras with four more occasions, and a state of its own making."""

    @_default
    def on_train_workload_begin(
        self, total_batches_trained: int, batches_requested: Optional[int], logs: Logs = None
    ) -> None:
        """Before each stretch of batches that will be reported together; it is no longer than
        `batches_requested`, where that is known."""

    @_default
    def on_train_workload_end(self, total_batches_trained: int, logs: Logs = None) -> None:
        """After it, with the metrics that were reported."""

    @_default
    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """A checkpoint has been written into that folder."""

    def get_state(self) -> Any:
        """What load_state() needs to go on as if nothing had happened: numbers, words, arrays,
        and lists, tuples and dicts of them.  None: the attributes of the callback that are such."""
        return None

    def load_state(self, state: Any) -> None:
        """Takes back what get_state() gave, after on_train_begin()."""


class _AfterValidations(Callback):
    """Makes one of Keras's callbacks count validations where it counts epochs.

    What it inherits on_epoch_end() from does the work: it is called for each validation, with the number
    of it in place of the epoch's."""

    _kept: List[str] = []

    def on_train_begin(self, logs: Logs = None) -> None:
        super().on_train_begin(logs)
        self.validations = 0

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Not here."""

    def on_test_end(self, logs: Logs = None) -> None:
        super().on_test_end(logs)
        super().on_epoch_end(self.validations, {f"val_{name}": value for name, value in (logs or {}).items()})
        self.validations += 1

    def get_state(self) -> Dict[str, Any]:
        names = ["validations", *self._kept]
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def load_state(self, state: Dict[str, Any]) -> None:
        for name in state.keys() & {"validations", *self._kept}:
            setattr(self, name, state[name])


class EarlyStopping(_AfterValidations, keras.callbacks.EarlyStopping):  # type: ignore[misc]
    """Ends the training when `monitor` (`val_X`) has not become better in `patience` validations.  The
    trial is then complete.  `start_from_epoch` counts validations, too."""

    # not min_delta, whose sign is given once in each process
    _kept = ["wait", "stopped_epoch", "best", "best_epoch", "best_weights"]

    def on_train_end(self, logs: Logs = None) -> None:
        if self.stopped_epoch > 0:
            logger.info("validation %d: early stopping", self.stopped_epoch + 1)
            self.stopped_epoch = 0  # told; Keras would speak of an epoch
        super().on_train_end(logs)


class ReduceLROnPlateau(_AfterValidations, keras.callbacks.ReduceLROnPlateau):  # type: ignore[misc]
    """Lowers the learning rate when `monitor` (`val_X`) has not become better in `patience`
    validations; `cooldown` counts validations, too."""

    _kept = ["wait", "cooldown_counter", "best"]


class TensorBoard(keras.callbacks.TensorBoard):  # type: ignore[misc]
    """TensorBoard's callback, with its files in the trial's folder in the checkpoint storage, where the
    platform's own curves lie.  It takes what `keras.callbacks.TensorBoard` takes, save that in a
    trial `log_dir` is the platform's affair."""

    def use_trial(self, context: Any) -> None:
        """Called by whoever drives the trial, before the training begins."""
        self.log_dir = os.fspath(context.get_tensorboard_path())


TFKerasTensorBoard = TensorBoard
