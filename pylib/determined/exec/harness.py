# SPDX-License-Identifier: Apache-2.0
"""Runs a trial by its class: `python3 -m determined.exec.harness model_def:MNISTTrial`

`entrypoint: model_def:MNISTTrial` becomes this command. Without a name the folder's __init__.py is imported,
and its only trial runs. A trial of several slots starts itself again, with one process per slot
(determined._launch), by the launch layer of its framework. So the class is imported first, and its errors are
printed once, not by every process.

Errors in the user's code are printed as Python would, without our own frames (`debug: true` shows them); errors
in the name are one sentence.
"""
import atexit
import importlib
import importlib.util
import json
import os
import sys
import traceback
from types import ModuleType
from typing import List, Optional, Type

from determined import _det, _launch, core
from determined._trial import LegacyTrial

_USAGE = "usage: python3 -m determined.exec.harness [--train-entrypoint] MODULE:CLASS"
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# The frames that Python puts between an import and the module, and in front of a program.
_PYTHONS = ("<frozen importlib.", "<frozen runpy", os.path.dirname(importlib.__file__) + os.sep)
# The frame in which Keras shortens a traceback.
_KERAS = tuple(os.path.join(name, "src", "utils", "traceback_utils.py") for name in ("keras", "tf_keras"))

_FRAMEWORKS = ("keras", "lightning", "tensorflow", "tf_keras", "torch", "transformers")


class Refused(Exception):
    """An error in the entrypoint, in one sentence."""


# ---- the class


def _read_words(words: List[str]) -> Optional[str]:
    """The name of the class; None: the trial of the folder."""
    words = [word.removeprefix("--train-entrypoint=") for word in words]
    rest = [word for word in words if word not in ("--train-entrypoint", "--trial", "--")]
    if len(rest) > 1 or (rest and rest[0].startswith("-")):
        raise Refused(_USAGE)
    return rest[0] if rest else None


def _is_trial(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, LegacyTrial) and value.trial_controller_class is not None


def _trials_in(module: ModuleType) -> List[str]:
    """The trials that can be run, without their base classes."""
    return sorted(
        name
        for name, value in vars(module).items()
        if _is_trial(value) and not getattr(value, "__abstractmethods__", None)
    )


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # The missing module is the named one or its package; the user handles other missing modules.
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise
        raise Refused(
            f"the entrypoint names the module '{name}', but there is no '{error.name}' in the model "
            f"definition: {_files()}"
        ) from None


def _files() -> str:
    names = sorted(name for name in os.listdir(".") if name.endswith(".py"))
    return f"it has {', '.join(names[:8])}" if names else "it has no Python files"


def _import_folder() -> ModuleType:
    """The current folder as a package: its modules can import each other by `from . import` and by their names."""
    path = os.path.join(os.getcwd(), "__init__.py")
    if not os.path.exists(path):
        raise Refused(
            "the configuration has no entrypoint, and the model definition has no __init__.py: set "
            "entrypoint: MODULE:CLASS"
        )
    name = "model_definition"
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[os.getcwd()])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def find_trial(entrypoint: Optional[str]) -> Type[LegacyTrial]:
    """The class that the entrypoint names, imported from the current folder."""
    if entrypoint is None:
        module = _import_folder()
        names = _trials_in(module)
        if len(names) != 1:
            found = f"has {len(names)}: {', '.join(names)}" if names else "has none"
            raise Refused(
                f"without an entrypoint __init__.py must have exactly one trial, and this one {found}; set "
                "entrypoint: MODULE:CLASS"
            )
        trial: Type[LegacyTrial] = getattr(module, names[0])
        return trial
    name, colon, wanted = entrypoint.partition(":")
    if not colon or not name or not wanted.isidentifier():
        raise Refused(f"the entrypoint is '{entrypoint}'; expected MODULE:CLASS")
    module = _import(name)
    if not hasattr(module, wanted):
        names = _trials_in(module)
        has = f"its trials are: {', '.join(names)}" if names else "it has no trials"
        raise Refused(f"the module '{name}' has no '{wanted}'; {has}")
    value = getattr(module, wanted)
    if not _is_trial(value):
        raise Refused(
            f"'{entrypoint}' is not a trial: expected a subclass of TFKerasTrial, PyTorchTrial or another Trial "
            "of a front end"
        )
    if getattr(value, "__abstractmethods__", None):
        missing = ", ".join(sorted(value.__abstractmethods__))
        raise Refused(f"'{entrypoint}' cannot be run: it does not define {missing}")
    chosen: Type[LegacyTrial] = value
    return chosen


