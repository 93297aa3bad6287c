"""What generate.py made of the headers, against a C compiler's reading of them."""

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path

import clattn
import pytest
from clattn import _api
from clattn._library import library, struct
from conftest import ROOT

NOT_BOUND = ("opencl.h", "log.h")
HEADERS = [h for h in (ROOT / "include/clattn").glob("*.h") if h.name not in NOT_BOUND]


def test_layouts_and_values(tmp_path: Path) -> None:
    """Sizes of structures, offsets of fields and values of enumerations."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no compiler")
    asked, want = [], []
    for name in _api.STRUCTS:
        made = struct(name)
        asked.append(f"sizeof({name})")
        want.append(ctypes.sizeof(made))
        for field, _ in made._fields_:
            asked.append(f"offsetof({name}, {field})")
            want.append(getattr(made, field).offset)
    text = "".join(header.read_text() for header in HEADERS)
    for body, name in re.findall(r"typedef enum \w+ \{(.*?)\} cla_(\w+);", text, re.S):
        words = re.findall(r"^\s*(CLA_\w+)|, (CLA_\w+)", body, re.M)
        asked += [first or second for first, second in words]
        enum = getattr(_api, "".join(word.capitalize() for word in name.split("_")))
        want += list(enum)
    source, program = tmp_path / "layout.c", tmp_path / "layout"
    source.write_text(
        "#include <stddef.h>\n#include <stdio.h>\n"
        + "".join(f'#include "clattn/{header.name}"\n' for header in HEADERS)
        + "int main(void)\n{\n"
        + "".join(f'    printf("%zu\\n", (size_t)({what}));\n' for what in asked)
        + "}\n"
    )
    include = f"-I{ROOT / 'include'}"
    subprocess.run([compiler, include, str(source), "-o", str(program)], check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    assert list(map(int, printed.stdout.split())) == want


def test_every_function_is_there() -> None:
    promised = set()
    for header in HEADERS:
        text = " ".join(header.read_text().split())
        promised |= set(re.findall(r"CLA_API [^;(]*?(cla_\w+)\(", text))
    assert promised == set(_api.SIGNATURES)
    for name in promised:
        assert getattr(library(), name)


@pytest.mark.parametrize(
    ("declaration", "word"),
    [
        ("CLA_API cla_status cla_odd(cla_tape *t, cla_tensor **y, FILE *f);", "FILE"),
        ("CLA_API extern int (*cla_odd)(void);", "CLA_API"),
        ("CLA_API cla_status cla_odd(cla_tape *t, cla_tensor **y, void *f);", "void"),
    ],
    ids=["type", "declaration", "pointer"],
)
def test_what_is_not_understood_ends_the_build(
    declaration: str, word: str, tmp_path: Path
) -> None:
    header = tmp_path / "odd.h"
    header.write_text(declaration + "\n")
    command = [sys.executable, str(ROOT / "python/generate.py"), "ops"]
    known = [str(h) for h in HEADERS]
    run = subprocess.run(
        [*command, *known, str(header)], capture_output=True, text=True
    )
    assert run.returncode == 1 and word in run.stderr


def test_documentation_is_the_headers() -> None:
    said = clattn.band_attention.__doc__ or ""
    assert "window  in  positions, odd and >= 1" in said
    assert "UsageError for the window" in said
    assert "Grammar: c ? x : y" in (clattn.custom_attention.__doc__ or "")
    for name in clattn.ops.__all__:
        doc = getattr(clattn, name).__doc__ or ""
        assert "rror" in doc, name
        assert not re.search(r"\b(NULL|cla_\w+|CLA_\w+)\b", doc), name


def test_the_version_is_the_packages() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        assert clattn.version() == version("clattn")
    except PackageNotFoundError:
        pytest.skip("not installed")
