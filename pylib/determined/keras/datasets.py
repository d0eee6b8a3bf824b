# SPDX-License-Identifier: Apache-2.0
"""Keras's data sets, and generated pictures that replace them where they cannot be downloaded.

    from determined.keras import datasets

    datasets.allow_drawn()
    (x, y), (x_test, y_test) = keras.datasets.mnist.load_data()

After that call `load_data()` of mnist, fashion_mnist and cifar10 returns the usual data if Keras finds the
files (in ~/.keras) or can download them. If it cannot, which it finds out within seconds, it says so in one
line and returns generated pictures: as many, of the same shapes and types, always the same ones, in ten classes
that a network can learn. They are good for trying things out; results on them say nothing about the real data.

With the environment variable DRAWN_DATA=N, pictures are always generated, N for the training and N / 5 for the
tests. source(name) says afterwards which data it was.
"""
import fcntl
import functools
import os
import socket
import sys
from typing import Any, Callable, Dict, NamedTuple, Tuple

import numpy as np

_TIMEOUT_S = 5.0  # for a server that does not answer


class _Set(NamedTuple):
    train: int
    test: int
    side: int
    has_colours: bool
    figures: str  # ten: eight rows of eight dots, two hexadecimal digits a row


_SETS: Dict[str, _Set] = {
    "mnist": _Set(
        60000, 10000, 28, False,
        "1c22262a32221c00 0818080808081c00 1c22020408103e00 3e04080402221c00 040c14243e040400 "
        "3e203c0202221c00 0c10203c22221c00 3e02040810101000 1c22221c22221c00 1c22221e02041800",
    ),
    "fashion_mnist": _Set(
        60000, 10000, 28, False,
        "66ffff3c3c3c3c00 3c3c3c2424242424 66ffffffbdbdbd3c 18183c18183c7eff 66ffe7e7e7a5a5a5 "
        "0000001824a5ff00 66ffdb5a5a5a5a7e 00000060f0feff00 182424ffffffff00 e0e0e0e0f0feff00",
    ),
    "cifar10": _Set(
        50000, 10000, 32, True,
        "1818187eff18183c 00003c7effff6600 0081c3663c180000 42667effdbff7e3c a5a57e3c3c3c1818 "
        "607fff3f3f2d2d2d 0000663c7effbd81 03070efc7c444444 080c0e0f08ff7e3c 0000f8f8feff6666",
    ),
}
Split = Tuple[np.ndarray, np.ndarray]
_sources: Dict[str, str] = {}


