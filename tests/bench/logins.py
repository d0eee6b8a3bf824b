# SPDX-License-Identifier: Apache-2.0
"""Wrong logins in a row from one address, and what other users at the same address feel of them.

As a program: logins.py PORT COUNT NAME tries to log in COUNT times with a wrong password; a % in NAME becomes the
number of the try.
"""
import http.client
import json
import statistics
import subprocess
import sys
import time

from cluster import Cluster

WRONG = 10000
LOGINS = 40


def log_in(connection, user, password):
    connection.request("POST", "/api/v1/auth/login", json.dumps({"username": user, "password": password}))
    reply = connection.getresponse()
    reply.read()
    return reply.status


def median_ms(call, count):
    times = []
    for _ in range(count):
        before = time.perf_counter()
        call()
        times.append((time.perf_counter() - before) * 1e3)
    return statistics.median(times)


def section_logins(b):
    with Cluster(b.det, b.fresh("logins"), slots=0) as cluster:
        cluster.token = cluster.call("POST", "/api/v1/auth/login", {"username": "admin", "password": ""})["token"]
        cluster.call("POST", "/api/v1/users", {"user": {"username": "ann"}, "password": "her-own-word"})
        connection = http.client.HTTPConnection("127.0.0.1", cluster.port)

        def ann():
            assert log_in(connection, "ann", "her-own-word") == 200

        def me():
            cluster.call("GET", "/api/v1/me")

        ann()
        quiet = {"logins": median_ms(ann, LOGINS), "calls": median_ms(me, 200)}
        for name, what in (("determined", "one name"), ("user%", "many names")):
            attack = subprocess.Popen([sys.executable, __file__, str(cluster.port), str(WRONG), name])
            time.sleep(1)  # it is at work
            for kind, call, count in (("logins", ann, LOGINS), ("calls", me, 200)):
                figure = median_ms(call, count)
                ratio = figure / quiet[kind]
                b.row(f"{kind} of others, wrong logins with {what}", f"{figure:.2f} ms", f"{quiet[kind]:.2f} ms without",
                      f"{ratio:.2f} x", "<= 2 x", ratio <= 2)
            if name == "determined":
                assert attack.wait() == 0
            attack.kill()  # many names take a tenth of a second each
            attack.wait()


def main():
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    for i in range(int(sys.argv[2])):
        if log_in(connection, sys.argv[3].replace("%", str(i)), "wrong-password") not in (401, 429):
            sys.exit(1)


if __name__ == "__main__":
    main()
