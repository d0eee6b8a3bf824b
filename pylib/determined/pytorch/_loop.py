# SPDX-License-Identifier: Apache-2.0
"""The one loop that trains every PyTorch trial.

    batch from the feed -> train_batch() -> metrics into libdet's windows -> what is due?

libdet's trainer decides what is due after a batch (det/trainer.h): report, validate, save, stop. This module
does not count periods; the loop adds only those that name single steps (Batch([1, 5])). On the processor a
metric becomes a number at once, which needs no waiting; on a GPU it stays there until it is read. Everything that
cannot change within an epoch is looked up once per epoch. Both keep the loop's own cost at a few microseconds per
batch. If program and configuration both set a value, `configured` in _det_trainer.c decides which one counts.

A resumed run does exactly, to the bit, what an uninterrupted run would do next: the saved state is loaded, the
feed seeks to the same batch, and the random generators are set last, after all draws of the beginning. Ranks do
the same things at the same batches; rank 0 reports.
"""
import contextlib
import dataclasses
import inspect
import json
import logging
import math
import os
import re
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch

from determined import _det
from determined._trial import CONTINUE_ID, continue_id, in_words, rank_name
from determined.core._metrics import spread
from determined.errors import SearcherMetricError
from determined.pytorch import _data, _metrics, _reducer, _state
from determined.pytorch._callback import Callbacks
from determined.pytorch._metrics import Metrics
from determined.pytorch._trial import PyTorchTrial, is_defined
from determined.pytorch._trial_context import PyTorchTrialContext, seed_everything
from determined.pytorch._units import Unit, length

logger = logging.getLogger("determined.pytorch")

_TOLD_STEP = 0.01  # smaller changes of the progress are not reported
_DATA, _STEP, _VALIDATE = 0, 1, 4  # enum det_timing_kind
_ASK_CHIEF = 0  # enum det_preempt_mode

# Whether program or configuration decides if both have a value.
CONFIGURATION, PROGRAM = 1, 2


@dataclasses.dataclass
class Options:
    """How long to train, and how often to do what. None: as the configuration says, else only at the end; reports
    come every 100 batches."""

    max_length: Unit = None
    validation_period: Unit = None
    checkpoint_period: Unit = None
    reporting_period: Unit = None
    keep: int = _det.KEEP_BEST
    first: int = CONFIGURATION
    latest_checkpoint: Optional[str] = None
    step_zero_validation: bool = False
    test_mode: bool = False
    profiling: bool = False


# ---- validation


def _takes_index(method: Any) -> bool:
    """Whether evaluate_batch() takes the number of the batch, too."""
    parameters = inspect.signature(method).parameters.values()
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return len(places) > 1 or any(each.kind is each.VAR_POSITIONAL for each in parameters)


# ---- a full GPU


def _out_of_memory(error: BaseException, context: PyTorchTrialContext) -> BaseException:
    """The same error, preceded by the requested and the free memory."""
    asked = re.search(r"[Tt]ried to allocate ([\d.]+ \w+)", str(error))
    free = re.search(r"of which ([\d.]+ \w+) is free", str(error))
    whole = re.search(r"total capacity of ([\d.]+ \w+)", str(error))
    words = [f"the GPU {context.device} is full: {asked.group(1) if asked else 'more memory'} was requested"]
    if free:
        words.append(f", {free.group(1)} {f'of {whole.group(1)} ' if whole else ''}was free")
    size = context.get_hparams().get("global_batch_size") if isinstance(context.get_hparams(), dict) else None
    now = f" (now {size})" if size else ""
    words.append(f"; use smaller batches{now}, aggregate gradients over several (aggregation_frequency), or use_amp()")
    return type(error)("".join(words))


# ---- the loop


