#!/usr/bin/env python3
"""carry.py - puts the libraries, the program and what they need into a folder, for wheels

    carry.py OUT LICENCES PROGRAM LIBRARY...

What they need are the libraries that they link, and those that these link, but for the
OpenCL loader and what is part of every Linux. All look for each other in OUT. Carried
libraries get names of their own, so that a process which has loaded the system's keeps
both apart. LICENCES must have a text for each.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

# The C and C++ libraries belong to the system, and so does the loader of its drivers.
SYSTEM = re.compile(
    r"(libOpenCL|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux.*)\.so.*"
)


def fail(text: str) -> NoReturn:
    sys.exit(f"carry.py: {text}")


def run(*command: str | Path) -> str:
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        fail(f"{command[0]} {command[-1]}: {made.stderr.strip()}")
    return made.stdout


def soname(file: Path) -> str:
    return run("patchelf", "--print-soname", file).strip()


def needed(file: Path, own: set[str]) -> list[str]:
    """What a file links but for the system's and our own libraries."""
    names = run("patchelf", "--print-needed", file).split()
    return [name for name in names if not SYSTEM.fullmatch(name) and name not in own]


def stem(name: str) -> str:
    """libpcre2-8.so.0: pcre2-8."""
    return name.removeprefix("lib").partition(".so")[0]


def own_name(name: str) -> str:
    """libjansson.so.4: libjansson-clattn.so.4."""
    return name.replace(".so", "-clattn.so", 1)


def collect(files: list[Path], own: set[str]) -> dict[str, Path]:
    """The libraries that the files need, and those that these need, by name."""
    found: dict[str, Path] = {}
    while files:
        file = files.pop()
        places = dict(re.findall(r"(\S+) => (/\S+)", run("ldd", file)))
        for name in needed(file, own):
            if name not in places:
                fail(f"{file} needs {name}, which is not found")
            if name not in found:
                found[name] = Path(places[name])
                files.append(found[name])
    return found


def place(source: Path, target: Path, own: set[str]) -> None:
    """Copies a file and makes it find the carried libraries beside it."""
    shutil.copyfile(source, target)
    target.chmod(0o755)
    changes: list[str] = []
    for name in needed(target, own):
        changes += ["--replace-needed", name, own_name(name)]
    # One by one: patchelf 0.14 loses the new names where it sets the path as well.
    run("patchelf", "--set-rpath", "$ORIGIN", target)
    if changes:
        run("patchelf", *changes, target)
    lost = [name for name in needed(target, own) if "-clattn" not in name]
    if lost:
        fail(f"{target} still asks for {', '.join(lost)}")


def main() -> None:
    out, licences, program, *libraries = map(Path, sys.argv[1:])
    own = {soname(library) for library in libraries}
    carried = collect([program, *libraries], own)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    place(program, out / program.name, own)
    for library in libraries:
        place(library, out / soname(library), own)
    for name, source in carried.items():
        licence = licences / f"{stem(name)}.txt"
        if not licence.exists():
            fail(f"{source} would be carried, but {licence} is missing")
        place(source, out / own_name(name), own)
        run("patchelf", "--set-soname", own_name(name), out / own_name(name))


main()
