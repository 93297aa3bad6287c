#!/usr/bin/env python3
"""pictures.py - whether the pages' pictures are what `clattn plot` draws of the rows.

  reproduction/tests/pictures.py PROGRAM
"""
import functools
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import results  # noqa: E402
import results_curves  # noqa: E402


def drawn(folder):
    """The pictures of a folder by name."""
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found[name] = file.read()
    return found


def main():
    program = os.path.abspath(sys.argv[1])
    kept = drawn(os.path.join(results.ROOT, results_curves.FOLDER))
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, results_curves.FOLDER))
        results_curves.pictures(results.Store(results.ROWS), root, functools.partial(results.output, program))
        anew = drawn(os.path.join(root, results_curves.FOLDER))
    old = sorted(name for name in {*kept, *anew} if kept.get(name) != anew.get(name))
    for name in old:
        print(f"{name} is not what the rows draw: reproduction/results.sh pictures BUILD_FOLDER")
    shown = "".join(text for place, text in results.rendered(results.Store(results.ROWS)).items()
                    if place.endswith(".md"))
    lost = sorted(name for name in kept if f"(pictures/{name})" not in shown)
    for name in lost:
        print(f"{name} is on no page")
    return 1 if old or lost or not anew else 0


if __name__ == "__main__":
    sys.exit(main())
