# SPDX-License-Identifier: Apache-2.0
"""Handwritten digits: MNIST's own files where they are found, drawn digits of the same shape where not.

The files are those of yann.lecun.com, packed (.gz) or not: train-images-idx3-ubyte and so on, in
the folder that MNIST_DIR names, or in ~/.cache/mnist.
"""
import gzip
import os
import struct

import numpy as np
import torch

FILES = {"train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
         "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")}


def read_idx(path):
    """An array as these files have it: two zeros, the type (8: bytes), the rank, the sizes, the values."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as file:
        zeros, kind, rank = struct.unpack(">HBB", file.read(4))
        if zeros or kind != 8:
            raise ValueError(f"'{path}' is not a file of bytes in MNIST's format")
        shape = struct.unpack(f">{rank}I", file.read(4 * rank))
        return np.frombuffer(file.read(), np.uint8).reshape(shape)


def find(name):
    folder = os.environ.get("MNIST_DIR") or os.path.expanduser("~/.cache/mnist")
    for path in (os.path.join(folder, name), os.path.join(folder, name + ".gz")):
        if os.path.exists(path):
            return path
    return None


def load(split):
    """Pictures (n, 1, 28, 28) from 0 to 1, and their digits (n,)."""
    paths = [find(name) for name in FILES[split]]
    if all(paths) and not os.environ.get("DRAWN_DATA"):
        pictures, digits = map(read_idx, paths)
    else:
        from determined.keras.datasets import drawn  # needs numpy only

        number = int(os.environ.get("DRAWN_DATA") or 0)
        print(f"mnist: drawn digits take the place of the {split} pictures, which are not here")
        pictures, digits = drawn("mnist", number, number // 5)[split == "test"]
    x = torch.from_numpy(pictures.copy()).float().div_(255).unsqueeze(1)
    return x, torch.from_numpy(digits.copy()).long()
