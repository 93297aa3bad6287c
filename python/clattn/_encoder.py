"""The encoder of a translator as a module of PyTorch, from a model folder and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from clattn import _autograd as autograd
from clattn import _folders as folders
from clattn import _packed as packed
from clattn._layers import KINDS, Lengths
from clattn._ways import Sizes
from clattn.errors import DtypeError, ShapeError, UsageError
from clattn.program import PathName

_DEFAULTS: dict[str, Any] = {  # of clattn's translators: src/models/transformer.c
    "layers": 6,
    "dim": 512,
    "heads": 8,
    "inner": 2048,
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "relu_dropout": 0.0,
    "pre_norm": False,
    "tied": "all",
    "source_vector": False,
    "attention": "softmax",
    "attention_where": "encoder",
    "norm": "layer",
    "norm_epsilon": 1e-6,
    "bias": True,
    "position": "sine",
    "max_positions": 0,
    "rope_base": 10000.0,
    "rope_part": 1.0,
    "rope_scaling": "none",
    "embedding_scale": True,
    "embedding_norm": False,
    "convolutions": 0,
    "attention_scale": True,
    "head_width": 0,
}
_ONLY: dict[str, tuple[Any, ...]] = {  # of keys with more values in clattn
    "convolutions": (0,),
    "position": ("sine", "marian", "fairseq", "opennmt", "learned", "rope", "none"),
    "attention_scale": (True,),
    "rope_scaling": ("none",),
    "head_width": (0,),
}
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "none": lambda x: x,
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
}
_GATES = {"swiglu": "silu", "geglu": "gelu", "geglu_tanh": "gelu_tanh"}
_EVERYWHERE = ("rel_pos",)  # attention that all layers have unless the config says else


def kind_of(config: Mapping[str, Any]) -> str:
    """The kind of positions; older versions named those that are added `positions`."""
    kind, older = config["position"], config.get("positions")
    return older if kind == "sine" and older not in (None, "tensor2tensor") else kind


def signal(kind: str, count: int, width: int) -> Any:
    """Encodings [count,D] of positions from 0 on: src/nn/coder.h has the equations."""
    at = torch.arange(count, dtype=torch.float64)[:, None]
    if kind == "marian":
        k = torch.arange((width + 1) // 2)
        angle = at / 10000 ** (2 * k / width)
        return torch.cat([angle.sin(), angle[:, : width // 2].cos()], 1).float()
    if kind == "opennmt":
        d = torch.arange(width)
        angle = at / 10000 ** ((d - d % 2) / width)
        return torch.where(d % 2 == 1, angle.cos(), angle.sin()).float()
    n = width // 2
    step = math.log(10000) / (n - 1) if n > 1 else 0.0
    angle = (at + (2 if kind == "fairseq" else 0)) * torch.exp(-torch.arange(n) * step)
    made = torch.cat([angle.sin(), angle.cos()], 1)
    return functional.pad(made, (0, width % 2)).float()


def turned(x: Any, positions: Any, base: float, width: int) -> Any:
    """x [N,H,d] with its first `width` numbers turned by the angles of positions."""
    r = width // 2
    angle = positions[:, None].double() / base ** (torch.arange(r) / r)
    cos, sin = (f(angle).float()[:, None] for f in (torch.cos, torch.sin))
    a, b, rest = x.split([r, r, x.shape[-1] - 2 * r], -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)


class Norm(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """A layer norm, or one by the root mean square."""

    def __init__(self, width: int, rms: bool, epsilon: float) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.bias = None if rms else nn.Parameter(torch.zeros(width))
        self.epsilon = epsilon

    def forward(self, x: Any) -> Any:
        if self.bias is not None:
            width = self.gain.shape
            return functional.layer_norm(x, width, self.gain, self.bias, self.epsilon)
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon)
        return x * scale * self.gain


class Feed(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """The feed-forward block: act(x W_1) W_2, or (act(x W_g) * x W_1) W_2."""

    def __init__(self, config: Mapping[str, Any], norm: Norm) -> None:
        super().__init__()
        kind = config.get("feed_forward", config.get("activation", "relu"))
        sizes, bias = (config["dim"], config["inner"]), config["bias"]
        self.add_module("in", nn.Linear(*sizes, bias))
        self.gate = nn.Linear(*sizes, bias) if kind in _GATES else None
        self.out = nn.Linear(*sizes[::-1], bias)
        self.norm = norm
        self.function = _FUNCTIONS[_GATES.get(kind, kind)]
        self.drop = float(config["relu_dropout"])

    def forward(self, x: Any) -> Any:
        y = self.get_submodule("in")(x)
        y = self.function(y) if self.gate is None else self.function(self.gate(x)) * y
        return self.out(functional.dropout(y, self.drop, self.training))


class Attention(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """Self-attention of a kind, with heads of keys that heads of queries share."""

    def __init__(self, config: Mapping[str, Any], way: Any, norm: Norm) -> None:
        super().__init__()
        width, self.heads = config["dim"], config["heads"]
        self.shared = config.get("kv_heads") or self.heads
        self.size = width // self.heads
        rows = (self.heads + 2 * self.shared) * self.size
        self.add_module("in", nn.Linear(width, rows, config["bias"]))
        self.way, self.norm = way, norm
        self.out = nn.Linear(way.parts * width, width, config["bias"])
        self.drop = float(config["attention_dropout"]) if way.drops else 0.0
        self.base = config["rope_base"]
        pairs = int(config["rope_part"] * self.size / 2)
        self.turns = 2 * pairs if config["position"] == "rope" else 0

    def forward(self, x: Any, positions: Any, rows: Sequence[int], **more: Any) -> Any:
        H, K = self.heads, self.shared
        heads = self.get_submodule("in")(x).unflatten(1, (H + 2 * K, self.size))
        q, k, v = heads.split([H, K, K], 1)
        if self.turns:
            q, k = (turned(x, positions, self.base, self.turns) for x in (q, k))
        if K < H:
            k, v = (x.repeat_interleave(H // K, 1) for x in (k, v))
        if self.way.drops:
            more["dropout"] = self.drop if self.training else 0.0
        return self.out(self.way(q, k, v, rows, **more).flatten(1))


class Block(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """A layer: x + block(norm(x)) with norms before, or norm(x + block(x))."""

    def __init__(self, config: Mapping[str, Any], way: Any) -> None:
        super().__init__()
        self.before, self.drop = config["pre_norm"], float(config["dropout"])
        self.add_module("self", Attention(config, way, norm_of(config)))
        self.feed = Feed(config, norm_of(config))

    def around(self, x: Any, part: Any, *given: Any, **more: Any) -> Any:
        o = part(part.norm(x) if self.before else x, *given, **more)
        y = x + functional.dropout(o, self.drop, self.training)
        return y if self.before else part.norm(y)

    def forward(self, x: Any, positions: Any, rows: Sequence[int], **more: Any) -> Any:
        x = self.around(x, self.get_submodule("self"), positions, rows, **more)
        return self.around(x, self.feed)


def norm_of(config: Mapping[str, Any]) -> Norm:
    return Norm(config["dim"], config["norm"] == "rms", config["norm_epsilon"])


class Encoder(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """The encoder of a translator of clattn: docs/translation.md.

    Encoder.load(folder) makes one with the best weights of a folder, and save(folder)
    writes a folder with them and the decoder of the first.

    Call it with pieces [N] and the lengths of their sentences, or with a padded batch
    [B,S] and lengths or a mask [B,S], True for a piece. The result has one more axis,
    D; it is 0 for what is no piece. `pieces` has the names of the ids.
    """

    pieces: list[str]

    def __init__(self, config: Mapping[str, Any], pieces: int) -> None:
        super().__init__()
        self.config = _DEFAULTS | dict(config)
        get = self.config.__getitem__
        for key, must in _ONLY.items():
            if get(key) not in must:
                named = " or ".join(str(x) for x in must)
                raise UsageError(f"Encoder: {key} is {get(key)}, must be {named}")
        width, self.drop = get("dim"), float(get("dropout"))
        if width % get("heads"):
            raise UsageError(f"Encoder: heads is {get('heads')}, must divide {width}")
        self.scale = math.sqrt(width) if get("embedding_scale") else 1.0
        self.target, self.source = nn.Module(), nn.Module()
        table = nn.Parameter(torch.randn(pieces, width) / math.sqrt(width))
        (self.target if get("tied") in ("all", "input") else self.source).table = table
        if get("source_vector"):
            self.source.vector = nn.Parameter(torch.zeros(1, width))
        self.encoder = nn.Module()
        if kind_of(self.config) == "learned":
            drawn = torch.randn(get("max_positions"), width) / math.sqrt(width)
            self.encoder.positions = nn.Parameter(drawn)
        if get("embedding_norm"):
            self.encoder.embedding_norm = norm_of(self.config)
        for i, way in enumerate(self._ways()):
            self.encoder.add_module(str(i), Block(self.config, way))
        if get("pre_norm"):
            self.encoder.norm = norm_of(self.config)

    def _ways(self) -> list[Any]:
        """The attention of each layer."""
        config = self.config
        kind, count = config["attention"], config["layers"]
        if config["attention_where"] == "decoder":
            kind = "softmax"
        if kind not in KINDS:
            raise UsageError(f"Encoder: attention is {kind!r}, none of {list(KINDS)}")
        most = count if kind in _EVERYWHERE else min(count, 3)
        first, last = folders.span(config, most, count)
        width, heads = config["dim"], config["heads"]
        sizes, keys = Sizes(width, heads, width // heads, None), {}
        if kind != "softmax":
            keys = folders.keys_of(KINDS[kind], config)
        made = []
        for i in range(1, count + 1):
            own = first <= i <= last
            made.append(KINDS[kind](sizes, **keys) if own else KINDS["softmax"](sizes))
        return made

    # ---- folders ---------------------------------------------------------------------

    @classmethod
    def load(cls, folder: PathName) -> Encoder:
        """The best weights of a folder, or the last ones if it has no best.

        Errors: FileError, InputError (what is missing or does not fit, by name)."""
        path, config = folders.config_of("Encoder.load", folder, "translator")
        pieces = folders.lines(path / "source.txt")
        made = cls(config, len(pieces))
        folders.read(path, made._named())
        made._folder, made.pieces = path, pieces
        return made

    def save(self, folder: PathName) -> None:
        """Writes a new folder for clattn, whole or not at all.

        The rest of it is that of the folder from which it was loaded."""
        folders.write("Encoder.save", self._folder, folder, self._named())

    _folder: Any = None
    encoder: Any
    source: Any
    target: Any

    def _named(self) -> dict[str, folders.Entry]:
        """Its parameters under the names of a checkpoint."""
        return folders.entries(self)

    # ---- use -------------------------------------------------------------------------

    def embed(self, ids: Any, positions: Any) -> Any:
        """[N,D] of pieces at positions, as the first layer gets them."""
        tied = self.config["tied"] in ("all", "input")
        x = self.scale * (self.target if tied else self.source).table[ids]
        longest = int(positions.max()) + 1 if len(positions) else 0
        kind = kind_of(self.config)
        if kind not in ("rope", "none"):
            table = getattr(self.encoder, "positions", None)
            if table is None:
                table = signal(kind, longest, x.shape[1])
            if longest > len(table):
                raise UsageError(
                    f"Encoder: a sentence has {longest} pieces, {len(table)} positions"
                    " are learned"
                )
            x = x + table[positions]
        if self.config["embedding_norm"]:
            x = self.encoder.embedding_norm(x)
        return x + self.source.vector if self.config["source_vector"] else x

    def forward(
        self, ids: torch.Tensor, lengths: Lengths | None = None
    ) -> torch.Tensor:
        ids = autograd.dense("Encoder", "ids", ids)
        if ids.dim() not in (1, 2):
            raise ShapeError(f"Encoder: ids is {list(ids.shape)}, must be [N] or [B,S]")
        if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
            raise DtypeError(f"Encoder: ids is {ids.dtype}, must be whole numbers")
        padded = ids.shape[1] if ids.dim() == 2 else None
        if lengths is None:
            lengths = (padded,) * ids.shape[0] if padded is not None else ids.shape[:1]
        rows = packed.Rows("Encoder", "lengths", lengths, padded)
        count = len(rows.lengths)
        wrong = count != ids.shape[0] if padded else sum(rows.lengths) != ids.shape[0]
        if wrong:
            raise ShapeError(
                f"Encoder: lengths has {count} sentences, ids is {list(ids.shape)}"
            )
        values = rows.of(ids.flatten())
        places = [torch.arange(n) for n in rows.lengths]
        positions = torch.cat([*places, torch.arange(0)])
        x = functional.dropout(self.embed(values, positions), self.drop, self.training)
        for i in range(self.config["layers"]):
            x = self.encoder.get_submodule(str(i))(x, positions, rows.lengths)
        if self.config["pre_norm"]:
            x = self.encoder.norm(x)
        y: torch.Tensor = rows.back(x, ids.numel()).reshape(*ids.shape, x.shape[1])
        return y
