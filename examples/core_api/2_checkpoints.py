# SPDX-License-Identifier: Apache-2.0
"""2: x survives: it is saved, restored, and saved when the platform wants the slot back."""
import time

import determined as det


# New: a checkpoint is a folder; what lies in it when the `with` ends is saved.
def save_state(core_context, x, steps_completed):
    metadata = {"steps_completed": steps_completed}
    with core_context.checkpoint.store_path(metadata) as (path, storage_id):
        (path / "state").write_text(f"{steps_completed} {x}\n")
    print("saved step", steps_completed)


# New: the same folder again, with every file compared with its checksum.
def load_state(core_context, storage_id):
    with core_context.checkpoint.restore_path(storage_id) as path:
        steps_completed, x = (path / "state").read_text().split()
    return int(x), int(steps_completed)


def main(core_context, latest_checkpoint, increment_by):
    x, starting_batch = 0, 0
    if latest_checkpoint is not None:
        x, starting_batch = load_state(core_context, latest_checkpoint)
        print("going on after step", starting_batch)
    steps_completed = starting_batch
    for batch in range(starting_batch, 100):
        x += increment_by
        steps_completed = batch + 1
        time.sleep(0.02)  # long enough to be paused by hand
        if steps_completed % 10 == 0:
            print("x is now", x)
            core_context.train.report_training_metrics(
                steps_completed=steps_completed, metrics={"x": x}
            )
            core_context.train.report_progress(steps_completed / 100)
            if steps_completed % 50 == 0:
                save_state(core_context, x, steps_completed)
        # New: asking costs next to nothing.  Who is asked saves, and leaves.
        if steps_completed < 100 and core_context.preempt.should_preempt():
            save_state(core_context, x, steps_completed)
            return
    core_context.train.report_validation_metrics(
        steps_completed=steps_completed, metrics={"x": x}
    )


if __name__ == "__main__":
    # New: what is known of this trial; None where there is no platform.
    info = det.get_cluster_info()
    with det.core.init() as core_context:
        main(core_context, info.latest_checkpoint if info else None, increment_by=1)
