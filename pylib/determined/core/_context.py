# SPDX-License-Identifier: Apache-2.0
import enum
import faulthandler
import json
import logging
import os
import signal
import sys
from types import TracebackType
from typing import Any, Dict, Optional, Type, Union

from determined import _det, _logging, errors
from determined._info import ClusterInfo, get_cluster_info
from determined.core._checkpoint import CheckpointContext
from determined.core._distributed import DistributedContext
from determined.core._preempt import PreemptContext, PreemptMode
from determined.core._profiler import ProfilerContext
from determined.core._searcher import SearcherContext
from determined.core._train import EarlyExitReason, TrainContext

logger = logging.getLogger("determined.core")

_LEVELS = {"debug": 0, "info": 1, "warn": 2, "error": 3}


class TensorboardMode(enum.Enum):
    """Whether the platform handles TensorBoard's files by itself."""

    AUTO = "AUTO"
    MANUAL = "MANUAL"


class ExperimentalCoreContext:
    """Functions that later versions may change."""

    def __init__(self, train: TrainContext) -> None:
        self._train = train

    def report_task_using_checkpoint(self, ckpt: Any) -> None:
        """Records in the trial's metadata, under `uses`, that it uses this checkpoint: a uuid, or an object with a
        `uuid`."""
        uuid = getattr(ckpt, "uuid", ckpt)
        if not isinstance(uuid, str) or not uuid:
            raise TypeError(f"the checkpoint is {ckpt!r}; expected one with a uuid, or a uuid")
        self._train.set_metadata({"uses": {"checkpoints": {uuid: True}}})

    def report_task_using_model_version(self, mv: Any) -> None:
        """Does the same for a version of a model and for its checkpoint."""
        version = getattr(mv, "model_version", getattr(mv, "version", None))
        name = getattr(mv, "model_name", getattr(mv, "name", None))
        checkpoint = getattr(mv, "checkpoint", None)
        if version is None or checkpoint is None:
            raise TypeError(f"the model's version is {mv!r}; expected one of the client's")
        self._train.set_metadata({"uses": {"model_versions": {str(name or "?"): version}}})
        self.report_task_using_checkpoint(checkpoint)


class Context:
    """The object that core.init() returns: the training program's side of the platform."""

    def __init__(
        self,
        det: _det.Context,
        values: Dict[str, Any],
        distributed: DistributedContext,
        preempt_mode: PreemptMode,
        tensorboard_mode: TensorboardMode,
        info: Optional[ClusterInfo],
    ) -> None:
        is_manual = tensorboard_mode is TensorboardMode.MANUAL
        self._det = det
        self._values = values
        self.info = info
        self.distributed = distributed
        self.train = TrainContext(det, values, distributed, is_manual)
        self.checkpoint = CheckpointContext(det, distributed)
        self.preempt = PreemptContext(det, distributed, preempt_mode)
        self.searcher = SearcherContext(det, distributed)
        profiled = json.loads(values["config"] or "{}") if values["is_trial"] else None
        self.profiler = ProfilerContext(det, distributed.local_rank, profiled)
        self.experimental = ExperimentalCoreContext(self.train)

    @property
    def latest_checkpoint(self) -> Optional[str]:
        """The checkpoint to begin from: info.latest_checkpoint; also works in offline runs."""
        return self._values["latest_checkpoint"]

    @property
    def hparams(self) -> Dict[str, Any]:
        """info.trial.hparams; in offline runs, the value of DET_HPARAMS."""
        return json.loads(self._values["hparams"] or "{}")

    @property
    def _config(self) -> Dict[str, Any]:
        """The experiment's configuration from DET_EXPERIMENT_CONFIG; also works in offline runs."""
        return json.loads(self._values["config"] or "{}")

    def start(self) -> None:
        """Does nothing: core.init() has started everything."""

    def close(self) -> None:
        """Ends the context. The task's supervisor sends the reports."""
        if _is_interrupted():
            self._det.interrupted()
        self._det.close()
        self.distributed.close()

    def alert(
        self,
        title: Optional[str] = None,
        description: Optional[str] = None,
        level: Optional[str] = "info",
    ) -> None:
        """Sends a message to the people who asked for alerts."""
        word = (level or "info").lower()
        if word not in _LEVELS:
            raise ValueError(f"level is '{level}'; expected one of {', '.join(_LEVELS)}")
        self._det.alert(_LEVELS[word], title or description or "", description)

    def __enter__(self) -> "Context":
        return self

    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc: Optional[BaseException],
        tb: Optional[TracebackType],
    ) -> None:
        is_invalid = exc_type is not None and issubclass(exc_type, errors.InvalidHP)
        try:
            if is_invalid:
                why = exc or "InvalidHP"
                logger.warning("these hyperparameters cannot be trained: %s", why)
                self.train.report_early_exit(EarlyExitReason.INVALID_HP)
            if exc is not None:
                self.distributed._fail(exc)
        finally:
            self.close()
        if is_invalid:
            sys.exit(0)


