# SPDX-License-Identifier: Apache-2.0
"""One model on several ranks: averaged gradients, equal weights, combined metrics.

A wrapped optimizer is the user's own object with another class, made for it, that processes the gradients
first. Everything else stays: its `__class__` is still the old one, so it is saved, compared and shown as
before, and a model saved here loads anywhere.

    apply(gradients)  ->  add up `aggregation_frequency` of them, on this rank
                      ->  the mean of all ranks, by the op DetAverage (_average.c)
                      ->  the optimizer's own apply(): clipping, decay, update

All ranks decide the same because they see the same: the number of added gradients is equal everywhere, and with
mixed precision the *scaled* gradients are averaged, so an overflow on one rank is an overflow on all. If a rank
is out of step, the op fails on all ranks, with a sentence.

A model may have several optimizers (_owned.py); wrap_model() wraps all of them. An optimizer that train_step() uses
and that is not wrapped is refused by its name, and the ranks compare their weights before they save them.

A model that XLA compiles cannot contain the op: it is refused, or, by wrap_model(), compiled without XLA.
"""
import atexit
import ctypes
import functools
import hashlib
import itertools
import logging
import os
import sys
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from determined.keras import _owned
from determined.keras._package import backend, is_legacy, keras

logger = logging.getLogger("determined.keras")

NOTICE_S = 60.0  # a rank that waits longer for another rank says so, once
_PIECE = 16 * 1024 * 1024


# ---- the op


class _Op:
    """The ranks of this process; one per process."""

    def __init__(self) -> None:
        from determined.keras import _ops

        self.module, self.library, self._told = _ops.ops(), _ops.library(), _ops.told

    def join(self, rank: int, size: int) -> None:
        notice = ctypes.c_int64(int(NOTICE_S * 1e6))
        self._told(self.library.det_average_open, rank, size, notice)

    def leave(self, at_once: bool) -> None:
        self.library.det_average_close(int(at_once))


_op: List[_Op] = []


def _leave() -> None:
    # A rank that fails does not wait for the others: when it ends, they fail, too.
    _op[0].leave(at_once=getattr(sys, "last_type", None) is not None)


def join(group: Any) -> None:
    """Prepares this process to average with the others; all ranks call it. wrap_optimizer() and wrap_model() call
    it if there is more than one rank."""
    if group is None or group.size == 1:
        return
    if backend != "tensorflow":
        raise ValueError(
            f"gradients of several processes are averaged inside of TensorFlow, and Keras runs on {backend} "
            "here: set KERAS_BACKEND=tensorflow, or train with one slot"
        )
    if not _op:
        op = _Op()
        op.join(group.rank, group.size)
        _op.append(op)
        atexit.register(_leave)
    else:
        _op[0].join(group.rank, group.size)


# ---- optimizers


class _Plan(NamedTuple):
    group: Any
    every: int
    divides: bool
    halves: bool
    stream: int

    @property
    def size(self) -> int:
        return 1 if self.group is None else int(self.group.size)


_streams = itertools.count()


def _loss_scale_class() -> type:
    if is_legacy:
        return keras.mixed_precision.LossScaleOptimizer  # type: ignore[no-any-return,unused-ignore]
    return keras.optimizers.LossScaleOptimizer  # type: ignore[no-any-return,unused-ignore]


def _check_callers(plan: _Plan) -> None:
    """While a step is traced, before it makes variables: refuses compiled settings that do not work with a wrapped
    optimizer. settle() corrects both."""
    frame: Any = sys._getframe(2) if plan.size > 1 else None
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, _loss_scale_class()) and not is_wrapped(caller):
            raise ValueError(
                "a wrapped optimizer is inside of a LossScaleOptimizer, where ranks would disagree about which "
                "steps to skip: wrap the LossScaleOptimizer, or the model (wrap_model)"
            )
        if frame.f_code.co_name == "train_step":
            if getattr(caller, "jit_compile", None) is True:
                raise ValueError(
                    "the model was compiled with jit_compile=True, and XLA cannot average gradients between "
                    "processes: compile it with jit_compile=False, or wrap the model (wrap_model)"
                )
            return
        frame = frame.f_back


