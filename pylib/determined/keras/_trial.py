# SPDX-License-Identifier: Apache-2.0
"""Trials of Keras as classes: `entrypoint: model_def:MNISTTrial`

    class MNISTTrial(TFKerasTrial):
        def __init__(self, context): ...
        def build_model(self): ...
        def build_training_data_loader(self): ...
        def build_validation_data_loader(self): ...

The controller turns the results of the builders into one `model.fit()`, which a Loop drives: it decides when to
report, validate, save and stop, and resumes from a checkpoint in the middle of an epoch. `Training` adds what the
configuration and configure_fit() say. The native API (experimental/keras.py) uses the same Training; outside of a
task it calls `det experiment create`.
"""
import abc
import itertools
import logging
import os
from typing import Any, Dict, List, Optional, Type, Union

from determined._trial import LegacyTrial, TrialController
from determined._units import Batches, Epochs, TrainUnit
from determined.keras import _state, _trial_data
from determined.keras._data_order import cut
from determined.keras._data_shards import is_per_slot, own_batches
from determined.keras._loop import Loop, ValidationFreq
from determined.keras._package import keras
from determined.keras._trial_context import TFKerasTrialContext
from determined.keras._trial_data import ARRAYS, DATASET, GENERATOR, SEQUENCE, Given

logger = logging.getLogger("determined.keras")

# model.fit() counts epochs; the Loop can also end it inside an epoch.
_ENDLESS = 2**31 - 1


# ---- one training


class _StopsOnRequest(keras.callbacks.Callback):  # type: ignore[misc]
    """Ends the training after context.set_stop_requested(True). Several ranks ask each other at the ends of steps,
    so all stop after the same batch."""

    is_agreed = True

    def __init__(self, context: TFKerasTrialContext, loop: Loop) -> None:
        super().__init__()
        self._context, self._loop = context, loop
        self._has_others = context.distributed.size > 1
        self._step = context.get_experiment_config().scheduling_unit()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        wanted = self._context.get_stop_requested()
        if self._has_others:
            batches = self._loop.batches  # the Loop counts after us
            is_asked = (batches + self._loop.stride) // self._step > batches // self._step
            wanted = is_asked and any(self._context.distributed.allgather(wanted))
        if wanted:
            self._loop.stop()


