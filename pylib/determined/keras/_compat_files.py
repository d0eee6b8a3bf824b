# SPDX-License-Identifier: Apache-2.0
"""Files of Keras 2: names without a suffix, weights of TensorFlow checkpoints and SavedModels, models of
SavedModels and of old `.h5` files.

Writing. Keras 3 writes `.keras`, `.weights.h5` and, for models, the old `.h5`; the suffix decides. A name
without a suffix gets the one that Keras requires, and the readers below find it under the name without.
`save_weights("x.h5")` writes the old format under exactly that name.

Reading. A TensorFlow checkpoint holds the graph of the saved objects: from the model by `layer_with_weights-1`,
then `cell`, to the variable `kernel`. It is walked together with the model, attribute by attribute; the error
names the parts of the model that are missing in the file. A SavedModel of Keras 2 is such a checkpoint with a
file `keras_metadata.pb`, whose first entry has the model's configuration as JSON: enough to build and compile
it again. An `.h5` file has the same JSON. Keras reads most of those itself; this module repairs the ones it
cannot read.
"""
import contextlib
import json
import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

import keras  # not from _package: its import of keras may have led here

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
    """Keras 3.15 removes the optimizer from the model's own configuration when it writes an .h5 file, and the next
    saved file says "rmsprop". This restores it."""
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
    """Keras 2 made missing folders."""
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
    """The result of load_weights() in Keras 2 for a TensorFlow checkpoint: all variables were found."""

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
    """The file that a writer above makes for this name."""
    base = os.path.splitext(path)[0] if path.endswith((".h5", ".hdf5")) else path
    return next((name for name in (path + suffix, base + suffix) if os.path.exists(name)), None)


def _checkpoint_prefix(path: str) -> Optional[str]:
    """The path of a checkpoint of that name, of a SavedModel in that folder, or of its newest checkpoint."""
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
            "load it on a machine with TensorFlow, and save it again as .weights.h5"
        ) from None
    return tensorflow


def _assign(model: Any, prefix: str, skip_mismatch: bool) -> None:
    values = _tensorflow(prefix).train.load_checkpoint(prefix)
    missing = {id(variable): variable for variable in _stored(model)}
    if not missing:
        raise ValueError(f"model '{model.name}' has no weights yet: call it on a batch, or build() it, before loading '{prefix}'")
    for variable, key in _saved_variables(model, values):
        if id(variable) not in missing:
            continue
        value = values.get_tensor(key)
        if tuple(value.shape) == tuple(variable.shape):
            variable.assign(value)
            del missing[id(variable)]
        elif not skip_mismatch:
            raise ValueError(f"'{variable.path}' is {_shape(value)} in '{prefix}' and {_shape(variable)} in the model")
    if missing and not skip_mismatch:
        names = ", ".join(f"'{variable.path}'" for variable in missing.values())
        raise ValueError(f"'{prefix}' has no values for {names}: it belongs to another model")


def _stored(model: Any) -> List[Any]:
    """The variables that Keras 2 saved: all except the states of random generators."""
    return [variable for variable in model.weights if "seed_generator" not in variable.path]


def _shape(value: Any) -> str:
    return " x ".join(str(size) for size in value.shape) or "one number"


# Lists that Keras 2 added to every layer: their order is different today.
_LISTS = ("variables", "trainable_variables", "non_trainable_variables", "weights", "layers", "metrics", "losses", "regularization_losses")


