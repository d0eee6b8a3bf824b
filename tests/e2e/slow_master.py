# SPDX-License-Identifier: Apache-2.0
"""A master behind a slow network: slow_master.py URL PORT_FILE WAITS_FILE GO_FILE

Forwards every connection to URL.  Of a call that creates an experiment or a job, the answer is held back until GO_FILE exists;
WAITS_FILE says that it waits.
"""
import os
import re
import socket
import sys
import threading
import time
from urllib.parse import urlparse

url, port_file, waits_file, go_file = sys.argv[1:]
master = urlparse(url)


def forward(source, target, seen):
    while data := source.recv(65536):
        if seen is not None:
            seen.append(data)
        target.sendall(data)
    target.close()


def serve(client):
    server = socket.create_connection((master.hostname, master.port))
    asked = []
    threading.Thread(target=forward, args=(client, server, asked), daemon=True).start()
    while data := server.recv(65536):
        if re.search(rb"POST /api/v1/(experiments|generic-tasks) ", b"".join(asked)):
            open(waits_file, "w").close()
            while not os.path.exists(go_file):
                time.sleep(0.02)
        client.sendall(data)
    client.close()


listener = socket.create_server(("127.0.0.1", 0))
with open(port_file + ".new", "w") as file:
    file.write(str(listener.getsockname()[1]))
os.rename(port_file + ".new", port_file)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
