# SPDX-License-Identifier: Apache-2.0
"""A platform of real processes that can be looked at, killed and started again.

Its processes are known by their HOME, which no other platform of the machine has and which a
process cannot lose by going into a session of its own.  What one is, its command line says:

    master      det serve, det master run
    agent       det agent run
    supervisor  det task run DIR
    trial       anything with a DET_TRIAL_ID, and a supervisor's child that is just becoming one
"""
import base64
import http.client
import json
import os
import signal
import socket
import subprocess
import time

import faults

PATIENCE_S = 3  # of an operator
LOCKED = 6  # exit code of who finds the data directory in use
ROLES = ("master", "agent", "supervisor", "trial")


def pick_port(start):
    """Below the ports that the kernel gives to clients: one of those that calls again and again
    would sooner or later be given the very port it calls, and keep the master from it."""
    for port in range(start, start + 1000):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no port is free")


def is_running(pid):
    """Returns false for a process that is stopped, and for one that has ended."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] not in "TtZX"
    except OSError:
        return False


class Process:
    def __init__(self, pid, args, env):
        self.pid, self.args = pid, args
        self.trial = env.get("DET_TRIAL_ID")
        self.agent = env.get("DET_AGENT_ID")  # of a trial's process
        self.role = self.role_of()

    def parent(self):
        """Its parent's command line."""
        try:
            with open(f"/proc/{self.pid}/stat") as f:
                ppid = f.read().rpartition(")")[2].split()[1]
            with open(f"/proc/{ppid}/cmdline", "rb") as f:
                return f.read().decode(errors="replace").split("\0")[:-1]
        except OSError:
            return []

    def role_of(self):
        words = self.args[1:3]
        if words[:1] == ["serve"] or words == ["master", "run"]:
            return "master"
        if words == ["agent", "run"]:
            return "agent"
        if words == ["task", "run"]:
            return "trial" if self.parent() == self.args else "supervisor"
        return "trial" if self.trial else "other"

    def of(self):
        """What it works on: a supervisor on an allocation, a trial's process on a trial (its number or,
        as long as it does not know that, the name of its task)."""
        if self.args[1:3] != ["task", "run"]:
            return self.trial
        allocation = os.path.basename(self.args[3])[:-len("-0")]
        return allocation if self.role == "supervisor" else allocation.rpartition(".")[0]

    def __str__(self):
        return f"{self.role} {self.pid} ({' '.join(self.args)[:100]})"


