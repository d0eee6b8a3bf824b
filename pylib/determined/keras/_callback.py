# SPDX-License-Identifier: Apache-2.0
"""The callback API: an ordinary script, an ordinary model.fit(), and one callback."""
import json
import os
from typing import Any, Optional, Union

import determined as det
from determined import _det, core
from determined.keras import _state
from determined.keras._loop import Loop
from determined.keras._package import keras

_WEIGHTS = "model.weights.h5"


def _check(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} is {value!r}; expected a whole number of at least {least}")
    return value


def _policy(core_context: core.Context) -> Any:
    """The configured checkpoint policy. It is "best" if the user has said nothing, so only the others are wishes."""
    return json.loads(core_context._values["config"] or "{}").get("checkpoint_policy")


class DeterminedCallback(Loop):
    """Reports metrics and progress, saves checkpoints, stops when the platform asks for it, and resumes exactly
    where the training was.

      core_context    the context of det.core.init()
      checkpoint      the storage id of a checkpoint to begin from, or None;
                      det.get_cluster_info().latest_checkpoint
      continue_id     saved with every checkpoint.  If it equals that of `checkpoint`, the training is
                      resumed, even inside an epoch; otherwise a new one begins, with its weights
      train_metrics_report_period   "epoch", or every so many batches
      checkpoint_epochs             every so many epochs; 0: only at the end, and when it must stop.
                                    `checkpoint_policy: all` saves after each validation, too

    Override save_model() and load_model() to keep the model's weights in your own format.
    """

    def __init__(
        self,
        core_context: core.Context,
        checkpoint: Optional[str],
        continue_id: Union[int, str],
        *,
        train_metrics_report_period: Union[int, str] = "epoch",
        checkpoint_epochs: int = 1,
    ) -> None:
        if not isinstance(core_context, core.Context):
            raise TypeError(f"core_context is {core_context!r}; expected the context of det.core.init()")
        if continue_id is None or isinstance(continue_id, bool) or not isinstance(continue_id, (int, str)):
            raise TypeError(f"continue_id is {continue_id!r}; expected a number or a string")
        period: det.TrainUnit = det.Epochs(1)
        if train_metrics_report_period != "epoch":
            period = det.Batches(_check("train_metrics_report_period", train_metrics_report_period, 1))
        epochs = _check("checkpoint_epochs", checkpoint_epochs, 0)
        saves_itself = type(self).save_model is not DeterminedCallback.save_model
        loads_itself = type(self).load_model is not DeterminedCallback.load_model
        super().__init__(
            core_context,
            reporting_period=period,
            checkpoint_period=det.Epochs(epochs) if epochs else None,
            configured=False,
            keep=_det.KEEP_ALL if _policy(core_context) == "all" else _det.KEEP_NONE,
            checkpoint=checkpoint,
            continue_id=continue_id,
            validation_name="{}",
            counts=True,
            save_model=self.save_model if saves_itself else None,
            load_model=self.load_model if saves_itself or loads_itself else None,
        )

    def save_model(self, model: Any, path: str, distributed: core.DistributedContext) -> None:
        """Saves the model's weights in the folder `path`; called on every rank.

        Without an override the weights are kept with the rest of the state. An override may call this method,
        which writes a file that model.load_weights() reads."""
        if distributed.rank == 0:
            model.save_weights(os.path.join(path, _WEIGHTS))

    def load_model(self, model: Any, path: str, distributed: core.DistributedContext) -> None:
        """Loads the weights that save_model() saved; without an override, those in the rest of the state."""
        weights = os.path.join(path, _WEIGHTS)
        if os.path.exists(weights):
            model.load_weights(weights)
        else:
            _state.restore(model, _state.decode(path), _state.WEIGHTS)


class TensorBoard(keras.callbacks.TensorBoard):  # type: ignore[misc]
    """Keras's TensorBoard callback, with its files on the platform: it takes the context and then the same
    arguments, except for log_dir, which is the trial's."""

    def __init__(self, core_context: core.Context, *args: Any, **kwargs: Any) -> None:
        if not isinstance(core_context, core.Context):
            raise TypeError(f"core_context is {core_context!r}; expected the context of det.core.init()")
        kwargs.pop("log_dir", None)
        self._core = core_context
        super().__init__(str(core_context.train.get_tensorboard_path()), *args[1:], **kwargs)

    def on_train_end(self, logs: Any = None) -> None:
        super().on_train_end(logs)
        self._send()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        super().on_epoch_end(epoch, logs)
        self._send()

    def _send(self) -> None:
        """Uploads the files, if the platform does not manage the folder by itself."""
        if self._core.train._board._manual:
            self._core.train.upload_tensorboard_files()
