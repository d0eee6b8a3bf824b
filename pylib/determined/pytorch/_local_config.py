# SPDX-License-Identifier: Apache-2.0
"""Hyperparameters and configuration of an offline script.

They come from the first of: init(hparams=..., exp_conf=...); the settings of `det e create --local`; the file
that DET_CONFIG names; const.yaml beside the script; the only YAML file there that has a `searcher`.
"""
import json
import logging
import os
import re
import subprocess
import sys
from typing import Any, Dict, List, NoReturn, Optional

from determined import _hparams, _launch

logger = logging.getLogger("determined.pytorch")

_SEARCHER = re.compile(r"^searcher\s*:", re.MULTILINE)


class NoHparams(Dict[str, Any]):
    """No hyperparameters were found; reading one raises an error that says where they could come from."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self._why = why

    def __missing__(self, name: str) -> NoReturn:
        raise ValueError(
            f"there is no hyperparameter '{name}': {self._why}; give them to det.pytorch.init(hparams=...), name a "
            "configuration with DET_CONFIG=FILE, or put a const.yaml beside the script"
        )


def _folder() -> str:
    """The folder of the script."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.dirname(os.path.abspath(path)) if path else os.getcwd()


def _with_searcher(folder: str) -> List[str]:
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith((".yaml", ".yml")):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                if _SEARCHER.search(file.read()):
                    found.append(os.path.join(folder, name))
    return found


def read(path: str) -> Dict[str, Any]:
    """A complete configuration, as the master would read it."""
    done = subprocess.run([_launch.find_det(), "internal", "config", path], capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"the configuration '{path}' cannot be used: {done.stderr.strip() or 'det gave no reason'}")
    config: Dict[str, Any] = json.loads(done.stdout)
    config.pop("checkpoint_storage", None)  # that of the cluster
    return config


def find() -> Any:
    """The path of the configuration, or a sentence about why there is none."""
    named = os.environ.get("DET_CONFIG")
    if named:
        if not os.path.isfile(named):
            raise FileNotFoundError(f"DET_CONFIG is '{named}', but there is no such file")
        return named, ""
    folder = _folder()
    const = os.path.join(folder, "const.yaml")
    if os.path.isfile(const):
        return const, ""
    found = _with_searcher(folder)
    if len(found) == 1:
        return found[0], ""
    if found:
        return None, f"several files beside the script have a searcher ({', '.join(map(os.path.basename, found))})"
    return None, f"no configuration was found in '{folder}'"


def settle(hparams: Optional[Dict[str, Any]], exp_conf: Optional[Dict[str, Any]]) -> Any:
    """(hparams, exp_conf), completed where the caller gave less."""
    if hparams is not None or exp_conf is not None:
        if hparams is None:
            hparams = _one_of_each(exp_conf or {})
        return hparams, exp_conf
    if os.environ.get("DET_HPARAMS") or os.environ.get("DET_EXPERIMENT_CONFIG"):
        return None, None  # libdet reads them
    path, why = find()
    if path is None:
        return NoHparams(why), None
    config = read(path)
    logger.info("configuration and hyperparameters come from '%s'", path)
    return _one_of_each(config), config


def _one_of_each(config: Dict[str, Any]) -> Dict[str, Any]:
    values, chosen = _hparams.one_of_each(config.get("hyperparameters") or {})
    for name, value in chosen.items():
        logger.warning("hyperparameter '%s' is searched; this offline run uses %r", name, value)
    return values
