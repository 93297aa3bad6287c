#!/usr/bin/env python3
"""arguments.py - calls of every public function with wrong arguments, in C

    arguments.py PYTHON_FOLDER HEADER... > arguments_calls.c

PYTHON_FOLDER has headers.py, which reads the headers. Each argument is wrong in turn:

* a pointer is NULL. It must be refused unless its comment says that it may be NULL, or
  it is a structure of options;
* an enum, or one in a structure, has a value that it has not;
* a tensor, a batch, a tape or an object of OpenCL is of another runtime than the rest.
"""

import sys
from collections.abc import Iterator

VALUES = {
    "bool": "false",
    "char*": '"1"',
    "char**": "a->texts",
    "cl_command_queue": "a->queue",
    "cl_context": "a->context",
    "cl_mem": "a->buffer",
    "cla_device**": "&a->devices",
    "cla_model**": "&a->model",
    "cla_parameters*": "a->set",
    "cla_parameters**": "&a->parameters",
    "cla_quatrain**": "&a->poem",
    "cla_ragged*": "a->rows",
    "cla_ragged**": "&a->made_rows",
    "cla_runtime*": "a->rt",
    "cla_runtime**": "&a->made",
    "cla_tape*": "a->tape",
    "cla_tape**": "&a->made_tape",
    "cla_tensor*": "a->tensor",
    "cla_tensor**": "a->tensors",
    "double": "0.5",
    "float": "0.5F",
    "int": "2",
    "int32_t*": "a->offsets",
    "int64_t": "2",
    "int64_t*": "a->shape",
    "size_t": "2",
    "uint32_t": "2",
}
HANDLES = {"cl_command_queue", "cl_context", "cl_mem"}  # pointers by another name
REQUIRED = {"cla_adam_options*", "cla_optimiser_options*"}
# What belongs to a runtime, and the same of another one.
OWNED = {
    "cl_command_queue": "a->other.queue",
    "cl_context": "a->other.context",
    "cl_mem": "a->other.buffer",
    "cla_ragged*": "a->other.rows",
    "cla_runtime*": "a->other.rt",
    "cla_tape*": "a->other.tape",
    "cla_tensor*": "a->other.tensor",
}
HOMES = {"cl_context", "cla_runtime*", "cla_tape*"}  # what the others are compared with
# Tensors that nobody can make by these values: they come from models.
NOT_MADE = {"cla_dtype": {"CLA_F16", "CLA_I8"}}

sys.path.insert(0, sys.argv[1])
import headers as reader  # noqa: E402
from operators import LENGTHS  # noqa: E402

reader.NOT_BOUND = {"clattn.h"}
HEADERS = reader.read(sys.argv[2:])


def value(argument: reader.Variable) -> str:
    if argument.type in VALUES:
        return VALUES[argument.type]
    if argument.type in HEADERS.enums:
        return f"({argument.type})0"
    return "a->zeros" if argument.type.endswith("*") else "NULL"  # no function


def call_of(function: reader.Function, changed: dict[str, str]) -> str:
    """The call, with some arguments changed."""
    values = [changed.get(v.name, value(v)) for v in function.arguments]
    return f"{function.name}({', '.join(values)})"


def empties(function: reader.Function) -> bool:
    kinds = [argument.type for argument in function.arguments[:2]]
    return kinds == ["cla_tape*", "cla_tensor**"]


# ---- NULL ----------------------------------------------------------------------------


def required(argument: reader.Variable) -> bool:
    if argument.type.endswith("_options*"):
        return argument.type in REQUIRED
    return not argument.nullable


def print_nulls(function: reader.Function) -> None:
    pointers = [
        i
        for i, argument in enumerate(function.arguments)
        if argument.type.endswith("*") or argument.type in HANDLES
    ]
    if {"cla_model*", "cla_parameters*"} & {a.type for a in function.arguments}:
        pointers = pointers[:1]  # the others: tests/tasks/model.c, tests/train/parameters.c
    for i in pointers:
        name = function.arguments[i].name
        call = call_of(function, {name: "NULL"})
        print(f'    call_next(a, "{function.name}", "{name}", "is NULL");')
        if function.result == "cla_status" and required(function.arguments[i]):
            print(f"    call_refused(a, {call});")
            if empties(function) and i != 1:
                print("    call_emptied(a);")
        else:
            print(f"    (void){call};")


