# SPDX-License-Identifier: Apache-2.0
"""The table that tools/bench prints, and what its sections share."""
import os
import re
import shutil
import subprocess

import peers

MLFLOW = {"idle", "start", "reports"}  # sections that stand beside its server
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def remembered():
    """The peers' figures of the last run with --peers."""
    try:
        with open(ROOT + "/docs/PERFORMANCE.md") as f:
            return {key: float(value) for key, value in re.findall(r"^\| `(\w+)` \| ([\d.]+)", f.read(), re.M)}
    except FileNotFoundError:
        return {}


class Bench:
    def __init__(self, args):
        self.build = os.path.abspath(args.build)
        self.det = os.path.abspath(args.det or args.build + "/det")
        self.work = self.build + "/bench"
        self.missed = 0
        self.peer, self.mark = remembered(), "*"
        self.bin = None
        if args.peers:
            self.bin, what = peers.install(self.build + "/venv-peers")
            print("peers:", what)
            if not args.section or MLFLOW & set(args.section):
                self.peer.update(peers.measure(self.bin, self.work + "/mlflow", self.program("bench_http")))
            self.mark = ""

    def remember(self):
        """For docs/PERFORMANCE.md, when the peers were measured."""
        for key, value in self.peer.items() if self.bin else []:
            print(f"| `{key}` | {value:.4g} |")

    def program(self, name):
        return f"{self.build}/tests/bench/{name}"

    def run(self, name, *args, env=None):
        """The numbers a program prints."""
        command = [name if "/" in name else self.program(name), *map(str, args)]
        out = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=env, check=True).stdout
        return [float(word) for word in re.findall(r"-?\d+(?:\.\d+)?(?![\w.])", out)]

    def row(self, what, measured, beside, ratio, bar, ok):
        self.missed += ok is False
        verdict = {True: "ok", False: "MISSED", None: "-"}[ok]
        print(f"{what:46} {measured:>15} {beside:>24} {ratio:>9}  {bar:12} {verdict}", flush=True)

    def against_peer(self, what, measured, unit, key, least, upside_down=False):
        """`measured` must be `least` times better than the peer's figure; better is smaller, unless upside_down."""
        figure = self.peer.get(key)
        if figure is None:
            return self.row(what, f"{measured:.4g} {unit}", "-", "-", f"{least} x", None)
        ratio = measured / figure if upside_down else figure / measured
        self.row(what, f"{measured:.4g} {unit}", f"{figure:.4g} {unit} {key.split('_')[0]}{self.mark}", f"{ratio:.0f} x",
                 f">= {least} x", ratio >= least)

    def fresh(self, name):
        path = f"{self.work}/{name}"
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(self.work, exist_ok=True)
        return path
