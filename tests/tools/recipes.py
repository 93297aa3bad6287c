#!/usr/bin/env python3
"""recipes.py - makes the additions that docs/architecture.md describes, and tries them

    recipes.py SOURCE BUILD [--whole]

Each file tests/tools/recipes/NAME.patch is one addition. It must change exactly the
files that the page lists, and apply to a copy of the source. The changed C files are
compiled as the build in BUILD compiles their neighbours, linked with its libraries and
run. --whole builds the copy with meson instead, with all additions at once, and runs
their tests (a part of tools/nightly.sh).
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDERS = ["bench", "cl", "docs", "include", "reproduction", "src", "tests",
           "tools"]
MINUTES = 5


class Recipe:
    """An addition, the page's row about it, and how it is tried."""

    def __init__(self, name: str, row: str, word: str, target: str, tests: list[str]):
        self.name, self.row, self.word = name, row, word
        self.target, self.tests = target, tests  # what is linked; tests of a whole build
        self.new: set[str] = set()
        self.edited: set[str] = set()


RECIPES = [
    Recipe("operator", "an operator `foo`", "softsign", "tests/test-ops-gru",
           ["ops-softsign"]),
    Recipe("pointwise", "an operator on elements, `foo`", "square", "tests/test-ops-pointwise",
           ["ops-pointwise"]),
    Recipe("activation", "an activation `foo`", "softplus", "tests/test-ops-linear",
           ["ops-linear"]),
    Recipe("optimiser", "an optimiser `foo`", "signum", "tests/test-ops-optimiser",
           ["ops-optimiser", "train-optimisers"]),
    Recipe("attention", "a kind of attention `foo`", "uniform", "tests/test-tasks-pairs",
           ["tasks-pairs"]),
    Recipe("command", "a subcommand `foo`", "count", "clattn", ["cli-count", "cli-help"]),
]


class Failure(Exception):
    """An addition does not work, or the page does not describe it."""


def run(words: list[str], where: Path, more: dict[str, str] | None = None) -> str:
    """Runs a command; its output, or a failure with it."""
    done = subprocess.run(words, cwd=where, env={**os.environ, **(more or {})},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=60 * MINUTES * 6, check=False)
    if done.returncode:
        raise Failure(f"{shlex.join(words)[:300]}\nexits with {done.returncode}\n{done.stdout}")
    return done.stdout


# ---- the page --------------------------------------------------------------------------


def read_patch(recipe: Recipe, text: str) -> None:
    for old, new in re.findall(r"^--- (\S+)\n\+\+\+ b/(\S+)$", text, re.M):
        (recipe.new if old == "/dev/null" else recipe.edited).add(new)


def files_of(cell: str, word: str) -> set[str]:
    """The files in backticks, with the addition's name for foo."""
    names = re.findall(r"`([\w./-]*/[\w./-]+|meson\.build)`", cell)
    return {name.replace("foo", word) for name in names}


def check_page(recipe: Recipe, page: str) -> None:
    found = re.search(rf"^\| {re.escape(recipe.row)} \|(.*)\|(.*)\|$", page, re.M)
    if not found:
        raise Failure(f"docs/architecture.md has no row '{recipe.row}'")
    for what, cell, files in [("new", found[1], recipe.new),
                              ("edited", found[2], recipe.edited)]:
        said = files_of(cell, recipe.word)
        if said != files:
            raise Failure(
                f"docs/architecture.md, '{recipe.row}': {what} files are"
                f" {sorted(said)}, the addition has {sorted(files)}")


# ---- a copy ------------------------------------------------------------------------------


def copy(source: Path, to: Path, whole: bool) -> None:
    """Copies the source; all of it, or what the additions touch and include."""
    no_builds = shutil.ignore_patterns("build*", "__pycache__", ".git")
    if whole:
        shutil.copytree(source, to, ignore=no_builds, symlinks=True)
        return
    to.mkdir()
    shutil.copy(source / "meson.build", to)
    for folder in FOLDERS:
        shutil.copytree(source / folder, to / folder, symlinks=True,
                        ignore=shutil.ignore_patterns("data", "corpus", "__pycache__"))


def patch(recipe: Recipe, source: Path, scratch: Path, *more: str) -> None:
    file = source / "tests/tools/recipes" / f"{recipe.name}.patch"
    run(["patch", "-p1", "-s", "-N", "--no-backup-if-mismatch", *more, "-i", str(file)], scratch)


# ---- a small build -------------------------------------------------------------------------


