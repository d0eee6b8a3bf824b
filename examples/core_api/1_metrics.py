# SPDX-License-Identifier: Apache-2.0
"""1: the platform hears of x: metrics of training and of a validation, and the progress."""
import determined as det


def main(core_context, increment_by):
    x = 0
    for batch in range(100):
        x += increment_by
        steps_completed = batch + 1
        if steps_completed % 10 == 0:
            print("x is now", x)
            # New: numbers of the group "training", at this step.
            core_context.train.report_training_metrics(
                steps_completed=steps_completed, metrics={"x": x}
            )
            core_context.train.report_progress(steps_completed / 100)
    # New: what the searcher looks at.
    core_context.train.report_validation_metrics(
        steps_completed=steps_completed, metrics={"x": x}
    )


if __name__ == "__main__":
    # New: the context is this process's side of the platform.
    with det.core.init() as core_context:
        main(core_context, increment_by=1)
