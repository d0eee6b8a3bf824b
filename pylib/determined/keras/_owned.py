# SPDX-License-Identifier: Apache-2.0
"""The state that a model owns beside its weights: optimizers, metrics and variables in its attributes.

Keras trains with one optimizer, `model.optimizer`, and knows the metrics in `model.metrics`. A model with its own
train_step() may have more: the GAN of keras.io has an optimizer for each of its networks. They are found in the
attributes of the model and of its layers, also inside of lists, tuples and dicts, in the order in which the program
set them; so two processes that build the same model find the same.

An optimizer makes its variables in the first step that uses it. A checkpoint therefore notes for which weights each
one was built, and a resumed training builds it again before it restores the variables.
"""
import contextlib
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Set

from determined.keras._package import is_legacy, keras

# Where a context puts optimizers that were wrapped and are not attributes of the model.
_GIVEN = "_det_optimizers"


# Variables of tf_keras that belong to a fit(), not to the training.
_OF_FIT = ("_steps_per_execution", "_train_counter", "_test_counter", "_predict_counter")


# ---- attributes


def _leaves(value: Any, seen: Set[int]) -> Iterator[Any]:
    if isinstance(value, (list, tuple, dict)):
        if id(value) in seen:
            return
        seen.add(id(value))
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each, seen)
    else:
        yield value


def _attributes(model: Any) -> Iterator[Any]:
    """The values of the attributes of a model and of its layers."""
    seen: Set[int] = set()
    for layer in model._flatten_layers():
        for name, value in list(vars(layer).items()):
            if not name.startswith("_self_") and name not in _OF_FIT:  # the first are TensorFlow's own notes
                yield from _leaves(value, seen)


def _found(model: Any, is_wanted: Callable[[Any], bool]) -> List[Any]:
    found: Dict[int, Any] = {}
    for each in _attributes(model):
        if is_wanted(each):
            found.setdefault(id(each), each)
    return list(found.values())


# ---- optimizers


def _is_optimizer(value: Any) -> bool:
    if is_legacy:
        return isinstance(value, (keras.optimizers.Optimizer, keras.optimizers.legacy.Optimizer))
    return isinstance(value, keras.optimizers.Optimizer)


def optimizers(model: Any) -> List[Any]:
    """All of them, that of compile() first; not those inside of another one, for mixed precision."""
    first = getattr(model, "optimizer", None)
    found = [first] if _is_optimizer(first) else []
    found += [each for each in _found(model, _is_optimizer) if each is not first]
    inner = [getattr(each, "inner_optimizer", None) for each in found]
    return [each for each in found if not any(each is one for one in inner)]


def give(model: Any, wrapped: List[Any]) -> None:
    """Makes optimizers that the program has wrapped part of the model's state."""
    object.__setattr__(model, _GIVEN, list(wrapped))


def variables(optimizer: Any) -> List[Any]:
    found = getattr(optimizer, "variables", ())
    return list(found() if callable(found) else found)


def _keys_of_weights(optimizer: Any) -> List[Any]:
    """The weights that an optimizer was built for, by the key of _key()."""
    if not is_legacy:
        return [id(each) for each in getattr(optimizer, "_trainable_variables", ())]
    return list(getattr(optimizer, "_index_dict", None) or getattr(optimizer, "_slots", {}))


def _key(variable: Any) -> Any:
    return getattr(variable, "_unique_id", None) if is_legacy else id(variable)


def _weights(model: Any) -> List[Any]:
    """Everything that an optimizer may train: also plain variables of TensorFlow."""
    return [*model.weights, *_others(model, model.weights, lambda each: [_variable(each)])]


def weights_of_optimizers(model: Any) -> List[Optional[List[int]]]:
    """For each optimizer the numbers of the weights that it was built for; None: it is not built, or for others."""
    numbers = {_key(each): i for i, each in enumerate(_weights(model))}
    keys = [_keys_of_weights(each) for each in optimizers(model)]
    return [[numbers[key] for key in each] if each and all(key in numbers for key in each) else None for each in keys]


def _name_scope(optimizer: Any) -> Any:
    """That of a training step, where tf_keras would make the variables."""
    if not is_legacy:
        return contextlib.nullcontext()
    return keras.backend.name_scope(getattr(optimizer, "_name", None) or optimizer.name)


def build(model: Any, weights: List[Optional[List[int]]]) -> None:
    """Makes the variables of the optimizers that have none yet. `weights` is the result of weights_of_optimizers()
    when the checkpoint was saved."""
    present = optimizers(model)
    if len(present) != len(weights):
        raise ValueError(
            f"the checkpoint belongs to another model: the checkpoint has {len(weights)} optimizers, the model has "
            f"{len(present)}"
        )
    every = _weights(model)
    strategy = getattr(model, "distribute_strategy", None)
    with strategy.scope() if strategy is not None else contextlib.nullcontext():
        for optimizer, numbers in zip(present, weights):
            if numbers is None or _keys_of_weights(optimizer) or max(numbers) >= len(every):
                continue
            make = getattr(optimizer, "_create_all_weights", None) or optimizer.build
            with _name_scope(optimizer):
                make([every[number] for number in numbers])


# ---- metrics and variables


def _is_metric(value: Any) -> bool:
    return isinstance(value, keras.metrics.Metric)


def _variable(value: Any) -> Any:
    """The variable of Keras or TensorFlow that it is, or the state of a generator of TensorFlow; else None."""
    if not is_legacy and isinstance(value, keras.Variable):
        return value
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None:
        return None
    if isinstance(value, tensorflow.random.Generator):
        return value.state
    return value if isinstance(value, tensorflow.Variable) else None


def _others(model: Any, known: List[Any], variables_of: Callable[[Any], List[Any]]) -> List[Any]:
    # a variable of Keras holds one of TensorFlow
    found: Dict[int, Any] = {id(inner): None for each in known for inner in (each, getattr(each, "_value", each))}
    for each in _attributes(model):
        for variable in variables_of(each):
            if variable is not None:
                found.setdefault(id(variable), variable)
    return [variable for variable in found.values() if variable is not None]


def other_variables(model: Any, known: List[Any]) -> List[Any]:
    """Variables in attributes, and those of metrics in attributes, that are not `known`."""
    return _others(model, known, lambda each: each.variables if _is_metric(each) else [_variable(each)])
