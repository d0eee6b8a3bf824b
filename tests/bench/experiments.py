# SPDX-License-Identifier: Apache-2.0
"""The table of experiments over HTTP: a page of 50 among 100,000, beside the same among 1,000."""
import http.client
import json
import statistics
import subprocess
import time

from cluster import Cluster

SIZES = (1000, 100000)
ROUNDS = 31
LIMIT_MS = 10
ADDRESS = "/api/v1/det/experiments?limit=50&"
QUESTIONS = {
    "newest first": ("sort=-id",),
    "next page": ("sort=-id&offset=50", "sort=bestMetric&offset=-500"),
    "sort": ("sort=name", "sort=-bestMetric", "sort=owner", "sort=-duration", "sort=checkpointSize"),
    "filter": ("states=ERROR", "users=admin&searcher=random", "labels=paper&pool=gpu"),
    "search": ("search=mnist", "search=run-77", "search=qqqq", "search=e"),
    "hyperparameters and metrics": ("sort=-validation.accuracy&columns=name,hp.lr,validation.f1", "sort=hp.optimizer", "query=validation_loss%3C0.3%20and%20lr%3E=1e-3%20and%20label:paper",
                                    "by=hp.optimizer&by=hp.net.depth&metrics=validation.accuracy"),
}


class Asker:
    def __init__(self, cluster):
        self.connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=60)
        self.head = {"Authorization": f"Bearer {cluster.token}"}

    def ask(self, path, method="GET", body=None):
        """Milliseconds, and the answer."""
        began = time.perf_counter()
        self.connection.request(method, path, body and json.dumps(body), self.head)
        reply = self.connection.getresponse()
        text = reply.read()
        took = (time.perf_counter() - began) * 1e3
        assert reply.status == 200, text
        return took, json.loads(text)


def section_table(b):
    directories = [b.fresh(f"table-{size}") for size in SIZES]
    for directory, size in zip(directories, SIZES):
        subprocess.run([b.program("bench_table"), "make", directory, str(size)], check=True)
    with Cluster(b.det, directories[0], slots=0) as few, Cluster(b.det, directories[1], slots=0) as many:
        askers = [Asker(few), Asker(many)]
        first = [asker.ask(ADDRESS + "sort=-id")[0] for asker in askers]
        b.row("table of 100,000 experiments: the first look", f"{first[1]:.0f} ms", f"{first[0]:.1f} ms at 1,000", "-", "<= 1 s", first[1] <= 1000)
        for what, questions in QUESTIONS.items():
            times = {question: ([], []) for question in questions}
            for _ in range(ROUNDS):
                for question, both in times.items():
                    for asker, kept in zip(askers, both):
                        kept.append(asker.ask(ADDRESS + question)[0])
            middle = [max(statistics.median(both[i]) for both in times.values()) for i in range(2)]
            b.row(f"  {what}, the slowest of {len(questions)}", f"{middle[1]:.2f} ms", f"{middle[0]:.2f} ms at 1,000", f"{middle[1] / middle[0]:.1f} x",
                  f"<= {LIMIT_MS} ms", middle[1] <= LIMIT_MS)
        ids = list(range(1, 10001))
        took, answer = askers[1].ask("/api/v1/det/experiments/actions", "POST", {"action": "label", "label": "bench", "ids": ids})
        assert not any(one["error"] for one in answer["results"])
        b.row("  10,000 of them labelled in one call", f"{took / 1e3:.2f} s", "-", "-", "<= 10 s", took <= 10000)
        took, answer = askers[1].ask(ADDRESS + "archived=both&labels=bench")
        assert answer["total"] == len(ids), answer["total"]
        b.row("  a page right after it", f"{took:.0f} ms", "-", "-", "<= 1 s", took <= 1000)
