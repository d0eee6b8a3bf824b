# SPDX-License-Identifier: Apache-2.0
"""The Trainer API: an ordinary Keras script inside `with det.keras.init() as train_context`.

    with det.keras.init() as train_context:
        model = ...
        optimizer = train_context.wrap_optimizer(keras.optimizers.Adam(0.001))
        model.compile(optimizer=optimizer, ...)
        train_context.fit(model=model, x=ds_train, epochs=6, validation_data=ds_test)

fit() is model.fit() with one more callback: the Loop (`_loop.py`), which reports, validates, saves and stops as
the platform wants it. This module translates between the two: arguments of every Keras, data for several slots,
checkpoints of the program's own ModelCheckpoint, models of another trial. A ModelCheckpoint gets a model that notes
the files it saves; they become a checkpoint at the Loop's next boundary.

Several slots: init() starts the program again, one process for each slot, unless a launcher has done so
(`determined._launch`). Every process then runs the same script on its part of the data, and only the first one
prints and writes files.
"""
import contextlib
import json
import logging
import os
import pathlib
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from determined import _det, _launch, core
from determined._info import ClusterInfo
from determined._trial import continue_id
from determined._units import Epochs, TrainUnit
from determined.keras import _data_shards, _distribute, _load, _owned
from determined.keras._loop import Loop, ValidationFreq
from determined.keras._package import is_legacy, keras
from determined.util import list_files

logger = logging.getLogger("determined.keras")

_STEP = 1  # enum det_timing_kind

# Contexts that are open in this process: callbacks that were given none find theirs here.
_open: List["TrainerContext"] = []


def _period(checkpoint_freq: Any) -> Optional[TrainUnit]:
    """An integer counts epochs; Keras's own word is 'epoch'."""
    if checkpoint_freq is None or isinstance(checkpoint_freq, TrainUnit):
        return checkpoint_freq
    if checkpoint_freq == "epoch":
        return Epochs(1)
    if isinstance(checkpoint_freq, bool) or not isinstance(checkpoint_freq, int):
        raise TypeError(
            f"checkpoint_freq is {checkpoint_freq!r}; expected a number of epochs, det.Epochs(n) or "
            "det.Batches(n)"
        )
    if checkpoint_freq < 1:
        raise ValueError(f"checkpoint_freq is {checkpoint_freq}; expected 1 or more, or None to save only at the end")
    return Epochs(checkpoint_freq)


def _validation_period(validation_freq: Any) -> Optional[TrainUnit]:
    """The part of validation_freq that the policy knows; epochs in a list are asked for one by one."""
    is_number = isinstance(validation_freq, int) and not isinstance(validation_freq, bool)
    if is_number and validation_freq > 0:
        return Epochs(validation_freq)
    if isinstance(validation_freq, (list, tuple, set, range)):
        return None
    raise ValueError(
        f"validation_freq is {validation_freq!r}; expected a whole number of at least 1, or a list of epochs"
    )


# ---- a ModelCheckpoint of the program's own


class _Model:
    """The model as a ModelCheckpoint sees it: saved files are noted, and only one rank writes."""

    def __init__(self, model: Any, saves: "_Saves") -> None:
        self._det_model = model
        self._det_saves = saves

    def __getattr__(self, name: str) -> Any:
        return getattr(self._det_model, name)

    def _det_write(self, write: Any, path: Any, words: Tuple[Any, ...], options: Dict[str, Any]) -> None:
        if self._det_saves.is_chief:
            write(path, *words, **options)
            self._det_saves.files.append(os.fspath(path))

    def save(self, path: Any, *words: Any, **options: Any) -> None:
        self._det_write(self._det_model.save, path, words, options)

    def save_weights(self, path: Any, *words: Any, **options: Any) -> None:
        self._det_write(self._det_model.save_weights, path, words, options)


