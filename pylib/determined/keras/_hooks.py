# SPDX-License-Identifier: Apache-2.0
"""All private parts of Keras that exact resume needs, in one place.

Keras has no public way to begin in the middle of an epoch, nor to set the order of arrays. A running `fit`
controls both: a local variable `epoch_iterator`, whose `_enumerate_iterator()` yields the steps of an epoch,
and `model._initial_epoch`. on_train_begin comes after the first was made and before the second is read: there
`Fit` takes over.

The parts that are used, and where Keras has them (tests/python/keras/test_callback.py says which of them a new
Keras lacks):

    fit's locals epoch_iterator, callbacks, epochs, initial_epoch    backend/*/trainer.py
        batch_size, val_x, val_y, val_sample_weight, and its arguments validation_...
    EpochIterator._enumerate_iterator, ._get_iterator, .data_adapter,
        ._num_batches, ._steps_seen, .steps_per_epoch, .steps_per_execution
    TFEpochIterator._distributed_dataset, ._distribute_strategy
    Trainer._symbolic_build (_build.py), ._initial_epoch, ._should_eval, ._eval_epoch_iterator
    CallbackList.callbacks
    Optimizer._learning_rate
    Trainer._compile_metrics
    Trainer.train_function, which calls the compiled `multi_step_on_iterator` that it closes over
    keras.src.backend.common.global_state, keras.src.random.seed_generator.global_seed_generator
        (the generator behind keras.random without a seed)
"""
import contextlib
import sys
from types import FrameType
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from determined.keras import _build
from determined.keras._package import backend, is_legacy, keras, tree

_COMPILED_STEP = "multi_step_on_iterator"


def seeds(model: Any) -> List[Any]:
    """The variables of generators outside of the model: that of the generator behind keras.random, if it exists."""
    from keras.src.backend.common import global_state  # type: ignore[import-untyped,import-not-found,unused-ignore]

    generator = global_state.get_global_attribute("global_seed_generator")
    return [] if generator is None else [generator.state]


def replicas(variable: Any) -> List[Any]:
    """The variables of each replica in this process, if a strategy of TensorFlow has made several of one. Their values
    differ if it reduces them when they are read (metrics) or never (the statistics of a BatchNormalization)."""
    held = variable if is_legacy else getattr(variable, "_value", variable)
    parts = getattr(held, "values", None)
    return list(parts) if isinstance(parts, (list, tuple)) and len(parts) > 1 else [held]


def make_seed() -> None:
    """Creates the generator behind keras.random, which otherwise exists only after the first draw."""
    if is_legacy:
        return  # it has none
    from keras.src.random import seed_generator  # type: ignore[import-untyped,import-not-found,unused-ignore]

    seed_generator.global_seed_generator()


def rates(optimizer: Any) -> List[Any]:
    """The variable of a learning rate that does not belong to the optimizer's variables."""
    from determined.keras import _compat_optimizer

    rate = _compat_optimizer.first_rate(optimizer)
    return [] if rate is None else [rate]


def names_of_fit(model: Any, name: str) -> Dict[str, Any]:
    """The locals of the fit() that runs a callback of this model, `name` among them."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None:
        names = frame.f_locals
        if frame.f_code.co_name == "fit" and names.get("self") is model and name in names:
            return names
        frame = frame.f_back
    raise RuntimeError(
        "this callback was not called by the fit() of "
        f"{keras.__name__} {keras.__version__}: pass it to model.fit()"
    )


def begin_epoch(callbacks: Any, begin: Any, prepare: Callable[[], bool], epoch: int, logs: Any) -> None:
    """The on_epoch_begin of a list of callbacks in the first epoch of a process. `prepare` is called before, after
    every on_train_begin; it says whether the epoch began in an earlier process. Callbacks got its beginning there.
    Only ours and those that show the progress or measure the time of this process get it again."""
    if not prepare():
        begin(epoch, logs)
        return
    for each in callbacks.callbacks:
        if isinstance(each, keras.callbacks.ProgbarLogger) or getattr(each, "is_ours", False):
            each.on_epoch_begin(epoch, logs)
        elif isinstance(each, keras.callbacks.TensorBoard):
            keras.callbacks.TensorBoard.on_epoch_begin(each, epoch, logs)


def _first_cause(error: BaseException) -> BaseException:
    """An error of the user's code: Keras reports it in its own words, several times."""
    while error.__context__ is not None:
        error = error.__context__
    return error


