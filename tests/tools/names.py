#!/usr/bin/env python3
"""names.py - what pages and comments name exists: files, links with their headings, commits,
commands, tests, names in C; rows of tables have as many cells as their head

    names.py SOURCE [BUILD]

Looks at pages (*.md), and at comments of sources and scripts. Names of a user's own, in
examples, are in OWN. With BUILD, tests are looked up among meson's.
"""

import json
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

ROOT = Path(sys.argv[1]).resolve()
BUILD = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
FOLDERS = "bench|cl|debian|docs|examples|include|packaging|python|reproduction|src|tests|tools|\\.ci"
ENDS = "c|cc|h|cl|clh|py|sh|md|js"
CODE = {".c", ".cc", ".h", ".cl", ".clh", ".in"}
SCRIPTS = {".py", ".sh", ".build"}
ROOMS = ["src", "src/cli", "tests", "include", "docs", "tools", "reproduction", "."]  # paths are from one
OWN = {
    "cblas.h", "convert_marian_to_pytorch.py", "load.c",  # of other programs
    "arguments_calls.c", "commit.h", "kinds.c", "ops.py", "torch.py",  # made by the build
    "state.h",  # a member in C
    "clattn verif", "clattn was",  # in messages
}
OLD = {"NEWS.md"}  # tells of what was


def files() -> list[Path]:
    """The project's own text files; without git all but builds."""
    try:
        out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                             check=True, capture_output=True, text=True).stdout
        names = [Path(name) for name in out.splitlines()]
    except (OSError, subprocess.CalledProcessError):
        names = [p.relative_to(ROOT) for p in ROOT.rglob("*") if p.is_file()]
        names = [p for p in names if not p.parts[0].startswith(("build", ".git"))]
    return [p for p in names if (ROOT / p).is_file()]


FILES = files()
NAMES = {str(p) for p in FILES} | {str(d) for p in FILES for d in p.parents}
BASES = {p.name for p in FILES}


# ---- what is read ------------------------------------------------------------------------


def comments(path: Path, text: str) -> list[tuple[int, str]]:
    """Lines of comments with their numbers."""
    if path.suffix in CODE:
        # the first form is what hides comments: strings
        pattern = r'"(?:\\.|[^"\\\n])*"|(/\*.*?\*/|//[^\n]*)'
    else:
        pattern = r"'[^'\n]*'|((?:^|(?<=\s))#(?!!)[^\n]*)|\A#!/.*?\n(\"\"\".*?\"\"\")"
    found = []
    for match in re.finditer(pattern, text, re.S | re.M):
        said = next((g for g in match.groups() if g), None)
        if said:
            line = text.count("\n", 0, match.start()) + 1
            found += [(line + i, part) for i, part in enumerate(said.split("\n"))]
    return found


def lines_of(path: Path) -> list[tuple[int, str]]:
    text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".md":
        return list(enumerate(text.split("\n"), 1))
    return comments(path, text)


# ---- what must exist ---------------------------------------------------------------------


@lru_cache(None)
def exists(name: str) -> bool:
    if "*" in name:
        return any(True for _ in ROOT.glob(name))
    return name.rstrip("/") in NAMES or (ROOT / name).exists()


def placeholder(name: str) -> bool:
    return bool(re.search(r"[<>{}$]|\bfoo\b|foo|[A-Z]{3,}|\.\.\.", name))


def missing_paths(line: str) -> list[str]:
    found = []
    for name in re.findall(rf"(?<![\w./-])((?:{FOLDERS})/[\w.*<>/+-]*[\w*>/])", line):
        if not placeholder(name) and not exists(name):
            found.append(name)
    for name in re.findall(rf"(?<![\w./$~-])(\w+/[\w/]+\.(?:{ENDS}))\b(?!/)", line):
        if not placeholder(name) and not any(exists(f"{room}/{name}") for room in ROOMS):
            found.append(name)
    for name in re.findall(rf"(?<![\w./$~<>*-])([a-z]\w+\.(?:{ENDS}))\b(?![/.(])", line):
        if name not in BASES and not placeholder(name):
            found.append(name)
    return found


@lru_cache(None)
def commands() -> set[str]:
    text = (ROOT / "src/cli/main.c").read_text(encoding="utf-8")
    return set(re.findall(r'^    \{ "(\w+)",', text, re.M))


