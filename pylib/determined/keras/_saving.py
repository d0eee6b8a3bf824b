# SPDX-License-Identifier: Apache-2.0
"""The checkpoints of a training: what each rank puts into one, and how a training resumes from it.

    loop.json        the trainer's position (libdet's), the callbacks' state, the generators of Python, NumPy and of
                     the functions of a dataset, and which weights each optimizer was built for
    variables.*      weights, optimizers, metrics, seeds: by name (_state.py)
    continue_id      which training it belongs to
    rank-N-...       the same for the other ranks, without the common part
    model.json ...   the model's architecture, if it can be serialised

Weights, optimizer and seeds are restored in on_train_begin; callbacks, metrics and learning rates right before the
first epoch, because fit() and the callbacks themselves reset them in between."""
import json
import logging
import os
from typing import Any, Callable, Dict, List, Optional

from determined import core
from determined._trial import CONTINUE_ID, rank_name
from determined.keras import _data_order, _hooks, _owned, _state

logger = logging.getLogger("determined.keras")

LOOP = _state.LOOP


class Saving:
    """What a training saves, and resumes from.

      siblings                 returns the callbacks that may have state
      save_model, load_model   (model, path, distributed): for the weights, instead of us; or None"""

    def __init__(
        self,
        context: core.Context,
        fit: _hooks.Fit,
        trainer: Any,
        feed: _data_order.Feed,
        siblings: Callable[[], List[Any]],
        save_model: Optional[Callable[..., None]],
        load_model: Optional[Callable[..., None]],
    ) -> None:
        self._core, self._distributed = context, context.distributed
        self._fit, self._model, self._trainer = fit, fit.model, trainer
        self._feed = feed
        self._siblings = siblings
        self._save_model, self._load_model = save_model, load_model
        self._restored: Optional[Dict[str, Any]] = None  # callbacks and metrics, until the first epoch
        self._restored_arrays: List[Any] = []
        self._restored_rates: List[Any] = []
        self._before: Dict[int, Dict[str, Any]] = {}  # callbacks as training began

    # ---- saving

    def remember_callbacks(self) -> bool:
        """Remembers the callbacks as training begins: only changed attributes are saved. False: it was done
        before."""
        if self._before:
            return False
        self._before = {id(each): _state.remember(each) for each in self._siblings()}
        return True

    def _memory(self, complete: Any, arrays: List[Any]) -> Dict[str, Any]:
        return {
            "trainer": self._trainer.save(),
            "complete": complete,
            "callbacks": [
                [type(each).__name__, _state.callback_state(each, self._before.get(id(each), {}), arrays)]
                for each in self._siblings()
            ],
            "optimizers": _owned.weights_of_optimizers(self._model),
            "generators": _state.pack(_data_order.generators(), arrays),
            "data": _state.pack(self._feed.generators(self._trainer.epoch_position()), arrays),
        }

    def files(self, continue_id: Any, complete: Any) -> Dict[str, Any]:
        """This rank's part of a checkpoint, by name. `complete` is the length of a training that has ended, else
        None."""
        _hooks.sync(self._model)
        rank = self._distributed.rank
        blobs: List[Any] = []
        memory = json.dumps(self._memory(complete, blobs)).encode()
        kinds = [_state.SEED, _state.OPTIMIZER, _state.METRIC, _state.RATE, _state.SUM, _state.OWN]
        own = (_state.OTHER,) if self._save_model is not None else _state.WEIGHTS
        entries = _state.snapshot(self._model, [*kinds, *own])
        if self._save_model is not None:  # it saves the weights, but not those of each replica
            entries = [entry for entry in entries if entry[0] != _state.OTHER]
        if rank:
            entries = [entry for entry in entries if entry[0] not in _state.SHARED]
        table, arrays = _state.encode(entries + blobs)
        files: Dict[str, Any] = {
            rank_name(LOOP, rank): memory,
            rank_name(_state.VARIABLES, rank): table,
            rank_name(_state.ARRAYS, rank): arrays,
        }
        if not rank:
            files[CONTINUE_ID] = json.dumps(continue_id).encode()
            whole = _state.describe(self._model)
            if whole is not None:
                files[_state.MODEL] = whole
        return files

    # ---- resuming

    def restore(self, storage_id: str, continue_id: Any) -> Optional[Dict[str, Any]]:
        """Restores a checkpoint. Returns its description of the training if it belongs to this one; None: only the
        weights were taken."""
        if self._fit.why_not_built is not None:
            raise RuntimeError(
                f"the checkpoint {storage_id} cannot be loaded: Keras could not make the model's variables "
                "without training it; give the model an Input layer, or its layers compute_output_shape()"
            ) from self._fit.why_not_built
        with self._core.checkpoint.restore_path(storage_id) as folder:
            found = self._read(os.fspath(folder), continue_id)
        memory: Optional[Dict[str, Any]] = found[0]
        if memory is not None:
            self._continue(memory, found[1])
        return memory

    def _read(self, folder: str, wanted: Any) -> Any:
        rank = self._distributed.rank
        path = os.path.join(folder, LOOP)
        if not os.path.exists(path) and self._load_model is not None:
            self._load_model(self._model, folder, self._distributed)
            logger.info("beginning with the weights of the checkpoint; it was saved by another program")
            return None, []
        if not os.path.exists(path):
            raise ValueError(
                f"the checkpoint in '{folder}' was not saved by determined.keras: it has no '{LOOP}'; "
                "override load_model() to read it"
            )
        entries = _state.decode(folder)
        if self._load_model is not None:
            self._load_model(self._model, folder, self._distributed)
            _state.restore_replicas(self._model, entries, _state.WEIGHTS)
        else:
            _state.restore(self._model, entries, _state.WEIGHTS)
        with open(path, encoding="utf-8") as file:
            memory = json.load(file)
        with open(os.path.join(folder, CONTINUE_ID), encoding="utf-8") as file:
            continue_id = json.load(file)
        if continue_id != wanted or continue_id is None:
            logger.info("beginning with the weights of the checkpoint; it belongs to another training")
            return None, []
        return self._read_own(folder, memory, entries) if rank else (memory, entries)

    def _read_own(self, folder: str, memory: Any, entries: List[Any]) -> Any:
        """This rank's part, if the checkpoint has the same number of ranks."""
        own = os.path.join(folder, rank_name(LOOP, self._distributed.rank))
        if not os.path.exists(own):
            return memory, entries
        with open(own, encoding="utf-8") as file:
            memory = json.load(file)
        names = [rank_name(name, self._distributed.rank) for name in (_state.VARIABLES, _state.ARRAYS)]
        mine = _state.decode(folder, *names)
        if any(kind == _state.OTHER for kind, _, _ in mine):  # load_model() has not loaded all of them
            _state.restore(self._model, mine, (_state.OTHER,))
        else:
            _state.restore_replicas(self._model, mine, (_state.OTHER,))
        return memory, [each for each in entries if each[0] == _state.OPTIMIZER] + mine

    def _make_seeds(self, entries: List[Any]) -> None:
        """A new model lacks the generators that Keras created during training."""
        saved = [kind for kind, _, _ in entries].count(_state.SEED)
        present = [kind for kind, _, _ in _state.variables_of(self._model)].count(_state.SEED)
        if saved == present + 1:
            _hooks.make_seed()

    def _continue(self, memory: Dict[str, Any], entries: List[Any]) -> None:
        self._make_seeds(entries)
        kinds = [_state.OPTIMIZER, _state.SEED, _state.RATE, _state.SUM]
        if "optimizers" in memory:  # not in older checkpoints
            _owned.build(self._model, memory["optimizers"])
            kinds.append(_state.OWN)
        _state.restore(self._model, entries, kinds)
        self._trainer.load(memory["trainer"])
        self._restored, self._restored_arrays = memory, entries
        blobs = [entry for entry in entries if entry[0] == _state.CALLBACK]
        self._feed.restore_generators(_state.unpack(memory["data"], blobs) if "data" in memory else None)
        self._restored_rates = _state.rates(self._model)
        logger.info("continuing after %d batches, %d epochs", self._trainer.batches(), self._trainer.epochs())

    def restore_callbacks(self) -> None:
        """Also restores metrics and generators, and the learning rate, which a callback may have set in its
        on_train_begin. Does nothing if nothing is left to restore."""
        memory, self._restored = self._restored, None
        if memory is None:
            return
        blobs = [entry for entry in self._restored_arrays if entry[0] == _state.CALLBACK]
        siblings = self._siblings()
        self._before = {id(each): _state.remember(each) for each in siblings}
        for name, state in memory["callbacks"]:
            for each in siblings:
                if type(each).__name__ == name:
                    _state.restore_callback(each, state, blobs)
                    siblings.remove(each)
                    break
        _state.restore(self._model, self._restored_arrays, (_state.METRIC,))
        _data_order.restore_generators(_state.unpack(memory["generators"], blobs))
        for variable, value in self._restored_rates:
            variable.assign(value)
        self._restored_arrays, self._restored_rates = [], []
