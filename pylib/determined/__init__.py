# SPDX-License-Identifier: Apache-2.0
"""Front ends of det for training programs in Python.

    import determined as det

    with det.core.init() as core_context:
        ...

Every part is loaded when it is first used: this import alone costs next to nothing, and it never imports a
framework. libdet (`_det`) does the work.
"""
import os
import sys
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from determined import core, errors, experimental, keras, launch, lightning, pytorch, transformers, util
    from determined._experiment_config import ExperimentConfig
    from determined._hparams import Categorical, Constant, Double, Integer, Log
    from determined._import import import_from_path
    from determined._info import ClusterInfo, TrialInfo, get_cluster_info
    from determined._trial import LegacyTrial, TrialContext, TrialController
    from determined._units import Batches, Epochs, Records, TrainUnit
    from determined.errors import InvalidHP

    __version__: str

LOG_FORMAT = "%(levelname)s: [%(process)s] %(name)s: %(message)s"

# name: the module that has it
_HOMES = {
    "get_cluster_info": "determined._info",
    "ClusterInfo": "determined._info",
    "TrialInfo": "determined._info",
    "InvalidHP": "determined.errors",
    "Categorical": "determined._hparams",
    "Constant": "determined._hparams",
    "Double": "determined._hparams",
    "Integer": "determined._hparams",
    "Log": "determined._hparams",
    "import_from_path": "determined._import",
    "ExperimentConfig": "determined._experiment_config",
    "LegacyTrial": "determined._trial",
    "TrialContext": "determined._trial",
    "TrialController": "determined._trial",
    "Epochs": "determined._units",
    "Batches": "determined._units",
    "Records": "determined._units",
    "TrainUnit": "determined._units",
}
_MODULES = ("core", "errors", "experimental", "keras", "launch", "lightning", "pytorch", "transformers", "util")

__all__ = ["LOG_FORMAT", "__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    import importlib

    value: Any
    if name == "__version__":
        value = importlib.import_module("determined._det").version
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module("determined." + name)
    else:
        raise AttributeError(f"module 'determined' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))


def _give_way() -> None:
    """In a task the agent has added this package to PYTHONPATH, which comes before the installed packages of the
    interpreter. An interpreter that has its own `determined` keeps it."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places = [os.path.abspath(place) for place in sys.path]
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here not in places or here not in map(os.path.abspath, named):
        return
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    behind = [place for place in sys.path[places.index(here) + 1 :] if os.path.abspath(place) != here]
    spec = PathFinder.find_spec(__name__, behind)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules[__name__] = module
        spec.loader.exec_module(module)


if os.environ.get("DET_ALLOCATION_ID"):
    _give_way()

if os.environ.get("DET_DETERMINISTIC"):
    from determined import _determinism

    _determinism.prepare()

if os.environ.get("DET_CPU_REPLICAS"):
    from determined import _replicas

    _replicas.prepare()
