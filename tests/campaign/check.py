# SPDX-License-Identifier: Apache-2.0
"""What must hold after a crash campaign, told from the trials' diaries (trial.c) and the platform's
own answers.

Metrics.  A trial's final series has every step once, from the last run that reported it.  What an
earlier run reported and a later one did again is marked as rolled back, never deleted.  So is what a
run delivered after it was given up: nothing that was acknowledged is missing, of any run.
Lines.  Of each run and stream: numbered from 1 on, in order, none twice; all that were written,
or, where the run's supervisor was killed, at least those it had read.
Checkpoints.  Each that was acknowledged is listed once and whole; a run begins at the latest.
Searches.  As many trials, with the same hyperparameters and the same end, as an undisturbed twin.
"""
import fcntl
import json
import os
import re
import sqlite3
from collections import Counter, defaultdict

OVER = {"STATE_COMPLETED", "STATE_ERROR", "STATE_CANCELED", "COMPLETED", "ERROR", "CANCELED"}
LINE = re.compile(r"^line (\d+) (\d+) (\d) (\d+)$")
MANY = 6  # problems of one kind that are worth naming


def is_over(thing):
    return thing["state"] in OVER


FIRST = "(SELECT min(id) FROM trials)"  # the later ones belong to the undisturbed twins, which nobody looks at

# The changes of tamper(), and words of the problem that the check must report.  Ended trials have only blocks: their tails are packed.
TAMPERING = (
    (f"DELETE FROM metric_blocks WHERE id = (SELECT min(id) FROM metric_blocks WHERE trial_id = {FIRST})", "was acknowledged and is lost"),
    ("UPDATE metric_blocks SET group_id = (SELECT id FROM metric_groups WHERE name = 'validation') WHERE id = (SELECT b.id FROM"
     " metric_blocks b JOIN metric_groups g ON g.id = b.group_id WHERE g.name = 'training'"
     f" AND b.trial_id = {FIRST} + 1 ORDER BY b.count DESC LIMIT 1)",
     "was never acknowledged"),
    (f"DELETE FROM checkpoints WHERE uuid = (SELECT min(uuid) FROM checkpoints WHERE trial_id = {FIRST})", "it is listed 0 times"),
    ("DELETE FROM log_chunks WHERE id = (SELECT c.id FROM log_chunks c JOIN log_tasks l ON l.id = c.id >> 38 JOIN trials t ON t.task_id = l.task_id"
     f" WHERE t.id = {FIRST} ORDER BY c.size DESC LIMIT 1)", "were written"),
    (f"UPDATE trials SET restarts = 1 WHERE id = {FIRST}", "restarts for 0 kills"),
    (f"UPDATE trials SET state = 'ERROR' WHERE id = {FIRST}", "undisturbed it is"),
)


def is_packed(database):
    with sqlite3.connect(database) as db:
        return not db.execute("SELECT count(*) FROM metric_tail").fetchone()[0]


def tamper(database):
    with sqlite3.connect(database) as db:
        for sql, _ in TAMPERING:
            db.execute(sql)


def unnoticed(problems):
    """Which of the tampering gave none of the problems."""
    return [f"nobody noticed: {sql}" for sql, words in TAMPERING if not any(words in p for p in problems)]


class Diary:
    """One run of a trial, as it has seen itself."""

    def __init__(self, path):
        self.begin, self.uuid, self.is_done, self.is_preempted, self.refusals = 0, "-", False, False, []
        self.tried, self.taken = set(), set()  # (group, steps)
        self.saves_tried, self.saves = {}, {}  # uuid: steps
        self.written, self.kept = [0, 0], [0, 0]
        with open(path) as f:
            for line in f.read().split("\n")[:-1]:
                self.read(line.split())

    def read(self, words):
        kind, rest = words[0], words[1:]
        if kind == "b":
            self.begin, self.uuid = int(rest[0]), rest[1]
        elif kind in "tm":
            (self.tried if kind == "t" else self.taken).add((rest[0], int(rest[1])))
        elif kind in "TC":
            (self.saves_tried if kind == "T" else self.saves)[rest[0]] = int(rest[1])
        elif kind in "wk":
            setattr(self, "written" if kind == "w" else "kept", [int(rest[0]), int(rest[1])])
        elif kind == "x":
            self.refusals.append(rest[0])
        elif kind == "e":
            self.is_done = True
        elif kind == "p":
            self.is_preempted = True


