"""The kinds of attention of SelfAttention: docs/attention.md, as modules of PyTorch.

A way gets q, k and v [N,H,d] of packed sequences and gives [N,H*d], or twice that
width. Its keys and their defaults are those of clattn's configs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from clattn import _arguments as arguments
from clattn import torch as ops
from clattn._api import Edge
from clattn.errors import UsageError

WHERE = "SelfAttention"


@dataclass(frozen=True)
class Sizes:
    """What a layer tells its way: D, H, d and t, the longest sequence."""

    model: int
    heads: int
    width: int
    length: int | None


class Way(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """A kind of attention."""

    parts = 1  # widths H*d of the result
    drops = True  # whether weights may be dropped
    orders = False  # whether it may be causal

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes

    def forward(
        self, q: Any, k: Any, v: Any, lengths: Sequence[int], **options: Any
    ) -> Any:
        """options: causal where `orders`, dropout where `drops`."""
        raise NotImplementedError

    def limit(self) -> int:
        if self.sizes.length is None:
            raise UsageError(
                f"{WHERE}: length is missing: {type(self).__name__} has parameters for"
                " each position up to it"
            )
        return self.sizes.length


def choice(name: str, value: object, of: Sequence[str]) -> int:
    if value not in of:
        raise UsageError(f"{WHERE}: {name} is {value!r}, must be one of {list(of)}")
    return of.index(str(value))


def odd(name: str, value: Any) -> int:
    number = arguments.whole(WHERE, name, value, "int")
    if number < 1 or number % 2 == 0:
        raise UsageError(f"{WHERE}: {name} is {number}, must be odd")
    return number


def between(name: str, value: Any, low: int, high: int) -> int:
    number = arguments.whole(WHERE, name, value, "int")
    if not low <= number <= high:
        raise UsageError(f"{WHERE}: {name} is {number}, must be in {low}..{high}")
    return number


def glorot(shape: Sequence[int], fan_in: float, fan_out: float) -> Any:
    bound = math.sqrt(6 / (fan_in + fan_out))
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))


def linear(inputs: int, outputs: int) -> Any:
    """A projection with the first numbers that clattn's networks have."""
    made = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(made.weight)
    nn.init.zeros_(made.bias)
    return made


# ---- windows, directions -------------------------------------------------------------


class Softmax(Way):
    """All tokens of the sequence."""

    orders = True

    def forward(
        self, q: Any, k: Any, v: Any, lengths: Sequence[int], **options: Any
    ) -> Any:
        return ops.attention(q, k, v, lengths, **options)


class Band(Way):
    """csan1d: the `window` tokens around the query. Yang et al. 2019."""

    orders = True

    def __init__(self, sizes: Sizes, window: int = 11) -> None:
        super().__init__(sizes)
        self.window = odd("window", window)

    def forward(
        self, q: Any, k: Any, v: Any, lengths: Sequence[int], **options: Any
    ) -> Any:
        return ops.band_attention(q, k, v, lengths, self.window, **options)


class Band2d(Way):
    """csan2d: these tokens in `area` neighbouring heads, under one softmax."""

    def __init__(
        self, sizes: Sizes, window: int = 11, area: int = 3, edge: str = "truncate"
    ) -> None:
        super().__init__(sizes)
        self.window, self.area = odd("window", window), odd("area", area)
        self.edge = Edge(choice("edge", edge, ["truncate", "wrap", "author"]))
        heads = sizes.heads
        most = 2 * heads - 1 if self.edge == Edge.TRUNCATE else heads
        if self.area > most:
            raise UsageError(
                f"{WHERE}: area is {self.area}, must be at most {most} for {heads}"
                f" heads and edge {edge}"
            )

    def forward(
        self, q: Any, k: Any, v: Any, lengths: Sequence[int], **options: Any
    ) -> Any:
        shape = self.window, self.area, self.edge
        return ops.band_attention_2d(q, k, v, lengths, *shape, **options)


