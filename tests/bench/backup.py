# SPDX-License-Identifier: Apache-2.0
"""The section `backup` of tools/bench: a backup of a large database while 64 senders report.

BACKUP_GB says how large (10); the disk needs four times as much.  Backup and cp are measured in turns, each while
the same senders report, and each until its bytes are on disk."""
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import time

from cluster import Cluster
from trial_side import REPORT

ROUNDS = 3
PIECE = 1 << 20


def fill(path, size):
    """Rows of random bytes, each at another place of the same noise: no two chunks are equal."""
    noise = os.urandom(64 * PIECE)
    place = random.Random(1)
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    for first in range(0, size, 256 * PIECE):
        db.executemany("INSERT INTO experiment_files (id, files) VALUES (?, ?)",
                       ((-1 - n, noise[at:at + PIECE])
                        for n in range(first // PIECE, min(first + 256 * PIECE, size) // PIECE)
                        for at in (place.randrange(63 * PIECE),)))
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


class Senders:
    def __init__(self, b, cluster):
        trial, _, token = cluster.running_trial()
        self.b, self.number = b, 1
        self.what = (f"/api/v1/trials/{trial}/metrics", token, REPORT % (trial, 1))
        self.port = cluster.port

    def rate(self, seconds):
        rate, _, _, self.number = self.b.run("bench_http", self.port, 64, seconds, int(self.number), *self.what)
        return rate

    def while_running(self, command):
        """Seconds that the command took, and reports a second meanwhile."""
        rates, start = [], time.monotonic()
        process = subprocess.Popen(command, shell=True, stdout=subprocess.DEVNULL)
        while process.poll() is None:
            try:
                rates.append(self.rate(0.7))
            except subprocess.CalledProcessError:  # nothing was answered: cp keeps the disk busy
                rates.append(0)
        took = time.monotonic() - start
        if process.returncode:
            raise RuntimeError(f"{command} ended with {process.returncode}")
        return took, statistics.mean(rates)


def section_backup(b):
    directory = b.fresh("backup")
    size = min(int(float(os.environ.get("BACKUP_GB", "10")) * 1e9), shutil.disk_usage(b.work).free // 5)
    with Cluster(b.det, directory, slots=0):
        pass
    fill(directory + "/det.db", size)
    rounds, later = [], []
    vault, copy = directory + ".vault", directory + ".copy"
    with Cluster(b.det, directory) as cluster:
        senders = Senders(b, cluster)
        senders.rate(1)
        for _ in range(ROUNDS):
            before = senders.rate(3)
            cp, _ = senders.while_running(f"cp {directory}/det.db {copy} && sync {copy}")
            os.remove(copy)
            between = senders.rate(3)
            ours, rate = senders.while_running(f"{b.det} backup {vault} --data-dir {directory}")
            later.append(senders.while_running(f"{b.det} backup {vault} --data-dir {directory}")[0])
            shutil.rmtree(vault)
            rounds.append((cp, ours, rate, (before + between) / 2))
    os.remove(directory + "/det.db")
    cp, ours, rate, quiet = (statistics.median(column) for column in zip(*rounds))
    ratio = statistics.median(row[0] / row[1] for row in rounds)
    share = statistics.median(row[2] / row[3] for row in rounds)
    b.row(f"backup of {size / 1e9:.0f} GB while 64 senders report", f"{size / ours / 1e6:,.0f} MB/s",
          f"{size / cp / 1e6:,.0f} MB/s cp, sync", f"{ratio:.2f}", ">= 0.60", ratio >= 0.6)
    b.row("  reports meanwhile", f"{rate:,.0f}/s", f"{quiet:,.0f}/s without it", f"{share:.2f}", ">= 0.70", share >= 0.7)
    b.row("  the next backup, almost nothing changed", f"{statistics.median(later):.1f} s", f"{ours:.1f} s the first",
          f"{statistics.median(later) / ours:.2f}", "-", None)