class Judge:
    def __init__(self, world, kills, acknowledged):
        self.world, self.acknowledged = world, acknowledged
        self.may_lose_runs = True  # processes were killed
        self.problems = []
        self.totals = Counter()
        self.ends = []  # (why runs ended, how many)
        self.kills = Counter(of for role, of in kills if role == "trial")
        self.unsupervised = {of for role, of in kills if role == "supervisor"}
        self.diaries = defaultdict(dict)  # trial: {run: Diary}

    def read_diaries(self):
        for name in os.listdir(self.world.directory + "/diary"):
            trial, run = map(int, name.split("."))
            self.diaries[trial][run] = Diary(f"{self.world.directory}/diary/{name}")

    def bad(self, *problems):
        self.problems += problems[:MANY]
        if len(problems) > MANY:
            self.problems.append(f"... and {len(problems) - MANY} more like that")

    def summary(self):
        return ", ".join(f"{n} {what}" for what, n in self.totals.items())

    # ---- while it runs

    def say_who_is_stuck(self):
        for e in self.world.experiments():
            if is_over(e):
                continue
            trials = self.world.call("GET", f"/api/v1/experiments/{e['id']}/trials?limit=-1")["trials"]
            states = [(t["id"], t["state"]) for t in trials if not is_over(t)]
            self.bad(f"experiment {e['id']} ({e['name']}) does not end: {e['state']}, trials {states}")

    def look_at_all(self, twins):
        self.read_diaries()
        experiments = self.world.experiments()
        by_name = Counter(e["name"] for e in experiments)
        self.bad(*[f"there are {n} experiments named {name}" for name, n in by_name.items() if n > 1])
        self.bad(*[f"experiment {name} was acknowledged and is not there" for name in self.acknowledged
                   if name not in by_name])
        by_id = {e["id"]: e for e in experiments}
        for e in experiments:
            if e["name"] in twins:
                self.look_at_experiment(e, by_id[twins[e["name"]]])
        self.totals["experiments"] = len(twins)

    def look_at_experiment(self, e, twin):
        name = f"experiment {e['id']} ({e['name']})"
        trials = [self.world.call("GET", f"/api/v1/experiments/{x['id']}/trials?limit=-1")["trials"] for x in (e, twin)]
        ends = [Counter((json.dumps(t["hparams"], sort_keys=True), t["state"]) for t in of) for of in trials]
        if ends[0] != ends[1] or e["state"] != twin["state"]:
            self.bad(f"{name} is {e['state']} with {dict(ends[0])}; undisturbed it is {twin['state']} with {dict(ends[1])}")
        listed = self.world.call("GET", f"/api/v1/experiments/{e['id']}/checkpoints?limit=-1")["checkpoints"]
        for trial in trials[0]:
            self.totals["trials"] += 1
            self.look_at_trial(trial, [c for c in listed if c["training"]["trialId"] == trial["id"]])

    def look_at_trial(self, trial, checkpoints):
        runs = dict(sorted(self.diaries[trial["id"]].items()))
        name = f"trial {trial['id']}"
        done = [run for run, diary in runs.items() if diary.is_done]
        if not done:
            return self.bad(f"{name} is {trial['state']} although no run of it has come to its end")
        restarts, kills = trial.get("restarts") or 0, self.kills[str(trial["id"])] + self.kills[trial["taskId"]]
        if restarts > kills:
            self.bad(f"{name} was charged {restarts} restarts for {kills} kills")
        preempted = sum(d.is_preempted for d in runs.values())
        if not self.may_lose_runs and len(runs) > 1 + preempted:
            self.bad(f"{name} has {len(runs)} runs, of which {preempted} were preempted; no fault may cost a run")
        self.totals["runs"] += len(runs)
        self.totals["preempted"] += preempted
        self.totals["refused"] += sum(len(d.refusals) for d in runs.values())
        self.look_at_metrics(trial["id"], name, runs)
        self.look_at_checkpoints(name, runs, checkpoints)
        self.look_at_lines(trial, name, runs)

    # ---- metrics

    def rows(self, trial, group):
        """Also those that are archived."""
        reply = self.world.call("GET", f"/api/v1/trials/metrics/trial_metrics?trialIds={trial}&group={group}&withArchived=true")
        replies = reply if isinstance(reply, list) else [reply]
        return [row for part in replies for row in part["result"]["metrics"]] if reply else []

    def look_at_metrics(self, trial, name, runs):
        for group in ("training", "validation"):
            everything = self.rows(trial, group)
            self.look_at_archived(name, group, runs, everything)
            rows = [row for row in everything if not row["archived"]]
            shown = Counter(row["totalBatches"] for row in rows)
            wanted = {}
            for run, diary in runs.items():
                taken = sorted(steps for g, steps in diary.taken if g == group)
                self.totals["reports"] += len(taken)
                wanted.update({steps: run for steps in taken})
            self.bad(*[f"{name}: {group} at step {n} is there {c} times" for n, c in shown.items() if c > 1])
            self.bad(*[f"{name}: {group} at step {n} of run {run} was acknowledged and is lost"
                       for n, run in wanted.items() if n not in shown])
            self.bad(*[f"{name}: {group} at step {n} was never acknowledged in the end" for n in shown if n not in wanted])
            for row in rows:
                self.look_at_row(name, group, trial, row, wanted)

    def look_at_archived(self, name, group, runs, rows):
        """Each run has all that was acknowledged to it, once, whether it counts or not."""
        there = Counter((row["trialRunId"], row["totalBatches"]) for row in rows)
        self.bad(*[f"{name}: {group} at step {n} of run {run} is there {c} times, some of them archived"
                   for (run, n), c in there.items() if c > 1])
        self.bad(*[f"{name}: {group} at step {n} of run {run} was acknowledged and is not even archived"
                   for run, diary in runs.items() for g, n in diary.taken if g == group and (run, n) not in there])

    def look_at_row(self, name, group, trial, row, wanted):
        steps = row["totalBatches"]
        values = row["metrics"]["validation_metrics" if group == "validation" else "avg_metrics"]
        if row.get("trialRunId") != wanted.get(steps):
            self.bad(f"{name}: {group} at step {steps} is of run {row.get('trialRunId')}, not {wanted.get(steps)}")
        if values["step"] != steps or (group == "training" and values["loss"] != trial * 1000000 + steps):
            self.bad(f"{name}: {group} at step {steps} has the wrong values {values}")

    # ---- checkpoints

    def look_at_checkpoints(self, name, runs, checkpoints):
        listed = Counter(c["uuid"] for c in checkpoints)
        steps = {c["uuid"]: int(c["metadata"]["steps_completed"]) for c in checkpoints}
        tried = {}
        latest = 0
        for run, diary in runs.items():
            tried.update(diary.saves_tried)
            if diary.begin < latest:
                self.bad(f"{name}: run {run} began at step {diary.begin} although {latest} was acknowledged as saved")
            latest = max([latest, diary.begin, *diary.saves.values()])
            self.totals["checkpoints"] += len(diary.saves)
            for uuid, n in diary.saves.items():
                if listed[uuid] != 1 or steps[uuid] != n:
                    self.bad(f"{name}: checkpoint {uuid} of step {n} was acknowledged; it is listed {listed[uuid]} times")
                if not os.path.exists(f"{self.world.directory}/checkpoints/{uuid}/state"):
                    self.bad(f"{name}: the files of checkpoint {uuid} are gone")
        self.bad(*[f"{name}: nobody has saved checkpoint {uuid}" for uuid in listed if uuid not in tried])

    # ---- lines

    def lines(self, trial):
        reply = self.world.call("GET", f"/api/v1/trials/{trial}/logs?limit=0", timeout=120)
        for part in reply if isinstance(reply, list) else [reply]:
            found = LINE.match(part["result"].get("log", "").rstrip("\n"))
            if found:
                yield tuple(map(int, found.groups()))

    def look_at_lines(self, trial, name, runs):
        seen = defaultdict(list)
        for of, run, stream, number in self.lines(trial["id"]):
            if of != trial["id"]:
                self.bad(f"{name}: its log has a line of trial {of}")
            seen[run, stream].append(number)
        for run, diary in runs.items():
            is_lost = f"{trial['taskId']}.{run}" in self.unsupervised
            for stream in (0, 1):
                got = seen.pop((run, stream), [])
                least = (diary.kept if is_lost else diary.written)[stream]
                self.totals["lines"] += least
                what = f"{name}: run {run}, {'stderr' if stream else 'stdout'}"
                if got != list(range(1, len(got) + 1)):
                    first = next(i for i, n in enumerate(got) if n != i + 1)
                    self.bad(f"{what}: after line {first} comes line {got[first]} ({len(got)} lines)")
                if len(got) < least:
                    self.bad(f"{what}: {len(got)} lines are there, {least} were {'read' if is_lost else 'written'}")
        self.bad(*[f"{name}: nobody has written lines of run {run}" for run, _ in seen])

    # ---- once all has ended

    def is_tidy(self):
        """The agent has been told that its tasks' ends are known, and has removed their directories."""
        return not any(os.listdir(self.world.agent_data(name) + "/tasks") for name in self.world.agents)

    def look_at_rest(self):
        self.bad(*[f"{process} is left over" for process in self.world.processes()])
        outside = [] if self.world.kind == "serve" else map(self.world.agent_data, self.world.agents)
        for top in [self.world.data, *outside]:
            for directory, names, files in os.walk(top):
                if os.path.basename(directory) == "tasks":
                    self.bad(*[f"{directory}/{n} is left over" for n in names + files])
                self.bad(*[f"{directory}/{n} is left over" for n in files if ".spool." in n or ".ring" in n])
                self.bad(*[f"{directory}/{n} is still locked" for n in files if self.is_locked(f"{directory}/{n}")])
        self.look_at_database()

    def count_late(self, db):
        """Those of the undisturbed twins are in time."""
        for table, what in (("metric_tail", "count(*)"), ("metric_blocks", "coalesce(sum(count), 0)")):
            self.totals["late reports"] += db.execute(f"SELECT {what} FROM {table} WHERE run_id < 0").fetchone()[0]

    @staticmethod
    def is_locked(path):
        if not path.endswith("lock"):
            return False
        with open(path) as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                fcntl.lockf(open(path, "r+"), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
        return False

    def look_at_database(self):
        self.has_database = False
        for name in os.listdir(self.world.data):
            if not name.endswith((".db", ".sqlite")):
                continue
            with sqlite3.connect(f"{self.world.data}/{name}") as db:
                verdict = db.execute("PRAGMA integrity_check").fetchall()
                if verdict != [("ok",)]:
                    self.bad(f"{name} is damaged: {verdict[:3]}")
                self.look_at_runs(db)
                self.count_late(db)
                self.ends = db.execute("SELECT exit_reason, count(*) FROM allocations GROUP BY 1 ORDER BY 2 DESC").fetchall()
                self.has_database = True

        if not self.has_database:
            self.bad("there is no database")

    def look_at_runs(self, db):
        """Rolled-back rows too are kept: each run has all that it was told is stored, in time or late
        (src/store/metric/metric.h)."""
        for trial, runs in self.diaries.items():
            for run, diary in runs.items():
                for group in ("training", "validation"):
                    of = (trial, run, -1 - run, group)
                    where = "WHERE trial_id = ? AND run_id IN (?, ?) AND group_id = (SELECT id FROM metric_groups WHERE name = ?)"
                    tail = db.execute(f"SELECT count(*) FROM metric_tail {where}", of).fetchone()[0]
                    packed = db.execute(f"SELECT coalesce(sum(count), 0) FROM metric_blocks {where}", of).fetchone()[0]
                    taken, tried = (sum(g == group for g, _ in s) for s in (diary.taken, diary.tried))
                    if not taken <= tail + packed <= tried:
                        self.bad(f"trial {trial}: run {run} has {tail + packed} {group} rows; it tried {tried}, "
                                 f"{taken} were acknowledged")
