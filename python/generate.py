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

from headers import Headers, Variable, fail, read
from operators import (
    PLAIN,
    REQUIRED,
    Operator,
    all_operators,
    class_name,
    docstring,
    member_names,
)

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
    if name in headers.callbacks:
        return "void*"
    base = name.rstrip("*")
    if base not in known | {"char", "void", "uint64_t"}:
        fail(f"the type {name} is not understood")
    return name.replace(base, "int") if base in headers.enums else name


# ---- ops.py --------------------------------------------------------------------------


def write_head(
    name: str,
    positional: list[tuple[str, str]],
    keywords: list[tuple[str, str]],
    others: str,
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
    if others:
        print(f"    **{others},")
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
    others = f"{op.others}: Tensor" if op.others else ""
    lines = docstring(headers, op)
    write_head(op.name, positional, op.keywords, others, result, lines)
    for check in op.checks:
        print(f"    {check}")
    owner = "tape" if on_tape else op.positional[0][0]
    named = "" if on_tape else f', "{owner}"'
    call = f'operate({owner}, "{op.function.name}", [{", ".join(op.values)}]{named})'
    casts = {"Tensor": "as_tensor", "float": "float", "bool": "bool"}
    if not op.results:
        print(f"    {call}")
    elif len(op.results) == 1:
        print(f"    return {casts[op.results[0]]}({call}[0])")
    else:
        results = [f"{casts[r]}(results[{i}])" for i, r in enumerate(op.results)]
        print(f"    results = {call}\n    return {', '.join(results)}")


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
    print("from clattn._call import RESULT, as_list, as_tensor, operate, same_length")
    print("from clattn.tape import Out, Tape")
    print("from clattn.tensor import Ragged, Tensor")
    write_names(operators)
    for op in operators:
        write_operator(headers, op)


# ---- torch.py ------------------------------------------------------------------------


LENGTHS = "Sequence[int] | torch.Tensor"


def for_torch(variables: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Tensors become PyTorch's, batches the lengths of their sequences; no Out."""
    return [
        (
            name,
            text.replace("Tensor", "torch.Tensor").replace("Ragged", LENGTHS),
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
    named = [f'"{name}": {name}' for name in tensors]
    if op.others:
        pairs = f"zip({op.others}, t[{len(tensors)}:], strict=True)"
        passed.append(f"**dict({pairs})")
        named.append(f"**{op.others}")
    outs = {name for name, text in variables if text.startswith("Out")}
    op.notes = [(name, text) for name, text in op.notes if name not in outs]
    lines = docstring(headers, op)
    if rows:
        lines += ["", f"{', '.join(rows)}: the number of tokens of each sequence,"]
        lines += ["as a list, an array or a tensor of whole numbers."]
    positional, keywords = for_torch(op.positional), for_torch(op.keywords)
    others = f"{op.others}: torch.Tensor" if op.others else ""
    write_head(op.name, positional, keywords, others, "torch.Tensor", lines)
    dropout = ", dropout" if any(name == "dropout" for name, _ in keywords) else ""
    print("    return apply(")
    print(f'        "{op.name}",')
    print(f"        lambda tape, t, r: ops.{op.name}(tape, {', '.join(passed)}),")
    print(f"        {{{', '.join(named)}}},")
    lengths = ", ".join(f'"{name}": {name}' for name in rows)
    print(f"        {{{lengths}}}{dropout},")
    print("    )")


def write_torch(headers: Headers) -> None:
    attention = re.compile(r".*attention.*|ham_.|masked_softmax")
    operators = [
        op
        for op in all_operators(headers)
        if attention.fullmatch(op.name) and op.name != "attention"
    ]
    print(
        '''"""The attention operators for PyTorch, written by generate.py.

Tensors are PyTorch's and on the CPU. Where the device of `use` is a CPU, it reads them
where they are; else each call copies them there, and `resident` lets calls share copies.
Results are copied back. float16, bfloat16 and float64 are computed in float32. Tensors
are packed: the tokens of all sequences one after the other, without padding. `attention`
takes padded and nested ones, too, and scaled_dot_product_attention has the arguments of
PyTorch's own; torch.compile takes both. Gradients flow through autograd. There are no
gradients of gradients: differentiating one raises a GradientError.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from clattn import ops
from clattn._autograd import apply, lengths, use
'''.rstrip()
    )
    write_imports(headers, operators)
    print("from clattn._attention import attention")
    print("from clattn._resident import resident")
    print("from clattn._sdpa import scaled_dot_product_attention")
    own = "attention", "lengths", "resident", "scaled_dot_product_attention", "use"
    write_names(operators, *own)
    for op in operators:
        write_torch_operator(headers, op)


def main() -> None:
    what, *paths = sys.argv[1:]
    {"api": write_api, "ops": write_ops, "torch": write_torch}[what](read(paths))


if __name__ == "__main__":
    main()
