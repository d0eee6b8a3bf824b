# SPDX-License-Identifier: Apache-2.0
"""Reports the values that a module logs, in the groups of the platform.

Lightning gives a logger names and numbers, but not their group. DetCallback gives it the Trainer, which knows:
values logged during a validation belong to `validation`, the rest of fit() to `training`. Without a DetCallback
the names decide: names that begin with "val" belong to a validation. Metrics of test() and predict() are not
reported, nor those of single batches of a validation.
"""
from typing import Any, Dict, Mapping, Optional, Union

from determined import core
from determined.lightning._package import pl


class DetLogger(pl.loggers.logger.Logger):  # type: ignore[misc]
    """Reports the values of self.log() and self.log_dict(): Trainer(logger=DetLogger(core_context)).

      core_context    the context of det.core.init(); None: the logger makes one, for a program with one
                      process, and closes it when the fit is over
    """

    def __init__(self, core_context: Optional[core.Context] = None) -> None:
        super().__init__()
        if core_context is not None and not isinstance(core_context, core.Context):
            raise TypeError(f"core_context is {core_context!r}; expected the context of det.core.init()")
        self._is_mine = core_context is None
        self._core: Optional[core.Context] = core_context
        self._trainer: Any = None
        self.is_silent = False  # the rest of an interrupted epoch

    @property
    def experiment(self) -> core.Context:
        """The context, for all other reports."""
        if self._core is None:
            self._core = core.init()
        return self._core

    @property
    def name(self) -> str:
        info = self.experiment.info
        return "det" if info is None or info.task_type != "TRIAL" else f"experiment-{info.trial.experiment_id}"

    @property
    def version(self) -> Union[int, str]:
        info = self.experiment.info
        return 0 if info is None or info.task_type != "TRIAL" else f"trial-{info.trial.trial_id}"

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Does nothing: the platform chose the hyperparameters and knows them."""

    def log_metrics(self, metrics: Mapping[str, Any], step: Optional[int] = None) -> None:
        context = self.experiment
        if context.distributed.rank != 0 or self.is_silent:
            return
        found = dict(metrics)
        is_whole = found.pop("epoch", None) is not None  # Lightning adds it except for single batches
        if self._trainer is not None:
            self._report_of_stage(context, found, is_whole)
        else:
            for group in ("training", "validation"):
                part = {name: value for name, value in found.items() if _group(name) == group}
                if part:
                    context.train._report(group, int(step or 0), part)

    def _report_of_stage(self, context: core.Context, metrics: Dict[str, Any], is_whole: bool) -> None:
        trainer = self._trainer
        group = "training" if trainer.training else "validation" if trainer.validating and is_whole else None
        if group is not None and metrics:
            context.train._report(group, trainer.global_step, {**metrics, **counts(trainer)})

    def finalize(self, status: str) -> None:
        if self._is_mine and self._core is not None:
            self._core.close()
            self._core = None


def _group(name: str) -> Optional[str]:
    return "validation" if name.startswith("val") else None if name.startswith(("test", "predict")) else "training"


def counts(trainer: Any) -> Dict[str, Any]:
    """The position of the training: steps of the optimizer, and passes through the data."""
    batches = trainer.fit_loop.total_batch_idx + 1
    epochs = trainer.num_training_batches
    return {
        "batches": trainer.global_step,
        "epochs": batches / epochs if epochs and epochs != float("inf") else trainer.current_epoch,
    }
