"""Runs an operator of the library as an autograd.Function of PyTorch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from clattn.errors import DtypeError, UsageError
from clattn.runtime import Runtime
from clattn.tape import Tape
from clattn.tensor import Ragged, Tensor

Call = Callable[[Tape, Sequence[Any], Sequence[Ragged]], Tensor]
_lock = threading.Lock()
_runtime: Runtime | None = None


def use(runtime: Runtime | None) -> None:
    """Sets the runtime of all operators of clattn.torch.

    None: a runtime on the default device, made when it is first needed.
    """
    global _runtime
    with _lock:
        _runtime = runtime


def _current() -> Runtime:
    global _runtime
    with _lock:
        if _runtime is None:
            _runtime = Runtime()
        return _runtime


class _Step:
    """A forward pass on its own tape, kept for the backward pass."""

    def __init__(self, call: Call, rows: Sequence[Sequence[int]], seed: int) -> None:
        self.runtime = _current()
        self.call = call
        batches = {tuple(r): Ragged.from_lengths(self.runtime, r) for r in rows}
        self.rows = [batches[tuple(lengths)] for lengths in rows]
        self.seed = seed
        self.tape: Tape | None = None

    def forward(self, values: Sequence[Any], wanted: Sequence[bool]) -> Any:
        self.tape = self.runtime.tape(training=any(wanted), seed=self.seed)
        self.inputs = [
            None
            if value is None
            else Tensor.from_numpy(self.runtime, value.detach().numpy(), grad)
            for value, grad in zip(values, wanted, strict=True)
        ]
        self.y = self.call(self.tape, self.inputs, self.rows)
        return torch.from_numpy(self.y.numpy())

    def backward(
        self, values: Sequence[Any], wanted: Sequence[bool], dy: Any
    ) -> list[Any]:
        if self.tape is None:  # retain_graph: a tape has only one backward pass
            self.forward(values, wanted)
        tape, self.tape = self.tape, None
        assert tape is not None
        with tape:
            seed = Tensor.from_numpy(self.runtime, dy.detach().numpy())
            tape.backward(self.y, seed)
            return [
                self._gradient(tensor) if grad else None
                for tensor, grad in zip(self.inputs, wanted, strict=True)
            ]

    def _gradient(self, tensor: Tensor | None) -> Any:
        assert tensor is not None
        grad = tensor.grad
        return (
            torch.zeros(tensor.shape)
            if grad is None
            else torch.from_numpy(grad.numpy())
        )


class _Operator(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, step: _Step, *values: Any) -> Any:
        ctx.step = step
        ctx.save_for_backward(*values)
        return step.forward(values, ctx.needs_input_grad[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Any) -> Any:
        wanted = ctx.needs_input_grad[1:]
        return None, *ctx.step.backward(ctx.saved_tensors, wanted, dy)


def apply(
    name: str,
    call: Call,
    values: Sequence[Any],
    rows: Sequence[Sequence[int]],
    dropout: float = 0.0,
) -> Any:
    """Runs an operator on PyTorch tensors. `rows` are lengths of sequences.

    Dropout takes its seed from PyTorch's generator, so torch.manual_seed repeats it.
    """
    for value in values:
        if value is None:
            continue
        if not isinstance(value, torch.Tensor):
            raise DtypeError(f"{name}: a {type(value).__name__} is no torch.Tensor")
        if value.device.type != "cpu":
            raise UsageError(
                f"{name}: a tensor is on {value.device}, must be on the CPU"
            )
    seed = int(torch.randint(2**31, ())) if dropout else 42
    return _Operator.apply(_Step(call, rows, seed), *values)
