"""The checks of arguments: what a call was given becomes what C takes.

Whatever does not fit raises a ClattnError with the name of the argument. ctypes alone
would cut a number to its type's bits. `where` is the function that was called.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

from clattn.errors import DtypeError, ShapeError, UsageError

_BITS = {"int": 32, "int32_t": 32, "int64_t": 64}
_NATURAL = {"uint32_t": 32, "uint64_t": 64, "size_t": 64}
_FLOATS = ("float", "double")
_LARGEST = float.fromhex("0x1.fffffefffffffp127")  # rounds to a float that is finite
NUMBERS = frozenset([*_BITS, *_NATURAL, *_FLOATS, "bool"])


def type_of(value: object) -> str:
    return type(value).__name__


def wrong(where: str, name: str, value: object, wanted: str) -> DtypeError:
    """The error of an argument of another type."""
    return DtypeError(f"{where}: {name} is a {type_of(value)}, must be {wanted}")


def whole(where: str, name: str, value: Any, kind: str = "int64_t") -> int:
    """A whole number of a type of C; no float, even one without a fraction."""
    try:
        number = int(type(value).__index__(value))
    except (AttributeError, TypeError, ValueError, RuntimeError):
        raise wrong(where, name, value, "a whole number") from None
    bits = _NATURAL.get(kind) or _BITS[kind]
    low, high = (0, 2**bits) if kind in _NATURAL else (-(2**bits) // 2, 2**bits // 2)
    if not low <= number < high:
        sign = "from 0 on, of" if kind in _NATURAL else "of"
        raise UsageError(
            f"{where}: {name} is {number}, outside {bits} bits: must be a number {sign}"
            f" {bits} bits"
        )
    return number


def real(where: str, name: str, value: Any, kind: str = "double") -> float:
    """A number as a float. NaN and infinity pass; what only a double holds does not."""
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError
        number = float(value)
    except (AttributeError, TypeError, ValueError, RuntimeError):
        raise wrong(where, name, value, "a number") from None
    except OverflowError:
        raise UsageError(f"{where}: {name} is larger than any float") from None
    if kind == "float" and _LARGEST < abs(number) < math.inf:
        raise UsageError(f"{where}: {name} is {number}, larger than any float32")
    return number


def flag(where: str, name: str, value: Any) -> bool:
    """True or False, NumPy's and PyTorch's included, 0 or 1."""
    if type(value) is bool:
        return value
    try:
        if getattr(value, "ndim", 0) == 0 and not isinstance(
            value, str | bytes | float
        ):
            if value in (0, 1):
                return bool(value)
    except (TypeError, ValueError, RuntimeError):
        pass
    raise wrong(where, name, value, "a bool")


def number(where: str, name: str, kind: str, value: Any) -> Any:
    """A value for an argument of one of C's types in NUMBERS."""
    if kind == "bool":
        return flag(where, name, value)
    if kind in _FLOATS:
        return real(where, name, value, kind)
    return whole(where, name, value, kind)


def items(where: str, name: str, value: Any, of: str) -> list[Any]:
    """The elements of a list, an array or a tensor with one axis; not of a text."""
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise wrong(where, name, value, f"a list of {of}")
    axes = getattr(value, "ndim", 1)
    if axes != 1:
        raise ShapeError(f"{where}: {name} has {axes} axes, must have one")
    try:
        return list(value.tolist() if hasattr(value, "tolist") else value)
    except (TypeError, RuntimeError) as error:
        raise DtypeError(f"{where}: {name} is no list of {of}: {error}") from None


def wholes(where: str, name: str, value: Any, kind: str = "int64_t") -> list[int]:
    """A list, an array or a tensor of whole numbers."""
    given = items(where, name, value, "whole numbers")
    for i, one in enumerate(given):
        if isinstance(one, bool):  # a mask, most likely
            raise wrong(where, f"{name}[{i}]", one, "a whole number")
        given[i] = whole(where, f"{name}[{i}]", one, kind)
    return given


def lengths(where: str, name: str, value: Any) -> tuple[int, ...]:
    """Numbers of tokens, whose sum C can hold."""
    given = tuple(wholes(where, name, value, "int32_t"))
    for i, length in enumerate(given):
        if length < 0:
            raise UsageError(f"{where}: {name}[{i}] is {length}, must not be negative")
    whole(where, f"the sum of {name}", sum(given), "int32_t")
    return given


def sizes(where: str, name: str, value: Any) -> list[int]:
    """The sizes of a tensor."""
    given = wholes(where, name, value)
    if not 1 <= len(given) <= 4:
        raise ShapeError(
            f"{where}: {name} is {given}: rank {len(given)}, must be 1 to 4"
        )
    return given


def text(where: str, name: str, value: Any, errors: str = "surrogateescape") -> bytes:
    """A text as C takes it."""
    if not isinstance(value, str):
        raise wrong(where, name, value, "a str")
    if "\0" in value:  # C would see the text end there
        raise UsageError(f"{where}: {name} holds a zero byte")
    return value.encode("utf-8", errors)


def texts(where: str, name: str, value: Any) -> list[bytes]:
    given = items(where, name, value, "texts")
    return [text(where, f"{name}[{i}]", one) for i, one in enumerate(given)]


def path(where: str, name: str, value: Any) -> str:
    """The name of a file or folder."""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise wrong(where, name, value, "a path") from None


def instance(where: str, name: str, value: Any, kind: type) -> Any:
    """An object of a class."""
    if not isinstance(value, kind):
        raise wrong(where, name, value, f"a {kind.__name__}")
    return value


def device(where: str, value: Any) -> str | None:
    """The name or number of a device; None for the default."""
    if value is None or isinstance(value, str):
        if value is not None and "\0" in value:
            raise UsageError(f"{where}: device holds a zero byte")
        return value
    try:
        return str(type(value).__index__(value))
    except (AttributeError, TypeError):
        raise wrong(where, "device", value, "a str or a whole number") from None
