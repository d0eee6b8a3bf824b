# SPDX-License-Identifier: Apache-2.0
"""The common part of the front ends: a trial is the user's class, created with a context and driven by a
controller."""
import abc
from typing import Any, Dict, Optional, Type

from determined import core
from determined._experiment_config import ExperimentConfig
from determined._info import TrialInfo

# A file in every checkpoint: which training it belongs to, not the state of that training.
CONTINUE_ID = "continue_id"


def continue_id(core_context: core.Context) -> str:
    """A training resumes from checkpoints of its own trial; from those of other trials it takes only the weights."""
    values = core_context._values
    return f"trial {values['trial_id']}" if values["is_on_cluster"] else "offline"


def rank_name(name: str, rank: int) -> str:
    """A file of a checkpoint that every rank has for itself."""
    return name if rank == 0 else f"rank-{rank}-{name}"


class TrialContext:
    """Where a trial runs: its hyperparameters, its configuration and its ranks."""

    def __init__(
        self,
        core_context: core.Context,
        *,
        hparams: Optional[Dict[str, Any]] = None,
        exp_conf: Optional[Dict[str, Any]] = None,
    ) -> None:
        info = core_context.info
        trial: Optional[TrialInfo] = info.trial if info is not None and info.task_type == "TRIAL" else None
        self._core = core_context
        self._trial = trial
        self._hparams = hparams if hparams is not None else core_context.hparams
        self._exp_conf = ExperimentConfig(exp_conf if exp_conf is not None else core_context._config)
        self._is_given = exp_conf is not None
        self._stop_requested = False
        self.distributed = core_context.distributed

    @classmethod
    def from_config(cls, exp_conf: Dict[str, Any], hparams: Optional[Dict[str, Any]] = None) -> "TrialContext":
        """A context of this process alone."""
        return cls(core.init(), hparams=hparams, exp_conf=exp_conf)

    # ---- what was configured

    def get_experiment_config(self) -> ExperimentConfig:
        return self._exp_conf

    def get_data_config(self) -> Dict[str, Any]:
        return self._exp_conf.get_data()

    def get_hparams(self) -> Dict[str, Any]:
        return self._hparams

    def get_hparam(self, name: str) -> Any:
        if name not in self._hparams:
            raise ValueError(
                f"there is no hyperparameter '{name}'; there are: {', '.join(self._hparams) or 'none'}"
            )
        return self._hparams[name]

    def get_global_batch_size(self) -> int:
        """Records per batch over all processes: the hyperparameter global_batch_size."""
        size = self.get_hparam("global_batch_size")
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"global_batch_size is {size!r}; expected a whole number of at least 1")
        return size

    def get_per_slot_batch_size(self) -> int:
        """Records per batch for this process. The first processes take one more if the batch cannot be shared
        evenly."""
        size, ranks = self.get_global_batch_size(), self.distributed.size
        if size < ranks:
            raise ValueError(f"global_batch_size is {size}, which is less than the {ranks} processes")
        return size // ranks + (self.distributed.rank < size % ranks)

    # ---- who it is

    def get_experiment_id(self) -> int:
        return self._need_trial().experiment_id

    def get_trial_id(self) -> int:
        return self._need_trial().trial_id

    def get_trial_seed(self) -> int:
        if self._trial is None and self._is_given:
            return self._exp_conf.experiment_seed()
        seed: int = self._core._values["seed"]
        return seed

    def get_initial_batch(self) -> int:
        """Batches seen by the checkpoint to begin from."""
        return self._trial._steps_completed if self._trial else 0

    def _need_trial(self) -> TrialInfo:
        if self._trial is None:
            raise RuntimeError("this is not a trial of a cluster, so it has no id")
        return self._trial

    # ---- the end

    def set_stop_requested(self, stop_requested: bool) -> None:
        """Asks for the end of the training, at the next boundary, with a checkpoint."""
        if not isinstance(stop_requested, bool):
            raise TypeError(f"stop_requested is {stop_requested!r}; expected True or False")
        self._stop_requested = stop_requested

    def get_stop_requested(self) -> bool:
        return self._stop_requested

    def get_tensorboard_path(self) -> Any:
        """A folder of this process for TensorBoard's files."""
        return self._core.train.get_tensorboard_path()


class TrialController(metaclass=abc.ABCMeta):
    """Drives a trial."""

    def __init__(self, context: TrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def run(self) -> None:
        """Trains from the latest checkpoint to the end, or until the platform asks to stop."""


class LegacyTrial(metaclass=abc.ABCMeta):
    """The base class of trials that the platform creates by name: `entrypoint: model_def:Class`."""

    trial_context_class: Type[TrialContext] = TrialContext
    trial_controller_class: Optional[Type[TrialController]] = None
    # The layer of `det launch` that makes a process for each slot if the entrypoint names no other.
    _launch_layer = "mpi"

    @abc.abstractmethod
    def __init__(self, context: TrialContext) -> None:
        """Makes the model and its data from the context."""


def in_words(metrics: Dict[str, Any]) -> str:
    """The numeric metrics, for a line of the log."""
    return ", ".join(f"{name} {value:.6g}" for name, value in metrics.items() if isinstance(value, float))
