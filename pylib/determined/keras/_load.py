# SPDX-License-Identifier: Apache-2.0
"""Whole models from checkpoints, without the code of the model.

The checkpoint's folder is found in the trial's own storage, or through the master in the storage of its experiment
(_checkpoints.py); that storage is read by a second context (DET_INIT_APART).
"""
from typing import Any, Dict, Optional, Union

from determined import core
from determined._checkpoints import checkpoint_of, checkpoint_path

__all__ = ["checkpoint_of", "checkpoint_path", "load_model_from_checkpoint"]


def load_model_from_checkpoint(
    which: Union[int, str],
    *,
    custom_objects: Optional[Dict[str, Any]] = None,
    core_context: Optional[core.Context] = None,
) -> Any:
    """The compiled model of a checkpoint, with its weights and the state of its optimizer.

    `which` is a checkpoint's uuid, or the id of a trial: then it is the checkpoint with the best validation,
    else the latest. Classes of the model that are not Keras's own must be imported (and registered:
    keras.saving.register_keras_serializable), or be given as `custom_objects`.
    """
    from determined.keras import _state

    with checkpoint_path(which, core_context) as path:
        return _state.load_model(str(path), custom_objects)
