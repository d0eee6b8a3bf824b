# SPDX-License-Identifier: Apache-2.0
"""What the Python package costs: its import beside json's, a report beside json.dumps() and the official client's."""
import os
import signal
import statistics
import subprocess
import sys

from cluster import Cluster, wait_for

CALL = os.path.dirname(os.path.abspath(__file__)) + "/report_call.py"
WAITING = 200000  # reports, while the master is away

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


def measure_import(package, folder, module, rounds):
    """Seconds of both, medians, and the median of the ratios."""
    pairs = [[python(IMPORT.format(name), package, folder)[0] for name in ("json", module)]
             for _ in range(rounds)]
    json, ours = (statistics.median(column) for column in zip(*pairs))
    return json, ours, statistics.median(pair[1] / pair[0] for pair in pairs)


def measure_report(package, folder):
    figures = python(REPORT, package, folder)
    return statistics.median(figures[0::2]), statistics.median(figures[1::2])


def figure(path):
    wait_for(lambda: os.path.exists(path), 120)
    with open(path) as file:
        return float(file.read())


def time_calls(b, interpreter, waiting=0):
    """Microseconds of a report in a trial: the master there, and away (None: not wanted)."""
    place = b.fresh("calls") + ".of"
    for end in (".there", ".go", ".away"):
        if os.path.exists(place + end):
            os.remove(place + end)
    away = None
    with Cluster(b.det, b.work + "/calls") as cluster:
        cluster.submit(f"{interpreter} {CALL} {place} {waiting}")
        there = figure(place + ".there")
        if waiting:
            cluster.process.send_signal(signal.SIGKILL)
            cluster.process.wait()
            open(place + ".go", "w").close()
            away = figure(place + ".away")
            cluster.process = subprocess.Popen(cluster.command, stdout=cluster.log, stderr=cluster.log)
            wait_for(cluster.is_up)
    return there, away


def section_calls(b):
    """A report in a real trial, calls 10 ms apart: nothing waits when the next one comes."""
    if not os.path.exists(b.build + "/pylib/determined/_det.abi3.so"):
        return print("calls: the package is not built here (python3-dev)")
    there, away = time_calls(b, sys.executable, WAITING)
    if b.bin:
        b.peer["official_report_us"] = time_calls(b, b.bin + "/python")[0]
    b.against_peer("a report from Python in a trial", there, "us", "official_report_us", 3)
    b.row("  the master away, 200,000 reports waiting", f"{away:.1f} us", f"{there:.1f} us there", f"{away / there:.2f} x",
          "<= 1.5 x", away <= 1.5 * there)


def section_python(b):
    package = b.build + "/pylib"
    if not os.path.exists(package + "/determined/_det.abi3.so"):
        return print("python: the package is not built here (python3-dev)")
    for name, most in (("determined", 10), ("determined.core", None)):
        json, ours, ratio = measure_import(package, b.fresh("python"), name, 19)
        b.row(f"`import {name}`", f"{ours * 1e3:.2f} ms", f"{json * 1e3:.2f} ms import json", f"{ratio:.2f} x",
              f"<= {most} x" if most else "-", ratio <= most if most else None)
    report, dumps = measure_report(package, b.fresh("python"))
    b.row("a report of 5 scalars from Python", f"{report * 1e9:.0f} ns", f"{dumps * 1e9:.0f} ns json.dumps",
          f"{report / dumps:.2f}", "-", None)
