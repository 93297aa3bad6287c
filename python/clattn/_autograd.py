"""Runs an operator of the library as an autograd.Function of PyTorch."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from clattn import _arguments as arguments
from clattn.errors import DtypeError, GradientError, UsageError
from clattn.runtime import Runtime
from clattn.tape import Tape
from clattn.tensor import Ragged, Tensor

Call = Callable[[Tape, Sequence[Any], Sequence[Ragged]], Tensor]
FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
_WHOLE = (torch.int64, torch.int16, torch.int8, torch.uint8, torch.bool)
_lock = threading.Lock()
_runtime: Runtime | None = None


def use(runtime: Runtime | None) -> None:
    """Sets the runtime of all operators of clattn.torch.

    None: a runtime on the default device, made when it is first needed.
    """
    global _runtime
    if runtime is not None:
        arguments.instance("use", "runtime", runtime, Runtime)
    with _lock:
        _runtime = runtime


def lengths(cu_seqlens: Sequence[int] | torch.Tensor) -> list[int]:
    """The numbers of tokens of sequences, from the places where they begin.

    cu_seqlens  [B+1], from 0, never falling; the last is the number of all tokens.
                Whole numbers in a list, an array or a tensor
    """
    return offsets("lengths", "cu_seqlens", cu_seqlens)


def offsets(where: str, name: str, value: Any) -> list[int]:
    """The numbers of tokens between offsets."""
    at = arguments.wholes(where, name, value, "int32_t")
    if not at or at[0]:
        raise UsageError(f"{where}: {name} must begin with 0")
    for i, (first, end) in enumerate(itertools.pairwise(at)):
        if end < first:
            raise UsageError(
                f"{where}: {name}[{i + 1}] is {end}, must not be less than {first}"
            )
    return [end - first for first, end in itertools.pairwise(at)]


def _current() -> Runtime:
    global _runtime
    with _lock:
        if _runtime is None:
            _runtime = Runtime()
        return _runtime


class Step:
    """A forward pass on its own tape, kept for the backward pass."""

    def __init__(
        self, name: str, call: Call, rows: Sequence[tuple[int, ...]], seed: int
    ) -> None:
        self.runtime = _current()
        self.name = name
        self.call = call
        batches = {r: Ragged.from_lengths(self.runtime, r) for r in rows}
        self.rows = [batches[lengths] for lengths in rows]
        self.seed = seed
        self.tape: Tape | None = None

    def forward(self, values: Sequence[Any], wanted: Sequence[bool]) -> Any:
        self.tape = self.runtime.tape(training=any(wanted), seed=self.seed)
        self.inputs = [
            None
            if value is None
            else Tensor.from_numpy(self.runtime, _array(value), grad)
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
            seed = Tensor.from_numpy(self.runtime, _array(dy))
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


def _array(value: Any) -> Any:
    """The numbers of a tensor; a view that negates them is resolved."""
    return value.detach().resolve_conj().resolve_neg().numpy()


class _Operator(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, step: Step, *values: Any) -> Any:
        ctx.step = step
        ctx.save_for_backward(*values)
        return step.forward(values, ctx.needs_input_grad[1:])

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        wanted = ctx.needs_input_grad[1:]
        made = iter(_Gradient.apply(ctx.step, wanted, dy, *ctx.saved_tensors))
        return None, *(next(made) if grad else None for grad in wanted)


class _Gradient(torch.autograd.Function):
    """The backward pass as a node of its own, which refuses to be differentiated.

    Without it a gradient would be a constant to PyTorch, and a penalty on it nothing.
    """

    @staticmethod
    def forward(
        ctx: Any, step: Step, wanted: Sequence[bool], dy: Any, *values: Any
    ) -> Any:
        ctx.name = step.name
        made = step.backward(values, wanted, dy)
        return tuple(grad for grad in made if grad is not None)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise GradientError(
            f"{ctx.name}: trying to differentiate twice: there are no gradients of its"
            " gradients; detach() makes constants of them"
        )


# ---- arguments -----------------------------------------------------------------------


def autocast_type() -> Any:
    """The type that autocast computes attention in; None where it is off."""
    try:
        on = torch.is_autocast_enabled("cpu")
    except TypeError:  # PyTorch before 2.4
        on = torch.is_autocast_cpu_enabled()
        return torch.get_autocast_cpu_dtype() if on else None
    return torch.get_autocast_dtype("cpu") if on else None


def is_compiled() -> bool:
    """Whether torch.compile or torch.export runs this."""
    compiler = getattr(torch, "compiler", None)  # none before PyTorch 2.1
    is_compiling = getattr(compiler, "is_compiling", None)
    return is_compiling is not None and bool(is_compiling())


def is_traced() -> bool:
    """Whether PyTorch traces, so that tensors have no numbers: compile, export, vmap."""
    return is_compiled() or bool(transforms())


def transforms() -> list[str]:
    """The names of the transforms of torch.func that are on: Vmap, Grad, Jvp."""
    functorch = getattr(torch._C, "_functorch", None)
    stack = getattr(functorch, "get_interpreter_stack", None)
    return [] if stack is None else [one.key().name for one in stack() or ()]


def _integers(where: str, name: str, value: Any) -> Any:
    """Whole numbers as int32, if they fit."""
    if value.numel():
        for number in (int(value.min()), int(value.max())):
            arguments.whole(where, f"an element of {name}", number, "int32_t")
    return value.to(torch.int32)


def dense(where: str, name: str, value: Any, nested: bool = False) -> Any:
    """A tensor that is dense, or nested if that is allowed, and on the CPU."""
    if not isinstance(value, torch.Tensor):
        raise arguments.wrong(where, name, value, "a torch.Tensor")
    if value.device.type != "cpu":
        raise UsageError(f"{where}: {name} is on {value.device}, must be on the CPU")
    if nested and getattr(value, "is_nested", False):
        return value
    if value.layout != torch.strided or getattr(value, "is_nested", False):
        raise DtypeError(f"{where}: {name} is sparse or nested, must be dense")
    return value


def floats(where: str, name: str, value: Any, nested: bool = False) -> Any:
    """A tensor of one of the types that are computed."""
    value = dense(where, name, value, nested)
    if value.dtype not in FLOATS:
        raise DtypeError(
            f"{where}: {name} is {value.dtype}, must be float32, float16, bfloat16 or"
            " float64"
        )
    return value


def tensor(where: str, name: str, value: Any) -> Any:
    """A tensor of float32 or int32, with one axis or more."""
    if value is None:
        return None
    value = dense(where, name, value)
    if value.dtype in _WHOLE:
        value = _integers(where, name, value)
    elif value.dtype in FLOATS:
        value = value.float()
    elif value.dtype != torch.int32:
        raise DtypeError(
            f"{where}: {name} is {value.dtype}, must be floats or whole numbers"
        )
    return value.reshape(1) if value.dim() == 0 else value


def apply(
    name: str,
    call: Call,
    values: Mapping[str, Any],
    rows: Mapping[str, Any],
    dropout: float = 0.0,
) -> Any:
    """Runs an operator on PyTorch tensors by name. `rows` are lengths of sequences.

    The result has the type to which PyTorch promotes those of the floats. Dropout takes
    its seed from PyTorch's generator, so torch.manual_seed repeats it.
    """
    taken = [tensor(name, argument, value) for argument, value in values.items()]
    tokens = [arguments.lengths(name, argument, r) for argument, r in rows.items()]
    drops = arguments.real(name, "dropout", dropout, "float") != 0
    seed = int(torch.randint(2**31, ())) if drops else 42
    floats = [v.dtype for v in values.values() if v is not None and v.dtype in FLOATS]
    wanted = functools.reduce(torch.promote_types, floats or [torch.float32])
    return _Operator.apply(Step(name, call, tokens, seed), *taken).to(wanted)
