#!/usr/bin/env python3
"""notebook.py - makes a Jupyter notebook of a page: its Python blocks are the cells

    notebook.py docs/python.md python.ipynb

Open it in the project's folder, from where the paths of the examples lead. A block that
needs a module beyond the package and NumPy names it (```python torch), and the oldest
version where an older one lacks something (```python torch 2.5); its cell has the tag
needs-torch-2.5.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python ?(\w*(?: [\d.]+)?)\n(.*?)^```\n", re.M | re.S)
COMMENT = re.compile(r"^<!--.*?-->\n", re.M | re.S)


def cell(kind: str, text: str, number: int, tags: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {"tags": tags} if tags else {},
        "source": text.strip("\n").splitlines(keepends=True),
    }
    return made | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def notebook(page: str) -> dict[str, Any]:
    cells: list[dict[str, Any]] = []
    parts = BLOCK.split(COMMENT.sub("", page))  # text, module, code, text, ...
    for i in range(0, len(parts), 3):
        if parts[i].strip():
            cells.append(cell("markdown", parts[i], len(cells), []))
        if i + 2 < len(parts):
            needs = parts[i + 1].replace(" ", "-")
            tags = [f"needs-{needs}"] if needs else []
            cells.append(cell("code", parts[i + 2], len(cells), tags))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "cells": cells,
    }


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: notebook.py PAGE OUT.ipynb")
    page, out = map(Path, sys.argv[1:])
    made = notebook(page.read_text(encoding="utf-8"))
    if not any(c["cell_type"] == "code" for c in made["cells"]):
        sys.exit(f"notebook.py: {page}: no Python block is in it")
    out.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", "utf-8")


main()
