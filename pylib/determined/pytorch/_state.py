# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint of a PyTorch trial holds, and how it is restored.

    state_dict.pth      models, optimizers, schedulers, scaler, callbacks, random generators (of rank 0)
    own_state.pth       each rank's own state: reducers, unfinished gradients
    loop.json           the position of the training: libdet's trainer, the data, the last validation
    trial_state.pkl     batches and epochs, for readers of that name
    load_data.json      configuration, hyperparameters and class, to make the trial again
    continue_id         which training it belongs to, not its state
    code/               the program's own modules

Those of rank N > 0 are called rank-N-...; ranks share what DistributedDataParallel keeps equal.

Equal states are equal bytes: files contain no times, ids or addresses, and differences that pickle makes
between equal objects (strings that are one object or two, tensors in larger storages) are removed first. A
checkpoint of plain values and tensors is read without running foreign code.
"""
import collections
import io
import json
import os
import pickle
import random
import sys
import types
from typing import Any, Dict, Iterable, List, Optional, Tuple

import torch

from determined._trial import CONTINUE_ID, rank_name
from determined.pytorch._ddp import plain

STATE = "state_dict.pth"
OWN = "own_state.pth"
LOOP = "loop.json"
TRIAL_STATE = "trial_state.pkl"
LOAD_DATA = "load_data.json"
CODE = "code"
NOT_STATE = [CONTINUE_ID, LOAD_DATA]  # it identifies the training: det resume-proof compares the other files

_CODE_LIMIT = 4 << 20  # of one file: a larger one is not code

_NUMBERS = (bool, int, float, type(None))


# ---- bytes


class _Walk:
    """Makes a tree in which equal objects are written equally."""

    def __init__(self) -> None:
        self.is_plain = True  # torch.load(weights_only=True) can read it
        self._tensors: Dict[Any, torch.Tensor] = {}

    def __call__(self, value: Any) -> Any:
        kind = type(value)
        if kind in _NUMBERS:
            return value
        if kind is str:
            return sys.intern(value)
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if kind is dict:
            return {self(name): self(each) for name, each in value.items()}
        if kind is list:
            return [self(each) for each in value]
        if kind is tuple:
            return tuple([self(each) for each in value])
        if kind is collections.OrderedDict:
            return self._ordered(value)
        return self._stranger(value)

    def _ordered(self, value: Any) -> Any:
        """A module's state_dict() carries the versions of its layers."""
        copy = collections.OrderedDict((self(name), self(each)) for name, each in value.items())
        for name, each in vars(value).items():
            setattr(copy, sys.intern(name), self(each))
        return copy

    def _tensor(self, value: torch.Tensor) -> torch.Tensor:
        if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout != torch.strided:
            self.is_plain = False
            return value
        value = value.detach()
        key = (value.data_ptr(), value.device, value.dtype, value.shape, value.stride())
        known = self._tensors.get(key) if value.numel() else None
        if known is None:
            known = value.cpu() if value.device.type != "cpu" else value
            if known.untyped_storage().nbytes() != known.numel() * known.element_size():
                known = known.clone()
            self._tensors[key] = known
        return known

    def _stranger(self, value: Any) -> Any:
        self.is_plain = False
        numpy = sys.modules.get("numpy")
        if numpy is not None and type(value) is numpy.ndarray and value.dtype.kind != "O":
            return numpy.array(value, dtype=numpy.dtype(value.dtype.str), order="C")
        if numpy is not None and isinstance(value, numpy.generic) and value.dtype.kind not in "OV":
            return numpy.dtype(value.dtype.str).type(value)
        return value


_Slow: Any = getattr(pickle, "_Pickler")  # the one in Python, whose methods can be overridden


class _Pickler(_Slow):  # type: ignore[misc]
    """For other objects: equal strings are one, sets have an order."""

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if type(obj) is str:
            obj = sys.intern(obj)
        elif type(obj) is tuple and obj:
            obj = tuple(list(obj))
        super().save(obj, save_persistent_id)

    def save_set(self, obj: Any) -> None:
        try:
            items = sorted(obj)
        except TypeError:
            items = sorted(obj, key=repr)
        self.save_reduce(type(obj), (items,), obj=obj)

    dispatch = {**_Slow.dispatch, set: save_set, frozenset: save_set}


def _strict_module() -> types.ModuleType:
    module = types.ModuleType("determined_pickle")
    module.__dict__.update(vars(pickle), Pickler=_Pickler)
    return module


def encode(value: Any) -> memoryview:
    """Bytes as torch.save() writes them; equal values give equal bytes."""
    walk = _Walk()
    tree = walk(value)
    buffer = io.BytesIO()
    if walk.is_plain:
        torch.save(tree, buffer)
    else:
        torch.save(tree, buffer, pickle_module=_strict_module())
    return buffer.getbuffer()


