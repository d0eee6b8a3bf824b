# SPDX-License-Identifier: Apache-2.0
"""The context of a Keras trial: hyperparameters and ranks, as for every trial, and the wrappers that make a model
and a dataset part of a training over several slots."""
import json
import os
from typing import Any, Dict, List, Optional

from determined import core
from determined._trial import TrialContext
from determined.keras import _trial_data
from determined.keras._package import keras

# of keras.utils.set_random_seed()
_SEEDS = 2**32


class TFKerasTrialContext(TrialContext):
    """The argument of `TFKerasTrial.__init__`."""

    def __init__(
        self,
        core_context: core.Context,
        *,
        hparams: Optional[Dict[str, Any]] = None,
        exp_conf: Optional[Dict[str, Any]] = None,
    ) -> None:
        if core_context.info is None:  # in offline runs both come from the environment
            values = core_context._values
            hparams = core_context.hparams if hparams is None else hparams
            exp_conf = json.loads(values["config"] or "{}") if exp_conf is None else exp_conf
        super().__init__(core_context, hparams=hparams, exp_conf=exp_conf)
        self._models: List[Any] = []
        self._optimizers: List[Any] = []  # wrapped
        self._datasets: List[Any] = []
        self._fit: Dict[str, Any] = {}
        self._is_test = os.environ.get("DET_TEST_MODE") == "1"
        # Before the user's code makes anything: weights are drawn when layers are built.
        keras.utils.set_random_seed(self.get_trial_seed() % _SEEDS)

    @property
    def experimental(self) -> Any:
        """The TFKerasExperimentalContext: datasets that are cached on disk."""
        if not hasattr(self, "_experimental"):
            from determined.keras._cache import TFKerasExperimentalContext

            self._experimental = TFKerasExperimentalContext(self)
        return self._experimental

    def get_global_batch_size(self) -> int:
        if "global_batch_size" not in self._hparams:
            raise ValueError(
                "there is no hyperparameter 'global_batch_size', which a TFKerasTrial needs: add it to "
                "hyperparameters in the configuration, for example global_batch_size: 32"
            )
        return super().get_global_batch_size()

    # ---- wrappers

    def wrap_model(self, model: Any) -> Any:
        """Makes a model train over all slots of the trial. Compile the model that it returns; its optimizers need
        not be wrapped themselves, and may be names such as "adam"."""
        if not isinstance(model, keras.Model):
            raise TypeError(f"wrap_model() was given a {_trial_data._name(model)}; expected a keras.Model")
        if not self._has_wrapped(model):
            if self._averages():
                from determined.keras import _distribute

                model = _distribute.wrap_model(model, self.distributed, **self._optimizations())
            self._models.append(model)
        return model

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Makes an optimizer average gradients over all slots, and its state part of checkpoints. wrap_model() does
        this as well, for all optimizers that the model has when it is compiled; nothing is averaged twice."""
        if self._averages():
            from determined.keras import _distribute

            optimizer = _distribute.wrap_optimizer(optimizer, self.distributed, **self._optimizations())
        self._optimizers.append(optimizer)
        return optimizer

    def _take_optimizers(self, model: Any) -> None:
        """Before the training: optimizers may have come after compile()."""
        from determined.keras import _distribute, _owned

        _owned.give(model, [each for each in self._optimizers if not isinstance(each, (str, dict))])
        if self._averages():
            _distribute.wrap_optimizers(model, self.distributed, **self._optimizations())

    def wrap_dataset(self, dataset: Any, shard_dataset: bool = True) -> Any:
        """Gives each slot a part of a `tf.data.Dataset`: call it right after the dataset was made, before it is
        shuffled and batched, and batch it by get_per_slot_batch_size(). With shard_dataset=False every slot
        sees all of it. Wrapping a dataset derived from a wrapped one changes nothing."""
        if not _trial_data.is_dataset(dataset):
            raise TypeError(
                f"wrap_dataset() was given a {_trial_data._name(dataset)}; expected a tf.data.Dataset (arrays and "
                "sequences are shared automatically)"
            )
        if _trial_data.comes_from(dataset, self._datasets):
            return dataset  # a part of a part would lose data
        if shard_dataset and self.distributed.size > 1:
            dataset = dataset.shard(self.distributed.size, self.distributed.rank)
        self._datasets.append(dataset)
        return dataset

    def _averages(self) -> bool:
        """Whether gradients are processed before the optimizer gets them."""
        return self.distributed.size > 1 or self._optimizations()["aggregation_frequency"] > 1

    def _optimizations(self) -> Dict[str, Any]:
        config = self._exp_conf.get_optimizations_config()
        return {
            "aggregation_frequency": int(config.get("aggregation_frequency") or 1),
            "average_aggregated_gradients": bool(config.get("average_aggregated_gradients", True)),
            "fp16": bool(config.get("gradient_compression")),
        }

    def _continue_id(self) -> str:
        """Marks checkpoints of this trial, from which it resumes exactly; from other checkpoints it takes only the
        weights. Two runs of one configuration have the same id."""
        searcher = self._exp_conf.get("searcher") or {}
        source = searcher.get("source_trial_id") or searcher.get("source_checkpoint_uuid")
        return f"trial from {source}" if source else "trial"

    def _has_wrapped(self, model: Any) -> bool:
        return any(each is model for each in self._models)

    # ---- model.fit()

    def configure_fit(
        self,
        verbose: Optional[Any] = None,
        class_weight: Optional[Dict[int, float]] = None,
        workers: Optional[int] = None,
        use_multiprocessing: Optional[bool] = None,
        max_queue_size: Optional[int] = None,
        shuffle: Optional[bool] = None,
        validation_steps: Optional[int] = None,
    ) -> None:
        """Arguments for model.fit() beside the data. None leaves a value as it is. `workers`,
        `use_multiprocessing` and `max_queue_size` apply to sequences that do not set them."""
        given = dict(locals())
        del given["self"]
        for name in ("workers", "max_queue_size", "validation_steps"):
            value, least = given[name], 0 if name == "workers" else 1
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise ValueError(f"configure_fit({name}={value!r}): expected a whole number of at least {least}")
        self._fit.update({name: value for name, value in given.items() if value is not None})


# The name for both kinds of contexts in older programs: the native API's is derived from it.
TFKerasContext = TFKerasTrialContext
