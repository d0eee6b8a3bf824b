# SPDX-License-Identifier: Apache-2.0
# Metrics and nothing else: numpy values, mixed positional and keyword arguments, progress.
import logging
import random

import determined as det

try:
    import numpy as np
except ImportError:
    np = None


def train_epoch(rng, weight):
    losses = [abs(weight - 3.0) + rng.random() / 100 for _ in range(8)]
    return losses, weight + 0.5


def main(core_context: det.core.Context) -> None:
    rng = random.Random(0)
    weight = 0.0
    epochs = 5
    for epoch in range(epochs):
        core_context.train.set_status("training")
        losses, weight = train_epoch(rng, weight)
        loss = np.mean(losses) if np else sum(losses) / len(losses)
        core_context.train.report_training_metrics(
            steps_completed=(epoch + 1) * 8,
            metrics={"loss": loss, "epoch": epoch, "lr": np.float32(0.1) if np else 0.1},
            batch_metrics=[{"loss": value} for value in losses],
        )
        core_context.train.set_status("validating")
        core_context.train.report_validation_metrics((epoch + 1) * 8, {"validation_loss": float(loss) * 2})
        core_context.train.report_progress((epoch + 1) / float(epochs))
    logging.info("weight %s", weight)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    with det.core.init() as core_context:
        main(core_context)
