# SPDX-License-Identifier: Apache-2.0
"""Trials of PyTorch: what to train, and with which data.

    class MNISTTrial(PyTorchTrial):
        def __init__(self, context): ...                            wraps model and optimizer
        def train_batch(self, batch, epoch_idx, batch_idx): ...     forward, backward, step; metrics
        def evaluate_batch(self, batch): ...                        metrics
        def build_training_data_loader(self): ...
        def build_validation_data_loader(self): ...

One class serves `entrypoint: model_def:MNISTTrial`, context.fit(trial) and Trainer(trial, context).fit().
"""
import abc
from typing import Any, Dict, Optional, Type

from determined._trial import LegacyTrial, TrialController
from determined.pytorch._callback import PyTorchCallback
from determined.pytorch._reducer import Reducer
from determined.pytorch._trial_context import PyTorchTrialContext


def batch_length(batch: Any) -> int:
    """Records of a batch: rows of the first tensor in it."""
    while isinstance(batch, (dict, list, tuple)) and len(batch):
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    try:
        return len(batch)
    except TypeError:  # a single number, or an object that cannot be counted
        return 1


class PyTorchTrial(LegacyTrial):
    """A trial of PyTorch. Make models and optimizers in __init__, and wrap them with the context."""

    trial_context_class = PyTorchTrialContext
    trial_controller_class: Optional[Type[TrialController]]
    _launch_layer = "torch_distributed"

    def __new__(cls, *args: Any, **kwargs: Any) -> "PyTorchTrial":
        missing = getattr(cls, "__abstractmethods__", None)
        if missing:
            raise TypeError(f"{cls.__name__} has no {', '.join(sorted(missing))}(): a PyTorchTrial needs it to train")
        return super().__new__(cls)

    def __init__(self, context: PyTorchTrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
        """Trains one batch: the forward pass, context.backward(loss), context.step_optimizer(optimizer). Returns
        the loss, or a dict of metrics; every batch returns the same names. `batch_idx` counts the batches of
        the whole training from 0, on this rank."""

    def build_training_data_loader(self) -> Any:
        """The training data: a det.pytorch.DataLoader. Its batch size is that of one slot:
        context.get_per_slot_batch_size()."""
        raise NotImplementedError

    def build_validation_data_loader(self) -> Any:
        """The validation data: a det.pytorch.DataLoader."""
        raise NotImplementedError

    def evaluate_batch(self, batch: Any, batch_idx: int) -> Dict[str, Any]:
        """The metrics of one batch of validation data, without gradients. The second argument can be left out.
        evaluation_reducer() says how the metrics of all batches are combined. Define this, or
        evaluate_full_dataset()."""
        raise NotImplementedError

    def evaluate_full_dataset(self, data_loader: Any) -> Dict[str, Any]:
        """The metrics over all the validation data, computed on rank 0 while the others wait. Use
        context.to_device() on its batches."""
        raise NotImplementedError

    def evaluation_reducer(self) -> Any:
        """How the metrics of evaluate_batch() are combined: a Reducer for all of them, or a dict with one for each
        name. Reducer.AVG, the mean over all records, is the default."""
        return Reducer.AVG

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:
        """Callbacks by name; checkpoints use the names."""
        return {}

    def get_batch_length(self, batch: Any) -> int:
        """Records of a batch: the weight of its validation metrics. Override it for batches that are not tensors,
        nor tuples, lists or dicts of them."""
        return batch_length(batch)


def is_defined(trial: PyTorchTrial, name: str) -> bool:
    """Whether the user's class overrides a method."""
    return getattr(type(trial), name, None) is not getattr(PyTorchTrial, name)


def context_of(trial: PyTorchTrial) -> PyTorchTrialContext:
    """The context that a trial was made with."""
    if isinstance(trial, type):
        name = trial.__name__
        raise TypeError(f"{name} is a class; expected a trial of it: trial = context.build_trial({name})")
    context = getattr(trial, "_det_context", None) or getattr(trial, "context", None)
    if not isinstance(context, PyTorchTrialContext):
        raise TypeError(
            f"the {type(trial).__name__} was not made by context.build_trial(), and has no self.context: make it with "
            f"trial = context.build_trial({type(trial).__name__})"
        )
    return context


class PyTorchTrialController(TrialController):
    """Trains a PyTorchTrial as the experiment's configuration says."""

    context: PyTorchTrialContext

    def __init__(self, context: PyTorchTrialContext, trial: PyTorchTrial) -> None:
        super().__init__(context)
        self.trial = trial

    def run(self) -> None:
        """Builds the data loaders and trains."""
        from determined.pytorch._loop import Loop

        if not is_defined(self.trial, "build_training_data_loader"):
            raise ValueError(
                f"{type(self.trial).__name__} has no build_training_data_loader(): a trial named by "
                "`entrypoint` builds its own data"
            )
        Loop(self.context, self.trial, is_trainer=False).run()


PyTorchTrial.trial_controller_class = PyTorchTrialController