def decode(path: str, **options: Any) -> Any:
    """Reads the bytes of encode(), on the processor; loads objects of the user's only if there are any."""
    options.setdefault("map_location", "cpu")
    if "weights_only" in options:
        return torch.load(path, **options)
    try:
        return torch.load(path, weights_only=True, **options)
    except pickle.UnpicklingError:
        return torch.load(path, weights_only=False, **options)


# ---- random generators


def generators(device: torch.device) -> Dict[str, Any]:
    """The states of the generators of Python, NumPy, PyTorch, and of this process's GPU."""
    state: Dict[str, Any] = {"cpu_rng_state": torch.get_rng_state(), "random_rng_state": random.getstate()}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        name, keys, *rest = numpy.random.get_state()
        state["np_rng_state"] = [name, keys.tolist(), *rest]
    if device.type == "cuda":
        state["gpu_rng_state"] = torch.cuda.get_rng_state(device)
    return state


def restore_generators(state: Dict[str, Any], device: torch.device) -> None:
    torch.set_rng_state(state["cpu_rng_state"])
    random.setstate(_tuples(state["random_rng_state"]))
    numpy = sys.modules.get("numpy")
    if numpy is not None and "np_rng_state" in state:
        name, keys, *rest = state["np_rng_state"]
        numpy.random.set_state((name, numpy.array(keys, dtype=numpy.uint32), *rest))
    if device.type == "cuda" and "gpu_rng_state" in state:
        torch.cuda.set_rng_state(state["gpu_rng_state"], device)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value


# ---- models, optimizers, schedulers


def collect(context: Any, callbacks: Any) -> Dict[str, Any]:
    """The content of state_dict.pth."""
    checkpoint: Dict[str, Any] = {
        "models_state_dict": [plain(model).state_dict() for model in context.models],
        "optimizers_state_dict": [each.state_dict() for each in context.optimizers],
        "lr_schedulers_state_dict": [each.state_dict() for each in context.lr_schedulers],
        "callbacks": callbacks.states(),
        "rng_state": generators(context.device),
    }
    if context._scaler is not None:
        checkpoint["scaler_state_dict"] = context._scaler.state_dict()
    return checkpoint


def _shape(shape: Iterable[int]) -> str:
    return " x ".join(str(size) for size in shape) or "a single number"


def _check_model(saved: Dict[str, Any], model: Any, number: int, which: str) -> None:
    """Names the layer, if a checkpoint belongs to another model."""
    present = model.state_dict()
    name = f"model {number} ({type(model).__name__})"
    for key in present:
        if key not in saved:
            raise ValueError(f"the checkpoint belongs to another model{which}: it has no '{key}', which {name} has")
        old, new = saved[key], present[key]
        if isinstance(new, torch.Tensor) and tuple(old.shape) != tuple(new.shape):
            raise ValueError(
                f"the checkpoint belongs to another model{which}: its '{key}' is {_shape(old.shape)}, that of {name} is "
                f"{_shape(new.shape)}"
            )
    for key in saved:
        if key not in present:
            raise ValueError(f"the checkpoint belongs to another model{which}: it has '{key}', which {name} does not have")


def restore_models(context: Any, checkpoint: Dict[str, Any], which: str = "") -> None:
    """Restores the weights: all, or none if they belong to another model."""
    saved = checkpoint["models_state_dict"]
    models = [plain(model) for model in context.models]
    if len(saved) != len(models):
        raise ValueError(
            f"the checkpoint belongs to another trial{which}: it has {len(saved)} models, but {len(models)} are wrapped"
        )
    for number, (state, model) in enumerate(zip(saved, models)):
        _check_model(state, model, number + 1, which)
    for state, model in zip(saved, models):
        model.load_state_dict(state)


def load_models(context: Any, folder: str, **options: Any) -> None:
    """Loads the weights of the checkpoint in a folder into the models that the context has wrapped."""
    restore_models(context, decode(_need(folder, STATE), **options), other_class(folder, None))


def restore_training(context: Any, checkpoint: Dict[str, Any], callbacks: Any) -> None:
    """Restores everything except the weights and the generators."""
    _restore_each("optimizer", context.optimizers, checkpoint["optimizers_state_dict"])
    _restore_each("scheduler", context.lr_schedulers, checkpoint["lr_schedulers_state_dict"])
    if context._scaler is not None and "scaler_state_dict" in checkpoint:
        context._scaler.load_state_dict(checkpoint["scaler_state_dict"])
    callbacks.load(checkpoint.get("callbacks") or {})


def _restore_each(what: str, present: List[Any], saved: List[Any]) -> None:
    if len(present) != len(saved):
        raise ValueError(
            f"the checkpoint belongs to another trial: it has {len(saved)} {what}s, but {len(present)} are wrapped"
        )
    for number, (each, state) in enumerate(zip(present, saved)):
        try:
            each.load_state_dict(state)
        except (ValueError, KeyError) as error:
            inner = getattr(each, "_scheduler", each)
            raise ValueError(
                f"the checkpoint belongs to another trial: its {what} {number + 1} does not fit the wrapped "
                f"{type(inner).__name__}: {error}"
            ) from error


