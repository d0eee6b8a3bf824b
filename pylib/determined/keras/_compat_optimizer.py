# SPDX-License-Identifier: Apache-2.0
"""Optimizers of Keras 2: `lr=`, `decay=`, `.lr`, `get_weights()`.

`decay=` of Keras 2 divides the learning rate by 1 + decay * iterations. Keras 3 accepts the argument, warns,
and ignores it. Here it becomes Keras's own schedule InverseTimeDecay(lr, 1, decay), which is the same formula.
So the only state is `iterations`, which every checkpoint has, and a saved model says InverseTimeDecay and loads
without this package.

In Keras 2 the learning rate of an optimizer with decay could still be set, and ReduceLROnPlateau did so: it was
the undecayed rate, to which the decay then applied. So here the schedule's first rate is a variable, `.lr` and
`.learning_rate` are that variable, and setting them sets it. Only while gradients are applied is
`.learning_rate` the result of the schedule. JAX compiles values that are not variables of the optimizer as
constants; there the rate cannot be set, and Keras says so.
"""
import numbers
import threading
from typing import Any, Dict, Optional

import keras  # not from _package: its import of keras may have led here

from determined.keras._compat import say

_schedules = keras.optimizers.schedules
_applying = threading.local()  # replicas of a strategy apply gradients in threads
_DROPPED = ("jit_compile", "is_legacy_optimizer")


class _Decay(_schedules.InverseTimeDecay):  # type: ignore[misc]
    """InverseTimeDecay with a first rate that can be set. It presents itself as InverseTimeDecay, so saved files
    do not contain this class."""

    def __init__(self, rate: float, decay: float) -> None:
        variable = keras.Variable(
            rate, dtype=keras.config.floatx(), trainable=False, name="learning_rate", aggregation="only_first_replica"
        )
        super().__init__(variable, 1, decay)

    @property
    def __class__(self) -> Any:
        return _schedules.InverseTimeDecay

    def get_config(self) -> Dict[str, Any]:
        config = dict(super().get_config())
        config["initial_learning_rate"] = float(keras.ops.convert_to_numpy(self.initial_learning_rate))
        return config

    def __reduce__(self) -> Any:
        config = self.get_config()
        return _schedules.InverseTimeDecay, tuple(config[k] for k in ("initial_learning_rate", "decay_steps", "decay_rate"))


def first_rate(optimizer: Any) -> Optional[Any]:
    """The variable that holds the undecayed learning rate of an optimizer with `decay=`; None for any other. It
    does not belong to the optimizer's variables."""
    schedule = getattr(optimizer, "_learning_rate", None)
    return schedule.initial_learning_rate if type(schedule) is _Decay else None


def _with_decay(rate: Any, decay: float) -> Any:
    if decay < 0:
        raise ValueError(f"decay is {decay}; expected 0 or more")
    if callable(rate) and not hasattr(rate, "assign"):
        raise ValueError(
            "decay= and a learning rate schedule together: give a number as learning rate, or put the decay into the schedule"
        )
    say("decay= of optimizers", "learning_rate=keras.optimizers.schedules.InverseTimeDecay(learning_rate, 1, decay)")
    if keras.backend.backend() == "jax":
        return _schedules.InverseTimeDecay(float(rate), 1, float(decay))
    return _Decay(float(rate), float(decay))


def _as_rate(value: Any) -> Any:
    """A number as a Python float, the only kind that Keras 3 accepts."""
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, float)):
        return float(value)
    return value


def _init(inner: Any) -> Any:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in _DROPPED:
            if kwargs.pop(name, None):
                say(f"{name}= of optimizers", "nothing; jit_compile is an argument of model.compile")
        if args:
            kwargs["learning_rate"], args = args[0], args[1:]
        if "lr" in kwargs:
            say("lr= of optimizers", "learning_rate=")
            kwargs["learning_rate"] = kwargs.pop("lr")
        decay = kwargs.pop("decay", None)
        if isinstance(self, keras.optimizers.Nadam):
            decay = None  # in Nadam, decay was the schedule of momentum, not of the rate
            kwargs.pop("schedule_decay", None)
        if "learning_rate" in kwargs:
            rate = _as_rate(kwargs.pop("learning_rate"))
            args = (_with_decay(rate, decay) if decay else rate, *args)
        inner(self, *args, **kwargs)

    return __init__


def _learning_rate(inner: Any) -> Any:
    def get(self: Any) -> Any:
        rate = first_rate(self)
        return inner.fget(self) if rate is None or getattr(_applying, "depth", 0) else rate

    def put(self: Any, value: Any) -> None:
        rate = first_rate(self)
        if rate is None or isinstance(value, _schedules.LearningRateSchedule) or type(value) is _Decay:
            inner.fset(self, value)
        elif value is not rate:
            rate.assign(value)

    return property(get, put, doc=inner.__doc__)


def _apply(inner: Any) -> Any:
    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        _applying.depth = getattr(_applying, "depth", 0) + 1
        try:
            return inner(self, *args, **kwargs)
        finally:
            _applying.depth -= 1

    return apply


def _lr(_: Any) -> Any:
    def get(self: Any) -> Any:
        say("optimizer.lr", "optimizer.learning_rate")
        return self.learning_rate

    def put(self: Any, value: Any) -> None:
        say("optimizer.lr", "optimizer.learning_rate")
        self.learning_rate = value

    return property(get, put, doc="The learning rate, as Keras 2 called it.")


def _get_weights(_: Any) -> Any:
    def get_weights(self: Any) -> Any:
        """The values of all variables, for set_weights()."""
        say("optimizer.get_weights()", "[v.numpy() for v in optimizer.variables]")
        return [keras.ops.convert_to_numpy(variable) for variable in self.variables]

    return get_weights


METHODS = {
    keras.optimizers.Optimizer: {
        "__init__": _init,
        "learning_rate": _learning_rate,
        "apply": _apply,
        "lr": _lr,
        "get_weights": _get_weights,
    }
}
