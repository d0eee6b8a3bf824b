# SPDX-License-Identifier: Apache-2.0
"""The context of a PyTorch trial: hyperparameters and ranks, as for every trial, and the wrappers that make
models, optimizers and schedulers part of a training that the platform saves, resumes and spreads over slots.

A wrapped object is moved to the device, averaged over ranks and part of every checkpoint, in the order of
wrapping. backward() and step_optimizer() belong into train_batch(); they handle mixed precision and the
aggregation of gradients over batches.
"""
import logging
import os
import random
import sys
import types
from typing import Any, Callable, Dict, Iterable, List, Optional, Set

import torch

try:
    import numpy
except ImportError:  # PyTorch works without it
    numpy = None  # type: ignore[assignment]

from determined import core
from determined._trial import TrialContext
from determined.pytorch import _ddp, _device, _reducer, _torch_internals
from determined.pytorch._lr_scheduler import LRScheduler

logger = logging.getLogger("determined.pytorch")

_SEEDS = 2**32  # those of NumPy


def seed_everything(seed: int) -> None:
    """Seeds the generators of Python, NumPy and PyTorch, on all devices."""
    random.seed(seed)
    if numpy is not None:
        numpy.random.seed(seed % _SEEDS)
    torch.manual_seed(seed)


def _check_gpus(given: int) -> None:
    """Fails if a task with GPUs would train on the processor by mistake."""
    if given and not torch.cuda.is_available():
        raise RuntimeError(
            f"this task has {given} GPU{'s' * (given > 1)}, but PyTorch {torch.__version__} of its Python "
            f"({sys.executable}) can use none: install a build with CUDA that fits the driver, or run on slots "
            "without GPUs"
        )


def _join(core_context: core.Context) -> _ddp.Ranks:
    """The ranks of this process: one group for all its trials."""
    ranks = getattr(core_context, "_torch_ranks", None)
    if ranks is None:
        info = core_context.info
        _check_gpus(len(info.gpu_uuids) if info is not None else 0)
        ranks = core_context._torch_ranks = _ddp.join(core_context.distributed)  # type: ignore[attr-defined]
    return ranks


def _skip_update(scaler: Any) -> None:
    """Makes the next scaler.update() do nothing: no optimizer has stepped, so the scaler has nothing to learn from
    and would raise an error. update(new_scale) still sets the scale."""
    if scaler is None or "update" in vars(scaler):
        return
    own = scaler.update

    def update(new_scale: Any = None) -> None:
        _restore_update(scaler)
        if new_scale is not None:
            own(new_scale)

    scaler.update = update


def _restore_update(scaler: Any) -> None:
    if scaler is not None:
        vars(scaler).pop("update", None)


class PyTorchExperimentalContext:
    """Functions that later versions may change: context.experimental."""

    def __init__(self, parent: "PyTorchTrialContext") -> None:
        self._parent = parent
        self._auto_amp = False
        self._auto_to_device = True
        self._checks_data = True

    def use_amp(self) -> None:
        """Automatic mixed precision: train_batch() and evaluate_batch() run under torch.autocast (float16 on GPUs,
        bfloat16 elsewhere), backward() scales the loss if that is needed, and step_optimizer() unscales the
        gradients. Call it once, in __init__."""
        parent = self._parent
        if parent._scaler is not None:
            raise RuntimeError("use_amp() makes its own scaler, but one was wrapped: choose one of them")
        device = parent.device.type
        parent.wrap_scaler(torch.amp.GradScaler(device, enabled=device == "cuda"))
        self._auto_amp = True

    def disable_dataset_reproducibility_checks(self) -> None:
        """Accepts other data loaders, for example a torch.utils.data.DataLoader: their data is not shared among
        slots, and a training that is resumed within an epoch skips what it has seen by reading it."""
        self._checks_data = False

    def disable_auto_to_device(self) -> None:
        """Leaves batches where they are: move them yourself, with context.to_device()."""
        self._auto_to_device = False


