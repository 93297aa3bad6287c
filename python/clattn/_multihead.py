"""MultiheadAttention for torch.nn's, and a swap of the attention of whole models."""

from __future__ import annotations

import importlib
import math
from typing import Any, TypeVar

import torch
from torch import nn

from clattn import _arguments as arguments
from clattn import _autograd as autograd
from clattn._sdpa import scaled_dot_product_attention
from clattn.errors import ShapeError, UsageError

_WHERE = "MultiheadAttention"
_HUGGING_FACE = "clattn"
Model = TypeVar("Model", bound=nn.Module)


class MultiheadAttention(nn.MultiheadAttention):  # type: ignore[misc, name-defined, unused-ignore]
    """A drop-in for torch.nn.MultiheadAttention: its arguments, parameters and numbers.

    Keys that key_padding_mask hides are left out of the computation. A query without a
    visible key gives the bias of out_proj. Weights (need_weights=True, PyTorch's
    default) are a dense map: with them PyTorch's own code computes the whole call.
    """

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        need_weights: bool = True,
        attn_mask: torch.Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        if arguments.flag(_WHERE, "need_weights", need_weights):
            return super().forward(
                query,
                key,
                value,
                key_padding_mask=key_padding_mask,
                need_weights=True,
                attn_mask=attn_mask,
                average_attn_weights=average_attn_weights,
                **({"is_causal": True} if is_causal else {}),  # not in PyTorch 1.13
            )
        for name, x in (("query", query), ("key", key), ("value", value)):
            autograd.floats(_WHERE, name, x)
            if x.dim() != query.dim() or x.dim() not in (2, 3):
                raise ShapeError(
                    f"{_WHERE}: {name} is {list(x.shape)}, query {list(query.shape)}:"
                    " must have two axes, or three for a batch"
                )
        alone = query.dim() == 2
        if alone:
            query, key, value = (x[:, None] for x in (query, key, value))
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask[None]
        elif self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        if is_causal and attn_mask is None:
            raise UsageError(
                f"{_WHERE}: attn_mask is missing: is_causal says it is causal"
            )
        o = self._attend(query, key, value, key_padding_mask, attn_mask, is_causal)
        if alone:
            return o[:, 0], None
        return (o.transpose(0, 1) if self.batch_first else o), None

    def _attend(
        self, query: Any, key: Any, value: Any, padding: Any, attn: Any, causal: bool
    ) -> Any:
        """[T,B,D], from [T,B,D] and [S,B,...]."""
        length, batch, _ = query.shape
        q, k, v = self._project(query, key, value)
        more_k: Any = self.bias_k
        more_v: Any = self.bias_v
        if more_k is not None:
            k = torch.cat([k, more_k.expand(1, batch, -1)])
            v = torch.cat([v, more_v.expand(1, batch, -1)])
        if self.add_zero_attn:
            k, v = (torch.cat([x, x.new_zeros(1, batch, x.shape[2])]) for x in (k, v))
        more = len(k) - len(key)
        mask = None
        if causal and padding is None and not more:
            attn = None
        else:
            causal = False
            mask = self._mask(padding, attn, (batch, length, len(key)), more)
        # [B,H,T,d] as views
        q, k, v = (
            x.unflatten(2, (self.num_heads, -1)).permute(1, 2, 0, 3) for x in (q, k, v)
        )
        drop = self.dropout if self.training else 0.0
        o = scaled_dot_product_attention(q, k, v, mask, drop, causal)
        o = o.permute(2, 0, 1, 3).flatten(2)
        return nn.functional.linear(o, self.out_proj.weight, self.out_proj.bias)

    def _project(self, query: Any, key: Any, value: Any) -> list[Any]:
        biases: Any = [None] * 3
        weights: Any
        if self.in_proj_bias is not None:
            biases = self.in_proj_bias.chunk(3)
        if not self._qkv_same_embed_dim:
            weights = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        elif query is key and key is value:
            made = nn.functional.linear(query, self.in_proj_weight, self.in_proj_bias)
            return list(made.chunk(3, -1))
        else:
            weights = self.in_proj_weight.chunk(3)
        return [
            nn.functional.linear(x, w, b)
            for x, w, b in zip((query, key, value), weights, biases, strict=True)
        ]

    def _mask(self, padding: Any, attn: Any, sizes: Any, more: int) -> Any:
        """Both masks in one, as scaled_dot_product_attention takes it."""
        batch, length, keys = sizes
        if padding is not None:
            _check(padding, "key_padding_mask", [[batch, keys]])
            padding = nn.functional.pad(
                _shown(padding), (0, more), value=_open(padding)
            )
            padding = padding[:, None, None]
        if attn is not None:
            heads = batch * self.num_heads
            _check(attn, "attn_mask", [[length, keys], [heads, length, keys]])
            attn = nn.functional.pad(_shown(attn), (0, more), value=_open(attn))
            if attn.dim() == 3:
                attn = attn.unflatten(0, (batch, self.num_heads))
        if padding is None or attn is None:
            return attn if padding is None else padding
        if padding.dtype == attn.dtype == torch.bool:
            return padding & attn
        return _added(padding) + _added(attn)


