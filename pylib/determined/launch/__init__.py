# SPDX-License-Identifier: Apache-2.0
"""Launch layers by their Python names: `python3 -m determined.launch.tensorflow -- python3 train.py`

Each becomes `det launch`, with its options and the command after them. A file that ends in .py is run with this
interpreter.
"""
import sys
from typing import List, NoReturn, Tuple

_TAKE_A_VALUE = ("--port", "-n", "--ranks", "--replicas")


def _split(words: List[str]) -> Tuple[List[str], List[str]]:
    """Splits the arguments into options and the command."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            return words[:at], words[at + 1 :]
        at += 2 if words[at] in _TAKE_A_VALUE else 1
    return words[:at], words[at:]


def become(layer: str, words: List[str]) -> NoReturn:
    """Becomes `det launch LAYER`."""
    launch(layer, *_split(words))


def launch(layer: str, options: List[str], command: List[str]) -> NoReturn:
    from determined import _launch

    if command and command[0].endswith(".py"):
        command = [sys.executable, *command]
    try:
        _launch.run_det(["launch", layer, *options, *(["--", *command] if command else [])])
    except OSError as error:
        sys.exit(f"determined: {error}")


def refuse(layer: str) -> NoReturn:
    print(
        f"determined: the launch layer '{layer}' is not built yet; 'det launch torch_distributed' and "
        "'det launch mpi' start one process per slot, 'det launch tensorflow' one per node",
        file=sys.stderr,
    )
    sys.exit(2)
