# SPDX-License-Identifier: Apache-2.0
"""What report_media() accepts, as bytes of a type that libdet knows (det/media.h)."""
import io
import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from determined import _det
from determined.core import _metrics

# enum det_media_type; "": libdet recognises pictures and sounds by their first bytes
TYPES = {
    "": 0, "png": 1, "jpeg": 2, "gif": 3, "webp": 4, "svg": 5, "wav": 6, "mp3": 7, "ogg": 8,
    "text": 9, "html": 10, "table": 11, "histogram": 12,
}  # fmt: skip
_ENDINGS = {".txt": "text", ".md": "text", ".log": "text", ".html": "html", ".htm": "html", ".svg": "svg"}

_EXPECTED = (
    "expected bytes, text, the path of a file (pathlib.Path), an array of uint8 pixels, a PIL image, a matplotlib "
    "figure, a list of dicts (a table), or a dict with 'columns' and 'rows' or with 'edges' and 'counts'"
)


def _cells(rows: Sequence[Mapping[str, Any]]) -> Dict[str, Any]:
    """A list of dicts as a table; a row without a key has an empty cell."""
    keys: List[Any] = list(dict.fromkeys(key for row in rows for key in row))
    return {"columns": [str(key) for key in keys], "rows": [[row.get(key) for key in keys] for row in rows]}


def _tree(data: Any, kind: Optional[str]) -> Tuple[str, Any]:
    if isinstance(data, Mapping) and "counts" in data:
        return "histogram", {"edges": data.get("edges"), "counts": data["counts"]}
    if isinstance(data, Mapping) and "columns" in data:
        return "table", {"columns": data["columns"], "rows": data.get("rows")}
    if kind == "histogram" and isinstance(data, tuple) and len(data) == 2:  # numpy.histogram()
        return "histogram", {"edges": data[1], "counts": data[0]}
    if isinstance(data, (list, tuple)) and data and all(isinstance(row, Mapping) for row in data):
        return "table", _cells(data)
    raise TypeError(f"data of type {type(data).__name__} is not media; {_EXPECTED}")


def _figure(data: Any) -> Optional[bytes]:
    """A matplotlib figure or a PIL image as a PNG file."""
    out = io.BytesIO()
    if callable(getattr(data, "savefig", None)):
        data.savefig(out, format="png")
    elif callable(getattr(data, "save", None)) and hasattr(data, "mode") and hasattr(data, "size"):
        data.save(out, format="PNG")
    else:
        return None
    return out.getvalue()


def _pixels(name: str, data: Any) -> Tuple[bytes, int, int, int]:
    """The bytes of an array of pixels, with width, height and channels."""
    shape = tuple(int(size) for size in data.shape)
    if str(getattr(data, "dtype", "")).rpartition(".")[2] != "uint8" or len(shape) not in (2, 3):
        raise TypeError(
            f"'{name}' is an array of {getattr(data, 'dtype', '?')} of the shape {shape}; expected uint8 of "
            "(height, width) or (height, width, channels): scale it to 0..255, and for (channels, height, width) use "
            "permute(1, 2, 0)"
        )
    if len(shape) == 3 and not 1 <= shape[2] <= 4:
        raise ValueError(
            f"'{name}' has {shape[2]} channels; expected 1 to 4, as the last of its shape {shape}: for (channels, "
            "height, width) use permute(1, 2, 0)"
        )
    if hasattr(data, "detach"):  # a tensor of PyTorch
        data = data.detach().cpu().numpy()
    elif not hasattr(data, "tobytes"):  # a tensor of TensorFlow
        data = data.numpy()
    return data.tobytes(), shape[1], shape[0], shape[2] if len(shape) == 3 else 1


def report(det: _det.Context, name: str, steps: int, data: Any, kind: Optional[str]) -> None:
    """Finds out what `data` is and hands it to libdet."""
    if kind is not None and kind not in TYPES:
        raise ValueError(f"the type is {kind!r}; expected one of {', '.join(filter(None, TYPES))}")
    content: Union[str, bytes, bytearray, memoryview, None] = None
    if isinstance(data, (bytes, bytearray, memoryview)):
        content = data
    elif isinstance(data, str):
        kind, content = kind or "text", data.encode()
    elif isinstance(data, os.PathLike):
        path = os.fspath(data)
        content = path if isinstance(path, str) else os.fsdecode(path)
        kind = kind or _ENDINGS.get(os.path.splitext(content)[1].lower())
    elif getattr(data, "shape", None) is not None and kind in (None, "png"):
        return det.report_image(name, steps, *_pixels(name, data))
    else:
        content = _figure(data)
    if content is None:
        found, tree = _tree(data, kind)
        if kind not in (None, found):
            raise ValueError(f"'{name}' is a {found}, not of the type {kind}")
        kind, content = found, json.dumps(_metrics.plain(name, tree)).encode()
    det.report_media(name, steps, TYPES[kind or ""], content)
