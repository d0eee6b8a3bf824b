# SPDX-License-Identifier: Apache-2.0
"""What this task is and where it runs, from the files that the platform writes for each task."""
import json
import os
from typing import Any, Dict, List, Optional


class TrialInfo:
    """The trial that this task runs."""

    def __init__(self, values: Dict[str, Any]) -> None:
        self.trial_id: int = values["trial_id"]
        self.experiment_id: int = values["experiment_id"]
        self.trial_seed: int = values["trial_seed"]
        self.hparams: Dict[str, Any] = values["hparams"]
        self._config: Dict[str, Any] = values["config"]
        self._steps_completed: int = values["steps_completed"]
        self._trial_run_id: int = values["trial_run_id"]
        self._debug: bool = values.get("debug", False)
        self._inter_node_network_interface: Optional[str] = values.get(
            "inter_node_network_interface"
        )


class ClusterInfo:
    """The task, its machine and its cluster."""

    def __init__(
        self,
        values: Dict[str, Any],
        trial: Optional[Dict[str, Any]] = None,
        rendezvous: Optional[Dict[str, Any]] = None,
        resources: Optional[Dict[str, Any]] = None,
        config: Optional[Dict[str, Any]] = None,
    ) -> None:
        self.master_url: str = values["master_url"]
        self.cluster_id: str = values["cluster_id"]
        self.agent_id: str = values["agent_id"]
        self.slot_ids: List[int] = values["slot_ids"]
        self.task_id: str = values["task_id"]
        self.allocation_id: str = values["allocation_id"]
        self.session_token: str = values["session_token"]
        self.task_type: str = values["task_type"]
        self.master_cert_name: Optional[str] = values.get("master_cert_name")
        self.master_cert_file: Optional[str] = values.get("master_cert_file")
        self._latest_checkpoint: Optional[str] = values.get("latest_checkpoint")
        self._trial = TrialInfo(trial) if trial is not None and self._is_trial else None
        self._rendezvous = rendezvous or {}
        self._resources = resources or {}
        self._config = self._trial._config if self._trial else config or {}

    @property
    def _is_trial(self) -> bool:
        return self.task_type == "TRIAL"

    @property
    def _meets(self) -> bool:
        """Whether its processes may be on several nodes, which know of each other."""
        return self.task_type in ("TRIAL", "GENERIC")

    @property
    def latest_checkpoint(self) -> Optional[str]:
        """The checkpoint to begin from; None without one, and in tasks that are not trials."""
        return self._latest_checkpoint if self._is_trial else None

    @property
    def user_data(self) -> Dict[str, Any]:
        """`data` of the configuration of an experiment or job; it belongs to the user."""
        return self._config.get("data") or {}

    @property
    def trial(self) -> TrialInfo:
        if self._trial is None:
            raise RuntimeError(
                "this task is a job, not a trial: only trials have 'trial'"
                if self.task_type == "GENERIC"
                else f"this task is a {self.task_type}; only trials have 'trial'"
            )
        return self._trial

    @property
    def container_addrs(self) -> List[str]:
        """The addresses of the allocation's nodes, by rank."""
        addresses: List[str] = self._rendezvous["container_addrs"] if self._meets else ["127.0.0.1"]
        return addresses

    @property
    def container_slot_counts(self) -> List[int]:
        """The number of slots of each node."""
        counts = self._rendezvous.get("container_slot_counts")
        return counts if self._meets and counts is not None else [len(self.slot_ids)]

    @property
    def container_rank(self) -> int:
        """The rank of this node among them."""
        rank: int = self._rendezvous["container_rank"] if self._meets else 0
        return rank

    @property
    def gpu_uuids(self) -> List[str]:
        uuids: List[str] = self._resources.get("gpu_uuids", [])
        return uuids


def _read(folder: str, name: str) -> Optional[Dict[str, Any]]:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            values: Dict[str, Any] = json.load(file)
            return values
    except FileNotFoundError:
        return None


def _task_config() -> Dict[str, Any]:
    """The complete configuration of a job, from its environment."""
    values: Dict[str, Any] = json.loads(os.environ.get("DET_TASK_CONFIG") or "{}")
    return values


def _load() -> Optional[ClusterInfo]:
    folder = os.path.join(os.environ.get("DET_RUN_DIR") or "/run/determined", "info")
    cluster = _read(folder, "cluster.json")
    if cluster is None:
        if os.environ.get("DET_ALLOCATION_ID"):
            raise RuntimeError(
                f"this is a task, but '{folder}/cluster.json' does not exist: DET_RUN_DIR must "
                "name the folder that the agent made"
            )
        return None
    return ClusterInfo(
        cluster,
        _read(folder, "trial.json"),
        _read(folder, "rendezvous.json"),
        _read(folder, "resources.json"),
        _task_config(),
    )


_cached: List[Optional[ClusterInfo]] = []


def get_cluster_info() -> Optional[ClusterInfo]:
    """The cluster's description of this task; None outside of a task. Read once."""
    if not _cached:
        _cached.append(_load())
    return _cached[0]
