# SPDX-License-Identifier: Apache-2.0
# Groups of metrics of its own, metadata, user data, an alert, the best validation, a seed.
import math
import random

import determined as det

info = det.get_cluster_info()
assert info is not None and info.task_type == "TRIAL"
assert info.user_data["url"].startswith("s3://"), info.user_data
assert info.trial.hparams["model"]["layers"] == [64, 32]
assert info.slot_ids == [0] and info.container_rank == 0 and len(info.container_addrs) == 1
random.seed(info.trial.trial_seed)

with det.core.init() as core_context:
    assert core_context.info.trial.trial_id == info.trial.trial_id
    assert core_context.train.get_experiment_best_validation() is None
    for step in (1, 2, 3):
        core_context.train.report_metrics("inference", step, {"latency": 0.1 * step, "answer": {"a": [1, step]}})
        core_context.train.report_metrics(group="system", steps_completed=step, metrics={"nan": math.nan})
    core_context.train.report_validation_metrics(3, {"loss": 0.25, "accuracy": 0.5})
    stored = core_context.train.set_metadata({"dataset": {"name": "mnist", "rows": 60000}})
    assert stored["dataset"]["rows"] == 60000, stored
    core_context.train.set_metadata({"owner": "me"})
    assert core_context.train.get_metadata() == {"dataset": {"name": "mnist", "rows": 60000}, "owner": "me"}
    core_context.alert(title="half way", description="all is well", level="warn")
    core_context.alert("positional", "works too")
    print("rank", core_context.distributed.get_rank(), "of", core_context.distributed.get_size())
    print("kept the books")
