# SPDX-License-Identifier: Apache-2.0
"""The master and agent behind the browser, with data of real trials.

Short shell scripts create these experiments once, all at the same time:

    testbed.ids["search"]     a random search of six trials with training and validation metrics and one checkpoint each
    testbed.ids["numbers"]    NaN and infinite metrics, many groups, several epochs
    testbed.ids["markup"]     <script> and quotes in its name, description, labels, logs and metric names
    testbed.ids["paused"]     never started
    testbed.ids["failed"]     its script exits with 3, after an error in its log
    testbed.ids["ranks"]      lines of four ranks, all levels, both streams
    testbed.ids["grid"]       a grid search over three kinds of hyperparameters
    testbed.job               task id of an ended job
    testbed.trials("search")  the ids of an experiment's trials

A test that changes an experiment creates its own: testbed.create(name, script, config={...}) -> id.  testbed.hold(name)
returns the path of a file; a script can wait for it until testbed.release(name) creates it.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

WAIT_S = 60
MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'&amp; {{7*7}}"

SEARCH = r"""#!/bin/sh
lr=$(det hparam lr)
for step in 1 2 3 4 5 6 7 8; do
    loss=$(awk -v s=$step -v l="$lr" 'BEGIN { printf "%.5f", 2 * exp(-s * 3 * l) + l / 3 }')
    det report --steps $((step * 100)) --progress 0.$step loss=$loss lr=$lr
    [ $((step % 2)) = 1 ] || det report --steps $((step * 100)) --validation validation_loss=$loss accuracy=0.9$step
done
mkdir -p model && echo "weights of $lr" >model/weights.txt && date >model/when.txt
det checkpoint save --steps 800 --wait model
echo "trained with lr=$lr"
"""
NUMBERS = r"""#!/bin/sh
det report --steps 1 loss=1.5 broken=NaN epoch=0
det report --steps 2 loss=NaN broken=inf epoch=0
det report --steps 3 loss=-inf broken=-inf epoch=1
det report --steps 4 loss=0.25 broken=1 epoch=1
det report --steps 4 --validation loss=0.5 tiny=1e-300 huge=1e300
det report --steps 4 --group system memory=123456789012 note:="a text"
"""
MARKED = r"""#!/bin/sh
echo '<script>alert("logs")</script> & <b>not bold</b>'
printf 'ERROR: \033[31mred\033[0m &lt; <img src=x onerror=alert(3)>\n'
det report --steps 1 '<b>loss</b>=1' loss=1
det report --steps 1 --validation loss=1
"""
FAILED = r"""#!/bin/sh
echo "INFO: reading data"
echo "ERROR: no such file: /data/train.csv" >&2
exit 3
"""
RANKS = r"""#!/bin/sh
for rank in 0 1 2 3; do
    echo "[rank=$rank] INFO: rank $rank begins"
    echo "[rank=$rank] DEBUG: a small thing"
    echo "[rank=$rank] WARNING: a doubtful thing" >&2
