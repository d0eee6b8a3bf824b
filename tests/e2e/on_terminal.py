# SPDX-License-Identifier: Apache-2.0
"""A command on a terminal of its own: on_terminal.py STEP... -- COMMAND...

Steps: expect=TEXT waits until TEXT was printed (behind what the last one found);
send=TEXT types it (\\r return, \\x03 Ctrl-C); touch=FILE makes a file; await=FILE
waits for one.  Prints what the command printed, then
"echo on" or "echo off" (what the terminal is left with), and exits as the command did.
"""
import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

PATIENCE_S = 120


def main():
    split = sys.argv.index("--")
    steps, command = sys.argv[1:split], sys.argv[split + 1 :]
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    seen, mark = b"", 0
    end = time.monotonic() + PATIENCE_S

    def listen(seconds):
        nonlocal seen
        if select.select([ours], [], [], seconds)[0]:
            seen += os.read(ours, 65536)

    for step in steps:
        verb, _, text = step.partition("=")
        text = text.encode().decode("unicode_escape").encode()
        if verb == "send":
            os.write(ours, text)
            continue
        if verb == "touch":
            open(text, "w").close()
            continue
        if verb == "await":
            while not os.path.exists(text) and time.monotonic() < end:
                listen(0.05)
            continue
        while text not in seen[mark:]:
            if time.monotonic() > end:
                print("never printed:", text, "but:", seen)
                os.killpg(child.pid, signal.SIGKILL)
                sys.exit(99)
            listen(0.1)
        mark = seen.index(text, mark) + len(text)
    while child.poll() is None:
        if time.monotonic() > end:
            print("does not end; printed:", seen)
            os.killpg(child.pid, signal.SIGKILL)
            sys.exit(99)
        listen(0.05)
    while select.select([ours], [], [], 0.05)[0]:
        seen += os.read(ours, 65536)
    print(seen.decode(errors="replace").replace("\r", ""))
    print("echo", "on" if termios.tcgetattr(theirs)[3] & termios.ECHO else "off")
    sys.exit(child.returncode if child.returncode >= 0 else 128 - child.returncode)


main()
