# SPDX-License-Identifier: Apache-2.0
"""Trainings in child processes that share one import: each is a fork of the test, which itself never trains. A
child may be killed at any time, as in reality."""
import json
import os
import select
import signal
import socket
import sys
import tempfile
import traceback

import torch._dynamo  # noqa: F401 - what the first optimizer of a process imports, once for all children

KILLED = -signal.SIGKILL

if os.access("/dev/shm", os.W_OK):
    tempfile.tempdir = "/dev/shm"  # checkpoints are flushed, and tests need not wait for a disk


def kill_me():
    os.kill(os.getpid(), signal.SIGKILL)


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def _start(function, arguments, environment):
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    code = 1
    try:
        os.close(reader)
        signal.alarm(100)  # a rank that waits for one that has gone
        os.environ.update({name: str(value) for name, value in environment.items()})
        log = os.open(os.path.join(os.environ["HOME"], f"child-{os.getpid()}.log"), os.O_CREAT | os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        try:
            answer = {"value": function(*arguments)}
            code = 0
        except BaseException as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        with os.fdopen(writer, "w") as file:
            json.dump(answer, file)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _said(pid, reader):
    """The output of a child until it ends. Its data loader's workers have the pipe, too, and outlive a killed
    child by some seconds: they are not waited for."""
    child = os.pidfd_open(pid)
    waiting = select.poll()
    for each in (reader, child):
        waiting.register(each, select.POLLIN)
    said = b""
    while True:
        ready = [each for each, _ in waiting.poll()]
        chunk = os.read(reader, 1 << 16) if reader in ready else b""
        if not chunk:
            break
        said += chunk
    os.close(child)
    os.close(reader)
    return said


def _finish(pid, reader):
    text = _said(pid, reader)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    answer = json.loads(text) if text else {}
    with open(os.path.join(os.environ["HOME"], f"child-{pid}.log"), errors="replace") as file:
        answer["log"] = file.read()
    answer["code"] = code
    return answer


def run(function, *arguments, **environment):
    """{code, log, value or error} of a child that called the function."""
    return _finish(*_start(function, arguments, environment))


def run_ranks(size, function, *arguments, **environment):
    """The same for several children, the ranks of one training on one machine."""
    port = free_port()
    started = [
        _start(
            function,
            arguments,
            {
                **environment,
                "RANK": rank,
                "LOCAL_RANK": rank,
                "WORLD_SIZE": size,
                "LOCAL_WORLD_SIZE": size,
                "GROUP_RANK": 0,
                "GROUP_WORLD_SIZE": 1,
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
                "DET_DISTRIBUTED_SECRET": os.environ["HOME"],
            },
        )
        for rank in range(size)
    ]
    return [_finish(*each) for each in started]
