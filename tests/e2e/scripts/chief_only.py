# SPDX-License-Identifier: Apache-2.0
# Asks by itself, and acknowledges by itself, when it has saved.
import logging
import time

import determined as det
from determined.core import PreemptMode

logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
logger = logging.getLogger("train")
info = det.get_cluster_info()
start = info.trial._steps_completed if info else 0
last = info.trial.hparams["steps"] if info else 5

core_context = det.core.init(preempt_mode=PreemptMode.ChiefOnly)
core_context.start()
try:
    if start:
        logger.info("going on at %d", start)
    step = start
    while step < last:
        step += 1
        time.sleep(0.01 if start else 0.1 if info else 0)
        core_context.train.report_training_metrics(step, {"step": step})
        if core_context.preempt.should_preempt(auto_ack=False):
            with core_context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                (path / "step").write_text(str(step))
            core_context.preempt.acknowledge_preemption_signal()
            logger.info("preempted at %d", step)
            break
    else:
        core_context.train.report_validation_metrics(step, {"loss": 1.0})
        logger.info("all %d steps", step)
finally:
    core_context.close()
