# SPDX-License-Identifier: Apache-2.0
"""Models, data and the backend of Keras 2: old arguments of `fit` and similar methods, `fit_generator`, positional
metrics of `compile`, sequences by duck typing, `get_value` and `set_value`."""
import contextlib
import inspect
import numbers
import types
from typing import Any, Dict, Iterator, List, Tuple

import keras  # not from _package: its import of keras may have led here

from determined.keras._compat import say

_QUEUE = ("workers", "use_multiprocessing", "max_queue_size")
_KNOWN = (keras.utils.PyDataset, list, tuple, dict, str, bytes)
_OTHERS = ("grain", "jax", "keras", "numpy", "pandas", "polars", "scipy", "tensorflow", "torch")


# ---- data ------------------------------------------------------------------------------------


class LikeSequence(keras.utils.PyDataset):  # type: ignore[misc]
    """An object that has batches by index and a length, but is not a PyDataset."""

    def __init__(self, sequence: Any) -> None:
        super().__init__()
        self.sequence = sequence

    def __len__(self) -> int:
        return len(self.sequence)

    def __getitem__(self, index: int) -> Any:
        return self.sequence[index]

    def on_epoch_begin(self) -> None:
        getattr(self.sequence, "on_epoch_begin", lambda: None)()

    def on_epoch_end(self) -> None:
        getattr(self.sequence, "on_epoch_end", lambda: None)()


def is_like_sequence(data: Any) -> bool:
    """Whether Keras 3 would refuse this object although it has batches by index: a class of the program, or the
    `Sequence` in TensorFlow's private folder."""
    cls = type(data)
    if isinstance(data, _KNOWN) or cls.__module__ in ("array", "builtins", "collections"):
        return False
    if not (hasattr(cls, "__getitem__") and hasattr(cls, "__len__")):
        return False
    if hasattr(data, "shape") or hasattr(data, "__array__") or hasattr(data, "__dataframe__"):
        return False
    if any(base.__module__ == "tensorflow.python.keras.utils.data_utils" for base in cls.__mro__):
        return True
    return not any(base.__module__.split(".")[0] in _OTHERS for base in cls.__mro__)


def as_dataset(data: Any) -> Any:
    """The object for Keras 3: a PyDataset for a sequence by duck typing, else the same object."""
    if not is_like_sequence(data):
        return data
    say(f"data like a sequence ({type(data).__name__})", "a subclass of keras.utils.PyDataset")
    return LikeSequence(data)


@contextlib.contextmanager
def _queues(method: str, old: Dict[str, Any], datasets: Any) -> Iterator[None]:
    """For one call the datasets get the workers that Keras 2 took as arguments of the call. Keras 2 did not use
    them for arrays either."""
    if old:
        names = "= and ".join(sorted(old)) + "="
        say(f"{names} of {method}", f"{names} of the keras.utils.PyDataset")
    changed: List[Tuple[Any, str, Any]] = []
    for dataset in datasets:
        if isinstance(dataset, keras.utils.PyDataset):
            for name, value in old.items():
                changed.append((dataset, name, vars(dataset).get("_" + name)))
                setattr(dataset, name, value)
    try:
        yield
    finally:
        for dataset, name, value in reversed(changed):
            if value is None:
                vars(dataset).pop("_" + name, None)  # its __init__ never called ours
            else:
                setattr(dataset, name, value)


def _runs(method: str) -> Any:
    """fit, evaluate and predict: `x` comes first, `validation_data` by name or position."""

    def make(inner: Any) -> Any:
        parameters = list(inspect.signature(inner).parameters)[1:]

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            old = {name: kwargs.pop(name) for name in _QUEUE if name in kwargs}
            rest, data = list(args), []
            for name in ("x", "validation_data"):
                place = parameters.index(name) if name in parameters else len(rest)
                where, key = (rest, place) if place < len(rest) else (kwargs, name)
                if where is rest or name in kwargs:
                    where[key] = as_dataset(where[key])
                    data.append(where[key])
            with _queues(method, old, data):
                return inner(self, *rest, **kwargs)

        return call

    return make


