# SPDX-License-Identifier: Apache-2.0
"""What the Python package costs: its import beside json's, a report beside json.dumps()."""
import os
import statistics
import subprocess
import sys

IMPORT = "import time; a = time.perf_counter(); import {}; print(time.perf_counter() - a)"
REPORT = """
import json, time, determined as det
metrics = {"loss": 0.6931, "accuracy": 0.7512, "lr": 0.00123, "grad_norm": 1.234, "seconds": 12.5}
with det.core.init() as context:
    report = context.train.report_training_metrics
    for first in range(0, 100000, 10000):
        a = time.perf_counter()
        for step in range(first, first + 10000):
            report(step, metrics)
        b = time.perf_counter()
        for step in range(10000):
            json.dumps(metrics)
        print((b - a) / 10000, (time.perf_counter() - b) / 10000)
"""


def python(code, package, folder):
    env = {**os.environ, "PYTHONPATH": package, "DET_OFFLINE_DIR": folder, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def measure_import(package, folder, rounds):
    """Seconds of both, medians, and the median of the ratios."""
    pairs = [[python(IMPORT.format(name), package, folder)[0] for name in ("json", "determined")]
             for _ in range(rounds)]
    json, ours = (statistics.median(column) for column in zip(*pairs))
    return json, ours, statistics.median(pair[1] / pair[0] for pair in pairs)


def measure_report(package, folder):
    figures = python(REPORT, package, folder)
    return statistics.median(figures[0::2]), statistics.median(figures[1::2])


def section_python(b):
    package = b.build + "/python"
    if not os.path.exists(package + "/determined/_det.abi3.so"):
        return print("python: the package is not built here (python3-dev)")
    json, ours, ratio = measure_import(package, b.fresh("python"), 19)
    b.row("`import determined`", f"{ours * 1e3:.2f} ms", f"{json * 1e3:.2f} ms import json", f"{ratio:.2f} x",
          "<= 10 x", ratio <= 10)
    report, dumps = measure_report(package, b.fresh("python"))
    b.row("a report of 5 scalars from Python", f"{report * 1e9:.0f} ns", f"{dumps * 1e9:.0f} ns json.dumps",
          f"{report / dumps:.2f}", "-", None)
