"""Scaled dot-product attention as torch.nn.functional has it, on packed operators."""

from __future__ import annotations

from typing import Any

import torch

from clattn import _arguments as arguments
from clattn import _attend as dispatch
from clattn import _autograd as autograd
from clattn import _packed as packed
from clattn.errors import DtypeError, ShapeError, UsageError

_NAME = "scaled_dot_product_attention"
_NAMES = packed.Names(_NAME, ("query", "key", "value"), ("query", "key"))


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Attention like torch.nn.functional.scaled_dot_product_attention.

      softmax(query key' * scale + attn_mask) value

    query       [...,H,T,d], with any strides
    key         [...,H,S,d]; leading axes are broadcast
    value       [...,H,S,e]
    attn_mask   broadcast to [...,H,T,S]: bool, True where a key is visible, or numbers
                that are added to the scores and may want a gradient. A mask of keys
                alone, [B,1,1,S], is padding: its keys are left out of the computation.
    dropout_p   probability of dropping a weight, 0 <= p < 1. The draws are clattn's,
                with a seed from PyTorch's generator
    is_causal   key j is visible to query i where j <= i, also where S is not T
    scale       1 / sqrt(d) where it is not given
    enable_gqa  whether key and value may have fewer heads, each for several of query

    The result is [...,H,T,e] in the type of query, or of autocast. float16, bfloat16
    and float64 are computed in float32. A query without a visible key gives 0.
    """
    q, k, v = _inputs(query, key, value)
    mask = _mask_of(attn_mask)
    causal = arguments.flag(_NAME, "is_causal", is_causal)
    grouped = arguments.flag(_NAME, "enable_gqa", enable_gqa)
    drop = packed.drop(_NAME, "dropout_p", dropout_p)
    if causal and mask is not None:
        raise UsageError(f"{_NAME}: attn_mask must be None where is_causal is True")
    _check_widths(q, k, v)
    if grouped:
        k, v = _repeated("key", k, q), _repeated("value", v, q)
    leading = _leading(q, k, v)
    scores = (*leading, q.shape[-2], k.shape[-2])
    if mask is not None:
        mask = _of_scores(mask, scores)
    wide = max(q.shape[-1], v.shape[-1])
    factor = packed.factor(_NAME, scale, q.shape[-1], wide)
    dtype, shape = q.dtype, (*scores[:-1], v.shape[-1])
    q, k, v = (_batch(x.float(), leading) for x in (q, k, v))
    o: torch.Tensor
    if 0 in scores:
        o = _nothing(q, k, v)
        return o.reshape(shape).to(dtype)
    wanted = None if mask is None else _Mask(mask, scores)
    o = _attend(q if factor == 1 else q * factor, k, v, wanted, causal, drop)
    return o.reshape(shape).to(dtype)


# ---- arguments -----------------------------------------------------------------------


def _inputs(query: Any, key: Any, value: Any) -> list[Any]:
    """The three tensors in one type, which is autocast's where that is on."""
    names = ("query", "key", "value")
    given = [
        autograd.floats(_NAME, n, x)
        for n, x in zip(names, (query, key, value), strict=True)
    ]
    cast = autograd.autocast_type()
    if cast is not None:  # as PyTorch, which leaves float64 alone
        given = [x if x.dtype == torch.float64 else x.to(cast) for x in given]
    for name, x in zip(names, given, strict=True):
        if x.dim() < 2:
            raise ShapeError(f"{_NAME}: {name} is {list(x.shape)}, must be [...,T,d]")
        if x.dtype != given[0].dtype:
            raise DtypeError(
                f"{_NAME}: {name} is {x.dtype}, must be {given[0].dtype} as query"
            )
    return given


def _mask_of(attn_mask: Any) -> Any:
    if attn_mask is None:
        return None
    mask = autograd.dense(_NAME, "attn_mask", attn_mask)
    if mask.dtype != torch.bool and mask.dtype not in autograd.FLOATS:
        raise DtypeError(f"{_NAME}: attn_mask is {mask.dtype}, must be bool or floats")
    return mask


def _check_widths(q: Any, k: Any, v: Any) -> None:
    if k.shape[-1] != q.shape[-1]:
        raise ShapeError(
            f"{_NAME}: key is {list(k.shape)}, query {list(q.shape)}: widths differ"
        )
    if v.shape[-2] != k.shape[-2]:
        raise ShapeError(
            f"{_NAME}: value is {list(v.shape)}, key {list(k.shape)}: lengths differ"
        )
    if not q.shape[-1] or not v.shape[-1]:
        name, x = ("query", q) if not q.shape[-1] else ("value", v)
        raise ShapeError(f"{_NAME}: {name} is {list(x.shape)}, its width must not be 0")


def _repeated(name: str, x: Any, q: Any) -> Any:
    """Each head of x as often as the heads of q need it."""
    if x.dim() < 3 or q.dim() < 3:
        raise ShapeError(f"{_NAME}: enable_gqa needs an axis of heads in query, {name}")
    return packed.repeated(_NAME, name, x, q, -3)


def _broadcast(*shapes: Any) -> Any:
    function: Any = torch.broadcast_shapes  # PyTorch gives it no types
    return function(*shapes)


def _leading(q: Any, k: Any, v: Any) -> tuple[int, ...]:
    """The axes before T and d, broadcast."""
    shape = q.shape[:-2]
    for name, x in (("key", k), ("value", v)):
        try:
            shape = _broadcast(shape, x.shape[:-2])
        except RuntimeError:
            raise ShapeError(
                f"{_NAME}: {name} is {list(x.shape)}, query {list(q.shape)}: batches or"
                " heads differ (enable_gqa lets key and value have fewer heads)"
            ) from None
    return tuple(shape)


# ---- masks ---------------------------------------------------------------------------


class _Mask:
    """A mask of scores as expressions read it: [B,T,S], or [B,H,T,S] if heads differ.

    Axes that only repeat have size 1; expressions clamp their indices. Masks of
    different shapes thus share a kernel.

    values  bool, or float32 to add
    hides   whether some keys are hidden
    """

    def __init__(self, mask: Any, scores: tuple[int, ...]) -> None:
        for axis in range(mask.dim()):
            if mask.shape[axis] > 1 and mask.stride(axis) == 0:
                mask = mask.narrow(axis, 0, 1)
        mask = _four_axes(mask, len(scores))
        if len(scores) > 4 and any(n > 1 for n in mask.shape[:-3]):
            mask = mask.expand(*scores[:-3], *mask.shape[-3:])
        mask = mask.flatten(0, -4)
        self.values = mask.squeeze(1) if mask.shape[1] == 1 else mask
        self.hides = True
        if mask.dtype != torch.bool:
            self._read_floats()

    def _read_floats(self) -> None:
        """Numbers become float32, and a constant of 0 and -inf alone a bool mask."""
        if autograd.is_traced():  # its numbers are not known: they may hide keys
            self.values = self.values.float()
            return
        hidden = self.values.isneginf()
        self.hides = bool(hidden.any())
        is_bool = self.hides and bool(((self.values == 0) | hidden).all())
        if is_bool and not self.values.requires_grad:
            self.values = ~hidden
        else:
            self.values = self.values.float()

    def padding(self, batch: int, keys: int) -> Any:
        """The visible keys [B,S], if they are the same for all queries and heads."""
        same = self.values.dim() == 3 and self.values.shape[1] == 1
        if not same or self.values.dtype != torch.bool:
            return None
        return self.values[:, 0].expand(batch, keys)

    def expressions(self) -> dict[str, str]:
        """What it does to scores, as custom_attention takes it."""
        read = f"attn_mask[b]{'[h]' * (self.values.dim() - 3)}[i][j]"
        if self.values.dtype == torch.bool:
            return {"mask": f"{read} != 0"}
        made = {"score": f"s + {read}"}
        if self.hides:  # -inf: the work of blocks without a visible key is saved
            made["mask"] = f"!({read} < -3.4028235e38)"
        return made


def _of_scores(mask: Any, scores: tuple[int, ...]) -> Any:
    """The mask, which broadcasts to the scores."""
    try:
        fits = _broadcast(mask.shape, scores) == scores
    except RuntimeError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{_NAME}: attn_mask is {list(mask.shape)}, must broadcast to [...,T,S],"
            f" {list(scores)}; padding is [B,1,1,S]"
        )
    return mask


