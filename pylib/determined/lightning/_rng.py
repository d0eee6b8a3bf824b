# SPDX-License-Identifier: Apache-2.0
"""The random generators of a process, as JSON: those of Python, NumPy and PyTorch, on processors and GPUs.
Lightning does not save them."""
import random
from typing import Any, Dict

import numpy
import torch


def _text(state: torch.Tensor) -> str:
    return bytes(state.tolist()).hex()


def _tensor(text: str) -> torch.Tensor:
    return torch.tensor(list(bytes.fromhex(text)), dtype=torch.uint8)


def get() -> Dict[str, Any]:
    version, numbers, rest = random.getstate()
    kind, keys, at, has_gauss, gauss = numpy.random.get_state()
    return {
        "python": [version, list(numbers), rest],
        "numpy": [kind, keys.tolist(), at, has_gauss, gauss],
        "torch": _text(torch.get_rng_state()),
        "cuda": [_text(state) for state in torch.cuda.get_rng_state_all()] if torch.cuda.is_available() else [],
    }


def put(state: Dict[str, Any]) -> None:
    version, numbers, rest = state["python"]
    random.setstate((version, tuple(numbers), rest))
    kind, keys, at, has_gauss, gauss = state["numpy"]
    numpy.random.set_state((kind, numpy.array(keys, dtype=numpy.uint32), at, has_gauss, gauss))
    torch.set_rng_state(_tensor(state["torch"]))
    if state["cuda"] and torch.cuda.is_available() and torch.cuda.device_count() == len(state["cuda"]):
        torch.cuda.set_rng_state_all([_tensor(each) for each in state["cuda"]])
