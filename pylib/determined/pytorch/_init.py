# SPDX-License-Identifier: Apache-2.0
"""det.pytorch.init(), on a cluster or offline.

    context = det.pytorch.init()                          with det.pytorch.init() as train_context:
    trial = context.build_trial(MyTrial)                      trial = MyTrial(train_context)
    metrics = context.fit(trial, train_data, val_data)        Trainer(trial, train_context).fit(...)

Both give the same context. Several slots: init() starts the program again, one process for each slot, unless a
launcher has done so (determined._launch).
"""
import atexit
import contextlib
import json
import os
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, Optional, Type

from determined import _launch, core, errors
from determined._info import get_cluster_info
from determined.core._context import TensorboardMode
from determined.pytorch import _local_config
from determined.pytorch._loop import CONFIGURATION, PROGRAM, Loop, Options
from determined.pytorch._trainer import keep_of
from determined.pytorch._trial import PyTorchTrial, context_of
from determined.pytorch._trial_context import PyTorchTrialContext
from determined.pytorch._units import Unit, length


class Training:
    """context.training: the trial of this task, or of this offline run."""

    def __init__(self, context: PyTorchTrialContext) -> None:
        self.hparams: Dict[str, Any] = context.get_hparams()
        self.config: Dict[str, Any] = context.get_experiment_config()
        self.trial_seed: int = context.get_trial_seed()
        self.latest_checkpoint: Optional[str] = context._core.latest_checkpoint
        self.trial_id: Optional[int] = context._trial.trial_id if context._trial else None
        self.experiment_id: Optional[int] = context._trial.experiment_id if context._trial else None


class TrainerContext(PyTorchTrialContext):
    """The object that init() returns: a trial's context, which can also make trials, train them and predict."""

    _is_entered = False
    _is_closed = False

    def __init__(self, core_context: core.Context, **options: Any) -> None:
        super().__init__(core_context, **options)
        self._made_with = options

    # ---- beginning and end

    def __enter__(self) -> "TrainerContext":
        self._is_entered = True
        return self

    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]] = None,
        exc: Optional[BaseException] = None,
        tb: Optional[TracebackType] = None,
    ) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._close_tensorboard()
        self._ranks.leave()
        self._core.__exit__(exc_type, exc, tb)

    def close(self) -> None:
        """Ends the context. The end of the program does it, too."""
        self.__exit__()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """If the program has no `with`, InvalidHP must be handled here."""
        try:
            yield
        except errors.InvalidHP as error:
            if not self._is_entered:
                self.__exit__(type(error), error, error.__traceback__)
            raise

    # ---- what is known

    @property
    def training(self) -> Training:
        """The training's hyperparameters (`hparams`), configuration (`config`), `trial_seed` and ids."""
        info = self._core.info
        if info is not None and info.task_type != "TRIAL":
            raise AttributeError(  # so hasattr(context, "training") is False
                f"context.training does not exist: this task is a {info.task_type}, a job and not a training; its "
                "data is in context.config_data"
            )
        return Training(self)

    @property
    def config_data(self) -> Dict[str, Any]:
        """`data` of the configuration of a trial or job; it belongs to the user."""
        info = self._core.info
        return dict(info.user_data) if info is not None else dict(self.get_data_config())

    # ---- trials

    def _trial_context(self, **options: Any) -> PyTorchTrialContext:
        """A context for another trial on the same run."""
        return PyTorchTrialContext(self._core, **{**self._made_with, **options})

    def build_trial(self, trial_class: Type[PyTorchTrial]) -> Any:
        """A trial of this class, with its own trial context. The generators are seeded first."""
        if not isinstance(trial_class, type) or not issubclass(trial_class, PyTorchTrial):
            raise TypeError(f"build_trial() was given {trial_class!r}; expected a subclass of det.pytorch.PyTorchTrial")
        with self._told():
            context = self._trial_context()
            trial = trial_class(context)
            trial._det_context = context  # type: ignore[attr-defined]
        return trial

    def fit(
        self,
        trial: PyTorchTrial,
        train_data: Any = None,
        val_data: Any = None,
        *,
        min_validation_period: Unit = None,
        min_checkpoint_period: Unit = None,
        max_length: Unit = None,
        reporting_period: Unit = None,
        checkpoint_policy: str = "best",
        latest_checkpoint: Optional[str] = None,
        step_zero_validation: bool = False,
        test_mode: bool = False,
        profiling_enabled: bool = False,
    ) -> Dict[str, Any]:
        """Trains, from the latest checkpoint on, and returns the metrics of the last validation.

        The data loaders given here take precedence over those that the trial builds. Lengths are det.Epochs,
        det.Batches or det.Records. On a cluster the experiment's configuration takes precedence: the searcher
        decides how long to train, and `max_length` is ignored. Anywhere else the arguments count. The other
        arguments are those of Trainer.fit().
        """
        length(min_validation_period, "min_validation_period")
        length(min_checkpoint_period, "min_checkpoint_period")
        on_cluster = self._core._values["is_on_cluster"]
        options = Options(
            max_length=max_length,
            validation_period=min_validation_period,
            checkpoint_period=min_checkpoint_period,
            reporting_period=reporting_period,
            keep=keep_of(checkpoint_policy),
            first=CONFIGURATION if on_cluster else PROGRAM,
            latest_checkpoint=latest_checkpoint,
            step_zero_validation=step_zero_validation,
            test_mode=test_mode,
            profiling=profiling_enabled,
        )
        context = context_of(trial)
        with self._told():
            metrics = Loop(context, trial, train_data, val_data, options).run()
        self.is_preempted = context.is_preempted
        return metrics

    train = fit

    # ---- inference

    def load_checkpoint_trial(
        self, trial_class: Type[PyTorchTrial], trial_id: Optional[int] = None, uuid: Optional[str] = None
    ) -> Any:
        """A trial with the weights of a checkpoint, made again with its own hyperparameters: of the checkpoint
        `uuid`, or of the best checkpoint of the trial `trial_id`, else its latest."""
        from determined.pytorch import _load

        return _load.load_checkpoint_trial(self._core, trial_class, trial_id, uuid)

    def predict(self, trial: PyTorchTrial, data: Any, on_batch: Optional[Callable[..., None]] = None) -> Any:
        """The trial's predictions for the data, over all slots: one output per record, in the data's order; with
        `on_batch`, batch by batch into a function."""
        from determined.pytorch import _predict

        return _predict.predict(self._core, trial, data, on_batch)


