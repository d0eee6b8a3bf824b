# SPDX-License-Identifier: Apache-2.0
"""The callback for Hugging Face's Trainer.

The Trainer has its own loop, checkpoints and way to resume. The callback transfers them to and from the
platform, and requests what the platform needs. This happens when, in the order of the Trainer's events (one
step is one of the optimizer):

    made            the latest checkpoint -> args.output_dir, args.resume_from_checkpoint
    step_end        last step: evaluate.  Else asked to stop: log, end the training
    log             report, progress
    evaluate        asked to stop: end the training
    save            checkpoint-STEP -> the checkpoint storage
    epoch_end       the Trainer also comes here when it ends in the middle of an epoch: save the
                    unsaved state; do not evaluate half an epoch

An evaluation always comes before the checkpoint of the same step: it draws from the random generators, and the
Trainer does not repeat it when it resumes. So a training that ends is saved in epoch_end, after all
evaluations.

Only documented events and arguments are used, and only those that 4.x has, too.
"""
import json
import logging
from typing import Any, Dict, List, Optional, Union

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from determined import core
from determined.transformers import _files

logger = logging.getLogger("determined.transformers")

# Suffixes of metrics that measure the machine and not the model.
_SPEEDS = ("_runtime", "_per_second", "_compilation_time", "_preparation_time")
_OF_VALIDATION = "eval_"
_OF_TEST = "test_"


class DetCallback(TrainerCallback):  # type: ignore[misc]
    """Reports metrics and progress, saves checkpoints, stops when the platform asks for it, and resumes from the
    latest checkpoint. Make it before the Trainer, and resume from the checkpoint that it found:

        args = TrainingArguments(...)
        callback = DetCallback(core_context, args)
        trainer = Trainer(..., args=args, callbacks=[callback])
        trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)

      core_context    the context of det.core.init()
      args            the TrainingArguments of the Trainer
      filter_metrics  only metrics whose name contains one of these words are reported; None: all
      user_data       your own dict, of values that JSON can hold, saved with every checkpoint; when
                      training is resumed, it is filled with the saved values
    """

    def __init__(
        self,
        core_context: core.Context,
        args: TrainingArguments,
        filter_metrics: Optional[List[str]] = None,
        user_data: Optional[Dict[str, Any]] = None,
    ) -> None:
        if not isinstance(core_context, core.Context):
            raise TypeError(f"core_context is {core_context!r}; expected the context of det.core.init()")
        if not isinstance(args, TrainingArguments):
            raise TypeError(f"args is of type {type(args).__name__}; expected the Trainer's TrainingArguments")
        self._core = core_context
        self._filter = _words(filter_metrics)
        self.user_data = _plain(user_data)
        self._is_chief = core_context.distributed.rank == 0
        self._is_training = False
        self._is_preempted = False
        self._resumes_at = 0
        self._begun = self._evaluated = self._saved = -1  # steps
        self._state: Optional[TrainerState] = None
        _check_ranks(core_context, args)
        _check_length(core_context._config.get("searcher") or {}, args)
        self._folder = _files.need_place(args.output_dir)
        if args.save_only_model:
            logger.warning("args.save_only_model: a resumed training begins with a new optimizer")
        self._restore(args)

    def _restore(self, args: TrainingArguments) -> None:
        uuid = self._core.latest_checkpoint
        if uuid is None:
            return
        if getattr(args, "overwrite_output_dir", False):  # until 4.x
            logger.warning("args.overwrite_output_dir: training starts from the beginning, without checkpoint %s", uuid)
            return
        args.resume_from_checkpoint = _files.fetch(self._core, uuid, self._folder)
        metadata = self._core.checkpoint.get_metadata(uuid)
        self._resumes_at = metadata["steps_completed"]
        if self.user_data is not None:
            self.user_data.update(metadata.get("user_data") or {})
        if self._is_chief:
            logger.info("continuing after %d steps, from checkpoint %s", self._resumes_at, uuid)

    # ---- the Trainer's events

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if getattr(state, "_det_callback", None) is not None:
            raise RuntimeError(
                "the Trainer has two DetCallbacks, which would report and save everything twice: use one"
            )
        state._det_callback = self
        self._state = state
        self._is_training, self._is_preempted = True, False
        self._begun, self._evaluated, self._saved = state.global_step, -1, -1
        if state.global_step == 0 and self._resumes_at > 0:
            logger.warning(
                "training starts from the beginning although there is a checkpoint of %d steps: call "
                "trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)",
                self._resumes_at,
            )
        self._tell("training")

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        if _is_last(state):
            control.should_evaluate = control.should_evaluate or _strategy(args) != "no"
        else:
            self._stop_if_asked(control)
            if control.should_save and _is_whole(state) and _strategy(args) == "epoch":
                # The evaluation of this epoch's end comes before the checkpoint.
                control.should_evaluate = control.should_evaluate or args.eval_delay <= state.epoch
        return control

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        if self._is_training:
            self._evaluated = state.global_step
            if not _is_last(state):
                self._stop_if_asked(control)
        return control

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        if self._evaluated == state.global_step:
            control.should_evaluate = False
        if not control.should_training_stop and not _is_last(state):
            control.should_save = control.should_save and self._saved != state.global_step
            return control
        if not self._is_preempted:
            control.should_evaluate = self._evaluated != state.global_step and _strategy(args) != "no"
        elif not _is_whole(state):
            control.should_evaluate = False
        control.should_save = control.should_evaluate or self._saved != state.global_step
        return control

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Optional[Dict[str, Any]] = None,
        **kwargs: Any,
    ) -> None:
        if not self._is_chief or (self._is_preempted and not self._is_training):
            return
        logs = logs or {}
        is_summary = self._is_training and "train_runtime" in logs
        if is_summary and (self._is_preempted or state.global_step == self._begun):
            return  # the training is not over, or was over before
        training, validation = self._split(logs)
        for group, metrics in (("training", training), ("validation", validation)):
            if metrics:
                counts = {"batches": state.global_step, "epochs": state.epoch or 0}
                self._core.train._report(group, state.global_step, {**metrics, **counts})
        if self._is_training and state.max_steps > 0:
            self._core.train.report_progress(min(state.global_step / state.max_steps, 1.0))

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._tell("checkpointing")
        best = state.best_model_checkpoint if args.load_best_model_at_end else None
        _files.store(self._core, self._folder, state.global_step, best, _plain(self.user_data))
        self._saved = state.global_step
        self._tell("training")

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._is_training = False
        self._tell("stopping" if self._is_preempted else "finishing")
        if self._is_chief and not self._is_preempted:
            self._core.train.report_progress(1.0)

    # ---- what they have in common

    @property
    def is_preempted(self) -> bool:
        """Whether the platform has ended the training early: then exit with 0."""
        return self._is_preempted

    def _tell(self, word: str) -> None:
        if self._is_chief:
            self._core.train.set_status(word)

    def _stop_if_asked(self, control: TrainerControl) -> None:
        if not self._is_preempted and self._core.preempt.should_preempt():
            self._is_preempted = True
        if self._is_preempted:
            control.should_training_stop = True
            control.should_log = True  # losses since the last log are not saved anywhere

    def _split(self, logs: Dict[str, Any]) -> Any:
        """Metrics of training, and of validation."""
        training: Dict[str, Any] = {}
        validation: Dict[str, Any] = {}
        for name, value in logs.items():
            if name == "epoch" or name.startswith(_OF_TEST) or name.endswith(_SPEEDS):
                continue
            if self._filter is None or any(word in name for word in self._filter):
                (validation if name.startswith(_OF_VALIDATION) else training)[name] = value
        return training, validation


