#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A crash campaign: searches run, reports and log lines come as fast as they can, and master, agent,
supervisors and trials are killed with SIGKILL at any moment, alone and together.  Other faults
(faults.py: floods, freezes, partitions, full disks, low limits, deleted files) come between the kills.
Then everything that was acknowledged must be there, once, and nothing else may be left (check.py).
A campaign with faults and without kills must not cost a single run.

    campaign.py --det DET --trial PROGRAM [--seed N] [--kills N] [--faults N] [--dir DIR] [--keep]

The seed decides what is killed when and how it is started again, and which searches run; it is
printed.  The machine's own timing is not in it: a failure that a seed has shown once may take a few
tries to come again.  Ends with 0 when all is well; else DIR is kept.
"""
import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

sys.dont_write_bytecode = True
import check
import faults
from world import ROLES, World

LONG_S = 15  # until an agent is silent, and its trials are given up

SCRIPT = """#!/bin/sh
# The same as trial.c in little, by det report; it has no checkpoints and begins anew.
diary=$CAMPAIGN_DIR/diary/$DET_TRIAL_ID.$DET_TRIAL_RUN_ID
echo "b 0 -" >>"$diary"
wait=
det report --help | grep -q -e --wait && wait=--wait
n=0
report() {
    echo "t $1 $n" >>"$diary"
    until det report --steps $n $3 --group $1 loss=$2 step=$n; do
        case $? in 2 | 3 | 4 | 5) echo "x refused" >>"$diary"; exit 3 ;; esac
        sleep 0.05
    done
    echo "m $1 $n" >>"$diary"
}
while [ $n -lt $STEPS ]; do
    n=$((n + 1))
    echo "line $DET_TRIAL_ID $DET_TRIAL_RUN_ID 0 $n"
    echo "w $n 0" >>"$diary"
    report training $((DET_TRIAL_ID * 1000000 + n)) "$([ $((n % 8)) != 1 ] || echo $wait)"
    sleep ${PAUSE_S:-0}