def missing_commands(line: str) -> list[str]:
    said = re.findall(r"`clattn ([a-z]\w*)|^\$ clattn ([a-z]\w*)", line)
    words = [a or b for a, b in said]
    return [f"clattn {word}" for word in words if word not in commands()]


@lru_cache(None)
def known(commit: str) -> bool:
    done = subprocess.run(["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=ROOT,
                          capture_output=True, check=False)
    return done.returncode == 0


@lru_cache(None)
def has_history() -> bool:
    done = subprocess.run(["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() == "false"


def missing_commits(line: str) -> list[str]:
    pattern = r"\bcommit `?([0-9a-f]{7,40})\b|git show[\w -]* ([0-9a-f]{7,40})\b"
    said = re.findall(pattern, line, re.I)
    words = [a or b for a, b in said]
    return [f"commit {word}" for word in words if has_history() and not known(word)]


@lru_cache(None)
def tests() -> set[str]:
    text = (BUILD / "meson-info/intro-tests.json").read_text(encoding="utf-8")
    names = [test["name"] for test in json.loads(text)]
    return {name.split("/")[-1].strip() for name in names}


def missing_tests(line: str) -> list[str]:
    said = re.findall(r"\btests? `([a-z]\w*)`", line) if BUILD else []
    return [f"test {name}" for name in said if name not in tests()]


@lru_cache(None)
def words_of_code() -> set[str]:
    """Names in C, Python and scripts, without their comments."""
    found: set[str] = set()
    for path in FILES:
        if path.suffix in CODE | SCRIPTS | {""} and path.parts[0] != "docs":
            text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
            if path.suffix in CODE:
                text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
            found |= set(re.findall(r"\b(?:cla|CLA|CLATTN|NIGHTLY)_\w+", text))
    return found


def missing_words(line: str) -> list[str]:
    found = re.findall(r"(?<![\w<-])((?:cla|CLA|CLATTN|NIGHTLY)_\w*[A-Za-z0-9])\b(?![\w*<-])", line)
    code = words_of_code()
    return [name for name in found if name not in code]


@lru_cache(None)
def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them of its headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w -]", "", words).strip().replace(" ", "-"))
    return found


def broken_links(path: Path) -> list[tuple[int, str]]:
    """Links of a page to files that are not there, or to headings that these lack."""
    text = (ROOT / path).read_text(encoding="utf-8")
    text = re.sub(r"```.*?```|`[^`]*`", lambda code: "\n" * code[0].count("\n"), text, flags=re.S)
    found = []
    for match in re.finditer(r"\]\(\s*([^)#\s]*)(?:#([^)\s]*))?\s*\)", text):
        name, anchor = match.groups()
        page = (ROOT / path.parent / name) if name else ROOT / path
        there = re.match(r"[a-z]+:", name) or page.exists()
        if not there or (anchor and page.suffix == ".md" and anchor not in headings(page)):
            found.append((text.count("\n", 0, match.start()) + 1, match[0][2:-1]))
    return found


def uneven_rows(path: Path) -> list[tuple[int, int, int]]:
    """Rows of tables whose cells are not as many as those of the table's first row."""
    found, wanted, code = [], 0, False
    for number, line in lines_of(path):
        code ^= line.startswith("```")
        cells = len(re.findall(r"(?<!\\)\|", line)) - 1 if line.startswith("|") else 0
        if wanted and cells and cells != wanted and not code:
            found.append((number, cells, wanted))
        wanted = 0 if code or not cells else wanted or cells
    return found


def main() -> int:
    bad = 0
    checks = [missing_paths, missing_commands, missing_commits, missing_tests, missing_words]
    looked = [p for p in FILES if p.suffix in CODE | SCRIPTS | {".md"}]
    looked = [p for p in looked if str(p) not in OLD and "tests/data" not in str(p)]
    for path in looked:
        for number, line in lines_of(path):
            for name in [name for check in checks for name in check(line)]:
                if name not in OWN:
                    print(f"{path}:{number}: no {name}")
                    bad += 1
        for number, link in broken_links(path) if path.suffix == ".md" else []:
            print(f"{path}:{number}: a link to {link}, which is not there")
            bad += 1
        for number, cells, wanted in uneven_rows(path) if path.suffix == ".md" else []:
            print(f"{path}:{number}: a row of {cells} cells below a head of {wanted}")
            bad += 1
    print(f"{len(looked)} files, {bad} names of what is not there")
    return 1 if bad or len(looked) < 100 else 0


sys.exit(main())
