# SPDX-License-Identifier: Apache-2.0
# Made to be tried on a laptop first: the same script, with its own place for checkpoints.
import logging
import os
import sys
import tempfile

import determined as det


def main(core_context, info):
    if info is None:
        hparams, latest = {"lr": 0.1}, None
    else:
        hparams, latest = info.trial.hparams, info.latest_checkpoint
    assert latest is None
    for op in core_context.searcher.operations():
        for step in range(1, op.length + 1):
            core_context.train.report_training_metrics(step, {"loss": hparams["lr"] / step})
            assert not core_context.preempt.should_preempt()
        with core_context.checkpoint.store_path({"steps_completed": op.length}) as (path, uuid):
            with open(os.path.join(path, "weights"), "w") as f:
                f.write("1 2 3")
        op.report_completed(1.0)
    core_context.train.report_validation_metrics(steps_completed=1, metrics={"loss": 1.0})
    assert core_context.train.get_experiment_best_validation() in (None, 1.0)
    core_context.checkpoint.download(uuid, tempfile.mkdtemp())
    print("the checkpoint is", uuid)


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stdout, level=logging.DEBUG, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    storage = tempfile.mkdtemp() if info is None else None
    with det.core.init(checkpoint_storage=storage) as core_context:
        main(core_context, info)