def _saved_variables(model: Any, values: Any) -> Iterator[Tuple[Any, str]]:
    """The model's variables with the keys of their values, as far as they can be found in the graph."""
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    graph.ParseFromString(values.get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH"))
    seen, ahead = {0}, [(model, 0)]
    while ahead:
        thing, number = ahead.pop(0)
        node = graph.nodes[number]
        for attribute in node.attributes:
            if attribute.name == "VARIABLE_VALUE":
                yield thing, attribute.checkpoint_key
        is_layer = isinstance(thing, keras.layers.Layer)
        # layers first: a list of them under another name may also lead to them
        for child in sorted(node.children, key=lambda child: not child.local_name.startswith("layer_with_weights-")):
            if child.node_id in seen or (is_layer and child.local_name in _LISTS):
                continue
            found = _step(thing, child.local_name)
            if found is not None:
                seen.add(child.node_id)
                ahead.append((found, child.node_id))


def _step(thing: Any, part: str) -> Any:
    name, _, number = part.rpartition("-")
    try:
        if name == "layer_with_weights":
            return [layer for layer in thing.layers if _stored(layer)][int(number)]
        if name == "layer":
            return None  # without weights; layers with weights have the other name, too
        return thing[int(part)] if part.isdigit() else getattr(thing, part, None)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None


# ---- models ----------------------------------------------------------------------------------


def load_model(filepath: Any, custom_objects: Any = None, compile: bool = True, safe_mode: bool = True, **kwargs: Any) -> Any:
    _drop(kwargs, ("options",), "load_model()")
    path = _path(filepath)
    if isinstance(path, str) and os.path.isfile(os.path.join(path, "saved_model.pb")):
        say("load_model() of a SavedModel", "model.save('name.keras') of the loaded model")
        config = _saved_config(path)
        return _build(path, config, config.get("training_config") if compile else None, custom_objects)
    if isinstance(path, str) and path.endswith((".h5", ".hdf5")) and os.path.isfile(path):
        return _load_h5(path, custom_objects, compile, safe_mode)
    if isinstance(path, str) and "://" not in path and not os.path.exists(path):
        filepath = _written(path, ".keras") or filepath
    return _load_model(filepath, custom_objects=custom_objects, compile=compile, safe_mode=safe_mode, **kwargs)


def _load_h5(path: str, custom_objects: Any, compile: bool, safe_mode: bool) -> Any:
    """Like Keras where possible. An optimizer of Keras 2 is recognised by its `decay`: its weights have another
    order, and Keras would accept them if the shapes allow it."""
    import h5py

    with h5py.File(path, "r") as file:
        model, training = (json.loads(file.attrs.get(name, "null")) for name in ("model_config", "training_config"))
        is_old = "decay" in str((training or {}).get("optimizer_config"))
        try:
            if not (compile and is_old):
                return _load_model(path, custom_objects=custom_objects, compile=compile, safe_mode=safe_mode)
        except (TypeError, ValueError):
            if model is None:
                raise
        say("an .h5 file of this kind", "model.save('name.keras') of the loaded model")
        loaded = _build(path, model, training if compile else None, custom_objects)
        group = file.get("optimizer_weights")
        if compile and training and group is not None:
            values = [group[name][()] for name in group.attrs.get("weight_names", [])]
            _give_state(loaded, values)
        return loaded


def _give_state(model: Any, values: List[Any]) -> None:
    """Iterations first, then one value per weight, or several in another order than today."""
    optimizer, weights = model.optimizer, model.trainable_variables
    optimizer.build(weights)
    optimizer.variables[0].assign(values[0])
    ours = [variable for variable in optimizer.variables[1:] if variable.name != "learning_rate"]
    if len(ours) == len(values) - 1 == len(weights):
        for variable, value in zip(ours, values[1:]):
            variable.assign(value)
    elif ours:
        say(f"the state of the optimizer '{optimizer.name}' in a file", "a .keras file; of this one only the iterations were read")


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


def _build(path: str, config: Any, training: Any, custom_objects: Any) -> Any:
    """The model of an old configuration with the weights of its file."""
    from keras.src.legacy.saving import saving_utils

    known = {**_short_names(), **(custom_objects or {})}
    try:
        with keras.saving.custom_object_scope(known):
            model = saving_utils.model_from_config(_tidy({"class_name": config["class_name"], "config": config["config"]}))
            model.load_weights(path)
            if training:
                model.compile(**_compile_arguments(_tidy(training)))
    except (KeyError, TypeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise ValueError(f"'{path}' of Keras 2 cannot be read ({reason}): {_WAY_OUT}") from error
    return model


def _compile_arguments(training: Dict[str, Any]) -> Dict[str, Any]:
    saved = training["optimizer_config"]
    optimizer = keras.optimizers.deserialize({"class_name": saved["class_name"].split(">")[-1], "config": saved["config"]})
    return {
        "optimizer": optimizer,
        "loss": _each(training.get("loss"), keras.losses),
        "metrics": _each(training.get("metrics"), keras.metrics),
        "weighted_metrics": _each(training.get("weighted_metrics"), keras.metrics),
        "loss_weights": training.get("loss_weights"),
    }


def _each(value: Any, module: Any) -> Any:
    """Losses or metrics for compile(): their names, or objects of the module."""
    if isinstance(value, list):
        return [_each(item, module) for item in value]
    if not isinstance(value, dict):
        return value
    if "class_name" not in value:
        return {name: _each(item, module) for name, item in value.items()}
    config = dict(value["config"])
    if value["class_name"] in ("MeanMetricWrapper", "LossFunctionWrapper", "SumOverBatchSizeMetricWrapper"):
        name = config["name"]
        return name if name in ("accuracy", "acc") or hasattr(module, name) else config["fn"]
    if config.get("reduction") == "auto":
        del config["reduction"]
    config.pop("fn", None)
    return module.deserialize({"class_name": value["class_name"], "config": config})


def _tidy(value: Any) -> Any:
    """Removes the parts that Keras 3 does not know: named tuples, old arguments."""
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("class_name") in ("__tuple__", "TensorShape") and "items" in value:
        return _tidy(list(value["items"]))
    gone = {"shared_object_id", *(["time_major"] if value.get("time_major") is False else [])}
    return {name: _tidy(item) for name, item in value.items() if name not in gone}


_WAY_OUT = "build the model in Python and load_weights() of the same file or folder, or load it with tf_keras and TF_USE_LEGACY_KERAS=1"


def _saved_config(path: str) -> Dict[str, Any]:
    try:
        with open(os.path.join(path, "keras_metadata.pb"), "rb") as file:
            nodes = [dict(_fields(node)) for number, node in _fields(file.read()) if number == 1]
    except FileNotFoundError:
        raise ValueError(f"the SavedModel '{path}' was not written by Keras 2's model.save(): {_WAY_OUT}") from None
    root = next((node for node in nodes if node.get(3) == b"root"), {})
    config = json.loads(root.get(5, b"{}"))
    if "config" not in config or config.get("class_name") not in ("Sequential", "Functional", "Model"):
        raise ValueError(f"the SavedModel '{path}' has no configuration of its model, because the model has its own class: {_WAY_OUT}")
    return dict(config)


def _fields(data: bytes) -> Iterator[Tuple[int, Any]]:
    """Numbers and values of a protocol buffer's fields; supports the two kinds that this file has."""
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
            raise ValueError("keras_metadata.pb was not written by Keras 2")


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
