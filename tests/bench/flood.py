# SPDX-License-Identifier: Apache-2.0
"""Section `flood` of tools/bench: one user sends as much as possible; what others feel of it, and the master's memory.

Trials run and report meanwhile; each keeps a diary of the reports that were acknowledged to it.
"""
import base64
import http.client
import json
import os
import socket
import threading
import time

from cluster import Cluster, status, wait_for

SECONDS = 10
MEMORY_MB = 512
CONFIG = "name: x\nentrypoint: sleep 0\nsearcher: {name: single, metric: loss}\nmax_restarts: 0\n"
TRIAL = ("i=0; while [ $i -lt %d ]; do i=$((i + 1)); %s report --steps $i loss=$i && echo $i > %s.$DET_TRIAL_ID; sleep 0.05; done; "
         "%s report --wait --validation --steps $i loss=1")
SHORT = 400  # reports of a trial


def check_body():
    """A valid configuration of 3.6 MB."""
    return json.dumps({"config": CONFIG + "data:\n" + "".join(f"  k{i}: [1, 2, 3, abcdefghijklmnop]\n" for i in range(90000))})


def submission(megabytes):
    files = [{"path": "big.bin", "type": 48, "mtime": "1600000000", "mode": 420, "uid": 0, "gid": 0,
              "content": base64.b64encode(os.urandom(megabytes << 20)).decode()}]
    return json.dumps({"config": CONFIG, "modelDefinition": files, "activate": False})


class Flood:
    """Connections that send one request again and again, and count the answers by status."""

    def __init__(self, cluster, connections, method, path, body=None):
        self.cluster, self.request, self.answers, self.is_over = cluster, (method, path, body and body.encode()), {}, False
        self.threads = [threading.Thread(target=self.send, daemon=True) for _ in range(connections)]
        for thread in self.threads:
            thread.start()

    def send(self):
        while not self.is_over:
            connection = http.client.HTTPConnection("127.0.0.1", self.cluster.port, timeout=120)
            try:
                connection.request(*self.request, {"Authorization": "Bearer " + self.cluster.token})
                answer = connection.getresponse()
                answer.read()
                self.answers[answer.status] = self.answers.get(answer.status, 0) + 1
                if answer.status == 503:
                    time.sleep(0.5)
            except OSError:
                self.answers["broken"] = self.answers.get("broken", 0) + 1
            connection.close()

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()
        return ", ".join(f"{count} x {status}" for status, count in sorted(self.answers.items(), key=str))


def probe(b, cluster, token, seconds):
    """Median and 99th percentile, in ms, of another user's small call."""
    numbers = b.run(b.build + "/tests/campaign/campaign_crowd", cluster.port, seconds, 1000, 0, 0, 0, 1, "-", "-", token)
    return numbers[7] / 1e3, numbers[8] / 1e3


def reset_peak(pid):
    with open(f"/proc/{pid}/clear_refs", "w") as f:
        f.write("5")


def memory_row(b, cluster, what, note):
    peak = status(cluster.process.pid, "VmHWM") / 1024
    b.row("  memory: " + what, f"{peak:.0f} MB", note, "-", f"<= {MEMORY_MB} MB", peak <= MEMORY_MB)


def flood(b, cluster, other, quiet, what, connections, path, body):
    reset_peak(cluster.process.pid)
    load = Flood(cluster, connections, "POST", path, body)
    time.sleep(1)
    median, p99 = probe(b, cluster, other, SECONDS)
    answers = load.end()
    b.row(f"{what}: another user's median", f"{median:.2f} ms", f"{quiet[0]:.2f} ms quiet", f"{median / quiet[0]:.1f} x", "<= 3 x",
          median <= 3 * quiet[0])
    b.row("  99th percentile", f"{p99:.2f} ms", f"{quiet[1]:.2f} ms quiet", f"{p99 / quiet[1]:.1f} x", "<= 10 x", p99 <= 10 * quiet[1])
    memory_row(b, cluster, what, answers)