def _is_interrupted() -> bool:
    """Whether Ctrl-C ends this program: Python dies of the signal after it has closed everything."""
    return KeyboardInterrupt in (sys.exc_info()[0], getattr(sys, "last_type", None))


def _print_stack_on_sigusr1() -> None:
    try:
        faulthandler.register(signal.SIGUSR1, all_threads=True, chain=False)
    except (AttributeError, OSError, ValueError):
        pass  # standard error is not a file here


def _storage_config(storage: Union[str, "os.PathLike[str]", Dict[str, Any]]) -> Dict[str, Any]:
    """The storage in the form of an experiment's configuration."""
    if isinstance(storage, dict):
        return storage
    path = os.fspath(storage)
    if path.startswith("file://"):
        path = path[len("file://") :]
    elif "://" in path:
        return {"type": path.split("://")[0]}
    return {"type": "directory", "container_path": os.path.abspath(path)}


def _check_storage(storage: Optional[Dict[str, Any]], values: Dict[str, Any]) -> None:
    """A trial of a cluster saves where its experiment does, because the platform manages that storage."""
    if storage is None or not values["is_on_cluster"]:
        return
    config = json.loads(values["config"] or "{}").get("checkpoint_storage") or {}
    if any(config.get(key) != value for key, value in storage.items()):
        raise errors.UnsupportedError(
            "core.init(checkpoint_storage=...) names another place than the experiment: set "
            "checkpoint_storage in the experiment's configuration"
        )


def _check_slots(info: Optional[ClusterInfo], distributed: Optional[DistributedContext]) -> None:
    if info is None or distributed is not None or not info._meets:
        return
    if len(info.slot_ids) > 1 or len(info.container_addrs) > 1:
        raise ValueError(
            f"this {'trial' if info._is_trial else 'job'} has {sum(info.container_slot_counts)} slots: "
            "core.init() needs distributed=DistributedContext.from_...()"
        )


def _open(dist: DistributedContext, is_offline: bool, **options: Any) -> _det.Context:
    """Several processes of an offline run are one run, in the folder of rank 0."""
    if dist.size == 1 or not is_offline:
        return _det.open(**options)
    if dist.rank == 0:
        try:
            det = _det.open(**options)
        except BaseException as error:
            dist._fail(error)
            raise
        dist.broadcast(det.info()["directory"])
        return det
    directory = dist.broadcast(None)
    return _det.open(directory, follow=True, **options)


def init(
    *,
    distributed: Optional[DistributedContext] = None,
    checkpoint_storage: Union[str, "os.PathLike[str]", Dict[str, Any], None] = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> Context:
    """Makes the context of this process: `with core.init() as core_context: ...`

    Inside a task all settings come from files that the platform wrote. Anywhere else the same program makes an
    offline run: reports and checkpoints stay in a folder (DET_OFFLINE_DIR), hyperparameters come from
    DET_HPARAMS, and it is never asked to stop. There `checkpoint_storage` names another place for checkpoints: a
    path, or a dict as in a configuration.
    """
    if not isinstance(preempt_mode, PreemptMode):
        raise TypeError(f"preempt_mode is {preempt_mode!r}; expected a PreemptMode")
    if not isinstance(tensorboard_mode, TensorboardMode):
        raise TypeError(f"tensorboard_mode is {tensorboard_mode!r}; expected a TensorboardMode")
    info = get_cluster_info()
    _check_slots(info, distributed)
    dist = distributed or DistributedContext._alone()
    is_quiet = dist.rank != 0 and preempt_mode is not PreemptMode.WorkersAskMaster
    storage = None if checkpoint_storage is None else _storage_config(checkpoint_storage)
    det = _open(
        dist,
        info is None,
        quiet=is_quiet,
        checkpoint_storage=None if storage is None else json.dumps(storage),
        tensorboard=tensorboard_mode is TensorboardMode.AUTO and dist.rank == 0,
    )
    try:
        values = det.info()
        _check_storage(storage, values)
        context = Context(det, values, dist, preempt_mode, tensorboard_mode, info)
    except BaseException:
        det.close()
        raise
    _print_stack_on_sigusr1()
    if info is not None:
        _logging.set_up(info.task_type == "TRIAL" and info.trial._debug)
    if not values["is_on_cluster"] and "DET_OFFLINE_DIR" not in os.environ:
        logger.info("this is an offline run; reports stay in '%s'", values["directory"])
    return context
