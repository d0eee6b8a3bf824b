# SPDX-License-Identifier: Apache-2.0
"""What `reproducibility: {deterministic: true}` sets inside a Python program.

The agent has set the variables that libraries read themselves (src/model/determinism.c). A program that imports
`determined` also gets what only a call can set, right after each framework is imported, no matter which code
imports it: the deterministic algorithms, and the trial's seed for all global generators. Whatever the program
sets after these imports counts.

JAX has no global generator: its programs make keys from a seed, and det.get_cluster_info().trial.trial_seed has one.
"""
import os
import random
from typing import Any

from determined._import_hook import when_imported

_DEFAULTS = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "TF_DETERMINISTIC_OPS": "1", "TF_CUDNN_DETERMINISTIC": "1"}
_XLA_FLAG = "--xla_gpu_deterministic_ops"


def _seed() -> int:
    """Of the trial; the hash seed is the same, and any program has it."""
    return int(os.environ.get("DET_TRIAL_SEED") or 0)


def _set_numpy(numpy: Any) -> None:
    numpy.random.seed(_seed() & 0xFFFFFFFF)


def _set_torch(torch: Any) -> None:
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False  # it would choose the algorithm by its speed today
    torch.manual_seed(_seed())


def _set_tensorflow(tensorflow: Any) -> None:
    tensorflow.config.experimental.enable_op_determinism()
    tensorflow.random.set_seed(_seed())


def _set_flags() -> None:
    """A configuration may have set some of them, XLA_FLAGS with other flags."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    flags = os.environ.get("XLA_FLAGS", "")
    if _XLA_FLAG not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_XLA_FLAG}=true".strip()


def prepare() -> None:
    _set_flags()
    random.seed(_seed())
    when_imported("numpy", _set_numpy)
    when_imported("torch", _set_torch)
    when_imported("tensorflow", _set_tensorflow)