@contextlib.contextmanager
def _environment(**texts: Optional[str]) -> Iterator[None]:
    """The environment that libdet reads when an offline run begins."""
    before = {name: os.environ.get(name) for name in texts}
    os.environ.update({name: text for name, text in texts.items() if text is not None})
    try:
        yield
    finally:
        for name, text in before.items():
            if text is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = text


def _json(value: Optional[Dict[str, Any]]) -> Optional[str]:
    try:
        return None if value is None else json.dumps(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"hparams and exp_conf may hold only what a configuration can hold: {error}") from None


def _open(
    hparams: Optional[Dict[str, Any]],
    exp_conf: Optional[Dict[str, Any]],
    distributed: core.DistributedContext,
    mode: TensorboardMode,
) -> core.Context:
    if get_cluster_info() is not None:
        return core.init(distributed=distributed, tensorboard_mode=mode)
    with _environment(DET_HPARAMS=_json(hparams), DET_EXPERIMENT_CONFIG=_json(exp_conf)):
        return core.init(distributed=distributed, tensorboard_mode=mode)


_contexts: List[TrainerContext] = []


def _close_all() -> None:
    while _contexts:
        _contexts.pop().close()


def init(
    *,
    hparams: Optional[Dict[str, Any]] = None,
    exp_conf: Optional[Dict[str, Any]] = None,
    distributed: Optional[core.DistributedContext] = None,
    aggregation_frequency: Optional[int] = None,
    enable_tensorboard_logging: bool = True,
) -> TrainerContext:
    """The context of a training or of a job, with or without a `with`.

    Seeds Python, NumPy and PyTorch with the trial's seed. In a task of several slots whose processes were not
    started yet, it starts the program again, once for each slot. Outside of a cluster the same program runs
    alone; there `hparams` and `exp_conf` are the trial's, else they come from DET_CONFIG=FILE, const.yaml or
    the only YAML file with a `searcher` beside the script.

    `aggregation_frequency`: the optimizers step after so many batches; None:
    optimizations.aggregation_frequency of the configuration, else 1. `enable_tensorboard_logging`: metrics are
    also written for TensorBoard.
    """
    for name, value in (("hparams", hparams), ("exp_conf", exp_conf)):
        if value is not None and not isinstance(value, dict):
            raise TypeError(f"{name} is of type {type(value).__name__}; expected a dict")
    if distributed is None:
        _launch.relaunch_if_needed("torch_distributed")
        distributed = _launch.distributed()
    if get_cluster_info() is None:
        hparams, exp_conf = _local_config.settle(hparams, exp_conf)
    else:
        hparams = exp_conf = None  # the platform's
    mode = TensorboardMode.AUTO if enable_tensorboard_logging else TensorboardMode.MANUAL
    core_context = _open(hparams, exp_conf, distributed, mode)
    try:
        context = TrainerContext(
            core_context,
            hparams=hparams,
            exp_conf=None,
            aggregation_frequency=aggregation_frequency,
            enable_tensorboard_logging=enable_tensorboard_logging,
        )
    except BaseException as error:
        core_context.__exit__(type(error), error, error.__traceback__)
        raise
    if not _contexts:
        atexit.register(_close_all)
    _contexts.append(context)
    return context
