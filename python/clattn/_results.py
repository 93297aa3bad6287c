"""What models take and give: texts as arrays of C, and results."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clattn import _arguments as arguments
from clattn.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Translation:
    """The translation of a line.

    logp   natural logarithm of its probability
    score  logp / ((5 + n) / 6)^length_penalty, n its pieces and the end
    """

    text: str
    logp: float
    score: float


@dataclass(frozen=True)
class Alignment:
    """What a translation is made of.

    pieces  (piece, natural logarithm of its probability), with the ends of sentences
    links   (word of the line, word of the translation), from 0: each word of the
            translation has the one to which the network attended most
    """

    text: str
    pieces: list[tuple[str, float]]
    links: list[tuple[int, int]]


@dataclass(frozen=True)
class Quote:
    """An answer: passage[start:stop] of the passage with this number. logp is the
    logarithm of its probability."""

    text: str
    start: int
    stop: int
    logp: float
    passage: int = 0


@dataclass(frozen=True)
class Quatrain:
    """A poem of four lines, and the keyword that each was written on.

    from_text, from_vectors  keywords that are words of the text, or near to those; the
                             others were drawn
    logp                     logarithm of the probability of all characters
    """

    lines: tuple[str, ...]
    keywords: tuple[str, ...]
    from_text: int
    from_vectors: int
    logp: float


def as_bytes(where: str, name: str, value: str) -> bytes:
    if isinstance(value, str) and "\0" in value:
        raise InputError(f"{where}: {name} holds a NUL byte")
    return arguments.text(where, name, value)


def as_texts(where: str, name: str, values: Sequence[str]) -> Any:
    """The texts as an array of C."""
    given = arguments.items(where, name, values, "texts")
    data = [as_bytes(where, f"{name}[{i}]", value) for i, value in enumerate(given)]
    return (ctypes.c_char_p * len(data))(*data)


def as_quote(passage: str, raw: Any, number: int = 0) -> Quote:
    start = getattr(raw, "from")  # a word of Python's own
    return Quote(passage[start : raw.to], start, raw.to, raw.logp, number)
