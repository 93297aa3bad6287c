"""Folders of trained systems, read into modules of PyTorch and written from them."""

from __future__ import annotations

import inspect
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from clattn import _arguments as arguments
from clattn._ways import Way
from clattn.errors import FileError, InputError, UsageError
from clattn.program import PathName, call, given, read_config
from clattn.safetensors import read_safetensors, write_safetensors

_STATES = ("best.ckpt.safetensors", "last.ckpt.safetensors")
_SPECIALS = 2  # <pad> and <oov> are no words
_OURS = {  # names of checkpoints for those of modules
    "root": "local_root",
    "predictor": "local",
    "center": "local_center",
    "spread": "local_width",
}


class Entry(NamedTuple):
    """A parameter, and whether a checkpoint holds its transpose."""

    value: Any
    turned: bool


# ---- settings ------------------------------------------------------------------------


def config_of(where: str, folder: PathName, kind: str) -> tuple[Path, dict[str, Any]]:
    """The path of a folder and its config.json, of a system of this kind."""
    path = Path(arguments.path(where, "folder", folder))
    config = read_config(where, path)
    model = config.get("model")
    if model != kind:
        raise InputError(
            f"{where}: {path / 'config.json'}: model is {model!r}, must be {kind!r}"
        )
    return path, config


def keys_of(kind: type[Way], config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a kind of attention. Empty texts and windows of 0 are none."""
    known = list(inspect.signature(kind.__init__).parameters)[2:]
    return {key: config[key] for key in known if config.get(key) not in (None, "", 0)}


def span(config: Mapping[str, Any], last: int, layers: int) -> tuple[int, int]:
    """The first and the last layer, from 1, of attention_layers: "1-3"."""
    text = config.get("attention_layers", f"1-{last}")
    first, _, end = str(text).partition("-")
    if not (first.isdecimal() and end.isdecimal()):
        raise UsageError(f"attention_layers is {text!r}, must be like 1-3")
    if not 1 <= int(first) <= int(end) <= layers:
        raise UsageError(f"attention_layers is {text!r}, must be within 1-{layers}")
    return int(first), int(end)


def lines(path: Path) -> list[str]:
    """A vocabulary: the token on line n has the id n."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    return text.removesuffix("\n").split("\n")


def ids(tokens: Sequence[str]) -> dict[str, int]:
    return {token: i for i, token in enumerate(tokens) if i >= _SPECIALS}


# ---- parameters ----------------------------------------------------------------------


def entries(module: nn.Module) -> dict[str, Entry]:
    """Parameters by their names in a checkpoint.

    A linear layer x is x and x_bias there, but a network's output out.weight and
    out.bias; parameters of a kind of attention are those of its layer."""
    return dict(_entries(module))


def _entries(module: nn.Module) -> Iterator[tuple[str, Entry]]:
    for path, part in module.named_modules():
        place = _renamed(path)
        for own, value in part.named_parameters(recurse=False):
            linear = isinstance(part, nn.Linear)
            if linear and place != "out":
                name = place if own == "weight" else f"{place}_bias"
                yield name, Entry(value, own == "weight")
            else:
                name = _OURS.get(own, own) if isinstance(part, Way) else own
                yield f"{place}.{name}", Entry(value, linear and own == "weight")


def _renamed(path: str) -> str:
    before, inside, way = path.partition(".way")
    if not inside:
        return path
    parts = [_OURS.get(part, part) for part in way.split(".") if part != "learned"]
    return before + ".".join(parts)


def read(folder: Path, named: Mapping[str, Entry]) -> None:
    """Fills parameters with the best weights of a folder, or the last ones."""
    found = [folder / name for name in _STATES if (folder / name).exists()]
    if not found:
        raise FileError(f"{folder}: neither {_STATES[0]} nor {_STATES[1]}")
    file = found[0]
    stored = read_safetensors(file)
    for name, entry in named.items():
        if name not in stored:
            raise InputError(f"{file}: no tensor '{name}'")
        value = torch.from_numpy(stored[name])
        value = value.T if entry.turned else value
        if value.shape != entry.value.shape:
            raise InputError(
                f"{file}: '{name}' is {list(stored[name].shape)}, must be"
                f" {list(entry.value.T.shape if entry.turned else entry.value.shape)}"
            )
        with torch.no_grad():
            entry.value.copy_(value)


def write(
    where: str, source: Path | None, folder: PathName, named: Mapping[str, Entry]
) -> None:
    """Writes a new folder: what `source` has, with these parameters for its own.

    The program takes the folder of a run and writes it with hashes, whole or not at
    all."""
    out = arguments.path(where, "folder", folder)
    if source is None:
        raise UsageError(f"{where}: it was not loaded: there are no vocabularies")
    state = next(source / name for name in _STATES if (source / name).exists())
    with tempfile.TemporaryDirectory() as made:
        own = Path(made)
        for file in source.iterdir():
            if file.is_file() and not file.name.endswith((".ckpt.safetensors", "lock")):
                shutil.copyfile(file, own / file.name)
        config = json.loads((source / "config.json").read_text(encoding="utf-8"))
        config.pop("integrity", None)
        (own / "config.json").write_text(json.dumps(config), encoding="utf-8")
        tensors = {k: v for k, v in read_safetensors(state).items() if "/" not in k}
        for name, (value, turned) in named.items():
            values = value.detach().float().numpy()
            tensors[name] = values.T if turned else values
        write_safetensors(own / _STATES[0], tensors)
        call("export", given(model=own, weights="float32", out=out), quiet=True)