done
report validation $(det hparam lr) $wait
echo e >>"$diary"
"""


class Searches:
    """Sees to it that a few experiments run as long as the kills go on, and that some are paused
    for a while; a thread of its own, so that its calls too may be hit."""

    def __init__(self, world, args, rng):
        self.world, self.args, self.rng = world, args, rng
        self.is_slow = False  # some trials take long
        self.acknowledged = {}  # name: number
        self.count = 0
        self.is_over = False
        self.trouble = []
        self.thread = threading.Thread(target=self.work, daemon=True)

    def config(self, count, steps):
        """The search of that count; the same each time, and for a twin of few steps."""
        if count % 2:
            steps = max(2, steps // 8)  # beginnings and ends are interesting too
        env = [f"CAMPAIGN_DIR={self.world.directory}", f"STORAGE={self.world.directory}/checkpoints",
               f"STEPS={steps}", f"EVERY={max(1, steps // 8)}", "LINES=20"]
        config = {
            "entrypoint": self.args.trial,
            "max_restarts": 100,
            "environment": {"environment_variables": env},
            "reproducibility": {"experiment_seed": self.args.seed * 10 + count},
            "checkpoint_storage": {"type": "shared_fs", "host_path": self.world.directory + "/checkpoints",
                                   "save_experiment_best": 1000, "save_trial_best": 1000, "save_trial_latest": 1000},
            "searcher": {"name": "random", "metric": "loss", "max_trials": 4, "max_concurrent_trials": 2},
            "hyperparameters": {"lr": {"type": "double", "minval": 0, "maxval": 1}},
        }
        if count % 3 == 1:
            config["searcher"] = {"name": "grid", "metric": "loss", "max_concurrent_trials": 2}
            config["hyperparameters"] = {"lr": {"type": "int", "minval": 1, "maxval": 4, "count": 4}}
        if count % 3 == 2:
            config["entrypoint"] = "./trial.sh"
            config["searcher"].update(max_trials=2)
            config["environment"]["environment_variables"][2] = f"STEPS={max(2, steps // 20)}"
        if self.is_slow and count % 4 == 0:  # outlasts an agent that is given up
            config["environment"]["environment_variables"].append("PAUSE_MS=10" if steps > 2 else "PAUSE_MS=0")
        if self.is_slow and count % 3 == 2 and steps > 2:
            config["environment"]["environment_variables"].append("PAUSE_S=0.2")
        return config

    def submit(self, name, count, steps):
        return self.world.submit(name, self.config(count, steps), {"trial.sh": SCRIPT})

    def steer(self, alive):
        """Now and then one is paused, and those that are go on again."""
        for e in alive:
            if e["state"] in ("STATE_PAUSED", "PAUSED"):
                self.order(e, "activate")
        if alive and self.args.kills and self.rng.random() < 0.05 and not self.is_over:
            self.order(self.rng.choice(alive), "pause")

    def order(self, experiment, word):
        try:
            self.world.call("POST", f"/api/v1/experiments/{experiment['id']}/{word}")
        except RuntimeError as e:
            if "terminal state" not in str(e):  # it may have ended meanwhile
                raise

    def work(self):
        while not self.is_over:
            try:
                alive = [e for e in self.world.experiments() if not check.is_over(e)]
                self.steer(alive)
                if len(alive) < 4:
                    self.count += 1
                    name = f"search-{self.count - 1}"
                    self.acknowledged[name] = self.submit(name, self.count - 1, self.args.steps)
            except OSError:
                pass  # killed; whether it was taken will be seen
            except RuntimeError as e:
                self.trouble.append(f"the master refused: {e}")
                return
            time.sleep(0.1)


class Campaign:
    def __init__(self, args):
        self.args = args
        self.rng = random.Random(args.seed)
        kind = self.rng.choice(["serve", "services", "agents"])
        wait = self.rng.choice([25, 25, 25, 1])
        if args.faults and not args.kills:
            wait = 25  # nobody is given up
        self.is_impatient = kind == "agents" and wait == 1
        self.pace = self.rng.choice([0.3, 1.0, 2.0])
        config = {"resource_pools": [{"pool_name": "default", "agent_reconnect_wait": wait}]}
        self.world = World(args.det, args.dir, kind, config, port_from=self.rng.randrange(20000, 31000))
        if args.faults and faults.has_namespaces() and kind != "serve":
            faults.mount_disk(self.world.data)
        self.searches = Searches(self.world, args, random.Random(args.seed))
        self.searches.is_slow = self.is_impatient
        self.kills = []  # (role, what it worked on)
        self.faults = faults.Faults(self, random.Random(f"faults {args.seed}"))  # the plan of the kills stays as it was
        print(f"seed {args.seed}: {args.kills} kills, {args.faults} faults, {kind}, agent_reconnect_wait {wait} s, in {args.dir}", flush=True)

    def say(self, text):
        if self.args.verbose:
            print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)

    # ---- one round

    def plan(self):
        """All that chance decides in a round, drawn at once, so that it is the seed's alone."""
        r = self.rng
        return {
            "before": r.choice([0.02, 0.2, 1.0]) * r.random() * 2 * self.pace,
            "roles": r.sample(ROLES, r.choices([1, 2, 3, 4], [55, 25, 12, 8])[0]),
            "which": [r.random() for _ in ROLES],
            "all": [r.random() < 0.2 for _ in ROLES],
            "between": [r.choice([0, 0, 0.03, 0.2]) * r.random() for _ in ROLES],
            "away": r.choice([0, 0.3, 1.5, 5]) * r.random(),
            "order": r.sample(["master", "agent"], 2),
            "gap": r.choice([0, 0.5]) * r.random(),
            "is_hasty": r.random() < 0.3,  # go on before they are up
            "ambush": r.choice(ROLES) if r.random() < 0.3 else None,  # kill the next of these to begin
            "after": r.choice([0, 0.01, 0.05]) * r.random(),  # ... so much later
            "is_blackout": r.random() < 0.05,  # everything at once
            "is_long": r.random() < 0.3,  # one of two agents is cut off until its trials have gone to the other
        }

    def victims(self, role, which, is_all):
        there = [p for p in self.world.processes() if p.role == role]
        if not there or (is_all and role in ("supervisor", "trial")):
            return there
        return [there[int(which * len(there))]]

    def kill(self, process):
        victim = self.world.kill(process) if len(self.kills) < self.args.kills else None
        if victim:
            self.say(f"killed {victim}{'' if victim.role == process.role else ', which looked like ' + process.role}")
            self.kills.append((victim.role, victim.of()))

    def pids(self):
        return {p.pid for p in self.world.processes()}

    def ambush(self, role, after, known):
        """Kills the next process of that role, if one comes."""
        until = time.monotonic() + 1
        while time.monotonic() < until:
            new = [p for p in self.world.processes() if p.role == role and p.pid not in known]
            if new:
                time.sleep(after)
                return self.kill(new[0])

    def cut_off(self, name, trains):
        """What a network that fails does: the agent is away and its tasks stand still until others
        have been started in their place; then they go on, and must learn that nobody wants them.
        `trains`: only their supervisors stand still, and the rings fill."""
        self.wait_until_up()
        self.world.wait_for(lambda: self.world.tasks_of(name), 5)
        for process in self.world.processes():
            if process.role == "agent" and self.world.agent_data(name) in process.args:
                self.kill(process)
        tasks = [p for p in self.world.tasks_of(name) if p.role == "supervisor" or not trains]
        self.say(f"agent {name} is cut off, with {len(tasks)} processes of its tasks")
        for process in tasks:
            self.world.signal(process, signal.SIGSTOP)
        time.sleep(LONG_S)
        for process in tasks:
            self.world.signal(process, signal.SIGCONT)

    def fault(self):
        """One of faults.py.  Without kills, it begins on a platform that is up, and ends before anybody is given up."""
        if not self.args.kills:
            self.wait_until_up()
            self.world.wait_for(lambda: any(p.role == "trial" for p in self.world.processes()), 30)
        self.faults.make_one()

    def round(self):
        plan = self.plan()
        time.sleep(plan["before"])
        if plan["is_long"] and self.is_impatient:
            self.cut_off(self.world.agents[int(plan["which"][0] * 2)], plan["which"][1] < 0.5)
        if plan["ambush"] in ("supervisor", "trial"):
            self.ambush(plan["ambush"], plan["after"], self.pids())
        if plan["is_blackout"]:
            for process in self.world.processes():
                self.kill(process)
        for i, role in enumerate(plan["roles"]):
            for process in self.victims(role, plan["which"][i], plan["all"][i]):
                self.kill(process)
            time.sleep(plan["between"][i])
        time.sleep(plan["away"])
        for role in plan["order"]:
            known = self.pids()
            self.world.start(role)
            if plan["ambush"] == role:
                self.ambush(role, plan["after"], known)
            time.sleep(plan["gap"])
        if not plan["is_hasty"]:
            self.wait_until_up()

    def wait_until_up(self):
        def look():
            for role in ("master", "agent"):
                self.world.start(role)
            return self.world.is_up()

        if not self.world.wait_for(look, 180):
            raise TimeoutError("the platform does not come up again")

    # ---- the whole

    def run(self):
        for name in ("diary", "checkpoints"):
            os.makedirs(f"{self.args.dir}/{name}", exist_ok=True)
        self.wait_until_up()
        self.searches.thread.start()
        began = time.monotonic()
        while len(self.kills) < self.args.kills or len(self.faults.made) < self.args.faults:
            if len(self.faults.made) < self.args.faults:
                self.fault()
            if len(self.kills) < self.args.kills:
                self.round()
            if time.monotonic() - began > self.args.patience + 10 * (self.args.kills + self.args.faults):
                raise TimeoutError("the kills do not get on")
        self.searches.is_over = True
        self.wait_until_up()
        self.searches.thread.join(180)
        self.wait_until_up()
        return time.monotonic() - began

    def wait_for_end(self):
        def look():
            for role in ("master", "agent"):
                self.world.start(role)
            try:
                alive = [e for e in self.world.experiments() if not check.is_over(e)]
                self.searches.steer(alive)
                return not alive
            except OSError:
                return False

        return self.world.wait_for(look, self.args.patience)

    def twins(self):
        """The same searches, undisturbed and short: {name: its number}."""
        names = [e["name"] for e in self.world.experiments()]
        return {name: self.submit_twin(name) for name in names}

    def submit_twin(self, name):
        return self.searches.submit(name + "-twin", int(name.split("-")[1]), 2)

    def tamper(self):
        """Takes away and falsifies a little behind the platform's back, to see that it is noticed."""
        self.world.wait_for(lambda: check.is_packed(self.world.data + "/det.db"), 30)
        self.world.stop()
        check.tamper(self.world.data + "/det.db")
        self.world.is_stopping = False
        self.wait_until_up()

    def judge(self):
        judge = check.Judge(self.world, self.kills, self.searches.acknowledged)
        judge.may_lose_runs = bool(self.args.kills)
        judge.problems += self.searches.trouble
        if not self.wait_for_end():
            judge.say_who_is_stuck()
        else:
            twins = self.twins()
            if not self.wait_for_end():
                judge.say_who_is_stuck()
            else:
                if self.args.tamper:
                    self.tamper()
                judge.look_at_all(twins)
        self.world.wait_for(judge.is_tidy, 120)
        self.world.stop()
        judge.look_at_rest()
        judge.problems += self.world.ends
        return judge


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--det", default=os.environ.get("DET", "build/det"))
    parser.add_argument("--trial", default=os.environ.get("CAMPAIGN_TRIAL"))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1000000))
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--faults", type=int, default=0, help="faults that kill nobody (default: none)")
    parser.add_argument("--steps", type=int, default=2000, help="of a long trial (default: 2000)")
    parser.add_argument("--patience", type=int, default=240, help="seconds for the searches to end (default: 240)")
    parser.add_argument("--dir", help="where to put everything (default: a temporary directory)")
    parser.add_argument("--tamper", action="store_true", help="damage the result; succeed if that is noticed")
    parser.add_argument("--keep", action="store_true", help="keep it when all is well")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    args.det = os.path.abspath(args.det)
    args.trial = os.path.abspath(args.trial or os.path.dirname(args.det) + "/tests/campaign/campaign_trial")
    return args


