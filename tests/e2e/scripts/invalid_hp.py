# SPDX-License-Identifier: Apache-2.0
# Both ways to say that hyperparameters cannot work, and one trial that can.
import sys

import determined as det

hparams = det.get_cluster_info().trial.hparams
with det.core.init() as core_context:
    if hparams["way"] == "raise":
        raise det.InvalidHP("not with these")
    if hparams["way"] == "report":
        core_context.train.report_early_exit(det.core.EarlyExitReason.INVALID_HP)
        sys.exit(0)
    core_context.train.report_validation_metrics(steps_completed=1, metrics={"loss": 1})
print("this one can be trained")
