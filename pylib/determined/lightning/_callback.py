# SPDX-License-Identifier: Apache-2.0
"""The callback for Lightning's Trainer.

Lightning saves weights, optimizers, schedulers, its loops and the state of callbacks in one file, and resumes
from it: trainer.fit(model, ckpt_path=...). The callback keeps the rest beside that file, for every rank, and
restores it:

    lightning.ckpt      the file of trainer.save_checkpoint()
    rank-N.json         the random generators of rank N, and the position in its data (Resumable)

When checkpoints are saved, and why then:

    train_batch_end     in the middle of an epoch: every `checkpoint_batches`, and when asked to
                        stop.  Not after a batch that is followed by a validation, because a resumed
                        training would skip that validation: then it is saved in validation_end
    train_epoch_end     after the validation: every `checkpoint_epochs`, when asked to stop, when the
                        training ends

Lightning logs the values of a batch or an epoch after its callbacks. So the files are written in the hooks above,
and become a checkpoint in the next hook, when these values were reported: a run that is killed in between starts
from the checkpoint before, and reports them again. Otherwise nobody would report them.

A training that is asked to stop in the middle of an epoch ends without the validation that Lightning otherwise
runs when trainer.should_stop is set, because the slots are wanted back. Values that other loggers and callbacks
get for that half epoch are neither reported nor saved; the whole epoch is trained again.

The generators are restored twice: before the loaders make their iterators (fit_start), so a new epoch gets the
same order, and again after it if an epoch is continued.
"""
import json
import logging
import os
import shutil
import tempfile
from typing import Any, Dict, List, Optional, Tuple

from determined import core
from determined.lightning import _rng
from determined.lightning._data import Resumable
from determined.lightning._logger import DetLogger, counts
from determined.lightning._package import pl

logger = logging.getLogger("determined.lightning")

_FILE = "lightning.ckpt"
_RANK = "rank-{}.json"


