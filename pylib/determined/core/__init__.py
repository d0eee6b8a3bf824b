# SPDX-License-Identifier: Apache-2.0
"""The Core API: what your own training loop tells the platform, and asks of it."""
from determined.core._checkpoint import CheckpointContext, DownloadMode
from determined.core._context import Context, ExperimentalCoreContext, TensorboardMode, init
from determined.core._distributed import DistributedContext
from determined.core._preempt import PreemptContext, PreemptMode
from determined.core._profiler import ProfilerContext
from determined.core._searcher import SearcherContext, SearcherMode, SearcherOperation, Unit
from determined.core._train import EarlyExitReason, TrainContext

__all__ = [
    "CheckpointContext",
    "Context",
    "DistributedContext",
    "DownloadMode",
    "EarlyExitReason",
    "ExperimentalCoreContext",
    "PreemptContext",
    "PreemptMode",
    "ProfilerContext",
    "SearcherContext",
    "SearcherMode",
    "SearcherOperation",
    "TensorboardMode",
    "TrainContext",
    "Unit",
    "init",
]
