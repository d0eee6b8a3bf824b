# SPDX-License-Identifier: Apache-2.0
"""The faults of a campaign that kill nobody: each lasts a moment and costs nothing that was acknowledged, and no run.

FAULTS has one row per fault: its name, which worlds can have it, and the function that makes it.  A function gets the
campaign and a generator of its own, and returns when the fault is over; False: it could not be made.

    floods       one user posts large configurations on many connections
    freezes      SIGSTOP for a moment: what a machine does that swaps, or a hypervisor that moves it
    partitions   an agent and its tasks send nothing; their connections stay open.  In a network namespace, by nftables
    full disks   the master's disk, a tmpfs, has no room for a moment
    low limits   master or agent cannot open another file or connection
    deletions    files that the platform does not need while it runs are deleted under it

Partitions and full disks need namespaces (enter_namespaces()), so root; without it they are left out, and said to be.
"""
import http.client
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

GROUP = 60001  # the Unix group of the first agent, by which nftables knows its packets
DISK_MB = 400
ENTERED = "CAMPAIGN_IS_IN_NAMESPACES"
DELETED = ("master.json", "master.lock", "agent/lock", "agent.json")  # below the data directories; not all are everywhere


# ---- namespaces

def enter_namespaces():
    """Executes this program again with a network and mounts of its own; returns there, or where that is impossible."""
    if ENTERED in os.environ:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        subprocess.run(["nft", "add table inet cut; add chain inet cut out { type filter hook output priority 0; }"], check=True)
    elif os.geteuid() == 0 and all(map(shutil.which, ("nft", "ip", "unshare", "setpriv", "mount"))):
        os.environ[ENTERED] = "1"
        os.execvp("unshare", ["unshare", "--net", "--mount", sys.executable, *sys.argv])


def has_namespaces(_world=None):
    return ENTERED in os.environ


def agent_prefix(index):
    """Words before the command of that agent: it gets the group that partition() cuts off."""
    return ["setpriv", "--regid", str(GROUP + index), "--keep-groups"] if has_namespaces() else []


def mount_disk(directory):
    os.makedirs(directory)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=700", "tmpfs", directory], check=True)


# ---- what goes wrong