def _check(mask: Any, name: str, shapes: list[list[int]]) -> None:
    autograd.dense(_WHERE, name, mask)
    if list(mask.shape) not in shapes:
        raise ShapeError(
            f"{_WHERE}: {name} is {list(mask.shape)}, must be"
            f" {' or '.join(map(str, shapes))}"
        )


def _shown(mask: Any) -> Any:
    """PyTorch's layer has True for a key that is hidden, its function for one that is
    visible."""
    return ~mask if mask.dtype == torch.bool else mask


def _open(mask: Any) -> float:
    return 1.0 if mask.dtype == torch.bool else 0.0


def _added(mask: Any) -> Any:
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape).masked_fill(~mask, -math.inf)


# ---- swapping ------------------------------------------------------------------------


def swap_attention(model: Model) -> Model:
    """Lets a model of PyTorch or Hugging Face compute its attention with clattn.

    Each torch.nn.MultiheadAttention in it becomes ours, with its parameters. A model of
    transformers (4.53 or newer) gets ours as its attention implementation. Parameters,
    outputs and gradients stay the same up to rounding. Returns the model.

    Errors: UsageError where there is no attention that can be swapped.
    """
    arguments.instance("swap_attention", "model", model, nn.Module)
    swapped = False
    for module in model.modules():
        if type(module) is nn.MultiheadAttention:
            module.__class__ = MultiheadAttention
            swapped = True
    if hasattr(model, "set_attn_implementation"):
        _register()
        known: Any = model
        known.set_attn_implementation(_HUGGING_FACE)
        if known.config._attn_implementation != _HUGGING_FACE:
            raise UsageError(
                f"swap_attention: {type(model).__name__} has attention of its own,"
                " which transformers cannot set"
            )
        swapped = True
    if not swapped:
        raise UsageError(
            f"swap_attention: {type(model).__name__} has no torch.nn.MultiheadAttention"
            " and is no model of transformers"
        )
    return model


def _register() -> None:
    """Makes clattn an attention implementation of transformers."""
    own = importlib.import_module("transformers")
    own.AttentionInterface.register(_HUGGING_FACE, _attend)
    masks = importlib.import_module("transformers.masking_utils")
    masks.AttentionMaskInterface.register(_HUGGING_FACE, _mask_of)


def _attend(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """Attention as models of transformers call it: [B,H,T,d] in, [B,T,H,d] out."""
    for name in ("softcap", "position_bias", "s_aux", "sliding_window"):
        if others.get(name) is not None:
            raise UsageError(
                f"clattn: {type(module).__name__} passes {name}: not known"
            )
    if is_causal is None:
        is_causal = getattr(module, "is_causal", False)
    causal = bool(is_causal) and attention_mask is None and query.shape[2] > 1
    grouped = query.shape[1] != key.shape[1]
    given = attention_mask, dropout, causal, scaling, grouped
    o = scaled_dot_product_attention(query, key, value, *given)
    return o.transpose(1, 2).contiguous(), None


def _mask_of(*given: Any, **named: Any) -> Any:
    """A mask as SDPA takes it; padding alone is [B,1,1,S]."""
    masking_utils = importlib.import_module("transformers.masking_utils")
    padding: Any = named.get("attention_mask")
    function = named.get("mask_function")
    plain = function is masking_utils.bidirectional_mask_function
    whole = not named.get("kv_offset") and padding is not None and padding.dim() == 2
    if plain and whole and padding.shape[1] == named.get("kv_length"):
        return padding.bool()[:, None, None]
    return masking_utils.sdpa_mask(*given, **named)