def hold(cluster, count, request, rest=b""):
    """Connections that send this and read nothing."""
    held = []
    for i in range(count):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_BIND_ADDRESS_NO_PORT", 24), 1)
        s.bind((f"127.0.0.{2 + i % 4}", 0))
        s.connect(("127.0.0.1", cluster.port))
        s.settimeout(1)
        try:
            s.sendall(request + rest)
        except OSError:
            pass
        held.append(s)
    return held


def memory_cases(b, cluster):
    """The worst that one user was found to do."""
    who = f"Host: 127.0.0.1\r\nAuthorization: Bearer {cluster.token}\r\n"
    experiment = cluster.call("POST", "/api/v1/experiments", json.loads(submission(60)))["experiment"]["id"]
    posts = {
        "a list of 1,900,000 elements": ("/api/v1/det/check", json.dumps({"config": CONFIG + "data: [" + ",".join(["1"] * 1900000) + "]"})),
        "22,000,000 empty objects": ("/api/v1/experiments", '{"config":"x","modelDefinition":[' + ",".join(["{}"] * 22000000) + "]}"),
        "escapes, 60 MB": ("/api/v1/experiments", '{"config":"' + "\\n" * 30000000 + '"}'),
    }
    for what, (path, body) in posts.items():
        reset_peak(cluster.process.pid)
        load = Flood(cluster, 6, "POST", path, body)
        time.sleep(4)
        memory_row(b, cluster, what, load.end())
    holds = {
        "60 MB replies that nobody reads": (24, f"GET /api/v1/experiments/{experiment}/model_def HTTP/1.1\r\n{who}\r\n"),
        "heads of 15 KB that never end": (4000, f"GET / HTTP/1.1\r\n{who}X: " + "x" * 15000),
        "bodies of 60 KB that never end": (4000, f"POST /api/v1/auth/login HTTP/1.1\r\n{who}Content-Length: 65000\r\n\r\n" + "x" * 60000),
    }
    for what, (count, request) in holds.items():
        reset_peak(cluster.process.pid)
        held = hold(cluster, count, request.encode())
        time.sleep(4)
        memory_row(b, cluster, what, f"{len(held)} connections")
        for s in held:
            s.close()
    until = time.monotonic() + 40
    while status(cluster.process.pid, "VmRSS") > 64 << 10 and time.monotonic() < until:
        time.sleep(1)
    left = status(cluster.process.pid, "VmRSS") / 1024
    b.row("  memory afterwards", f"{left:.0f} MB", "-", "-", "<= 64 MB", left <= 64)


def section_flood(b):
    with Cluster(b.det, b.fresh("flood"), slots=2) as cluster:
        other = cluster.call("POST", "/api/v1/auth/login", {"username": "admin", "password": ""})["token"]
        diary = b.work + "/flood.diary"
        reports = SHORT + 20 * 4 * SECONDS
        experiments = [cluster.submit(TRIAL % (reports, b.det, diary, b.det), name=f"reporting-{i}") for i in range(2)]
        trials = [wait_for(lambda e=e: cluster.call("GET", f"/api/v1/experiments/{e}/trials")["trials"])[0]["id"] for e in experiments]
        wait_for(lambda: all(os.path.exists(f"{diary}.{trial}") for trial in trials))
        quiet = probe(b, cluster, other, SECONDS)
        body = check_body()
        flood(b, cluster, other, quiet, "24 x 3.6 MB checked", 24, "/api/v1/det/check", body)
        body = submission(66)
        for count in (6, 12):
            flood(b, cluster, other, quiet, f"{count} x 90 MB submitted", count, "/api/v1/experiments", body)
        memory_cases(b, cluster)
        lost = restarted = 0
        for experiment, trial in zip(experiments, trials):
            wait_for(lambda: cluster.call("GET", f"/api/v1/experiments/{experiment}")["experiment"]["state"] == "STATE_COMPLETED", 300)
            view = cluster.call("GET", f"/api/v1/trials/{trial}")["trial"]
            restarted += view["restarts"] + (view.get("runId", 1) or 1) - 1
            with open(f"{diary}.{trial}") as f:
                lost += int(f.read()) - view["totalBatchesProcessed"]
        b.row("  runs lost or restarted", f"{restarted}", "-", "-", "0", restarted == 0)
        b.row("  acknowledged reports lost", f"{lost}", f"of {2 * reports:,}", "-", "0", lost == 0)
