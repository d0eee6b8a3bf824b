# SPDX-License-Identifier: Apache-2.0
"""The native API: an ordinary Keras script that submits itself as an experiment.

    context = determined.experimental.keras.init(config={...}, context_dir=".")
    model = context.wrap_model(model)
    model.compile(...)
    model.fit(x, y, validation_data=(a, b))

Run by hand, init() submits the folder and ends the program. The same script is then the entrypoint of the
trials, in which init() returns the context and the rest of the script runs. With local=True everything happens
here, and with test=True it trains one batch.

wrap_model() replaces fit() and fit_generator() of the model by those of the context, which call Keras's own fit()
with a Loop among its callbacks.
"""
import atexit
import functools
import json
import logging
import os
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, NoReturn, Optional

from determined import _hparams, _launch, core
from determined._info import get_cluster_info
from determined._units import Epochs
from determined.keras import _trial_data
from determined.keras._trial import Training, check_callbacks, check_model
from determined.keras._trial_context import TFKerasTrialContext

__all__ = ["TFKerasNativeContext", "init"]

logger = logging.getLogger("determined.keras")


class TFKerasNativeContext(TFKerasTrialContext):
    """The object that init() returns: the context of a TFKerasTrial, which trains by itself."""

    _has_fit = False
    _trained: Any = None  # the model whose fit() was called; None: that of the context

    def __enter__(self) -> "TFKerasNativeContext":
        return self

    def __exit__(self, *failure: Any) -> None:
        self._core.__exit__(*failure)

    def _end(self) -> None:
        """The end of the script."""
        if not self._has_fit and getattr(sys, "last_type", None) is None:
            logger.warning(
                "the script has ended without model.fit() of a model that was given to wrap_model(): nothing was trained, "
                "reported or saved"
            )
        self._core.close()

    def wrap_model(self, model: Any) -> Any:
        """The model, whose fit() and fit_generator() are those of this context, and train over all slots."""
        model = super().wrap_model(model)
        for name in ("fit", "fit_generator"):
            object.__setattr__(model, name, self._method_of(model, name))
        return model

    def _method_of(self, model: Any, name: str) -> Any:
        @functools.wraps(getattr(type(self), name))
        def method(*args: Any, **kwargs: Any) -> Any:
            self._trained = model
            return getattr(self, name)(*args, **kwargs)

        return method

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: Optional[int] = None,
        epochs: int = 1,
        verbose: Any = None,
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        class_weight: Optional[Dict[int, float]] = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: Optional[int] = None,
        validation_steps: Optional[int] = None,
        validation_batch_size: Optional[int] = None,
        validation_freq: int = 1,
        max_queue_size: Optional[int] = None,
        workers: Optional[int] = None,
        use_multiprocessing: Optional[bool] = None,
    ) -> Any:
        """Trains the wrapped model, as model.fit() would; returns its History. The configuration decides how long
        it trains and how often it validates (searcher.max_length, min_validation_period); otherwise `epochs`
        and `validation_freq` do. `batch_size` is that of all slots together, or get_per_slot_batch_size(); the
        default is the hyperparameter global_batch_size."""
        model = self._begin(initial_epoch)
        if isinstance(validation_freq, bool) or not isinstance(validation_freq, int):
            raise TypeError(
                f"fit(validation_freq={validation_freq!r}): expected a whole number; epochs cannot be listed here"
            )
        data = _data_of(x, y, sample_weight)
        training = _trial_data.understand(data, "fit(x, y)", may_generate=True)
        if validation_split:
            if validation_data is not None or training.kind != _trial_data.ARRAYS:
                raise ValueError("fit(validation_split=...) is for arrays, and without validation_data")
            training, validation = training.split(validation_split)
        else:
            validation = _understand_validation(validation_data)
        run = Training(self, model, training, validation)
        self.configure_fit(verbose, class_weight, workers, use_multiprocessing, max_queue_size, shuffle, validation_steps)
        run.fit = dict(self._fit)
        run.callbacks = check_callbacks(callbacks, "fit(callbacks=...)")
        run.max_length = Epochs(epochs)
        run.validation_period = Epochs(validation_freq)
        run.steps_per_epoch = steps_per_epoch
        run.batch_size = self._batch_size(training, batch_size)
        run.validation_batch_size = validation_batch_size or run.batch_size
        return self._run(run)

    def fit_generator(
        self,
        generator: Any,
        steps_per_epoch: Optional[int] = None,
        epochs: int = 1,
        verbose: Any = None,
        callbacks: Any = None,
        validation_data: Any = None,
        validation_steps: Optional[int] = None,
        validation_freq: int = 1,
        class_weight: Optional[Dict[int, float]] = None,
        max_queue_size: Optional[int] = None,
        workers: Optional[int] = None,
        use_multiprocessing: Optional[bool] = None,
        shuffle: bool = True,
        initial_epoch: int = 0,
    ) -> Any:
        """The same for a keras.utils.Sequence, or a generator of batches (with `steps_per_epoch`)."""
        return self.fit(
            generator,
            epochs=epochs,
            verbose=verbose,
            callbacks=callbacks,
            validation_data=validation_data,
            shuffle=shuffle,
            class_weight=class_weight,
            initial_epoch=initial_epoch,
            steps_per_epoch=steps_per_epoch,
            validation_steps=validation_steps,
            validation_freq=validation_freq,
            max_queue_size=max_queue_size,
            workers=workers,
            use_multiprocessing=use_multiprocessing,
        )

    def _begin(self, initial_epoch: int) -> Any:
        if initial_epoch:
            raise ValueError("fit(initial_epoch=...) is not supported: the platform continues from the checkpoint")
        if self._has_fit:
            raise RuntimeError("fit() was already called: a trial trains once; put both into one call")
        if self._trained is None and len(self._models) != 1:
            raise RuntimeError(
                f"context.fit() trains the only model that was given to wrap_model(), and there are {len(self._models)}: "
                "call fit() of the model to train"
            )
        model = self._models[0] if self._trained is None else self._trained
        check_model(self, model, "the script")
        return model

    def _batch_size(self, training: _trial_data.Given, given: Optional[int]) -> Optional[int]:
        """That of all slots together."""
        has_one = "global_batch_size" in self._hparams
        if given is not None and not (has_one and given == self.get_per_slot_batch_size()):
            return given
        return self.get_global_batch_size() if has_one or training.kind == _trial_data.ARRAYS else None

    def _run(self, run: Training) -> Any:
        self._has_fit = True
        try:
            return run.run()
        except BaseException as error:
            self.distributed._fail(error)
            raise