# ---- errors of the user's code


def _is_ours(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith((_OURS, *_PYTHONS)) or frame.filename.endswith(_KERAS)


def _speaks_for_itself(told: traceback.TracebackException) -> bool:
    """Whether our frames can be left out: there are other frames, or it is an error that we raised on purpose, or
    the code does not run at all."""
    is_syntax = getattr(told, "filename", None) is not None
    if is_syntax or not told.stack or not all(map(_is_ours, told.stack)):
        return True
    return (told.stack[-1].line or "").startswith("raise ")


def _take_out_ours(told: Optional[traceback.TracebackException], depth: int = 0) -> None:
    if told is None or depth > 100:
        return
    if _speaks_for_itself(told):
        told.stack = traceback.StackSummary.from_list([frame for frame in told.stack if not _is_ours(frame)])
    _take_out_ours(told.__cause__, depth + 1)
    _take_out_ours(told.__context__, depth + 1)


def _wants_all() -> bool:
    """`debug: true` in the experiment's configuration."""
    try:
        return json.loads(os.environ.get("DET_EXPERIMENT_CONFIG") or "{}").get("debug") is True
    except (ValueError, AttributeError):
        return False


def print_error(error: BaseException) -> None:
    """The traceback without the platform's frames, unless there are no others."""
    told = traceback.TracebackException(type(error), error, error.__traceback__, compact=True)
    if not _wants_all():
        _take_out_ours(told)
    sys.stdout.flush()
    for part in told.format():
        print(part, end="", file=sys.stderr)
    sys.stderr.flush()


def _tell_what_is_missing(error: BaseException) -> None:
    if isinstance(error, ModuleNotFoundError) and error.name in _FRAMEWORKS:
        print(
            f"determined: the Python of this task ({sys.executable}) has no '{error.name}': name it in a file of "
            "requirements, and name that file in environment.requirements of the configuration",
            file=sys.stderr,
        )


# ---- the run


def run(cls: Type[LegacyTrial]) -> None:
    """Makes the trial and trains it, from the latest checkpoint to its end."""
    controller_class = cls.trial_controller_class
    assert controller_class is not None
    with core.init(distributed=_launch.distributed()) as core_context:
        context = cls.trial_context_class(core_context)
        trial = cls(context)
        controller_class(context, trial).run()  # type: ignore[call-arg]


def main(words: List[str]) -> int:
    try:
        entrypoint = _read_words(words)
        if sys.path[0] != os.getcwd():
            sys.path.insert(0, os.getcwd())
        here = os.getcwd()
        cls = find_trial(entrypoint)
        if _launch.needs_relaunch():
            os.chdir(here)  # the module may have changed the directory
            _launch.relaunch_if_needed(cls._launch_layer)
        run(cls)
    except Refused as sentence:
        print(f"determined: {sentence}", file=sys.stderr)
        return 2
    except Exception as error:
        print_error(error)
        _tell_what_is_missing(error)
        return 1
    return 0


def _leave(code: int) -> None:
    """Ends the process without shutting down the interpreter: an iterator of TensorFlow with batches in progress
    would wait forever for a thread that waits for the interpreter. An offline run records first how it ended."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if "DET_ALLOCATION_ID" not in os.environ:
        _det.leave(code)
    os._exit(code)


if __name__ == "__main__":
    _leave(main(sys.argv[1:]))
