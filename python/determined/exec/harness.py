# SPDX-License-Identifier: Apache-2.0
"""Runs a trial by its class: `python3 -m determined.exec.harness model_def:MNISTTrial`

That is what `entrypoint: model_def:MNISTTrial` becomes.  Without a name the folder's __init__.py is
imported, and its one trial runs.  A trial of several slots starts itself over again, one process a
slot (determined._launch): by a launch layer that fits its framework, which is why the class is
imported before.  What is wrong with it is then told once, not by every process.

What goes wrong in the user's code is told as Python would, without our own frames (`debug: true` shows
them); what is wrong with the name is one sentence.
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

from determined import _launch, core
from determined._trial import LegacyTrial

_USAGE = "usage: python3 -m determined.exec.harness [--train-entrypoint] MODULE:CLASS"
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# What Python puts between an import and the module, and in front of a program.
_PYTHONS = ("<frozen importlib.", "<frozen runpy", os.path.dirname(importlib.__file__) + os.sep)

_FRAMEWORKS = ("keras", "lightning", "tensorflow", "tf_keras", "torch", "transformers")


class Refused(Exception):
    """One sentence about the entrypoint."""


# ---- the class


def _read_words(words: List[str]) -> Optional[str]:
    """The name of the class; None: that of the folder."""
    words = [word.removeprefix("--train-entrypoint=") for word in words]
    rest = [word for word in words if word not in ("--train-entrypoint", "--trial", "--")]
    if len(rest) > 1 or (rest and rest[0].startswith("-")):
        raise Refused(_USAGE)
    return rest[0] if rest else None


def _is_trial(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, LegacyTrial) and value.trial_controller_class is not None


def _trials_in(module: ModuleType) -> List[str]:
    """Those that can be run, not what they are made from."""
    return sorted(
        name
        for name, value in vars(module).items()
        if _is_trial(value) and not getattr(value, "__abstractmethods__", None)
    )


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Of the name itself, or of a package that it is in; what it imports is the user's affair.
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise
        raise Refused(
            f"the entrypoint names the module '{name}', and there is no '{error.name}' in the model "
            f"definition: {_files()}"
        ) from None


def _files() -> str:
    names = sorted(name for name in os.listdir(".") if name.endswith(".py"))
    return f"it has {', '.join(names[:8])}" if names else "it has no Python files"


def _import_folder() -> ModuleType:
    """The current folder as a package: its modules import each other by `from . import` as well
    as by their names."""
    path = os.path.join(os.getcwd(), "__init__.py")
    if not os.path.exists(path):
        raise Refused(
            "the configuration has no entrypoint, and the model definition no __init__.py: set "
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
    """The class that the entrypoint means, imported from the current folder."""
    if entrypoint is None:
        module = _import_folder()
        names = _trials_in(module)
        if len(names) != 1:
            found = f"has {len(names)}: {', '.join(names)}" if names else "has none"
            raise Refused(
                f"without an entrypoint __init__.py has exactly one trial, and this one {found}; set "
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
            f"'{entrypoint}' is no trial: expected a subclass of TFKerasTrial, PyTorchTrial or another Trial "
            "of a front end"
        )
    if getattr(value, "__abstractmethods__", None):
        missing = ", ".join(sorted(value.__abstractmethods__))
        raise Refused(f"'{entrypoint}' cannot be run yet: it has no {missing}")
    chosen: Type[LegacyTrial] = value
    return chosen


# ---- what went wrong


def _is_ours(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith((_OURS, *_PYTHONS))


def _speaks_for_itself(told: traceback.TracebackException) -> bool:
    """Whether it can do without our frames: there are others, or it is a sentence that we have
    raised on purpose, or what does not run at all."""
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
    """The traceback, without the platform's frames unless they are all there is to see."""
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
            f"determined: this task's Python ({sys.executable}) has no '{error.name}': name it in a file of "
            "requirements, and that file in environment.requirements of the configuration",
            file=sys.stderr,
        )


# ---- the run


def run(cls: Type[LegacyTrial]) -> None:
    """Makes the trial and drives it, from the latest checkpoint to its end."""
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
            os.chdir(here)  # the module may have gone elsewhere
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
    """Ends the process without taking the interpreter down: an iterator of TensorFlow that has batches
    under way waits there for a thread that waits for the interpreter, for ever."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _leave(main(sys.argv[1:]))
