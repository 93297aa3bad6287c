"""headers.py - reads the public headers: constants, structures, functions, comments."""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

COMMENT = r"/\*(?:(?!\*/).)*\*/"
NOT_BOUND = {"clattn.h", "opencl.h"}  # the umbrella; types of OpenCL


@dataclass
class Variable:
    """An argument or a field: its type without const, its name, what is said of it."""

    type: str
    name: str
    array: int = 0
    comment: str = ""
    is_list: bool = False  # pointers that the function reads: `cla_tensor *const *x`

    @property
    def nullable(self) -> bool:
        """Whether the comment, which others may share, lets this one be NULL."""
        named = re.findall(r"\b([a-z]\w*) may be NULL", self.comment)
        return self.name in named if named else "NULL" in self.comment


@dataclass
class Function:
    name: str
    result: str
    arguments: list[Variable]
    comment: str
    header: str


@dataclass
class Headers:
    enums: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    structs: dict[str, list[Variable]] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)  # above each structure
    opaque: list[str] = field(default_factory=list)
    callbacks: list[str] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)


# ---- reading -------------------------------------------------------------------------


def fail(text: str) -> NoReturn:
    sys.exit(f"generate.py: {text}")


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", re.sub(COMMENT, "", text, flags=re.S))


def read_variables(declaration: str) -> list[Variable]:
    """`char name[128], vendor[128]` or `const cla_tensor *q` as variables."""
    text = re.sub(r"\bconst\b", "", declaration).strip()
    base, *others = re.split(r"\s*,\s*", text)
    match = re.fullmatch(r"(\w+)\s*(.*)", base)
    if not match:
        fail(f"cannot read the declaration '{declaration}'")
    kind, variables = match.group(1), []
    for name in [match.group(2), *others]:
        stars = "*" * name.count("*")
        word = re.fullmatch(r"(\w+)\s*(?:\[(\w+)\])?", name.replace("*", "").strip())
        if not word:
            fail(f"cannot read '{name}' of '{declaration}'")
        variables.append(Variable(kind + stars, word.group(1)))
        variables[-1].array = word.group(2) or 0
    return variables


def read_enums(text: str, into: Headers) -> None:
    pattern = r"(typedef )?enum (\w+)? ?\{(.*?)\} ?(\w+)?;"
    for _, _, body, name in re.findall(pattern, text, flags=re.S):
        members, value = [], 0
        for entry in filter(str.strip, without_comments(body).split(",")):
            word, _, given = entry.partition("=")
            value = int(given) if given else value
            members.append((word.strip(), value))
            value += 1
        if name:
            into.enums[name] = members
        else:
            into.constants.update(members)


def read_structs(text: str, into: Headers) -> None:
    pattern = rf"((?:{COMMENT}\n)?)typedef struct \w+ \{{(.*?)\n\}} (\w+);"
    for above, body, name in re.findall(pattern, text, re.S):
        into.said[name] = clean_comment(above)
        fields: list[Variable] = []
        before = ""
        for line in body.split("\n"):
            code, _, comment = (part.strip() for part in line.partition("//"))
            if code:
                added = [
                    v for part in code.split(";") if part for v in read_variables(part)
                ]
                for variable in added:
                    variable.comment = " ".join(filter(None, [before, comment]))
                fields, before = fields + added, ""
            elif line.startswith("    //"):  # a line of its own is about what follows
                before = f"{before} {comment}".strip()
            elif fields:
                fields[-1].comment += f" {comment}"
        into.structs[name] = fields
    into.opaque += re.findall(r"typedef struct (\w+) \1;", text)
    into.callbacks += re.findall(r"typedef \w+ \(\*(\w+)\)\(", text)


def argument_comments(comment: str) -> dict[str, str]:
    """What the table of a comment says of each argument, its later lines included."""
    said: dict[str, str] = {}
    names: list[str] = []
    for line in comment.split("\n"):
        row = re.match(r"(\w+(?:, \w+)*)\s+(?:in|out|in, out|out, in)\s{2}(.*)", line)
        if row:
            names = row.group(1).split(", ")
            said.update({name: row.group(2) for name in names})
        elif line.startswith("   ") and names:
            said.update({name: f"{said[name]} {line.strip()}" for name in names})
        else:
            names = []
    return said


def clean_comment(comment: str) -> str:
    lines = comment.strip().removeprefix("/*").removesuffix("*/").split("\n")
    return "\n".join(re.sub(r"^ \* ?", "", line).rstrip() for line in lines).strip()


def read_functions(text: str, header: str, into: Headers) -> None:
    pattern = rf"((?:{COMMENT}\n)?)CLA_API ([^;(]*?)(\w+)\(([^;]*)\);"
    for comment, result, name, arguments in re.findall(pattern, text, flags=re.S):
        words = clean_comment(comment)
        said = argument_comments(words)
        variables = []
        for argument in [] if arguments == "void" else re.split(r",\s*", arguments):
            variable = read_variables(" ".join(argument.split()))[0]
            variable.comment = said.get(variable.name, "")
            variable.is_list = bool(re.search(r"\*\s*const\s*\*", argument))
            if f"{variable.name} (NULL" in words:
                variable.comment += " NULL"
            variables.append(variable)
        result = re.sub(r"\bconst\b|\s", "", result)
        into.functions.append(Function(name, result, variables, words, header))


def read(paths: list[str]) -> Headers:
    headers = Headers()
    for path in map(Path, paths):
        if path.name in NOT_BOUND:
            continue
        text = path.read_text(encoding="utf-8")
        read_enums(text, headers)
        read_structs(text, headers)
        read_functions(text, path.name, headers)
        if text.count("CLA_API ") - text.count("#define CLA_API ") != sum(
            f.header == path.name for f in headers.functions
        ):
            fail(f"{path}: a declaration behind CLA_API is not understood")
    for fields in headers.structs.values():
        for variable in fields:
            array = variable.array
            variable.array = headers.constants.get(array, array) if array else 0
    return headers
