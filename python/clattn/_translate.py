"""Python functions as expressions: what a function does to its arguments becomes text.

The function is called once, with values that write down what is done to them. Nothing
of it runs on the device but the expression, which the library parses like any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

from clattn._trace import Traced, Tracing

_FLOAT, _WHOLE = ("s", "w"), ("i", "j", "h", "b", "T", "S", "ni", "nj")
_ALIASES = {"score": "s", "q_idx": "i", "kv_idx": "j"}  # as flex_attention has them

# ---- rules: a function of PyTorch, an operator of Python -----------------------------


def _kind(*values: Traced) -> type:
    return float if any(value.kind is float for value in values) else int


def _infix(sign: str, compares: bool = False) -> Callable[..., Traced]:
    def rule(t: Tracing, input: Any, other: Any) -> Traced:
        x, y = t.number(input), t.number(other)
        kind = bool if compares else float if sign == "/" else _kind(x, y)
        return Traced(t, f"({x.text} {sign} {y.text})", kind)

    return rule


def _logic(sign: str) -> Callable[..., Traced]:
    def rule(t: Tracing, input: Any, other: Any) -> Traced:
        return Traced(t, f"({t.condition(input)} {sign} {t.condition(other)})", bool)

    return rule


def _xor(t: Tracing, input: Any, other: Any) -> Traced:
    x, y = t.condition(input), t.condition(other)
    return Traced(t, f"({x} ? !{y} : {y})", bool)


def _not(t: Tracing, input: Any) -> Traced:
    return Traced(t, f"(!{t.condition(input)})", bool)


def _floor_divide(t: Tracing, input: Any, other: Any) -> Traced:
    x, y = t.number(input), t.number(other)
    if _kind(x, y) is float:
        return Traced(t, f"floor({x.text} / {y.text})", float)
    # A device's quotient may be a little off; that of a multiple is near a whole number.
    whole = f"({x.text} - {x.text} % {y.text})"
    return Traced(t, f"int(round({whole} / {y.text}))", int)


def _modulo(t: Tracing, input: Any, other: Any) -> Traced:
    x, y = t.number(input), t.number(other)
    if _kind(x, y) is float:
        t.refuse(f"% takes whole numbers, not {x.text} % {y.text}")
    return Traced(t, f"({x.text} % {y.text})", int)


def _call(name: str, of_whole: bool = False, form: str = "") -> Callable[..., Traced]:
    """A function of one number; of_whole: that of an int is one."""

    def rule(t: Tracing, input: Any) -> Traced:
        x = t.number(input)
        text = form.format(x.text) if form else f"{name}({x.text})"
        return Traced(t, text, _kind(x) if of_whole else float)

    return rule


def _silu(t: Tracing, input: Any, inplace: bool = False) -> Traced:
    return _call("", False, "({0} * sigmoid({0}))")(t, input)


def _two(name: str, floats: bool = False) -> Callable[..., Traced]:
    def rule(t: Tracing, input: Any, other: Any) -> Traced:
        x, y = t.number(input), t.number(other)
        kind = float if floats else _kind(x, y)
        return Traced(t, f"{name}({x.text}, {y.text})", kind)

    return rule


def _power(t: Tracing, input: Any, exponent: Any) -> Traced:
    return _two("pow", True)(t, input, exponent)


def _clamp(t: Tracing, input: Any, min: Any = None, max: Any = None) -> Traced:
    x = t.number(input)
    if min is not None:
        x = _two("max")(t, x, min)
    return x if max is None else _two("min")(t, x, max)


def _is_hidden(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.numel() == 1 and bool(value.isneginf())
    return isinstance(value, float) and value == -float("inf")


def _where(t: Tracing, condition: Any, input: Any, other: Any) -> Traced:
    c = t.condition(condition)
    for value, hidden, sees in ((input, other, c), (other, input, f"(!{c})")):
        if _is_hidden(hidden):
            x = t.number(value)
            return Traced(t, x.text, x.kind, sees)
    x, y = t.value(input), t.value(other)
    kind: type = bool
    if x.kind is not bool or y.kind is not bool:
        x, y = t.number(x), t.number(y)
        kind = _kind(x, y)
    return Traced(t, f"({c} ? {x.text} : {y.text})", kind)


def _to(t: Tracing, input: Any, dtype: Any) -> Traced:
    if not isinstance(dtype, torch.dtype) or dtype.is_complex:
        t.refuse(f"to({dtype}) cannot be translated")
    if dtype == torch.bool:
        return _infix("!=", True)(t, input, 0)
    return RULES["float" if dtype.is_floating_point else "int"](t, input)


RULES: dict[str, Callable[..., Traced]] = {
    "eq": _infix("==", True), "ne": _infix("!=", True), "lt": _infix("<", True),
    "le": _infix("<=", True), "gt": _infix(">", True), "ge": _infix(">=", True),
    "add": _infix("+"), "sub": _infix("-"), "mul": _infix("*"), "div": _infix("/"),
    "floor_divide": _floor_divide, "remainder": _modulo, "pow": _power,
    "neg": _call("", True, "(-{})"), "pos": _call("", True, "{}"),
    "abs": _call("abs", True), "square": _call("", False, "pow({}, 2)"),
    "logical_and": _logic("&&"), "logical_or": _logic("||"), "logical_xor": _xor,
    "logical_not": _not, "where": _where, "clamp": _clamp, "to": _to,
    "minimum": _two("min"), "maximum": _two("max"), "floor": _call("floor"),
    "relu": _call("", True, "max(0, {})"), "rsqrt": _call("", False, "(1 / sqrt({}))"),
    "float": _call("", False, "({} + 0.0)"),
    "tan": _call("", False, "(sin({0}) / cos({0}))"), "silu": _silu,
}  # fmt: skip
for _name in ("exp", "exp2", "log", "tanh", "sigmoid", "erf", "sin", "cos", "sqrt"):
    RULES[_name] = _call(_name)


def _int(t: Tracing, input: Any) -> Traced:
    x = t.number(input)
    return x if x.kind is int else Traced(t, f"int({x.text})", int)


RULES["int"] = _int
# Other names, which PyTorch and Python's operators have for the same.
for _name, _same in {
    "and": "logical_and", "or": "logical_or", "xor": "logical_xor",
    "invert": "logical_not", "bitwise_and": "logical_and", "bitwise_or": "logical_or",
    "bitwise_not": "logical_not", "bitwise_xor": "logical_xor", "less": "lt",
    "less_equal": "le", "greater": "gt", "greater_equal": "ge", "not_equal": "ne",
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div",
    "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "negative": "neg", "absolute": "abs", "clip": "clamp", "long": "int",
    "double": "float", "expit": "sigmoid",
}.items():  # fmt: skip
    RULES[_name] = RULES[_same]


# ---- the call of a function ----------------------------------------------------------


def _arguments(
    t: Tracing, function: Callable[..., Any]
) -> tuple[list[Any], dict[str, Any]]:
    """What the function is called with, by the names of its arguments."""
    known = [_FLOAT[t.what == "weight"], *_WHOLE]
    given: list[Any] = []
    named: dict[str, Any] = {}
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        t.refuse(f"the arguments of {function!r} cannot be read")
    for p in parameters:
        name = _ALIASES.get(p.name, p.name)
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            t.refuse(f"argument '{p}' of the function has no name that is known")
        if name in t.inputs:
            value = t.inputs[name]
        elif name in known:
            value = Traced(t, name, float if name in _FLOAT else int)
        elif p.default is not p.empty:
            value = p.default
        else:
            t.refuse(
                f"argument '{p.name}' of the function is not known; names are "
                + ", ".join([*known, *_ALIASES, *t.inputs])
            )
        if p.kind is p.KEYWORD_ONLY:
            named[p.name] = value
        else:
            given.append(value)
    return given, named


def expression(
    where: str, what: str, function: Any, inputs: dict[str, Any]
) -> tuple[str, str]:
    """The expression of a function, and the condition where it is not -inf, or "".

    Tensors that it reads and that are not in `inputs` are added there.
    """
    t = Tracing(where, what, inputs, RULES)
    given, named = _arguments(t, function)
    with t:
        made = function(*given, **named)
    visible = made.visible if isinstance(made, Traced) else ""
    if visible:
        if what != "score":
            t.refuse("only a score may be -inf")
        made = Traced(t, made.text, made.kind)
    if what == "mask":
        text = t.condition(made)
    else:
        text = t.number(made).text
    inputs.update(t.inputs)
    return text, visible
