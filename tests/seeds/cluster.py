# SPDX-License-Identifier: Apache-2.0
"""A real master with one agent, and the experiments of a document on it.

    cluster = Cluster(slots=2)
    printed = cluster.experiment("printed", {"train.py": TEXT}, CONFIG)
    printed.log()                             # waits for its end
    printed.values("validation", "val_loss")  # [(batches, value), ...] of its first trial

The first experiment that is asked for starts the platform and submits every experiment, so that the slots are never
idle.  An experiment with `after` is submitted when the other one has ended; its files may be functions, which are
called then.  The platform has its own home and directory, and everything in it ends with stop().
"""
import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

WAIT_S = 600  # far longer than any experiment here takes: a test must not depend on the speed of the machine


class Cluster:
    def __init__(self, slots=1):
        self.slots, self.experiments, self.folder = slots, [], None
        self.program = os.path.abspath(os.environ["DET"])

    def experiment(self, name, files, config, args=(), after=None, act=None):
        """`args`: of `det experiment create`; `act(experiment)` runs beside it, in a thread."""
        made = Experiment(self, name, files, config, args, after, act)
        self.experiments.append(made)
        return made

    # ---- the platform

    def start(self):
        if self.folder:
            return
        self.folder = tempfile.mkdtemp(prefix="det-seeds.", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("DET_")}
        self.env.update(HOME=self.path("home"), XDG_DATA_HOME=self.path("home/data"), NO_COLOR="1", PYTHONPATH="",
                        XDG_CONFIG_HOME=self.path("home/config"), DET_CHECK_INVARIANTS="1")
        places = [os.path.dirname(self.program), os.path.dirname(sys.executable), os.environ["PATH"]]
        self.env["PATH"] = os.pathsep.join(places)
        os.makedirs(self.path("home"))
        self.det("serve", "--background", "--port", "0", "--slots", str(self.slots))
        with open(self.path("home/data/det/master.json")) as file:
            self.url = json.load(file)["url"].rstrip("/")
        for experiment in self.experiments:
            if not experiment.after:
                experiment.submit()

    def stop(self):
        """Returns the processes that were left over, and ends them."""
        if not self.folder:
            return []
        subprocess.run([self.program, "stop"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.until(lambda: not self.processes(), "all processes have ended", 60, fails=False)
        left = self.processes()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder = None
        return left

    def processes(self):
        """Those with our home: no other platform has it, and a process keeps it in a session of its own."""
        found, mark = [], b"HOME=" + self.env["HOME"].encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        found.append(int(pid))
            except OSError:
                pass
        return found

    # ---- commands

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run(self, *words, cwd=None, env=None):
        """Of any program: (exit code, everything it said)."""
        self.start()
        done = subprocess.run(words, cwd=cwd or self.folder, env={**self.env, **(env or {})}, text=True,
                              errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout

    def python(self, script, *words, cwd=None, **env):
        """Outside of a task, with the package on its path."""
        env["PYTHONPATH"] = os.path.join(os.path.dirname(self.program), "pylib")
        return self.run(sys.executable, script, *words, cwd=cwd, env=env)

    def det(self, *words, **more):
        code, said = self.run(self.program, *words, **more)
        if code:
            raise AssertionError(f"det {' '.join(words)} ended with {code}:\n{said}")
        return said

    def until(self, is_true, what, seconds=WAIT_S, fails=True):
        end = time.monotonic() + seconds
        while not is_true():
            if time.monotonic() > end:
                if fails:
                    raise AssertionError(f"did not happen within {seconds} s: {what}")
                return
            time.sleep(0.1)

    def write(self, name, files):
        folder = self.path(name)
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w") as file:
                file.write(text() if callable(text) else text)
        return folder


class Experiment:
    def __init__(self, cluster, name, files, config, args, after, act):
        self.cluster, self.name, self.files, self.config = cluster, name, files, config
        self.args, self.after, self.act = args, after, act
        self.id = self.state = self.said = self.actor = self.problem = None
        self.code = 0

    def submit(self):
        """As the documents do: in its folder, `det experiment create const.yaml .`"""
        self.cluster.start()
        if self.said is not None:
            return self
        if self.after:
            self.after.ended()
        self.folder = self.cluster.write(self.name, {**self.files, "const.yaml": self.config})
        args = [word() if callable(word) else word for word in self.args]
        self.code, self.said = self.cluster.run(self.cluster.program, "experiment", "create", "const.yaml", ".", *args,
                                                cwd=self.folder)
        numbers = [line.split()[-1] for line in self.said.splitlines() if line.startswith("Created experiment ")]
        self.id = int(numbers[0]) if numbers else None
        if self.act and self.id is not None:
            self.actor = threading.Thread(target=self.play, daemon=True)
            self.actor.start()
        return self

    def play(self):
        try:
            self.act(self)
        except Exception as error:  # the thread of the rows raises it
            self.problem = error

    def created(self):
        self.submit()
        if self.id is None:
            raise AssertionError(f"'{self.name}' was not created:\n{self.said}")
        return self

    def ended(self):
        """Waits for its end, whatever that is."""
        self.created()
        if self.state is None:
            if self.actor:
                self.actor.join()
            if self.problem:
                raise self.problem
            code, said = self.cluster.run(self.cluster.program, "experiment", "wait", str(self.id))
            self.state = "COMPLETED" if code == 0 else said.strip() or "ERROR"
        return self

    def completed(self):
        self.ended()
        if self.state != "COMPLETED":
            raise AssertionError(f"'{self.name}' did not complete: {self.state}\n{self.logged()[-6000:]}")
        return self

    # ---- what is known of it

    def logged(self, trial=None):
        """Of one trial (its place in trials()), or of all."""
        chosen = self.trials() if trial is None else [self.trials()[trial]]
        return "".join(self.cluster.det("trial", "logs", str(each)) for each in chosen)

    def log(self):
        return self.completed().logged()

    def printed(self, mark):
        """What its processes printed behind `mark`, line by line."""
        return [line.partition(mark)[2].strip() for line in self.log().splitlines() if mark in line]

    def table(self, *words):
        return list(csv.DictReader(io.StringIO(self.cluster.det(*words, "--csv"))))

    def trials(self):
        text = self.created().cluster.det("experiment", "list-trials", str(self.id), "--json")
        return sorted(trial["id"] for trial in json.loads(text))

    def trial_with(self, name, value):
        """The place in trials() of the one with this hyperparameter."""
        for place, trial in enumerate(self.completed().trials()):
            found = json.loads(self.cluster.det("trial", "describe", str(trial), "--json"))
            if found[0]["hparams"].get(name) == value:
                return place
        raise AssertionError(f"no trial of '{self.name}' has {name}: {value}")

    def values(self, group, name, trial=0):
        """[(batches, value)] of a metric."""
        rows = list(csv.reader(io.StringIO(self.cluster.det("trial", "metrics", str(self.trials()[trial]), "--csv"))))
        return [(int(row[2]), float(row[6])) for row in rows[1:] if row[4:6] == [group, name]]

    def checkpoints(self, trial=0):
        """Of its trial, the oldest first."""
        text = self.cluster.det("checkpoint", "list", "--trial", str(self.trials()[trial]), "--json")
        return sorted(json.loads(text), key=lambda each: each["metadata"]["steps_completed"])

    def steps(self, trial=0):
        return [each["metadata"]["steps_completed"] for each in self.completed().checkpoints(trial)]


def pause_at(word):
    """An `act` for cluster.experiment(): pauses the experiment when it has printed `word`, and activates it again."""

    def act(experiment):
        cluster, number = experiment.cluster, str(experiment.id)
        cluster.until(lambda: word in experiment.logged(), f"'{experiment.name}' prints '{word}'")
        cluster.det("experiment", "pause", number)
        cluster.until(lambda: f"{number},{experiment.name},PAUSED," in cluster.det("experiment", "list", "--csv"),
                      f"'{experiment.name}' is paused")
        cluster.det("experiment", "activate", number)

    return act
