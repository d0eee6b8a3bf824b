# SPDX-License-Identifier: Apache-2.0
"""One process per slot, with the environment that torchrun would set: `det launch torch_distributed`.

    python3 -m determined.launch.torch_distributed [OPTIONS --] python3 train.py
    python3 -m determined.launch.torch_distributed [OPTIONS --] --trial model_def:Trial

The options are torchrun's. Those without a meaning here, where the platform counts and restarts processes, are
named and ignored.
"""
import sys
from typing import List, Optional, Tuple

from determined.launch import launch

_TAKEN = ("nproc-per-node", "nnodes", "node-rank", "master-addr", "master-port")
# Options of torchrun: with a value, and without.
_LEFT_OUT = (
    ("event-log-handler", "local-addr", "local-ranks-filter", "log-dir", "logs-specs", "max-restarts")
    + ("monitor-interval", "numa-binding", "rdzv-backend", "rdzv-conf", "rdzv-id", "redirects", "role")
    + ("shutdown-timeout", "signals-to-handle", "start-method", "tee")
)
_FLAGS_LEFT_OUT = ("standalone", "no-python", "module", "run-path")
_SHORT = {"-r": "redirects", "-t": "tee", "-m": "module"}
_COUNTED = ("auto", "gpu", "cpu")


def _take(name: str, value: Optional[str]) -> List[str]:
    """The options of `det launch` for one option of torchrun."""
    if name in _LEFT_OUT or name in _FLAGS_LEFT_OUT:
        print(f"determined: torchrun's --{name} has no effect here", file=sys.stderr)
        return []
    if name == "rdzv-endpoint":
        host, _, port = (value or "").rpartition(":")
        return ["--master-addr", host or port, *(["--master-port", port] if host else [])]
    if name == "nproc-per-node" and value in _COUNTED:
        return []  # as many as the task has slots
    return [f"--{name}", *([] if value is None else [value])]


def split(words: List[str]) -> Tuple[List[str], List[str]]:
    """Options of `det launch torch_distributed`, and the command."""
    options: List[str] = []
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("--", "--trial"):
        word, equals, value = words[at].partition("=")
        at += 1
        if word in ("-h", "--help", "-n"):
            options += [word, *words[at : at + (word == "-n")]]
            at += word == "-n"
            continue
        name = _SHORT.get(word) or word.lstrip("-").replace("_", "-")
        takes = name in _TAKEN or name in _LEFT_OUT or name == "rdzv-endpoint"
        if takes and not equals and at < len(words):
            value = words[at]
            at += 1
        options += _take(name, value if takes or equals else None)
    command = words[at:]
    return options, command[1:] if command[:1] == ["--"] else command


def _run_trial(command: List[str]) -> List[str]:
    if command[:1] == ["--trial"]:
        return [sys.executable, "-m", "determined.exec.harness", *command[1:]]
    return command


def main(words: List[str]) -> None:
    options, command = split(words)
    launch("torch_distributed", options, _run_trial(command))


if __name__ == "__main__":
    main(sys.argv[1:])