def _masks(figure: str, side: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """One figure, drawn `count` times: turned, slanted, sized and placed at random."""
    dots = np.zeros((10, 10), np.float32)  # with a margin
    dots[1:9, 1:9] = np.unpackbits(np.frombuffer(bytes.fromhex(figure), np.uint8)).reshape(8, 8)
    turn, slant, across, down = rng.normal(0, [[0.12], [0.12], [1.2], [1.2]], (4, count))
    size = rng.uniform(0.7, 0.95, count) * side / 8
    y, x = np.mgrid[:side, :side].reshape(2, 1, -1) - (side - 1) / 2
    x, y = x - across[:, None], y - down[:, None]
    x, y = (
        (np.cos(turn)[:, None] * x - np.sin(turn)[:, None] * y) / size[:, None] + 4.5,
        (np.sin(turn)[:, None] * x + np.cos(turn)[:, None] * y) / size[:, None] + 4.5,
    )
    x += slant[:, None] * (y - 4.5)
    x, y = np.clip(x, 0, 8.999), np.clip(y, 0, 8.999)
    left, top = x.astype(int), y.astype(int)
    x, y = x - left, y - top
    return (
        dots[top, left] * (1 - x) * (1 - y)
        + dots[top, left + 1] * x * (1 - y)
        + dots[top + 1, left] * (1 - x) * y
        + dots[top + 1, left + 1] * x * y
    ).astype(np.float32)


def _draw(kind: _Set, count: int, seed: int) -> Split:
    rng = np.random.default_rng(seed)
    hands = min(200, max(20, count // 10))
    masks = np.stack([_masks(figure, kind.side, hands, rng) for figure in kind.figures.split()])
    labels = rng.integers(0, 10, count).astype(np.uint8)
    channels = 3 if kind.has_colours else 1
    shape = (count, kind.side, kind.side, channels)
    pictures = np.empty((count, kind.side * kind.side, channels), np.uint8)
    for first in range(0, count, 4096):  # limits the memory
        some = labels[first : first + 4096]
        mask = masks[some, rng.integers(0, hands, len(some))][:, :, None]
        if kind.has_colours:
            ink, paper = rng.uniform(0, 255, (2, len(some), 1, 3)).astype(np.float32)
        else:
            ink, paper = rng.uniform(120, 255, (len(some), 1, 1)).astype(np.float32), 0
        noise = rng.integers(-40, 41, (len(some), mask.shape[1], channels), np.int16)
        pictures[first : first + 4096] = np.clip(paper + (ink - paper) * mask + noise, 0, 255)
    if kind.has_colours:
        return pictures.reshape(shape), labels[:, None]
    return pictures.reshape(shape[:3]), labels


def drawn(name: str, train: int = 0, test: int = 0) -> Tuple[Split, Split]:
    """The pictures that replace those of keras.datasets.NAME; 0: as many as there are of those."""
    if name not in _SETS:
        raise ValueError(f"there are no drawn pictures for '{name}', only for {', '.join(_SETS)}")
    kind = _SETS[name]
    return _draw(kind, train or kind.train, 1), _draw(kind, test or kind.test, 2)


def _number() -> int:
    text = os.environ.get("DRAWN_DATA", "")
    if text and (not text.isdigit() or int(text) < 5):
        raise ValueError(f"DRAWN_DATA is '{text}'; expected a number of pictures, 5 or more")
    return int(text or 0)


def _fetch(load: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Keras's own load_data(), with a timeout, by one process at a time."""
    home = os.environ.get("KERAS_HOME") or os.path.expanduser("~/.keras")
    os.makedirs(home, exist_ok=True)
    before = socket.getdefaulttimeout()
    with open(os.path.join(home, ".fetching"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        socket.setdefaulttimeout(_TIMEOUT_S)
        try:
            return load(*args, **kwargs)
        finally:
            socket.setdefaulttimeout(before)


def _wrapped(name: str, load: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(load)
    def load_data(*args: Any, **kwargs: Any) -> Any:
        number = _number()
        why = f"DRAWN_DATA is {number}"
        source = f"drawn {number or _SETS[name].train}"
        if not number and _sources.get(name) != source:  # a failed download is not tried again
            try:
                result = _fetch(load, *args, **kwargs)
                _sources[name] = "keras"
                return result
            except Exception as e:  # Keras raises a plain Exception when it cannot fetch
                why = str(e).splitlines()[0] if str(e) else type(e).__name__
        if _sources.get(name) != source:
            print(f"{name}: drawn pictures take its place ({why})", flush=True)
        _sources[name] = source
        return drawn(name, number, number // 5)

    load_data.is_det_drawn = True  # type: ignore[attr-defined]
    return load_data


def source(name: str) -> str:
    """The data of the last load_data() of that set: "keras", or "drawn 60000"; usable as a name for a cache of it."""
    if name not in _sources:
        raise ValueError(f"'{name}' has not been loaded since allow_drawn() was called")
    return _sources[name]


def allow_drawn() -> None:
    """From now on, in this process, load_data() of Keras's picture sets does not fail without a network."""
    from determined.keras._package import keras

    homes = [keras]
    if "tensorflow" in sys.modules:  # its `keras` has its own modules
        homes.append(sys.modules["tensorflow"].keras)
    for home in homes:
        for name in _SETS:
            module = getattr(home.datasets, name)
            if not hasattr(module.load_data, "is_det_drawn"):
                module.load_data = _wrapped(name, module.load_data)