class Loop:
    """One run of a trial: run() trains it to its end, or until the platform wants the slots back."""

    def __init__(
        self,
        context: PyTorchTrialContext,
        trial: PyTorchTrial,
        train_data: Any = None,
        val_data: Any = None,
        options: Optional[Options] = None,
        is_trainer: bool = True,
    ) -> None:
        if not isinstance(trial, PyTorchTrial):
            raise TypeError(f"the trial is of type {type(trial).__name__}; expected a det.pytorch.PyTorchTrial")
        self.context = context
        self.trial = trial
        self.core = context._core
        self.distributed = context.distributed
        self._given = (train_data, val_data)
        self._options = options or Options()
        self._is_trainer = is_trainer
        self._is_test = self._options.test_mode or os.environ.get("DET_TEST_MODE") == "1"
        self._config = context.get_experiment_config()
        # the position: the batch that is trained now
        self.batches = 0
        self.epoch = 0
        self.position = 0
        self.epoch_length = 0
        self.first_batch = 0
        self._is_saved = False
        self._is_complete = False  # nothing is left to train
        self._has_validated = False
        self._owed = 0  # the single steps that were due when training had to stop
        self._told = -1.0  # the last reported progress
        self._metrics: Metrics = {}  # the latest metrics: of validation if there is one
        self._generators: Any = None

    # ---- beginning

    def run(self) -> Metrics:
        """Trains; returns the metrics of the last validation, or of training without a validation."""
        self._check()
        self.context._loop = self
        self.context.is_preempted = False
        try:
            with contextlib.ExitStack() as stack, self.context._ranks.guard():
                self._open(stack)
                self._train()
                self._end()
        except torch.OutOfMemoryError as error:
            self.distributed._fail(error)
            raise _out_of_memory(error, self.context) from error
        except BaseException as error:
            self.distributed._fail(error)
            raise
        finally:
            self.context._loop = None
            self.context._is_in_train_batch = False
        return dict(self._metrics)

    def _check(self) -> None:
        info = self.core.info
        if info is not None and info.task_type != "TRIAL":
            raise RuntimeError(f"this task cannot train: it is a {info.task_type}, not a trial of an experiment")
        context = self.context
        if context._loop is not None:
            raise RuntimeError("fit() was called while it is already training")
        if getattr(context, "_has_fitted", False):
            raise RuntimeError(
                "fit() was already called: a trial is one training, whose checkpoints and reports follow each "
                "other; train longer in one fit(), or make another trial"
            )
        context._check_wrapped()
        context._has_fitted = True  # type: ignore[attr-defined]

    def _open(self, stack: contextlib.ExitStack) -> None:
        self._set_status("restoring" if self._checkpoint() else "training")
        self.callbacks = Callbacks(self.trial.build_callbacks())
        self._feed = stack.enter_context(contextlib.closing(self._make_feed(True)))
        self._evaluation = self._make_evaluation(stack)
        self.epoch_length = self._feed.batches or 0
        if self._feed.batches == 0:
            raise ValueError("there is no batch in the training data: it is shorter than one batch, or empty")
        self._check_lengths()
        self._trainer = self.core._det.trainer(self._trainer_options())
        self._steps = self._single_steps()
        self._windows = _metrics.Windows(self._trainer, bool(self.callbacks.hearing("on_training_workload_end")))
        self._code = _state.code() if self.distributed.rank == 0 else {}
        stack.callback(self.context._close_tensorboard)
        stack.callback(self.callbacks.tell, "on_trial_shutdown")
        self._begin()
        if self._options.profiling and not self._config.profiling_enabled():
            self.core.profiler.on()
            stack.callback(self.core.profiler.off)
        if self.context.profiler is not None:
            stack.enter_context(self.context.profiler)

    def _data(self, index: int, name: str) -> Any:
        """A data loader: the argument of the call, else the trial's."""
        if self._given[index] is not None:
            return self._given[index]
        return getattr(self.trial, name)() if is_defined(self.trial, name) else None

    def _make_feed(self, training: bool) -> Any:
        name = "build_training_data_loader" if training else "build_validation_data_loader"
        data = self._data(0 if training else 1, name)
        if data is None:
            if training:
                raise ValueError(
                    f"there is no training data: give fit() train_data, or {type(self.trial).__name__} a {name}()"
                )
            return None
        return _data.make_feed(
            data,
            seed=self.context.get_trial_seed(),
            rank=self.distributed.rank,
            size=self.distributed.size,
            checks=self.context.experimental._checks_data,
            training=training,
            round_size=_data.round_of(data, self.distributed),
        )

    def _check_lengths(self) -> None:
        """Gradients are averaged batch by batch: a rank with more batches would wait forever."""
        lengths = self.distributed.allgather(self._feed.batches)
        if len(set(lengths)) > 1:
            raise ValueError(
                f"the ranks have {', '.join(map(str, lengths))} batches of training data per epoch, but must have the same number: "
                "let a det.pytorch.DataLoader share the data, or make the parts equal"
            )

    def _make_evaluation(self, stack: contextlib.ExitStack) -> Any:
        """The function that validates; None: nothing is validated."""
        one, all_ = (is_defined(self.trial, name) for name in ("evaluate_batch", "evaluate_full_dataset"))
        name = type(self.trial).__name__
        if one and all_:
            raise ValueError(f"{name} has evaluate_batch() and evaluate_full_dataset(): define one of them")
        data = self._data(1, "build_validation_data_loader")
        if data is None or not (one or all_):
            if data is not None:
                raise ValueError(f"{name} has neither evaluate_batch() nor evaluate_full_dataset(), so it cannot validate")
            self._warn_of_searcher()
            return None
        if all_:
            return lambda: self._evaluate_all(data)
        self._given = (self._given[0], data)  # built once
        feed = stack.enter_context(contextlib.closing(self._make_feed(False)))
        if feed.batches == 0 and self.distributed.size == 1:
            raise ValueError("the validation data is empty")
        reducer = self.trial.evaluation_reducer()
        _reducer.Metrics(reducer)  # checks it
        with_index = _takes_index(self.trial.evaluate_batch)
        return lambda: self._evaluate_batches(feed, reducer, with_index)

    def _warn_of_searcher(self) -> None:
        metric = (self._config.get("searcher") or {}).get("metric")
        if metric is not None and self.core.info is not None:
            logger.warning("the searcher uses '%s', but nothing is validated: there is no validation data", metric)

    def _trainer_options(self) -> Dict[str, Any]:
        options = self._options
        searcher = self._config.get("searcher") or {}
        chosen: Dict[str, Any] = {
            "max_length": length(options.max_length, "max_length"),
            "validation_period": length(options.validation_period, "validation_period"),
            "checkpoint_period": length(options.checkpoint_period, "checkpoint_period"),
            "reporting_period": length(options.reporting_period, "reporting_period"),
            "batches_per_epoch": self.epoch_length,
            "records_per_batch": self._records_per_batch(),
            "keep": options.keep,
            "initial_validation": int(options.step_zero_validation),
            "larger_is_better": int(searcher.get("smaller_is_better") is False),
            "configured": options.first,
        }
        if options.max_length is not None and chosen["max_length"] is None:
            raise ValueError(f"max_length is {options.max_length!r}; expected a number, not single steps")
        if self._is_test:
            chosen.update(max_length=(_det.BATCHES, 1), configured=0, initial_validation=0)
        return chosen

    def _records_per_batch(self) -> int:
        """Records per batch over all ranks; 0: the configuration's global_batch_size."""
        records = getattr(self._feed, "records", 0) or 0
        size = self.context.get_hparams().get("global_batch_size")
        if isinstance(size, int) and not isinstance(size, bool) and size > 0:
            return size
        return -(-records // self.epoch_length) if self.epoch_length else 0

    def _single_steps(self) -> List[Tuple[int, Any, bool]]:
        """Periods that name single steps: (what, container, whether it counts epochs)."""
        options = self._options
        periods = (
            (_det.REPORT, options.reporting_period),
            (_det.VALIDATE | _det.REPORT, options.validation_period),
            (_det.CHECKPOINT, options.checkpoint_period),
        )
        return [
            (what, unit.value, type(unit).__name__ == "Epoch")
            for what, unit in periods
            if unit is not None and not isinstance(unit.value, int) and not self._is_test
        ]

    # ---- from a checkpoint

    def _checkpoint(self) -> Optional[str]:
        return self._options.latest_checkpoint or self.core.latest_checkpoint

    def _begin(self) -> None:
        checkpoint = self._checkpoint()
        for training in (True, False):
            self.context._reducers.reset(training)
        with self._folder(checkpoint) as folder:
            found = None if folder is None else _read(folder, self.distributed.rank)
            goes_on = found is not None and found[3] == continue_id(self.core)
            self.first_batch = found[2]["batches"] if found is not None and goes_on else 0
            self.callbacks.tell("on_trial_startup", self.first_batch, checkpoint)
            if found is not None and folder is not None:
                self._restore(folder, found, goes_on)
        rank = self.distributed.rank
        if rank and self._generators is None:  # weights must be equal on all ranks, dropout must differ
            seed_everything(self.context.get_trial_seed() + rank)
        self._train_mode()
        self.callbacks.tell("on_training_start")
        self._feed.go_to(self.epoch, self.position)
        if self._generators is not None:
            _state.restore_generators(self._generators, self.context.device)
        self._set_status("training")

    @contextlib.contextmanager
    def _folder(self, checkpoint: Optional[str]) -> Iterator[Optional[str]]:
        """Where the checkpoint to begin from is: in the storage, or in a folder."""
        if checkpoint is None:
            yield None
        elif os.path.isdir(checkpoint):
            yield checkpoint
        else:
            with self.core.checkpoint.restore_path(checkpoint) as path:
                yield os.fspath(path)

    def _restore(self, folder: str, found: Any, goes_on: bool) -> None:
        checkpoint, own, memory, _ = found
        self.callbacks.tell("on_checkpoint_load_start", checkpoint)
        _state.restore_models(self.context, checkpoint, _state.other_class(folder, self.trial))
        if not goes_on:
            logger.info("beginning with the weights of the checkpoint; it belongs to another training")
            return
        _state.restore_training(self.context, checkpoint, self.callbacks)
        _state.restore_own(self.context, own)
        self._trainer.load(memory["trainer"])
        self._windows.batches = own.get("batches") or []
        self._metrics = memory["metrics"]
        self._owed = memory["owed"]
        self._is_complete = memory["complete"] == self._goal()
        self.batches = self._trainer.batches()
        self.epoch, self.position = self._trainer.epochs(), self._trainer.epoch_position()
        if memory["feed"] is not None:
            self._feed.load(memory["feed"])
        self._generators = checkpoint["rng_state"]
        self._is_saved = True
        logger.info("continuing after %d batches, %d epochs", self.batches, self.epoch)

    # ---- training

    def _train_mode(self) -> None:
        for model in self.context.models:
            model.train()

    def _train(self) -> None:
        due = self._trainer.begin()
        due |= self._owed & ~_det.CHECKPOINT
        self._owed = 0
        if due & _det.STOP:
            self._is_complete = True  # it was at its end when it was saved
        if self._is_complete:
            return
        if self.batches == 0 and self.distributed.rank == 0:
            slots = f"{self.distributed.size} slots" if self.distributed.size > 1 else "one slot"
            logger.info("training on %s (%s), %s batches per epoch", slots, self.context.device, self.epoch_length or "?")
        if due & _det.VALIDATE and self._act(due & (_det.REPORT | _det.VALIDATE)):
            return
        while not self._train_epoch():
            pass

    def _train_epoch(self) -> bool:
        """Trains the rest of an epoch; returns True at the end of the training."""
        if self.position == 0:
            self.callbacks.tell_epoch("on_training_epoch_start", self.epoch)
        self._feed.go_to(self.epoch, self.position)
        step = self._make_step()
        epoch = self.epoch
        batches: Any = _closable(self._feed.epoch())
        with contextlib.closing(self._timed(batches) if self._is_timed else batches) as feed:
            for batch in feed:
                due = step(batch)
                if due:
                    if self._act(due):
                        return True
                    if due & _det.EPOCH_END:
                        return False
        return self._run_out(epoch)

    def _run_out(self, epoch: int) -> bool:
        """The data has ended, and its length was unknown before."""
        if self.epoch_length:
            raise RuntimeError(
                f"the training data ended after {self.position} batches of epoch {epoch}, but its length is "
                f"{self.epoch_length}"
            )
        if self.position == 0:
            raise ValueError("the training data is empty")
        due = self._trainer.epoch_end()
        self._end_epoch()
        self.epoch, self.position = self._trainer.epochs(), 0
        return self._act(due | self._named_steps(due))

    @property
    def _is_timed(self) -> bool:
        return self._options.profiling or self._config.profiling_enabled()

    def _timed(self, feed: Iterator[Any]) -> Any:
        det = self.core._det
        feed = iter(feed)
        while True:
            begun = det.timing_begin()
            try:
                batch = next(feed)
            except StopIteration:
                return
            det.timing_end(_DATA, begun)
            yield batch

    def _make_step(self) -> Any:
        """The work for one batch, as one function: constants are looked up once per epoch. Returns what is due."""
        context, trial = self.context, self.trial
        moves = context.experimental._auto_to_device and context.device.type != "cpu"
        frequency = context.aggregation_frequency
        is_plain = not context.experimental._auto_amp and (frequency == 1 or self.distributed.size == 1)
        schedulers, profiler = context.lr_schedulers, context.profiler
        train_batch, add, batch_end = trial.train_batch, self._windows.add, self._trainer.batch_end
        preempted, det = self.distributed._group.preempted, self.core._det
        asks_alone = self.distributed.size == 1
        timed, steps = self._is_timed, bool(self._steps)

        def step(batch: Any) -> int:
            index = self.batches
            if moves:
                batch = context.to_device(batch)
            begun = det.timing_begin() if timed else (0, 0)
            context._is_in_train_batch = True
            if is_plain:
                metrics = train_batch(batch, self.epoch, index)
            else:
                metrics = self._special_batch(batch, index)
            context._is_in_train_batch = False
            if timed:
                det.timing_end(_STEP, begun)
            add(metrics, index)
            for each in schedulers:
                each._after_batch(index + 1, frequency)
            if profiler is not None:
                profiler.step()
            self._is_saved = self._has_validated = False
            if preempted(det, _ASK_CHIEF):
                self._stop_for_platform()
            due: int = batch_end()
            if due & _det.EPOCH_END:
                self._end_epoch()
                self.epoch += 1
                self.position = 0
            else:
                self.position += 1
            self.batches = index + 1
            if steps:
                due |= self._named_steps(due)
            if asks_alone and context._stop_requested:
                due |= self._stop_for_program() | _det.REPORT
            return due

        return step

    def _special_batch(self, batch: Any, index: int) -> Any:
        """In mixed precision, or with gradients that stay on this rank for now."""
        context = self.context
        is_step = (index + 1) % context.aggregation_frequency == 0
        amp = context.experimental._auto_amp
        context._has_stepped = False
        with contextlib.nullcontext() if is_step else context._ranks.no_sync():
            with torch.autocast(context.device.type, enabled=amp):
                metrics = self.trial.train_batch(batch, self.epoch, index)
        if amp and context._has_stepped:  # a batch may return no loss, and then nothing is learnt
            context._scaler.update()
        return metrics

    def _stop_for_platform(self) -> None:
        self.context.is_preempted = True
        self.core.preempt.should_preempt() if self.distributed.size == 1 else self._acknowledge()
        self._trainer.stop()

    def _acknowledge(self) -> None:
        if self.distributed.rank == 0:
            self.core.preempt.acknowledge_preemption_signal()

    def _stop_for_program(self) -> int:
        """context.set_stop_requested(True): the training is complete."""
        self._is_complete = True
        return _det.STOP | _det.CHECKPOINT

    def _named_steps(self, due: int) -> int:
        """What is due because a period names this step."""
        more = 0
        for what, container, of_epochs in self._steps:
            if of_epochs and not due & _det.EPOCH_END:
                continue
            if (self.epoch if of_epochs else self.batches) in container:
                more |= what
        if due & _det.STOP and not due & _det.VALIDATE and more & _det.VALIDATE:
            self._owed, more = more, more & _det.CHECKPOINT  # a user who asked to stop gets a checkpoint and nothing else
        return more

    def _end_epoch(self) -> None:
        for each in self.context.lr_schedulers:
            each._after_epoch(self.epoch + 1)
        self.callbacks.tell_epoch("on_training_epoch_end", self.epoch)

    # ---- what is due

    def _act(self, due: int) -> bool:
        """Returns True if training ends here."""
        if due & _det.REPORT:
            self._report()
            due |= self._agree_to_stop()
        if due & _det.VALIDATE and self._evaluation is not None and not self._has_validated:
            due |= self._validate()
            due |= self._agree_to_stop()
        if due & _det.CHECKPOINT and not self._is_saved and self.batches:
            self.save()
        return bool(due & _det.STOP)

    def _agree_to_stop(self) -> int:
        """Several ranks ask each other at reports and validations, so all stop after the same batch."""
        return self._stop_for_program() if any(self.distributed.allgather(self.context._stop_requested)) else 0

    def _reduce(self, training: bool) -> Metrics:
        """The results of the user's own reducers, which are then reset."""
        found: Metrics = self.context._reducers.reduce(self.distributed, training)
        self.context._reducers.reset(training)
        return found

    def _counts(self) -> Metrics:
        return {"batches": self.batches, "epochs": self.epoch}

    def _report(self) -> None:
        means, batches = self._windows.close()
        if self.distributed.size > 1:
            means = _metrics.mean_of_ranks(self.distributed.allgather(means))
        means.update(self._reduce(training=True))
        if self._evaluation is None:
            self._metrics = dict(means)
        if self.distributed.rank == 0:
            self.core.train.report_training_metrics(self.batches, {**means, **self._counts()})
            self._report_progress(means)
        self.callbacks.tell("on_training_workload_end", means, batches)

    def _report_progress(self, means: Metrics) -> None:
        progress = min(self._trainer.progress(), 1.0)
        if progress - self._told >= _TOLD_STEP or progress == 1:
            logger.info("after %d batches: %s", self.batches, in_words(means))
            self.core.train.report_progress(progress)
            self._told = progress

    # ---- validation

    def _validate(self) -> int:
        self._set_status("validating")
        self.callbacks.tell("on_validation_start")
        self.context._reducers.reset(training=False)
        for model in self.context.models:
            model.eval()
        amp = torch.autocast(self.context.device.type, enabled=self.context.experimental._auto_amp)
        begun = self.core._det.timing_begin() if self._is_timed else None
        try:
            with torch.no_grad(), amp, self.context._ranks.evaluating():
                metrics: Metrics = self._evaluation()
        finally:
            self._train_mode()
        if begun is not None:
            self.core._det.timing_end(_VALIDATE, begun)
        self.callbacks.tell("on_validation_end", metrics)
        reported = spread(metrics)
        self._metrics = dict(metrics)
        if self.distributed.rank == 0:
            self.core.train.report_validation_metrics(self.batches, {**reported, **self._counts()})
            logger.info("validated after %d batches: %s", self.batches, in_words(reported))
        value = self._searcher_value(reported)
        self._has_validated = True
        self.context._send_tensorboard()
        self._set_status("training")
        verdict: int = self._trainer.validated(value)
        return verdict

    def _evaluate_batches(self, feed: Any, reducer: Any, with_index: bool) -> Metrics:
        context, trial = self.context, self.trial
        moves = context.experimental._auto_to_device and context.device.type != "cpu"
        evaluation = _reducer.Metrics(reducer)
        names: Any = None
        self.callbacks.tell("on_validation_epoch_start")
        keeps = bool(self.callbacks.hearing("on_validation_epoch_end"))
        outputs: List[Any] = []
        feed.go_to(0, 0)
        with contextlib.closing(_closable(feed.epoch())) as batches:
            for index, batch in enumerate(batches):
                if moves:
                    batch = context.to_device(batch)
                words = (batch, index) if with_index else (batch,)
                metrics = _metrics.named("evaluate_batch()", trial.evaluate_batch(*words))
                if metrics.keys() != names:
                    names = _metrics.even(names, metrics, index)
                evaluation.add(metrics, trial.get_batch_length(batch))
                if keeps:
                    outputs.append(metrics)
                if self._is_test:
                    break
        if keeps:
            self.callbacks.tell("on_validation_epoch_end", outputs)
        return {**evaluation.values(self.distributed), **self._reduce(training=False)}

    def _evaluate_all(self, data: Any) -> Metrics:
        """Runs on rank 0, for all ranks."""
        metrics: Any = None
        if self.distributed.rank == 0:
            found = _metrics.named("evaluate_full_dataset()", self.trial.evaluate_full_dataset(data))
            metrics = _metrics.numbers("evaluate_full_dataset()", found)
        return {**self.distributed.broadcast(metrics), **self._reduce(training=False)}

    def _searcher_value(self, metrics: Metrics) -> float:
        """The searcher's metric; without a name, the only one, else the loss."""
        name = (self._config.get("searcher") or {}).get("metric")
        if name is None:
            name = next(iter(metrics)) if len(metrics) == 1 else "loss"
            return _float(metrics.get(name))
        if name in metrics:
            return _float(metrics[name])
        raise SearcherMetricError(
            f"the searcher's metric '{name}' is not among the validation metrics: {_metrics.listed(metrics)}; name one of these in "
            "searcher.metric"
        )

    def _set_status(self, word: str) -> None:
        if self.distributed.rank == 0:
            self.core.train.set_status(word)

    # ---- checkpoints

    def _goal(self) -> Any:
        """The length of the training."""
        unit = self._options.max_length
        return [unit and list(length(unit, "max_length") or ()), (self._config.get("searcher") or {}).get("max_length")]

    def _memory(self) -> Dict[str, Any]:
        return {
            "trainer": self._trainer.save(),
            "batches": self.batches,
            "feed": self._feed.state(),
            "owed": self._owed,
            "metrics": {name: _plain(value) for name, value in self._metrics.items()},
            "complete": self._goal() if self._is_complete else None,
        }

    def _files(self) -> Dict[str, Any]:
        """This rank's part of a checkpoint."""
        rank = self.distributed.rank
        self._windows.settle()
        checkpoint = _state.collect(self.context, self.callbacks)
        self.callbacks.tell("on_checkpoint_save_start", checkpoint)
        more = {"batches": self._windows.batches}
        own = _state.collect_own(self.context, rank, checkpoint, more)
        files: Dict[str, Any] = {
            rank_name(_state.LOOP, rank): json.dumps(self._memory()).encode(),
            rank_name(_state.OWN, rank): _state.encode(own),
        }
        if rank == 0:
            files[_state.STATE] = _state.encode(checkpoint)
            files[_state.TRIAL_STATE] = _state.trial_state(self.batches, self.epoch)
            files[_state.LOAD_DATA] = _state.load_data(self.context, self.trial, self._is_trainer)
            files[CONTINUE_ID] = json.dumps(continue_id(self.core)).encode()
            files.update(self._code)
        return files

    def _metadata(self) -> str:
        import determined

        return json.dumps(
            {
                "determined_version": determined.__version__,
                "steps_completed": self.batches,
                "framework": f"torch-{torch.__version__}",
                "format": "pickle",
                "not_state": _state.NOT_STATE,
            }
        )

    def save(self) -> str:
        """Saves a checkpoint of the current state and returns its storage id; every rank calls it. Training
        continues while the files are written, unless a callback wants to see them."""
        self._set_status("checkpointing")
        self._trainer.saved()
        files = self._files()
        group = self.distributed._group if self.distributed.size > 1 else None
        writers = self.callbacks.hearing("on_checkpoint_write_end") + self.callbacks.hearing("on_checkpoint_end")
        uploaders = self.callbacks.hearing("on_checkpoint_upload_end")
        waits = bool(writers or uploaders)
        checkpoint = self.core._det.checkpoint_begin(self.batches, self._metadata(), group, overlapped=not waits)
        try:
            for name, content in files.items():
                checkpoint.put(name, content)
            if self.distributed.rank == 0:
                for method in writers:
                    method(checkpoint.path)
            uuid: str = checkpoint.uuid
            checkpoint.commit()
        except BaseException as error:
            checkpoint.abort(str(error))
            raise
        self._is_saved = True
        if self.distributed.rank == 0:
            for method in uploaders:
                method(uuid)
        self._set_status("training")
        return uuid

    # ---- the end

    def _end(self) -> None:
        self._set_status("finishing")
        self.core._det.checkpoint_wait(-1)


# ---- helpers


def _read(folder: str, rank: int) -> Any:
    """A checkpoint; if another program saved it, only its state_dict.pth."""
    if os.path.exists(os.path.join(folder, _state.LOOP)):
        return _state.read(folder, rank)
    checkpoint = _state.decode(_state._need(folder, _state.STATE))
    return checkpoint, {}, {"batches": 0}, None


def _closable(feed: Any) -> Any:
    """An iterator with a close() method, like a generator."""
    iterator = iter(feed)
    return iterator if hasattr(iterator, "close") else (each for each in iterator)


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _plain(value: Any) -> Any:
    """As JSON would hold it; reports handle other values."""
    value = value.tolist() if callable(getattr(value, "tolist", None)) else value
    try:
        json.dumps(value)
        return value
    except TypeError:
        return str(value)
