"""operators.py - how each function of the headers is called from Python"""

import re
from dataclasses import dataclass, field

from headers import Function, Headers, Variable, fail

# Structures without which a call has no meaning; all others are zeros when left out.
REQUIRED = {"cla_adam_options"}
OPTIONAL = ("options", "mod")  # structures whose fields become keywords
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


# ---- arguments -----------------------------------------------------------------------


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
    more: list[str] = field(default_factory=list)  # to say at the end
    others: str = ""  # **others: tensors by name

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
    names = {"cla_tensor*": "Tensor", "cla_ragged*": "Ragged", "char*": "str"}
    if v.type in names:
        name = names[v.type]
        return (f"{name} | None", "None") if v.nullable else (name, "")
    fail(f"no Python type for {v.type} {v.name}")
    return "", ""


def add_struct(headers: Headers, op: Operator, argument: Variable) -> None:
    name = argument.type.rstrip("*")
    optional = argument.name in OPTIONAL and name not in REQUIRED
    if argument.name == "mod":  # what its expressions may say stands above the struct
        op.more = headers.said[name].split("\n")[1:]
    fields = []
    for f in headers.structs[name]:
        if f.name == "reserved":
            continue
        fields.append(f'"{f.name}": {f.name}')
        if f.array:
            op.others = f.name
            said = [headers.said[f.type].replace("\n", " ")]
            said += [v.comment for v in headers.structs[f.type] if v.type != "char*"]
            op.notes.append((f.name, "; ".join(said).replace(".;", ";")))
            continue
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
            op.checks.append(f'{a.name} = as_list("{op.name}", "{a.name}", {a.name})')
            op.values.append(a.name)
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
    lines = [re.sub(r"options\s+in\s+NULL for none; ", "", line) for line in said]
    lines = [line for line in lines if not re.match(r"(options|mod)\s+in\s", line)]
    notes = [(name, text) for name, text in op.notes if text]
    if notes:
        lines += ["", "Of these arguments:"]
        width = max(len(name) for name, _ in notes)
        lines += [f"{name:<{width}}  {text}" for name, text in notes]
    lines += op.more
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


def all_operators(headers: Headers) -> list[Operator]:
    return [
        make_operator(headers, f)
        for f in headers.functions
        if f.header not in ("tensor.h", "model.h")
        and len(f.arguments) > 1
        and (f.arguments[0].type == "cla_tape*" or f.header == "optim.h")
    ]
