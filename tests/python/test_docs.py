"""The examples of docs/python.md and README.md run as they stand; types are correct."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

EXAMPLES = [
    found
    for page in ("docs/python.md", "README.md")
    for found in re.findall(
        r"^```python ?(\w*)\n(.*?)^```$",
        (ROOT / page).read_text(encoding="utf-8"),
        re.M | re.S,
    )
]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(number: int, tmp_path: Path) -> None:
    module, code = EXAMPLES[number]
    if module:
        pytest.importorskip(module)
    for name in ("examples", "tests"):  # the paths of the page
        (tmp_path / name).symlink_to(ROOT / name)
    command = [sys.executable, "-c", code]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)


def test_types_of_the_examples(tmp_path: Path) -> None:
    if not importlib.util.find_spec("mypy"):
        pytest.skip("no mypy")
    files = []
    for number, (module, code) in enumerate(EXAMPLES):
        if module and not importlib.util.find_spec(module):
            continue
        files.append(str(tmp_path / f"example{number}.py"))
        Path(files[-1]).write_text(code, encoding="utf-8")
    for target in (["-p", "clattn"], files):
        config = ["--config-file", str(ROOT / "pyproject.toml")]
        command = [sys.executable, "-m", "mypy", "--strict", *config, *target]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
