# SPDX-License-Identifier: Apache-2.0
"""The same as _hooks.py for `tf_keras`, the predecessor of Keras 3: the same class over another fit().

There a running fit() has a local `data_handler`, which yields epochs, with an iterator for each, and the steps
of the current epoch. These parts of tf_keras are used:

    fit's locals data_handler, callbacks, epochs, initial_epoch, x, y, sample_weight, shuffle,
        class_weight, workers, use_multiprocessing, max_queue_size, and those of the validation
    DataHandler.enumerate_epochs, .steps, ._adapter, ._dataset, ._inferred_steps, ._steps_per_epoch,
        ._steps_per_execution, ._step_increment, ._insufficient_data
    Model.compiled_loss, .compiled_metrics, ._flatten_layers, ._should_eval, ._eval_data_handler;
        the adapters' _batch_size; data_adapter.get_data_handler
    layers' ._random_generator._generator; optimizers' ._create_all_weights, ._get_hyper

_data_order.py gives the order of arrays and sequences; two classes here look like the adapters of Keras 3 to
it.
"""
import collections
import concurrent.futures
import contextlib
import itertools
import logging
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

from determined.keras import _hooks, _pipeline
from determined.keras._package import keras

Steps = Iterator[Tuple[int, Iterator[Any]]]


def seeds(model: Any) -> List[Any]:
    """The states of the layers' generators, which are not weights there."""
    found = []
    for layer in model._flatten_layers():
        generator = getattr(getattr(layer, "_random_generator", None), "_generator", None)
        state = getattr(generator, "state", None)
        if state is not None:
            found.append(state)
    return found


def rates(optimizer: Any) -> List[Any]:
    """The learning rate, which can be set and does not belong to the optimizer's variables."""
    for rate in (getattr(optimizer, "_learning_rate", None), getattr(optimizer, "_hyper", {}).get("learning_rate")):
        if isinstance(rate, tf.Variable):
            return [rate]
    return []


class ArrayDataAdapter:
    """Arrays, as in Keras 3."""

    def __init__(self, names: Any, adapter: Any) -> None:
        # parts that are None are left out, as in Keras
        whole = keras.utils.pack_x_y_sample_weight(names["x"], names["y"], names["sample_weight"])
        self._inputs = tf.nest.map_structure(_as_tensor, tf.__internal__.nest.list_to_tuple(whole))
        self._num_samples = int(tf.nest.flatten(self._inputs)[0].shape[0])
        self._batch_size = adapter.batch_size()
        self._shuffle = names["shuffle"]


def _as_tensor(array: Any) -> Any:
    """Keras converts all floating-point arrays to its own type."""
    tensor = tf.convert_to_tensor(array)
    return tf.cast(tensor, keras.backend.floatx()) if tensor.dtype.is_floating else tensor


class PyDatasetAdapter:
    """A sequence with the workers given to fit(), as in Keras 3."""

    enqueuer = None

    def __init__(self, names: Any) -> None:
        self.py_dataset = _Sequence(names)
        self.shuffle = names["shuffle"]


class _Sequence:
    def __init__(self, names: Any) -> None:
        self._sequence = names["x"]
        self._arrays = getattr(self._sequence, "_arrays", None)
        self.batch_size = getattr(self._sequence, "batch_size", None)
        for name in ("workers", "use_multiprocessing", "max_queue_size"):
            setattr(self, name, names[name])

    @property
    def num_batches(self) -> int:
        return len(self._sequence)

    def __len__(self) -> int:
        return len(self._sequence)

    def __getitem__(self, index: int) -> Any:
        return self._sequence[index]

    def on_epoch_begin(self) -> None:
        """Does nothing: a sequence of tf_keras has no such method."""

    def on_epoch_end(self) -> None:
        self._sequence.on_epoch_end()


class _Iterator:
    """The part of Keras 3's epoch iterator that other modules read."""

    def __init__(self, handler: Any) -> None:
        self._num_batches = handler._inferred_steps


