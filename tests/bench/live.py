# SPDX-License-Identifier: Apache-2.0
"""Section `live` of tools/bench: what open pages cost those who report, and how soon they hear."""
import selectors
import socket
import statistics
import threading
import time

from cluster import Cluster, status
from trial_side import REPORT

ROUNDS = 7
PAGES = 100
MANY = 2000


class Pages:
    """Streams of changes, held open and read by a thread of their own."""

    def __init__(self, cluster, count):
        self.selector = selectors.DefaultSelector()
        self.count = count
        self.heard = 0  # bytes
        self.is_over = False
        self.sockets = []
        for _ in range(count):
            page = socket.create_connection(("127.0.0.1", cluster.port))
            page.sendall(f"GET /api/v1/det/changes HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {cluster.token}\r\n\r\n".encode())
            self.selector.register(page, selectors.EVENT_READ)
            self.sockets.append(page)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while not self.is_over:
            for key, _ in self.selector.select(0.1):
                self.heard += len(key.fileobj.recv(65536))

    def close(self):
        self.is_over = True
        self.thread.join()
        for page in self.sockets:
            page.close()


def wait_heard(pages, before):
    while pages.heard <= before:
        time.sleep(0.0005)


def section_live(b):
    with Cluster(b.det, b.fresh("live")) as cluster:
        trial, _, token = cluster.running_trial()
        body, path, number = REPORT % (trial, 1), f"/api/v1/trials/{trial}/metrics", 1
        rounds = []
        for _ in range(ROUNDS):
            rates = []
            for count in (0, PAGES):
                pages = Pages(cluster, count)
                time.sleep(0.3)
                rate, _, _, number = b.run("bench_http", cluster.port, 64, 0.7, int(number), path, token, body)
                rates.append(rate)
                pages.close()
            rounds.append(rates)
        alone, watched = (statistics.median(column) for column in zip(*rounds))
        ratio = statistics.median(watched / alone for alone, watched in rounds)
        b.row(f"durable reports while {PAGES} pages listen", f"{watched:,.0f}/s", f"{alone:,.0f}/s none listens", f"{ratio:.2f}",
              ">= 0.80", ratio >= 0.8)
        before = status(cluster.process.pid, "VmRSS")
        pages = Pages(cluster, MANY)
        time.sleep(1)
        each = (status(cluster.process.pid, "VmRSS") - before) / MANY
        b.row(f"{MANY:,} open pages: memory of each", f"{each:.1f} KB", "-", "-", "<= 32 KB", each <= 32)
        pages.close()
        pages = Pages(cluster, 1)
        time.sleep(0.5)
        delays = []
        for _ in range(11):
            time.sleep(0.4)
            heard, began = pages.heard, time.monotonic()
            b.run("bench_http", cluster.port, 1, 0.01, int(number), path, token, body)
            number = int(number) + 1000
            wait_heard(pages, heard)
            delays.append(time.monotonic() - began)
        b.row("  from a report to a page that hears of it", f"{statistics.median(delays) * 1e3:.0f} ms", "150 ms pace", "-", "-", None)
        pages.close()
