"""One call of an operator: checks its arguments, converts them, raises its errors."""

import ctypes
from collections.abc import Sequence
from typing import Any

from clattn._api import SIGNATURES, STRUCTS
from clattn._arguments import items, number, text, wrong
from clattn._library import check, ctype, library, struct
from clattn.errors import DtypeError, ShapeError, UsageError
from clattn.runtime import Runtime
from clattn.tape import Out, Tape
from clattn.tensor import Ragged, Tensor

RESULT = object()  # stands for a result among the arguments
_HANDLES: dict[str, type[Tensor] | type[Ragged]] = {
    "cla_tensor*": Tensor,
    "cla_ragged*": Ragged,
}


class _Call:
    def __init__(self, owner: Tape | Tensor, function: str) -> None:
        self.tape = owner if isinstance(owner, Tape) else None
        self.runtime: Runtime = owner.runtime
        self.name = function.removeprefix("cla_").removeprefix("tensor_")
        self.results: list[Any] = []
        self.outs: list[tuple[Out, Any]] = []

    def handle(self, name: str, value: Any, wanted: type[Tensor] | type[Ragged]) -> int:
        if not isinstance(value, wanted):
            raise wrong(self.name, name, value, f"a {wanted.__name__}")
        if value.runtime is not self.runtime:
            raise UsageError(f"{self.name}: {name} belongs to another runtime")
        if self.tape is not None:
            self.tape.keep(value)
        return value.pointer

    def result(self, kind: str) -> Any:
        self.results.append(ctype(kind.removesuffix("*"))())
        return ctypes.byref(self.results[-1])

    def out(self, name: str, value: Any) -> Any:
        if not isinstance(value, Out):
            raise DtypeError(f"{self.name}: {name} must be an Out, to be filled")
        place = ctypes.c_void_p()
        self.outs.append((value, place))
        return ctypes.pointer(place)

    def named(self, kind: str, name: str, most: int, values: dict[str, Any]) -> Any:
        """Tensors by name, as an array of structures of both."""
        if len(values) > most:
            raise UsageError(f"{self.name}: {len(values)} {name}, at most {most}")
        made = (struct(kind) * most)()
        for place, (word, tensor) in zip(made, values.items(), strict=False):
            place.name = text(self.name, name, word, "replace")
            place.tensor = self.handle(word, tensor, Tensor)
        return made

    def fields(self, kind: str, values: dict[str, Any]) -> Any:
        made = struct(kind)()
        for field, name, count in STRUCTS[kind]:
            if name.rstrip("?") == "reserved":
                continue  # stays 0
            given = values[name.rstrip("?")]
            if count:
                value = self.named(field, name, count, given)
            else:
                value = self.convert(field, name, given)
            if value is not None:
                setattr(made, name.rstrip("?"), value)
        return ctypes.byref(made)

    def convert(self, kind: str, name: str, value: Any) -> Any:
        """A value of Python as ctypes takes it for an argument or a field."""
        if value is None and name.endswith("?"):
            return None
        name = name.rstrip("?")
        if value is RESULT:
            return self.result(kind)
        if kind in _HANDLES:
            return self.handle(name, value, _HANDLES[kind])
        if kind == "cla_tensor**" and isinstance(value, list):
            rows = [self.handle(f"{name}[{i}]", t, Tensor) for i, t in enumerate(value)]
            return (ctypes.c_void_p * max(len(rows), 1))(*rows)
        if kind == "cla_tensor**":
            return self.out(name, value)
        if kind == "char*":
            return text(self.name, name, value, "replace")
        if kind.endswith("*"):
            return self.fields(kind[:-1], value) if isinstance(value, dict) else value
        return number(self.name, name, kind, value)


def operate(
    owner: Tape | Tensor, function: str, values: Sequence[Any], name: str = "tape"
) -> list[Any]:
    """Calls a C function on a tape, or on the runtime of a tensor; returns its results.

    name  of the argument that is the owner

    The lock is held during the call; ctypes lets other threads run.
    """
    if not isinstance(owner, Tape | Tensor):
        wanted = "a Tape" if name == "tape" else "a Tensor"
        raise wrong(function.removeprefix("cla_"), name, owner, wanted)
    call = _Call(owner, function)
    with call.runtime.lock:
        first = call.runtime.begin()
        signature = SIGNATURES[function][1][1:]
        arguments = [
            call.convert(kind, name, value)
            for (kind, name), value in zip(signature, values, strict=True)
        ]
        at = call.tape.pointer if call.tape is not None else first
        check(getattr(library(), function)(at, *arguments))
        results = [
            _wrap(call.tape, r) if isinstance(r, ctypes.c_void_p) else r.value
            for r in call.results
        ]
        for out, place in call.outs:
            out._tensor = _wrap(call.tape, place)
        return results


def _wrap(tape: Tape | None, place: ctypes.c_void_p) -> Tensor:
    assert tape is not None and place.value
    return Tensor(tape, place.value)


def as_tensor(value: Any) -> Tensor:
    assert isinstance(value, Tensor)
    return value


def as_list(operator: str, name: str, values: Any) -> list[Any]:
    """The tensors of an argument that takes several."""
    return items(operator, name, values, "Tensors")


def same_length(operator: str, x: Sequence[Tensor], c: Tensor) -> None:
    """C takes the length of a list from another argument: it must be the list's."""
    if isinstance(c, Tensor) and c.size != len(x):
        raise ShapeError(f"{operator}: {len(x)} tensors, but c is {list(c.shape)}")
