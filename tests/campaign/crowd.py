# SPDX-License-Identifier: Apache-2.0
"""A crowd at one master: reporters, followers of a log and listeners to changes (crowd.c).

    crowd.py --det FILE --crowd PROGRAM --dir DIR [--seconds N] [--reporters N] [--followers N] [--listeners N] [--judge]

Every acknowledged report must be stored, once; no stream may break; after the crowd has left, its connections are
closed.  With --judge, figures are judged too: memory is flat after the first minute, and the 99th percentile of a small
call is at most five times that of the same call before.
"""
import argparse
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
from cluster import Cluster, status, wait_for


def crowd(options, cluster, seconds, counts, trial, task_token):
    other = cluster.call("POST", "/api/v1/auth/login", {"username": "admin", "password": ""})["token"]
    out = subprocess.run([options.crowd, *map(str, (cluster.port, seconds, options.pace, *counts, trial, task_token, cluster.token, other))],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    return list(map(int, out.split()))


def stored_steps(cluster, trial):
    request = urllib.request.Request(f"{cluster.url}/api/v1/trials/metrics/training_metrics?trialIds={trial}",
                                     headers={"Authorization": "Bearer " + cluster.token})
    steps = {}
    with urllib.request.urlopen(request) as reply:
        for line in reply:
            for report in json.loads(line)["result"]["metrics"]:
                step = int(report["totalBatches"])
                steps[step] = steps.get(step, 0) + 1
    return steps


class Memory(threading.Thread):
    """Looks at the master's memory every second."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.seen, self.is_over = pid, [], False

    def run(self):
        while not self.is_over:
            self.seen.append(status(self.pid, "VmRSS"))
            time.sleep(1)


def main():
    parser = argparse.ArgumentParser()
    for name in ("det", "crowd", "dir"):
        parser.add_argument("--" + name, required=True)
    for name, default in (("seconds", 600), ("reporters", 1000), ("followers", 1000), ("listeners", 1000), ("pace", 1000)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--judge", action="store_true")
    options = parser.parse_args()
    failures = []
    with Cluster(options.det, options.dir) as cluster:
        trial, _, task_token = cluster.running_trial()
        quiet = crowd(options, cluster, max(options.seconds // 20, 1), (0, 0, 0), trial, task_token)
        files = len(os.listdir(f"/proc/{cluster.process.pid}/fd"))
        memory = Memory(cluster.process.pid)
        memory.start()
        counts = (options.reporters, options.followers, options.listeners)
        sent, repeated, broken, followed, heard, median, p99, probe, probe_p99 = crowd(
            options, cluster, options.seconds, counts, trial, task_token)
        memory.is_over = True
        wait_for(lambda: len(os.listdir(f"/proc/{cluster.process.pid}/fd")) <= files + 4, 20)
        steps = stored_steps(cluster, trial)
    lost = sum(1 for step in range(1, sent + 1) if step not in steps)
    doubled = sum(1 for count in steps.values() if count > 1)
    minute, last = memory.seen[min(60, len(memory.seen) // 2)] / 1024, memory.seen[-1] / 1024
    print(f"{counts[0]} reporters, {counts[1]} followers, {counts[2]} listeners, {options.seconds} s, load average {os.getloadavg()[0]:.1f}")
    print(f"  {sent:,} reports acknowledged, {lost} lost, {doubled} stored twice, {repeated} sent again, {broken} streams broke")
    print(f"  a report {median / 1e3:.1f} ms (p99 {p99 / 1e3:.1f} ms); listeners got {heard:,} bytes, followers {followed:,}")
    print(f"  a small call {probe / 1e3:.2f} ms (p99 {probe_p99 / 1e3:.2f} ms); before {quiet[7] / 1e3:.2f} ms (p99 {quiet[8] / 1e3:.2f} ms)")
    print(f"  memory {minute:.0f} MB after the first minute, {last:.0f} MB at the end, {max(memory.seen) / 1024:.0f} MB at most")
    if lost or doubled or not sent:
        failures.append(f"{lost} acknowledged reports are lost, {doubled} are there twice, of {sent}")
    if broken:
        failures.append(f"{broken} streams or small calls broke, or were refused")
    if (counts[1] and not followed) or (counts[2] and not heard):
        failures.append(f"followers got {followed} bytes and listeners {heard}: a kind of stream got none")
    if options.judge and last > minute * 1.1 + 8:
        failures.append(f"memory grew from {minute:.0f} to {last:.0f} MB")
    if options.judge and probe_p99 > 5 * quiet[8]:
        failures.append(f"the 99th percentile is {probe_p99 / quiet[8]:.1f} times the quiet one")
    for failure in failures:
        print("FAILED: " + failure)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
