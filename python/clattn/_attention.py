"""Attention with modifiers, of packed, padded and nested batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from clattn import _arguments as arguments
from clattn import _attend as dispatch
from clattn import _autograd as autograd
from clattn import _packed as packed
from clattn._translate import expression
from clattn.errors import ShapeError, UsageError

_NAME = "attention"
_QKV = ("q", "k", "v")


@dataclass(frozen=True)
class _Job:
    """What is done, in any layout."""

    form: packed.Form
    inputs: dict[str, Any]
    scale: Any
    grouped: bool


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    q_rows: Sequence[int] | torch.Tensor | None = None,
    k_rows: Sequence[int] | torch.Tensor | None = None,
    *,
    score: str | Callable[..., Any] | None = None,
    mask: str | Callable[..., Any] | None = None,
    weight: str | Callable[..., Any] | None = None,
    window: int | None = None,
    causal: bool = False,
    dropout: float = 0.0,
    scale: float | None = None,
    lengths: Sequence[int] | torch.Tensor | None = None,
    cu_seqlens: Sequence[int] | torch.Tensor | None = None,
    enable_gqa: bool = False,
    **inputs: torch.Tensor,
) -> torch.Tensor:
    """Scaled dot-product attention of packed, padded or nested sequences.

      o[i,h] = sum_j weight(p[h,i,j]) v[j,h],  p[h,i,:] = softmax over the visible j of
      score(<q[i,h], k[j,h]> * scale)
      over the keys of i's own sequence; a query without a visible key gives 0.

    q, k, v     packed [N,H,d], padded [B,H,T,d] or nested (jagged) [B,H,*,d] or
                [B,*,H,d]; with any strides. v may have another width.
    q_rows      the number of tokens of each sequence: a list, an array or a tensor of
                whole numbers. A packed batch needs it; a padded one has full sequences
                without it. Results behind the end of a sequence are 0.
    k_rows      those of keys, where they are others
    lengths     q_rows and k_rows under one name
    cu_seqlens  the same as offsets [B+1], from 0: of a packed batch
    score       the score that the softmax sees: an expression (docs/custom.md), or a
                function of Python whose arguments are named as in expressions, such as
                lambda s, h, i, j: s - abs(i - j). flex_attention's names score, q_idx
                and kv_idx are taken for s, i and j
    mask        a condition of the same kind, true where a key is visible
    weight      the factor of a value; it reads w, the weight after the softmax
    window      also hides keys with abs(i - j) > window / 2; odd
    causal      key j is visible to query i where j <= i + S - T
    dropout     probability of dropping a weight, 0 <= p < 1
    scale       1 / sqrt(d) where it is not given
    enable_gqa  whether k and v may have fewer heads, each for several of q
    inputs      tensors that expressions read by name; floats may want a gradient.
                Functions also read tensors that they captured.

    The result is like q, in the type to which PyTorch promotes those of q, k and v.
    Errors: UsageError (what is no expression; an argument that does not fit),
    ShapeError, DtypeError, OutOfMemoryError, DeviceError.
    Source: Vaswani et al. 2017, section 3.2; the form of modifiers after Dong et al.
    2024, Flex Attention.
    """
    form, read = _form(score, mask, weight, window, causal, dropout, dict(inputs))
    grouped = arguments.flag(_NAME, "enable_gqa", enable_gqa)
    job = _Job(form, read, scale, grouped)
    given = [
        autograd.floats(_NAME, name, x, nested=True)
        for name, x in zip(_QKV, (q, k, v), strict=True)
    ]
    spans = _spans(q_rows, k_rows, lengths, cu_seqlens)
    if any(x.is_nested for x in given):
        return _nested(given, spans, job)
    _check_shapes(given[0], given[1], given[2], job.grouped)
    if q.dim() == 3:
        return _packed_batch(given, spans, job)
    if cu_seqlens is not None:
        raise ShapeError(
            f"{_NAME}: q is {list(q.shape)}, cu_seqlens is for packed [N,H,d]"
        )
    return _padded_batch(given, spans, job)


# ---- layouts -------------------------------------------------------------------------


def _packed_batch(given: Sequence[Any], spans: Any, job: _Job) -> torch.Tensor:
    (q_name, q_lengths), (k_name, k_lengths) = spans
    if q_lengths is None or k_lengths is None:
        raise UsageError(
            f"{_NAME}: q_rows is missing: packed q {list(given[0].shape)} needs q_rows,"
            " lengths or cu_seqlens"
        )
    rows = [(q_lengths, None), (k_lengths, None)]
    return _run(given, rows, (q_name, k_name), job)


def _padded_batch(given: Sequence[Any], spans: Any, job: _Job) -> torch.Tensor:
    q, k, v = given
    (q_name, q_lengths), (k_name, k_lengths) = spans
    batch, _, length, _ = q.shape
    keys = k.shape[2]
    if k_lengths is not None and k_name != "k_rows" and keys != length:
        raise ShapeError(
            f"{_NAME}: {k_name} is of q {list(q.shape)}; k {list(k.shape)} has other"
            " tokens and needs k_rows"
        )
    rows = [
        (packed.full(batch, tokens) if own is None else own, tokens)
        for own, tokens in ((q_lengths, length), (k_lengths, keys))
    ]
    heads = q.shape[1]
    if packed.folds((q, k, v), job.form, job.inputs) and all(
        len(own) == batch and max(own, default=0) <= tokens for own, tokens in rows
    ):
        rows = [(packed.unfolded(own, heads), size) for own, size in rows]
        q, k, v = (x.flatten(0, 1).unsqueeze(1) for x in (q, k, v))
    flat = [x.transpose(1, 2).flatten(0, 1) for x in (q, k, v)]
    o = _run(flat, rows, (q_name, k_name), job)
    o = o.view(q.shape[0], length, *o.shape[1:]).transpose(1, 2)
    return o.reshape(batch, heads, length, v.shape[3])


def _nested(given: Sequence[Any], spans: Any, job: _Job) -> torch.Tensor:
    """Nested tensors [B,H,*,d] or [B,*,H,d] as packed ones, and back."""
    flat, offsets = [], []
    for name, x in zip(_QKV, given, strict=True):
        if (
            not x.is_nested
            or x.layout != getattr(torch, "jagged", None)
            or x.dim() != 4
        ):
            raise ShapeError(
                f"{_NAME}: {name} must be a nested tensor [B,H,*,d] of layout"
                " torch.jagged, as q, k and v all are if one is"
            )
        if isinstance(x.shape[1], int):
            x = x.transpose(1, 2)
        flat.append(x.values())
        offsets.append(x.offsets())
    if any(rows is not None for _, rows in spans):
        raise UsageError(f"{_NAME}: {spans[0][0]} must be None: nested q has lengths")
    if not torch.equal(offsets[1], offsets[2]):
        raise ShapeError(f"{_NAME}: v has other lengths than k")
    _check_shapes(flat[0], flat[1], flat[2], job.grouped)
    spans = [("q", offsets[0].diff()), ("k", offsets[1].diff())]
    o = _packed_batch(flat, spans, job)
    made = torch.nested.nested_tensor_from_jagged(o, offsets[0])
    return made.transpose(1, 2) if isinstance(given[0].shape[1], int) else made


def _run(
    given: Sequence[Any],
    rows: Sequence[tuple[Any, int | None]],
    row_names: tuple[str, str],
    job: _Job,
) -> torch.Tensor:
    """[N,H,e], from q [N,H,d], k [M,H,d] and v [M,H,e]."""
    q, k, v = given
    wanted = autograd.result_type((q, k, v))
    if job.grouped:
        k, v = (packed.repeated(_NAME, n, x, q, 1) for n, x in (("k", k), ("v", v)))
    width, values = max(q.shape[2], v.shape[2]), v.shape[2]
    factor = packed.factor(_NAME, job.scale, q.shape[2], width)
    q, k, v = (packed.widened(x.float(), width) for x in (q, k, v))
    if factor != 1:
        q = q * factor
    names = packed.Names(_NAME, _QKV, row_names)
    o: torch.Tensor = dispatch.attend(names, (q, k, v), rows, job.form, job.inputs)
    return o[..., :values].to(wanted)


# ---- arguments -----------------------------------------------------------------------


def _form(
    score: Any,
    mask: Any,
    weight: Any,
    window: Any,
    causal: Any,
    dropout: Any,
    inputs: dict[str, Any],
) -> tuple[packed.Form, dict[str, Any]]:
    """The expressions, and the tensors that they read."""
    for name, x in inputs.items():
        autograd.dense(_NAME, name, x)
    hidden = ""
    made: dict[str, str | None] = {}
    for what, given in (("score", score), ("mask", mask), ("weight", weight)):
        if callable(given):
            if autograd.is_compiled():
                raise UsageError(
                    f"{_NAME}: {what} is a function, which torch.compile cannot see"
                    " translated: give the text of an expression"
                )
            made[what], visible = expression(_NAME, what, given, inputs)
            hidden = visible or hidden
        elif given is None or isinstance(given, str):
            made[what] = given
        else:
            raise arguments.wrong(_NAME, what, given, "a str or a function")
    if hidden:
        made["mask"] = f"{hidden} && ({made['mask']})" if made["mask"] else hidden
    wide = 0 if window is None else arguments.whole(_NAME, "window", window, "int")
    form = packed.Form(
        **made,
        window=wide,
        causal=arguments.flag(_NAME, "causal", causal),
        dropout=packed.drop(_NAME, "dropout", dropout),
    )
    if wide < 0 or (wide and wide % 2 == 0):
        raise UsageError(f"{_NAME}: window is {wide}, must be odd, or 0 for none")
    if inputs and form.is_plain():
        raise UsageError(f"{_NAME}: no expression reads {next(iter(inputs))}")
    return form, inputs


def _spans(q_rows: Any, k_rows: Any, lengths: Any, cu_seqlens: Any) -> Any:
    """Which argument holds the lengths of queries and of keys, and these."""
    given = {"q_rows": q_rows, "lengths": lengths, "cu_seqlens": cu_seqlens}
    named = [(name, value) for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise UsageError(
            f"{_NAME}: {named[1][0]} must be None where {named[0][0]} is given"
        )
    name, own = named[0] if named else ("q_rows", None)
    own = _lengths(name, own)
    if k_rows is None:
        return [(name, own), (name, own)]
    return [(name, own), ("k_rows", _lengths("k_rows", k_rows))]


def _lengths(name: str, given: Any) -> Any:
    """Numbers of tokens. Those of a tensor are unknown while PyTorch traces."""
    if given is None:
        return None
    if autograd.is_traced() and isinstance(given, torch.Tensor):
        return given.diff() if name == "cu_seqlens" else given
    if name == "cu_seqlens":
        return autograd.offsets(_NAME, name, given)
    return arguments.lengths(_NAME, name, given)


def _check_shapes(q: Any, k: Any, v: Any, grouped: bool) -> None:
    for name, x in zip(_QKV, (q, k, v), strict=True):
        if x.dim() not in (3, 4):
            raise ShapeError(
                f"{_NAME}: {name} is {list(x.shape)}, must be [N,H,d] or [B,H,T,d]"
            )
        if x.dim() != q.dim():
            raise ShapeError(
                f"{_NAME}: {name} is {list(x.shape)}, q {list(q.shape)}: other axes"
            )
        if not x.shape[-1]:
            raise ShapeError(f"{_NAME}: {name} is {list(x.shape)}, its width is 0")
    if k.shape[-1] != q.shape[-1]:
        raise ShapeError(
            f"{_NAME}: k is {list(k.shape)}, q {list(q.shape)}: widths differ"
        )
    heads, tokens = (-3, -2) if q.dim() == 4 else (-2, -3)
    for name, x in (("k", k), ("v", v)):
        if q.dim() == 4 and x.shape[0] != q.shape[0]:
            raise ShapeError(
                f"{_NAME}: {name} is {list(x.shape)}, q {list(q.shape)}: batches differ"
            )
        if not grouped and x.shape[heads] != q.shape[heads]:
            raise ShapeError(
                f"{_NAME}: {name} is {list(x.shape)}, q {list(q.shape)}: heads differ"
                " (enable_gqa lets k and v have fewer)"
            )
    if v.shape[tokens] != k.shape[tokens]:
        raise ShapeError(
            f"{_NAME}: v is {list(v.shape)}, k {list(k.shape)}: tokens differ"
        )
