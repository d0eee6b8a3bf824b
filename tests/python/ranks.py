# SPDX-License-Identifier: Apache-2.0
"""Several real processes that run the same script as ranks of one training."""
import os
import subprocess
import sys
import textwrap

PRELUDE = """
import os, sys
sys.path.insert(0, os.environ["TESTS"])
import determined as det
from determined import core, errors

def join(**more):
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    nodes = int(os.environ.get("NODES", "1"))
    each = size // nodes
    return core.DistributedContext(
        rank=rank, size=size, local_rank=rank % each, local_size=each,
        cross_rank=rank // each, cross_size=nodes, **more)

def press_ctrl_c_in(function):
    # Again and again; it counts when the main thread is seen at the same place of
    # `function` twice: then it waits there.
    import signal, threading, time
    seen = []
    def heard(number, frame):
        place = (frame.f_code.co_name, frame.f_lasti)
        if place[0] == function and seen[-1:] == [place]:
            raise KeyboardInterrupt
        seen.append(place)
    def press():
        while True:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.01)
    signal.signal(signal.SIGINT, heard)
    threading.Thread(target=press, daemon=True).start()
"""


def start(script, size, folder, **variables):
    """Starts the processes; `folder` is their home."""
    here = os.path.dirname(os.path.abspath(__file__))
    # A group's name follows from its port and secret: no two tests share one.
    base = {**os.environ, "TESTS": here, "WORLD_SIZE": str(size), "HOME": folder}
    base["DET_DISTRIBUTED_SECRET"] = folder
    base.update({name: str(value) for name, value in variables.items()})
    code = PRELUDE + textwrap.dedent(script)
    return [
        subprocess.Popen(
            [sys.executable, "-B", "-c", code],
            env={**base, "RANK": str(rank), "DET_OFFLINE_DIR": os.path.join(folder, "run")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]


def finish(processes):
    """(exit code, output, errors) by rank; kills all of them when it takes too long."""
    try:
        return [(p.returncode, out, err) for p in processes for out, err in [p.communicate(timeout=60)]]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()


def run(script, size, folder, **variables):
    return finish(start(script, size, folder, **variables))
