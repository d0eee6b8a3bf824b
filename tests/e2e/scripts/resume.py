# SPDX-License-Identifier: Apache-2.0
# Saves with store_path and falls over once; the restart goes on from the checkpoint.
import argparse
import logging
import os
import pathlib
import pickle
import sys
from typing import Any, Dict, Optional

import determined as det
from determined import core


def save_state(state: Dict[str, Any], core_context: core.Context, trial_id: int) -> None:
    checkpoint_metadata = {"steps_completed": state["steps"], "framework": "none"}
    with core_context.checkpoint.store_path(checkpoint_metadata) as (path, storage_id):
        assert isinstance(path, pathlib.Path)
        with path.joinpath("state.pkl").open("wb") as f:
            pickle.dump((state, trial_id), f)
        os.makedirs(path / "code" / "deep")
        (path / "code" / "deep" / "model.txt").write_text("layers")
    logging.info("saved %s", storage_id)


def load_state(core_context: core.Context, trial_id: int, checkpoint: Optional[str]) -> Dict[str, Any]:
    if checkpoint is None:
        return {"steps": 0, "sum": 0}
    with core_context.checkpoint.restore_path(checkpoint) as path:
        with path.joinpath("state.pkl").open("rb") as f:
            state, ckpt_trial_id = pickle.load(f)
        assert (path / "code" / "deep" / "model.txt").read_text() == "layers"
    if ckpt_trial_id != trial_id:  # a fork: keep the weights, begin to count again
        state["steps"] = 0
    logging.info("restored at %d", state["steps"])
    return state


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fail-at", type=int, default=0)
    args = parser.parse_args()
    info = det.get_cluster_info()
    latest_checkpoint = info.latest_checkpoint if info is not None else None
    trial_id = info.trial.trial_id if info is not None else -1
    with core.init() as core_context:
        state = load_state(core_context, trial_id, latest_checkpoint)
        first = latest_checkpoint is None
        for step in range(state["steps"], 20):
            state["sum"] += step
            state["steps"] = step + 1
            if state["steps"] % 5 == 0:
                core_context.train.report_training_metrics(
                    steps_completed=state["steps"], metrics={"sum": state["sum"]}
                )
                save_state(state, core_context, trial_id)
            if first and state["steps"] == args.fail_at:
                raise RuntimeError("the machine fell over")
            if core_context.preempt.should_preempt():
                return 0
        core_context.train.report_validation_metrics(
            steps_completed=state["steps"], metrics={"sum": state["sum"]}
        )
        print("the sum is", state["sum"])
    return 0


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    sys.exit(main())