class Fit:
    """A running model.fit(), seen from the on_train_begin of one of its callbacks."""

    def __init__(self, model: Any) -> None:
        self._names = names = _hooks.names_of_fit(model, "data_handler")
        self.model = model
        self._handler = names["data_handler"]
        self.iterator = _Iterator(self._handler)
        self.callbacks = names["callbacks"]
        self.first_epoch: int = names["initial_epoch"]
        self.epochs: int = names["epochs"]
        self.why_not_built: Optional[Exception] = None
        self._strategy = model.distribute_strategy
        self._dataset = self._handler._dataset
        self._begin = self.first_epoch
        self.validation = _hooks.Validation(names)
        kind = type(self._handler._adapter).__name__
        self.adapter: Any = self._handler._adapter
        if kind == "KerasSequenceAdapter":
            self.adapter = PyDatasetAdapter(names)
        elif kind in ("TensorLikeDataAdapter", "ListsOfScalarsDataAdapter") and names["shuffle"] != "batch":
            self.adapter = ArrayDataAdapter(names, self._handler._adapter)

    # ---- the data

    @property
    def dataset(self) -> Any:
        """The program's tf.data.Dataset, if it trains with one."""
        adapter = self._handler._adapter
        return adapter.get_dataset() if type(adapter).__name__ == "DatasetAdapter" else None

    @property
    def steps_per_epoch(self) -> Optional[int]:
        steps: Optional[int] = self._handler._steps_per_epoch
        return None if steps == -1 else steps

    def build(self) -> None:
        """Creates every variable of the training, also those of the optimizer and of metrics."""
        if type(self._handler._adapter).__name__ == "GeneratorDataAdapter":
            self._keep_first()
        batch = self._first_batch()
        try:
            self._build(batch)
        except Exception as error:
            # Training works without it; resuming does not.
            self.why_not_built = error
        _warn_of_unsaved(self.model)

    def _first_batch(self) -> Any:
        """The first batch. Reading it leaves the generators of a dataset as they were."""
        generators = _pipeline.Generators(self.dataset)
        values = generators.read()
        for found in self._dataset:
            batch = tf.nest.map_structure(lambda x: self._strategy.experimental_local_results(x)[0], found)
            break
        else:
            raise ValueError("the training data is empty")
        generators.write(values)
        return batch

    def _build(self, batch: Any) -> None:
        x, y, _ = keras.utils.unpack_x_y_sample_weight(batch)
        predicted = self.model(x, training=False)
        optimizer = self.model.optimizer
        if hasattr(optimizer, "_create_all_weights"):
            optimizer._create_all_weights(self.model.trainable_variables)
        elif hasattr(optimizer, "build"):
            optimizer.build(self.model.trainable_variables)
        loss, metrics = self.model.compiled_loss, self.model.compiled_metrics
        if y is not None and loss is not None and not loss.built:
            loss.build(predicted)
        if y is not None and metrics is not None and not metrics.built:
            metrics.build(predicted, y)

    def _keep_first(self) -> None:
        """A generator yields each batch once: the first, which build() read, is yielded again."""
        once = iter(self._dataset)
        first = list(itertools.islice(once, 1))
        whole = itertools.chain(first, once)
        passes = iter([first])  # for build(); afterwards all
        if first and self._strategy.num_replicas_in_sync == 1:
            signature = self._handler._adapter.get_dataset().element_spec
            self._dataset = tf.data.Dataset.from_generator(lambda: next(passes, whole), output_signature=signature)

    def prepare_validation(self, **options: Any) -> None:
        """Prepares the data of Keras's validations."""
        from tf_keras.src.engine import data_adapter  # type: ignore[import-untyped,import-not-found,unused-ignore]

        options.update({name: self._names[name] for name in ("max_queue_size", "workers", "use_multiprocessing")})
        options.update(model=self.model, steps_per_execution=self.model._steps_per_execution)
        handler = data_adapter.get_data_handler(initial_epoch=0, epochs=1, **options)
        self.model._eval_data_handler = handler

    def use_dataset(self, dataset: Any) -> None:
        """Feeds a tf.data.Dataset instead of the one that Keras made."""
        if self._names["class_weight"]:
            dataset = dataset.map(_weigh(self._names["class_weight"]))
        self._dataset = self._strategy.experimental_distribute_dataset(dataset)

    def use_sequence(self, view: Any) -> None:
        """Feeds another sequence, batch by batch, through as many workers."""
        signature = self._handler._adapter.get_dataset().element_spec
        standard = self._handler._adapter._standardize_batch

        def batches() -> Iterator[Any]:
            with contextlib.closing(_made(view)) as found:
                for batch in found:
                    yield standard(batch)

        self._view = view
        dataset = tf.data.Dataset.from_generator(batches, output_signature=signature)
        self.use_dataset(dataset.prefetch(tf.data.AUTOTUNE))

    _view: Any = None

    def forget_prepared(self) -> None:
        """Does nothing: nothing is prepared beyond an epoch."""

    def end_workers(self) -> None:
        """Does nothing: workers end with the epoch's iterator."""

    def open_iterator(self) -> Iterator[Any]:
        """A new pass over the data."""
        return iter(self._dataset)

    def iterators_before(self, number: int) -> int:
        """How many iterators are opened before that of a pass; build() has opened one as Keras does."""
        return number

    def take_over(self, prepare: Callable[[], None], steps: Callable[[], Steps]) -> None:
        """Makes `steps` yield the steps of every epoch: their numbers, and where to read. `prepare` is called
        before."""
        handler = self._handler
        current: List[Any] = []

        def enumerate_epochs() -> Iterator[Tuple[int, Iterator[Any]]]:
            for epoch in range(self._begin, self.epochs):
                if handler._insufficient_data:
                    break
                prepare()
                coming = steps()
                first = next(coming, None)
                if first is None:
                    continue
                current[:] = [first[0], coming]
                yield epoch, first[1]
                (self._view or handler._adapter).on_epoch_end()

        def each_step() -> Iterator[int]:
            step, coming = current
            while step is not None and not handler._insufficient_data:
                handler._current_step = step
                if handler._inferred_steps is not None and step >= handler._inferred_steps:
                    return  # as long as the epoch before
                yield step
                step, _ = next(coming, (None, None))

        handler.enumerate_epochs = enumerate_epochs
        handler.steps = each_step

    def expect(self, steps: int) -> None:
        """Counts the steps of the first epoch; the others end after as many."""
        self._handler._inferred_steps = steps

    @property
    def stride(self) -> int:
        """Batches between two calls of a callback."""
        return int(self._handler._steps_per_execution.numpy())

    # ---- the loop

    def begin_at(self, epoch: int, prepare: Callable[[], bool]) -> None:
        """Begins with this epoch. `prepare`: see _hooks.begin_epoch()."""
        self._begin = epoch
        begin = self.callbacks.on_epoch_begin

        def begin_first(epoch: int, logs: Any = None) -> None:
            vars(self.callbacks).pop("on_epoch_begin", None)
            _hooks.begin_epoch(self.callbacks, begin, prepare, epoch, logs)

        self.callbacks.on_epoch_begin = begin_first

    def reorder(self, first: List[Any], last: Any) -> None:
        """Calls `last` after all other callbacks, and `first` before them."""
        rest = [each for each in self.callbacks.callbacks if each is not last and each not in first]
        self.callbacks.callbacks = first + rest + [last]

    def leave_epoch_open(self, logs: Dict[str, Any]) -> None:
        """The epoch that fit is about to leave is not over: it is not validated, and callbacks do not get its end.
        Their on_train_end gets `logs`."""
        vars(self.model)["_should_eval"] = lambda epoch, frequency: False
        self.callbacks.on_epoch_end = lambda epoch, _=None: _hooks.end_with(self, logs)

    def let_go(self) -> None:
        """Restores the model and the list of callbacks."""
        vars(self.model).pop("_should_eval", None)
        for occasion in ("on_epoch_begin", "on_epoch_end", "on_train_end"):
            vars(self.callbacks).pop(occasion, None)


