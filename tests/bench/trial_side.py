# SPDX-License-Identifier: Apache-2.0
"""Sections of tools/bench: what a training program says, and how it reaches the disk."""
import os
import statistics
import subprocess
import time

from cluster import Cluster, free_port

ROUNDS = 9
REPORT = ('{"metrics":{"trialId":%d,"trialRunId":%d,"stepsCompleted":@,"reportTime":"2026-01-01T00:00:00.000Z",'
          '"metrics":{"avgMetrics":{"loss":0.6931471805,"accuracy":0.7512345,"lr":0.00123,"grad_norm":1.23456789,'
          '"seconds":12.5}}},"group":"training"}')


def bare_server(b, connections, body):
    """Reports a second of a server that only finds the end of each request and commits its row."""
    port = free_port()
    server = subprocess.Popen([b.program("bench_floor"), "serve", b.work + "/floor.db", str(port), "10"],
                              stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    rate = b.run("bench_http", port, connections, 0.7, 1, "/", "-", body)[0]
    server.kill()
    server.wait()
    return rate


def section_reports(b):
    with Cluster(b.det, b.fresh("reports")) as cluster:
        trial, _, token = cluster.running_trial()
        body, path, number = REPORT % (trial, 1), f"/api/v1/trials/{trial}/metrics", 1
        for connections in (8, 64):
            rounds = []
            for _ in range(ROUNDS):
                floor = b.run("bench_floor", "rows", b.work + "/floor.db", connections, 0.7)[0]
                rate, _, _, number = b.run("bench_http", cluster.port, connections, 0.7, int(number), path, token, body)
                rounds.append((rate, floor, bare_server(b, connections, body)))
            rate, floor, bare = (statistics.median(column) for column in zip(*rounds))
            ratio = statistics.median(mine / floor for mine, floor, _ in rounds)
            share = statistics.median(mine / bare for mine, _, bare in rounds)
            b.row(f"durable reports, {connections} connections", f"{rate:,.0f}/s", f"{floor:,.0f}/s bare SQLite",
                  f"{ratio:.2f}", ">= 0.60", ratio >= 0.6)
            b.row("  beside a bare server on the same machine", f"{rate:,.0f}/s", f"{bare:,.0f}/s HTTP, SQLite",
                  f"{share:.2f}", "-", None)
            b.against_peer("  beside MLflow's log_batch", rate, "/s", f"mlflow_batches_{connections}", 100, True)


def section_tls(b):
    """The same reports with and without TLS, in turns: what else runs here disturbs both."""
    places, rounds = [], []
    with Cluster(b.det, b.fresh("plain")) as plain, Cluster(b.det, b.fresh("tls"), is_tls=True) as secure:
        for cluster in (plain, secure):
            trial, _, token = cluster.running_trial()
            places.append([f"{'tls:' if cluster.is_tls else ''}{cluster.port}", trial, token, 1])
        for _ in range(ROUNDS):
            rates = []
            for place in places:
                port, trial, token, number = place
                rate, _, _, place[3] = b.run("bench_http", port, 64, 0.7, int(number),
                                             f"/api/v1/trials/{trial}/metrics", token, REPORT % (trial, 1))
                rates.append(rate)
            rounds.append(rates)
    plain, secure = (statistics.median(column) for column in zip(*rounds))
    share = statistics.median(with_tls / without for without, with_tls in rounds)
    b.row("durable reports over TLS, 64 connections", f"{secure:,.0f}/s", f"{plain:,.0f}/s without TLS", f"{share:.2f}",
          ">= 0.70", share >= 0.7)


def section_ring(b):
    report, clock, ratio = b.run("bench_ring", b.fresh("ring"))
    b.row("a report of 5 scalars on the training thread", f"{report:.0f} ns", f"{clock:.1f} ns clock_gettime",
          f"{ratio:.1f} x", "<= 25 x", ratio <= 25)


def section_drain(b):
    ours, floors, first = [], [], 1
    with Cluster(b.det, b.fresh("drain")) as cluster:
        _, allocation, token = cluster.running_trial()
        ring = b.fresh("drain-ring")
        for _ in range(ROUNDS):
            floors += b.run("bench_floor", "batch", b.work + "/floor.db", 1000, 0.7)
            ours += b.run("bench_drain", ring, cluster.port, allocation, token, first, 100000)
            first += 100000
    ratio = statistics.median(mine / floor for mine, floor in zip(ours, floors))
    b.row("durable reports, through the ring", f"{statistics.median(ours):,.0f}/s",
          f"{statistics.median(floors):,.0f}/s bare SQLite", f"{ratio:.2f}", ">= 0.50", ratio >= 0.5)


def section_libdet(b):
    clock, report, ratio = b.run("bench_libdet", "report", b.fresh("libdet"), 2000)
    b.row("one report on the training thread", f"{report:.0f} ns", f"{clock:.0f} ns clock_gettime", f"{ratio:.1f} x",
          "<= 25 x", ratio <= 25)


def section_checkpoint(b):
    rounds = [b.run("bench_libdet", "checkpoint", b.fresh("checkpoint"), 1024) for _ in range(5)]
    floor = statistics.median(r[0] for r in rounds)
    for place, what in ((1, "put from memory"), (2, "written as a file")):
        share = statistics.median(r[0] / r[place] for r in rounds)
        speed = 1 / statistics.median(r[place] for r in rounds)
        b.row(f"checkpoint of 1 GiB, {what}", f"{speed:.2f} GiB/s", f"{1 / floor:.2f} GiB/s write, fdatasync",
              f"{share:.2f}", ">= 0.90", share >= 0.9)
    rounds = []
    for _ in range(3):
        folder = b.fresh("many")
        save = b.run("bench_libdet", "many", folder, 10000)[0]
        begun = time.monotonic()
        subprocess.run(["cp", "-r", folder + "/tree", folder + "/copy"], check=True)
        subprocess.run(["sync"], check=True)
        rounds.append((time.monotonic() - begun, save))
    copy, save = (statistics.median(column) for column in zip(*rounds))
    share = statistics.median(r[0] / r[1] for r in rounds)
    b.row("checkpoint of 10,000 files", f"{save:.2f} s", f"{copy:.2f} s cp -r and sync", f"{share:.2f}", ">= 0.70",
          share >= 0.7)
    section_overlap(b)


def copy_s(folder):
    """Seconds that cp takes for 1 GiB that is in memory already, until it is on disk."""
    os.makedirs(folder)
    source = os.path.join(folder, "source")
    with open(source, "wb") as file:
        for _ in range(64):
            file.write(os.urandom(1 << 16) * 256)
        os.fsync(file.fileno())
    begun = time.monotonic()
    subprocess.run(["cp", "--reflink=never", source, source + "-copy"], check=True)
    subprocess.run(["sync", source + "-copy"], check=True)
    return time.monotonic() - begun


def section_overlap(b):
    rounds, copies = [], []
    for _ in range(3):
        rounds.append(b.run("bench_libdet", "overlap", b.fresh("overlap"), 1024))
        copies.append(copy_s(b.fresh("overlap-cp")))
    copy, cold, warm, held, whole = (statistics.median(column) for column in zip(*rounds))
    ratio = statistics.median(r[3] / r[0] for r in rounds)
    first = statistics.median(r[2] / r[0] for r in rounds)
    b.row("training held by a checkpoint of 1 GiB", f"{held * 1000:.0f} ms", f"{copy * 1000:.0f} ms memcpy",
          f"{ratio:.2f} x", "<= 1.5 x", ratio <= 1.5)
    b.row("  by the first, with memory reserved", f"{warm * 1000:.0f} ms", f"{cold * 1000:.0f} ms without",
          f"{first:.2f} x", "<= 1.5 x", first <= 1.5)
    share = statistics.median(c / r[4] for c, r in zip(copies, rounds))
    b.row("  until it is whole, in the background", f"{whole:.2f} s", f"{statistics.median(copies):.2f} s cp, sync",
          f"{share:.2f}", ">= 0.90", share >= 0.9)
