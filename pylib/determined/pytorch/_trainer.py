# SPDX-License-Identifier: Apache-2.0
"""The Trainer of today's API: trains a trial with its context.

    with det.pytorch.init() as train_context:
        trial = MyTrial(train_context)
        trainer = det.pytorch.Trainer(trial, train_context)
        trainer.fit(max_length=det.pytorch.Epoch(10), validation_period=det.pytorch.Epoch(1))
"""
import logging
import warnings
from typing import Any, Dict, Optional

from determined import _det
from determined.pytorch._loop import PROGRAM, Loop, Options
from determined.pytorch._trial import PyTorchTrial
from determined.pytorch._trial_context import PyTorchTrialContext
from determined.pytorch._units import Batch, Unit

logger = logging.getLogger("determined.pytorch")

_POLICIES = {"best": _det.KEEP_BEST, "all": _det.KEEP_ALL, "none": _det.KEEP_NONE}
_REPORTING = Batch(100)


def keep_of(policy: str) -> int:
    if policy not in _POLICIES:
        raise ValueError(f"checkpoint_policy is {policy!r}; expected one of {', '.join(_POLICIES)}")
    return _POLICIES[policy]


class Trainer:
    """Trains a trial with the context that it was made with."""

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext) -> None:
        if not isinstance(trial, PyTorchTrial):
            raise TypeError(f"Trainer() was given a {type(trial).__name__}; expected a det.pytorch.PyTorchTrial")
        if not isinstance(context, PyTorchTrialContext):
            raise TypeError(f"Trainer() was given a {type(context).__name__}; expected the context of det.pytorch.init()")
        self._trial = trial
        self._context: PyTorchTrialContext = getattr(trial, "_det_context", context)  # build_trial() made one for it

    def configure_profiler(self, enabled: bool = True, **options: Any) -> None:
        """Deprecated: fit(profiling_enabled=True) measures the machine, context.set_profiler() PyTorch."""
        warnings.warn("configure_profiler() is deprecated: use fit(profiling_enabled=True)", FutureWarning, stacklevel=2)

    def fit(
        self,
        checkpoint_period: Unit = None,
        validation_period: Unit = None,
        max_length: Unit = None,
        reporting_period: Unit = _REPORTING,
        checkpoint_policy: str = "best",
        latest_checkpoint: Optional[str] = None,
        step_zero_validation: bool = False,
        test_mode: bool = False,
        profiling_enabled: bool = False,
    ) -> Dict[str, Any]:
        """Trains, from the latest checkpoint on, and returns the metrics of the last validation.

        Lengths and periods are det.pytorch.Batch(n) or Epoch(n), periods also single steps: Batch([1, 5]). The
        arguments take precedence over the experiment's configuration (searcher.max_length,
        min_validation_period, min_checkpoint_period, scheduling_unit, checkpoint_policy,
        perform_initial_validation). At the end the trial is always validated and saved.

          checkpoint_policy     "best": the best validation so far is saved; "all": every one; "none"
          latest_checkpoint     the storage id of a checkpoint to begin from, or its folder; None: that of the
                                platform.  A checkpoint of this trial is resumed; of another trial, only the
                                weights are taken
          step_zero_validation  validates before the first batch
          test_mode             trains one batch, validates one and saves
          profiling_enabled     measures the machine, and how the time is spent
        """
        for name, value in (("step_zero_validation", step_zero_validation), ("test_mode", test_mode)):
            if not isinstance(value, bool):
                raise TypeError(f"{name} is {value!r}; expected True or False")
        options = Options(
            max_length=max_length,
            validation_period=validation_period,
            checkpoint_period=checkpoint_period,
            reporting_period=None if reporting_period is _REPORTING else reporting_period,
            keep=keep_of(checkpoint_policy),
            first=PROGRAM,
            latest_checkpoint=latest_checkpoint,
            step_zero_validation=step_zero_validation,
            test_mode=test_mode,
            profiling=bool(profiling_enabled),
        )
        return Loop(self._context, self._trial, options=options).run()
