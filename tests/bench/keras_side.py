# SPDX-License-Identifier: Apache-2.0
"""The data of Keras trainings: ours beside Keras's PyDataset and TensorFlow's cache, in one process, in turns."""
import os
import subprocess

from keras_average import averaging

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))

# name in keras_data.py: row, peer, bar (0: only shown)
ROWS = {
    "fit_sequence": ("`InMemorySequence` through model.fit()", "PyDataset", 1.5),
    "fit_cached": ("cached dataset, shuffled, through model.fit()", "tf.data cache", 1.5),
    "read_cached": ("cached dataset, read", "tf.data cache", 1.5),
    "read_cached_shuffled": ("  shuffled", "tf.data cache", 1.5),
    "read_cached_memory": ("  beside a cache in memory", "tf.data memory", 0),
}


def python(b, venv, work, name):
    """The lines that a program of ours prints, where TensorFlow and determined are."""
    env = {**os.environ, "PYTHONPATH": b.build + "/pylib", "HOME": work, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([venv + "/bin/python3", "-B", f"{HERE}/{name}", work], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=env)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return [line.split() for line in done.stdout.splitlines()]


def section_keras(b):
    """Needs TensorFlow: the environment of the tests, which takes minutes to be made."""
    venv = b.build + "/venv"
    if subprocess.run([ROOT + "/tools/venv", venv]).returncode:
        return b.row("data of Keras trainings", "-", "TensorFlow is not here", "-", ">= 1.5 x", None)
    work = b.fresh("keras")
    os.makedirs(work)
    for name, hooks, step, speed, whole in python(b, venv, work, "keras_hooks.py"):
        share = float(hooks) / float(step)
        b.row(f"hooks of the {name} API, a report every batch", f"{float(hooks):.1f} us", f"{float(step):.0f} us CPU a step",
              f"{share:.2%}; {float(speed):.2f} x steps/s, {float(whole):.2f} x CPU", "<= 1 %", share <= 0.01)
    for name, ours, theirs, ratio in python(b, venv, work, "keras_data.py"):
        what, peer, bar = ROWS[name]
        b.row(what, f"{int(ours):,} batches/s", f"{int(theirs):,}/s {peer}", f"{float(ratio):.2f} x",
              f">= {bar} x" if bar else "-", float(ratio) >= bar if bar else None)
    averaging(b)
