# SPDX-License-Identifier: Apache-2.0
"""A master that is killed under a thousand running trials, whose tasks are only played."""
import http.client
import json
import os
import statistics
import subprocess
import time

from cluster import Cluster, wait_for

GRID = ("name: many\nentrypoint: sleep\nmax_restarts: 0\nresources: {{slots_per_trial: 1}}\n"
        "searcher: {{name: grid, metric: loss, max_concurrent_trials: {0}}}\n"
        "hyperparameters: {{n: {{type: int, minval: 1, maxval: {0}, count: {0}}}}}\n")


def post(connection, path, body, token):
    connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {token}"})
    reply = connection.getresponse()
    text = reply.read().decode()
    return reply.status, json.loads(text) if text else {}


def play_agent(cluster, count):
    """Joins with `count` slots and says of each task it is given that it runs; one of them: (trial, token)."""
    with open(cluster.directory + "/agent.token") as f:
        token = f.read().strip()
    connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=60)
    devices = [{"id": n, "type": "cpu", "brand": "", "uuid": ""} for n in range(count)]
    status, hello = post(connection, "/api/v1/det/agents/played/hello", {"devices": devices}, token)
    assert status == 200, hello
    cluster.call("POST", "/api/v1/experiments", {"activate": True, "config": GRID.format(count), "modelDefinition": []})
    seen, after, one = set(), 0, None
    while len(seen) < count:
        connection.request("GET", f"/api/v1/det/agents/played/commands?after={after}&timeoutSeconds=10&epoch="
                           + hello["epoch"], headers={"Authorization": f"Bearer {token}"})
        reply = json.loads(connection.getresponse().read())
        after = max(after, reply["last"])
        for command in reply["commands"]:
            env = command["spec"]["environment"]
            one = (int(env["DET_TRIAL_ID"]), env["DET_SESSION_TOKEN"])
            status, text = post(connection, f"/api/v1/det/allocations/{command['allocation']}/state",
                                {"rank": 0, "state": "RUNNING"}, one[1])
            assert status == 200, text
            seen.add(command["allocation"])
    return one


def time_start(cluster, is_answered):
    """Seconds from the start of a master to what is_answered() is true for."""
    began = time.perf_counter()
    cluster.process = subprocess.Popen(cluster.command, stdout=cluster.log, stderr=cluster.log)
    while True:
        try:
            if is_answered():
                return time.perf_counter() - began
        except OSError:
            time.sleep(0.0005)


def measure(det, directory, count, rounds):
    """Median seconds of an idle start, and of one with `count` running trials to the first report that it takes."""
    idle, busy, steps = [], [], 0
    with Cluster(det, directory + ".idle", slots=0) as quiet, Cluster(det, directory, slots=0) as cluster:
        trial, token = play_agent(cluster, count)

        def answers():
            connection = http.client.HTTPConnection("127.0.0.1", quiet.port, timeout=60)
            connection.request("GET", "/health")
            return connection.getresponse().status == 200

        def takes_report():
            connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=60)
            metrics = {"trialId": trial, "trialRunId": 1, "stepsCompleted": steps, "metrics": {"avgMetrics": {"loss": 0.5}}}
            return post(connection, f"/api/v1/trials/{trial}/metrics", {"metrics": metrics, "group": "training"},
                        token)[0] == 200

        for steps in range(1, rounds + 1):
            for one, is_answered, times in ((quiet, answers, idle), (cluster, takes_report, busy)):
                one.process.kill()
                one.process.wait()
                times.append(time_start(one, is_answered))
    return statistics.median(idle), statistics.median(busy)


def private_dirty_kb(pid):
    """What a process has for itself alone."""
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return int(next(line for line in f if line.startswith("Private_Dirty:")).split()[1])


def supervisor_of(cluster):
    """The process that looks after the only task there is."""
    def look():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().split(b"\0")
            except OSError:
                continue
            if words[1:3] == [b"task", b"run"] and words[3].startswith(cluster.directory.encode()):
                return int(pid)
        return None
    return wait_for(look)
