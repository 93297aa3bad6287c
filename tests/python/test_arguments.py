"""Wrong arguments: every function of the package raises a ClattnError with the name.

The functions, their arguments and what these take come from the package itself: a new
one is tested without a line here.
"""

import enum
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import clattn
import numpy as np
import pytest

# Values that an argument does not take, by a pattern of what it is said to take.
WRONG: list[tuple[str, list[Any]]] = [
    (r"Sequence\[Tensor\]", [5, "ab", [5], None]),
    (
        r"Sequence\[int\]",
        [5, "12", None, [1.5], ["1"], [2**70], [True], np.array([[1]]), [None]],
    ),
    (r"Sequence\[str\]", [5, "ab", [5], None]),
    (r"Sequence\[.*Path.*\]", [5, [5]]),
    (r"PathName.*|.*PathLike.*", [5.5, object()]),
    (r"str \| int( \| None)?", [1.5, object()]),
    (r"int \| None", [3.9, "3", 2**70, object()]),
    (r"int", [3.9, 3.0, "3", 2**70, -(2**70), None, object(), np.float32(3)]),
    (r"float", ["3", None, object(), 10**400, 1j]),
    (r"bool", ["no", 2, 0.5, None, object()]),
    (r"str( \| None)?", [5, b"s", "a\0b"]),
    (r"(Tensor|Out|Ragged)( \| None)?", [5, "x", np.zeros(3, np.float32), [1, 2]]),
    (r"Runtime", [5, None, "cpu"]),
    (r"Runtime \| None", [5, "cpu"]),
    (r"npt.ArrayLike", [object(), "x", [[1], [1, 2]], 1.5, np.zeros(3), 2**70]),
]
Case = tuple[str, Callable[..., Any], str, list[Any]]


def described(annotation: Any) -> str:
    text = (
        annotation
        if isinstance(annotation, str)
        else inspect.formatannotation(annotation)
    )
    return re.sub(r"\b(clattn\.\w+|collections\.abc|numpy\.typing)\.", "", text)


def wrong_values(annotation: Any) -> list[Any]:
    if inspect.isclass(annotation) and issubclass(annotation, enum.IntEnum):
        return ["x", 1.5, 2**40, None]
    text = described(annotation)
    if text in ("Dtype", "Schedule"):
        return ["x", 1.5, 2**40, 77]
    for pattern, values in WRONG:
        if re.fullmatch(pattern, text):
            return values
    return []


def cases_of(name: str, function: Callable[..., Any]) -> Iterator[Case]:
    for argument in inspect.signature(function).parameters.values():
        values = wrong_values(argument.annotation)
        if argument.kind is argument.KEYWORD_ONLY:  # None stands for its default
            values = [value for value in values if value is not None]
        if values and argument.name != "self":
            yield name, function, argument.name, values


def operator_cases() -> Iterator[Case]:
    for name in clattn.ops.__all__:
        yield from cases_of(name, getattr(clattn.ops, name))


def right_value(argument: inspect.Parameter, runtime: clattn.Runtime, tape: Any) -> Any:
    """A value of the right type; C need not take it."""
    kind = argument.annotation
    if inspect.isclass(kind) and issubclass(kind, enum.IntEnum):
        return next(iter(kind))
    tensor = clattn.Tensor.empty(runtime, (1, 1, 1))
    rows = clattn.Ragged(runtime, [0, 1])
    values = {"Tape": tape, "Tensor": tensor, "Ragged": rows, "int": 1, "float": 0.5}
    values |= {"bool": False, "str": "s", "Sequence[Tensor]": [tensor]}
    return values.get(described(kind))


def refuses(case: Case, given: dict[str, Any]) -> list[str]:
    """What the function does with wrong values other than to refuse them by name."""
    name, function, argument, values = case
    wrong = []
    for value in values:
        try:
            function(**given | {argument: value})
            wrong.append(f"{name} takes {value!r}")
        except clattn.ClattnError as error:
            if not re.search(rf"\b{argument}\b", str(error)):
                wrong.append(f"{name} of {value!r} without {argument}: {error}")
        except Exception as error:
            wrong.append(f"{name} of {value!r}: {error!r}")
    return wrong


def test_operators(runtime: clattn.Runtime) -> None:
    wrong, count = [], 0
    with runtime.tape() as tape:
        for case in operator_cases():
            given = {
                p.name: right_value(p, runtime, tape)
                for p in inspect.signature(case[1]).parameters.values()
                if p.kind is not p.VAR_KEYWORD
            }
            wrong += refuses(case, given)
            count += len(case[3])
    assert not wrong, "\n".join(wrong)
    assert count > 10 * len(clattn.ops.__all__)


