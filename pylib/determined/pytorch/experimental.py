# SPDX-License-Identifier: Apache-2.0
"""Processes a data set batch by batch, on any number of slots.

    class Embed(TorchBatchProcessor):
        def __init__(self, context):
            self.context = context
            self.model = context.prepare_model_for_inference(load_model())

        def process_batch(self, batch, batch_idx):
            ...

    torch_batch_process(Embed, dataset, batch_size=64)

The ranks take the batches in turn: the `step`-th of rank r is the (step * ranks + r)-th of all. So at every
checkpoint, which all ranks make together, exactly the first records of the data set are done, and one number
says how many. A resumed run may have another number of slots.

    checkpoint (every checkpoint_interval batches of a rank, and when the platform wants to stop)
      on_checkpoint_start()      the program writes its buffered results
      reducers                   over the batches since the last checkpoint, reported by rank 0
      the checkpoint itself      steps_completed, records_completed, default_output_uuid

The files of upload_path() are in the checkpoint storage beside the checkpoints, in one folder for all ranks and
runs, named by default_output_uuid. A batch that was processed after the last checkpoint is processed again, and
its files are overwritten.
"""
import abc
import contextlib
import logging
import os
import pathlib
import shutil
import tempfile
import uuid
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Type, Union

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from determined import _launch, core, errors
from determined.pytorch import _ddp, _device
from determined.pytorch._reducer import MetricReducer, Reducers

logger = logging.getLogger("determined.pytorch")

Reducer = Union[MetricReducer, Callable[[List[Any]], Any]]

_OUTPUT = "default_output_uuid"
# Arguments that decide which records are a batch, and which rank gets it.
_OURS = ("batch_size", "shuffle", "sampler", "batch_sampler")