class Validation:
    """The validation of a running model.fit(): its data, and the arguments about it. Keras prepares the data before
    the first validation, unless `model._eval_epoch_iterator` is there already."""

    def __init__(self, names: Dict[str, Any]) -> None:
        self.given: Dict[str, Any] = {
            name: names[name] for name in ("validation_steps", "validation_batch_size", "validation_freq", "batch_size")
        }
        self.data: Optional[Dict[str, Any]] = None
        if names["validation_data"] is not None:
            self.data = {name: names[f"val_{name}"] for name in ("x", "y", "sample_weight")}
        self.is_prepared = False

    def prepare(self, fit: Any, steps: Optional[int], batch_size: Optional[int]) -> None:
        """Makes Keras read so many batches of this size; None: as many as fit() says."""
        steps = steps or self.given["validation_steps"]
        batch_size = batch_size or self.given["validation_batch_size"] or self.given["batch_size"]
        fit.prepare_validation(steps_per_epoch=steps, batch_size=batch_size, **(self.data or {}))
        self.is_prepared = True

    def run(self, fit: Any) -> Any:
        """Validates as Keras does at the end of an epoch."""
        if not self.is_prepared:
            self.prepare(fit, None, None)
        options = {"callbacks": fit.callbacks, "return_dict": True, "verbose": 0}
        return fit.model.evaluate(_use_cached_eval_dataset=True, **options)


