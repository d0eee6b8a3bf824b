# SPDX-License-Identifier: Apache-2.0
"""A `det serve` of our own: started, spoken to by REST, looked at, ended."""
import atexit
import base64
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(what, seconds=60):
    """The first true value that what() gives."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    raise TimeoutError("waited in vain")


def go_first():
    """Ahead of what else runs here: it would hurt whoever has fewer threads more.  False: not allowed."""
    try:
        os.nice(-15)
        with open("/proc/self/autogroup", "r+") as f:  # where sessions share the processors, not processes
            before = f.read().split()[-1]
            f.write("-15")
        atexit.register(lambda: open("/proc/self/autogroup", "w").write(before))
    except FileNotFoundError:
        pass
    except PermissionError:
        return False
    return True


def status(pid, key):
    """A number of /proc/PID/status: VmRSS in KB, Threads."""
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    raise KeyError(key)


def descendants(pid):
    """The process and all below it, tasks' supervisors included."""
    out = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], stdout=subprocess.PIPE, text=True).stdout
    parents = [tuple(map(int, line.split())) for line in out.splitlines()]
    found = [pid]
    for one in found:
        found += [child for child, parent in parents if parent == one]
    return found


class Cluster:
    """With slots=0 it has no agent; with is_tls it speaks TLS with a certificate of its own."""

    def __init__(self, det, directory, slots=1, is_tls=False, options=()):
        directory = os.path.abspath(directory)  # a task, which runs elsewhere, writes beside it
        self.directory, self.port, self.slots = directory, free_port(), slots
        self.is_tls = is_tls
        self.url = f"{'https' if is_tls else 'http'}://127.0.0.1:{self.port}"
        self.command = [det, "serve", "--data-dir", directory, "--port", str(self.port)]
        self.command += ["--slots", str(slots)] if slots else ["--no-agent"]
        self.command += ["--tls"] if is_tls else []
        self.command += options
        self.process = self.token = None
        self.env = {**os.environ, "DET_MASTER": self.url, "DET_USER": "determined", "DET_PASS": ""}

    def __enter__(self):
        self.log = open(self.directory + ".log", "a")
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        wait_for(self.is_up)
        self.token = self.call("POST", "/api/v1/auth/login", {"username": "determined", "password": ""})["token"]
        if self.slots:
            wait_for(lambda: self.call("GET", "/api/v1/agents")["agents"])
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.log.close()

    def is_up(self):
        if self.process.poll() is not None:
            raise RuntimeError("det serve ended; see " + self.directory + ".log")
        try:
            return self.call("GET", "/health") is not None
        except (OSError, RuntimeError):  # nobody there yet, or not ready
            return False

    def call(self, method, path, body=None):
        if self.is_tls:
            anybody = ssl._create_unverified_context()
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=anybody)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        if reply.status >= 300:
            raise RuntimeError(f"{method} {path}: {reply.status} {text}")
        return json.loads(text) if text else {}

    def submit(self, entrypoint, activate=True, name="bench", slots=1):
        """A single-trial experiment; its number."""
        config = (f"name: {name}\nentrypoint: {entrypoint}\nmax_restarts: 0\n"
                  f"resources: {{slots_per_trial: {slots}}}\n"
                  "searcher: {name: single, metric: loss}\nhyperparameters: {lr: 0.1}\n")
        content = base64.b64encode(b"a file of a model\n").decode()
        files = [{"path": "model.txt", "type": 48, "content": content, "mode": 0o100644, "uid": 0, "gid": 0,
                  "mtime": "1700000000"}]
        body = {"activate": activate, "config": config, "modelDefinition": files}
        return self.call("POST", "/api/v1/experiments", body)["experiment"]["id"]

    def running_trial(self):
        """A trial that sleeps: (its number, its allocation, its token)."""
        path = f"{self.directory}.{self.port}.token"
        experiment = self.submit(f"echo $DET_SESSION_TOKEN > {path}.new; mv {path}.new {path}; sleep 3600")

        def look():
            tasks = self.call("GET", "/api/v1/tasks")["allocationIdToSummary"]
            trials = self.call("GET", f"/api/v1/experiments/{experiment}/trials")["trials"]
            return trials and tasks and (trials[0], next(iter(tasks.values())))

        trial, task = wait_for(look)
        wait_for(lambda: os.path.exists(path))
        with open(path) as f:
            return trial["id"], task["allocationId"], f.read().strip()
