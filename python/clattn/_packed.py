"""Attention of a batch whose tokens do not all take part, on packed operators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from clattn import _arguments as arguments
from clattn import _autograd as autograd
from clattn import ops
from clattn.errors import ShapeError, UsageError
from clattn.tape import Tape
from clattn.tensor import Ragged, Tensor


@dataclass(frozen=True)
class Form:
    """What attention does with scores; the arguments of custom_attention."""

    score: str | None = None
    mask: str | None = None
    weight: str | None = None
    window: int = 0
    causal: bool = False
    dropout: float = 0.0

    def is_plain(self) -> bool:
        return self.score is self.mask is self.weight is None and not self.window

    def call(self, names: Sequence[str]) -> autograd.Call:
        """The operator. `names` are those of the inputs behind q, k and v."""

        def run(tape: Tape, t: Sequence[Any], r: Sequence[Ragged]) -> Tensor:
            q, k, v, *inputs = t
            options: dict[str, Any] = {"causal": self.causal, "dropout": self.dropout}
            if self.is_plain():
                return ops.attention(tape, q, k, v, r[0], r[1], **options)
            options |= {"score": self.score, "mask": self.mask, "weight": self.weight}
            options |= {"window": self.window}
            options |= dict(zip(names, inputs, strict=True))
            return ops.custom_attention(tape, q, k, v, r[0], r[1], **options)

        return run


@dataclass(frozen=True)
class Names:
    """What errors call the function and its arguments."""

    where: str
    tensors: tuple[str, str, str]
    rows: tuple[str, str]


class Rows:
    """The tokens that take part.

    given    the lengths of B sequences, checked if they are a tuple; or [B,T] bool,
             True for a token
    padded   T of a padded batch [B*T,...] in which sequences begin every T rows; else
             None
    lengths  the numbers of tokens that take part
    kept     their rows; None for all rows
    """

    def __init__(
        self, where: str, name: str, given: Any, padded: int | None = None
    ) -> None:
        self.lengths: tuple[int, ...]
        self.kept = None
        self.padded = padded
        if isinstance(given, torch.Tensor) and given.dtype == torch.bool:
            self.lengths = tuple(given.sum(1).tolist())
            if not given.all():
                self.kept = given.flatten().nonzero().flatten()
            return
        known = isinstance(given, tuple)
        self.lengths = given if known else arguments.lengths(where, name, given)
        if padded is None:
            return
        for i, length in enumerate(self.lengths):
            if length > padded:
                raise ShapeError(
                    f"{where}: {name}[{i}] is {length}, sequences have {padded} tokens"
                )
        if any(length != padded for length in self.lengths):
            visible = torch.arange(padded) < torch.tensor(self.lengths)[:, None]
            self.kept = visible.flatten().nonzero().flatten()

    def of(self, x: Any) -> Any:
        return x if self.kept is None else x.index_select(0, self.kept)

    def back(self, y: Any, size: int) -> Any:
        """y in its rows among `size`, with zeros elsewhere."""
        if self.kept is None:
            return y
        return y.new_zeros(size, *y.shape[1:]).index_copy(0, self.kept, y)


def check_rows(names: Names, rows: Sequence[Rows], tensors: Sequence[Any]) -> None:
    """Whether the rows of queries and keys are those of q and k."""
    where = names.where
    for r, name, x in zip(rows, names.rows, tensors, strict=False):
        size = x.shape[0]
        if r.padded and len(r.lengths) * r.padded != size:
            raise ShapeError(
                f"{where}: {name} has {len(r.lengths)} sequences, q {size // r.padded}"
            )
        if r.padded is None and sum(r.lengths) != size:
            raise ShapeError(
                f"{where}: {name} has {sum(r.lengths)} tokens in all, tensors {size}"
            )
    queries, keys = (len(r.lengths) for r in rows)
    if queries != keys:
        raise ShapeError(
            f"{where}: {names.rows[1]} has {keys} sequences, {names.rows[0]} {queries}"
        )


def nothing(q: Any, *others: Any) -> Any:
    """Zeros [N,H,d], the attention to no keys, whose gradients are zeros."""
    parts = [x[:0].sum() for x in (q, *others) if x.is_floating_point()]
    return q.new_zeros(q.shape) + torch.stack(parts).sum()


def attend(
    names: Names,
    tensors: Sequence[Any],
    rows: Sequence[tuple[Any, int | None]],
    form: Form,
    inputs: Mapping[str, Any],
) -> Any:
    """attend of _attend.py, at once and with a tape for the backward pass."""
    q, k, v = tensors
    size = q.shape[0]
    q_rows, k_rows = made = [
        Rows(names.where, name, given, padded)
        for name, (given, padded) in zip(names.rows, rows, strict=True)
    ]
    check_rows(names, made, tensors)
    if not sum(q_rows.lengths) or not sum(k_rows.lengths) or 0 in q.shape:
        return nothing(q, k, v, *inputs.values())
    given = [q_rows.of(q), k_rows.of(k), k_rows.of(v)]
    y = autograd.run(
        names.where,
        form.call(list(inputs)),
        dict(zip(names.tensors, given, strict=True)) | dict(inputs),
        dict(zip(names.tensors, (q_rows.lengths, k_rows.lengths), strict=False)),
        form.dropout != 0,
    )
    return q_rows.back(y, size)


# ---- arguments -----------------------------------------------------------------------


def drop(where: str, name: str, value: Any) -> float:
    """The probability of dropping a weight."""
    p = arguments.real(where, name, value, "float")
    if not 0 <= p < 1:
        raise UsageError(f"{where}: {name} is {p:g}, must be in [0,1)")
    return p


def repeated(where: str, name: str, x: Any, q: Any, axis: int) -> Any:
    """Each head of x, on `axis`, as often as the heads of q need it."""
    heads, fewer = q.shape[axis], x.shape[axis]
    if fewer == heads or heads == 0:
        return x
    if not fewer or heads % fewer:
        raise ShapeError(
            f"{where}: {name} has {fewer} heads, which do not divide {heads}"
        )
    return x.repeat_interleave(heads // fewer, axis)


def factor(where: str, scale: Any, width: int, wide: int) -> float:
    """What queries are multiplied with: the operators have 1 / sqrt(wide)."""
    if scale is None:
        return math.sqrt(wide / width)
    return arguments.real(where, "scale", scale, "float") * math.sqrt(wide)


def full(batch: int, length: int) -> Any:
    """The lengths of a batch without padding; a tensor where shapes are symbols."""
    return torch.full((batch,), length) if autograd.is_traced() else (length,) * batch


def folds(tensors: Sequence[Any], form: Form, inputs: Mapping[str, Any]) -> bool:
    """Whether heads may be sequences of their own, which saves a copy of each tensor.

    tensors  q, k and v [B,H,T,d]
    """
    reads_heads = form.score or form.mask or form.weight or form.dropout or inputs
    if reads_heads or autograd.is_traced():
        return False
    heads = tensors[0].shape[1]
    return heads > 1 and all(
        x.shape[1] == heads and x.shape[2] > 1 and x.is_contiguous() for x in tensors
    )


def unfolded(rows: Any, heads: int) -> Any:
    """Lengths, or a mask [B,S], of batches whose heads are sequences."""
    if isinstance(rows, torch.Tensor):
        return rows.repeat_interleave(heads, 0)
    return tuple(length for length in rows for _ in range(heads))


def widened(x: Any, width: int) -> Any:
    """x [...,d] with zeros in the columns from d to `width`."""
    if x.shape[-1] == width:
        return x
    return torch.nn.functional.pad(x, (0, width - x.shape[-1]))