class PyTorchTrialContext(TrialContext):
    """The argument of PyTorchTrial.__init__."""

    is_preempted = False  # the platform ended the last fit() early

    def __init__(
        self,
        core_context: core.Context,
        *,
        hparams: Optional[Dict[str, Any]] = None,
        exp_conf: Optional[Dict[str, Any]] = None,
        aggregation_frequency: Optional[int] = None,
        enable_tensorboard_logging: bool = True,
    ) -> None:
        super().__init__(core_context, hparams=hparams, exp_conf=exp_conf)
        self._ranks = _join(core_context)
        self.device: torch.device = self._ranks.device
        self.models: List[Any] = []
        self.optimizers: List[Any] = []
        self.lr_schedulers: List[LRScheduler] = []
        self.profiler: Any = None
        self.experimental = PyTorchExperimentalContext(self)
        self._scaler: Any = None
        self._tells_of_scaler = True
        self._reducers = _reducer.Reducers()
        self._averaging: Dict[int, bool] = {}  # of the wrapped optimizers, by id
        self._has_stepped = False  # an optimizer, in this batch
        self._compresses = bool(self._exp_conf.get_optimizations_config().get("gradient_compression"))
        self._configure_aggregation(aggregation_frequency)
        self._loop: Any = None  # while it trains
        self._is_in_train_batch = False
        self._strangers: Set[type] = set()
        self._writer: Any = None
        self._logs_to_tensorboard = enable_tensorboard_logging
        # Before the user's code makes anything: weights are drawn when layers are made.
        seed_everything(self.get_trial_seed())

    def _configure_aggregation(self, frequency: Optional[int]) -> None:
        config = self._exp_conf.get_optimizations_config()
        frequency = int(config.get("aggregation_frequency") or 1) if frequency is None else frequency
        if isinstance(frequency, bool) or not isinstance(frequency, int) or frequency < 1:
            raise ValueError(f"aggregation_frequency is {frequency!r}; expected a whole number of at least 1")
        self._aggregation_frequency = frequency
        self._averages = config.get("average_aggregated_gradients") is not False

    @property
    def hparams(self) -> Dict[str, Any]:
        """The hyperparameters, as get_hparams()."""
        return self._hparams

    @property
    def aggregation_frequency(self) -> int:
        """The number of batches after which the optimizers step."""
        return self._aggregation_frequency

    def get_hparam(self, name: str) -> Any:
        if name not in self._hparams and hasattr(type(self._hparams), "__missing__"):
            return self._hparams[name]  # says where they could come from
        return super().get_hparam(name)

    def get_initial_batch(self) -> int:
        """Batches that were trained before this run."""
        return self._loop.first_batch if self._loop is not None else super().get_initial_batch()

    # ---- wrapping

    def _check_time(self, what: str) -> None:
        if self._loop is not None:
            raise RuntimeError(f"{what} was called during training: call it in the trial's __init__")

    def wrap_model(self, model: torch.nn.Module) -> Any:
        """The model on this process's device; with several slots, one that averages its gradients
        (torch.nn.parallel.DistributedDataParallel). Use the model that it returns, and make optimizers
        afterwards."""
        self._check_time("wrap_model()")
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"wrap_model() was given a {type(model).__name__}; expected a torch.nn.Module")
        if any(_ddp.plain(each) is _ddp.plain(model) for each in self.models):
            raise RuntimeError(f"wrap_model() was called twice with the same {type(model).__name__}")
        wrapped = self._ranks.wrap(model)
        self.models.append(wrapped)
        return wrapped

    def wrap_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        backward_passes_per_step: int = 1,
        fp16_compression: Optional[bool] = None,
        average_aggregated_gradients: Optional[bool] = None,
    ) -> torch.optim.Optimizer:
        """Registers the optimizer: the platform saves and restores it, and step_optimizer() steps it.

        `backward_passes_per_step`: how many times backward() is called before it is stepped once.
        `fp16_compression`: gradients travel between slots as float16. `average_aggregated_gradients`: those of
        aggregation_frequency batches are averaged, not summed. None: as `optimizations` of the configuration
        says.
        """
        self._check_time("wrap_optimizer()")
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise TypeError(f"wrap_optimizer() was given a {type(optimizer).__name__}; expected a torch.optim.Optimizer")
        passes = backward_passes_per_step
        if isinstance(passes, bool) or not isinstance(passes, int) or passes < 1:
            raise ValueError(f"backward_passes_per_step is {passes!r}; expected a whole number of at least 1")
        if any(each is optimizer for each in self.optimizers):
            raise RuntimeError(f"wrap_optimizer() was called twice with the same {type(optimizer).__name__}")
        if self._compresses if fp16_compression is None else fp16_compression:
            self._ranks.compress(optimizer)
        self.optimizers.append(optimizer)
        averages = self._averages if average_aggregated_gradients is None else bool(average_aggregated_gradients)
        self._averaging[id(optimizer)] = averages
        return optimizer

    def wrap_lr_scheduler(self, lr_scheduler: Any, step_mode: LRScheduler.StepMode, frequency: int = 1) -> Any:
        """Registers the scheduler: it is saved, restored and stepped as `step_mode` says, every `frequency`-th
        time. Its optimizer must be wrapped."""
        self._check_time("wrap_lr_scheduler()")
        if any(each._scheduler is lr_scheduler for each in self.lr_schedulers):
            raise RuntimeError(f"wrap_lr_scheduler() was called twice with the same {type(lr_scheduler).__name__}")
        wrapped = LRScheduler(lr_scheduler, step_mode, frequency)
        optimizer = getattr(lr_scheduler, "optimizer", None)
        if optimizer is not None and not any(each is optimizer for each in self.optimizers):
            raise ValueError(
                f"the optimizer of the {type(lr_scheduler).__name__} is not wrapped: call context.wrap_optimizer() first"
            )
        self.lr_schedulers.append(wrapped)
        return lr_scheduler

    def wrap_scaler(self, scaler: Any) -> Any:
        """Registers your own torch.amp.GradScaler: it is saved and restored. Scale the loss, and give the scaler
        to step_optimizer(); call its update() after the batch's last step. It does nothing in a batch whose steps
        wait for more gradients (aggregation_frequency)."""
        self._check_time("wrap_scaler()")
        if not hasattr(scaler, "unscale_") or not hasattr(scaler, "state_dict"):
            raise TypeError(f"wrap_scaler() was given a {type(scaler).__name__}; expected a torch.amp.GradScaler")
        if self._scaler is not None:
            raise RuntimeError("wrap_scaler() or use_amp() was already called: a trial has one scaler")
        self._scaler = scaler
        return scaler

    def wrap_reducer(
        self, reducer: Any, name: Optional[str] = None, for_training: bool = True, for_validation: bool = True
    ) -> Any:
        """A MetricReducer, or a function of all values given to update(): its result is reported as `name`, or,
        without a name, as the dict that it returns. Returns the reducer to update."""
        self._check_time("wrap_reducer()")
        return self._reducers.wrap(reducer, name, for_training, for_validation)

    def configure_apex_amp(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: Apex's amp is no longer developed, and torch.amp replaces it."""
        raise NotImplementedError(
            "configure_apex_amp() is not supported: torch.amp has replaced Apex; call "
            "context.experimental.use_amp() in __init__, or wrap_scaler(torch.amp.GradScaler())"
        )

    # ---- training

    def backward(
        self,
        loss: torch.Tensor,
        gradient: Optional[torch.Tensor] = None,
        retain_graph: bool = False,
        create_graph: bool = False,
    ) -> None:
        """Computes the gradients of the loss, as loss.backward() does; in train_batch() only."""
        if not self._is_in_train_batch:
            raise RuntimeError("context.backward() was called outside of train_batch(): gradients are part of a batch")
        if not self.experimental._auto_amp:
            loss.backward(gradient, retain_graph, create_graph)  # type: ignore[no-untyped-call]
            return
        # Each operation goes back in the precision it was computed in; another autocast would cast once more.
        with torch.autocast(self.device.type, enabled=False):
            self._scaler.scale(loss).backward(gradient, retain_graph, create_graph)

    def step_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        clip_grads: Optional[Callable[[Iterable[Any]], None]] = None,
        auto_zero_grads: bool = True,
        scaler: Any = None,
    ) -> None:
        """Steps the optimizer, and zeroes the gradients unless `auto_zero_grads` is False; in train_batch() only.
        If gradients are aggregated, it does something only after every aggregation_frequency-th batch.

        `clip_grads` is called with the parameters that have gradients, before the step: `lambda params:
        torch.nn.utils.clip_grad_norm_(params, 1.0)`. `scaler` is the one that scaled the loss.
        """
        if not self._is_in_train_batch:
            raise RuntimeError("context.step_optimizer() was called outside of train_batch(): steps are part of a batch")
        averages = self._averaging.get(id(optimizer))
        if averages is None:
            raise RuntimeError(
                f"step_optimizer() was given a {type(optimizer).__name__} that is not wrapped: call optimizer = "
                "context.wrap_optimizer(optimizer) in __init__"
            )
        if scaler is None and self.experimental._auto_amp:
            scaler = self._scaler
        elif scaler is not self._scaler and scaler is not None:
            self._warn_of_scaler()
        frequency = self._aggregation_frequency
        if frequency > 1:
            if (self._loop.batches + 1) % frequency:
                _skip_update(scaler)
                return
            _restore_update(scaler)
            if averages:
                _torch_internals.divide([each.grad for each in _parameters(optimizer) if each.grad is not None], frequency)
        if clip_grads is not None:
            if scaler is not None:
                scaler.unscale_(optimizer)
            clip_grads([each for each in _parameters(optimizer) if each.grad is not None])
        if scaler is not None:
            scaler.step(optimizer)
        else:
            optimizer.step()
        self._has_stepped = True
        if auto_zero_grads:
            optimizer.zero_grad()

    def _warn_of_scaler(self) -> None:
        if self._tells_of_scaler:
            self._tells_of_scaler = False
            logger.warning(
                "step_optimizer() was given a scaler that is not wrapped: its scale is in no checkpoint, and a resumed training "
                "begins with a new one; call scaler = context.wrap_scaler(scaler) in __init__"
            )

    def to_device(self, data: Any) -> Any:
        """The data with its tensors on this process's device, nested in any dicts, lists and tuples."""
        return _device.to_device(data, self.device, self._strangers)

    # ---- the position

    def _need_loop(self, what: str) -> Any:
        if self._loop is None:
            raise RuntimeError(f"context.{what} is unknown before training: ask in train_batch() or a callback")
        return self._loop

    def is_epoch_start(self) -> bool:
        """Whether the current batch is the first of its epoch."""
        return bool(self._need_loop("is_epoch_start()").position == 0)

    def is_epoch_end(self) -> bool:
        """Whether the current batch is the last of its epoch."""
        loop = self._need_loop("is_epoch_end()")
        return bool(loop.epoch_length and loop.position + 1 >= loop.epoch_length)

    def current_train_epoch(self) -> int:
        """The current epoch, from 0."""
        return int(self._need_loop("current_train_epoch()").epoch)

    def current_train_batch(self) -> int:
        """The current batch, from 0 over the whole training."""
        return int(self._need_loop("current_train_batch()").batches)

    # ---- profiling and TensorBoard

    def set_profiler(self, *args: Any, **kwargs: Any) -> None:
        """torch.profiler.profile(*args, **kwargs), on during training and stepped after every batch; its traces go
        to TensorBoard."""
        self._check_time("set_profiler()")
        kwargs.setdefault(
            "on_trace_ready", torch.profiler.tensorboard_trace_handler(str(self.get_tensorboard_path()))
        )
        self.profiler = torch.profiler.profile(*args, **kwargs)

    def set_enable_tensorboard_logging(self, enable_tensorboard_logging: bool) -> None:
        """Whether files of get_tensorboard_path() belong to the platform. Reported metrics are always written;
        init(enable_tensorboard_logging=False) turns that off, too."""
        if not isinstance(enable_tensorboard_logging, bool):
            raise TypeError(f"enable_tensorboard_logging is {enable_tensorboard_logging!r}; expected True or False")
        self._logs_to_tensorboard = enable_tensorboard_logging

    def get_enable_tensorboard_logging(self) -> bool:
        return self._logs_to_tensorboard

    def get_tensorboard_path(self) -> Any:
        """A folder of this process for TensorBoard's files."""
        if self._logs_to_tensorboard:
            return super().get_tensorboard_path()
        import pathlib
        import tempfile

        if not hasattr(self, "_private_board"):
            self._private_board = tempfile.TemporaryDirectory(prefix="det-tensorboard-")
        return pathlib.Path(self._private_board.name)

    def get_tensorboard_writer(self) -> Any:
        """A torch.utils.tensorboard.SummaryWriter that writes where the platform looks; always the same."""
        if self._writer is None:
            _keep_tensorflow_out()
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as error:
                raise ImportError(
                    "get_tensorboard_writer() needs the package tensorboard in the Python of this program"
                ) from error
            self._writer = SummaryWriter(log_dir=str(self.get_tensorboard_path()))
        return self._writer

    # ---- for the loop

    def _check_wrapped(self) -> None:
        """Fails for parts that would be missing in the next checkpoint."""
        if not self.models:
            raise ValueError("the trial has wrapped no model: self.model = context.wrap_model(model) in __init__")
        if not self.optimizers:
            raise ValueError(
                "the trial has wrapped no optimizer: self.optimizer = context.wrap_optimizer(optimizer) in __init__"
            )
        known = {id(each) for model in self.models for each in model.parameters()}
        for optimizer in self.optimizers:
            lost = [each for each in _parameters(optimizer) if id(each) not in known]
            if lost:
                raise ValueError(
                    f"a {type(optimizer).__name__} trains {len(lost)} parameters (the first of shape "
                    f"{' x '.join(map(str, lost[0].shape)) or 'a single number'}) of a model that is not wrapped: call "
                    "model = context.wrap_model(model), then make the optimizer of the model that it returns"
                )

    def _send_tensorboard(self) -> None:
        """Uploads the files, if the platform does not manage the folder by itself."""
        if self._writer is not None:
            self._writer.flush()
        board = self._core.train._board
        if board._manual and self._logs_to_tensorboard and board._info["is_trial"]:
            self._core.train.upload_tensorboard_files()

    def _close_tensorboard(self) -> None:
        if self._writer is not None:
            self._send_tensorboard()
            self._writer.close()
            self._writer = None


def _parameters(optimizer: torch.optim.Optimizer) -> List[Any]:
    return [each for group in optimizer.param_groups for each in group["params"]]


def _keep_tensorflow_out() -> None:
    """If TensorFlow is installed, tensorboard imports all of it, which takes seconds, unless it finds a module of
    this name; its own few functions are enough."""
    if "tensorflow" not in sys.modules and "tensorboard.compat" not in sys.modules:
        name = "tensorboard.compat.notf"
        sys.modules.setdefault(name, types.ModuleType(name))
