# SPDX-License-Identifier: Apache-2.0
"""What the check of rights and the counting cost a report of metrics: each itself, and the mode with roles."""
import os
import statistics

from cluster import Cluster
from trial_side import REPORT, ROUNDS


def processor_us(pid):
    """Processor time of a process, all threads."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


def as_editor(cluster):
    """Mode rbac: gives the user that reports a role, or it may start nothing."""
    user = cluster.token
    cluster.token = cluster.call("POST", "/api/v1/auth/login", {"username": "admin", "password": ""})["token"]
    role = {"role": {"roleId": 5}, "scopeWorkspaceId": 1}
    cluster.call("POST", "/api/v1/roles/add-assignments", {"userRoleAssignments": [{"userId": 2, "roleAssignment": role}]})
    cluster.token = user


def section_rights(b):
    config = b.fresh("rbac") + ".yaml"
    with open(config, "w") as f:
        f.write("security: {authz: {type: rbac}}\n")
    places, rounds, costs = [], [], []
    with Cluster(b.det, b.fresh("basic")) as basic, \
            Cluster(b.det, b.fresh("rbac"), options=["--config", config]) as rbac:
        as_editor(rbac)
        for cluster in (basic, rbac):
            trial, _, token = cluster.running_trial()
            places.append([cluster, trial, token, 1])
        for _ in range(ROUNDS):
            rates = []
            for place in places:
                cluster, trial, token, number = place
                before = processor_us(cluster.process.pid)
                rate, _, _, place[3] = b.run("bench_http", cluster.port, 64, 0.7, int(number),
                                             f"/api/v1/trials/{trial}/metrics", token, REPORT % (trial, 1))
                rates.append(rate)
                if cluster is basic:
                    costs.append((processor_us(cluster.process.pid) - before) / (place[3] - number))
            rounds.append(rates)
    with_check, without = b.run("bench_access")
    check, report = with_check - without, statistics.median(costs) * 1e3
    b.row("the check of a report's rights", f"{check:.0f} ns", f"{report / 1e3:.1f} us a report",
          f"{100 * check / report:.2f} %", "<= 1 %", check <= report / 100)
    count = b.run("bench_meters")[0]
    b.row("the metrics of a report", f"{count:.0f} ns", f"{report / 1e3:.1f} us a report",
          f"{100 * count / report:.2f} %", "<= 1 %", count <= report / 100)
    basic, rbac = (statistics.median(column) for column in zip(*rounds))
    share = statistics.median(with_roles / without for without, with_roles in rounds)
    b.row("durable reports in mode rbac, 64 connections", f"{rbac:,.0f}/s", f"{basic:,.0f}/s in mode basic", f"{share:.2f}",
          ">= 0.90", share >= 0.9)
