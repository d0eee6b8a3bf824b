# SPDX-License-Identifier: Apache-2.0
"""Files of Keras 2: names without a suffix, weights of TensorFlow checkpoints and SavedModels,
models of SavedModels and of old `.h5` files.

Writing.  Keras 3 writes `.keras`, `.weights.h5` and, for models, the old `.h5`; the suffix decides.
A name without one gets the suffix that Keras asks for, and the readers below find it again under
the name without.  `save_weights("x.h5")` writes the old format under just that name.

Reading.  A TensorFlow checkpoint names each value by the way that leads to it from the model:
`layer_with_weights-1/kernel`, `encoder/layers/0/cell/bias`.  The same way is walked on the model at
hand, attribute by attribute; what the model has and the file has not is named in the error.
A SavedModel of Keras 2 is such a checkpoint, and beside it `keras_metadata.pb`, whose first entry
has the model's configuration as JSON: enough to build and compile it anew.
"""
import contextlib
import json
import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

import keras

from determined.keras._compat import say

_MODEL = (".keras", ".h5", ".hdf5")
_WEIGHTS = (".weights.h5", ".weights.json")
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_load_model = keras.models.load_model


def _path(path: Any) -> str:
    return os.fspath(path).rstrip("/") if isinstance(path, (str, os.PathLike)) else path


def _drop(kwargs: Dict[str, Any], names: Tuple[str, ...], method: str) -> None:
    for name in names:
        if name in kwargs and kwargs.pop(name) is not None:
            say(f"{name}= of {method}", "nothing; it has no effect any more")


# ---- writing ---------------------------------------------------------------------------------