def _without_none(gradients: Sequence[Any], variables: Sequence[Any]) -> List[Any]:
    """Zeros, if no variable has a gradient: a model that cannot learn still runs."""
    if any(gradient is not None for gradient in gradients):
        return list(gradients)
    return [_zeros(variable) for variable in variables]


def _zeros(variable: Any) -> Any:
    return (keras.backend if is_legacy else keras.ops).zeros_like(variable)


def _dense(gradient: Any) -> Any:
    """Also for IndexedSlices (embeddings)."""
    import tensorflow as tf

    return tf.convert_to_tensor(gradient)


def _rows_of_ranks(plan: _Plan, slices: Any) -> Any:
    """IndexedSlices (embeddings): the rows of all ranks are those of the whole batch."""
    import tensorflow as tf

    values = tf.cast(slices.values, tf.float16) if plan.halves else slices.values
    indices, values = _op[0].module.det_gather(indices=slices.indices, values=values, stream=plan.stream)
    if not tf.executing_eagerly():
        indices.set_shape([None])
        values.set_shape([None] + slices.values.shape[1:].as_list())
    values = tf.cast(values, slices.values.dtype) / plan.size
    return tf.IndexedSlices(values, indices, slices.dense_shape)


def _mean_of_ranks(plan: _Plan, gradients: Sequence[Any]) -> List[Any]:
    if plan.size == 1:
        return list(gradients)
    import tensorflow as tf

    result = list(gradients)
    dense = [i for i, gradient in enumerate(gradients) if isinstance(gradient, tf.Tensor)]
    if dense:
        means = _op[0].module.det_average(
            gradients=[gradients[i] for i in dense], stream=plan.stream, as_half=plan.halves
        )
        for i, mean in zip(dense, means):
            result[i] = mean
    for i, gradient in enumerate(gradients):
        if isinstance(gradient, tf.IndexedSlices):
            result[i] = _rows_of_ranks(plan, gradient)
    return result


class _Averaging:
    """Processes the gradients before the optimizer's own class gets them."""

    _det_plan: _Plan
    _det_sums: List[Any]  # by variable; with _det_count at the end of .variables
    _det_count: Any

    def _det_build(self, variables: Sequence[Any]) -> None:
        if self._det_plan.every == 1 or getattr(self, "_det_count", None) is not None:
            return
        if is_legacy:
            self._det_sums = [
                self.add_variable_from_reference(each, "aggregated_gradient")  # type: ignore[attr-defined]
                for each in variables
            ]
            self._det_count = keras.backend.variable(0, dtype="int64", name="aggregated_batches")
            self._variables.append(self._det_count)  # type: ignore[attr-defined]
            return
        sums = [
            self.add_variable_from_reference(each, name="aggregated_gradient")  # type: ignore[attr-defined]
            for each in variables
        ]
        object.__setattr__(self, "_det_sums", sums)
        self._det_count = self.add_variable(  # type: ignore[attr-defined]
            shape=(), dtype="int64", name="aggregated_batches"
        )

    def build(self, *args: Any, **kwargs: Any) -> None:
        was_built = getattr(self, "built", False)
        super().build(*args, **kwargs)  # type: ignore[misc]
        if not was_built:
            self._det_build(list(args[0] if args else next(iter(kwargs.values()))))

    # A file holds the plain optimizer, which loads anywhere; checkpoints of a
    # training save .variables, and so the sums as well.

    def _det_own(self) -> List[Any]:
        own = list(getattr(self, "_det_sums", ()))
        own.append(getattr(self, "_det_count", None))
        return own

    def _det_plain_variables(self) -> List[Any]:
        own = {id(each) for each in self._det_own()}
        return [each for each in self.variables if id(each) not in own]  # type: ignore[attr-defined]

    def save_own_variables(self, store: Any) -> None:
        for i, variable in enumerate(self._det_plain_variables()):
            store[str(i)] = variable.numpy()

    def load_own_variables(self, store: Any) -> None:
        variables = self._det_plain_variables()
        if len(store.keys()) != len(variables):
            super().load_own_variables(store)  # type: ignore[misc]  # says what is wrong
            return
        for i, variable in enumerate(variables):
            variable.assign(store[str(i)])

    def _det_apply(self, gradients: Sequence[Any], variables: Sequence[Any], go_on: Any) -> None:
        """go_on(gradients) calls the optimizer's own method."""
        plan = self._det_plan
        gradients = _without_none(gradients, variables)
        if plan.every == 1:
            go_on(_mean_of_ranks(plan, gradients))
            return
        self._det_build(variables)
        sums = dict(zip(map(_key, self._det_variables(variables)), self._det_sums))
        pairs = [(g, sums[_key(v)]) for g, v in zip(gradients, variables)]
        for gradient, sum_ in pairs:
            if gradient is not None:
                sum_.assign_add(_dense(gradient) if backend == "tensorflow" else gradient)
        self._det_count.assign_add(1)

        def apply_sums() -> None:
            scale = plan.every if plan.divides else 1
            total = [None if g is None else sum_ / scale for g, sum_ in pairs]
            go_on(_mean_of_ranks(plan, total))
            for each in [*self._det_sums, self._det_count]:
                each.assign(_zeros(each))

        _when(self._det_count >= plan.every, apply_sums)

    def _det_variables(self, variables: Sequence[Any]) -> List[Any]:
        """The variables that the optimizer was built for, in that order."""
        return list(getattr(self, "_trainable_variables", None) or variables)