class Fit:
    """A running model.fit(), seen from the on_train_begin of one of its callbacks."""

    def __init__(self, model: Any) -> None:
        names = names_of_fit(model, "epoch_iterator")
        self.model = model
        self.iterator = names["epoch_iterator"]
        self.callbacks = names["callbacks"]
        self.first_epoch: int = names["initial_epoch"]
        self.epochs: int = names["epochs"]
        self.stride: int = self.iterator.steps_per_execution  # batches between two calls of a callback
        self.why_not_built: Optional[Exception] = None
        self.validation = Validation(names)

    # ---- the data

    @property
    def adapter(self) -> Any:
        return self.iterator.data_adapter

    @property
    def steps_per_epoch(self) -> Optional[int]:
        """The caller's steps_per_epoch; None: an epoch is all of the data."""
        steps: Optional[int] = self.iterator.steps_per_epoch
        return steps

    @property
    def dataset(self) -> Any:
        """The program's tf.data.Dataset, if TensorFlow trains with one."""
        is_one = backend == "tensorflow" and type(self.adapter).__name__ == "TFDatasetAdapter"
        return self.adapter.get_tf_dataset() if is_one else None

    def build(self) -> None:
        """Creates every variable of the training, also those of optimizers and metrics; if the shapes of batches are
        known, without reading one."""
        if self.iterator._num_batches == 0:
            raise ValueError("the training data is empty")
        if self.dataset is not None and _build.from_shapes(self.model, self.dataset):
            return
        try:
            _build.create_variables(self.model, self._first_batch())
        except Exception as error:
            if not self.model.run_eagerly:
                raise _first_cause(error) from None
            # Training may work without it; resuming does not.
            self.why_not_built = error

    def _first_batch(self) -> Any:
        """The first batch. Reading it leaves the generators of a dataset as they were."""
        if self.dataset is None:
            return self._read_batch()
        from determined.keras import _pipeline

        generators = _pipeline.Generators(self.dataset)
        values = generators.read()
        batch = self._read_batch()
        generators.write(values)
        return batch

    def _read_batch(self) -> Any:
        for _, _, found in self.iterator:
            first = iter(found) if isinstance(found, (list, tuple)) else found
            batch = next(first, None)
            break
        else:
            batch = None
        if batch is None:
            raise ValueError("the training data is empty")
        self.iterator.reset()
        if backend == "tensorflow":
            strategy = self.iterator._distribute_strategy
            batch = tree.map_structure(lambda x: strategy.experimental_local_results(x)[0], batch)
        return batch

    def prepare_validation(self, **options: Any) -> None:
        """Prepares the data of Keras's validations."""
        if backend == "tensorflow":
            options["distribute_strategy"] = self.model.distribute_strategy
        make = type(self.iterator)
        self.model._eval_epoch_iterator = make(steps_per_execution=self.stride, shuffle=False, **options)

    def use_dataset(self, dataset: Any) -> None:
        """Feeds a tf.data.Dataset instead of the one that Keras made."""
        strategy = self.iterator._distribute_strategy
        self.iterator._distributed_dataset = strategy.experimental_distribute_dataset(dataset)

    def use_batches(self, make: Callable[[], Iterator[Any]]) -> None:
        """Feeds the values of `make` in the form of each backend (not TensorFlow)."""
        from keras.src.trainers.data_adapters import data_adapter_utils as utils  # type: ignore[import-untyped,import-not-found,unused-ignore]

        names = {"jax": "get_jax_iterator", "torch": "get_torch_dataloader"}
        name = names.get(backend, "get_numpy_iterator")
        setattr(self.adapter, name, lambda: getattr(utils, name)(make()))

    def use_sequence(self, view: Any) -> None:
        """Feeds another PyDataset, batch by batch, through the same workers."""
        self.adapter.py_dataset = view
        self.adapter.shuffle = False
        if self.adapter.enqueuer is not None:
            self.adapter.enqueuer.py_dataset = view
            self.adapter.enqueuer.shuffle = False

    def forget_prepared(self) -> None:
        """When workers are stopped they keep their prepared batches for the next epoch: the batches that build()
        read would come twice."""
        if self.adapter.enqueuer is not None:
            with self.adapter.enqueuer.ready_queue.mutex:
                self.adapter.enqueuer.ready_queue.queue.clear()

    def end_workers(self) -> None:
        """After training has left an epoch in the middle, Keras's workers would continue to make batches and use
        the program's generators while the program does something else. This stops them."""
        if getattr(self.adapter, "enqueuer", None) is not None:
            self.adapter.enqueuer.stop()

    def open_iterator(self) -> Iterator[Any]:
        """A new pass over the data."""
        passed: Iterator[Any] = iter(self.iterator._get_iterator())
        return passed

    def iterators_before(self, number: int) -> int:
        """How many iterators Keras opens before that of a pass: with TensorFlow another one after each pass whose
        length was known, which nobody reads."""
        if backend != "tensorflow":
            return number
        return 2 * number if self.adapter.num_batches is not None else max(2 * number - 1, 0)

    def take_over(
        self, prepare: Callable[[], None], steps: Callable[[], Iterator[Tuple[int, Iterator[Any]]]]
    ) -> None:
        """Makes `steps` yield the steps of every epoch: their numbers, and where to read. `prepare` is called
        before workers start."""
        iterator, stride = self.iterator, self.stride

        def enumerate_steps() -> Iterator[Tuple[int, int, Iterator[Any]]]:
            prepare()
            iterator.data_adapter.on_epoch_begin()
            for step, batches in steps():
                iterator._steps_seen = step + stride
                yield step, step + stride - 1, batches
            iterator.data_adapter.on_epoch_end()

        iterator._enumerate_iterator = enumerate_steps

    def expect(self, steps: int) -> None:
        """Every epoch goes on until the data ends, instead of the length of the epoch before."""

    # ---- the loop

    def begin_at(self, epoch: int, prepare: Callable[[], bool]) -> None:
        """fit reads the epoch right after on_train_begin. The next step resets it, so another fit() of this model
        does not find it if this one fails. `prepare`: see begin_epoch()."""
        self.model._initial_epoch = epoch
        begin, end = self.callbacks.on_epoch_begin, self.callbacks.on_train_end

        def begin_first(epoch: int, logs: Any = None) -> None:
            self.let_go()
            begin_epoch(self.callbacks, begin, prepare, epoch, logs)

        def let_go_first(logs: Any = None) -> None:
            self.let_go()
            end(logs)

        self.callbacks.on_epoch_begin, self.callbacks.on_train_end = begin_first, let_go_first

    def reorder(self, first: List[Any], last: Any) -> None:
        """Calls `last` after all other callbacks, and `first` before them."""
        rest = [each for each in self.callbacks.callbacks if each is not last and each not in first]
        self.callbacks.callbacks = first + rest + [last]

    def leave_epoch_open(self, logs: Dict[str, Any]) -> None:
        """The epoch that fit is about to leave is not over: it is not validated, and callbacks do not get its end.
        Their on_train_end gets `logs`."""
        self.model._should_eval = lambda epoch, frequency: False
        self.callbacks.on_epoch_end = lambda epoch, _=None: end_with(self, logs)

    def let_go(self) -> None:
        """Restores the model and the list of callbacks."""
        self.model._initial_epoch = None
        vars(self.model).pop("_should_eval", None)
        for occasion in ("on_epoch_begin", "on_epoch_end", "on_train_end"):
            vars(self.callbacks).pop(occasion, None)


def end_with(fit: Any, logs: Dict[str, Any]) -> None:
    """Lets fit go, and gives these logs to the callbacks' on_train_end instead of what fit has."""
    fit.let_go()
    own = fit.callbacks.on_train_end

    def end(_: Any = None, **__: Any) -> None:
        vars(fit.callbacks).pop("on_train_end", None)
        own(logs)

    fit.callbacks.on_train_end = end