class TorchBatchProcessorContext:
    """The context of a TorchBatchProcessor: its device, its ranks, and the place for its results."""

    def __init__(self, core_context: core.Context) -> None:
        self._core = core_context
        self._reducers: Dict[str, Reducers] = {}  # by group
        self._strangers: Set[type] = set()
        self._output: Optional[pathlib.Path] = None
        self.distributed = core_context.distributed
        self.device = _ddp.device(self.distributed.local_rank, self.distributed.local_size)

    # ---- models and data

    def prepare_model_for_inference(self, model: torch.nn.Module) -> torch.nn.Module:
        """The model on this slot's device, in evaluation mode."""
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"the model is of type {type(model).__name__}; expected a torch.nn.Module")
        return model.to(self.device).eval()

    def to_device(self, data: Any) -> Any:
        """The same data with its tensors on this slot's device."""
        return _device.to_device(data, self.device, self._strangers)

    # ---- ranks and device

    def get_hparams(self) -> Dict[str, Any]:
        return self._core.hparams

    def get_distributed_rank(self) -> int:
        return self.distributed.rank

    def get_distributed_size(self) -> int:
        return self.distributed.size

    def get_tensorboard_path(self) -> pathlib.Path:
        """A folder of this process for TensorBoard's files."""
        return self._core.train.get_tensorboard_path()

    # ---- results

    @contextlib.contextmanager
    def upload_path(self) -> Iterator[pathlib.Path]:
        """A folder to write into; when the `with` ends without an exception, its files are in the checkpoint
        storage, in the one folder that all ranks and runs of this processing share.

        A file of the same name is overwritten: name files by rank and batch."""
        if self._output is None:
            raise errors.StateError(
                "upload_path() needs a checkpoint storage, which only trials have, not jobs: write to a place "
                "that the job's configuration names in data"
            )
        folder = tempfile.mkdtemp(dir=self._output, prefix=".det-")
        try:
            yield pathlib.Path(folder)
            _move_files(folder, str(self._output))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def report_metrics(self, group: str, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Reports metrics of your own group; any rank may call it."""
        if not self._core._values["is_trial"]:
            logger.info("%s after %d batches: %s", group, steps_completed, metrics)
            return
        self._core.train.report_metrics(group, steps_completed, metrics)

    def wrap_reducer(
        self, reducer: Reducer, name: Optional[str] = None, group: str = "inference"
    ) -> MetricReducer:
        """Reports a reducer with every checkpoint: its values since the last one, on all ranks.

        A function takes the list of all values that were given to update(); it needs a name. A MetricReducer
        without a name returns a dict."""
        wrapped = self._reducers.setdefault(group, Reducers()).wrap(reducer, name, True, True)
        wrapped.reset()
        return wrapped

    def report_task_using_checkpoint(self, checkpoint: Any) -> None:
        self._core.experimental.report_task_using_checkpoint(checkpoint)

    def report_task_using_model_version(self, model_version: Any) -> None:
        self._core.experimental.report_task_using_model_version(model_version)

    # ---- for the loop

    def _open_output(self, name: str) -> None:
        """The folder of that name beside the checkpoints; a draft of a checkpoint has its path."""
        root = None
        if self.distributed.rank == 0:
            draft = self._core._det.checkpoint_begin(0, "{}")
            root = os.path.dirname(draft.path)
            draft.abort()
        root = self.distributed.broadcast(root)
        self._output = pathlib.Path(root) / name
        self._output.mkdir(parents=True, exist_ok=True)

    def _report_reducers(self, steps: int) -> None:
        for group, reducers in self._reducers.items():
            metrics = reducers.reduce(self.distributed, True)
            if metrics and self.distributed.rank == 0:
                self.report_metrics(group, steps, metrics)
            reducers.reset(True)


def _move_files(source: str, target: str) -> None:
    for where, _, names in os.walk(source):
        into = os.path.join(target, os.path.relpath(where, source))
        os.makedirs(into, exist_ok=True)
        for name in names:
            os.replace(os.path.join(where, name), os.path.join(into, name))


class TorchBatchProcessor(metaclass=abc.ABCMeta):
    """The processing of each batch. One object is made on every slot."""

    @abc.abstractmethod
    def __init__(self, context: TorchBatchProcessorContext) -> None:
        """Loads the model, and keeps the context."""

    @abc.abstractmethod
    def process_batch(self, batch: Any, batch_idx: int) -> None:
        """Processes one batch; `batch_idx` counts those of this rank, from 0, over all runs. Gradients are off."""

    def on_checkpoint_start(self) -> None:
        """Before a checkpoint: write buffered results. Results that are not written by then may be lost."""

    def on_finish(self) -> None:
        """After the last checkpoint. It is called again if a run died in it."""


# ---- the loop


def _check(dataset: Any, batch_size: Optional[int], max_batches: Optional[int], checkpoint_interval: int) -> None:
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise TypeError(
            f"the data set is a {type(dataset).__name__}, which can be neither shared among slots nor resumed: "
            "expected a Dataset with __len__() and __getitem__()"
        )
    for name, value in (
        ("batch_size", batch_size),
        ("max_batches", max_batches),
        ("checkpoint_interval", checkpoint_interval),
    ):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ValueError(f"{name} is {value!r}; expected a whole number of at least 1")


def _check_kwargs(dataloader_kwargs: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    given = dict(dataloader_kwargs or {})
    for name in _OURS:
        if name in given:
            way = "give it to torch_batch_process()" if name == "batch_size" else "leave it out"
            raise ValueError(f"dataloader_kwargs has '{name}', which this loop decides: {way}")
    return given


class _Work:
    """The remaining records, and those of this rank's next batches."""

    def __init__(self, records: int, batch_size: int, distributed: core.DistributedContext, drop_last: bool) -> None:
        self.batch_size = batch_size
        self.records = records - records % batch_size if drop_last else records
        self.rank, self.size = distributed.rank, distributed.size
        self.first_step, self.first_record = 0, 0
        self.steps = 0

    def plan(self, metadata: Dict[str, Any], max_batches: Optional[int]) -> None:
        """Continues from a checkpoint."""
        self.first_step = int(metadata.get("steps_completed") or 0)
        self.first_record = int(metadata.get("records_completed") or 0)
        left = max(self.records - self.first_record, 0)
        self.steps = self.first_step + -(-left // (self.batch_size * self.size))
        if max_batches is not None:
            self.steps = max(min(self.steps, max_batches), self.first_step)

    def batch(self, step: int) -> range:
        """The records of a step of this rank; empty if other ranks have the last ones."""
        first = self.first_record + ((step - self.first_step) * self.size + self.rank) * self.batch_size
        return range(min(first, self.records), min(first + self.batch_size, self.records))

    def done(self, step: int) -> int:
        """How many records are done when all ranks have done so many steps."""
        return min(self.first_record + (step - self.first_step) * self.size * self.batch_size, self.records)

    def __iter__(self) -> Iterator[List[int]]:
        """As a batch sampler of PyTorch."""
        for step in range(self.first_step, self.steps):
            batch = self.batch(step)
            if batch:
                yield list(batch)

    def __len__(self) -> int:
        return sum(1 for step in range(self.first_step, self.steps) if self.batch(step))


class _Loop:
    def __init__(self, core_context: core.Context, interval: int) -> None:
        self.core = core_context
        self.interval = interval
        self.is_trial = bool(core_context._values["is_trial"])
        self.output = str(uuid.uuid4())
        self.metadata: Dict[str, Any] = {}

    def restore(self) -> None:
        latest = self.core.latest_checkpoint if self.is_trial else None
        if latest is not None:
            self.metadata = self.core.checkpoint.get_metadata(latest)
            if _OUTPUT not in self.metadata:
                raise ValueError(
                    f"checkpoint {latest} was not saved by torch_batch_process(): it has no position in the data"
                )
            logger.info("continuing after %d batches of each slot", self.metadata["steps_completed"])
        self.output = self.core.distributed.broadcast(self.metadata.get(_OUTPUT) or self.output)

    def save(self, processor: TorchBatchProcessor, context: TorchBatchProcessorContext, work: _Work, step: int) -> None:
        processor.on_checkpoint_start()
        context._report_reducers(step)
        if not self.is_trial:
            return
        self.core.distributed.allgather(None)  # all ranks have written their files
        if self.core.distributed.rank == 0:
            metadata = {"steps_completed": step, "records_completed": work.done(step), _OUTPUT: self.output}
            with self.core.checkpoint.store_path(metadata):
                pass
            self.core.train.report_progress(step / work.steps if work.steps else 1.0)
        self.core.distributed.allgather(None)  # and no rank continues before it is complete

    def is_stopping(self, is_boundary: bool) -> bool:
        """Several ranks ask together, which makes them wait for each other; so only at checkpoints."""
        return (is_boundary or self.core.distributed.size == 1) and self.core.preempt.should_preempt()

    def run(
        self, processor: TorchBatchProcessor, context: TorchBatchProcessorContext, work: _Work, batches: Iterator[Any]
    ) -> bool:
        """Returns False if the platform wants the slots back."""
        saved = work.first_step
        for step in range(work.first_step, work.steps):
            if work.batch(step):
                with torch.no_grad():
                    processor.process_batch(next(batches), step)
            is_boundary = (step + 1) % self.interval == 0
            is_stopping = step + 1 < work.steps and self.is_stopping(is_boundary)
            if is_boundary or is_stopping:
                self.save(processor, context, work, step + 1)
                saved = step + 1
            if is_stopping:
                logger.info("stopping after %d batches of each slot: the platform wants it", step + 1)
                return False
        if saved < work.steps or not work.steps:
            self.save(processor, context, work, work.steps)
        return True


def _process(
    core_context: core.Context,
    cls: Type[TorchBatchProcessor],
    dataset: Any,
    work: _Work,
    max_batches: Optional[int],
    interval: int,
    loader_kwargs: Dict[str, Any],
) -> None:
    loop = _Loop(core_context, interval)
    loop.restore()
    context = TorchBatchProcessorContext(core_context)
    if loop.is_trial:
        context._open_output(loop.output)
        logger.info("files of upload_path() are in '%s'", context._output)
    work.plan(loop.metadata, max_batches)
    processor = cls(context)
    # Its own generator: otherwise PyTorch would draw the seeds of workers from the program's.
    loader_kwargs.setdefault("generator", torch.Generator())
    batches = iter(DataLoader(dataset, batch_sampler=work, **loader_kwargs))  # type: ignore[arg-type]
    if loop.run(processor, context, work, batches):
        processor.on_finish()


def torch_batch_process(
    batch_processor_cls: Type[TorchBatchProcessor],
    dataset: "Dataset[Any]",
    batch_size: Optional[int] = None,
    max_batches: Optional[int] = None,
    checkpoint_interval: int = 5,
    dataloader_kwargs: Optional[Dict[str, Any]] = None,
    distributed_context: Optional[core.DistributedContext] = None,
) -> None:
    """Processes a data set in batches, in the order of its records, on all slots of the task.

    `max_batches` is the maximum number of batches per slot, and `checkpoint_interval` the number of batches
    between checkpoints. `dataloader_kwargs` go to PyTorch's DataLoader. In a task of several slots whose
    processes were not started yet, the program is started again, once for each slot. An offline run runs alone,
    and continues where it was in the same DET_OFFLINE_DIR.
    """
    if not (isinstance(batch_processor_cls, type) and issubclass(batch_processor_cls, TorchBatchProcessor)):
        raise TypeError(f"{batch_processor_cls!r} is not a subclass of TorchBatchProcessor")
    _check(dataset, batch_size, max_batches, checkpoint_interval)
    loader_kwargs = _check_kwargs(dataloader_kwargs)
    if batch_size is None:
        logger.warning("batch_size is not given: batches of one record are processed")
    if distributed_context is None:
        _launch.relaunch_if_needed("torch_distributed")
        distributed_context = _launch.distributed()
    drop_last = bool(loader_kwargs.pop("drop_last", False))
    work = _Work(len(dataset), batch_size or 1, distributed_context, drop_last)  # type: ignore[arg-type]
    with core.init(distributed=distributed_context) as core_context:
        _process(
            core_context, batch_processor_cls, dataset, work, max_batches, checkpoint_interval, loader_kwargs
        )