# ---- enums ---------------------------------------------------------------------------


def enums_of(function: reader.Function) -> Iterator[tuple[str, str, str, str]]:
    """Of each enum its name in messages, its type, the argument it is in, and a form of
    that argument with {} for the value."""
    for argument in function.arguments:
        if argument.type in HEADERS.enums:
            yield argument.name, argument.type, argument.name, f"({argument.type}){{}}"
        kind = argument.type.removesuffix("*")
        for member in HEADERS.structs.get(kind, []):
            if member.type in HEADERS.enums and "**" not in argument.type:
                form = f"&({kind}){{{{ .{member.name} = ({member.type}){{}} }}}}"
                name = f"{argument.name}.{member.name}"
                yield name, member.type, argument.name, form


def print_enums(function: reader.Function) -> None:
    status = "a->status = " if function.result == "cla_status" else "(void)"
    for name, kind, argument, form in enums_of(function):
        members = HEADERS.enums[kind]
        numbers = [number for _, number in members]
        unknown = ["-1", str(max(numbers) + 1), str(max(numbers) + 1000)]
        for wrong in [*unknown, "INT_MAX", "INT_MIN"]:
            call = call_of(function, {argument: form.format(wrong)})
            print(f'    call_unknown(a, "{function.name}", "{name}", {wrong});')
            print(f"    {status}{call};")
            print(f"    call_unknown_refused(a);")
            if empties(function):
                print("    call_emptied(a);")
        for member, number in members:
            if member not in NOT_MADE.get(kind, set()):
                call = call_of(function, {argument: form.format(member)})
                print(f'    call_unknown(a, "{function.name}", "{name}", {number});')
                print(f"    {status}{call};")
                print("    call_known(a);")


# ---- another runtime -----------------------------------------------------------------


def inside(kind: str, path: str) -> Iterator[tuple[str, str]]:
    """Of each tensor or batch in a structure its name, and the structure with it."""
    for member in HEADERS.structs.get(kind, []):
        name = f"{path}.{member.name}"
        if member.type in OWNED:
            yield name, f"{{ .{member.name} = {OWNED[member.type]} }}"
        for deeper, form in inside(member.type, f"{name}[i]") if member.array else []:
            named = form.replace("{", '{ .name = "x",', 1)
            yield deeper, f"{{ .{member.name} = {{ {named} }} }}"


def owned_of(function: reader.Function) -> Iterator[tuple[str, str, str]]:
    """Of each object of a runtime its name in messages, the argument it is in, and that
    argument with the object of another runtime."""
    for argument in function.arguments:
        if argument.type in OWNED:
            name = "" if argument.type in HOMES else argument.name
            yield name, argument.name, OWNED[argument.type]
        elif argument.is_list and argument.type == "cla_tensor**":
            yield f"{argument.name}[i]", argument.name, "a->other.tensors"
        elif argument.type.endswith("*") and not argument.type.endswith("**"):
            kind = argument.type.removesuffix("*")
            for name, form in inside(kind, argument.name):
                yield name, argument.name, f"&({kind}){form}"


def print_foreign(function: reader.Function) -> None:
    owned = list(owned_of(function))
    if len(owned) < 2:
        return
    _, counted = LENGTHS.get(function.name, ("", ""))  # it must be right
    for name, argument, form in owned:
        changed = {argument: form}
        if counted and argument != counted:
            changed[counted] = "a->levels"
        call = call_of(function, changed)
        print(f'    call_next(a, "{function.name}", "{name}", "belongs to another");')
        if function.result == "cla_status":
            print(f"    call_refused(a, {call});")
        else:
            print(f"    {call};\n    call_refused(a, CLA_E_USAGE);")
        if empties(function):
            print("    call_emptied(a);")


def main() -> None:
    print('#include "tensor/arguments.h"\n\n#include <limits.h>')
    for name, write in [
        ("nulls", print_nulls),
        ("enums", print_enums),
        ("foreign", print_foreign),
    ]:
        print(f"\nvoid call_{name}(arguments *a)\n{{")
        for function in HEADERS.functions:
            write(function)
        print("}")


main()