def _key(variable: Any) -> Any:
    return getattr(variable, "ref", lambda: id(variable))() if is_legacy else id(variable)


def _when(condition: Any, action: Any) -> None:
    if is_legacy:
        import tensorflow as tf

        def act() -> Any:
            action()
            return tf.constant(0)

        tf.cond(condition, act, lambda: tf.constant(0))
    else:
        keras.ops.cond(condition, action, lambda: None)


class _Modern(_Averaging):
    """Keras 3."""

    def apply(self, grads: Any, trainable_variables: Optional[Iterable[Any]] = None) -> None:
        _check_callers(self._det_plan)
        grads = list(grads)
        if not grads:
            return
        if trainable_variables is None:
            variables = list(self._trainable_variables)  # type: ignore[attr-defined]
        else:
            variables = list(trainable_variables)
            if not self.built:  # type: ignore[attr-defined]
                with keras.name_scope(self.name, caller=self):  # type: ignore[attr-defined]
                    self.build(variables)
        own = super().apply  # type: ignore[misc]
        self._det_apply(grads, variables, lambda means: own(means, variables))


class _Legacy(_Averaging):
    """tf_keras, both kinds: `optimizers.Optimizer` and `optimizers.legacy.Optimizer`."""

    def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        _check_callers(self._det_plan)
        pairs = list(grads_and_vars)
        variables = [variable for _, variable in pairs]
        own = super().apply_gradients  # type: ignore[misc]
        kept: List[Any] = []
        if hasattr(self, "build") and not getattr(self, "_built", True):
            self.build(variables)

        def go_on(means: Sequence[Any]) -> None:
            kept.append(own(list(zip(means, variables)), *args, **kwargs))

        self._det_apply([gradient for gradient, _ in pairs], variables, go_on)
        return kept[-1] if kept and self._det_plan.every == 1 else None


_classes: Dict[type, type] = {}


def _class_of(plain: type) -> type:
    """The class for objects of class `plain` that average; it looks like the plain one."""
    if plain not in _classes:
        body = {
            "__class__": property(lambda self: plain),
            "__module__": plain.__module__,
            "__qualname__": plain.__qualname__,
            "__doc__": plain.__doc__,
        }
        if is_legacy and not hasattr(plain, "build"):
            # optimizers.legacy: slots are made when they are first needed
            body["build"] = lambda self, variables: None
        _classes[plain] = type(plain.__name__, (_Legacy if is_legacy else _Modern, plain), body)
    return _classes[plain]


def _become(thing: Any, cls: type) -> None:
    object.__dict__["__class__"].__set__(thing, cls)


def is_wrapped(optimizer: Any) -> bool:
    return issubclass(type(optimizer), _Averaging)


def _unwrap(optimizer: Any) -> None:
    if is_wrapped(optimizer):
        _become(optimizer, type(optimizer).__mro__[2 + (type(optimizer).__mro__[2] is _Averaging)])


def _checked(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"aggregation_frequency is {value!r}; expected a whole number, at least 1")
    return value