class Build:
    """Compiles files of the copy as a finished build compiled their neighbours."""

    def __init__(self, source: Path, build: Path, scratch: Path):
        self.source, self.build, self.scratch = source, build, scratch
        with open(build / "compile_commands.json", encoding="utf-8") as file:
            self.commands = {}
            for entry in json.load(file):
                path = (Path(entry["directory"]) / entry["file"]).resolve()
                self.commands.setdefault(path, entry)

    def moved(self, path: str) -> str:
        """A path of the source in the copy; others as they are."""
        full = (self.build / path).resolve()
        if full.is_relative_to(self.build) or not full.is_relative_to(self.source):
            return path
        return str(self.scratch / full.relative_to(self.source))

    def command_of(self, name: str) -> list[str]:
        """The compiler's words for a file, or for a neighbour of a new one."""
        path = self.source / name
        like = [p for p in self.commands if p.parent == path.parent and p.suffix == ".c"]
        entry = self.commands.get(path) or self.commands[sorted(like)[0]]
        words = shlex.split(entry["command"])
        kept, skip = [], False
        for word in words[: words.index("-c")] if "-c" in words else words:
            if word in ("-o", "-MF", "-MQ"):
                skip = True
            elif skip:
                skip = False
            elif word.startswith("-I"):
                kept.append("-I" + self.moved(word[2:]))
            elif word != "-MD":
                kept.append(word)
        return kept

    def compile(self, name: str, text: Path | None = None) -> str:
        out = str(self.scratch / (name.replace("/", "_") + ".o"))
        file = text or self.scratch / name
        run([*self.command_of(name), "-O0", "-U_FORTIFY_SOURCE", "-o", out, "-c", str(file)],
            self.build)
        return out

    def link(self, target: str, objects: list[str], instead: bool) -> Path:
        """Links a target of the build with these objects, which come before its
        libraries; instead: in place of its own."""
        commands = run(["ninja", "-t", "commands", target], self.build).splitlines()
        words = shlex.split(commands[-1])
        at = next(i for i, word in enumerate(words) if word.endswith(".o"))
        own = [] if instead else [word for word in words if word.endswith(".o")]
        rest = [word for word in words[at:] if not word.endswith(".o")]
        program = self.scratch / "program"
        begin = words[: words.index("-o")]
        run([*begin, "-o", str(program), *objects, *own, *rest], self.build)
        return program

    def listed(self, name: str, like: str, changes: list[tuple[str, str]]) -> str:
        """Compiles a list that meson writes, with an addition, as the file `like`."""
        text = (self.build / name).read_text(encoding="utf-8")
        for old, new in changes:
            text = text.replace(old, new)
        file = self.scratch / Path(name).name
        file.write_text(text, encoding="utf-8")
        return self.compile(like, file)

    def lists(self, recipe: Recipe) -> list[str]:
        """The lists of operators or of kinds of attention, with the new one."""
        if recipe.name == "operator":
            return [self.listed("tests/oracle/kinds.c", "tests/oracle/gru.c",
                                [("*const gru_kinds[],", "*const gru_kinds[], *const softsign_kinds[],"),
                                 (" gru_kinds,", " gru_kinds, softsign_kinds,")])]
        if recipe.name == "attention":
            return [self.listed("src/nn/ways.c", "src/nn/attn.c",
                                [(" cla_attn_block,", " cla_attn_block, cla_attn_uniform,"),
                                 (" &cla_attn_block,", " &cla_attn_block, &cla_attn_uniform,")])]
        return []


def sources(recipe: Recipe) -> list[str]:
    """The C files of the addition that its target is made of."""
    names = sorted(recipe.new | recipe.edited)
    return [name for name in names if name.endswith(".c")]


def try_it(recipe: Recipe, b: Build) -> None:
    objects = [b.compile(name) for name in sources(recipe)]
    objects += b.lists(recipe)
    own_test = recipe.name in ("operator", "command")
    program = b.link(recipe.target, objects, own_test)
    places = {"CLATTN_KERNEL_PATH": str(b.scratch / "cl"),
              "CLATTN_TEST_ATTENTION": str(b.scratch / "docs/attention.md")}
    if recipe.name == "command":
        shutil.copy(b.source / "tests/cli/lib.sh", b.scratch / "tests/cli")
        run(["bash", "tests/cli/count.sh", str(b.scratch), str(program)], b.scratch)
        return
    words = [str(program)]
    if recipe.name == "attention":  # training them all takes long
        words += ["--filter", "pairs/*_their_page*"]
    said = run(words, b.scratch, places)
    if not re.search(r"Tested: [1-9]", said):
        raise Failure(f"{recipe.name}: no test ran: {said}")


# ---- a whole build -------------------------------------------------------------------------


def build_all(scratch: Path) -> None:
    run(["meson", "setup", "build", "--buildtype=debugoptimized"], scratch)
    programs = [f"tests/test-{test}" for recipe in RECIPES for test in recipe.tests
                if not test.startswith("cli-")]
    run(["ninja", "-C", "build", "clattn", *programs], scratch)
    tests = [test.split("-")[1] for recipe in RECIPES for test in recipe.tests]
    run(["meson", "test", "-C", "build", "--no-rebuild", *tests], scratch)
    said = run(["build/clattn", "help"], scratch)
    if "count" not in said:
        raise Failure("clattn help does not list count")


def main() -> int:
    source, build = (Path(word).resolve() for word in sys.argv[1:3])
    whole = "--whole" in sys.argv[3:]
    page = (source / "docs/architecture.md").read_text(encoding="utf-8")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "copy"
        copy(source, scratch, whole)
        b = Build(source, build, scratch)
        for recipe in RECIPES:
            try:
                file = source / "tests/tools/recipes" / f"{recipe.name}.patch"
                read_patch(recipe, file.read_text(encoding="utf-8"))
                check_page(recipe, page)
                patch(recipe, source, scratch)
                if not whole:
                    try_it(recipe, b)
                    patch(recipe, source, scratch, "-R")
            except Failure as failure:
                print(f"{recipe.name}: {failure}")
                failed += 1
        if whole and not failed:
            build_all(scratch)
    print(f"{len(RECIPES) - failed} additions work, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
