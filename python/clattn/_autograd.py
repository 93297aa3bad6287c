"""Runs an operator of the library as an autograd.Function of PyTorch."""

from __future__ import annotations

import contextlib
import functools
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from clattn import _arguments as arguments
from clattn._lent import Lent, copied
from clattn.errors import ClattnError, DtypeError, GradientError, UsageError
from clattn.runtime import Runtime
from clattn.tape import Tape
from clattn.tensor import Ragged, Tensor

Call = Callable[[Tape, Sequence[Any], Sequence[Ragged]], Tensor | tuple[Tensor, ...]]
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
    """A forward pass on its own tape, kept for the backward pass.

    fused  how many values, from the first on, may be columns of wider tensors
    """

    def __init__(
        self,
        name: str,
        call: Call,
        rows: Sequence[tuple[int, ...]],
        seed: int,
        fused: int = 0,
    ) -> None:
        self.runtime = _current()
        self.name = name
        self.call = call
        batches = {r: Ragged.from_lengths(self.runtime, r) for r in rows}
        self.rows = [batches[lengths] for lengths in rows]
        self.seed = seed
        self.fused = fused
        self.tape: Tape | None = None

    def forward(self, values: Sequence[Any], wanted: Sequence[bool]) -> Any:
        with _settled(self.runtime):
            return self._forward(values, wanted)

    def _forward(self, values: Sequence[Any], wanted: Sequence[bool]) -> Any:
        self.tape = self.runtime.tape(training=any(wanted), seed=self.seed)
        lent = Lent(self.runtime, self.tape)
        self.inputs = [
            None if value is None else lent.operand(value, grad, i < self.fused)
            for i, (value, grad) in enumerate(zip(values, wanted, strict=True))
        ]
        operands = [None if one is None else one.tensor for one in self.inputs]
        made = self.call(self.tape, operands, self.rows)
        self.results = made if isinstance(made, tuple) else (made,)
        copies = tuple(copied(y) for y in self.results)
        return copies if isinstance(made, tuple) else copies[0]

    def backward(
        self, values: Sequence[Any], wanted: Sequence[bool], *dys: Any
    ) -> list[Any]:
        """The gradients of `values`, from those of the results; None for a zero."""
        if self.tape is None:  # retain_graph: a tape has only one backward pass
            self.forward(values, wanted)
        tape, self.tape = self.tape, None
        assert tape is not None
        with tape, _settled(self.runtime):
            lent = Lent(self.runtime)
            for y, dy in zip(self.results, dys, strict=True):
                if dy is not None:
                    tape.seed(y, lent.tensor(dy, False))
            asked = [
                one if grad else None
                for one, grad in zip(self.inputs, wanted, strict=True)
            ]
            known: dict[int, Any] = {}
            for one in asked:
                if one is not None:
                    one.lend(known)
            if any(dy is not None for dy in dys):
                tape.backward()
            self.inputs = []  # they end before the memory that is lent to them
            return [None if one is None else one.gradient(known) for one in asked]


@contextlib.contextmanager
def _settled(runtime: Runtime) -> Iterator[None]:
    """Before an error leaves, the device ends its work, which reads lent memory."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(ClattnError):
            runtime.finish()
        raise


class _Operator(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, step: Step, *values: Any) -> Any:
        ctx.step = step
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*values)
        return step.forward(values, ctx.needs_input_grad[1:])

    @staticmethod
    def backward(ctx: Any, *dys: Any) -> Any:
        wanted = ctx.needs_input_grad[1:]
        given = ctx.step, wanted, len(dys)
        made = iter(_Gradient.apply(*given, *dys, *ctx.saved_tensors))
        return None, *(next(made) if grad else None for grad in wanted)


class _Gradient(torch.autograd.Function):
    """The backward pass as a node of its own, which refuses to be differentiated.

    Without it a gradient would be a constant to PyTorch, and a penalty on it nothing.
    """

    @staticmethod
    def forward(
        ctx: Any, step: Step, wanted: Sequence[bool], results: int, *given: Any
    ) -> Any:
        ctx.name = step.name
        made = step.backward(given[results:], wanted, *given[:results])
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
    """Whether PyTorch traces, and tensors have no numbers: compile, export, vmap."""
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


def _outside(function: Any) -> Any:
    """The function, run outside of what torch.compile compiles: it calls C."""
    compiler = getattr(torch, "compiler", None)  # none before PyTorch 2.1
    disable = getattr(compiler, "disable", None)
    return function if disable is None else disable(function)


@_outside
def run(
    name: str,
    call: Call,
    values: Mapping[str, Any],
    rows: Mapping[str, Any],
    draws: bool = False,
) -> Any:
    """Runs an operator on PyTorch tensors by name, for a result of float32, or several.

    rows   lengths of sequences
    draws  whether it draws random numbers: their seed is from PyTorch's generator, so
           that torch.manual_seed repeats them
    """
    on = transforms()
    if on:
        raise GradientError(
            f"{name}: torch.func transforms it with {on[-1]}: of clattn's operators"
            " attention and scaled_dot_product_attention alone take that, with vmap"
        )
    taken = [tensor(name, argument, value) for argument, value in values.items()]
    tokens = [arguments.lengths(name, argument, r) for argument, r in rows.items()]
    seed = int(torch.randint(2**31, ())) if draws else 42
    fused = (
        3 if tuple(values)[:3] in (("q", "k", "v"), ("query", "key", "value")) else 0
    )
    return _Operator.apply(Step(name, call, tokens, seed, fused), *taken)


def result_type(values: Iterable[Any]) -> Any:
    """The type to which PyTorch promotes those of the floats; that of autocast where it
    is on and none of them is float64."""
    floats = [v.dtype for v in values if v is not None and v.dtype in FLOATS]
    wanted = functools.reduce(torch.promote_types, floats or [torch.float32])
    cast = autocast_type()
    return wanted if cast is None or wanted == torch.float64 else cast


def apply(
    name: str,
    call: Call,
    values: Mapping[str, Any],
    rows: Mapping[str, Any],
    dropout: float = 0.0,
) -> torch.Tensor:
    """Runs an operator for a result in the type of result_type."""
    drops = arguments.real(name, "dropout", dropout, "float") != 0
    made: torch.Tensor = run(name, call, values, rows, drops)
    return made.to(result_type(values.values()))
