# SPDX-License-Identifier: Apache-2.0
# The searcher's operations, in epochs, as scripts did before they were told to stop by preemption.
import logging

import determined as det


def main(core_context, hparams):
    unit = core_context.searcher.get_configured_units()
    assert unit == det.core.Unit.EPOCHS, unit
    epochs_trained = 0
    loss = None
    for op in core_context.searcher.operations(det.core.SearcherMode.WorkersAskChief):
        logging.info("train to %d", op.length)
        for epoch in range(epochs_trained, op.length):
            loss = 1.0 / (hparams["lr"] * (epoch + 1))
            core_context.train.report_training_metrics(epoch + 1, {"loss": loss})
            op.report_progress(epoch + 1)
            epochs_trained = epoch + 1
            if core_context.preempt.should_preempt():
                return
        core_context.train.report_validation_metrics(epochs_trained, {"loss": loss})
        op.report_completed(loss)


info = det.get_cluster_info()
logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
with det.core.init() as core_context:
    main(core_context, info.trial.hparams if info else {"lr": 0.5})
