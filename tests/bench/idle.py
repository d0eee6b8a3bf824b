# SPDX-License-Identifier: Apache-2.0
"""Many long polls that wait, and what each of them costs the server."""
import resource
import socket
import time

from cluster import status, wait_for


def dial(cluster, request, number=0):
    """From several loopback addresses: one may hold only its share of the connections."""
    s = socket.create_connection(("127.0.0.1", cluster.port), source_address=(f"127.0.0.{1 + number % 4}", 0))
    s.sendall(request)
    return s


def hold_polls(cluster, allocation, token, count):
    """(polls that wait, KB of the server's resident memory for each, threads added)."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    request = (f"GET /api/v1/allocations/{allocation}/signals/preemption?timeoutSeconds=600 HTTP/1.1\r\n"
               f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n").encode()
    pid = cluster.process.pid
    with dial(cluster, request):  # what only the first one costs
        time.sleep(0.5)
    before, threads = status(pid, "VmRSS"), status(pid, "Threads")
    polls = []
    try:
        while len(polls) < count:
            polls.append(dial(cluster, request, len(polls)))
    except OSError as error:
        print(f"  only {len(polls)} polls could be opened: {error}")
    seen = []

    def is_steady():
        """The server has read them all when its memory grows no more."""
        seen.append(status(pid, "VmRSS"))
        time.sleep(0.2)
        return len(seen) > 5 and seen[-1] == seen[-5]

    wait_for(is_steady)
    answered = 0
    for s in polls:
        s.setblocking(False)
        try:
            answered += s.recv(1, socket.MSG_PEEK) is not None
        except BlockingIOError:
            pass
    grown, added = seen[-1] - before, status(pid, "Threads") - threads
    for s in polls:
        s.close()
    held = len(polls) - answered
    return held, grown / max(held, 1), added