# ---- checks when the callback is made


def _words(filter_metrics: Any) -> Optional[List[str]]:
    if filter_metrics is None:
        return None
    if isinstance(filter_metrics, str) or not all(isinstance(word, str) for word in filter_metrics):
        raise TypeError(f"filter_metrics is {filter_metrics!r}; expected a list of names")
    return list(filter_metrics)


def _plain(user_data: Any) -> Optional[Dict[str, Any]]:
    if user_data is None:
        return None
    if not isinstance(user_data, dict):
        raise TypeError(f"user_data is of type {type(user_data).__name__}; expected a dict")
    try:
        json.dumps(user_data)
    except (TypeError, ValueError) as error:
        raise type(error)(f"user_data is saved as JSON, which cannot hold it: {error}") from None
    return user_data


def _check_ranks(core_context: core.Context, args: TrainingArguments) -> None:
    told, there = core_context.distributed.size, args.world_size
    if told < there:
        raise RuntimeError(
            f"the Trainer has {there} processes and the context has {told}: make it with core.init(distributed="
            "core.DistributedContext.from_torch_distributed())"
        )
    if told > there:
        raise RuntimeError(
            f"the context has {told} processes and the Trainer has {there}: without a GPU it looks for the others with "
            "TrainingArguments(use_cpu=True) only"
        )


def _check_length(searcher: Dict[str, Any], args: TrainingArguments) -> None:
    """The Trainer decides how long it trains; the searcher must expect the same length."""
    length = searcher.get("max_length")
    if length is not None:
        if not isinstance(length, dict):
            raise ValueError(
                f"searcher.max_length is {length!r}, without a unit: write {{batches: {length}}} and train with "
                f"--max_steps {length}, or {{epochs: N}} and --num_train_epochs N"
            )
        for unit, count in length.items():
            _check_one("searcher.max_length", unit, count, args)
    time_metric, max_time = searcher.get("time_metric"), searcher.get("max_time")
    if time_metric in ("batches", "epochs") and max_time is not None:
        _check_one("searcher.max_time", time_metric, max_time, args)


def _check_one(what: str, unit: str, count: Union[int, float], args: TrainingArguments) -> None:
    if unit == "batches":
        if args.max_steps != count:
            has = args.max_steps if args.max_steps > 0 else "not set"
            raise ValueError(f"{what} is {count} batches and max_steps is {has}: train with --max_steps {count}")
    elif unit == "epochs":
        if args.max_steps > 0:
            raise ValueError(
                f"{what} is {count} epochs, but max_steps ({args.max_steps}) decides over num_train_epochs: leave "
                "one out"
            )
        if args.num_train_epochs != count:
            raise ValueError(
                f"{what} is {count} epochs and num_train_epochs is {args.num_train_epochs:g}: train with "
                f"--num_train_epochs {count}"
            )
    else:
        raise ValueError(f"{what} is in {unit}, which the Trainer does not count: use batches or epochs")


def _strategy(args: TrainingArguments) -> str:
    """When it evaluates: "no", "steps" or "epoch"."""
    found = getattr(args, "eval_strategy", None) or getattr(args, "evaluation_strategy", "no")
    return str(getattr(found, "value", found))


def _is_last(state: TrainerState) -> bool:
    return bool(state.global_step >= state.max_steps)


def _is_whole(state: TrainerState) -> bool:
    """Whether an epoch ends with this step."""
    return float(state.epoch or 0).is_integer()
