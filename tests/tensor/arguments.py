#!/usr/bin/env python3
"""arguments.py - calls of every public function with each pointer NULL in turn, in C

    arguments.py PYTHON_FOLDER HEADER... > arguments_calls.c

PYTHON_FOLDER has headers.py, which reads the headers. A pointer must be refused unless
its comment says that it may be NULL, or it is a structure of options.
"""

import sys

VALUES = {
    "bool": "false",
    "char*": '"1"',
    "char**": "a->texts",
    "cl_command_queue": "a->queue",
    "cl_context": "a->context",
    "cl_mem": "a->buffer",
    "cla_device**": "&a->devices",
    "cla_model**": "&a->model",
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
REQUIRED = {"cla_adam_options*"}


def main() -> None:
    sys.path.insert(0, sys.argv[1])
    import headers as reader

    reader.NOT_BOUND = {"clattn.h"}
    headers = reader.read(sys.argv[2:])

    def value(argument: reader.Variable) -> str:
        if argument.type in VALUES:
            return VALUES[argument.type]
        if argument.type in headers.enums:
            return f"({argument.type})0"
        return "a->zeros" if argument.type.endswith("*") else "NULL"  # no function

    def required(argument: reader.Variable) -> bool:
        if argument.type.endswith("_options*"):
            return argument.type in REQUIRED
        return not argument.nullable

    print('#include "tensor/arguments.h"\n\nvoid call_all(arguments *a)\n{')
    for function in headers.functions:
        pointers = [
            i
            for i, argument in enumerate(function.arguments)
            if argument.type.endswith("*") or argument.type in HANDLES
        ]
        if {"cla_model*", "cla_parameters*"} & {a.type for a in function.arguments}:
            pointers = pointers[:1]  # the others need one: tests/tasks/model.c, train/parameters.c
        for i in pointers:
            values = [value(argument) for argument in function.arguments]
            values[i] = "NULL"
            call = f"{function.name}({', '.join(values)})"
            name = function.arguments[i].name
            print(f'    call_next(a, "{function.name}", "{name}");')
            if function.result != "cla_status":
                print(f"    (void){call};")
            elif required(function.arguments[i]):
                print(f"    call_refused(a, {call});")
                kinds = [argument.type for argument in function.arguments[:2]]
                if kinds == ["cla_tape*", "cla_tensor**"] and i != 1:
                    print("    call_emptied(a);")
            else:
                print(f"    (void){call};")
    print("}")


main()