def test_operators_name_their_first_argument(runtime: clattn.Runtime) -> None:
    with runtime.tape() as tape:
        for name in clattn.ops.__all__:
            function = getattr(clattn.ops, name)
            parameters = inspect.signature(function).parameters.values()
            values = [
                right_value(p, runtime, tape)
                for p in parameters
                if p.kind is p.POSITIONAL_OR_KEYWORD
            ]
            first = next(iter(parameters)).name
            text = rf"{name}: {first} is a str, must"
            with pytest.raises(clattn.DtypeError, match=text):
                function("x", *values[1:])


# ---- classes and functions -----------------------------------------------------------

CLASSES = (clattn.Runtime, clattn.Tensor, clattn.Tape, clattn.Ragged, clattn.Model)
FUNCTIONS = ("bench", "evaluate", "read_log", "score", "train", "verify")
# For the package alone.
INNER = {"Tape.keep", "Tape.refuse_to_free", "Runtime.own", "Runtime.begin"}
INNER |= {"Tensor.__init__"}


def object_cases() -> Iterator[Case]:
    for kind in CLASSES:
        for member, value in vars(kind).items():
            function = getattr(value, "__func__", value)  # of static methods
            name = f"{kind.__name__}.{member}"
            public = not member.startswith("_") or member == "__init__"
            if inspect.isfunction(function) and public and name not in INNER:
                yield from cases_of(name, function)
    for name in FUNCTIONS:
        yield from cases_of(name, getattr(clattn, name))


def test_objects(runtime: clattn.Runtime) -> None:
    tensor = clattn.Tensor.empty(runtime, (4,))
    known: dict[str, Any] = {
        "runtime": runtime, "shape": (2, 2), "x": tensor, "first": 0, "heads": 1,
        "width": 1, "seed": 1, "step": 1, "array": np.zeros(4, np.float32), "value": 0,
        "offsets": [0, 1], "lengths": [1], "config": {}, "out": "none", "model": "none",
        "verb": "bleu", "reference": "none", "hypothesis": "none", "folder": "none",
        "about": "a", "words": ["a"], "lines": ["a"], "passage": "a", "questions": [],
        "y": tensor, "source": np.zeros(4, np.float32), "sentences": [["a"]],
        "targets": ["a"], "best": 1, "listener": None,
    }  # fmt: skip
    wrong = []
    with runtime.tape() as tape:
        owners: dict[str, Any] = {"Tape": tape, "Tensor": tensor, "Runtime": runtime}
        owners["Model"] = clattn.Model.__new__(clattn.Model)  # of no folder
        for name, function, argument, values in object_cases():
            parameters = inspect.signature(function).parameters
            given = {
                p.name: known[p.name]
                for p in parameters.values()
                if p.default is p.empty and p.name in known
            }
            owner, _, member = name.partition(".")
            if member == "__init__":
                function = getattr(clattn, owner)
            elif "self" in parameters:
                given["self"] = owners[owner]
            wrong += refuses((f"{name}: {argument}", function, argument, values), given)
    assert not wrong, "\n".join(wrong)


def test_sizes_are_not_cut(runtime: clattn.Runtime) -> None:
    tensor = clattn.Tensor.empty(runtime, (12,))
    with runtime.tape() as tape:
        for call in (
            lambda: tape.rows(2**33),
            lambda: tape.reshape(tensor, (3.9, 4)),  # type: ignore[arg-type]
        ):
            with pytest.raises(clattn.UsageError, match="first|shape"):
                call()
    with pytest.raises(clattn.UsageError, match="schedule is"):
        runtime.schedule = 7  # type: ignore[assignment]
    with pytest.raises(clattn.UsageError, match=r"lengths\[1\] is -1"):
        clattn.Ragged.from_lengths(runtime, [3, -1])
    with pytest.raises(clattn.UsageError, match="the sum of lengths"):
        clattn.Ragged.from_lengths(runtime, [2**30] * 2)
    with pytest.raises(clattn.DtypeError, match="source"):
        clattn.Tensor.from_dlpack(runtime, object())


def test_whole_numbers_of_all_kinds(runtime: clattn.Runtime) -> None:
    for lengths in (
        [5, 7],
        (5, 7),
        np.array([5, 7]),
        np.array([5, 7], np.uint8),
        iter([5, 7]),
    ):
        assert clattn.Ragged.from_lengths(runtime, lengths).tokens == 12  # type: ignore[arg-type]
    assert clattn.Tensor.empty(runtime, np.array([3, 4])).shape == (3, 4)  # type: ignore[arg-type]
    tensor = clattn.Tensor.empty(runtime, [np.int64(3), 4])  # type: ignore[list-item]
    with runtime.tape() as tape:
        tape.rows(np.int32(3))  # type: ignore[arg-type]
        assert tape.reshape(tensor, [4, 3]).shape == (4, 3)
        tensor.fill(np.float64(0.5))
        assert clattn.dropout(tape, tensor, np.float32(0)).numpy().max() == 0.5  # type: ignore[arg-type]