def _data_of(x: Any, y: Any, weights: Any) -> Any:
    """The data in one of the forms that a builder of a trial returns. Arrays may come without labels, for a model
    with its own train_step() or compute_loss()."""
    if weights is not None:
        return (x, y, weights)
    is_whole = isinstance(x, tuple) or hasattr(x, "__next__") or _trial_data.is_batches(x)
    return x if y is None and (x is None or is_whole) else (x, y)


def _understand_validation(data: Any) -> Optional[_trial_data.Given]:
    return None if data is None else _trial_data.understand(data, "fit(validation_data=...)")


# ---- in a trial or outside


def init(
    config: Optional[Dict[str, Any]] = None,
    local: bool = False,
    test: bool = False,
    context_dir: str = "",
    command: Optional[List[str]] = None,
    master_url: Optional[str] = None,
) -> TFKerasNativeContext:
    """Makes this script an experiment.

    In a trial it returns the context to train with. Outside of a trial it submits the folder `context_dir` with
    `config` (a configuration; hyperparameters may be det.Integer, Double, Log, Categorical, Constant) and ends
    the program. The entrypoint is `command`, by default the command line of this program. `master_url` is the
    address of the master; without it, DET_MASTER or the local one. With `local` it trains here, in this process,
    each searched hyperparameter at its first or middle value. With `test` it trains one batch, validates one, and
    saves a checkpoint.
    """
    if config is not None and not isinstance(config, dict):
        raise TypeError(f"init(config=...) is a {type(config).__name__}; expected a dict")
    if master_url is not None and (not isinstance(master_url, str) or not master_url):
        raise TypeError(f"init(master_url={master_url!r}): expected the address of a master, or None")
    info = get_cluster_info()
    if info is not None and info.task_type == "TRIAL":
        _launch.relaunch_if_needed()
    elif local:
        if master_url is not None:
            logger.warning("init(local=True) trains here: the master %s is not used", master_url)
        _prepare_local(config or {}, context_dir)
    else:
        _submit(config or {}, test, context_dir, command, master_url)
    core_context = core.init(distributed=_launch.distributed())
    context = TFKerasNativeContext(core_context)
    context._is_test = test
    atexit.register(context._end)
    return context


