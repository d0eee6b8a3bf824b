# SPDX-License-Identifier: Apache-2.0
from typing import Any, Dict, Optional


class ExperimentConfig(Dict[str, Any]):
    """The configuration of an experiment: the dict itself, and methods for frequent questions.

    Missing sections count as empty, so the configuration of an offline run may leave out any of them.
    """

    def _section(self, name: str) -> Dict[str, Any]:
        section = self.get(name)
        return section if isinstance(section, dict) else {}

    # ---- the run

    def get_entrypoint(self) -> Any:
        """The command, or the list of its words; None without an entrypoint."""
        return self.get("entrypoint")

    def debug_enabled(self) -> bool:
        return bool(self.get("debug", False))

    def experiment_seed(self) -> int:
        return int(self._section("reproducibility").get("experiment_seed") or 0)

    def slots_per_trial(self) -> int:
        slots = self._section("resources").get("slots_per_trial")
        return 1 if slots is None else int(slots)

    def profiling_enabled(self) -> bool:
        return bool(self._section("profiling").get("enabled", False))

    def get_data(self) -> Dict[str, Any]:
        """`data`, which belongs to the user."""
        return self._section("data")

    def get_checkpoint_storage(self) -> Dict[str, Any]:
        return self._section("checkpoint_storage")

    def get_optimizations_config(self) -> Dict[str, Any]:
        return self._section("optimizations")

    # ---- lengths: {"batches": 100}, {"epochs": 3}, or a plain number

    def scheduling_unit(self) -> int:
        return int(self.get("scheduling_unit") or 100)

    def get_records_per_epoch(self) -> Optional[int]:
        records = self.get("records_per_epoch")
        return int(records) if records else None

    def get_min_validation_period(self) -> Dict[str, Any]:
        return self._section("min_validation_period")

    def get_min_checkpoint_period(self) -> Dict[str, Any]:
        return self._section("min_checkpoint_period")

    # ---- the searcher

    def get_searcher_metric(self) -> str:
        metric = self._section("searcher").get("metric")
        if not isinstance(metric, str):
            raise ValueError("the configuration has no searcher.metric")
        return metric

    def get_searcher_max_length(self) -> Any:
        """None: the program decides itself how long it trains."""
        return self._section("searcher").get("max_length")

    def searcher_smaller_is_better(self) -> bool:
        return bool(self._section("searcher").get("smaller_is_better", True))