def _generator(method: str) -> Any:
    """fit_generator(generator, …) and similar methods: the method without the suffix does it today."""
    places = {
        "fit": ("steps_per_epoch", "epochs", "verbose", "callbacks", "validation_data", "validation_steps"),
        "evaluate": ("steps", "callbacks", "max_queue_size", "workers", "use_multiprocessing", "verbose"),
        "predict": ("steps", "callbacks", "max_queue_size", "workers", "use_multiprocessing", "verbose"),
    }[method]

    def make(_: Any) -> Any:
        def call(self: Any, generator: Any, *args: Any, **kwargs: Any) -> Any:
            if len(args) > len(places):
                raise TypeError(f"{method}_generator() with more than {len(places) + 1} unnamed arguments: name them")
            say(f"model.{method}_generator()", f"model.{method}()")
            if method == "fit" and isinstance(generator, types.GeneratorType):
                kwargs.setdefault("shuffle", False)  # Keras warns if it cannot
            return getattr(self, method)(generator, **dict(zip(places, args)), **kwargs)

        call.__name__ = method + "_generator"
        return call

    return make


def _on_batch(method: str) -> Any:
    def make(inner: Any) -> Any:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if "reset_metrics" not in kwargs:
                return inner(self, *args, **kwargs)
            say(f"reset_metrics= of model.{method}()", "nothing; metrics are those of the batch")
            if not kwargs.pop("reset_metrics"):
                vars(self)["reset_metrics"] = lambda: None  # Keras calls it before each batch
            try:
                return inner(self, *args, **kwargs)
            finally:
                vars(self).pop("reset_metrics", None)

        return call

    return make


# ---- compile ---------------------------------------------------------------------------------


def _flat(value: Any) -> List[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]


def _are_metrics(value: Any) -> bool:
    leaves = [leaf for leaf in _flat(value) if leaf is not None]
    return bool(leaves) and all(isinstance(leaf, str) or callable(leaf) for leaf in leaves)


def _are_weights(value: Any) -> bool:
    leaves = [leaf for leaf in _flat(value) if leaf is not None]
    return bool(leaves) and all(isinstance(leaf, numbers.Real) for leaf in leaves)


def _compile(inner: Any) -> Any:
    def compile(self: Any, *args: Any, **kwargs: Any) -> Any:
        for name in ("experimental_run_tf_function", "sample_weight_mode", "target_tensors", "distribute"):
            if kwargs.pop(name, None) is not None:
                say(f"{name}= of model.compile()", "nothing; it has no effect any more")
        rest = list(args)
        third, fourth = (rest[2:4] + [None, None])[:2]
        if _are_metrics(third) or (third is None and _are_weights(fourth)):
            say("model.compile() with metrics as third argument", "metrics=")
            del rest[2:4]
            _name(kwargs, "metrics", third)
            _name(kwargs, "loss_weights", fourth)
            if args[4:]:  # these kept their positions
                rest = rest[:2]
                for name, value in zip(("weighted_metrics", "run_eagerly", "steps_per_execution", "jit_compile"), args[4:]):
                    _name(kwargs, name, value)
        return inner(self, *rest, **kwargs)

    return compile


def _name(kwargs: Dict[str, Any], name: str, value: Any) -> None:
    if value is not None and name in kwargs:
        raise TypeError(f"model.compile() got {name} twice: by position and by name")
    if value is not None:
        kwargs[name] = value


# ---- backend ---------------------------------------------------------------------------------


def get_value(x: Any) -> Any:
    return keras.ops.convert_to_numpy(x) if hasattr(x, "dtype") else x


def set_value(x: Any, value: Any) -> None:
    x.assign(value)


def batch_get_value(tensors: Any) -> List[Any]:
    return [get_value(tensor) for tensor in tensors]


def batch_set_value(tuples: Any) -> None:
    for x, value in tuples:
        set_value(x, value)


def learning_phase() -> int:
    return 0


def set_learning_phase(value: Any) -> None:
    del value  # each call of a model passes training= itself


METHODS = {
    keras.Model: {
        "fit": _runs("fit"),
        "evaluate": _runs("evaluate"),
        "predict": _runs("predict"),
        "fit_generator": _generator("fit"),
        "evaluate_generator": _generator("evaluate"),
        "predict_generator": _generator("predict"),
        "train_on_batch": _on_batch("train_on_batch"),
        "test_on_batch": _on_batch("test_on_batch"),
        "compile": _compile,
    }
}
FUNCTIONS: Tuple[Tuple[Any, Any], ...] = ()
