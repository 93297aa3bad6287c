"""The ways of attention that favour keys near a centre."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from clattn import _arguments as arguments
from clattn import torch as ops
from clattn._ways import WHERE, Sizes, Way, between, linear
from clattn.errors import UsageError


class _Gaussian(Way):
    """Attention whose scores fall with the distance from a centre.

      scores + -(j - centre)^2 / (2 sigma^2);  u = tanh(Q W + b), Q [N,D] as projected
      centres (len - 1) sigmoid(u U_c + b_c), one a head
      widths 2 sigma = len sigmoid(u U_w + b_w) + 0.1

    The first `local_heads` heads are such, the others plain. Yang et al. 2018, Modeling
    Localness; Luong et al. 2015, section 3.2; Sperber et al. 2018.
    """

    reach = math.inf
    predictor: Any
    center: Any
    spread: Any

    def __init__(self, sizes: Sizes, local_heads: int | None) -> None:
        super().__init__(sizes)
        some = sizes.heads if local_heads is None else local_heads
        self.local = between("local_heads", some, 1, sizes.heads)

    def add_predictor(self, hidden: int, *outputs: str) -> None:
        hidden = between("local_predictor", max(hidden, 1), 1, 65535)
        self.predictor = linear(self.sizes.heads * self.sizes.width, hidden)
        for name in outputs:
            setattr(self, name, linear(hidden, self.local))

    def filled(self, x: Any, value: float) -> Any:
        """x [...,local] with a column of value for each other head."""
        return nn.functional.pad(x, (0, self.sizes.heads - self.local), value=value)

    def centers(self, u: Any, tokens: Any) -> Any:
        return self.filled((tokens - 1) * torch.sigmoid(self.center(u)), 0)

    def widths(self, u: Any, tokens: Any) -> Any:
        return self.filled(tokens / 2 * torch.sigmoid(self.spread(u)) + 0.05, math.inf)

    def shape(self, u: Any, tokens: Any) -> tuple[Any, Any]:
        """Centres and sigmas of queries, of their u and the lengths of their rows."""
        raise NotImplementedError

    def forward(
        self, q: Any, k: Any, v: Any, lengths: Sequence[int], **options: Any
    ) -> Any:
        u = tokens = None
        if hasattr(self, "predictor"):
            u = torch.tanh(self.predictor(q.flatten(1)))
            counts = torch.tensor(list(lengths))
            tokens = counts.repeat_interleave(counts)[:, None].to(u.dtype)
        center, sigma = self.shape(u, tokens)
        given = center, sigma, self.reach, lengths
        return ops.gaussian_attention(q, k, v, *given, **options)


class Neighbor(_Gaussian):
    """neighbor: around the query's own token, with a learned width for each head."""

    def __init__(
        self, sizes: Sizes, local_sigma: float = 3, local_heads: int | None = None
    ) -> None:
        super().__init__(sizes, local_heads)
        sigma = arguments.real(WHERE, "local_sigma", local_sigma)
        if not sigma > 0:
            raise UsageError(f"{WHERE}: local_sigma is {sigma:g}, must be above 0")
        self.root = nn.Parameter(torch.full((self.local,), math.sqrt(sigma)))

    def shape(self, u: Any, tokens: Any) -> tuple[Any, Any]:
        return None, self.filled(self.root * self.root, math.inf)


class NeighborPredicted(_Gaussian):
    """neighbor_predicted: the same, with a width predicted from the query."""

    def __init__(
        self,
        sizes: Sizes,
        local_predictor: int | None = None,
        local_heads: int | None = None,
    ) -> None:
        super().__init__(sizes, local_heads)
        own = sizes.model // 2 if local_predictor is None else local_predictor
        self.add_predictor(own, "spread")

    def shape(self, u: Any, tokens: Any) -> tuple[Any, Any]:
        return None, self.widths(u, tokens)


class LocalHard(_Gaussian):
    """local_hard: tokens around a predicted position, none beyond `local_width`."""

    def __init__(
        self,
        sizes: Sizes,
        local_width: float = 10,
        local_truncate: bool = True,
        local_predictor: int | None = None,
        local_heads: int | None = None,
    ) -> None:
        super().__init__(sizes, local_heads)
        self.width = arguments.real(WHERE, "local_width", local_width)
        if not self.width > 0:
            raise UsageError(f"{WHERE}: local_width is {self.width:g}, must be above 0")
        if arguments.flag(WHERE, "local_truncate", local_truncate):
            self.reach = 2.0
        own = sizes.model // 2 if local_predictor is None else local_predictor
        self.add_predictor(own, "center")

    def shape(self, u: Any, tokens: Any) -> tuple[Any, Any]:
        sigma = self.filled(torch.full((self.local,), self.width / 2), math.inf)
        return self.centers(u, tokens), sigma


class LocalSoft(_Gaussian):
    """local_soft: all tokens, with a Gaussian of predicted centre and width."""

    def __init__(
        self,
        sizes: Sizes,
        local_predictor: int | None = None,
        local_heads: int | None = None,
    ) -> None:
        super().__init__(sizes, local_heads)
        own = sizes.model if local_predictor is None else local_predictor
        self.add_predictor(own, "center", "spread")

    def shape(self, u: Any, tokens: Any) -> tuple[Any, Any]:
        return self.centers(u, tokens), self.widths(u, tokens)