def _save(inner: Any) -> Any:
    def save(self: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
        path = _path(filepath)
        is_old = isinstance(path, str) and not path.endswith(_MODEL) and "://" not in path
        _drop(kwargs, ("signatures", "options", "save_traces"), "model.save()")
        if is_old and kwargs.get("zipped", True) is not False:
            suffix = ".h5" if kwargs.pop("save_format", None) in ("h5", "hdf5") else ".keras"
            say("model.save() to a name without suffix", f"model.save('{path}{suffix}'), which was written")
            _make_folder(path)
            filepath = path + suffix
        with _kept_optimizer(self):
            return inner(self, filepath, *args, **kwargs)

    return save


@contextlib.contextmanager
def _kept_optimizer(model: Any) -> Iterator[None]:
    """Keras 3.15 takes the optimizer out of the model's own configuration when it writes an .h5 file;
    whatever is saved next says "rmsprop".  Here it is put back."""
    config = getattr(getattr(model, "_compile_config", None), "config", None)
    kept = dict(config) if isinstance(config, dict) else {}
    try:
        yield
    finally:
        if isinstance(config, dict):
            config.update(kept)


def _save_weights(inner: Any) -> Any:
    def save_weights(self: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
        path = _path(filepath)
        save_format = kwargs.pop("save_format", None)
        _drop(kwargs, ("options",), "model.save_weights()")
        if not isinstance(path, str) or path.endswith(_WEIGHTS) or kwargs.get("max_shard_size") is not None:
            return inner(self, filepath, *args, **kwargs)
        _make_folder(path)
        if path.endswith((".h5", ".hdf5")) or save_format in ("h5", "hdf5"):
            name = path if path.endswith((".h5", ".hdf5")) else path + ".h5"
            say("model.save_weights() to an .h5 file", "model.save_weights('name.weights.h5')")
            # The whole model in the old format: load_weights() takes the weights out of it.
            return self.save(name, include_optimizer=False)
        say("model.save_weights() to a name without suffix", f"model.save_weights('{path}.weights.h5'), which was written")
        return inner(self, path + ".weights.h5", *args, **kwargs)

    return save_weights


def _make_folder(path: str) -> None:
    """Keras 2 made the folders that were missing."""
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)


def _model_checkpoint(inner: Any) -> Any:
    def __init__(self: Any, filepath: Any, *args: Any, **kwargs: Any) -> None:
        method = "ModelCheckpoint"
        _drop(kwargs, ("options", "load_weights_on_restart"), method)
        period = kwargs.pop("period", None)
        weights_only = args[3] if len(args) > 3 else kwargs.get("save_weights_only", False)
        path = _path(filepath)
        if isinstance(path, str) and not path.endswith((".weights.h5",) if weights_only else (".keras", ".h5")):
            suffix = ".weights.h5" if weights_only else ".keras"
            base = os.path.splitext(path)[0] if path.endswith((".h5", ".hdf5")) else path
            say(f"{method}('{path}')", f"{method}('{base + suffix}'), which is written")
            filepath = base + suffix
        inner(self, filepath, *args, **kwargs)
        if period is not None and period != 1:
            say(f"period= of {method}", "save_freq=, in batches")
            self._determined_period = int(period)

    return __init__


def _every_period(inner: Any) -> Any:
    def on_epoch_end(self: Any, epoch: int, logs: Any = None) -> Any:
        if (epoch + 1) % getattr(self, "_determined_period", 1) == 0:
            return inner(self, epoch, logs)
        return None

    return on_epoch_end


# ---- weights ---------------------------------------------------------------------------------


class _Status:
    """What load_weights() gave in Keras 2 for a TensorFlow checkpoint: all was found already."""

    def expect_partial(self) -> "_Status":
        return self

    assert_consumed = assert_existing_objects_matched = expect_partial


def _load_weights(inner: Any) -> Any:
    def load_weights(self: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
        _drop(kwargs, ("options",), "model.load_weights()")
        if not kwargs.get("by_name", True):
            del kwargs["by_name"]
        path = _path(filepath)
        if isinstance(path, str) and not os.path.isfile(path):
            prefix = _checkpoint_prefix(path)
            if prefix is not None:
                say("weights of a TensorFlow checkpoint", "model.save_weights('name.weights.h5') of the loaded model")
                skip = args[0] if args else kwargs.get("skip_mismatch", False)
                _assign(self, prefix, skip)
                return _Status()
            filepath = _written(path, ".weights.h5") or filepath
        return inner(self, filepath, *args, **kwargs)

    return load_weights


def _written(path: str, suffix: str) -> Optional[str]:
    """The file that a writer above made when it was given this name."""
    base = os.path.splitext(path)[0] if path.endswith((".h5", ".hdf5")) else path
    return next((name for name in (path + suffix, base + suffix) if os.path.exists(name)), None)


def _checkpoint_prefix(path: str) -> Optional[str]:
    """Of a checkpoint of that name, of a SavedModel in that folder, or of the newest one there."""
    for prefix in (path, os.path.join(path, "variables", "variables")):
        if os.path.isfile(prefix + ".index"):
            return prefix
    if os.path.isfile(os.path.join(path, "checkpoint")):
        found = _tensorflow(path).train.latest_checkpoint(path)
        return str(found) if found else None
    return None


def _tensorflow(path: str) -> Any:
    try:
        import tensorflow
    except ImportError:
        raise ImportError(
            f"'{path}' is in TensorFlow's format, and TensorFlow is not installed here: "
            "load it where it is, and save it again as .weights.h5"
        ) from None
    return tensorflow


def _assign(model: Any, prefix: str, skip_mismatch: bool) -> None:
    values = _tensorflow(prefix).train.load_checkpoint(prefix)
    missing = {id(variable): variable for variable in _stored(model)}
    if not missing:
        raise ValueError(f"model '{model.name}' has no weights yet: call it on a batch, or build() it, before '{prefix}' is loaded")
    for key in values.get_variable_to_shape_map():
        variable = _walk(model, key[: -len(_VALUE)].split("/")) if key.endswith(_VALUE) else None
        if variable is None or id(variable) not in missing:
            continue
        value = values.get_tensor(key)
        if tuple(value.shape) == tuple(variable.shape):
            variable.assign(value)
            del missing[id(variable)]
        elif not skip_mismatch:
            raise ValueError(f"'{variable.path}' is {_shape(value)} in '{prefix}' and {_shape(variable)} in the model")
    if missing and not skip_mismatch:
        names = ", ".join(f"'{variable.path}'" for variable in missing.values())
        raise ValueError(f"'{prefix}' has no values for {names}: it is of another model")


def _stored(model: Any) -> List[Any]:
    """The variables that Keras 2 saved: all but the states of random generators."""
    return [variable for variable in model.weights if "seed_generator" not in variable.path]


def _shape(value: Any) -> str:
    return " x ".join(str(size) for size in value.shape) or "one number"


def _walk(thing: Any, parts: List[str]) -> Any:
    for part in parts:
        name, _, number = part.rpartition("-")
        try:
            if name == "layer_with_weights":
                thing = [layer for layer in thing.layers if _stored(layer)][int(number)]
            elif name == "layer":
                thing = thing.layers[int(number)]
            elif part.isdigit():
                thing = thing[int(part)]
            else:
                thing = getattr(thing, part)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return None
    return thing


# ---- models ----------------------------------------------------------------------------------


def load_model(filepath: Any, custom_objects: Any = None, compile: bool = True, safe_mode: bool = True, **kwargs: Any) -> Any:
    _drop(kwargs, ("options",), "load_model()")
    path = _path(filepath)
    if isinstance(path, str) and not path.endswith((".keras", "://")):
        if os.path.isfile(os.path.join(path, "saved_model.pb")):
            return _load_saved_model(path, custom_objects, compile)
        if not os.path.exists(path):
            filepath = _written(path, ".keras") or filepath
    try:
        return _load_model(filepath, custom_objects=custom_objects, compile=compile, safe_mode=safe_mode, **kwargs)
    except (TypeError, ValueError) as error:
        if not (isinstance(path, str) and path.endswith((".h5", ".hdf5")) and compile and "deserialize" in str(error)):
            raise
    say("an .h5 file with losses and metrics by their short names", "model.save('name.keras') of the loaded model")
    known = {**_short_names(), **(custom_objects or {})}
    return _load_model(filepath, custom_objects=known, compile=True, safe_mode=safe_mode, **kwargs)


def _short_names() -> Dict[str, Any]:
    """Losses and metrics that are functions, as Keras 2 wrote them into files."""
    return {
        name: value
        for module in (keras.losses, keras.metrics)
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and not isinstance(value, type) and name not in ("get", "serialize", "deserialize")
    } | {"mse": keras.losses.mean_squared_error, "mae": keras.losses.mean_absolute_error,
         "mape": keras.losses.mean_absolute_percentage_error, "msle": keras.losses.mean_squared_logarithmic_error,
         "kld": keras.losses.kl_divergence, "bce": keras.losses.binary_crossentropy}


def _load_saved_model(path: str, custom_objects: Any, compile: bool) -> Any:
    """Builds the model of a SavedModel from its configuration, and reads its weights."""
    say("load_model() of a SavedModel", "model.save('name.keras') of the loaded model")
    config = _saved_config(path)
    from keras.src.legacy.saving import saving_utils

    known = {**_short_names(), **(custom_objects or {})}
    try:
        with keras.saving.custom_object_scope(known):
            model = saving_utils.model_from_config({"class_name": config["class_name"], "config": config["config"]})
            _assign(model, os.path.join(path, "variables", "variables"), skip_mismatch=False)
            if compile and config.get("training_config"):
                model.compile(**saving_utils.compile_args_from_training_config(config["training_config"], known))
    except (KeyError, TypeError) as error:
        raise ValueError(f"the configuration of the SavedModel '{path}' is not understood ({error}): {_WAY_OUT}") from error
    return model


_WAY_OUT = "build the model in Python and load_weights() of the same folder, or load it with tf_keras and TF_USE_LEGACY_KERAS=1"


def _saved_config(path: str) -> Dict[str, Any]:
    try:
        with open(os.path.join(path, "keras_metadata.pb"), "rb") as file:
            nodes = [dict(_fields(node)) for number, node in _fields(file.read()) if number == 1]
    except FileNotFoundError:
        raise ValueError(f"the SavedModel '{path}' was not written by Keras 2's model.save(): {_WAY_OUT}") from None
    root = next((node for node in nodes if node.get(3) == b"root"), {})
    config = json.loads(root.get(5, b"{}"))
    if "config" not in config or config.get("class_name") not in ("Sequential", "Functional", "Model"):
        raise ValueError(f"the SavedModel '{path}' has no configuration of its model, which is a class of its own: {_WAY_OUT}")
    return dict(config)


def _fields(data: bytes) -> Iterator[Tuple[int, Any]]:
    """Numbers and values of a protocol buffer's fields; the two kinds that this file has."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        value, at = _varint(data, at)
        if tag & 7 == 2:
            yield tag >> 3, data[at : at + value]
            at += value
        elif tag & 7 == 0:
            yield tag >> 3, value
        else:
            raise ValueError("keras_metadata.pb is not what Keras 2 writes")


def _varint(data: bytes, at: int) -> Tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


METHODS = {
    keras.Model: {"save": _save, "save_weights": _save_weights, "load_weights": _load_weights},
    keras.callbacks.ModelCheckpoint: {"__init__": _model_checkpoint, "on_epoch_end": _every_period},
}
FUNCTIONS = ((_load_model, load_model),)
