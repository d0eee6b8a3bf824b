# SPDX-License-Identifier: Apache-2.0
"""Trials from checkpoints: made again with the hyperparameters of their training, and with their weights.

    load_trial_from_checkpoint_path(path)           a folder; the class is in it, or given
    context.load_checkpoint_trial(Cls, trial_id=7)  the best checkpoint of a trial, else its latest

load_data.json has what this needs: the class, the hyperparameters, the configuration. A loaded trial has its
own context, in which nothing trains: models are wrapped, but belong to this process alone.
"""
import contextlib
import importlib
import inspect
import json
import os
import types
from typing import Any, Dict, Iterator, Optional, Type

import torch

from determined import _checkpoints, core
from determined._import import import_from_path
from determined.pytorch import _state
from determined.pytorch._trial import PyTorchTrial
from determined.pytorch._trial_context import PyTorchTrialContext


class CheckpointLoadContext(PyTorchTrialContext):
    """The context of a trial that is loaded and not trained: it has the hyperparameters and the configuration of
    its training, a device, and no platform."""

    def __init__(
        self,
        hparams: Optional[Dict[str, Any]] = None,
        exp_conf: Optional[Dict[str, Any]] = None,
        core_context: Optional[core.Context] = None,
    ) -> None:
        ranks = core_context.distributed if core_context is not None else None
        alone = types.SimpleNamespace(
            rank=0,
            size=1,
            local_rank=ranks.local_rank if ranks is not None else 0,
            local_size=ranks.local_size if ranks is not None else 1,
            cross_rank=0,
            cross_size=1,
        )
        nowhere: Any = types.SimpleNamespace(
            info=None, hparams={}, _config={}, _values={"seed": 0}, distributed=alone, latest_checkpoint=None
        )
        # With one rank its models are not spread over ranks; afterwards the context shows all ranks.
        super().__init__(
            nowhere, hparams=dict(hparams or {}), exp_conf=dict(exp_conf or {}), enable_tensorboard_logging=False
        )
        self.distributed = ranks or core.DistributedContext._alone()


# ---- the description in a checkpoint


def _load_data(folder: str) -> Dict[str, Any]:
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no checkpoint in '{folder}': it is not a folder")
    path = os.path.join(folder, _state.LOAD_DATA)
    try:
        with open(path, encoding="utf-8") as file:
            said: Dict[str, Any] = json.load(file)
    except FileNotFoundError:
        raise ValueError(
            f"the checkpoint in '{folder}' was not saved by a PyTorchTrial: it has no '{_state.LOAD_DATA}'"
        ) from None
    except ValueError as error:
        raise ValueError(f"'{path}' cannot be read: {error}") from None
    if said.get("trial_type") != "PyTorchTrial":
        raise ValueError(f"the checkpoint in '{folder}' belongs to a {said.get('trial_type')}, not to a PyTorchTrial")
    return said


def _class_in(folder: str, spec: str) -> Type[PyTorchTrial]:
    """The class in a checkpoint's code."""
    code = os.path.join(folder, _state.CODE)
    name, _, path = spec.partition(":")
    way_out = "give load_trial_from_checkpoint_path() the class: trial_class=..."
    if not os.path.isdir(code):
        raise ValueError(f"the checkpoint in '{folder}' contains no code; {way_out}")
    with import_from_path(code):
        try:
            found: Any = importlib.import_module(name)
            for part in path.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"the class '{spec}' cannot be loaded from '{code}' ({error}); {way_out}") from error
    if not (isinstance(found, type) and issubclass(found, PyTorchTrial)):
        raise ValueError(f"'{spec}' in '{code}' is not a PyTorchTrial; {way_out}")
    return found


def _check_class(trial_class: Any) -> None:
    if not (isinstance(trial_class, type) and issubclass(trial_class, PyTorchTrial)):
        raise TypeError(f"the trial's class is {trial_class!r}; expected a subclass of PyTorchTrial")