class _Saves:
    """The files that the program's ModelCheckpoints have saved since the last checkpoint of the platform."""

    def __init__(self, callbacks: List[Any], is_chief: bool) -> None:
        self.is_chief = is_chief
        self.files: List[str] = []
        self.own = [each for each in callbacks if isinstance(each, keras.callbacks.ModelCheckpoint)]
        for each in self.own:
            self._watch(each)

    def _watch(self, callback: Any) -> None:
        def set_model(model: Any) -> None:
            type(callback).set_model(callback, _Model(model, self))

        callback.set_model = set_model

    def let_go(self) -> None:
        """Restores the callbacks; they see the model itself again."""
        for each in self.own:
            vars(each).pop("set_model", None)
            if isinstance(each.model, _Model):
                each.set_model(each.model._det_model)

    @property
    def within_epochs(self) -> bool:
        return any(each.save_freq != "epoch" for each in self.own)

    def take(self) -> Dict[str, bytes]:
        """The files, by their names in the platform's checkpoint."""
        found: Dict[str, bytes] = {}
        for path in dict.fromkeys(self.files):
            name = os.path.basename(os.path.normpath(path))
            if os.path.isdir(path):
                found.update((f"{name}/{each}", (pathlib.Path(path) / each).read_bytes()) for each in list_files(path))
            elif os.path.exists(path):
                found[name] = pathlib.Path(path).read_bytes()
        self.files.clear()
        return found


# ---- callbacks


class TrainerCallback(Loop):
    """The callback that fit() adds: metrics, searcher, preemption, checkpoints. Made by
    TrainerContext.DeterminedCallback()."""

    def __init__(
        self,
        context: "TrainerContext",
        validation_freq: Any = 1,
        checkpoint_freq: Any = None,
        max_length: Optional[TrainUnit] = None,
        validation: Optional[Dict[str, Any]] = None,
    ) -> None:
        """`validation` has validation_steps and validation_batch_size for a model.fit() of the program's own; None:
        the context's fit() takes care of them."""
        super().__init__(
            context.core,
            max_length=max_length,
            validation_period=_validation_period(validation_freq),
            checkpoint_period=_period(checkpoint_freq),
            checkpoint=context.core.latest_checkpoint,
            continue_id=context._continue_id,
            shard=True,
        )
        self._validation_freq = validation_freq
        self._validation = validation
        self._program: Optional[_Saves] = None
        self._profilers: List["DeterminedProfilerCallback"] = []

    def is_validated(self, epoch: int) -> bool:
        """Whether the program or the platform wants a validation after this epoch, counted from 1."""
        frequency = self._validation_freq
        is_asked = epoch % frequency == 0 if isinstance(frequency, int) else epoch in frequency
        return is_asked or super().is_validated(epoch)

    def _look_at_validation(self, fit: Any) -> None:
        if self._validation is None:
            return
        _check_validation(fit.validation, dict(self._validation, validation_freq=self._validation_freq))
        if fit.validation.data is None:
            return
        steps, batch_size = self._validation["validation_steps"], self._validation["validation_batch_size"]
        if steps is not None or batch_size is not None:
            fit.validation.prepare(fit, steps, batch_size)
        self._validate = lambda: fit.validation.run(fit)

    # ---- checkpoints of the program

    def watch(self, callbacks: List[Any]) -> None:
        """A ModelCheckpoint among them replaces the periods and the checkpoint policy. Nothing is lost: when
        training must stop, and at its end, the platform saves."""
        saves = _Saves(callbacks, self.distributed.rank == 0)
        if saves.own:
            self._program = saves

    def let_go(self) -> None:
        if self._program is not None:
            self._program.let_go()

    def _act(self, due: int, logs: Dict[str, float], epoch_ends: bool = False) -> None:
        if epoch_ends and self._has_validated and self._reported != self.batches:
            due |= _det.REPORT  # each validation has one, also those that only the program wants
        self._saves = self._program is None or bool(due & _det.STOP)
        try:
            super()._act(due, logs, epoch_ends)
        finally:
            self._saves = True

    def _files(self) -> Dict[str, Any]:
        files = super()._files()
        if self._program is not None:
            for name, content in self._program.take().items():
                files.setdefault(name, content)
        return files

    def _has_files(self) -> bool:
        return self._program is not None and bool(self.distributed.broadcast(bool(self._program.files)))

    def on_train_batch_end(self, batch: int, logs: Optional[Dict[str, float]] = None) -> None:
        has_files = self._program is not None and self._program.within_epochs and self._has_files()
        super().on_train_batch_end(batch, logs)
        if has_files and not self._is_saved and not self._due:
            self.save()
        for each in self._profilers:
            each.batch_ended(self.batches)

    def on_epoch_end(self, epoch: int, logs: Optional[Dict[str, float]] = None) -> None:
        has_files = self._has_files()
        super().on_epoch_end(epoch, logs)
        if has_files and not self._is_saved:
            self.save()


class DeterminedProfilerCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Measures the machine, and how the time is spent, from batch `profiling_start` to before `profiling_end`
    only.

    Batches count from 0, over all runs of the trial. None takes the value from the experiment's configuration
    (profiling.enabled, begin_on_batch, end_after_batch, sync_timings). With `sync_timings` a step ends when its
    results are there. Keras reads them after every batch, so steps always end that way.
    """

    is_agreed = True  # it never stops the training

    def __init__(
        self,
        profiling: Optional[bool] = None,
        profiling_start: Optional[int] = None,
        profiling_end: Optional[int] = None,
        sync_timings: Optional[bool] = None,
    ) -> None:
        super().__init__()
        for name, value in (("profiling_start", profiling_start), ("profiling_end", profiling_end)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise ValueError(f"{name} is {value!r}; expected the number of a batch, or None")
        self.profiling = profiling
        self.profiling_start = profiling_start
        self.profiling_end = profiling_end
        self.sync_timings = sync_timings
        self._core: Optional[core.Context] = None
        self._is_on = False
        self._begun: Any = None
        self._batches = 0

    def _configure(self) -> None:
        context = _open[-1] if _open else None
        if context is None:
            raise RuntimeError("DeterminedProfilerCallback works only inside of 'with det.keras.init()'")
        self._core = context.core
        self._loop = context._loop
        config = context._config.get("profiling") or {}
        self._is_wanted = bool(config.get("enabled")) if self.profiling is None else bool(self.profiling)
        first, last = config.get("begin_on_batch") or 0, config.get("end_after_batch")
        self._first: int = first if self.profiling_start is None else self.profiling_start
        end = None if last is None else last + 1
        self._end: Optional[int] = end if self.profiling_end is None else self.profiling_end
        if self._end is not None and self._end < self._first:
            raise ValueError(f"the profiler cannot end at batch {self._end}, before it begins at {self._first}")

    def on_train_begin(self, logs: Any = None) -> None:
        self._configure()
        assert self._core is not None
        self._core.profiler.off()  # the configuration's: this callback decides from now on
        if isinstance(self._loop, TrainerCallback) and self not in self._loop._profilers:
            self._loop._profilers.append(self)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        assert self._core is not None
        done = self._loop.batches if self._loop is not None else self._batches
        is_inside = self._is_wanted and done >= self._first and (self._end is None or done < self._end)
        if is_inside and not self._is_on:
            self._core.profiler.on(sampling_interval=0.1)
            self._is_on = True
        if self._is_on:
            self._begun = self._core._det.timing_begin()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        assert self._core is not None
        if self._is_on and self._begun is not None:
            self._core._det.timing_end(_STEP, self._begun)
            self._begun = None
        self._batches += 1
        if self._loop is None:
            self.batch_ended(self._batches)

    def batch_ended(self, batches: int) -> None:
        """Called when this many batches are done, with everything that belongs to them."""
        if self._is_on and self._end is not None and batches >= self._end:
            self._stop()

    def on_train_end(self, logs: Any = None) -> None:
        if self._is_on:
            self._stop()

    def _stop(self) -> None:
        assert self._core is not None
        self._is_on = False
        self._core.profiler.off()


# ---- the context


class TrainerContext:
    """The object that init() returns: the training of one trial."""

    def __init__(self, core_context: core.Context) -> None:
        self.core = core_context
        self.distributed = core_context.distributed
        self.info: Optional[ClusterInfo] = core_context.info
        self._config: Dict[str, Any] = json.loads(core_context._values["config"] or "{}")
        self._loop: Optional[TrainerCallback] = None
        self._has_fitted = False
        self._optimizers: List[Any] = []  # wrapped

    @property
    def _continue_id(self) -> str:
        """A training resumes from checkpoints of its own trial; from those of other trials it takes only the
        weights."""
        return continue_id(self.core)

    # ---- wrapping

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """The optimizer, which averages its gradients over all slots; with one slot it still uses zeros for
        missing gradients, and its state is in checkpoints. Call it before model.compile()."""
        wrapped = _distribute.wrap_optimizer(optimizer, self.distributed, **self._optimizations())
        self._optimizers.append(wrapped)
        return wrapped

    def _optimizations(self) -> Dict[str, Any]:
        wanted = self._config.get("optimizations") or {}
        return {
            "aggregation_frequency": wanted.get("aggregation_frequency") or 1,
            "average_aggregated_gradients": wanted.get("average_aggregated_gradients") is not False,
            "fp16": bool(wanted.get("gradient_compression")),
        }

    def wrap_dataset(self, dataset: Any) -> Any:
        """The part of a tf.data.Dataset for this slot; wrapping it again changes nothing. fit() shares other data."""
        return _data_shards.wrap_dataset(dataset, self.distributed)

    # ---- callbacks

    def DeterminedCallback(  # noqa: N802
        self,
        validation_steps: Optional[int] = None,
        validation_freq: Any = 1,
        validation_batch_size: Optional[int] = None,
    ) -> TrainerCallback:
        """The callback that fit() adds, for your own model.fit(): use it with
        validation_freq=context.ValidationFreq(). The arguments are those of fit(), None: as fit() says."""
        validation = {"validation_steps": validation_steps, "validation_batch_size": validation_batch_size}
        for name, value in validation.items():
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ValueError(f"{name} is {value!r}; expected a whole number of at least 1, or None")
        self._begin_fit()
        self._loop = TrainerCallback(self, validation_freq, validation=validation)
        return self._loop

    def ValidationFreq(self) -> ValidationFreq:  # noqa: N802
        """The value for validation_freq of model.fit(): see the class."""
        return ValidationFreq(lambda: self._loop)

    # ---- training

    def _begin_fit(self) -> None:
        if self._has_fitted:
            raise RuntimeError(
                "fit() was already called: a trial is one training, whose checkpoints and reports follow "
                "each other; train longer in one fit(), or make another trial"
            )
        self._has_fitted = True

    def fit(
        self,
        model: Any,
        checkpoint_freq: Union[int, str, TrainUnit, None] = 2,
        x: Any = None,
        y: Any = None,
        batch_size: Optional[int] = None,
        epochs: int = 1,
        verbose: Union[str, int] = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: Optional[int] = None,
        validation_steps: Optional[int] = None,
        validation_batch_size: Optional[int] = None,
        validation_freq: Any = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """Trains as model.fit() does, from the latest checkpoint on, and returns its History.

        `checkpoint_freq` counts epochs; det.Batches(n) counts batches; None: only at the end. The experiment's
        configuration of length and periods takes precedence. Batches of arrays and Sequences (`batch_size`,
        `validation_batch_size`) are those of all slots together, batches of a tf.data.Dataset those of one
        slot. Call it once per context.
        """
        period = _period(checkpoint_freq)
        _check_compiled(model)
        self._begin_fit()
        trained = self._model_of_source(model)
        self._wrap_compiled(trained)
        if validation_split and validation_data is None and _data_shards.is_arrays(x):
            (x, y, sample_weight), validation_data = _data_shards.split_validation((x, y, sample_weight), validation_split)
            validation_split = 0.0
        workers_of_legacy = _set_workers((x, validation_data), workers, use_multiprocessing, max_queue_size)
        _check_batch_size(x, batch_size, self.distributed.size)
        x = _data_shards.training_part(x, steps_per_epoch, self.distributed)
        validation_data = _data_shards.validation_part(validation_data, self.distributed)
        batch = validation_batch_size or batch_size or (32 if _is_plain(validation_data) else None)
        validated: Dict[str, Any] = {
            "batch_size": _data_shards.per_slot(batch, self.distributed) if _is_plain(validation_data) else None,
            "steps": validation_steps,
        }
        listed = _listed(callbacks)
        epochs = self._enough_epochs(epochs, initial_epoch, steps_per_epoch or _steps(x, batch_size))
        if validation_data is None and not validation_split:
            self._warn_of_searcher()
        self._loop = loop = TrainerCallback(self, validation_freq, period, Epochs(max(epochs - initial_epoch, 1)))
        loop.watch(listed)
        if validation_data is not None:
            loop._validate = lambda: _evaluate(trained, validation_data, loop, **validated)
        try:
            history = trained.fit(
                x=x,
                y=y,
                batch_size=batch_size,
                epochs=epochs,
                verbose=self._verbosity(verbose),
                callbacks=[*listed, loop],
                validation_split=validation_split,
                validation_data=validation_data,
                shuffle=shuffle and (_data_shards.is_arrays(x) or _data_shards.is_sequence(x)),
                class_weight=class_weight,
                sample_weight=sample_weight,
                initial_epoch=initial_epoch,
                steps_per_epoch=steps_per_epoch,
                validation_steps=validated["steps"],
                validation_batch_size=validated["batch_size"],
                validation_freq=self.ValidationFreq(),
                **workers_of_legacy,
            )
        finally:
            loop.let_go()
        if trained is not model:
            _give_weights(trained, model)
        return history

    def _verbosity(self, verbose: Union[str, int]) -> Union[str, int]:
        """One rank prints; in a task it is a line per epoch, because progress bars are useless in a log."""
        if self.distributed.rank:
            return 0
        return 2 if verbose == "auto" and self.info is not None else verbose

    def _enough_epochs(self, epochs: int, first: int, steps: int) -> int:
        """The configuration may want more epochs than the program, and Keras must not end before."""
        length = (self._config.get("searcher") or {}).get("max_length")
        unit, count = next(iter(length.items()), ("", 0)) if isinstance(length, dict) else ("batches", length or 0)
        if not count:
            return epochs
        if unit == "batches":
            count = -(-count // steps)  # an epoch has at least one record
        return first + max(int(count), 1)

    def _warn_of_searcher(self) -> None:
        metric = (self._config.get("searcher") or {}).get("metric")
        if metric is not None and self.info is not None:
            logger.warning("the searcher looks at '%s', but nothing is validated: give fit() validation_data", metric)

    def _wrap_compiled(self, model: Any) -> None:
        """Wraps the optimizers of a model that was compiled without it."""
        _owned.give(model, self._optimizers)
        strategy = getattr(model, "distribute_strategy", None)
        if getattr(strategy, "num_replicas_in_sync", 1) > 1:
            return  # tf.distribute averages
        _distribute.wrap_optimizers(model, self.distributed, **self._optimizations())

    # ---- models of other trials

    def _source(self) -> Optional[str]:
        """The configured starting point, in words."""
        searcher = self._config.get("searcher") or {}
        if searcher.get("source_trial_id"):
            return f"trial {searcher['source_trial_id']}"
        uuid = searcher.get("source_checkpoint_uuid")
        return None if not uuid else f"checkpoint {uuid}"

    def _model_of_source(self, model: Any) -> Any:
        """The model to train: with a source in the configuration, the model of its checkpoint."""
        source, latest = self._source(), self.core.latest_checkpoint
        if source is None or latest is None:
            return model
        strategy = getattr(model, "distribute_strategy", None)
        with strategy.scope() if strategy is not None else contextlib.nullcontext():
            try:
                loaded = _load.load_model_from_checkpoint(latest, core_context=self.core)
            except ValueError as error:
                logger.warning("only the weights of %s are taken over: %s", source, error)
                return model
        logger.info(
            "model, optimizer and loss come from %s (checkpoint %s): this program's compiled model is "
            "not used",
            source,
            latest,
        )
        return loaded

    def load_model_from_checkpoint(self, which: Union[int, str], *, custom_objects: Optional[Dict[str, Any]] = None) -> Any:
        """The whole compiled model of a checkpoint, by its uuid or the id of a trial: then it is the checkpoint
        with the best validation, else the latest."""
        return _load.load_model_from_checkpoint(which, custom_objects=custom_objects, core_context=self.core)

    # ---- inference

    def predict(
        self,
        model: Any,
        x: Any,
        batch_size: Optional[int] = None,
        verbose: Union[str, int] = "auto",
        steps: Optional[int] = None,
        callbacks: Any = None,
    ) -> Any:
        """Like model.predict(), spread over the slots: each computes a part of the data, and all of them return
        all results, in the order of the data. Every slot must call it, also during training. `batch_size` is
        that of one slot."""
        if self.distributed.size == 1:
            return model.predict(x, batch_size=batch_size, verbose=verbose, steps=steps, callbacks=callbacks)
        mine = _data_shards.stretch_of(x, steps, batch_size, self.distributed)
        found = None
        if mine is not None:
            found = model.predict(
                mine, batch_size=batch_size, verbose=self._verbosity(verbose), callbacks=callbacks
            )
        return _data_shards.join(self.distributed.allgather(found))


# ---- arguments


def _check_compiled(model: Any) -> None:
    if not isinstance(model, keras.Model):
        raise TypeError(f"model is of type {type(model).__name__}; expected a Keras model")
    if getattr(model, "optimizer", None) is None:
        raise ValueError("the model is not compiled: call model.compile(optimizer, loss) before fit()")


def _check_batch_size(x: Any, batch_size: Optional[int], size: int) -> None:
    if batch_size is None:
        return
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError(f"batch_size is {batch_size!r}; expected a whole number of at least 1")
    if batch_size < size and not _data_shards.is_dataset(x):
        raise ValueError(f"batch_size is {batch_size}, which the {size} slots cannot share")


def _check_validation(fit: Any, wanted: Dict[str, Any]) -> None:
    """Compares the arguments of DeterminedCallback() with those of the model.fit() that it serves."""
    for name, mine in wanted.items():
        other = fit.given[name]
        is_given = mine != 1 if name == "validation_freq" else mine is not None
        is_open = isinstance(other, ValidationFreq) if name == "validation_freq" else other is None
        if is_given and not is_open and other != mine:
            hint = "validation_freq=context.ValidationFreq()" if name == "validation_freq" else "none"
            raise ValueError(f"{name} is {mine!r} in DeterminedCallback() and {other!r} in fit(): give fit() {hint}")
        if is_given and fit.data is None and name != "validation_freq":
            raise ValueError(f"{name} is {mine!r}, but fit() has no validation data: give it validation_data")
    batch_size, x = wanted["validation_batch_size"], (fit.data or {}).get("x")
    if batch_size is not None and not isinstance(x, (list, tuple, dict)) and not _data_shards.is_arrays(x):
        raise ValueError(
            f"validation_batch_size is {batch_size}, but the validation data of fit() has batches already: leave it out"
        )


def _listed(callbacks: Any) -> List[Any]:
    if callbacks is None:
        return []
    listed = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    for each in listed:
        if isinstance(each, Loop):
            raise ValueError("fit() adds the platform's callback by itself: leave it out of callbacks")
        if not isinstance(each, keras.callbacks.Callback):
            raise TypeError(f"callbacks has {each!r}; expected callbacks of Keras")
    return listed


def _set_workers(
    data: Tuple[Any, ...], workers: int, use_multiprocessing: bool, max_queue_size: int
) -> Dict[str, Any]:
    """Arguments of fit() that are attributes of Sequences in Keras 3; other data never used them. Returns those
    that are still arguments."""
    wanted = {"workers": workers, "use_multiprocessing": use_multiprocessing, "max_queue_size": max_queue_size}
    if is_legacy:
        return wanted
    if wanted != {"workers": 1, "use_multiprocessing": False, "max_queue_size": 10}:
        for each in filter(_data_shards.is_sequence, data):
            for name, value in wanted.items():
                setattr(each, name, value)
    return {}


def _steps(x: Any, batch_size: Optional[int]) -> int:
    """Batches per epoch; 1 if unknown."""
    if _data_shards.is_dataset(x):
        return max(int(x.cardinality()), 1)
    if _data_shards.is_sequence(x):
        return max(len(x), 1)
    return max(_data_shards.rows(x) // (batch_size or 32), 1) if _data_shards.is_arrays(x) else 1


def _is_plain(data: Any) -> bool:
    """Whether it is arrays, which have no batches yet."""
    return data is not None and _data_shards.is_arrays(data)


def _evaluate(model: Any, data: Any, loop: TrainerCallback, batch_size: Optional[int], steps: Optional[int]) -> Any:
    """A validation in the middle of an epoch, as Keras would do it at its end."""
    parts = data if isinstance(data, (list, tuple)) and _data_shards.is_arrays(data) else (data,)
    x, y, sample_weight = (*parts, None, None)[:3]
    return model.evaluate(
        x,
        y,
        batch_size=batch_size,
        sample_weight=sample_weight,
        steps=steps,
        callbacks=loop.callback_list(),
        return_dict=True,
        verbose=0,
    )


def _give_weights(trained: Any, model: Any) -> None:
    """Copies the trained weights into the program's own model, if they fit."""
    try:
        model.set_weights(trained.get_weights())
    except ValueError:
        logger.warning("the trained model is not this program's model: use what fit() returns (history.model)")


# ---- init()


@contextlib.contextmanager
def init(*, distributed: Optional[core.DistributedContext] = None) -> Iterator[TrainerContext]:
    """The context of a training: `with det.keras.init() as train_context: ...`

    Seeds Python, NumPy and Keras with the trial's seed. In a task of several slots whose processes were not
    started yet, it starts the program again, once for each slot. Outside of a cluster the same program runs
    alone.
    """
    if distributed is None:
        _launch.relaunch_if_needed()
        distributed = _launch.distributed()
    with core.init(distributed=distributed) as core_context:
        keras.utils.set_random_seed(core_context._values["seed"] & 0xFFFFFFFF)
        context = TrainerContext(core_context)
        _open.append(context)
        try:
            yield context
        finally:
            _open.remove(context)
