# SPDX-License-Identifier: Apache-2.0
"""A command whose standard input breaks: broken_input.py TEXT COMMAND...

The command reads TEXT, and the next read fails with ECONNRESET: a socket whose other end
was closed while it had data to read.  Exits as the command did.
"""
import socket
import subprocess
import sys

ours, theirs = socket.socketpair()
theirs.send(b"never read")
ours.sendall(sys.argv[1].encode())
ours.close()
sys.exit(subprocess.call(sys.argv[2:], stdin=theirs))