class World:
    """`kind`: "serve" (one command, which looks after its agent), "services" (master and agent
    each started by itself) or "agents" (... and there are two of them)."""

    def __init__(self, det, directory, kind, config, slots=4, port_from=21000):
        self.det, self.directory, self.kind, self.slots = det, directory, kind, slots
        self.data, self.home = directory + "/data", directory + "/home"
        self.agents = ["a", "b"] if kind == "agents" else ["a"]
        self.port = pick_port(port_from)
        self.url = f"http://127.0.0.1:{self.port}"
        os.makedirs(self.home, exist_ok=True)
        self.config = directory + "/master.json"
        with open(self.config, "w") as f:
            json.dump({"checkpoint_storage_roots": [directory], **config}, f)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("DET_")}
        self.env.update(HOME=self.home, XDG_DATA_HOME=self.home + "/data", XDG_CONFIG_HOME=self.home + "/config",
                        PATH=os.path.dirname(det) + ":" + self.env["PATH"], DET_MASTER=self.url)
        self.token = None
        self.children = {}  # name: the process we started last
        self.is_stopping = False
        self.missing = {}  # name: since when
        self.ends = []  # what ended although nobody killed it

    # ---- processes

    def look_at(self, pid):
        """The process of that number; None if it is not ours or has ended."""
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                env = f.read().split(b"\0")
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                args = f.read().decode(errors="replace").split("\0")[:-1]
        except OSError:
            return None
        if b"HOME=" + self.home.encode() not in env or not args:
            return None
        return Process(pid, args, dict(e.decode(errors="replace").partition("=")[::2] for e in env))

    def processes(self):
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
        return [process for process in map(self.look_at, pids) if process]

    def signal(self, process, number):
        """Returns false if it has ended already."""
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return False
        return True

    def kill(self, process):
        """Returns what was killed, or None.  The process is stopped before we look: a child that an agent has just forked
        still looks like an agent, and becomes a supervisor in the moment in which it would be killed."""
        if not self.signal(process, signal.SIGSTOP):
            return None
        until = time.monotonic() + 5
        while is_running(process.pid) and time.monotonic() < until:
            time.sleep(0.001)
        victim = self.look_at(process.pid)
        return victim if self.signal(process, signal.SIGKILL if victim else signal.SIGCONT) else None

    def agent_data(self, agent):
        return self.data + "/agent" if self.kind == "serve" else f"{self.directory}/agent-{agent}"

    def tasks_of(self, agent):
        """Supervisors and trials of that agent."""
        return [p for p in self.processes() if p.role == "trial" and p.agent == agent
                or p.role == "supervisor" and p.args[3].startswith(self.agent_data(agent) + "/")]

    def command(self, name):
        if name in self.agents:
            return [*faults.agent_prefix(self.agents.index(name)), self.det, "agent", "run", "--master", self.url, "--data-dir", self.agent_data(name), "--slots",
                    str(self.slots // len(self.agents)), "--token-file", self.data + "/agent.token", "--id", name]
        words = ["serve", "--slots", str(self.slots)] if self.kind == "serve" else ["master", "run"]
        return [self.det, *words, "--data-dir", self.data, "--port", str(self.port), "--config", self.config]

    def reap(self):
        """Takes leave of children that ended; remembers those that did so by themselves."""
        for name, child in list(self.children.items()):
            code = child.poll()
            if code is None:
                continue
            del self.children[name]
            if code == LOCKED and name in self.agents and self.kind == "serve":
                continue  # det serve was faster
            if code != -signal.SIGKILL and not self.is_stopping:
                self.ends.append(f"{name} {child.pid} ended by itself with exit code {code}")

    def start(self, role):
        """Starts what there is of that role, unless it runs."""
        for name in self.agents if role == "agent" else [role]:
            self.start_one(role, name)

    def is_there(self, role, name):
        return name in self.children or any(
            p.role == role and (role == "master" or self.agent_data(name) in p.args) for p in self.processes())

    def start_one(self, role, name):
        self.reap()
        if self.is_there(role, name):
            self.missing.pop(name, None)
            return
        if role == "agent" and self.kind == "serve":
            since = self.missing.setdefault(name, time.monotonic())
            if time.monotonic() - since < PATIENCE_S:
                return  # det serve starts it again, though a little later each time
        if role == "agent" and not os.path.exists(self.data + "/agent.token"):
            return
        with open(f"{self.directory}/{name}.log", "a") as log:
            self.children[name] = subprocess.Popen(self.command(name), env=self.env, stdin=subprocess.DEVNULL,
                                                   stdout=log, stderr=log, start_new_session=True)

    def stop(self):
        """As an operator does; what is left after that is the caller's to find."""
        self.reap()
        self.is_stopping = True
        for role in ("master",) if self.kind == "serve" else ("agent", "master"):
            for process in self.processes():
                if process.role == role:
                    self.signal(process, signal.SIGTERM)
            self.wait_for(lambda: not [p for p in self.processes() if p.role == role], 60)

    def wait_for(self, what, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.reap()
            value = what()
            if value:
                return value
            time.sleep(0.05)
        return None

    # ---- calls

    def call(self, method, path, body=None, timeout=30):
        """The reply, or OSError (nobody there, or broken off) or RuntimeError (refused)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            reply = connection.getresponse()
            text = reply.read().decode()
        except http.client.HTTPException as e:
            raise OSError(f"the reply was broken off: {e!r}") from e
        finally:
            connection.close()
        if reply.status == 503:
            raise OSError(text)
        if reply.status >= 300:
            raise RuntimeError(f"{method} {path}: {reply.status} {text}")
        if text.count("\n") > 1:
            return [json.loads(line) for line in text.splitlines() if line]
        return json.loads(text) if text else {}

    def is_up(self):
        try:
            if not self.token:
                self.token = self.call("POST", "/api/v1/auth/login", {"username": "determined", "password": ""})["token"]
            return len(self.call("GET", "/api/v1/agents")["agents"]) == len(self.agents)
        except OSError:
            return False

    def experiments(self):
        return self.call("GET", "/api/v1/experiments?limit=-1")["experiments"]

    def submit(self, name, config, files):
        """Its number.  With OSError nobody knows whether it is there."""
        stored = [{"path": path, "type": 48, "content": base64.b64encode(text.encode()).decode(), "mode": 0o100755,
                   "uid": 0, "gid": 0, "mtime": "1700000000"} for path, text in files.items()]
        body = {"activate": True, "config": json.dumps({"name": name, **config}), "modelDefinition": stored}
        return self.call("POST", "/api/v1/experiments", body)["experiment"]["id"]