def flood(campaign, rng):
    """In a process of its own: the campaign itself must not become slow."""
    world = campaign.world
    seconds, connections = 1 + 2 * rng.random(), rng.choice([4, 12, 24])
    campaign.say(f"flood of {connections} connections")
    # check=False: it fails if the master is down meanwhile
    done = subprocess.run([sys.executable, os.path.abspath(__file__), str(world.port), str(seconds), str(connections)],
                          timeout=120, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return int(done.stdout or 0) > 0 or not answers(world.port)


def answers(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        connection.getresponse().read()
        return True
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def send_flood(port, seconds, connections):
    """As another user than the campaign's: whose own calls may wait.  Prints how many answers came, of any status."""
    login = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    login.request("POST", "/api/v1/auth/login", json.dumps({"username": "admin", "password": ""}))
    token = json.load(login.getresponse())["token"]
    config = "".join(f"  h{i}: {{type: double, minval: 0, maxval: {i + 1}}}\n" for i in range(60000))
    body = json.dumps({"config": "hyperparameters:\n" + config}).encode()
    end = time.monotonic() + seconds
    answered = []

    def send():
        while time.monotonic() < end:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            try:
                connection.request("POST", "/api/v1/det/check", body, {"Authorization": "Bearer " + token})
                answer = connection.getresponse()
                answer.read()
                answered.append(answer.status)
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)  # refused, or the master is away
            finally:
                connection.close()

    threads = [threading.Thread(target=send) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(answered))


def freeze(campaign, rng):
    role = rng.choice(["master", "agent", "supervisor", "trial"])
    victims = campaign.victims(role, rng.random(), rng.random() < 0.3)
    seconds = rng.choice([0.1, 1, 3]) * rng.random()
    campaign.say(f"freeze of {[str(v) for v in victims]}")
    for process in victims:
        campaign.world.signal(process, signal.SIGSTOP)
    time.sleep(seconds)
    for process in victims:
        campaign.world.signal(process, signal.SIGCONT)


def group_of(pid):
    """None: it has ended."""
    try:
        with open(f"/proc/{pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("Gid:"))
    except OSError:
        return None


def cut(index):
    rule = f"add rule inet cut out meta skgid {GROUP + index} drop"
    subprocess.run(["nft", rule], check=True)


def join():
    subprocess.run(["nft", "flush chain inet cut out"], check=True)


def partition(campaign, rng):
    index = rng.randrange(len(campaign.world.agents))
    tasks = campaign.world.tasks_of(campaign.world.agents[index])
    campaign.say(f"agent {campaign.world.agents[index]} is cut off, with {len(tasks)} processes of its tasks")
    if any(group_of(process.pid) not in (GROUP + index, None) for process in tasks):
        raise AssertionError("a task has another group than its agent and would not be cut off")
    cut(index)
    time.sleep(rng.choice([0.5, 2, 5]) * rng.random())
    join()


def fill_disk(campaign, rng):
    path = campaign.world.data + "/filler"
    campaign.say("the master's disk is full")
    with open(path, "wb", buffering=0) as f:
        for size in (1 << 20, 4096, 1):
            try:
                while f.write(bytes(size)):
                    pass
            except OSError:
                continue  # not even one of the next smaller size
    time.sleep(rng.choice([0.3, 3]) * rng.random())
    os.unlink(path)


def lower_limit(campaign, rng):
    role = rng.choice(["master", "agent"])
    old = {}
    for process in campaign.victims(role, rng.random(), False):
        try:
            used = len(os.listdir(f"/proc/{process.pid}/fd"))
            old[process.pid] = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (used, old[process.pid][1]))
            campaign.say(f"{process} can open no file")
        except OSError:
            pass  # it has just ended
    time.sleep(rng.choice([0.2, 2]) * rng.random())
    for pid, limits in old.items():
        try:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        except OSError:
            pass


def delete_files(campaign, rng):
    world = campaign.world
    places = [world.data, *map(world.agent_data, world.agents)]
    there = sorted({path for place in places for path in (f"{place}/{name}" for name in (*DELETED, "lock")) if os.path.exists(path)})
    if there:
        path = rng.choice(there)
        campaign.say(f"{path} is deleted")
        os.unlink(path)


FAULTS = (  # name, may a world have it, how it is made
    ("flood", lambda world: True, flood),
    ("freeze", lambda world: True, freeze),
    ("partition", lambda world: has_namespaces() and world.kind != "serve", partition),
    ("full disk", lambda world: has_namespaces() and world.kind != "serve", fill_disk),  # its agent's spools are elsewhere
    ("low limit", lambda world: True, lower_limit),
    ("deletion", lambda world: True, delete_files),
)


class Faults:
    """Draws faults and makes them, in turn, so that a short campaign has each kind."""

    def __init__(self, campaign, rng):
        self.campaign, self.rng = campaign, rng
        self.made = []  # names
        self.left_out = [name for name, may, _ in FAULTS if not may(campaign.world)]
        self.turn = []

    def make_one(self):
        if not self.turn:
            self.turn = [row for row in FAULTS if row[0] not in self.left_out]
            self.rng.shuffle(self.turn)
        name, _, make = self.turn.pop()
        if make(self.campaign, self.rng) is not False:
            self.made.append(name)

    def summary(self):
        counts = ", ".join(f"{self.made.count(name)} {name}" for name, _, _ in FAULTS if name in self.made)
        left = f"; left out here: {', '.join(self.left_out)}" if self.left_out else ""
        return (counts or "none") + left


if __name__ == "__main__":
    send_flood(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
