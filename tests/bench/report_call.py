# SPDX-License-Identifier: Apache-2.0
"""Runs inside of a trial: what one report costs the training loop, in microseconds.

    report_call.py PLACE [WAITING]

The package is whichever `determined` the interpreter has.  Calls come 10 ms apart, so that nothing waits to
be sent when the next one comes.  Writes PLACE.there; with WAITING goes on when PLACE.go is there (the master is
away by then): makes that many reports at once, which have to wait, then writes PLACE.away.
"""
import os
import statistics
import sys
import time

import determined as det

METRICS = {"loss": 0.6931, "accuracy": 0.7512, "lr": 0.00123, "grad_norm": 1.234, "seconds": 12.5}
CALLS, APART_S = 300, 0.01


def measure(report, first):
    times = []
    for step in range(first, first + CALLS):
        time.sleep(APART_S)
        began = time.perf_counter()
        report(steps_completed=step, metrics=METRICS)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e6


def tell(path, figure):
    with open(path + ".new", "w") as file:
        file.write(str(figure))
    os.rename(path + ".new", path)


def main(place, waiting):
    # without TensorBoard's files: the report alone
    with det.core.init(tensorboard_mode=det.core.TensorboardMode.MANUAL) as context:
        report = context.train.report_training_metrics
        tell(place + ".there", measure(report, 1))
        if not waiting:
            return
        while not os.path.exists(place + ".go"):
            time.sleep(0.05)
        for step in range(waiting):
            report(steps_completed=CALLS + 1 + step, metrics=METRICS)
        tell(place + ".away", measure(report, CALLS + 1 + waiting))


main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