def _check_kind(optimizer: Any, plan: _Plan) -> None:
    base = (keras.optimizers.Optimizer, keras.optimizers.legacy.Optimizer) if is_legacy else keras.optimizers.Optimizer
    if not isinstance(optimizer, base):
        raise TypeError(f"{optimizer!r:.200} is not an optimizer of Keras; expected one, or its name")
    if is_legacy and plan.every > 1 and isinstance(optimizer, keras.optimizers.legacy.Optimizer):
        raise ValueError(
            f"aggregation_frequency is {plan.every}, and {type(optimizer).__name__} of tf_keras.optimizers.legacy "
            "cannot add gradients up: use the one of tf_keras.optimizers"
        )
    if plan.every > 1 and backend != "tensorflow":
        raise ValueError(
            f"aggregation_frequency is {plan.every}, and Keras runs on {backend} here: give the optimizer "
            f"gradient_accumulation_steps={plan.every} instead"
        )


def wrap_optimizer(
    optimizer: Any,
    group: Any = None,
    *,
    aggregation_frequency: int = 1,
    average_aggregated_gradients: bool = True,
    fp16: bool = False,
) -> Any:
    """The same optimizer, which from now on averages its gradients over the ranks of `group` (a
    DistributedContext; None: this process alone), and uses zeros if a model has no gradient at all. The
    gradients of every `aggregation_frequency` batches are added up first; `fp16` sends them as halves. A
    wrapped optimizer stays as it is."""
    if isinstance(optimizer, (str, dict)):
        optimizer = keras.optimizers.get(optimizer)
    if is_wrapped(optimizer):
        return optimizer
    plan = _Plan(group, _checked(aggregation_frequency), average_aggregated_gradients, fp16, 0)
    _check_kind(optimizer, plan)
    join(group)
    if backend != "tensorflow":
        return optimizer  # one process, nothing to add up
    if isinstance(optimizer, _loss_scale_class()):
        _unwrap(optimizer.inner_optimizer)
    if getattr(optimizer, "built", False) and plan.every > 1:
        raise ValueError("the optimizer was already used: wrap it first, or compile the model again")
    object.__setattr__(optimizer, "_det_plan", plan._replace(stream=next(_streams)))
    _become(optimizer, _class_of(type(optimizer)))
    return optimizer


# ---- models


def _without_xla(model: Any) -> None:
    if not getattr(model, "jit_compile", None):
        return
    logger.warning(
        "XLA cannot average gradients between processes: the model is trained with jit_compile=False"
    )
    model.jit_compile = False
    if getattr(model, "train_function", None) is not None:
        model.make_train_function(force=True)


def settle(model: Any) -> Any:
    """Corrects a model that was compiled after its optimizers were wrapped: mixed precision wrapped another one
    around them, or XLA was turned on. Does nothing to a model without a wrapped optimizer."""
    for optimizer in _owned.optimizers(model):
        inner = getattr(optimizer, "inner_optimizer", None)
        if is_wrapped(inner):
            plan = inner._det_plan
            _unwrap(inner)
            wrap_optimizer(optimizer, plan.group, **_options_of(plan))
    if any(is_wrapped(each) and each._det_plan.size > 1 for each in _owned.optimizers(model)):
        _without_xla(model)
    return model


def _options_of(plan: _Plan) -> Dict[str, Any]:
    return {
        "aggregation_frequency": plan.every,
        "average_aggregated_gradients": plan.divides,
        "fp16": plan.halves,
    }


def wrap_optimizers(model: Any, group: Any = None, **options: Any) -> None:
    """Wraps every optimizer of a model with these options of wrap_optimizer(), also those that it uses in its own
    train_step(), and watches that it uses no other."""
    is_plain = (group is None or group.size == 1) and options.get("aggregation_frequency", 1) == 1
    for each in _owned.optimizers(model):
        is_compiled = each is getattr(model, "optimizer", None)
        if is_compiled or not getattr(each, "built", False) or options.get("aggregation_frequency", 1) == 1:
            wrap_optimizer(each, group, **options)
    settle(model)
    if not is_plain:
        _watch(model)


