"""Attention as an operator of torch.library: what torch.compile, export and vmap take.

A call that runs at once goes through autograd.Function (_autograd.py), which keeps the
forward pass's tape. Here nothing is kept, so that the backward pass runs forward again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from clattn import _autograd as autograd
from clattn import _packed as packed
from clattn._packed import Form, Names, Rows
from clattn.errors import GradientError, UsageError

# What both operators take behind the tensors q, k and v.
_REST = (
    "Tensor[] inputs, Tensor q_rows, Tensor k_rows, Tensor? seed, SymInt[] padded,"
    " str[] names, str[] texts, int window, bool causal, float dropout"
)
_OWN_NAMES = 6  # the function, three tensors, two rows; behind them those of inputs


class _Call:
    """What an operator was given: a step of _autograd, and the tokens that take part."""

    def __init__(
        self,
        tensors: Sequence[Any],
        inputs: Sequence[Any],
        q_rows: Any,
        k_rows: Any,
        seed: Any,
        padded: Sequence[int],
        said: Sequence[str],
        texts: Sequence[str],
        window: int,
        causal: bool,
        dropout: float,
    ) -> None:
        read = said[_OWN_NAMES:]
        names = Names(said[0], (said[1], said[2], said[3]), (said[4], said[5]))
        score, mask, weight = (text or None for text in texts)
        form = Form(score, mask, weight, window, causal, dropout)
        sizes = (None if n < 0 else n for n in padded)
        self.rows = [
            Rows(names.where, name, given, size)
            for name, given, size in zip(
                names.rows, (q_rows, k_rows), sizes, strict=True
            )
        ]
        packed.check_rows(names, self.rows, tensors)
        self.sizes = [x.shape[0] for x in tensors]
        self.empty = not all(sum(r.lengths) for r in self.rows) or 0 in tensors[0].shape
        of = [self.rows[0], self.rows[1], self.rows[1]]
        self.values = [r.of(x) for r, x in zip(of, tensors, strict=True)]
        self.values += [
            autograd.tensor(names.where, name, x)
            for name, x in zip(read, inputs, strict=True)
        ]
        self.step = autograd.Step(
            names.where,
            form.call(read),
            [r.lengths for r in self.rows],
            42 if seed is None else int(seed),
            fused=3,
        )

    def back(self, number: int, grad: Any) -> Any:
        """The gradient of a tensor in all its rows."""
        if number > 2:
            return grad
        return self.rows[min(number, 1)].back(grad, self.sizes[number])


def _forward(q: Any, k: Any, v: Any, *rest: Any) -> Any:
    call = _Call((q, k, v), *rest)
    if call.empty:
        return torch.zeros(q.shape)
    y = call.step.forward(call.values, [False] * len(call.values))
    return call.rows[0].back(y, call.sizes[0])


def _backward(dy: Any, q: Any, k: Any, v: Any, *rest: Any) -> list[Any]:
    *given, wanted = rest
    call = _Call((q, k, v), *given)
    tensors = [q, k, v, *given[0]]
    if call.empty:
        return [torch.zeros(x.shape) for x, w in zip(tensors, wanted, strict=True) if w]
    grads = call.step.backward(call.values, wanted, call.rows[0].of(dy))
    return [
        call.back(number, grad).reshape(tensors[number].shape)
        for number, grad in enumerate(grads)
        if wanted[number]
    ]


def _fake_forward(q: Any, *_: Any) -> Any:
    return q.new_empty(q.shape)


def _fake_backward(dy: Any, q: Any, k: Any, v: Any, *rest: Any) -> list[Any]:
    tensors = [q, k, v, *rest[0]]
    return [x.new_empty(x.shape) for x, w in zip(tensors, rest[-1], strict=True) if w]


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, v, others, q_rows, k_rows, seed, *ctx.constants = inputs
    ctx.save_for_backward(q, k, v, q_rows, k_rows, seed, *others)


def _differentiate(ctx: Any, dy: Any) -> Any:
    q, k, v, q_rows, k_rows, seed, *others = ctx.saved_tensors
    needed = ctx.needs_input_grad
    wanted = [*needed[:3], *needed[3]]
    rest = (others, q_rows, k_rows, seed, *ctx.constants, wanted)
    made = iter(torch.ops.clattn.packed_attention_backward(dy, q, k, v, *rest))
    grads = [next(made) if w else None for w in wanted]
    return *grads[:3], grads[3:], *[None] * (3 + len(ctx.constants))


def _nth(value: Any, axis: Any, i: int) -> Any:
    """The i-th of a batch, in lists of tensors, too."""
    if isinstance(axis, list | tuple):
        return [_nth(x, a, i) for x, a in zip(value, axis, strict=True)]
    return value if axis is None else value.select(axis, i)


def _each(operator: Any) -> Any:
    """vmap: the operator runs for each element of the batch."""

    def rule(info: Any, axes: Any, *given: Any) -> Any:
        made = [
            operator(*(_nth(x, a, i) for x, a in zip(given, axes, strict=True)))
            for i in range(info.batch_size)
        ]
        if not isinstance(made[0], list):
            return torch.stack(made), 0
        return [torch.stack(x) for x in zip(*made, strict=True)], [0] * len(made[0])

    return rule


def _register() -> bool:
    """Makes the operators, where PyTorch has what they need: from 2.5 on."""
    custom_op = getattr(torch.library, "custom_op", None)
    if custom_op is None or not hasattr(torch.library, "register_vmap"):
        return False
    operators = []
    for name, head, tail, function, fake in (
        ("packed_attention", "", ") -> Tensor", _forward, _fake_forward),
        (
            "packed_attention_backward",
            "Tensor dy, ",
            ", bool[] wanted) -> Tensor[]",
            _backward,
            _fake_backward,
        ),
    ):
        made = custom_op(
            f"clattn::{name}",
            function,
            mutates_args=(),
            schema=f"({head}Tensor q, Tensor k, Tensor v, {_REST}{tail}",
        )
        made.register_fake(fake)
        made.register_vmap(_each(made))
        operators.append(made)
    operators[0].register_autograd(_differentiate, setup_context=_setup)
    return True


_HAS_OPERATORS = _register()


def _transforms() -> list[str]:
    return [] if autograd.is_compiled() else autograd.transforms()


def attend(
    names: Names,
    tensors: Sequence[Any],
    rows: Sequence[tuple[Any, int | None]],
    form: Form,
    inputs: Mapping[str, Any],
) -> Any:
    """[N,H,d] of q [N,H,d], k and v [M,H,d], all of them float32.

    rows  for queries and keys what Rows takes: given, padded
    """
    if not autograd.is_traced():
        return packed.attend(names, tensors, rows, form, inputs)
    others = [name for name in _transforms() if name != "Vmap"]
    if others:
        raise GradientError(
            f"{names.where}: torch.func transforms it with {others[0]}: there are"
            " gradients of torch.autograd and vmap alone"
        )
    if not _HAS_OPERATORS:
        raise UsageError(
            f"{names.where}: torch.compile, vmap and torch.func need PyTorch 2.5"
        )
    read = [x.float() if x.is_floating_point() else x for x in inputs.values()]
    seed = torch.randint(2**31, ()) if form.dropout else None
    return torch.ops.clattn.packed_attention(
        *tensors,
        read,
        *(torch.as_tensor(given) for given, _ in rows),
        seed,
        [-1 if size is None else size for _, size in rows],
        [names.where, *names.tensors, *names.rows, *inputs],
        [form.score or "", form.mask or "", form.weight or ""],
        form.window,
        form.causal,
        form.dropout,
    )
