"""The ways of attention whose maps or scores are convolved."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from clattn import torch as ops
from clattn._api import Activation, ConvMethod
from clattn._ways import WHERE, Sizes, Way, between, choice, glorot, odd
from clattn.errors import ShapeError


class Convolved(Way):
    """conv2d: the map is convolved along queries and keys. Dufter et al. 2020."""

    drops = False
    bias: Any

    def __init__(
        self,
        sizes: Sizes,
        map_filter: int = 3,
        map_activation: str = "relu",
        conv_pos: str = "after",
    ) -> None:
        super().__init__(sizes)
        self.before = choice("conv_pos", conv_pos, ["after", "before"]) == 1
        names = ["none", "relu", "tanh", "sigmoid"]
        choice("map_activation", map_activation, names)
        self.activation = Activation[map_activation.upper()]
        self.add_filter(map_filter)

    def add_filter(self, side: int) -> None:
        side = odd("map_filter", side)
        between("map_filter", side, 1, 31)
        heads = self.sizes.heads
        self.filter = glorot((heads, side, side), side * side, side * side)
        self.bias = None if self.before else nn.Parameter(torch.zeros(heads))

    def forward(
        self, q: Any, k: Any, v: Any, lengths: Sequence[int], **options: Any
    ) -> Any:
        if self.before:
            return _convolved_scores(q, k, v, lengths, self.convolve)
        given = self.filter, self.bias, lengths, self.activation
        return ops.conv_attention_2d(q, k, v, *given, ConvMethod.AUTO)

    def convolve(self, scores: Any) -> Any:
        """[B,H,T,T], with zeros around it."""
        side = self.filter.shape[1]
        kernel, heads = self.filter[:, None].to(scores.dtype), self.sizes.heads
        return nn.functional.conv2d(scores, kernel, padding=side // 2, groups=heads)


class ConvolvedByKey(Convolved):
    """conv: along queries, with a filter for each key position. Dufter et al. 2020."""

    def __init__(
        self, sizes: Sizes, map_activation: str = "relu", conv_pos: str = "after"
    ) -> None:
        super().__init__(sizes, 3, map_activation, conv_pos)

    def add_filter(self, side: int) -> None:
        heads, t = self.sizes.heads, self.limit()
        self.filter = glorot((heads, side, t, t), side * t, side * t)
        self.bias = nn.Parameter(torch.zeros(heads, t))

    def forward(
        self, q: Any, k: Any, v: Any, lengths: Sequence[int], **options: Any
    ) -> Any:
        longest, most = max(lengths, default=0), self.filter.shape[-1]
        if longest > most:
            raise ShapeError(
                f"{WHERE}: a sequence of {longest} tokens, length is {most}"
            )
        if self.before:
            return _convolved_scores(q, k, v, lengths, self.convolve)
        given = self.filter, self.bias, lengths, self.activation
        return ops.conv_attention_1d(q, k, v, *given)

    def convolve(self, scores: Any) -> Any:
        t = scores.shape[-1]
        padded = nn.functional.pad(scores, (0, 0, 1, 1))
        kernel = self.filter[..., :t, :t].to(scores.dtype)
        parts = [padded[:, :, u : u + t] @ kernel[:, u] for u in range(3)]
        return sum(parts) + self.bias[:, None, :t]


def _convolved_scores(
    q: Any, k: Any, v: Any, lengths: Sequence[int], convolve: Callable[[Any], Any]
) -> Any:
    """Scores are convolved, then comes the softmax: dense maps [B,H,T,T]."""
    split = [x.split(list(lengths)) for x in (q, k, v)]
    padded = [nn.utils.rnn.pad_sequence(list(x), batch_first=True) for x in split]
    q, k, v = (x.transpose(1, 2) for x in padded)
    tokens = torch.tensor(list(lengths))
    scores = convolve(q @ k.transpose(2, 3) / math.sqrt(q.shape[-1]))
    weights = ops.masked_softmax(scores, tokens, tokens, False)
    o = (weights.to(v.dtype) @ v).transpose(1, 2)
    return torch.cat([x[:n] for x, n in zip(o, lengths, strict=True)])
