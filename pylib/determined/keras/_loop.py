# SPDX-License-Identifier: Apache-2.0
"""Training as the platform wants it, inside an ordinary model.fit().

Keras trains. `Loop`, one of its callbacks, asks libdet's trainer after every batch what is due (det/trainer.h)
and does it: report, validate, save, stop. At the last batch of an epoch this waits for on_epoch_end, after
Keras's own validation; in the middle of an epoch it is done at once.

A training that stops in the middle of an epoch leaves it open: it is not validated and callbacks do not get its
end, because the resumed training will finish it.

A training that resumes inside an epoch continues it: callbacks got its beginning in the earlier process and do
not get it again, because LearningRateScheduler, for one, computes the next rate from the current one.

The Loop is last among the callbacks, so its checkpoint contains what they did at a boundary. _hooks.py says how
it takes over fit's data, _data_order.py gives the order, _saving.py says what a checkpoint holds and how
training resumes from it. With several ranks each runs the same fit: they save together, rank 0 says at each
boundary whether to stop, and if a callback of one rank stops the training, all ranks stop.
"""
import json
import logging
import math
import os
from typing import Any, Callable, Dict, List, Optional, Union

import determined as det
from determined import _det, core
from determined._trial import CONTINUE_ID, in_words
from determined.core._metrics import spread
from determined.errors import SearcherMetricError
from determined.keras import _data_order, _hooks, _state, _validation_order
from determined.keras._package import keras
from determined.keras._saving import Saving

logger = logging.getLogger("determined.keras")

_TOLD_STEP = 0.01  # smaller changes of the progress are not reported
_OCCASIONS = ("on_train_workload_begin", "on_train_workload_end", "on_checkpoint_end")  # more than Keras has
_COUNTS = ("batches", "epochs")  # reported with the metrics
_UNITS = {det.Batches: 1, det.Records: 2, det.Epochs: 3}

Logs = Dict[str, float]
Unit = Optional[det.TrainUnit]


def _length(unit: Unit) -> Any:
    return None if unit is None else (_UNITS[type(unit)], unit.value)


_BATCHES = ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end")


def _may_stop_alone(callback: Any) -> bool:
    """Whether a callback sees batches, and so may end an epoch on its own rank only (as TerminateOnNaN does). A
    callback with `is_agreed` ends it on all ranks or on none."""
    plain = keras.callbacks.Callback
    methods = [(getattr(getattr(callback, name), "__func__", None), getattr(plain, name)) for name in _BATCHES]
    return not getattr(callback, "is_agreed", False) and any(own is not given for own, given in methods)


def _numbers(logs: Logs) -> Logs:
    """The metrics as they are reported: floats, each number of a vector under a name of its own."""
    return {name: _float(value) for name, value in spread(logs).items()}


def _float(value: Any) -> Any:
    """A number, if it is one."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def _plain(logs: Logs) -> Logs:
    """The metrics of training among Keras's logs at the end of an epoch."""
    return _numbers({name: value for name, value in logs.items() if not name.startswith("val_")})


class _Front(keras.callbacks.Callback):  # type: ignore[misc]
    """First among the callbacks of several ranks: gives all of them the metrics of all ranks, so they decide the
    same."""

    is_ours = True

    def __init__(self, loop: "Loop") -> None:
        super().__init__()
        self._loop = loop
        self._trained: Logs = {}
        self._validated: Logs = {}

    def on_test_begin(self, logs: Optional[Logs] = None) -> None:
        if not self._loop._in_validation:  # Keras's own resets the metrics at the end of an epoch
            self._trained = self._loop.reduce()

    def on_test_end(self, logs: Optional[Logs] = None) -> None:
        self._validated = self._loop.reduce()
        (logs if logs is not None else {}).update(self._validated)

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        if logs is None:
            return
        self._loop.epoch_means = self._trained or self._loop.reduce()
        self._trained = {}
        logs.update(self._loop.epoch_means)
        logs.update({f"val_{name}": value for name, value in self._validated.items() if f"val_{name}" in logs})