# ---- each rank's own state


def collect_own(context: Any, rank: int, checkpoint: Dict[str, Any], more: Dict[str, Any]) -> Dict[str, Any]:
    own: Dict[str, Any] = {
        "reducers": context._reducers.state(),
        "reducers_on_device": context._reducers.elsewhere(),
        "gradients": [
            {name: each.grad for name, each in plain(model).named_parameters() if each.grad is not None}
            for model in context.models
        ],
        **more,
    }
    if rank:
        own.update(callbacks=checkpoint["callbacks"], rng_state=checkpoint["rng_state"])
    return own


def restore_own(context: Any, own: Dict[str, Any]) -> None:
    if own["reducers"] is not None:
        context._reducers.load(own["reducers"], own.get("reducers_on_device") or (), context.to_device)
    for model, gradients in zip(context.models, own["gradients"]):
        for name, each in plain(model).named_parameters():
            grad = gradients.get(name)
            each.grad = None if grad is None else grad.to(each.device)


# ---- the class, and its code


def class_spec(cls: type) -> str:
    """MODULE:CLASS, by which the class can be imported from code/."""
    module = cls.__module__
    if module == "__main__":
        main = sys.modules["__main__"]
        spec = getattr(main, "__spec__", None)
        path = getattr(main, "__file__", None) or "main"
        module = str(spec.name) if spec is not None else os.path.splitext(os.path.basename(path))[0]
    return f"{module}:{cls.__qualname__}"


def load_data(context: Any, trial: Any, is_trainer: bool) -> bytes:
    said = {
        "trial_type": "PyTorchTrial",
        "experiment_config": dict(context.get_experiment_config()),
        "hparams": dict(context.get_hparams()),
        "trial_cls_spec": class_spec(type(trial)),
        "is_trainer": is_trainer,
    }
    return json.dumps(said, indent=1, default=str).encode()


def other_class(folder: str, trial: Optional[Any]) -> str:
    """Names the trial of the checkpoint, for messages; empty if it is the same class."""
    try:
        with open(os.path.join(folder, LOAD_DATA), encoding="utf-8") as file:
            spec = str(json.load(file)["trial_cls_spec"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    mine = class_spec(type(trial)) if trial is not None else ""
    return "" if spec == mine else f" (of the trial {spec})"


def _program() -> str:
    """The program's folder: that of the task, else that of the script."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main is None or os.environ.get("DET_ALLOCATION_ID") or _is_installed(os.path.abspath(main)):
        return os.getcwd()
    return os.path.dirname(os.path.abspath(main))


def code() -> Dict[str, bytes]:
    """The modules of the program: those that were imported from its folder."""
    folder = _program()
    found: Dict[str, bytes] = {}
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if not isinstance(path, str) or not path.endswith(".py"):
            continue
        path = os.path.abspath(path)
        if not path.startswith(folder + os.sep) or _is_installed(path):
            continue
        if os.path.isfile(path) and os.path.getsize(path) < _CODE_LIMIT:
            with open(path, "rb") as file:
                found[f"{CODE}/{os.path.relpath(path, folder)}"] = file.read()
    return dict(sorted(found.items()))


def _is_installed(path: str) -> bool:
    """Whether it belongs to a library, or to this package itself."""
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    libraries = tuple(os.path.join(place, "lib") + os.sep for place in {sys.prefix, sys.base_prefix} if place)
    parts = path.split(os.sep)
    return path.startswith((ours, *libraries)) or "site-packages" in parts or "dist-packages" in parts


# ---- files


def _need(folder: str, name: str) -> str:
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        raise ValueError(f"the checkpoint in '{folder}' was not saved by a PyTorchTrial: it has no '{name}'")
    return path


def trial_state(batches: int, epochs: int) -> bytes:
    return pickle.dumps({"batches_trained": batches, "epochs_trained": epochs}, protocol=4)


def read(folder: str, rank: int) -> Tuple[Dict[str, Any], Dict[str, Any], Dict[str, Any], Any]:
    """state_dict.pth, this rank's own state, the position of the training, and which training it is. A rank that
    the checkpoint does not contain begins with the state of rank 0, except for generators and reducers: what
    rank 0 has drawn and counted is not drawn and counted twice."""
    checkpoint = decode(_need(folder, STATE))
    mine = rank if os.path.exists(os.path.join(folder, rank_name(OWN, rank))) else 0
    own = decode(_need(folder, rank_name(OWN, mine)))
    with open(_need(folder, rank_name(LOOP, mine)), encoding="utf-8") as file:
        memory = json.load(file)
    with open(_need(folder, CONTINUE_ID), encoding="utf-8") as file:
        continue_id = json.load(file)
    if mine:
        checkpoint.update(callbacks=own["callbacks"], rng_state=own["rng_state"])
    elif rank:
        checkpoint["rng_state"] = own["reducers"] = None
    return checkpoint, own, memory, continue_id
