#!/usr/bin/env python3
"""generate.py - reads the public headers and writes three modules of the Python package

    generate.py api HEADER... > _api.py    constants, structures and signatures, as data
    generate.py ops HEADER... > ops.py     a function for each operator, documented by
                                           the comment of its declaration
    generate.py torch HEADER... > torch.py the attention operators for PyTorch

The build runs it, so that the package cannot differ from the headers. A declaration
that it does not understand ends the build with a message that names it.
"""

import re
import sys
from dataclasses import dataclass, field

from headers import Function, Headers, Variable, fail, read

# Structures without which a call has no meaning; all others are zeros when left out.
REQUIRED = {"cla_adam_options"}
# Lists whose length the header gives as the size of another argument.
LENGTHS = {"cla_mix_levels": ("x", "c")}
ERRORS = {
    "USAGE": "UsageError",
    "INPUT": "InputError",
    "DEVICE": "DeviceError",
    "NOMEM": "OutOfMemoryError",
    "IO": "FileError",
    "NUMERIC": "NumericError",
    "SHAPE": "ShapeError",
}
PLAIN = {
    "bool": ("bool", "False"),
    "int": ("int", "0"),
    "int32_t": ("int", "0"),
    "int64_t": ("int", "0"),
    "uint32_t": ("int", "0"),
    "size_t": ("int", "0"),
    "float": ("float", "0.0"),
    "double": ("float", "0.0"),
}


# ---- names ---------------------------------------------------------------------------


def class_name(name: str) -> str:
    """cla_conv_method: ConvMethod."""
    return "".join(word.capitalize() for word in name.removeprefix("cla_").split("_"))


