"""Layers with attention for PyTorch: SelfAttention, Levels, HardAttention."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import nn

from clattn import _arguments as arguments
from clattn import _autograd as autograd
from clattn import _convolved as convolved
from clattn import _gaussian as gaussian
from clattn import _packed as packed
from clattn import _ways as ways
from clattn import ops
from clattn._api import Baseline, HamMemory, HardGate
from clattn._attention import attention
from clattn._ways import WHERE, Sizes, Way, linear
from clattn.errors import ShapeError, UsageError
from clattn.tape import Out
from clattn.torch import ham_s, ham_v

Lengths: TypeAlias = Sequence[int] | torch.Tensor

KINDS: dict[str, type[Way]] = {
    "softmax": ways.Softmax,
    "csan1d": ways.Band,
    "csan2d": ways.Band2d,
    "bi_direct": ways.BiDirect,
    "block": ways.Block,
    "rel_pos": ways.Relative,
    "neighbor": gaussian.Neighbor,
    "neighbor_predicted": gaussian.NeighborPredicted,
    "local_hard": gaussian.LocalHard,
    "local_soft": gaussian.LocalSoft,
    "direct": ways.Direct,
    "conv": convolved.ConvolvedByKey,
    "conv2d": convolved.Convolved,
    "custom": ways.Custom,
}


class Tokens:
    """The tokens of x [N,D] or [B,T,D] that take part, as a packed batch.

    lengths  numbers of tokens; for a padded batch also a mask [B,T], True for a token;
             None: all tokens are, of one sequence [N,D] or of B
    """

    def __init__(self, where: str, name: str, x: Any, lengths: Any) -> None:
        x = autograd.floats(where, name, x)
        if x.dim() not in (2, 3):
            raise ShapeError(
                f"{where}: {name} is {list(x.shape)}, must be [N,D] or [B,T,D]"
            )
        self.shape = x.shape
        padded = x.shape[1] if x.dim() == 3 else None
        if lengths is None:
            lengths = (padded,) * x.shape[0] if padded is not None else (x.shape[0],)
        mask = isinstance(lengths, torch.Tensor) and lengths.dtype == torch.bool
        if mask and (padded is None or lengths.shape != x.shape[:2]):
            raise ShapeError(
                f"{where}: lengths is a mask {list(lengths.shape)}, {name}"
                f" {list(x.shape)}: must be [B,T] of a padded batch [B,T,D]"
            )
        self.rows = packed.Rows(where, "lengths", lengths, padded)
        self.lengths = self.rows.lengths
        flat = x.flatten(0, 1) if padded is not None else x
        whole = padded is not None and len(self.lengths) != x.shape[0]
        if whole or (padded is None and sum(self.lengths) != x.shape[0]):
            raise ShapeError(
                f"{where}: lengths has {len(self.lengths)} sequences of"
                f" {sum(self.lengths)} tokens, {name} is {list(x.shape)}"
            )
        self.values = self.rows.of(flat)

    def back(self, y: Any) -> torch.Tensor:
        """A result [n,...] of the tokens in the layout of x, 0 for the others."""
        made: torch.Tensor = self.rows.back(y, math.prod(self.shape[:-1]))
        return made.reshape(*self.shape[:-1], *y.shape[1:])


class SelfAttention(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """Multi-head self-attention with any kind of docs/attention.md.

      y = [head 1 | ... | head H] W_o + b_o, head h = attention(q_h, k_h, v_h)

    width    D of the tokens
    heads    H, which divides D
    kind     softmax, csan1d, csan2d, bi_direct, block, rel_pos, neighbor,
             neighbor_predicted, local_hard, local_soft, direct, conv, conv2d or custom
    bias     whether projections have one
    dropout  of attention weights, in training
    causal   hides later tokens: softmax, csan1d, rel_pos and custom
    length   the longest sequence, for kinds with parameters of positions
    keys     those of the kind, as in a config: window=11, clip=16, score="..."

    Call it with x [N,D] and the lengths of its sequences, or with a padded batch
    [B,T,D] and lengths or a mask [B,T], True for a token. Other rows give 0.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        kind: str = "softmax",
        *,
        bias: bool = True,
        dropout: float = 0.0,
        causal: bool = False,
        length: int | None = None,
        **keys: Any,
    ) -> None:
        super().__init__()
        width = arguments.whole(WHERE, "width", width, "int")
        heads = arguments.whole(WHERE, "heads", heads, "int")
        if heads < 1 or width < 1 or width % heads:
            raise UsageError(f"{WHERE}: heads is {heads}, must divide width, {width}")
        if kind not in KINDS:
            raise UsageError(f"{WHERE}: kind is {kind!r}, must be one of {list(KINDS)}")
        if length is not None:
            length = ways.between("length", length, 1, 65535)
        known = list(inspect.signature(KINDS[kind].__init__).parameters)[2:]
        for key in keys:
            if key not in known:
                raise UsageError(f"{WHERE}: {kind} has no {key}; it has {known}")
        self.width, self.heads, self.kind = width, heads, kind
        self.dropout = packed.drop(WHERE, "dropout", dropout)
        self.causal = arguments.flag(WHERE, "causal", causal)
        self.way = KINDS[kind](Sizes(width, heads, width // heads, length), **keys)
        if self.causal and not self.way.orders:
            raise UsageError(
                f"{WHERE}: causal must be False: {kind} reads later tokens"
            )
        if self.dropout and not self.way.drops:
            raise UsageError(f"{WHERE}: dropout must be 0: {kind} takes whole maps")
        bias = arguments.flag(WHERE, "bias", bias)
        self.project = nn.Linear(width, 3 * width, bias)
        self.out = nn.Linear(self.way.parts * width, width, bias)
        for made in (self.project, self.out):
            nn.init.xavier_uniform_(made.weight)
            if bias:
                nn.init.zeros_(made.bias)

    def forward(self, x: torch.Tensor, lengths: Lengths | None = None) -> torch.Tensor:
        if autograd.is_compiled() and self.kind in ("softmax", "custom"):
            y: torch.Tensor = self._traced(x, lengths)
            return y
        tokens = Tokens(WHERE, "x", x, lengths)
        if not tokens.values.shape[0]:
            return tokens.back(self.out(tokens.values.repeat(1, self.way.parts)))
        heads = (self.heads, self.width // self.heads)
        q, k, v = self.project(tokens.values).unflatten(1, (3, *heads)).unbind(1)
        o = self.way(q, k, v, tokens.lengths, **self._options())
        return tokens.back(self.out(o.reshape(len(o), -1)))

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self.way.orders:
            options["causal"] = self.causal
        if self.way.drops:
            options["dropout"] = self.dropout if self.training else 0.0
        return options

    def _traced(self, x: Any, lengths: Any) -> Any:
        """The same where PyTorch traces, in the layout of x: lengths are no numbers."""
        shape = (3, self.heads, self.width // self.heads)
        q, k, v = self.project(x).unflatten(-1, shape).unbind(-3)
        if x.dim() == 2:
            o = self.way(q, k, v, [x.shape[0]] if lengths is None else lengths)
            return self.out(o.flatten(1))
        given = dict(getattr(self.way, "form", {})) | self._options()
        learned = getattr(self.way, "learned", {})
        given |= {name: learned[name] for name in learned}
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        o = attention(q, k, v, lengths=lengths, **given)
        y = self.out(o.transpose(1, 2).flatten(2))
        if lengths is None:
            return y
        seen = torch.arange(x.shape[1]) < torch.as_tensor(lengths)[:, None]
        return torch.where(seen[..., None], y, 0)

    def extra_repr(self) -> str:
        return f"{self.width}, heads={self.heads}, kind={self.kind!r}"


class Levels(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """Several levels of attention with a learned mean: hierarchical attention.

      x_l = softmax(scale x_(l-1) m') m,  y = sum over l of w_l x_l,  w = softmax(c)

    depth   levels, 1 to 256
    memory  "current": m is x_(l-1); "original": m is x

    Call it with x [N,D] or [B,T,D] and lengths, as SelfAttention. With a memory of its
    own, m [M,D] or [B,S,D], each level attends to that.
    """

    def __init__(
        self, depth: int, memory: str = "current", scale: float | None = None
    ) -> None:
        super().__init__()
        where = "Levels"
        self.depth = arguments.whole(where, "depth", depth, "int")
        if not 1 <= self.depth <= 256:
            raise UsageError(f"{where}: depth is {depth}, must be in 1..256")
        if memory not in ("current", "original"):
            raise UsageError(f"{where}: memory is {memory!r}, current or original")
        self.memory = HamMemory[memory.upper()]
        self.scale = 0.0 if scale is None else arguments.real(where, "scale", scale)
        self.c = nn.Parameter(torch.zeros(self.depth))

    def forward(
        self,
        x: torch.Tensor,
        lengths: Lengths | None = None,
        memory: torch.Tensor | None = None,
        memory_lengths: Lengths | None = None,
    ) -> torch.Tensor:
        tokens = Tokens("Levels", "x", x, lengths)
        options: dict[str, Any] = {"scale": self.scale}
        if memory is None:
            options["memory"] = self.memory
            return tokens.back(ham_s(tokens.values, self.c, tokens.lengths, **options))
        keys = Tokens("Levels", "memory", memory, memory_lengths)
        rows = tokens.lengths, keys.lengths
        return tokens.back(ham_v(tokens.values, keys.values, self.c, *rows, **options))


class HardAttention(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """Gates of 0 or 1 for each query and key, which learn from rewards.

      q = tanh((x W_1 + b_1) W_2 + b_2), k and v likewise of the memory
      s = scale q k', p = 1 / (1 + exp(-s)), o[i] = sum_j g[i,j] v[j], g = open(p)

    gate      how gates open where the layer does not train: threshold, sample, expected
              or top; in training they are drawn
    top       gates of a query that are open, of top
    mean      o is the mean of the open rows, not their sum
    scaled    s is divided by sqrt(D)
    baseline  what is subtracted from returns: none, mean or learned

    The gradient of o trains v alone. policy_loss(rewards) trains q and k, after the
    call that drew the gates. Source: Indurthi, Chung and Kim 2019.
    """

    query: Any
    key: Any
    value: Any
    expect: Any

    def __init__(
        self,
        width: int,
        *,
        gate: str = "threshold",
        top: int = 4,
        mean: bool = False,
        scaled: bool = False,
        baseline: str = "none",
    ) -> None:
        super().__init__()
        where = "HardAttention"
        gates = {m.name.lower(): m for m in HardGate if m != HardGate.GIVEN}
        if gate not in gates:
            raise UsageError(f"{where}: gate is {gate!r}, must be one of {list(gates)}")
        names = {m.name.lower(): m for m in Baseline}
        if baseline not in names:
            raise UsageError(
                f"{where}: baseline is {baseline!r}, must be one of {list(names)}"
            )
        self.gate, self.baseline = gates[gate], names[baseline]
        self.top = arguments.whole(where, "top", top, "int")
        self.mean = arguments.flag(where, "mean", mean)
        self.scale = 0.0 if arguments.flag(where, "scaled", scaled) else 1.0
        width = arguments.whole(where, "width", width, "int")
        for name in ("query", "key", "value"):
            both = linear(width, width), linear(width, width)
            setattr(self, name, nn.Sequential(*both, nn.Tanh()))
        if self.baseline == Baseline.LEARNED:
            self.expect = linear(width, 1)
        self._drawn: Any = None

    def forward(
        self,
        x: torch.Tensor,
        lengths: Lengths | None = None,
        memory: torch.Tensor | None = None,
        memory_lengths: Lengths | None = None,
    ) -> torch.Tensor:
        tokens = Tokens("HardAttention", "x", x, lengths)
        keys = tokens
        if memory is not None:
            keys = Tokens("HardAttention", "memory", memory, memory_lengths)
        q, k = self.query(tokens.values.detach()), self.key(keys.values.detach())
        v, rows = self.value(keys.values), (tokens.lengths, keys.lengths)
        options: dict[str, Any] = {
            "gate": HardGate.SAMPLE if self.training else self.gate
        }
        options |= {"top": self.top, "mean": self.mean, "scale": self.scale}

        def call(tape: Any, t: Any, r: Any) -> Any:
            out: dict[str, Any] = {"scores": Out(), "gates": Out()}
            q, k, v = t
            o = ops.hard_attention(tape, q, k, v, r[0], r[1], **options, **out)
            return o, out["scores"].tensor, out["gates"].tensor

        names = dict(zip(("q", "k", "v"), (q, k, v), strict=True))
        o, scores, gates = autograd.run(
            "hard_attention", call, names, {"x": rows[0], "memory": rows[1]}, True
        )
        self._drawn = tokens, rows, scores, gates.detach()
        return tokens.back(o.to(v.dtype))

    def policy_loss(self, rewards: torch.Tensor, entropy: float = 0.0) -> torch.Tensor:
        """REINFORCE for the gates of the last call: a loss for q, k and the baseline.

        rewards  what each query earned, in the layout of x without its last axis
        entropy  weight of the gates' entropy, 0 or more
        """
        if self._drawn is None:
            raise UsageError(
                "policy_loss: no call has drawn gates, or its loss is made"
            )
        (tokens, rows, scores, gates), self._drawn = self._drawn, None
        if rewards.shape != tokens.shape[:-1]:
            raise ShapeError(
                f"policy_loss: rewards is {list(rewards.shape)}, must be"
                f" {list(tokens.shape[:-1])}"
            )
        earned = tokens.rows.of(rewards.detach().flatten())
        given = {"scores": scores, "gates": gates, "rewards": earned}
        if self.baseline == Baseline.LEARNED:
            given["learned"] = self.expect(tokens.values.detach()).flatten()

        def call(tape: Any, t: Any, r: Any) -> Any:
            learned: Any = dict(zip(["learned"], t[3:], strict=False))
            kind: Any = {"entropy": entropy, "baseline": self.baseline}
            s, g, earned = t[:3]
            return ops.reinforce(tape, s, g, earned, r[0], r[1], **kind, **learned)

        of = {"x": rows[0], "memory": rows[1]}
        loss: torch.Tensor = autograd.run("reinforce", call, given, of)
        return loss[0]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_drawn": None}  # a graph cannot be copied