# ---- the packed batch ----------------------------------------------------------------


def _four_axes(x: Any, rank: int) -> Any:
    """x with `rank` axes or more, a batch and heads among them: [...,B,H,T,d]."""
    x = x.reshape(*[1] * (rank - x.dim()), *x.shape)
    while x.dim() < 4:
        x = x.unsqueeze(-3)
    return x


def _batch(x: Any, leading: tuple[int, ...]) -> Any:
    """x as [B,H,T,d]."""
    x = x.expand(*leading, *x.shape[-2:])
    return _four_axes(x, 0).flatten(0, -4)


def _packed(x: Any, width: int) -> Any:
    """x [B,H,T,d] as [B*T,H,width], with zeros in the columns from d on."""
    return packed.widened(x.transpose(1, 2).flatten(0, 1), width)


def _nothing(q: Any, k: Any, v: Any) -> Any:
    """[B,H,T,e] of zeros, the attention to no keys."""
    return (q @ k[:, :, :0].transpose(2, 3)) @ v[:, :, :0]


def _attend(
    q: Any, k: Any, v: Any, mask: _Mask | None, causal: bool, dropout: float
) -> Any:
    """[B,H,T,e], from q [B,H,T,d], k [B,H,S,d] and v [B,H,S,e]."""
    batch, heads, length, _ = q.shape
    if causal:  # no query sees the keys behind the last one
        k, v = k[:, :, :length], v[:, :, :length]
    keys, width = k.shape[2], max(q.shape[3], v.shape[3])
    visible = None if mask is None else mask.padding(batch, keys)
    expressions: dict[str, Any] = {}
    inputs = {}
    if mask is not None and visible is None:
        expressions, inputs = mask.expressions(), {"attn_mask": mask.values}
    if causal and keys < length:  # the operators align the last key and the last query
        causal, expressions = False, {"mask": "j <= i"}
    rows = [
        (packed.full(batch, length), length),
        (packed.full(batch, keys) if visible is None else visible, keys),
    ]
    form = packed.Form(causal=causal, dropout=dropout, **expressions)
    shape = batch, heads, length, v.shape[3]
    if packed.folds((q, k, v), form, inputs):
        rows = [(packed.unfolded(own, heads), size) for own, size in rows]
        q, k, v = (x.flatten(0, 1).unsqueeze(1) for x in (q, k, v))
        batch, heads = batch * heads, 1
    o = dispatch.attend(
        _NAMES, [_packed(x, width) for x in (q, k, v)], rows, form, inputs
    )
    o = o.view(batch, length, heads, width)[..., : v.shape[3]].transpose(1, 2)
    return o.reshape(shape)
