# SPDX-License-Identifier: Apache-2.0
"""Which of TensorFlow's strategies fits the launch layer, and repairs that make it work with Keras 3.

Keras 3.15 cannot train under MultiWorkerMirroredStrategy: two of its functions treat values of several workers
as those of one. They are replaced when such a strategy is chosen, for such strategies only; all others use
Keras's own. repair() says which of them no longer matches the code it was written for; then
tests/python/keras/test_strategy.py fails.
"""
import importlib
import logging
from typing import Any, List

from determined import _replicas

logger = logging.getLogger("determined.keras")

_TRAINER = "keras.src.backend.tensorflow.trainer"
_repaired: List[bool] = []


def choose(workers: int) -> Any:
    """Several workers: MultiWorkerMirroredStrategy. One with several GPUs, or several processor slots:
    MirroredStrategy. Otherwise the default."""
    import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

    if workers > 1:
        repair()
        return tf.distribute.MultiWorkerMirroredStrategy()
    _replicas.divide(tf)
    gpus = len(tf.config.list_physical_devices("GPU"))
    if gpus > 1 or (not gpus and _replicas.wanted() > 1):
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


# ---- Keras 3 among several workers


def _spans_workers(strategy: Any) -> bool:
    """Whether its replicas are in several processes that reduce values together."""
    ask = getattr(getattr(strategy, "extended", None), "_in_multi_worker_mode", None)
    return ask is not None and bool(ask())


def _repair_build(trainer: Any) -> None:
    """Keras takes the mean of a batch over all workers to learn its shape, as if the values of several replicas
    were one tensor. The first replica here has the same shape."""
    from determined.keras._package import keras

    own = trainer._maybe_symbolic_build

    def build(self: Any, iterator: Any = None, data_batch: Any = None) -> None:
        strategy = self._distribute_strategy
        if not _spans_workers(strategy) or iterator is None:
            own(self, iterator, data_batch)
            return
        for _, _, batches in iterator:
            batch = next(batches)
            data_batch = keras.tree.map_structure(
                lambda value: strategy.experimental_local_results(value)[0], batch
            )
            break
        own(self, None, data_batch)

    trainer._maybe_symbolic_build = build


def _repair_reduce(module: Any) -> None:
    """Keras takes the mean of metrics along their first axis, but a number has no axis."""
    from determined.keras._package import keras

    own = module.reduce_per_replica

    def reduce(values: Any, strategy: Any, reduction: str) -> Any:
        if not _spans_workers(strategy) or reduction not in ("auto", "mean", "sum"):
            return own(values, strategy, reduction)
        how = "SUM" if reduction == "sum" else "MEAN"
        return keras.tree.map_structure(lambda value: strategy.reduce(how, value, axis=None), values)

    module.reduce_per_replica = reduce


def repair() -> List[str]:
    """Makes both repairs, once. Returns, and warns of, the parts that Keras no longer has."""
    try:
        from determined.keras import _package
    except ModuleNotFoundError:
        return []  # the program uses TensorFlow alone
    if _package.is_legacy or _package.backend != "tensorflow" or _repaired:
        return []  # Keras 2 needs no repair
    missing: List[str] = []
    mends = {"TensorFlowTrainer._maybe_symbolic_build": _repair_build, "reduce_per_replica": _repair_reduce}
    for name, mend in mends.items():
        try:
            module = importlib.import_module(_TRAINER)
            mend(module.TensorFlowTrainer if "." in name else module)
        except (ImportError, AttributeError):
            missing.append(f"Keras {_package.keras.__version__} has no {_TRAINER}.{name}")
            logger.warning("%s, which is repaired for several nodes: training may fail there", missing[-1])
    _repaired.append(True)
    return missing