def main():
    args = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if args.faults:
        faults.enter_namespaces()
    args.dir = os.path.abspath(args.dir or tempfile.mkdtemp(prefix="det-campaign."))
    campaign = Campaign(args)
    problems = ["it was broken off"]
    try:
        seconds = campaign.run()
        judge = campaign.judge()
        problems = check.unnoticed(judge.problems) if args.tamper else judge.problems
        count = {role: sum(k[0] == role for k in campaign.kills) for role in ROLES}
        print(f"kills in {seconds:.0f} s: " + ", ".join(f"{n} {role}" for role, n in count.items()))
        if args.faults:
            print(f"faults: {campaign.faults.summary()}")
        print("runs ended because: " + ", ".join(f"{why} ({n})" for why, n in judge.ends))
        print(f"acknowledged: {judge.summary()}")
    except TimeoutError as e:
        problems = [str(e)]
        if args.verbose:
            traceback.print_exc()
    finally:
        for problem in problems[:40]:
            print("PROBLEM", problem)
        left = campaign.world.processes()
        for process in left:
            campaign.world.kill(process)
        if problems:
            if os.path.ismount(campaign.world.data):  # the mount ends with us
                shutil.copytree(campaign.world.data, args.dir + "/data-kept", dirs_exist_ok=True)
            print(f"{len(problems)} problems with --seed {args.seed}; see {args.dir}")
        elif not args.keep:
            shutil.rmtree(args.dir, ignore_errors=True)
    sys.exit(1 if problems else 0)


main()