def wrap_model(model: Any, group: Any = None, **options: Any) -> Any:
    """The same model: every optimizer that it is compiled with, now or later, also by name, is wrapped with these
    options of wrap_optimizer()."""
    if not isinstance(model, keras.Model):
        raise TypeError(f"{model!r:.200} is not a model; expected a keras.Model")
    _checked(options.get("aggregation_frequency", 1))
    join(group)
    if getattr(model, "_det_is_wrapped", False):
        return model
    plain = model.compile

    def compile(*args: Any, **kwargs: Any) -> Any:
        result = plain(*args, **kwargs)
        wrap_optimizers(model, group, **options)
        return result

    object.__setattr__(model, "compile", compile)
    object.__setattr__(model, "_det_is_wrapped", True)
    wrap_optimizers(model, group, **options)
    return model


# ---- optimizers that nobody wrapped

_WATCHED = "_det_is_watched"


def _watch(model: Any) -> None:
    """From now on an optimizer that is not wrapped is refused in the model's train_step()."""
    object.__setattr__(model, _WATCHED, True)
    if _guarded:
        return
    bases = [keras.optimizers.Optimizer, *([keras.optimizers.legacy.Optimizer] if is_legacy else [])]
    for base in bases:
        _guard(base, "apply_gradients" if is_legacy else "apply")
        _guarded.append(base)


_guarded: List[type] = []


def _guard(base: type, name: str) -> None:
    own = getattr(base, name)

    @functools.wraps(own)
    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_wrapped(self):
            _check_watched(self)
        return own(self, *args, **kwargs)

    setattr(base, name, apply)


def _check_watched(optimizer: Any) -> None:
    frame: Any = sys._getframe(2)
    while frame is not None:
        caller = frame.f_locals.get("self")
        if is_wrapped(caller):
            return  # a wrapped optimizer uses this one
        if frame.f_code.co_name.endswith("train_step") and getattr(caller, _WATCHED, False):
            raise ValueError(
                f"the optimizer '{getattr(optimizer, 'name', type(optimizer).__name__)}' in train_step() is not wrapped, so "
                "its gradients are not averaged over the slots and batches: make it an attribute of the model before "
                "compile(), or give it to wrap_optimizer()"
            )
        frame = frame.f_back


# ---- the same weights everywhere


def _is_seed(variable: Any) -> bool:
    return "seed_generator_state" in str(getattr(variable, "path", variable.name))


def rank_variables(optimizer: Any) -> List[Any]:
    """The optimizer's variables that differ between ranks: the gradients added up since the last average."""
    return list(getattr(optimizer, "_det_sums", ())) if is_wrapped(optimizer) else []


def _shared(model: Any) -> List[Tuple[str, Any]]:
    """(name, variable) of the state that ranks have in common: not their random generators."""
    everything = list(model.weights)
    for optimizer in _owned.optimizers(model):
        own = {id(each) for each in rank_variables(optimizer)}
        everything += [each for each in _owned.variables(optimizer) if id(each) not in own]
    return [(str(getattr(each, "path", each.name)), each) for each in everything if not _is_seed(each)]


def _array(variable: Any) -> np.ndarray:
    # not ascontiguousarray(), which makes a vector of a single number
    return np.asarray(variable.numpy() if hasattr(variable, "numpy") else variable, order="C")


def _trained(model: Any) -> List[Tuple[str, Any]]:
    """All trainable weights and the optimizers' state: equal on every rank. Statistics (batch normalisation) differ
    between ranks until average_statistics()."""
    trainable = {id(each) for each in model.trainable_weights}
    other = {id(each) for each in model.weights} - trainable
    return [(name, variable) for name, variable in _shared(model) if id(variable) not in other]


def checksum(model: Any) -> str:
    """A checksum of the state that is equal on every rank."""
    digest = hashlib.sha256()
    for _, variable in _trained(model):
        digest.update(_array(variable).tobytes())
    return digest.hexdigest()


def check_equal(model: Any, group: Any, batches: int) -> None:
    """Refuses to go on if the ranks have trained different weights. All ranks call it."""
    if group is None or group.size == 1:
        return
    own = [(name, hashlib.sha256(_array(each).tobytes()).hexdigest()) for name, each in _trained(model)]
    every = group.allgather(own)
    wrong = next((row[0][0] for row in zip(*every) if len({digest for _, digest in row}) > 1), None)
    if wrong is None and len({len(each) for each in every}) == 1:
        return
    raise RuntimeError(
        f"the slots have trained different weights after {batches} batches, the first is '{wrong or 'one more variable'}': "
        "train_step() changes it without a wrapped optimizer, or differently on each slot; use optimizers that are "
        "attributes of the model, or wrap_optimizer()"
    )


