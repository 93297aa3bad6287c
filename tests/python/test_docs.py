"""The examples of docs/python.md and README.md run as they stand; types are correct."""

import importlib.util
import json
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
        r"^```python ?(\w*(?: [\d.]+)?)\n(.*?)^```$",
        (ROOT / page).read_text(encoding="utf-8"),
        re.M | re.S,
    )
]
TYPED = "torch 2.15"  # the oldest whose own types are known to fit


def has(needs: str) -> bool:
    """Whether a module is there: "torch", or "torch 2.5" for that version at least."""
    module, _, version = needs.partition(" ")
    if not module or not importlib.util.find_spec(module):
        return not module
    if not version:
        return True
    own = re.findall(r"\d+", importlib.import_module(module).__version__)
    return [int(n) for n in own[:2]] >= [int(n) for n in version.split(".")]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(number: int, tmp_path: Path) -> None:
    needs, code = EXAMPLES[number]
    if not has(needs):
        pytest.skip(f"no {needs}")
    for name in ("examples", "tests"):  # the paths of the page
        (tmp_path / name).symlink_to(ROOT / name)
    command = [sys.executable, "-c", code]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)


def test_the_page_as_a_notebook(tmp_path: Path) -> None:
    """The cells run one after the other in one process, as in Jupyter."""
    made = tmp_path / "python.ipynb"
    tool, page = ROOT / "tools/notebook.py", ROOT / "docs/python.md"
    subprocess.run([sys.executable, tool, page, made], check=True, timeout=60)
    cells = json.loads(made.read_text(encoding="utf-8"))["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert "<!--" not in made.read_text(encoding="utf-8")
    texts = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
    assert texts[0].startswith("# Python\n") and "pip wheel" in texts[0]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5
    for name in ("examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    script = ""
    for cell in code:
        tags = cell["metadata"].get("tags", [])
        if all(has(tag.removeprefix("needs-").replace("-", " ")) for tag in tags):
            script += "".join(cell["source"]) + "\n"
    command = [sys.executable, "-c", script]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
    run = subprocess.run(
        [sys.executable, tool, ROOT / "docs/style.md", made], capture_output=True
    )
    assert run.returncode == 1 and b"style.md: no Python block" in run.stderr


def types_are_strict(folder: Path, config: str, *targets: str) -> None:
    if not importlib.util.find_spec("mypy"):
        pytest.skip("no mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", config]
    subprocess.run([*command, *targets], cwd=folder, check=True, timeout=600)


def test_types_of_the_examples(tmp_path: Path) -> None:
    """With no settings of ours, as users check their programs."""
    files = []
    for number, (needs, code) in enumerate(EXAMPLES):
        if not needs or has(TYPED):
            files.append(str(tmp_path / f"example{number}.py"))
            Path(files[-1]).write_text(code, encoding="utf-8")
    types_are_strict(tmp_path, "", *files)


def test_types_of_the_package(tmp_path: Path) -> None:
    config = "" if has(TYPED) else str(ROOT / "pyproject.toml")
    types_are_strict(tmp_path, config, "-p", "clattn")
