# SPDX-License-Identifier: Apache-2.0
"""4: several processes count together: each has an x of its own, and the sum is reported."""
import os
import time

import determined as det


# New: with shard=True every process writes its own file, and all are one checkpoint.
def save_state(core_context, x, steps_completed):
    metadata = {"steps_completed": steps_completed}
    with core_context.checkpoint.store_path(metadata, shard=True) as (path, storage_id):
        rank = core_context.distributed.get_rank()
        (path / f"state.{rank}").write_text(f"{steps_completed} {x}\n")
    if core_context.distributed.get_rank() == 0:
        print("saved step", steps_completed)


def load_state(core_context, storage_id):
    with core_context.checkpoint.restore_path(storage_id) as path:
        rank = core_context.distributed.get_rank()
        steps_completed, x = (path / f"state.{rank}").read_text().split()
    return int(x), int(steps_completed)


def main(core_context, latest_checkpoint, increment_by):
    rank = core_context.distributed.get_rank()
    x, starting_batch = 0, 0
    if latest_checkpoint is not None:
        x, starting_batch = load_state(core_context, latest_checkpoint)
        print("going on after step", starting_batch)
    for batch in range(starting_batch, 100):
        x += increment_by * (rank + 1)  # so that one sees whose x is whose
        steps_completed = batch + 1
        time.sleep(0.02)
        if steps_completed % 10 == 0:
            # New: what every process has comes to the chief, which alone reports.
            all_x = core_context.distributed.gather(x)
            if rank == 0:
                print("x is now", sum(all_x), "of", all_x)
                metrics = {"x": sum(all_x), "steps": steps_completed}
                core_context.train.report_training_metrics(
                    steps_completed=steps_completed, metrics={"x": metrics["x"]}
                )
                core_context.train.report_validation_metrics(
                    steps_completed=steps_completed, metrics=metrics
                )
                core_context.train.report_progress(steps_completed / 100)
            if steps_completed % 50 == 0:
                save_state(core_context, x, steps_completed)
        # All processes ask, equally often, and all hear what the chief was told.
        if steps_completed < 100 and core_context.preempt.should_preempt():
            save_state(core_context, x, steps_completed)
            return


if __name__ == "__main__":
    info = det.get_cluster_info()
    hparams = info.trial.hparams if info else {"increment_by": 1}
    # New: which of how many this is, from what the launcher says: RANK, WORLD_SIZE, ...
    distributed = None
    if "RANK" in os.environ:
        distributed = det.core.DistributedContext.from_deepspeed()
    with det.core.init(distributed=distributed) as core_context:
        if hparams["increment_by"] == 0:
            raise det.InvalidHP("counting by 0 leads nowhere")
        latest = info.latest_checkpoint if info else None
        main(core_context, latest, increment_by=hparams["increment_by"])