def _warn_of_unsaved(model: Any) -> None:
    """Layers that were made before this package was imported have generators whose state cannot be read."""
    drawing = [
        layer.name
        for layer in model._flatten_layers()
        if getattr(getattr(layer, "_random_generator", None), "_rng_type", None) == "legacy_stateful"
    ]
    if drawing:
        logging.getLogger("determined.keras").warning(
            "the random numbers of layer '%s' cannot be saved, so a resumed training draws others: "
            "import determined.keras before the model is made",
            drawing[0],
        )


def _weigh(weights: Any) -> Any:
    """As Keras weighs classes."""
    from tf_keras.src.engine import data_adapter  # type: ignore[import-untyped,import-not-found,unused-ignore]

    return data_adapter._make_class_weight_map_fn(weights)


# ---- workers

_lent: Any = None  # the sequence of a worker process


def _lend(sequence: Any) -> None:
    global _lent
    _lent = sequence


def _lent_item(index: int) -> Any:
    return _lent[index]


def _made(view: Any) -> Iterator[Any]:
    """The batches of a sequence in order, made ahead by its threads or processes."""
    count = len(view)
    if view.workers < 1 or (view.workers == 1 and not view.use_multiprocessing):
        yield from (view[index] for index in range(count))
        return
    if view.use_multiprocessing:
        pool: Any = concurrent.futures.ProcessPoolExecutor(view.workers, initializer=_lend, initargs=(view,))
        item: Any = _lent_item
    else:
        pool, item = concurrent.futures.ThreadPoolExecutor(view.workers), view.__getitem__
    with pool:
        ahead: Any = collections.deque()
        try:
            for index in range(count):
                ahead.append(pool.submit(item, index))
                if len(ahead) > max(view.max_queue_size, view.workers):
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