class Training:
    """A model, its data, and the other arguments of model.fit(): checks everything, then runs."""

    def __init__(self, context: TFKerasTrialContext, model: Any, training: Given, validation: Optional[Given]) -> None:
        self.context = context
        self.model = model
        self.training = training
        self.validation = validation
        self.callbacks: List[Any] = []
        self.max_length: Optional[TrainUnit] = None  # where the configuration has none
        self.validation_period: Optional[TrainUnit] = None
        self.batch_size: Optional[int] = None
        self.steps_per_epoch: Optional[int] = None
        self.validation_batch_size: Optional[int] = None
        self.fit: Dict[str, Any] = dict(context._fit)

    # ---- checks before the training

    def check(self) -> None:
        ranks = self.context.distributed.size
        for given in (self.training, self.validation):
            if given is not None:
                self._check_wrapped(given)
                _trial_data.check_shapes(given, self.model)
        size = self.batch_size
        if size is not None and size < ranks:
            raise ValueError(
                f"global_batch_size is {size}, which {ranks} slots cannot share: each takes at least one sample"
            )
        if ranks > 1 and size is not None and self.training.kind == DATASET:
            self._check_batches(size, ranks)
        records = self.training.records()
        if records is not None and records < ranks:
            raise ValueError(
                f"{self.training.source} returned {records} samples, which {ranks} slots cannot share"
            )

    def _check_wrapped(self, given: Given) -> None:
        if given.kind == DATASET and not _trial_data.comes_from(given.x, self.context._datasets):
            raise ValueError(
                f"{given.source} returned a tf.data.Dataset that is not wrapped: call "
                "dataset = self.context.wrap_dataset(dataset) right after it is made"
            )

    def _check_batches(self, size: int, ranks: int) -> None:
        """A slot reads its own part of a wrapped dataset: with the batches of all slots, a step would train `ranks`
        times as many records as the configuration says."""
        if _trial_data.batched_by(self.training.x) == size:
            raise ValueError(
                f"{self.training.source} returned a tf.data.Dataset with batches of get_global_batch_size(), which is "
                f"{size}, for each of the {ranks} slots: batch it by get_per_slot_batch_size(), which is {size // ranks}"
            )

    # ---- epochs

    def _epoch_batches(self) -> Optional[int]:
        """Batches per epoch if the data itself does not end one: records_per_epoch."""
        if self.steps_per_epoch is not None:
            return self.steps_per_epoch
        records = self.context.get_experiment_config().get_records_per_epoch()
        if not self.training.is_endless():
            return None
        if records:
            return max(records // self.context.get_global_batch_size(), 1)
        if isinstance(self._length(), Epochs):
            raise ValueError(
                f"{self.training.source} returned a dataset without an end, and the training is counted in epochs: set "
                "records_per_epoch in the configuration, or searcher.max_length in batches"
            )
        return None

    def _length(self) -> Optional[TrainUnit]:
        """The configured value, else the caller's."""
        configured = self.context.get_experiment_config().get_searcher_max_length()
        if isinstance(configured, dict) and configured.get("epochs"):
            return Epochs(int(configured["epochs"]))
        if isinstance(configured, dict) and configured.get("batches"):
            return Batches(int(configured["batches"]))
        if configured is None and self.max_length is None:
            raise ValueError(
                "the configuration does not say how long to train: set searcher.max_length, as in "
                "'max_length: {epochs: 5}'"
            )
        return None if configured is not None else self.max_length

    def _epochs(self) -> int:
        """As a bound, and for the progress bar."""
        length = self._length()
        if isinstance(length, Epochs):
            return length.value
        batches = self.training.batches(self.batch_size) or self.steps_per_epoch
        if isinstance(length, Batches) and batches:
            # a step may take a batch of a sequence for each slot
            ranks = self.context.distributed.size if self.training.kind == SEQUENCE else 1
            return -(-length.value // max(batches // ranks, 1))
        return _ENDLESS

    def _share_dataset(self) -> None:
        """Ranks train in step: all use the number of batches of the rank that has the fewest."""
        given, distributed = self.training, self.context.distributed
        if given.kind != DATASET or distributed.size == 1 or given.is_endless():
            return
        count = given.batches(None)
        if count is None:
            logger.info("the training dataset does not know its length; it is read once to count")
            count = int(given.x.reduce(0, lambda number, *_: number + 1))
        shared = min(distributed.allgather(count))
        if shared == 0:
            raise ValueError(f"{given.source} returned too little data: not every slot has a batch")
        given.x = given.x.take(shared)

    def _share_generator(self) -> None:
        """The size of its first batch decides: each rank takes its part of every batch, or every size-th batch."""
        given, distributed = self.training, self.context.distributed
        if given.kind != GENERATOR or distributed.size == 1:
            return
        first = list(itertools.islice(given.x, 1))
        if not first:
            raise ValueError(f"{given.source} returned no data: there is not one batch")
        batches = itertools.chain(first, given.x)
        rows = len(_trial_data.leaves(first[0][0], "x")[0][1])
        if self.batch_size is None or is_per_slot(rows, self.batch_size, distributed.size):
            given.x = own_batches(batches, distributed, whole=True)
        else:
            part = (distributed.rank, distributed.size)
            given.x = (cut(batch, part) for batch in batches)

    def _draw_apart(self) -> None:
        """Each rank draws its own dropout; the model was built with the same seed everywhere."""
        rank = self.context.distributed.rank
        for kind, _, variable in _state.variables_of(self.model):
            if rank and kind == _state.SEED:
                variable.assign(variable + rank)

    # ---- sequences

    def _set_workers(self) -> None:
        """The values of configure_fit(), for sequences that do not have their own."""
        wanted = {
            name: self.fit.pop(name)
            for name in ("workers", "use_multiprocessing", "max_queue_size")
            if name in self.fit
        }
        for given in (self.training, self.validation):
            if wanted and given is not None and given.kind == SEQUENCE:
                _set_workers(given.x, wanted)

    # ---- validation

    def _validation_part(self) -> Given:
        assert self.validation is not None
        return self.validation.part(self.context.distributed.rank, self.context.distributed.size)

    def _validation_steps(self) -> Optional[int]:
        return 1 if self.context._is_test else self.fit.get("validation_steps")

    def _validation_batch(self, part: Given) -> Optional[int]:
        return self.validation_batch_size if part.kind == ARRAYS else None

    def _validate(self) -> Dict[str, Any]:
        """In the middle of an epoch; at its end Keras does the same by itself."""
        part = self._validation_part()
        logs: Dict[str, Any] = self.model.evaluate(
            part.x,
            part.y,
            sample_weight=part.weights,
            batch_size=self._validation_batch(part),
            steps=self._validation_steps(),
            callbacks=self._loop.callback_list(),
            return_dict=True,
            verbose=0,
        )
        return logs

    # ---- running

    def _make_loop(self) -> Loop:
        context = self.context
        return Loop(
            context._core,
            max_length=Batches(1) if context._is_test else self.max_length,
            validation_period=self.validation_period,
            configured=not context._is_test,
            checkpoint=context._core.latest_checkpoint,
            continue_id=context._continue_id(),
            validate=None if self.validation is None else self._validate,
            windows=True,
            shard=True,
            batch_size=self.batch_size,
            logs=not self.fit.get("verbose"),
        )

    def _options(self, loop: Loop) -> Dict[str, Any]:
        """The arguments of model.fit() except x."""
        options: Dict[str, Any] = {
            "epochs": 1 if self.context._is_test else self._epochs(),
            "callbacks": [*self.callbacks, _StopsOnRequest(self.context, loop), loop],
            "verbose": self.fit.get("verbose", 0) if self.context.distributed.rank == 0 else 0,
            # datasets and generators have their own order
            "shuffle": self.fit.get("shuffle", True) and self.training.kind in (ARRAYS, SEQUENCE),
            "class_weight": self.fit.get("class_weight"),
            "steps_per_epoch": self._epoch_batches(),
        }
        if self.training.kind == ARRAYS:
            options.update(y=self.training.y, sample_weight=self.training.weights, batch_size=self.batch_size)
        if self.validation is not None:
            part = self._validation_part()
            options.update(
                validation_data=part.for_validation(),
                validation_freq=ValidationFreq(lambda: loop),
                validation_steps=self._validation_steps(),
                validation_batch_size=self._validation_batch(part),
            )
        return options

    def run(self) -> Any:
        """Trains; returns Keras's History."""
        self.check()
        self.context._take_optimizers(self.model)
        self._set_workers()
        self._share_dataset()
        self._share_generator()
        self._draw_apart()
        for callback in self.callbacks:
            if hasattr(callback, "use_trial"):
                callback.use_trial(self.context)
        self._loop = self._make_loop()
        fit = type(self.model).fit  # the native API replaces that of the object
        return fit(self.model, self.training.x, **self._options(self._loop))


def _set_workers(sequence: Any, wanted: Dict[str, Any]) -> None:
    """Keras 3 has them in the sequence."""
    from determined.keras.data import SequenceAdapter

    if isinstance(sequence, SequenceAdapter):
        return  # it has its own values
    for name, value in wanted.items():
        try:
            setattr(sequence, name, value)
        except AttributeError:
            logger.warning("%s cannot be given %s=%r", type(sequence).__name__, name, value)


# ---- the trial


class TFKerasTrial(LegacyTrial):
    """A trial of Keras: what to train, and with which data. The platform does the rest."""

    trial_context_class = TFKerasTrialContext
    trial_controller_class: Optional[Type[TrialController]]

    def __init__(self, context: TFKerasTrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def build_model(self) -> Any:
        """The model: wrapped by self.context.wrap_model(), then compiled."""

    @abc.abstractmethod
    def build_training_data_loader(self) -> Any:
        """The training data: (x, y) or (x, y, sample_weights) of arrays, a tf.data.Dataset, a keras.utils.Sequence
        or a SequenceAdapter. A sequence has batches of get_global_batch_size(), of which each slot takes its
        part, or of get_per_slot_batch_size(), one for each slot; a dataset, once it is wrapped, of
        get_per_slot_batch_size()."""

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Any:
        """The validation data, of one of the same kinds."""

    def session_config(self) -> Any:
        """A tf.compat.v1.ConfigProto with the numbers of threads and how GPU memory grows; None: TensorFlow's
        defaults."""
        return None

    def keras_callbacks(self) -> List[Any]:
        """Callbacks of Keras, and of determined.keras.callbacks."""
        return []


def _apply_session_config(config: Any) -> None:
    """Applies the part of an old session configuration that has a meaning without sessions."""
    if config is None:
        return
    import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

    try:
        if config.intra_op_parallelism_threads:
            tf.config.threading.set_intra_op_parallelism_threads(config.intra_op_parallelism_threads)
        if config.inter_op_parallelism_threads:
            tf.config.threading.set_inter_op_parallelism_threads(config.inter_op_parallelism_threads)
        if config.gpu_options.allow_growth:
            for device in tf.config.list_physical_devices("GPU"):
                tf.config.experimental.set_memory_growth(device, True)
    except RuntimeError as error:
        logger.warning("session_config() comes too late, TensorFlow has already started: %s", error)


def check_model(context: TFKerasTrialContext, model: Any, source: str) -> None:
    """Checks that it can be trained: a compiled model, wrapped by this context."""
    if not isinstance(model, keras.Model):
        hint = "; is there a `return` in it?" if model is None else ""
        raise TypeError(f"{source} returned a {type(model).__name__}; expected a keras.Model{hint}")
    if not getattr(model, "compiled", getattr(model, "_is_compiled", False)):
        raise ValueError(f"{source} returned a model that is not compiled: call model.compile(...) before returning it")
    if not context._has_wrapped(model):
        raise ValueError(
            f"{source} returned a model that is not wrapped: call model = self.context.wrap_model(model) before it "
            "is compiled"
        )


def check_callbacks(callbacks: Any, source: str) -> List[Any]:
    found = [] if callbacks is None else list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    for each in found:
        if not isinstance(each, keras.callbacks.Callback):
            raise TypeError(f"{source} returned a {type(each).__name__}; expected callbacks of Keras")
    return found


class TFKerasTrialController(TrialController):
    """Drives a TFKerasTrial."""

    context: TFKerasTrialContext

    def __init__(self, context: TFKerasTrialContext, trial: TFKerasTrial) -> None:
        super().__init__(context)
        self.trial = trial

    def run(self) -> None:
        """Builds, checks and trains."""
        trial, context = self.trial, self.context
        _apply_session_config(trial.session_config())
        batch_size = context.get_global_batch_size()
        model = trial.build_model()
        check_model(context, model, "build_model()")
        training = _trial_data.understand(trial.build_training_data_loader(), "build_training_data_loader()")
        validation = _trial_data.understand(trial.build_validation_data_loader(), "build_validation_data_loader()")
        run = Training(context, model, training, validation)
        run.callbacks = check_callbacks(trial.keras_callbacks(), "keras_callbacks()")
        run.batch_size = batch_size
        run.check()
        run.validation_batch_size = context.get_per_slot_batch_size()
        run.run()


TFKerasTrial.trial_controller_class = TFKerasTrialController


def load_model_from_checkpoint_path(path: Union[str, "os.PathLike[str]"], tags: Optional[List[str]] = None) -> Any:
    """The compiled model of a checkpoint that was downloaded into the folder `path`, with its weights and its
    optimizer's state. Your own classes in it must be imported before, and be registered with
    @keras.saving.register_keras_serializable(). `tags` belong to TensorFlow's SavedModel and are not used."""
    folder = os.fspath(path)
    if not os.path.isdir(folder):
        raise NotADirectoryError(f"'{folder}' is not the folder of a checkpoint")
    return _state.load_model(folder)
