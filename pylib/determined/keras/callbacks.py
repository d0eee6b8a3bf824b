# SPDX-License-Identifier: Apache-2.0
"""Callbacks for trials: `determined.keras.callbacks`

Every callback of Keras works in a TFKerasTrial, and its state is saved and restored. These do more: `Callback`
gets reports and checkpoints and defines its own state; `EarlyStopping` and `ReduceLROnPlateau` act after each
validation, wherever in an epoch it is, instead of after each epoch, which may have no validation; `TensorBoard`
writes where the platform looks.
"""
import logging
import os
from typing import Any, Dict, List, Optional

from determined.keras._package import keras

__all__ = ["Callback", "EarlyStopping", "ReduceLROnPlateau", "TensorBoard", "TFKerasTensorBoard"]

logger = logging.getLogger("determined.keras")

Logs = Optional[Dict[str, Any]]


def _default(method: Any) -> Any:
    """Does nothing; kept for compatibility."""
    method.is_default = True
    return method


class Callback(keras.callbacks.Callback):  # type: ignore[misc]
    """A callback of Keras with four more events, and with its own state."""

    @_default
    def on_train_workload_begin(
        self, total_batches_trained: int, batches_requested: Optional[int], logs: Logs = None
    ) -> None:
        """Before each stretch of batches that will be reported together; it has at most `batches_requested`
        batches, if that is known."""

    @_default
    def on_train_workload_end(self, total_batches_trained: int, logs: Logs = None) -> None:
        """After it, with the reported metrics."""

    @_default
    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """A checkpoint was written into that folder."""

    def get_state(self) -> Any:
        """The state that load_state() needs to continue exactly: numbers, words, arrays, and lists, tuples and
        dicts of them. None: the callback's attributes of these kinds."""
        return None

    def load_state(self, state: Any) -> None:
        """Restores the result of get_state(), after on_train_begin()."""


class _AfterValidations(Callback):
    """Makes one of Keras's callbacks count validations instead of epochs.

    The inherited on_epoch_end() does the work: it is called for each validation, with its number in place of
    the epoch's."""

    _kept: List[str] = []

    def on_train_begin(self, logs: Logs = None) -> None:
        super().on_train_begin(logs)
        self.validations = 0

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Does nothing: the work is done after each validation instead."""

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
    """Ends the training when `monitor` (`val_X`) has not improved in `patience` validations. The trial is then
    complete. `start_from_epoch` counts validations, too."""

    # not min_delta, whose sign is set once in each process
    _kept = ["wait", "stopped_epoch", "best", "best_epoch", "best_weights"]

    def on_train_end(self, logs: Logs = None) -> None:
        if self.stopped_epoch > 0:
            logger.info("validation %d: early stopping", self.stopped_epoch + 1)
            self.stopped_epoch = 0  # logged here; Keras would log an epoch number
        super().on_train_end(logs)


class ReduceLROnPlateau(_AfterValidations, keras.callbacks.ReduceLROnPlateau):  # type: ignore[misc]
    """Lowers the learning rate when `monitor` (`val_X`) has not improved in `patience` validations; `cooldown`
    counts validations, too."""

    _kept = ["wait", "cooldown_counter", "best"]


class TensorBoard(keras.callbacks.TensorBoard):  # type: ignore[misc]
    """TensorBoard's callback, with its files in the trial's folder in the checkpoint storage, beside the
    platform's own curves. It takes the arguments of `keras.callbacks.TensorBoard`, but in a trial the platform
    sets `log_dir`."""

    def use_trial(self, context: Any) -> None:
        """Called by the controller of the trial, before the training begins."""
        self.log_dir = os.fspath(context.get_tensorboard_path())


TFKerasTensorBoard = TensorBoard
