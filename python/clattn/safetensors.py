"""Reads and writes files of weights and maps as the program does."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clattn.errors import InputError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["read_safetensors"]

_DTYPES = {"F32": "<f4", "F16": "<f2", "I32": "<i4"}


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header of a file: the entry of each tensor, and `__metadata__`."""
    with open(path, "rb") as file:
        size = file.read(8)
        data = file.read(*struct.unpack("<Q", size)) if len(size) == 8 else b""
    try:
        header = json.loads(data)
    except ValueError as error:
        raise InputError(f"{path}: no safetensors file: {error}") from error
    if not isinstance(header, dict):
        raise InputError(f"{path}: no safetensors file: its header is no object")
    return header


def read_safetensors(
    path: str | os.PathLike[str],
) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    """The tensors of a file by name."""
    import numpy as np

    header = read_header(path)
    header.pop("__metadata__", None)
    data = Path(path).read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        if start + last > len(data):
            raise InputError(f"{path}: cut off in the tensor '{name}'")
        values = np.frombuffer(data[start + first : start + last], dtype)
        tensors[name] = values.reshape(entry["shape"]).copy()
    return tensors


def write_safetensors(
    path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray[Any, Any]]
) -> None:
    """Writes tensors of float32 by name, without a hash."""
    header, at, parts = {}, 0, []
    for name, values in tensors.items():
        data = values.astype("<f4").tobytes()
        place = [at, at + len(data)]
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": place}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))