def member_names(members: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """CLA_EDGE_WRAP: WRAP, without the words that all members begin with."""
    words = [name.split("_") for name, _ in members]
    common = 0
    while all(len(w) > common + 1 and w[common] == words[0][common] for w in words):
        common += 1
    return [
        ("_".join(w[common:]), value)
        for w, (_, value) in zip(words, members, strict=True)
    ]


# ---- _api.py -------------------------------------------------------------------------


def write_api(headers: Headers) -> None:
    print('"""The C interface as data, written by generate.py from the headers."""\n')
    print("from enum import IntEnum")
    for name, members in headers.enums.items():
        print(f"\n\nclass {class_name(name)}(IntEnum):")
        for member, value in member_names(members):
            print(f"    {member} = {value}")
    print("\n")
    for name, value in headers.constants.items():
        print(f"{name.removeprefix('CLA_')} = {value}")
    print("\nOPAQUE = (")
    for name in headers.opaque:
        print(f'    "{name}",')
    print(
        ")\n\n# Fields: type, name (? where NULL may be given), elements of an array."
    )
    print("STRUCTS: dict[str, tuple[tuple[str, str, int], ...]] = {")
    for name, fields in headers.structs.items():
        print(f'    "{name}": (')
        for f in fields:
            print(
                f'        ("{kind(headers, f.type)}", "{named(f, name)}", {f.array}),'
            )
        print("    ),")
    print("}\n\n# Type of the result; types and names of the arguments.")
    print("SIGNATURES: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {")
    for function in headers.functions:
        print(f'    "{function.name}": (')
        print(f'        "{kind(headers, function.result)}",')
        print("        (")
        for a in function.arguments:
            print(f'            ("{kind(headers, a.type)}", "{named(a)}"),')
        print("        ),")
        print("    ),")
    print("}")


def named(v: Variable, struct: str = "") -> str:
    """The name, with a question mark where NULL may be given."""
    optional = struct.endswith("_options") and struct not in REQUIRED
    return f"{v.name}?" if v.nullable or optional else v.name


def kind(headers: Headers, name: str) -> str:
    known = {*headers.enums, *headers.structs, *headers.opaque, *PLAIN}
    base = name.rstrip("*")
    if base not in known | {"char", "void", "uint64_t"}:
        fail(f"the type {name} is not understood")
    return name.replace(base, "int") if base in headers.enums else name


# ---- ops.py --------------------------------------------------------------------------


@dataclass
class Operator:
    """How a function is called from Python."""

    function: Function
    results: list[str]
    positional: list[tuple[str, str]] = field(default_factory=list)  # name, annotation
    keywords: list[tuple[str, str]] = field(default_factory=list)  # and default
    values: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.function.name.removeprefix("cla_")


def annotation(headers: Headers, v: Variable) -> tuple[str, str]:
    """The type of an argument in Python, and its default."""
    if v.type in headers.enums:
        name = class_name(v.type)
        return name, f"{name}.{member_names(headers.enums[v.type])[0][0]}"
    if v.type in PLAIN:
        return PLAIN[v.type]
    names = {"cla_tensor*": "Tensor", "cla_ragged*": "Ragged"}
    if v.type in names:
        name = names[v.type]
        return (f"{name} | None", "None") if v.nullable else (name, "")
    fail(f"no Python type for {v.type} {v.name}")
    return "", ""


def add_struct(headers: Headers, op: Operator, argument: Variable) -> None:
    name = argument.type.rstrip("*")
    optional = argument.name == "options" and name not in REQUIRED
    fields = []
    for f in headers.structs[name]:
        if f.type == "cla_tensor**":
            text, default = "Out | None", "None"
        else:
            text, default = annotation(headers, f)
            if optional and text in ("Tensor", "Ragged"):
                text, default = f"{text} | None", "None"
        (op.keywords if optional else op.positional).append(
            (f.name, f"{text} = {default}" if optional else text)
        )
        op.notes.append((f.name, f.comment))
        fields.append(f'"{f.name}": {f.name}')
    op.values.append(f"{{{', '.join(fields)}}}")


def make_operator(headers: Headers, function: Function) -> Operator:
    op = Operator(function, [])
    arguments = function.arguments[1:]
    for i, a in enumerate(arguments):
        lists = a.type == "cla_tensor**" and i > 0
        if a.type == "cla_tensor**" and (
            i == 0 or "out" == a.comment[:3] or a.name == "id"
        ):
            op.results.append("Tensor")
            op.values.append("RESULT")
        elif a.type in ("double*", "bool*"):
            op.results.append(PLAIN[a.type[:-1]][0])
            op.values.append("RESULT")
        elif lists:
            op.positional.append((a.name, "Sequence[Tensor]"))
            op.values.append(f"list({a.name})")
            if function.name in LENGTHS:
                op.checks.append(
                    'same_length("{}", {}, {})'.format(
                        function.name.removeprefix("cla_"), *LENGTHS[function.name]
                    )
                )
        elif a.name == "n" and arguments[i - 1].type == "cla_tensor**":
            op.values.append(f"len({arguments[i - 1].name})")
        elif a.type.rstrip("*") in headers.structs:
            add_struct(headers, op, a)
        else:
            op.positional.append((a.name, annotation(headers, a)[0]))
            op.values.append(a.name)
    return op


def docstring(headers: Headers, op: Operator) -> list[str]:
    said = op.function.comment.split("\n")
    lines = [line for line in said if not re.match(r"options\s+in\s", line)]
    notes = [(name, text) for name, text in op.notes if text]
    if notes:
        lines += ["", "Of these arguments:"]
        width = max(len(name) for name, _ in notes)
        lines += [f"{name:<{width}}  {text}" for name, text in notes]
    text = "\n".join(lines)
    text = re.sub(r"CLA_E_(\w+)", lambda m: ERRORS.get(m.group(1), m.group(0)), text)
    text = re.sub(r"CLA_\w+", lambda m: constant(headers, m.group(0)), text)
    text = text.replace("options.map", "map").replace("INFINITY", "math.inf")
    text = re.sub(r"\bcla_(\w+)", r"\1", re.sub(r"\bNULL\b", "None", text))
    return text.replace("\\", "\\\\").split("\n")


def constant(headers: Headers, word: str) -> str:
    """CLA_GATE_TOP as HardGate.TOP, CLA_HAM_DEPTH as its number."""
    for name, members in headers.enums.items():
        for (full, _), (member, _) in zip(members, member_names(members), strict=True):
            if full == word:
                return f"{class_name(name)}.{member}"
    return str(headers.constants.get(word, word))


def write_head(
    name: str,
    positional: list[tuple[str, str]],
    keywords: list[tuple[str, str]],
    result: str,
    lines: list[str],
) -> None:
    """The signature and the documentation of a function."""
    tail = len(positional)  # arguments at the end that may be None need not be given
    while tail > 1 and positional[tail - 1][1].endswith("| None"):
        tail -= 1
    print(f"\n\ndef {name}(")
    for i, (argument, text) in enumerate(positional):
        print(f"    {argument}: {text}{' = None' if i >= tail else ''},")
    if keywords:
        print("    *,")
        for argument, text in keywords:
            print(f"    {argument}: {text},")
    print(f") -> {result}:")
    print(f'    """{lines[0]}')
    for line in lines[1:]:
        print(f"    {line}".rstrip())
    print('    """')


def write_operator(headers: Headers, op: Operator) -> None:
    on_tape = op.function.arguments[0].name == "tape"
    positional = ([("tape", "Tape")] if on_tape else []) + op.positional
    result = op.results[0] if op.results else "None"
    if len(op.results) > 1:
        result = f"tuple[{', '.join(op.results)}]"
    write_head(op.name, positional, op.keywords, result, docstring(headers, op))
    for check in op.checks:
        print(f"    {check}")
    owner = "tape" if on_tape else op.positional[0][0]
    call = f'operate({owner}, "{op.function.name}", [{", ".join(op.values)}])'
    casts = {"Tensor": "as_tensor", "float": "float", "bool": "bool"}
    if not op.results:
        print(f"    {call}")
    elif len(op.results) == 1:
        print(f"    return {casts[op.results[0]]}({call}[0])")
    else:
        results = [f"{casts[r]}(results[{i}])" for i, r in enumerate(op.results)]
        print(f"    results = {call}\n    return {', '.join(results)}")


def all_operators(headers: Headers) -> list[Operator]:
    return [
        make_operator(headers, f)
        for f in headers.functions
        if f.header not in ("tensor.h", "model.h")
        and len(f.arguments) > 1
        and (f.arguments[0].type == "cla_tape*" or f.header == "optim.h")
    ]


def write_imports(headers: Headers, operators: list[Operator]) -> None:
    """The enumerations that the functions take."""
    used = {
        text.split(" ")[0]
        for op in operators
        for _, text in op.positional + op.keywords
    }
    names = sorted(used & {class_name(name) for name in headers.enums})
    print(f"from clattn._api import {', '.join(names)}")


def write_names(operators: list[Operator], *others: str) -> None:
    print("\n__all__ = [")
    for name in [*(op.name for op in operators), *others]:
        print(f'    "{name}",')
    print("]")


def write_ops(headers: Headers) -> None:
    operators = all_operators(headers)
    print('''"""The operators, written by generate.py from the headers.

Each runs forward and, on a training tape, records its backward pass. Results belong to
the tape. Pass an Out to get an optional result. Letters: N tokens, B sequences, H
heads, T queries, S keys, D model width, d head width, w window.
"""

from collections.abc import Sequence
''')
    write_imports(headers, operators)
    print("from clattn._call import RESULT, as_tensor, operate, same_length")
    print("from clattn.tape import Out, Tape")
    print("from clattn.tensor import Ragged, Tensor")
    write_names(operators)
    for op in operators:
        write_operator(headers, op)


# ---- torch.py ------------------------------------------------------------------------


def for_torch(variables: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Tensors become PyTorch's, batches the lengths of their sequences; no Out."""
    return [
        (
            name,
            text.replace("Tensor", "torch.Tensor").replace("Ragged", "Sequence[int]"),
        )
        for name, text in variables
        if not text.startswith("Out")
    ]


def write_torch_operator(headers: Headers, op: Operator) -> None:
    variables = op.positional + op.keywords
    tensors = [name for name, text in variables if text.startswith("Tensor")]
    rows = [name for name, text in variables if text == "Ragged"]
    passed = []
    for name, text in variables:
        if text.startswith("Tensor"):
            passed.append(f"{name}=t[{tensors.index(name)}]")
        elif text == "Ragged":
            passed.append(f"{name}=r[{rows.index(name)}]")
        elif not text.startswith("Out"):
            passed.append(f"{name}={name}")
    outs = {name for name, text in variables if text.startswith("Out")}
    op.notes = [(name, text) for name, text in op.notes if name not in outs]
    lines = docstring(headers, op)
    if rows:
        lines += ["", f"{', '.join(rows)}: the number of tokens of each sequence."]
    positional, keywords = for_torch(op.positional), for_torch(op.keywords)
    write_head(op.name, positional, keywords, "torch.Tensor", lines)
    dropout = ", dropout" if any(name == "dropout" for name, _ in keywords) else ""
    print("    return apply(")
    print(f'        "{op.name}",')
    print(f"        lambda tape, t, r: ops.{op.name}(tape, {', '.join(passed)}),")
    print(f"        [{', '.join(tensors)}],")
    print(f"        [{', '.join(rows)}]{dropout},")
    print("    )")


def write_torch(headers: Headers) -> None:
    attention = re.compile(r".*attention.*|ham_.|masked_softmax")
    operators = [op for op in all_operators(headers) if attention.fullmatch(op.name)]
    print(
        '''"""The attention operators for PyTorch, written by generate.py.

Tensors are PyTorch's, float32 and on the CPU; each call copies them to the device of
`use`, and the result back. They are packed: the tokens of all sequences one after the
other, without padding. Gradients flow through autograd. There are no gradients of
gradients.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from clattn import ops
from clattn._autograd import apply, use
'''.rstrip()
    )
    write_imports(headers, operators)
    write_names(operators, "use")
    for op in operators:
        write_torch_operator(headers, op)


def main() -> None:
    what, *paths = sys.argv[1:]
    {"api": write_api, "ops": write_ops, "torch": write_torch}[what](read(paths))


if __name__ == "__main__":
    main()
