"""Values that write down what is done to them, as text of the expression language."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import torch
from torch.overrides import TorchFunctionMode

from clattn.errors import UsageError

Rules = Mapping[str, Callable[..., "Traced"]]
_LARGEST_RANK = 4


class Traced:
    """A value of an expression: its text, and its kind: bool, int or float.

    visible  a condition; the value is -inf where it is false
    """

    def __init__(self, of: Tracing, text: str, kind: type, visible: str = "") -> None:
        self.of, self.text, self.kind, self.visible = of, text, kind, visible

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        found = next(_traced([*args, *(kwargs or {}).values()]))
        return found.of.call(func.__name__.strip("_"), args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.of.call(name, (self, *args), kwargs)

    def __bool__(self) -> bool:
        self.of.refuse(
            "if, and, or, not, min() and max() need values of Python; torch.where, &,"
            " |, ~, torch.minimum and torch.maximum become expressions"
        )

    def __iter__(self) -> Any:
        self.of.refuse("a number is no list")

    def _number(self, *_: Any) -> NoReturn:
        self.of.refuse(
            "an argument has no value in Python; functions of torch, such as torch.exp,"
            " become expressions, those of math do not"
        )

    __float__ = __int__ = __index__ = __round__ = __floor__ = __ceil__ = _number
    __getitem__ = __complex__ = _number


def _method(name: str, swapped: bool) -> Callable[..., Any]:
    def method(self: Traced, *others: Any) -> Any:
        return self.of.call(name, (*others, self) if swapped else (self, *others), {})

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Traced, f"__{_name}__", _method(_name, False))
    setattr(Traced, f"__r{_name}__", _method(_name, True))
for _name in ("and", "or", "xor", "lshift", "rshift", "matmul"):
    setattr(Traced, f"__{_name}__", _method(_name, False))
    setattr(Traced, f"__r{_name}__", _method(_name, True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert"):
    setattr(Traced, f"__{_name}__", _method(_name, False))


def _traced(values: Any) -> Any:
    """The traced values among these."""
    for value in values:
        if isinstance(value, Traced):
            yield value
        elif isinstance(value, list | tuple):
            yield from _traced(value)
        elif isinstance(value, slice):
            yield from _traced((value.start, value.stop, value.step))


class _Part:
    """A tensor with fewer indices than axes yet."""

    def __init__(self, of: Tracing, tensor: Any, index: tuple[Any, ...]) -> None:
        self.of, self.tensor, self.index = of, tensor, index

    def __getitem__(self, index: Any) -> Any:
        more = index if isinstance(index, tuple) else (index,)
        return self.of.read(self.tensor, self.index + more)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self.of.refuse(
            f"a tensor {list(self.tensor.shape)} has no {name} here; it is read with an"
            " index for each axis"
        )


class Tracing(TorchFunctionMode):
    """The call of a function. It also sees which tensors the function reads."""

    def __init__(
        self, where: str, what: str, inputs: Mapping[str, Any], rules: Rules
    ) -> None:
        super().__init__()
        self.where, self.what, self.rules = where, what, rules
        self.inputs = dict(inputs)

    def refuse(self, why: str) -> NoReturn:
        raise UsageError(f"{self.where}: {self.what}: {why}")

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = getattr(func, "__name__", str(func)).strip("_")
        if next(_traced([*args, *(kwargs or {}).values()]), None) is None:
            return func(*args, **(kwargs or {}))
        if name == "getitem":
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            return self.read(args[0], index)
        return self.call(name, args, kwargs or {})

    def call(self, name: str, args: Any, kwargs: Any) -> Traced:
        """What a function or operator makes of values."""
        kwargs = {n: v for n, v in kwargs.items() if v is not None and v is not False}
        rule = self.rules.get(name)
        if rule is None:
            self.refuse(
                f"{name} cannot be translated into an expression; what can: "
                + " ".join(sorted(self.rules))
            )
        try:
            inspect.signature(rule).bind(self, *args, **kwargs)
        except TypeError as error:
            self.refuse(f"{name} with these arguments cannot be translated: {error}")
        return rule(self, *args, **kwargs)

    # ---- values ----------------------------------------------------------------------

    def value(self, given: Any) -> Traced:
        """A value of any kind, from an argument of a function."""
        if isinstance(given, Traced):
            if given.visible:
                self.refuse("-inf may only be what the whole score is; use mask")
            return given
        if isinstance(given, _Part):
            given = given.tensor
        if isinstance(given, torch.Tensor):
            if given.dim() > 1 or given.numel() != 1:
                self.refuse(
                    f"a tensor {list(given.shape)} must be read with indices, [h][i]"
                )
            only: Traced = self.read(given.reshape(1) if given.dim() else given, (0,))
            return only
        if isinstance(given, bool):
            return Traced(self, "(0 == 0)" if given else "(0 != 0)", bool)
        try:
            whole = operator.index(given)
        except TypeError:
            return self._float(given)
        if not -(2**31) <= whole < 2**31:
            self.refuse(f"{whole} is outside 32 bits")
        return Traced(self, f"({whole})" if whole < 0 else str(whole), int)

    def _float(self, given: Any) -> Traced:
        try:
            number = float(given)
        except (TypeError, ValueError):
            self.refuse(f"a {type(given).__name__} is no number")
        if number != number or abs(number) == float("inf"):
            self.refuse(f"{number} is no number of an expression; mask hides keys")
        text = repr(number)
        return Traced(self, f"({text})" if text[0] == "-" else text, float)

    def number(self, given: Any) -> Traced:
        """An int or a float; of a condition 1 or 0, as in PyTorch."""
        value = self.value(given)
        if value.kind is bool:
            return Traced(self, f"({value.text} ? 1 : 0)", int)
        return value

    def condition(self, given: Any) -> str:
        value = self.value(given)
        if value.kind is not bool:
            self.refuse(f"{value.text} is no condition")
        return value.text

    # ---- tensors ---------------------------------------------------------------------

    def name_of(self, tensor: Any) -> str:
        """The name of a tensor: that of the caller's, or a new one."""
        for name, known in self.inputs.items():
            if known is tensor:
                return name
        number = len(self.inputs)
        while f"captured{number}" in self.inputs:
            number += 1
        name = f"captured{number}"
        self.inputs[name] = tensor
        return name

    def read(self, tensor: Any, index: tuple[Any, ...]) -> Any:
        rank = max(tensor.dim(), 1)
        if len(index) > rank or rank > _LARGEST_RANK:
            self.refuse(
                f"a tensor {list(tensor.shape)} is read with {len(index)} indices;"
                f" tensors have 1 to {_LARGEST_RANK} axes and an index for each"
            )
        if len(index) < rank:
            return _Part(self, tensor, index)
        text = self.name_of(tensor)
        for axis, one in enumerate(index):
            size = tensor.shape[axis] if tensor.dim() else 1
            text += f"[{self._index(one, size)}]"
        if tensor.dtype == torch.bool:
            return Traced(self, f"({text} != 0)", bool)
        return Traced(self, text, float if tensor.is_floating_point() else int)

    def _index(self, given: Any, size: int) -> str:
        if isinstance(given, slice) or given is None or given is Ellipsis:
            self.refuse("tensors are read one number at a time, without slices")
        value = self.value(given)
        if value.kind is not int:
            self.refuse(f"an index must be a whole number, {value.text} is none")
        if not isinstance(given, Traced | torch.Tensor):
            whole = operator.index(given)
            if not -size <= whole < size:
                self.refuse(f"index {whole} is outside an axis of {size}")
            return str(whole % size)
        return value.text