def broadcast(model: Any, group: Any) -> None:
    """Gives every rank the weights and the optimizer's state of rank 0."""
    if group is None or group.size == 1:
        return
    pairs = _shared(model)
    arrays = [_array(variable) for _, variable in pairs]
    shapes = [(list(each.shape), str(each.dtype)) for each in arrays]
    first = group.broadcast(shapes)
    wrong = None if len(first) == len(shapes) else f"{len(shapes)} variables, and that of rank 0 {len(first)}"
    for (name, _), own, other in zip(pairs, shapes, first):
        if own != other and wrong is None:
            wrong = f"variable '{name}' of {_text(own)}, and that of rank 0 one of {_text(other)}"
    told = [each for each in group.allgather(wrong) if each is not None]
    if told:
        raise ValueError(f"the model of a rank has {told[0]}: every rank must build the same model")
    everything = b"".join(each.tobytes() for each in arrays)
    parts = [group.broadcast(everything[at : at + _PIECE]) for at in range(0, len(everything), _PIECE)]
    if group.rank != 0:
        _assign(pairs, arrays, b"".join(parts))


def _text(shape: Tuple[List[int], str]) -> str:
    return f"{' x '.join(map(str, shape[0])) or 'one number'} {shape[1]}"


def _assign(pairs: Sequence[Tuple[str, Any]], arrays: Sequence[np.ndarray], data: bytes) -> None:
    at = 0
    for (_, variable), own in zip(pairs, arrays):
        values = np.frombuffer(data[at : at + own.nbytes], dtype=own.dtype).reshape(own.shape)
        variable.assign(values)
        at += own.nbytes


def average_statistics(model: Any, group: Any) -> None:
    """Replaces weights that are not trained (the statistics of batch normalisation) by their mean over all ranks,
    so all ranks validate and save the same model."""
    if group is None or group.size == 1:
        return
    own = [each for each in model.non_trainable_weights if not _is_seed(each)]
    own = [each for each in own if "float" in str(each.dtype)]
    every = group.allgather([_array(each) for each in own]) if own else []
    for i, variable in enumerate(own):
        mean = sum(arrays[i].astype(np.float64) for arrays in every) / group.size
        variable.assign(mean.astype(every[0][i].dtype))


# ---- metrics


def _plain(results: Dict[str, Any]) -> Dict[str, Any]:
    """Python numbers, or arrays of several, in dicts as in Keras."""
    plain: Dict[str, Any] = {}
    for name, value in results.items():
        if isinstance(value, dict):
            plain.update(_plain(value))
        else:
            array = np.asarray(value)
            plain[name] = array.item() if array.ndim == 0 else array
    return plain


def _results(model: Any) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for metric in model.metrics:
        if getattr(metric, "built", True) is False:
            continue  # has seen no batch
        result = metric.result()
        found.update(result if isinstance(result, dict) else {metric.name: result})
    return _plain(found)


def metric_variables(model: Any) -> List[Any]:
    if is_legacy:
        return [each for metric in model.metrics for each in metric.variables]
    return list(model.metrics_variables)


def reduce_metrics(model: Any, distributed: Any) -> Dict[str, Any]:
    """The metrics over everything that all ranks have seen since the last reset: sums and counts are added up, so
    every sample has the same weight on any rank. Each rank keeps its own state. All ranks call it, and get the
    same result."""
    if distributed is None or distributed.size == 1:
        return _results(model)
    variables = metric_variables(model)
    own = [_array(each) for each in variables]
    every = distributed.allgather(own)
    most = max(len(each) for each in every)
    if len(own) < most:  # a rank that has seen no batch has no metrics yet
        return next(each for each in distributed.allgather(None) if each is not None)
    try:
        for i, variable in enumerate(variables):
            total = sum(each[i].astype(np.float64) for each in every if len(each) == most)
            variable.assign(np.asarray(total).astype(own[i].dtype))
        results = _results(model)
    finally:
        for variable, value in zip(variables, own):
            variable.assign(value)
    if any(len(each) < most for each in every):
        distributed.allgather(results)
    return results
