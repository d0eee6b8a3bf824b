# SPDX-License-Identifier: Apache-2.0
"""Creates the variables of a training before it begins, so a checkpoint can be restored into them. Nothing is trained,
and only the shapes of the data are used.

Keras's own way calls the model symbolically: it makes the weights, and the variables of loss and metrics. Some models
have no call(): their train_step() does everything (keras.io's VAE and GANs). Plain Keras makes their variables while it
compiles the first step. Here train_step() is traced once for it; the trace is thrown away. The same makes the
variables of optimizers that only train_step() knows.
"""
from typing import Any, List

from determined.keras._package import backend, keras, tree


def from_shapes(model: Any, dataset: Any) -> bool:
    """Creates them from the shapes that a tf.data.Dataset knows; False if that is not enough."""
    from determined.keras import _pipeline

    spec = _pipeline.batch_spec(dataset)
    if spec is None:
        return False
    try:
        create_variables(model, spec)
    except Exception:  # some sizes are unknown, or the model is wrong: a batch tells
        return False
    return True


def create_variables(model: Any, batch: Any) -> None:
    """`batch` is a batch, or the structure of one with shapes and types."""
    if not _has_own_step(model):
        model._symbolic_build(data_batch=_symbolic(batch))
        return
    if _has_call(model):
        try:
            model._symbolic_build(data_batch=_symbolic(batch))
            if model.run_eagerly or not _unbuilt_optimizers(model):
                return  # what runs eagerly cannot always be traced; _owned.build() makes the rest before a restore
        except Exception:  # of a call() that is not for the training data, as a generator's
            if model.run_eagerly:
                raise
    _trace_train_step(model, batch)


def _has_own_step(model: Any) -> bool:
    own = getattr(model.train_step, "__func__", None)
    return backend == "tensorflow" and own is not keras.Model.train_step


def _has_call(model: Any) -> bool:
    return type(model).call is not keras.Model.call


def _unbuilt_optimizers(model: Any) -> List[Any]:
    held = [each for each in vars(model).values() if isinstance(each, keras.optimizers.Optimizer)]
    return [each for each in held if not each.built]


def _symbolic(batch: Any) -> Any:
    return tree.map_structure(lambda each: None if each is None else _tensor(each), batch)


def _tensor(value: Any) -> Any:
    shape = tuple(None if size is None else int(size) for size in value.shape)
    return keras.KerasTensor(shape, keras.backend.standardize_dtype(value.dtype))


def _trace_train_step(model: Any, batch: Any) -> None:
    import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

    strategy = model.distribute_strategy
    spec = tf.nest.map_structure(_spec, batch)

    def step(data: Any) -> Any:
        return strategy.run(model.train_step, args=(data,))

    with strategy.scope():
        tf.function(step, autograph=False).get_concrete_function(spec)


def _spec(value: Any) -> Any:
    import tensorflow as tf

    return value if value is None or isinstance(value, tf.TypeSpec) else tf.type_spec_from_value(value)