class Reset:
    """Resets metrics, at once or with the next batch.

    The first time it does so in Keras's way. After that, if all metrics and the method are Keras's own, the
    variables get the values they had then, which costs a tenth. If even that is too slow, the reset becomes
    part of the next training step: fit() finds a train_function that does both."""

    _OFTEN = 10  # if windows have fewer batches

    def __init__(self, model: Any) -> None:
        self._model = model
        self._attributes = vars(model)  # bypasses Keras's __setattr__, which looks for layers in everything
        self._anew = self._train_anew
        self._values: List[Tuple[Any, Any]] = []  # of each variable
        self._step: Any = None  # Keras's, compiled once more
        self._is_due = False  # with the next batch

    def __call__(self) -> None:
        """Resets the metrics at once."""
        if self._is_due:
            self._take_back()
        if not self._values:
            self._model.reset_metrics()
            self._remember()
            return
        for variable, value in self._values:
            self._assign(resource=variable.handle, value=value)

    def after_window(self, batches: int) -> None:
        """Resets them with the next batch if windows are as short as this one, otherwise at once."""
        if batches >= self._OFTEN or self._step is None:
            self()
            return
        self._is_due = True
        self._attributes["train_function"] = self._anew

    def settle(self) -> None:
        """Call it before the metrics are read between two batches: resets them at once if a reset is due."""
        if self._is_due:
            self()

    def _train_anew(self, iterator: Any) -> Any:
        self._take_back()
        try:
            return self._step(iterator)
        except BaseException:  # in most cases there was no other batch
            self()
            raise

    def _take_back(self) -> None:
        self._is_due = False
        self._attributes["train_function"] = self._plain

    def _remember(self) -> None:
        compiled = getattr(self._model, "_compile_metrics", None)
        metrics = [*self._model.metrics, *(compiled.metrics if compiled is not None else [])]
        are_known = all(type(each).__module__.startswith("keras.src.") for each in metrics)
        is_own = getattr(self._model.reset_metrics, "__func__", None) is not keras.Model.reset_metrics
        if is_legacy or backend != "tensorflow" or is_own or not are_known:
            return
        import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

        variables = [part for each in self._model.metrics_variables for part in replicas(each)]
        if all(isinstance(each, tf.Variable) and hasattr(each, "handle") for each in variables):
            self._assign = tf.raw_ops.AssignVariableOp
            self._values = [(each, tf.identity(each)) for each in variables]
            self._plain = self._model.train_function
            self._step = _step_anew(self._model, self._values)


def _step_anew(model: Any, values: List[Tuple[Any, Any]]) -> Any:
    """A training step of Keras after which metrics hold this batch only; None if there is no such step. Keras
    unpacks the result of its compiled step outside of it, this one inside: it takes no longer than the plain
    step."""
    import tensorflow as tf

    plain = model.train_function
    names = getattr(getattr(plain, "__code__", None), "co_freevars", ())
    is_single = model.steps_per_execution == 1 and model.distribute_strategy.num_replicas_in_sync == 1
    if model.run_eagerly or not is_single or _COMPILED_STEP not in names:
        return None
    step = plain.__closure__[names.index(_COMPILED_STEP)].cell_contents

    @tf.function(reduce_retracing=True, autograph=False)  # type: ignore[untyped-decorator,unused-ignore]
    def train_anew(iterator: Any) -> Any:
        for variable, value in values:
            variable.assign(value, read_value=False)
        return step(iterator).get_value()

    return vars(plain).setdefault("_det_train_anew", train_anew)


def sync(model: Any) -> None:
    """The variables hold the trained values."""
    if backend == "jax":
        model.jax_state_sync()


# ---- PyTorch's own generators, used for example by Keras's Dropout


def torch_generators() -> List[Any]:
    """The states of its generators, the processor's first; empty with another backend."""
    if backend != "torch":
        return []
    import torch  # type: ignore[import-untyped,import-not-found,unused-ignore]

    states = [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [])]
    return [state.cpu().numpy() for state in states]


def restore_torch_generators(states: List[Any]) -> None:
    if backend != "torch" or not states:
        return
    import torch

    torch.set_rng_state(torch.from_numpy(states[0]))
    for device, state in zip(range(torch.cuda.device_count()), states[1:]):
        torch.cuda.set_rng_state(torch.from_numpy(state), device)


@contextlib.contextmanager
def torch_seeded(seed: int, epoch: int) -> Iterator[None]:
    """A DataLoader draws its order when it is opened: from the seed and the epoch alone."""
    if backend != "torch":
        yield
        return
    import torch

    before = torch.get_rng_state()
    torch.random.default_generator.manual_seed((seed * 0x9E3779B97F4A7C15 + epoch) & 0x7FFFFFFFFFFFFFFF)
    try:
        yield
    finally:
        torch.set_rng_state(before)


if is_legacy:  # its fit() has none of these
    from determined.keras._hooks_legacy import Fit, rates, seeds  # type: ignore[assignment]  # noqa: F811
