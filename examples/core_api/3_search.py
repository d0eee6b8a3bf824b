# SPDX-License-Identifier: Apache-2.0
"""3: increment_by is a hyperparameter, and a search finds the one that makes x largest."""
import time

import determined as det


def save_state(core_context, x, steps_completed):
    metadata = {"steps_completed": steps_completed}
    with core_context.checkpoint.store_path(metadata) as (path, storage_id):
        (path / "state").write_text(f"{steps_completed} {x}\n")
    print("saved step", steps_completed)


def load_state(core_context, storage_id):
    with core_context.checkpoint.restore_path(storage_id) as path:
        steps_completed, x = (path / "state").read_text().split()
    return int(x), int(steps_completed)


def main(core_context, latest_checkpoint, increment_by):
    x, starting_batch = 0, 0
    if latest_checkpoint is not None:
        x, starting_batch = load_state(core_context, latest_checkpoint)
        print("going on after step", starting_batch)
    for batch in range(starting_batch, 100):
        x += increment_by
        steps_completed = batch + 1
        time.sleep(0.02)  # long enough to be paused by hand
        if steps_completed % 10 == 0:
            print("x is now", x)
            core_context.train.report_training_metrics(
                steps_completed=steps_completed, metrics={"x": x}
            )
            # New: validated on the way, so that a searcher could stop a trial that lags behind.
            core_context.train.report_validation_metrics(
                steps_completed=steps_completed, metrics={"x": x, "steps": steps_completed}
            )
            core_context.train.report_progress(steps_completed / 100)
            if steps_completed % 50 == 0:
                save_state(core_context, x, steps_completed)
        if steps_completed < 100 and core_context.preempt.should_preempt():
            save_state(core_context, x, steps_completed)
            return


if __name__ == "__main__":
    info = det.get_cluster_info()
    # New: the hyperparameters of this trial, nested as in the configuration.
    hparams = info.trial.hparams if info else {"increment_by": 1}
    with det.core.init() as core_context:
        # New: some cannot work.  The searcher goes on without this trial, which ends with 0.
        if hparams["increment_by"] == 0:
            raise det.InvalidHP("counting by 0 leads nowhere")
        latest = info.latest_checkpoint if info else None
        main(core_context, latest, increment_by=hparams["increment_by"])
