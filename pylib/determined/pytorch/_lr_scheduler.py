# SPDX-License-Identifier: Apache-2.0
"""Learning rates that change during training, stepped by the loop."""
import enum
from typing import Any, Dict, List

import torch


class LRScheduler:
    """A scheduler of PyTorch, and when it is stepped.

        step_mode   STEP_EVERY_EPOCH            after the last batch of an epoch
                    STEP_EVERY_BATCH            after every batch
                    STEP_EVERY_OPTIMIZER_STEP   after every batch that steps the optimizer: with
                                                aggregation_frequency=4 after every fourth
                    MANUAL_STEP                 by yourself, with step()
        frequency   only every so many of them
    """

    class StepMode(enum.Enum):
        STEP_EVERY_EPOCH = 1
        STEP_EVERY_BATCH = 2
        STEP_EVERY_OPTIMIZER_STEP = 3
        MANUAL_STEP = 4

    def __init__(self, scheduler: Any, step_mode: "LRScheduler.StepMode", frequency: int = 1) -> None:
        if not callable(getattr(scheduler, "step", None)) or not hasattr(scheduler, "state_dict"):
            raise TypeError(f"the scheduler is of type {type(scheduler).__name__}; expected one of torch.optim.lr_scheduler")
        if not isinstance(step_mode, LRScheduler.StepMode):
            raise TypeError(f"step_mode is {step_mode!r}; expected one of det.pytorch.LRScheduler.StepMode")
        if isinstance(frequency, bool) or not isinstance(frequency, int) or frequency < 1:
            raise ValueError(f"frequency is {frequency!r}; expected a whole number of at least 1")
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau
        if isinstance(scheduler, plateau) and step_mode is not LRScheduler.StepMode.MANUAL_STEP:
            raise ValueError(
                "ReduceLROnPlateau is stepped with a metric: wrap it with StepMode.MANUAL_STEP, and step it in "
                "a callback's on_validation_end(metrics)"
            )
        self._scheduler = scheduler
        self._step_mode = step_mode
        self._frequency = frequency

    # ---- the scheduler's own methods

    def step(self, *args: Any, **kwargs: Any) -> None:
        self._scheduler.step(*args, **kwargs)

    def get_last_lr(self) -> List[float]:
        rates: List[float] = self._scheduler.get_last_lr()
        return rates

    def state_dict(self) -> Dict[str, Any]:
        state: Dict[str, Any] = self._scheduler.state_dict()
        return state

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        self._scheduler.load_state_dict(state_dict)

    # ---- for the loop

    def _after_batch(self, batches: int, aggregation_frequency: int) -> None:
        """`batches` have been trained by now."""
        if self._step_mode is LRScheduler.StepMode.STEP_EVERY_BATCH:
            if batches % self._frequency == 0:
                self._scheduler.step()
        elif self._step_mode is LRScheduler.StepMode.STEP_EVERY_OPTIMIZER_STEP:
            if batches % (self._frequency * aggregation_frequency) == 0:
                self._scheduler.step()

    def _after_epoch(self, epochs: int) -> None:
        if self._step_mode is LRScheduler.StepMode.STEP_EVERY_EPOCH and epochs % self._frequency == 0:
            self._scheduler.step()
