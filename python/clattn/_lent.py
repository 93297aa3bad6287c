"""Tensors of PyTorch as operands of operators, in place where the device allows it."""

from __future__ import annotations

import math
from typing import Any

import torch

from clattn import _resident as resident
from clattn._api import DeviceKind, Dtype
from clattn.runtime import Runtime
from clattn.tape import Tape
from clattn.tensor import Tensor

_LINE = 64  # bytes: where memory must begin to be used in place


class Operand:
    """A tensor of PyTorch as an operator reads it.

    tensor   what the operator gets
    source   the tensor that has the gradient: itself, or the one whose columns it is
    columns  of the source, from first to end; None for all of them
    """

    def __init__(self, tensor: Tensor, source: Tensor, columns: slice | None) -> None:
        self.tensor, self.source, self.columns = tensor, source, columns

    def lend(self, known: dict[int, Any]) -> None:
        """Memory for the gradient of the source, which operands may share."""
        key = id(self.source)
        if key not in known:
            known[key] = torch.empty(self.source.shape)
            if known[key].numel() and reads_host(self.source.runtime):
                self.source._borrow_grad(known[key].data_ptr())

    def gradient(self, known: dict[int, Any]) -> Any:
        """After the backward pass; known is what lend filled."""
        made, grad = known[id(self.source)], self.source.grad
        if grad is None:
            made.zero_()
        elif made.numel():
            grad._download(made.data_ptr())  # no copy where it lies there
            _keep(made, grad, True)
        if self.columns is None:
            return made
        return made[:, self.columns].reshape(self.tensor.shape)


class Lent:
    """The tensors of a call, which the device uses in place where it can.

    OpenCL defines nothing for two buffers over the same place of memory: a tensor that
    is passed twice is lent once, or copied where both want a gradient of their own.
    """

    def __init__(self, runtime: Runtime, tape: Tape | None = None) -> None:
        self.runtime, self.tape = runtime, tape
        self.in_place = reads_host(runtime)
        self.known: list[tuple[Any, bool, Tensor]] = []
        self.wide: dict[Any, tuple[Tensor, list[slice]]] = {}  # and columns in use

    def operand(self, value: Any, grad: bool, fused: bool) -> Operand:
        """fused: whether it may be columns of a wider tensor, as of one projection."""
        value = value.detach()
        wide = _wider(value) if fused and self.tape is not None else None
        if wide is not None:
            base, first = wide
            columns = slice(first, first + math.prod(value.shape[1:]))
            source = self._source(base, columns)
            if source is not None and self.tape is not None:
                if grad:
                    source.want_grad()
                part = self.tape.columns(source, first, *value.shape[1:])
                return Operand(part, source, columns)
        made = self.tensor(value, grad)
        return Operand(made, made, None)

    def _source(self, base: Any, columns: slice) -> Tensor | None:
        """A tensor over base, unless these columns or its memory are in use."""
        key = base.data_ptr(), base.shape
        if key not in self.wide:
            if any(_overlap(other, base) for other, _, _ in self.known):
                return None
            made = self.tensor(base, True)  # for nobody else: it may want a gradient
            made.want_grad(False)
            self.wide[key] = made, []
        made, taken = self.wide[key]
        if any(c.start < columns.stop and columns.start < c.stop for c in taken):
            return None
        taken.append(columns)
        return made

    def tensor(self, value: Any, grad: bool) -> Tensor:
        value = value.detach().resolve_conj().resolve_neg().contiguous()
        over = [one for one in self.known if _overlap(one[0], value)]
        for other, wanted, made in over:
            if not grad and not wanted and _same(other, value):
                return made
        if not self.in_place:
            made = self._sent(value, grad)
        elif over or not value.numel():
            made = Tensor.from_numpy(self.runtime, value.numpy())
        else:
            dtype = Dtype.I32 if value.dtype == torch.int32 else Dtype.F32
            address, shape = value.data_ptr(), value.shape
            made = Tensor._borrow(self.runtime, value, address, shape, dtype)
        made.want_grad(grad)
        self.known.append((value, grad, made))
        return made

    def _sent(self, value: Any, grad: bool) -> Tensor:
        """A copy on the device, from there where a block of resident() has it."""
        keeper = resident.current()
        made = None if keeper is None else keeper.find(self.runtime, value, grad)
        if made is None:
            made = Tensor.from_numpy(self.runtime, value.numpy())
            _keep(value, made, not grad)
        return made


def reads_host(runtime: Runtime) -> bool:
    """Whether the device works in memory of PyTorch."""
    return runtime.device.kind == DeviceKind.CPU


def _keep(value: Any, made: Tensor, only: bool) -> None:
    """In a block of resident(): the device has these numbers, in memory of its own."""
    keeper = resident.current()
    if keeper is not None and not reads_host(made.runtime):
        keeper.keep(value, made, only)


def _wider(value: Any) -> tuple[Any, int] | None:
    """The dense [N,C] whose columns value [N,H,d] is, and the first of them."""
    storage = getattr(value, "untyped_storage", None)  # none before PyTorch 2.0
    if storage is None or value.dim() != 3 or not value.numel():
        return None
    rows, heads, width = value.shape
    wide = value.stride(0)
    used = heads * width
    if value.stride() != (wide, width, 1) or wide <= used:
        return None
    if value.dtype != torch.float32 or value.is_neg():
        return None
    first = value.storage_offset() % wide
    start = value.storage_offset() - first
    room = storage().nbytes() // value.element_size()
    if first + used > wide or start + rows * wide > room:
        return None
    base = value.as_strided((rows, wide), (wide, 1), start)
    return None if base.data_ptr() % _LINE else (base, first)


def _same(x: Any, y: Any) -> bool:
    """Whether dense tensors are the same numbers."""
    return (x.data_ptr(), x.shape, x.dtype) == (y.data_ptr(), y.shape, y.dtype)


def _overlap(x: Any, y: Any) -> bool:
    """Whether dense tensors share memory."""
    (first, end), (other, last) = (
        (t.data_ptr(), t.data_ptr() + t.numel() * t.element_size()) for t in (x, y)
    )
    return bool(first < last and other < end)


def copied(tensor: Tensor) -> Any:
    """The numbers in memory of PyTorch, which the next call can use in place."""
    made = torch.empty(tensor.shape)
    if made.numel():
        tensor._download(made.data_ptr())
        _keep(made, tensor, False)
    return made