class DetCallback(pl.callbacks.Checkpoint):  # type: ignore[misc]
    """Saves checkpoints, resumes from the latest, stops when the platform asks for it, reports the progress.

        callback = DetCallback(core_context)
        trainer = Trainer(callbacks=[callback], logger=DetLogger(core_context), ...)
        trainer.fit(module, Resumable(loader), ckpt_path=callback.ckpt_path)

      core_context        the context of det.core.init()
      checkpoint_epochs   a checkpoint every so many epochs; 0: only at the end and when it must stop
      checkpoint_batches  and every so many batches of an epoch; None: not inside an epoch
    """

    def __init__(
        self, core_context: core.Context, *, checkpoint_epochs: int = 1, checkpoint_batches: Optional[int] = None
    ) -> None:
        super().__init__()
        if not isinstance(core_context, core.Context):
            raise TypeError(f"core_context is {core_context!r}; expected the context of det.core.init()")
        _check("checkpoint_epochs", checkpoint_epochs, 0)
        if checkpoint_batches is not None:
            _check("checkpoint_batches", checkpoint_batches, 1)
        self._core = core_context
        self._dist = core_context.distributed
        self._epochs, self._batches = checkpoint_epochs, checkpoint_batches
        self._is_preempted = False
        self._is_due = False
        self._has_stepped = True
        self._is_finished = False  # it was already at its end when it began
        self._kept: List[Any] = []  # settings of the Trainer that stopping changes: (object, name, value)
        self._rank_state: Optional[Dict[str, Any]] = None
        self._folder: Optional[str] = None
        self._written: Optional[Tuple[str, Dict[str, Any]]] = None  # folder and metadata of the next checkpoint
        self.ckpt_path = self._fetch()

    @property
    def is_preempted(self) -> bool:
        """Whether the platform has ended the training early: then exit with 0."""
        return self._is_preempted

    # ---- the latest checkpoint

    def _fetch(self) -> Optional[str]:
        uuid = self._core.latest_checkpoint
        if uuid is None:
            return None
        folder = self._dist.broadcast_local(tempfile.mkdtemp(prefix="det-") if self._dist.local_rank == 0 else None)
        self._folder = folder
        self._core.checkpoint.download(uuid, folder)
        path = os.path.join(folder, _FILE)
        if not os.path.exists(path):
            self._forget()
            raise FileNotFoundError(
                f"checkpoint {uuid} has no '{_FILE}': determined.lightning.DetCallback did not save it"
            )
        mine = os.path.join(folder, _RANK.format(self._dist.rank))
        if os.path.exists(mine):
            with open(mine, encoding="utf-8") as file:
                self._rank_state = json.load(file)
        else:
            logger.warning("checkpoint %s was saved by fewer processes: the others start with new random generators", uuid)
        metadata = self._core.checkpoint.get_metadata(uuid)
        self._is_finished = bool(metadata.get("finished"))
        if self._dist.rank == 0:
            logger.info("continuing after %d steps, from checkpoint %s", metadata["steps_completed"], uuid)
        return path

    def _forget(self) -> None:
        """Called on every rank after its machine has loaded the checkpoint."""
        folder, self._folder = self._folder, None
        if folder is not None:
            self._dist.allgather_local(None)
            if self._dist.local_rank == 0:
                shutil.rmtree(folder, ignore_errors=True)

    # ---- Lightning's events

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if sum(isinstance(callback, DetCallback) for callback in trainer.callbacks) > 1:
            raise RuntimeError("the Trainer has two DetCallbacks, which would save everything twice: use one")
        told, there = self._dist.size, trainer.world_size
        if told != there:
            raise RuntimeError(
                f"the Trainer has {there} processes and the context has {told}: make it with core.init(distributed="
                "core.DistributedContext.from_torch_distributed()), in processes that a launcher started"
            )
        for each in trainer.loggers:
            if isinstance(each, DetLogger):
                each._trainer = trainer
                each.is_silent = False

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        self._is_preempted = False
        if self.ckpt_path is None:
            return
        is_loaded_later = trainer.strategy.restore_checkpoint_after_setup
        if trainer.ckpt_path != self.ckpt_path and not is_loaded_later:
            logger.warning(
                "training starts from the beginning although there is a checkpoint: call "
                "trainer.fit(..., ckpt_path=callback.ckpt_path)"
            )
            self._rank_state = None
            return
        if self._rank_state is not None:
            _rng.put(self._rank_state["generators"])
        if self._is_finished:
            trainer.should_stop = True  # stopped by a callback for a reason that is no longer known

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._tell("training")
        state, self._rank_state = self._rank_state, None
        self._forget()
        if state is None:
            return
        loader = trainer.train_dataloader
        if isinstance(loader, Resumable) and state["data"] is not None:
            loader.load_state_dict(state["data"])  # Lightning does this only in the middle of an epoch
        if not state["in_epoch"]:
            return
        if not hasattr(loader, "load_state_dict"):
            logger.warning(
                "training continues in the middle of an epoch, but the loader starts from its beginning: some records are "
                "seen twice and some not at all; use determined.lightning.Resumable(loader)"
            )
        _rng.put(state["generators"])

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self._commit()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self._commit()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.is_last_batch or _is_long_enough(trainer):
            return  # train_epoch_end follows
        if self._batches is not None and (batch_idx + 1) % self._batches == 0:
            self._is_due = True
        # Unfinished sums of gradients are not saved.
        self._has_stepped = (batch_idx + 1) % trainer.accumulate_grad_batches == 0
        if not _is_validated_now(trainer, batch_idx):
            self._save_in_epoch(trainer)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.sanity_checking or trainer.state.fn != "fit":
            return
        self._progress(trainer)
        if not (trainer.is_last_batch or _is_long_enough(trainer) or trainer.should_stop):
            self._save_in_epoch(trainer)

    def _save_in_epoch(self, trainer: Any) -> None:
        if not self._has_stepped:
            return
        is_asked = self._core.preempt.should_preempt()
        if is_asked or self._is_due:
            self._write(trainer, in_epoch=True)
        self._is_due = False
        if is_asked:
            # A Trainer that should stop logs every batch; only those that are due count.
            if not trainer._logger_connector.should_update_logs:
                _silence(trainer)
            self._stop(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self._commit()
        if self._is_preempted:  # in the middle of an epoch
            _silence(trainer)
            return
        self._is_due = False
        self._progress(trainer)
        is_asked = self._core.preempt.should_preempt()
        is_over = trainer.should_stop or _is_long_enough(trainer) or trainer.current_epoch + 1 == trainer.max_epochs
        is_due = self._epochs > 0 and (trainer.current_epoch + 1) % self._epochs == 0
        if is_asked or is_over or is_due:
            self._write(trainer, in_epoch=False, finished=is_over)
        if is_asked and not is_over:
            self._stop(trainer)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._commit()
        for thing, name, value in self._kept:
            setattr(thing, name, value)
        self._kept = []
        if self._dist.rank == 0 and not self._is_preempted:
            self._core.train.report_progress(1.0)
        self._tell("stopping" if self._is_preempted else "finishing")

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        written, self._written = self._written, None  # other ranks may not be here to save it
        if written is not None and self._dist.local_rank == 0:
            shutil.rmtree(written[0], ignore_errors=True)

    # ---- saving and stopping

    def _stop(self, trainer: Any) -> None:
        """Ends the training regardless of the minimum number of epochs, and without a validation."""
        self._is_preempted = True
        fit = trainer.fit_loop
        for thing, name, value in (
            (trainer, "limit_val_batches", 0),
            (fit, "min_epochs", None),
            (fit.epoch_loop, "min_steps", None),
        ):
            self._kept.append((thing, name, getattr(thing, name)))
            setattr(thing, name, value)
        trainer.should_stop = True

    def _write(self, trainer: Any, *, in_epoch: bool, finished: bool = False) -> None:
        """Writes the files of a checkpoint."""
        self._tell("checkpointing")
        dist = self._dist
        folder = dist.broadcast(tempfile.mkdtemp(prefix="det-") if dist.rank == 0 else None)
        self._written = folder, {"steps_completed": trainer.global_step, "framework": "lightning", "finished": finished}
        if dist.local_rank == 0:
            os.makedirs(folder, exist_ok=True)
        dist.allgather(None)
        with open(os.path.join(folder, _RANK.format(dist.rank)), "w", encoding="utf-8") as file:
            json.dump(self._state_of_rank(trainer, in_epoch), file)
        trainer.save_checkpoint(os.path.join(folder, _FILE))

    def _commit(self) -> None:
        """Makes the files that were written a checkpoint."""
        if self._written is None:
            return
        (folder, metadata), self._written = self._written, None
        dist = self._dist
        try:
            dist.allgather(None)  # all ranks have written their files
            self._core.checkpoint.upload(
                folder if dist.local_rank == 0 else None, metadata if dist.rank == 0 else None, shard=dist.size > 1
            )
        finally:
            if dist.local_rank == 0:
                shutil.rmtree(folder, ignore_errors=True)
        self._tell("training")

    def _state_of_rank(self, trainer: Any, in_epoch: bool) -> Dict[str, Any]:
        loader = trainer.train_dataloader
        data = loader.state_dict() if isinstance(loader, Resumable) else None
        return {"generators": _rng.get(), "data": data, "in_epoch": in_epoch}

    def _progress(self, trainer: Any) -> None:
        if self._dist.rank != 0:
            return
        done = 0.0
        if trainer.max_epochs and trainer.max_epochs > 0:
            done = counts(trainer)["epochs"] / trainer.max_epochs
        if trainer.max_steps > 0:
            done = max(done, trainer.global_step / trainer.max_steps)
        self._core.train.report_progress(min(done, 1.0))

    def _tell(self, word: str) -> None:
        if self._dist.rank == 0:
            self._core.train.set_status(word)


def _check(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} is {value!r}; expected a whole number of at least {least}")


def _silence(trainer: Any) -> None:
    """The rest of an interrupted epoch is not reported."""
    for each in trainer.loggers:
        if isinstance(each, DetLogger):
            each.is_silent = True


def _is_long_enough(trainer: Any) -> bool:
    """Whether max_steps is reached, which may be in the middle of an epoch."""
    return bool(0 < trainer.max_steps <= trainer.global_step)


def _is_validated_now(trainer: Any, batch_idx: int) -> bool:
    """Whether Lightning validates after this batch, in the middle of an epoch."""
    epochs, batches = trainer.check_val_every_n_epoch, trainer.val_check_batch
    if not trainer.enable_validation or batches in (None, float("inf")):
        return False
    if epochs is not None and (trainer.current_epoch + 1) % epochs != 0:
        return False
    at = trainer.fit_loop.total_batch_idx if epochs is None else batch_idx
    return bool((at + 1) % batches == 0)