done
echo "[rank=2] ERROR: a bad thing" >&2
echo "CRITICAL: a very bad thing"
i=0
while [ $i -lt 400 ]; do i=$((i + 1)); echo "line $i of many"; done
det report --steps 1 --validation loss=0.5
"""
GRID = r"""#!/bin/sh
det report --steps 10 --validation loss=$(awk -v l="$(det hparam lr)" -v d="$(det hparam depth)" 'BEGIN { print l * d }')
"""
RANGE = {"type": "double", "minval": 0.1, "maxval": 0.5, "count": 2}


class Testbed:
    def __init__(self, program, slots=4, config=None, user="determined"):
        """`config`: a configuration of the master; `user`: who acts here, without a password."""
        self.config = config
        self.user = user
        self.folder = tempfile.mkdtemp(prefix="det-browser.")
        self.slots = slots
        self.ids = {}
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("DET_")}
        self.env.update(HOME=self.path("home"), XDG_DATA_HOME=self.path("home/data"), NO_COLOR="1",
                        XDG_CONFIG_HOME=self.path("home/config"), TMPDIR=self.path("tmp"),
                        PATH=os.pathsep.join([os.path.dirname(program), os.path.dirname(sys.executable), os.environ["PATH"]]))
        if user != "determined":
            self.env["DET_USER"] = user
        self.program = program
        os.makedirs(self.path("home"))
        os.makedirs(self.path("tmp"))
        self.token = ""

    def path(self, *names):
        return os.path.join(self.folder, *names)

    # ---- the master

    def start(self, port=0):
        more = []
        if self.config is not None:
            with open(self.path("master.yaml"), "w") as file:
                json.dump(self.config, file)
            more = ["--config", self.path("master.yaml")]
        self.det("serve", "--background", "--port", str(port), "--slots", str(self.slots), *more)
        with open(self.path("home/data/det/master.json")) as file:
            self.url = json.load(file)["url"].rstrip("/")
        self.token = self.api("POST", "/api/v1/auth/login", {"username": self.user, "password": ""})["token"]

    def stop(self):
        subprocess.run([self.program, "stop"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: not self.processes(), "all processes have ended", 20, fails=False)
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def processes(self):
        """Processes started with our HOME."""
        found = []
        mark = b"HOME=" + self.env["HOME"].encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def master_pid(self):
        with open(self.path("home/data/det/master.json")) as file:
            return json.load(file)["pid"]

    def kill_master(self):
        """Kills the master without warning, as a power failure would; revive() starts it again."""
        self.port = int(self.url.rsplit(":", 1)[1])
        pid = self.master_pid()
        os.kill(pid, signal.SIGKILL)
        until(lambda: not os.path.exists(f"/proc/{pid}"), "the master is dead")

    def revive(self):
        self.start(self.port)

    # ---- calls

    def det(self, *args, check=True, stdin=None):
        done = subprocess.run([self.program, *args], env=self.env, cwd=self.folder, input=stdin, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if check and done.returncode:
            raise RuntimeError(f"det {' '.join(args)}: {done.returncode}: {done.stdout}")
        return done.stdout

    def shell(self, text):
        """Runs commands as typed into a terminal."""
        done = subprocess.run(["sh", "-e"], env=self.env, cwd=self.folder, input=text, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            raise RuntimeError(f"{text}\n{done.returncode}: {done.stdout}")
        return done.stdout

    def api(self, method, path, body=None, token=None):
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self.send(method, path, data, token) or b"{}")

    def admin(self):
        """The token of an administrator."""
        return self.api("POST", "/api/v1/auth/login", {"username": "admin", "password": ""})["token"]

    def fetch(self, path):
        return self.send("GET", path)

    def send(self, method, path, data=None, token=None):
        call = urllib.request.Request(self.url + path, data, method=method)
        if (token or self.token) and not path.endswith("/auth/login"):
            call.add_header("Authorization", "Bearer " + (token or self.token))
        try:
            with urllib.request.urlopen(call, timeout=30) as reply:
                return reply.read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.code}: {error.read().decode()}") from error

    # ---- experiments

    def create(self, name, script, config=None, paused=False, files=None):
        """`files`: {name: text} of the folder, beside the script."""
        folder = tempfile.mkdtemp(dir=self.folder)
        for path, text in (files or {}).items():
            with open(os.path.join(folder, path), "w") as file:
                file.write(text)
        with open(folder + "/run.sh", "w") as file:
            file.write(script)
        os.chmod(folder + "/run.sh", 0o755)
        settings = {"name": name, "entrypoint": "./run.sh", "max_restarts": 0, "hyperparameters": {"lr": 0.1},
                    "searcher": {"name": "single", "metric": "loss"}, **(config or {})}
        said = self.det("experiment", "create", "-", folder, *(["--paused"] if paused else []), stdin=json.dumps(settings))
        return int(said.split("Created experiment ")[1].split()[0])

    def remove(self, ids):
        """Kills and deletes experiments."""
        act = lambda name: self.api("POST", "/api/v1/det/experiments/actions", {"action": name, "ids": ids})["results"]
        act("kill")
        until(lambda: not any(one["error"] for one in act("delete") if "not found" not in one["error"]
                              and "DELETING" not in one["error"]), "they can be deleted")

    def experiment(self, id_):
        return self.api("GET", f"/api/v1/experiments/{id_}")["experiment"]

    def trials(self, name):
        id_ = self.ids.get(name, name)
        return [t["id"] for t in self.api("GET", f"/api/v1/experiments/{id_}/trials?limit=1000")["trials"]]

    def wait(self, id_, *states):
        states = states or ("COMPLETED", "ERROR", "CANCELED")
        until(lambda: self.experiment(id_)["state"].removeprefix("STATE_") in states, f"experiment {id_} is {states}")

    def hold(self, name):
        return self.path("hold-" + name)

    def release(self, name):
        open(self.hold(name), "w").close()

    def make(self):
        """Creates all experiments of the list above and waits for them."""
        random = {"name": "random", "metric": "validation_loss", "max_trials": 6, "max_concurrent_trials": 4}
        log = {"type": "log", "base": 10, "minval": -2, "maxval": 0}
        self.ids["search"] = self.create("search", SEARCH, {
            "searcher": random, "hyperparameters": {"lr": log, "width": {"type": "int", "minval": 8, "maxval": 64}},
            "reproducibility": {"experiment_seed": 7},
            "description": "a random search over the learning rate", "labels": ["mnist", "nightly"]})
        self.ids["numbers"] = self.create("numbers", NUMBERS, {"description": "NaN and infinities"})
        self.ids["markup"] = self.create(MARKUP, MARKED, {
            "description": MARKUP, "labels": ["<b>bold</b>", "a&b", "quote\"'s"],
            "hyperparameters": {"<i>lr</i>": 0.1, "lr": 1}})
        self.ids["paused"] = self.create("paused", GRID, paused=True)
        self.ids["failed"] = self.create("failed", FAILED)
        self.ids["ranks"] = self.create("ranks", RANKS)
        self.ids["grid"] = self.create("grid", GRID, {
            "searcher": {"name": "grid", "metric": "loss"},
            "hyperparameters": {"lr": RANGE, "depth": {"type": "int", "minval": 1, "maxval": 2, "count": 2},
                                "kind": {"type": "categorical", "vals": ["relu", "tanh"]}}})
        job = {"name": "a job", "entrypoint": ["sh", "-c", "echo from the job; echo 'ERROR: a job complains'"]}
        said = self.det("job", "run", "-", stdin=json.dumps(job))
        self.job = said.split("Created job ")[1].split()[0]
        for name in self.ids:
            if name != "paused":
                self.wait(self.ids[name])
        until(lambda: self.api("GET", f"/api/v1/tasks/{self.job}")["task"].get("endTime"), "the job has ended")


def until(holds, what, seconds=WAIT_S, fails=True):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            if fails:
                raise TimeoutError("not within %d s: %s" % (seconds, what))
            return False
        time.sleep(0.02)
    return True