class ValidationFreq(List[int]):
    """The argument validation_freq of model.fit(): the Loop decides after which epochs it validates.

    Keras evaluates `epoch in validation_freq`, and only for lists. So this is an empty list that asks the Loop."""

    def __init__(self, loop: Callable[[], Optional["Loop"]]) -> None:
        super().__init__()
        self._loop = loop

    def __contains__(self, epoch: object) -> bool:
        loop = self._loop()
        return loop is not None and isinstance(epoch, int) and loop.is_validated(epoch)

    def __bool__(self) -> bool:
        return True


class Loop(keras.callbacks.Callback):  # type: ignore[misc]
    is_ours = True

    def __init__(
        self,
        core_context: core.Context,
        *,
        max_length: Unit = None,
        validation_period: Unit = None,
        checkpoint_period: Unit = None,
        reporting_period: Unit = None,
        configured: bool = True,
        keep: int = _det.KEEP_BEST,
        checkpoint: Optional[str] = None,
        continue_id: Union[int, str, None] = None,
        validate: Optional[Callable[[], Logs]] = None,
        validation_name: str = "val_{}",
        windows: bool = False,
        shard: bool = False,
        batch_size: Optional[int] = None,
        counts: bool = False,
        seed: Optional[int] = None,
        save_model: Optional[Callable[..., None]] = None,
        load_model: Optional[Callable[..., None]] = None,
        saves: bool = True,
        logs: bool = False,
    ) -> None:
        """Lengths are det.Epochs, det.Batches or det.Records; None: fit's own epochs, no period, a report every
        100 batches.

          configured       the experiment's configuration takes precedence over the arguments
          keep             which validations are followed by a checkpoint
          checkpoint       the storage id to begin from
          continue_id      if the checkpoint was saved with the same id, training resumes where it was;
                           otherwise only the weights are taken
          validate         validates in the middle of an epoch; None: only Keras does, at its end
          validation_name  the name of validation metrics
          windows          metrics are reset after each report; else they run over the epoch
          shard            each rank trains its part of the batches, and metrics are those of all
          batch_size       records in a step of all ranks; a Sequence may have batches of one slot then
          counts           reports have `batches` and `epochs`, too
          seed             of the order; None: the trial's
          save_model, load_model   (model, path, distributed): save and load the weights instead of us
          saves            False: the caller saves checkpoints
          logs             metrics are also in the program's log, if Keras shows no progress
        """
        super().__init__()
        self.core = core_context
        self.distributed = core_context.distributed
        self.continue_id = continue_id
        self._options: Dict[str, Any] = {
            "max_length": _length(max_length),
            "validation_period": _length(validation_period),
            "checkpoint_period": _length(checkpoint_period),
            "reporting_period": _length(reporting_period),
            "configured": configured,
            "keep": keep,
        }
        self._checkpoint = checkpoint
        self._validate = validate
        self._validation_name = validation_name
        self._windows = windows
        self._is_sharded = shard and self.distributed.size > 1
        self._batch_size = batch_size
        self._counts = counts
        self._config = json.loads(core_context._values["config"] or "{}")
        self._seed = self._config_seed() if seed is None else seed
        self._save_model, self._load_model = save_model, load_model
        self._saves, self._logs = saves, logs
        self._trainer: Any = None
        self._fit: Optional[_hooks.Fit] = None
        self._reset()

    def _reset(self) -> None:
        self._due = 0  # what is due at the end of this epoch
        self._has_validated = False  # the current state
        self._is_saved = False  # the current state
        self._is_stopped = False  # by us
        self._is_complete = False  # nothing is left to train
        self._in_validation = False  # our own, not that of Keras
        self._validated_view: Any = None  # a Sequence
        self._worth_telling = 0.0  # the next progress to report
        self._heard: Dict[str, List[Any]] = {each: [] for each in _OCCASIONS}  # callbacks by the event they handle
        self._window: Optional[List[Any]] = None  # metrics, if a window continues in the next epoch
        self._is_window_new = True
        self._reported = 0  # batches at the last report
        self._is_cut = False
        self._asks = False  # all ranks agree after every batch whether it is the last
        self._owed = 0  # what was due when training had to stop
        self._told: Logs = {}  # the last report
        self._told_validation: Logs = {}
        self.epoch_means: Logs = {}

    def _config_seed(self) -> int:
        info = self.core.info
        if info is not None and info.task_type == "TRIAL":
            return info.trial.trial_seed
        seed: int = (self._config.get("reproducibility") or {}).get("experiment_seed") or 0
        return seed

    # ---- where we are

    @property
    def batches(self) -> int:
        return self._trainer.batches() if self._trainer else 0

    @property
    def epochs(self) -> int:
        return self._trainer.epochs() if self._trainer else 0

    @property
    def stride(self) -> int:
        """Batches between two calls of a callback."""
        return self._fit.stride if self._fit else 1

    def callback_list(self) -> Any:
        """All callbacks, for model.evaluate(callbacks=...) during training."""
        assert self._fit is not None
        return self._fit.callbacks

    def stop(self) -> None:
        """Ends the training at the next boundary, with a checkpoint; it counts as complete."""
        self._is_complete = True

    def is_validated(self, epoch: int) -> bool:
        """Whether the platform wants a validation after this epoch, counted from 1, which has just been trained."""
        return bool(self._due & _det.VALIDATE)

    # ---- beginning

    def on_train_begin(self, logs: Optional[Logs] = None) -> None:
        if self._trainer is not None:
            raise RuntimeError(
                "fit() was called a second time with the same callback: one callback serves one fit(); "
                "make another callback, or train longer in one"
            )
        self._set_status("restoring" if self._checkpoint else "training")
        self._fit = fit = _hooks.Fit(self.model)
        self._look_at_validation(fit)
        fit.build()
        self._feed = _data_order.make(fit, self._seed, self._part(), self._batch_size)
        self._trainer = self._make_trainer(fit, self._feed)
        own = (self._save_model, self._load_model)
        self._saving = Saving(self.core, fit, self._trainer, self._feed, self._siblings, *own)
        self._reset_metrics = _hooks.Reset(self.model)
        fit.reorder([_Front(self)] if self._is_sharded else [], self)
        self._heard = {each: self._listeners(each) for each in _OCCASIONS}
        if self._is_sharded:
            self._asks = any(self.distributed.allgather(any(map(_may_stop_alone, self._siblings()))))
        if self._checkpoint is not None:
            self._go_on_from(self._checkpoint)
        if self._is_sharded and not self.batches:
            self._make_equal()
        position = self._trainer.epoch_position()
        if self._feed.batches is None and self.epochs:
            fit.expect((self.batches - position) // self.epochs)
        self._feed.go_to(self.epochs, position)
        fit.take_over(self._feed.prepare, self._steps)
        due = self._trainer.begin()
        if due & _det.STOP:
            self._is_complete = True  # it was at its end when it was saved
        fit.begin_at(self._first_epoch(fit), self._is_continued)
        if due & _det.VALIDATE and self._validate is not None:
            if self.batches:
                self._owed = due
            else:
                self._run_validation()
        self._set_status("training")

    def _look_at_validation(self, fit: _hooks.Fit) -> None:
        """A subclass may change how Keras validates, before training begins."""

    def _go_on_from(self, checkpoint: str) -> None:
        memory = self._saving.restore(checkpoint, self.continue_id)
        if memory is not None:
            # a training that stopped early does not continue, unless its length was changed
            self._is_complete = memory["complete"] == self._goal()
            self._is_saved = True

    def _make_equal(self) -> None:
        """Every rank begins with the weights of the first."""
        from determined.keras import _distribute

        _distribute.broadcast(self.model, self.distributed)

    def _part(self) -> _data_order.Part:
        return (self.distributed.rank, self.distributed.size) if self._is_sharded else (0, 1)

    def _make_trainer(self, fit: _hooks.Fit, feed: _data_order.Feed) -> Any:
        options = dict(self._options, batches_per_epoch=feed.batches or 0)
        if options["max_length"] is None:
            options["max_length"] = (3, max(fit.epochs - fit.first_epoch, 1))
        if os.environ.get("DET_TEST_MODE") == "1":
            options.update(max_length=(1, 1), configured=False)
        searcher = self._config.get("searcher") or {}
        options["larger_is_better"] = searcher.get("smaller_is_better") is False
        if not self._saves:
            options.update(checkpoint_period=None, keep=_det.KEEP_NONE)
        return self.core._det.trainer(options)

    def _first_epoch(self, fit: _hooks.Fit) -> int:
        if self._is_complete:
            return fit.epochs  # no epoch is left
        return fit.first_epoch + self.epochs

    # ---- boundaries

    def _is_continued(self) -> bool:
        """Restores the callbacks: all of them have had on_train_begin, and no epoch has begun. Returns whether the
        first epoch began in an earlier process."""
        self._saving.restore_callbacks()
        if self._saving.remember_callbacks():
            self._feed.settle()
        return self._trainer.epoch_position() > 0

    def on_epoch_begin(self, epoch: int, logs: Optional[Logs] = None) -> None:
        if self._window is not None:
            _state.restore(self.model, self._window, (_state.METRIC,))
            self._window = None
        self._agree()
        if self._owed:
            self._catch_up()

    def _agree(self) -> None:
        """If a callback of one rank stops the training, all ranks stop; all of them ask."""
        if self._is_sharded:
            self.model.stop_training = any(self.distributed.allgather(bool(self.model.stop_training)))

    def _catch_up(self) -> None:
        """Runs the validation that was skipped when the platform wanted the slots back."""
        due, self._owed = self._owed, 0
        if due & _det.REPORT:
            self._report_training(_plain(self.model.get_metrics_result()), False)
        self._run_validation()
        if self.model.stop_training:  # a callback has stopped the training
            self._is_complete = True
            if self._saves:
                self.save()
            self._stop(False, self._told)

    def _steps(self) -> Any:
        return iter(()) if self._is_stopped else self._feed.steps()

    def on_train_batch_begin(self, batch: int, logs: Optional[Logs] = None) -> None:
        if self._is_window_new:
            self._is_window_new = False
            if self._heard["on_train_workload_begin"]:
                self._tell("on_train_workload_begin", self.batches, self._most())

    def on_train_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None:
        self._is_saved = self._has_validated = False
        if self.core.preempt.should_preempt():
            self._trainer.stop()
        fit = self._fit
        assert fit is not None
        due = self._trainer.batch_end(fit.stride)
        if self._asks:
            self._agree()
        model = fit.model  # the Callback's own property updates it, with JAX after every batch
        self._is_cut = model.stop_training  # stopped by a callback: fit leaves the epoch here
        if self._is_complete:
            due |= _det.STOP | _det.CHECKPOINT
        if due & _det.EPOCH_END:
            if due & _det.STOP:  # the history of this epoch cannot wait until training resumes
                due |= self._trainer.begin()
            self._due = due
            self._leave_window_open(due)
        elif due and (due & _det.STOP or not self._is_cut):  # a cut epoch reports, validates and saves at its end
            self._act(due, logs or {})
            if model.stop_training:  # Keras reads the metrics
                self._reset_metrics.settle()

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        if self._is_stopped:
            return
        due, self._due = self._due, 0
        if not due & _det.EPOCH_END:
            if not self._trainer.epoch_position():
                raise ValueError("the training data is empty")
            due |= _det.VALIDATE | _det.REPORT if self._is_cut else self._trainer.epoch_end()
            self._leave_window_open(due)
        self._agree()
        if self.model.stop_training:  # a callback has stopped the training
            self._is_complete = True
        if self._is_complete:
            due |= _det.STOP | (0 if self._is_saved else _det.CHECKPOINT)
        self._act(due, _plain(logs or {}), epoch_ends=True)

    def _act(self, due: int, logs: Logs, epoch_ends: bool = False) -> None:
        if due & _det.REPORT:
            self._report_training(logs, epoch_ends)
        if due & _det.VALIDATE and not self._has_validated and self._validate is not None:
            due |= self._run_validation()
            if self.model.stop_training and not epoch_ends:  # a callback has stopped the training
                self._is_complete = True
                due |= _det.STOP | _det.CHECKPOINT
        elif epoch_ends:
            due |= self._verdict
        self._verdict = 0
        if epoch_ends:
            if self.distributed.size > 1:  # each rank may have validated other data
                due = self.distributed.broadcast(due)
            self._begin_metrics()
        if due & _det.CHECKPOINT and self._saves and not self._is_saved:
            self.save()
        if due & _det.STOP:
            self._stop(epoch_ends, self._told if due & _det.REPORT else logs)

    _verdict = 0  # the trainer's answer to the last validation

    def _leave_window_open(self, due: int) -> None:
        """At the end of an epoch, before its validation and the next epoch reset the metrics."""
        if self._windows and not due & _det.REPORT:
            _hooks.sync(self.model)
            entries = _state.snapshot(self.model, (_state.METRIC,))
            self._window = [(kind, path, array.copy()) for kind, path, array in entries]

    def _begin_metrics(self) -> None:
        """The metrics at the beginning of the next epoch, as in a checkpoint."""
        self._reset_metrics()
        if self._window is not None:
            _state.restore(self.model, self._window, (_state.METRIC,))

    def _stop(self, epoch_ends: bool, logs: Logs) -> None:
        """`logs` are the metrics of training: Keras may find them reset."""
        self._is_stopped = True
        self.model.stop_training = True
        if not epoch_ends and self._fit is not None:
            self._fit.leave_epoch_open({**logs, **(self._told_validation if self._has_validated else {})})

    def on_train_end(self, logs: Optional[Logs] = None) -> None:
        self._saving.restore_callbacks()
        self._set_status("finishing")
        if self._saves and not self._is_saved and self.batches:
            self._is_complete = True
            self.save()
        self.core._det.checkpoint_wait(-1)
        if self._fit is not None:
            self._fit.let_go()
            self._fit.end_workers()

    # ---- reports

    def reduce(self) -> Logs:
        """The current metrics, over all ranks."""
        from determined.keras import _distribute

        return _distribute.reduce_metrics(self.model, self.distributed)

    def _most(self) -> int:
        """The maximum number of batches of the window that begins now."""
        unit = int(self._config.get("scheduling_unit") or 100)
        most = unit - self.batches % unit
        length = (self._config.get("searcher") or {}).get("max_length")
        if isinstance(length, dict) and length.get("batches"):
            most = min(most, int(length["batches"]) - self.batches)
        return most

    def _tell(self, occasion: str, *what: Any) -> None:
        """Callbacks with more events than Keras has (determined.keras.callbacks)."""
        for each in self._heard[occasion]:
            getattr(each, occasion)(*what)

    def _listeners(self, occasion: str) -> List[Any]:
        methods = [(each, getattr(each, occasion, None)) for each in self._siblings()]
        return [each for each, method in methods if method is not None and not hasattr(method, "is_default")]

    def _report_training(self, logs: Logs, epoch_ends: bool) -> None:
        if self._is_sharded:
            logs = self.epoch_means if epoch_ends else self.reduce()
            if not self._told:  # the first report, long before the first checkpoint
                self._check_equal()
        self._told = dict(logs)
        logs = _numbers(logs)
        trainer, batches = self._trainer, self._trainer.batches()
        if self._counts:
            logs = {"batches": batches, "epochs": trainer.epochs(), **logs}
        if self.distributed.rank == 0:
            self.core.train.report_training_metrics(batches, logs)
            if trainer.progress() >= self._worth_telling:
                self._report_progress(batches, logs)
        trainer.window()  # closes it
        self._is_window_new = True
        if self._heard["on_train_workload_end"]:
            self._tell("on_train_workload_end", batches, logs)
        if self._windows:
            self._reset_metrics.after_window(batches - self._reported)
        self._reported = batches

    def _report_progress(self, batches: int, logs: Logs) -> None:
        if self._logs:
            logger.info("after %d batches: %s", batches, in_words(logs))
        progress = min(self._trainer.progress(), 1.0)
        self.core.train.report_progress(progress)
        self._worth_telling = min(progress + _TOLD_STEP, 1.0)

    def on_test_begin(self, logs: Optional[Logs] = None) -> None:
        self._set_status("validating")
        self._validated_view = _validation_order.begin(self.model, self._seed, self.distributed.rank, self.batches)
        if self._is_sharded and self._trainer is not None:
            from determined.keras import _distribute

            _distribute.average_statistics(self.model, self.distributed)  # all ranks validate the same model

    def on_test_end(self, logs: Optional[Logs] = None) -> None:
        """A validation has ended: Keras's own at the end of an epoch, or ours."""
        _validation_order.end(self._validated_view)
        if self._trainer is None:
            return
        metrics = _numbers({self._validation_name.format(name): value for name, value in (logs or {}).items()})
        self._told_validation = {f"val_{name}": value for name, value in (logs or {}).items()}
        self._name_searched(metrics)
        if self._counts:
            for count in _COUNTS:
                metrics.setdefault(count, getattr(self, count))
        if self.distributed.rank == 0:
            self.core.train.report_validation_metrics(self.batches, metrics)
            if self._logs:
                logger.info("validated after %d batches: %s", self.batches, in_words(metrics))
        value = self._searcher_value(metrics)
        self._has_validated = True
        self._verdict |= self._trainer.validated(value)
        self._set_status("training")

    def _searched(self) -> Optional[str]:
        name: Optional[str] = (self._config.get("searcher") or {}).get("metric")
        return name

    def _name_searched(self, metrics: Logs) -> None:
        """Keras has two names for a metric; it is also reported under the searcher's."""
        name = self._searched()
        if name is None or name in metrics:
            return
        other = name[len("val_") :] if name.startswith("val_") else "val_" + name
        if other in metrics:
            metrics[name] = metrics[other]

    def _searcher_value(self, metrics: Logs) -> float:
        name = self._searched()
        if name is None or name in metrics:
            return metrics.get(name, math.nan) if name else math.nan
        names = sorted(set(metrics) - (set(_COUNTS) if self._counts else set()))
        raise SearcherMetricError(
            f"the searcher's metric '{name}' is not among the validation metrics: "
            f"{', '.join(names) or 'none'}; name one of these in searcher.metric"
        )

    def _run_validation(self) -> int:
        """In the middle of an epoch: the metrics of training continue afterwards."""
        assert self._validate is not None
        self._reset_metrics.settle()
        _hooks.sync(self.model)
        before = _state.snapshot(self.model, (_state.METRIC,))
        before = [(kind, path, array.copy()) for kind, path, array in before]
        self._verdict = 0
        self._in_validation = True
        try:
            self._validate()
        finally:
            self._in_validation = False
            _state.restore(self.model, before, (_state.METRIC,))
        self._agree()
        verdict, self._verdict = self._verdict, 0
        return verdict

    def _set_status(self, word: str) -> None:
        if self.distributed.rank == 0:
            self.core.train.set_status(word)

    # ---- checkpoints

    def _siblings(self) -> List[Any]:
        """The other callbacks, which may have state."""
        callbacks = self._fit.callbacks.callbacks if self._fit else []
        left_out = (Loop, _Front, keras.callbacks.ProgbarLogger)
        return [each for each in callbacks if not isinstance(each, left_out)]

    def _goal(self) -> Any:
        """The configured length of the training."""
        assert self._fit is not None
        length = self._options["max_length"]
        return [length and list(length), self._fit.epochs, (self._config.get("searcher") or {}).get("max_length")]

    def _files(self) -> Dict[str, Any]:
        """This rank's part of a checkpoint."""
        self._reset_metrics.settle()
        return self._saving.files(self.continue_id, self._goal() if self._is_complete else None)

    def _check_equal(self) -> None:
        if self._is_sharded:
            from determined.keras import _distribute

            _distribute.check_equal(self.model, self.distributed, self.batches)

    def save(self) -> str:
        """Saves a checkpoint of the current state and returns its storage id; every rank calls it."""
        self._set_status("checkpointing")
        self._check_equal()
        self._trainer.saved()
        files = self._files()
        group = self.distributed._group if self.distributed.size > 1 else None
        listeners = self._heard["on_checkpoint_end"]
        overlapped = self._save_model is None and not listeners
        metadata: Dict[str, Any] = {"steps_completed": self.batches, "framework": "keras", "format": "determined.keras"}
        metadata["not_state"] = [CONTINUE_ID]  # det resume-proof compares the others
        checkpoint = self.core._det.checkpoint_begin(self.batches, json.dumps(metadata), group, overlapped=overlapped)
        try:
            for name, content in files.items():
                checkpoint.put(name, content)
            if self._save_model is not None:
                self._save_model(self.model, checkpoint.path, self.distributed)
            for each in listeners:
                each.on_checkpoint_end(checkpoint.path)
            uuid: str = checkpoint.uuid
            checkpoint.commit()
        except BaseException as error:
            checkpoint.abort(str(error))
            raise
        self._is_saved = True
        self._set_status("training")
        return uuid
