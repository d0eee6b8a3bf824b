# SPDX-License-Identifier: Apache-2.0
"""Trainings of PyTorch: ours beside what PyTorch brings, in one process, in turns."""
import os
import statistics
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))

# name in torch_data.py: row, bar (0: only shown); beside torch.utils.data.DataLoader
LOADERS = {
    "driven_rows": ("`DataLoader`, 32 x 784 floats, in a training", 3),
    "plain_rows": ("  by hand", 3),
    "driven_rows_workers": ("  2 workers, in a training", 3),
    "plain_rows_workers": ("  2 workers, by hand", 3),
    "driven_rows_large_batch": ("  batches of 256", 3),
    "driven_small_rows": ("  32 x 8 floats", 3),
    "driven_images": ("  16 x 3 x 224 x 224 floats", 0),
}
SEEKS = {
    "seek_rows": "90 % into an epoch, 10 million records in memory",
    "seek_records": "  10 million records, fetched",
}


def python(b, venv, work, name):
    """The lines that a program of ours prints, where PyTorch and determined are."""
    env = {**os.environ, "PYTHONPATH": b.build + "/pylib", "HOME": work, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([venv + "/bin/python3", "-B", f"{HERE}/{name}"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=env)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return [line.split() for line in done.stdout.splitlines()]


def data_rows(b, venv, work):
    for name, ours, theirs, ratio in python(b, venv, work, "torch_data.py"):
        ratio = float(ratio)
        if name in LOADERS:
            what, bar = LOADERS[name]
            b.row(what, f"{float(ours):,.0f} batches/s", f"{float(theirs):,.0f}/s torch", f"{ratio:.1f} x",
                  f">= {bar} x" if bar else "-", ratio >= bar if bar else None)
        elif name in SEEKS:
            b.row(SEEKS[name], f"{float(ours):.0f} us", f"{float(theirs):.0f} us in 1,000", f"{ratio:.2f} x", "<= 2 x", ratio <= 2)


# name in torch_loop.py: row
LOOPS = {
    "lightning": "  Lightning's loop",
    "transformers": "  the HF Trainer's loop",
}


def loop_rows(b, venv, work):
    """A step of the same training in each loop, beside a plain one."""
    found = {name: list(map(float, rest)) for name, *rest in python(b, venv, work, "torch_loop.py")}
    for tiny, what in (("", "a step of a convolutional network: CPU time"), ("_tiny", "a step of one layer: CPU time")):
        cpu, _, more, _ = found["ours" + tiny]
        plain = found["plain" + tiny][0]
        b.row(what, f"{cpu:,.0f} us", f"{plain:,.0f} us plain loop", f"{more:.3f} x", "-", None)
        for name, row in LOOPS.items():
            theirs, _, more, _ = found[name + tiny]
            b.row(row, f"{theirs:,.0f} us", f"{plain:,.0f} us plain loop", f"{more:.3f} x", "-", None)
    itself, step = found["itself"][2], found["plain"][0]
    b.row("our loop itself, around a step that does nothing", f"{itself:.1f} us", f"{step:,.0f} us plain step",
          f"{itself / step:.2%}", "<= 1 %", itself <= step / 100)
    pace, plain = found["ours"][1], found["plain"][1]
    b.row("steps of it", f"{pace:,.1f}/s", f"{plain:,.1f}/s plain loop", f"{found['ours'][3]:.3f} x", ">= 0.97 x",
          found["ours"][3] >= 0.97)
    for name, row in LOOPS.items():
        ratio = pace / found[name][1]
        b.row(row, f"{pace:,.1f}/s ours", f"{found[name][1]:,.1f}/s", f"{ratio:.2f} x", ">= 1 x", ratio >= 1)


# name in torch_reduce.py: row, bar (0: only shown)
REDUCERS = {
    "tensors": ("a reducer over 2 ranks, 1 million values in tensors of 100", 5),
    "floats": ("  each value a Python float", 0),
}


def reduce_rows(b, venv, work):
    """The same reducer fed by each way of gathering; the faster one of those that pickle is beside ours."""
    env = {**os.environ, "PYTHONPATH": b.build + "/pylib", "HOME": work, "OMP_NUM_THREADS": "1"}
    command = [b.det, "launch", "torch_distributed", "-n", "2", "--", venv + "/bin/python3", "-B", HERE + "/torch_reduce.py"]
    out = subprocess.run([*command, "1000000", "6"], stdout=subprocess.PIPE, text=True, env=env, check=True).stdout
    for name, (what, bar) in REDUCERS.items():
        lines = [line.split()[2:] for line in out.splitlines() if line.startswith(f"[rank=0] {name} ")]
        rounds = [list(map(float, line)) for line in lines][1:]  # the first one warms up
        ratio = statistics.median(min(pickled, objects) / ours for ours, pickled, objects in rounds)
        ours, pickled, objects = (min(column) for column in zip(*rounds))
        b.row(what, f"{ours:.1f} ms", f"{pickled:.1f} ms pickled, {objects:.1f} gather_object", f"{ratio:.1f} x",
              f">= {bar} x" if bar else "-", ratio >= bar if bar else None)


def section_torch(b):
    """Needs PyTorch: the environment of the tests, which takes minutes to be made."""
    venv = b.build + "/venv"
    if subprocess.run([ROOT + "/tools/venv", venv]).returncode:
        return b.row("trainings of PyTorch", "-", "PyTorch is not here", "-", "-", None)
    work = b.fresh("torch")
    os.makedirs(work)
    for part in (data_rows, loop_rows, reduce_rows):
        part(b, venv, work)