def _check_same(trial_class: Type[PyTorchTrial], spec: str, uuid: str) -> None:
    """Checks that it is the trained class, or derived from it; modules may have moved."""
    name = spec.partition(":")[2]
    if not any(each.__qualname__ == name for each in trial_class.__mro__):
        raise ValueError(
            f"checkpoint {uuid} belongs to the class '{spec}', not to '{trial_class.__name__}': give the class "
            "that was trained, a class derived from it, or another trial"
        )


# ---- making the trial


@contextlib.contextmanager
def _generators_kept() -> Iterator[None]:
    """A context seeds the generators, and layers draw from them; this restores those of the program."""
    device = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_initialized() else torch.device("cpu")
    before = _state.generators(device)
    try:
        yield
    finally:
        _state.restore_generators(before, device)


def _check_arguments(trial_class: Type[PyTorchTrial], context: CheckpointLoadContext, given: Dict[str, Any]) -> None:
    try:
        inspect.signature(trial_class.__init__).bind(None, context, **given)
    except TypeError as error:
        raise TypeError(
            f"{trial_class.__name__} cannot be made from a context and {sorted(given) or 'nothing else'} ({error}): give "
            "its other arguments, load_trial_from_checkpoint_path(path, trial_class, trial_kwargs={...})"
        ) from None


def _make(
    folder: str,
    said: Dict[str, Any],
    trial_class: Type[PyTorchTrial],
    core_context: Optional[core.Context] = None,
    trial_kwargs: Optional[Dict[str, Any]] = None,
    torch_load_kwargs: Optional[Dict[str, Any]] = None,
) -> PyTorchTrial:
    with _generators_kept():
        context = CheckpointLoadContext(said.get("hparams"), said.get("experiment_config"), core_context)
        _check_arguments(trial_class, context, trial_kwargs or {})
        trial = trial_class(context, **(trial_kwargs or {}))
        trial._det_context = context  # type: ignore[attr-defined]
        _state.load_models(context, folder, **(torch_load_kwargs or {}))
    return trial


def load_trial_from_checkpoint_path(
    path: str,
    trial_class: Optional[Type[PyTorchTrial]] = None,
    trial_kwargs: Optional[Dict[str, Any]] = None,
    torch_load_kwargs: Optional[Dict[str, Any]] = None,
) -> PyTorchTrial:
    """The trial of the checkpoint in a folder, with its weights, on the device of this process.

    Without `trial_class` the class comes from the code in the checkpoint. `trial_kwargs` are its arguments
    beside the context; `torch_load_kwargs` are for torch.load().
    """
    folder = os.fspath(path)
    said = _load_data(folder)
    if trial_class is None:
        trial_class = _class_in(folder, str(said.get("trial_cls_spec")))
    _check_class(trial_class)
    return _make(folder, said, trial_class, None, trial_kwargs, torch_load_kwargs)


def load_checkpoint_trial(
    core_context: core.Context,
    trial_class: Type[PyTorchTrial],
    trial_id: Optional[int] = None,
    uuid: Optional[str] = None,
) -> PyTorchTrial:
    """The trial of the checkpoint `uuid`, or of the best checkpoint of `trial_id`, else its latest. Every rank has
    its own copy."""
    _check_class(trial_class)
    if (trial_id is None) == (uuid is None):
        raise TypeError("load_checkpoint_trial() takes either trial_id or uuid")
    if trial_id is not None and (isinstance(trial_id, bool) or not isinstance(trial_id, int)):
        raise TypeError(f"trial_id is {trial_id!r}; expected a whole number")
    if uuid is not None and not isinstance(uuid, str):
        raise TypeError(f"uuid is {uuid!r}; expected a checkpoint's uuid")
    which = _checkpoints.checkpoint_of(trial_id) if trial_id is not None else str(uuid)
    with _checkpoints.checkpoint_path(which, core_context) as folder:
        said = _load_data(str(folder))
        _check_same(trial_class, str(said.get("trial_cls_spec")), which)
        return _make(str(folder), said, trial_class, core_context)