class BiDirect(Way):
    """Itself and the tokens before it, or after it, in alternate heads. Shen et al.
    2018."""

    def __init__(self, sizes: Sizes, directed_heads: int | None = None) -> None:
        super().__init__(sizes)
        some = sizes.heads if directed_heads is None else directed_heads
        self.directed = between("directed_heads", some, 0, sizes.heads)

    def table(self, t: int) -> Any:
        """[H,2t]: number i - j + t of a row is added to the score of i and j."""
        table = torch.zeros(self.sizes.heads, 2 * t)
        first = self.sizes.heads - self.directed
        table[first::2, :t] = -math.inf  # these see keys j <= i
        table[first + 1 :: 2, t + 1 :] = -math.inf
        return table

    def forward(
        self, q: Any, k: Any, v: Any, lengths: Sequence[int], **options: Any
    ) -> Any:
        table = self.table(max(lengths, default=0) or 1)
        return ops.position_attention(q, k, v, None, table, lengths, **options)


# ---- blocks --------------------------------------------------------------------------


class Block(Way):
    """Attention inside short blocks, and between summaries of them.

      o = attention of each token to those of its block
      g[b,h] = sum_i softmax_i(e[i,h]) o[i,h] over block b, e = sigmoid(o W_1 + b_1) W_2
      + b_2; c = attention of g W_3 + b_3 to the g of all blocks of the sentence
      f = z c + (1 - z) g, z = sigmoid([g;c] W_4 + b_4); a token gets [o ; f of its
      block]

    Shen et al. 2018, Bi-directional block self-attention.
    """

    parts = 2

    def __init__(self, sizes: Sizes, block: int = 4) -> None:
        super().__init__(sizes)
        self.block = between("block", block, 1, 65535)
        wide = sizes.heads * sizes.width
        self.hidden, self.between = linear(wide, wide), linear(wide, wide)
        self.score, self.gate = linear(wide, sizes.heads), linear(2 * wide, wide)

    def forward(
        self, q: Any, k: Any, v: Any, lengths: Sequence[int], **options: Any
    ) -> Any:
        blocks = [
            min(self.block, n - i) for n in lengths for i in range(0, n, self.block)
        ]
        sentences = [-(-n // self.block) for n in lengths]
        o = ops.attention(q, k, v, blocks, **options)
        g = self.summaries(o, blocks)
        f = self.mixed(g, sentences)
        each = torch.repeat_interleave(torch.tensor(blocks, dtype=torch.long))
        return torch.cat([o.flatten(1), f[each]], 1)

    def summaries(self, o: Any, blocks: Sequence[int]) -> Any:
        """[n,H,d]: attention whose keys' scaled products with ones are the scores e."""
        e = self.score(torch.sigmoid(self.hidden(o.flatten(1))))
        width = self.sizes.width
        keys = torch.nn.functional.pad(e[..., None] * math.sqrt(width), (0, width - 1))
        ones = torch.ones(len(blocks), *o.shape[1:], dtype=o.dtype)
        return ops.attention(ones, keys.to(o.dtype), o, [1] * len(blocks), blocks)

    def mixed(self, g: Any, sentences: Sequence[int]) -> Any:
        query = self.between(g.flatten(1)).view(g.shape)
        c = ops.attention(query, g, g, sentences).flatten(1)
        g = g.flatten(1)
        z = torch.sigmoid(self.gate(torch.cat([g, c], 1)))
        return z * c + (1 - z) * g


# ---- positions -----------------------------------------------------------------------


class Relative(Way):
    """rel_pos: learned vectors for distances up to `clip`, one set for all heads or
    one a head. Shaw et al. 2018."""

    orders = True

    def __init__(self, sizes: Sizes, clip: int = 16, rel_shared: bool = True) -> None:
        super().__init__(sizes)
        rows = 2 * between("clip", clip, 0, 65535) + 1
        shape = (() if rel_shared else (sizes.heads,)) + (rows, sizes.width)
        self.rel_k = glorot(shape, rows, sizes.width)
        self.rel_v = glorot(shape, rows, sizes.width)

    def forward(
        self, q: Any, k: Any, v: Any, lengths: Sequence[int], **options: Any
    ) -> Any:
        tables = self.rel_k, self.rel_v
        return ops.relative_attention(q, k, v, *tables, lengths, lengths, **options)


class Direct(Way):
    """Learned scores for pairs of positions (p) and for distances (r). Dufter et al.
    2020."""

    def __init__(
        self, sizes: Sizes, rel_mode: str = "gather", positions: str = "p_r"
    ) -> None:
        super().__init__(sizes)
        heads, t = sizes.heads, self.limit()
        spectral = choice("rel_mode", rel_mode, ["gather", "spectral"]) == 1
        learned = choice("positions", positions, ["p", "r", "p_r"])
        self.absolute = self.relative = None
        if learned != 1:
            self.absolute = nn.Parameter(torch.randn(heads, t, t) / math.sqrt(t))
        if learned == 0:
            return
        table = torch.randn(heads, 2 * t) / (2 * t) ** 0.25
        if spectral:
            self.spectrum = nn.Parameter(table)
            at, k = torch.arange(2 * t), torch.arange(2 * t)
            waves = torch.cos(math.pi / t * (k[:, None] * (at - t).abs()).double())
            waves[:, 0] = 0  # which stands for no distance
            self.register_buffer("waves", (waves / (2 * t)).float(), persistent=False)
        else:
            self.relative = nn.Parameter(table)

    def forward(
        self, q: Any, k: Any, v: Any, lengths: Sequence[int], **options: Any
    ) -> Any:
        spectrum = getattr(self, "spectrum", None)
        table = self.relative if spectrum is None else spectrum @ self.waves
        given = self.absolute, table, lengths
        return ops.position_attention(q, k, v, *given, **options)


# ---- expressions ---------------------------------------------------------------------


class Custom(Way):
    """What expressions say (docs/custom.md), with learned inputs by name.

    learn  {"slope": {"shape": ["heads"], "init": "alibi"}}: sizes are numbers, "heads"
           or "length"; first numbers zeros, ones, normal, alibi or a number
    """

    orders = True

    def __init__(
        self,
        sizes: Sizes,
        score: str | None = None,
        mask: str | None = None,
        weight: str | None = None,
        window: int | None = None,
        learn: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        super().__init__(sizes)
        self.form = {"score": score, "mask": mask, "weight": weight, "window": window}
        self.learned = nn.ParameterDict()
        for name, one in ({} if learn is None else learn).items():
            self.learned[name] = nn.Parameter(self.first(name, one))

    def first(self, name: str, one: Mapping[str, Any]) -> Any:
        named = {"heads": self.sizes.heads}
        if "length" in one["shape"]:
            named["length"] = self.limit()
        init = one.get("init", "zeros")
        shape = [
            named[n] if n in named else between(f"learn[{name!r}]", n, 1, 2**31 - 1)
            for n in one["shape"]
        ]
        if not isinstance(init, str):
            return torch.full(shape, arguments.real(WHERE, f"learn[{name!r}]", init))
        choice(f"init of {name}", init, ["zeros", "ones", "normal", "alibi"])
        if init == "alibi":
            slopes = 2.0 ** (-8 * torch.arange(1, shape[0] + 1) / shape[0])
            return slopes.view(-1, *[1] * (len(shape) - 1)).expand(shape).clone()
        made = {"zeros": torch.zeros, "ones": torch.ones, "normal": torch.randn}[init]
        return made(shape) * (0.02 if init == "normal" else 1)

    def forward(
        self, q: Any, k: Any, v: Any, lengths: Sequence[int], **options: Any
    ) -> Any:
        given = {**self.form, **options, **dict(self.learned.items())}
        return ops.attention(q, k, v, lengths, **given)