def _plain(config: Dict[str, Any]) -> Dict[str, Any]:
    """The configuration as JSON would hold it."""
    try:
        plain: Dict[str, Any] = json.loads(json.dumps(config))
        return plain
    except (TypeError, ValueError) as error:
        raise TypeError(f"init(config=...) holds a value that a configuration cannot hold: {error}") from None


# ---- in this process

_STEP = 100
_PERIODS = ("min_validation_period", "min_checkpoint_period")


def _in_batches(config: Dict[str, Any]) -> Dict[str, Any]:
    """Lengths in steps, as the master would read them."""
    step = int(config.get("batches_per_step") or _STEP)
    searcher = dict(config.get("searcher") or {})
    if "max_steps" in searcher:
        searcher["max_length"] = {"batches": int(searcher.pop("max_steps")) * step}
    read = {**config, "searcher": searcher}
    for name in _PERIODS:
        if isinstance(read.get(name), int):
            read[name] = {"batches": read[name] * step}
    return read


def _prepare_local(config: Dict[str, Any], context_dir: str) -> None:
    plain = _in_batches(_plain(config))
    hparams, chosen = _hparams.one_of_each(plain.get("hyperparameters") or {})
    for name, value in chosen.items():
        logger.warning("hyperparameter '%s' is searched; this local run uses %r", name, value)
    os.environ.setdefault("DET_HPARAMS", json.dumps(hparams))
    os.environ["DET_EXPERIMENT_CONFIG"] = json.dumps(plain)
    if context_dir:
        os.chdir(context_dir)


# ---- on a cluster


def _script(folder: str) -> List[str]:
    """The command line of this program, relative to the folder."""
    path = sys.argv[0] if sys.argv else ""
    if not os.path.isfile(path):
        raise ValueError(
            "init() needs command=[...], the command of a trial: this program is not a script, so it has no such command"
        )
    name = os.path.relpath(os.path.realpath(path), os.path.realpath(folder))
    if name.startswith(os.pardir + os.sep):
        raise ValueError(f"init(context_dir='{folder}'): '{path}' is not in that folder, so a trial cannot run it")
    return [name, *sys.argv[1:]]


def _entrypoint(command: Optional[List[str]], folder: str) -> List[str]:
    words = _script(folder) if command is None else command
    if isinstance(words, str) or not words or not all(isinstance(word, str) for word in words):
        raise TypeError(f"init(command={command!r}): expected a list of words")
    return ["python3", *words] if words[0].endswith(".py") else list(words)


# Keys that every searcher has: the others belong to the search that a test does not make.
_OF_ALL_SEARCHERS = ("metric", "smaller_is_better", "source_trial_id", "source_checkpoint_uuid")


def _one_batch(config: Dict[str, Any]) -> Dict[str, Any]:
    """The configuration of a test: one trial of one batch."""
    searcher = config.get("searcher") or {}
    kept = {name: searcher[name] for name in _OF_ALL_SEARCHERS if name in searcher}
    hparams, _ = _hparams.one_of_each(config.get("hyperparameters") or {})
    return {
        **config,
        "searcher": {"name": "single", **kept, "max_length": {"batches": 1}},
        "hyperparameters": hparams,
    }


def _submit(
    config: Dict[str, Any], test: bool, context_dir: str, command: Optional[List[str]], master: Optional[str]
) -> NoReturn:
    """Runs det experiment create, and ends this program."""
    if not context_dir:
        raise ValueError("init() needs context_dir, the folder to submit; or local=True, to train here")
    if not os.path.isdir(context_dir):
        raise NotADirectoryError(f"init(context_dir='{context_dir}'): there is no such folder")
    plain = _plain(config)
    plain["entrypoint"] = _entrypoint(command, context_dir)
    if test:
        plain = _one_batch(plain)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "experiment.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(plain, file, indent=2)
        sys.stdout.flush()
        to = [] if master is None else ["--master", master]
        done = subprocess.run([_launch.find_det(), "experiment", "create", path, context_dir, *to])
    sys.exit(done.returncode)
