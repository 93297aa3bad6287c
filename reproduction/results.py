#!/usr/bin/env python3
"""results.py - the tables of the pages: which cells there are, how each is made.

A table is a list of cells; a cell is a training command and the figure of the paper
beside it. Finished cells are kept one JSON object a line in reproduction/rows/TABLE.jsonl.
A module of SYSTEMS has TABLES, key and told for its own, and score for runs that it
trains, or measure. page and tables are what it shows: the text for its page PAGE, and by
name the tables that are too long for one.
"""
import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import results_base
import results_check
import results_claims
import results_curves
import results_gates
import results_hard
import results_lm
import results_nmt
import results_page
import results_pieces
import results_poem
import results_precision
import results_rates
import results_reader
import results_speed
import results_tagger
import results_windows

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
ROWS = os.path.join(HERE, "rows")
SYSTEMS = (results_tagger, results_windows, results_nmt, results_base, results_speed, results_hard, results_gates,
           results_reader, results_rates, results_pieces, results_poem, results_lm, results_precision)
TABLES = {table: system for system in SYSTEMS for table in system.TABLES}


class Store:
    """The finished lines of every table, in a folder; home: where what they are shown as lies."""

    def __init__(self, folder):
        self.folder = folder
        self.home = HERE if folder == ROWS else folder
        os.makedirs(folder, exist_ok=True)

    def path(self, table):
        return os.path.join(self.folder, table + ".jsonl")

    def lines(self, table):
        if not os.path.exists(self.path(table)):
            return []
        with open(self.path(table), encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.strip()]

    def add(self, table, line):
        with open(self.path(table), "a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")


def output(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          **{"cwd": ROOT, **more}).stdout


SOURCES = ("meson.build", "src", "cl", "include", "examples", "reproduction/configs")


def commit(checkout):
    """The commit of the checkout that was built, with a + where its sources were changed since."""
    changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", *SOURCES], cwd=checkout, check=False)
    short = output("git", "-C", checkout, "rev-parse", "--short", "HEAD").strip()
    return short + "+" * bool(changed.returncode)


def device_name(program):
    devices = [json.loads(line) for line in output(program, "devices", "--json").splitlines()]
    return next(d["name"] for d in devices if d.get("default"))


def begin(out, last):
    """Notes in OUT.json that a training begins or goes on; gives the seconds of the parts that
    were cut off, each up to its last saved state. None: that is not known."""
    note, before = out + ".json", 0
    if os.path.exists(last):
        if not os.path.exists(note):
            return None
        with open(note, encoding="utf-8") as file:
            cut = json.load(file)
        before = cut["wall_s"] + max(0, os.path.getmtime(last) - cut["began"])
    os.makedirs(os.path.dirname(note), exist_ok=True)
    with open(note, "w", encoding="utf-8") as file:
        json.dump({"wall_s": before, "began": time.time()}, file)
    return before


def train(cell, places, program, out):
    """Trains one cell into the folder out, or continues a run that was cut off there; gives the
    seconds that it took."""
    last = os.path.join(out, "last.ckpt.safetensors")
    before = begin(out, last)
    command = [program, "train", cell["config"], "--out", out, "--quiet"]
    for setting in cell["set"]:
        command += ["--set", setting.format(**places)]
    if os.path.exists(last):
        command += ["--resume"]
    elif os.path.exists(out):
        shutil.rmtree(out)  # cut off before its first checkpoint
    start = time.monotonic()
    subprocess.run(command, cwd=places["checkout"], check=True)
    return None if before is None else before + time.monotonic() - start


def train_once(cell, places, program, out):
    """Trains a cell whose folder is kept; a run that has ended there is not trained again."""
    ended = os.path.join(out, "ended.json")
    if not os.path.exists(ended):
        wall = train(cell, places, program, out)
        with open(ended, "w", encoding="utf-8") as file:
            json.dump({"wall_s": wall, "commit": commit(places["checkout"])}, file)
    with open(ended, encoding="utf-8") as file:
        return json.load(file)


def finished_line(cell, found, ended, program):
    """A line of the store: a cell, what was found, and where that comes from."""
    return dict(cell, **found, **{
        "wall_s": ended["wall_s"] and round(ended["wall_s"], 1),
        "commit": ended["commit"],
        "device": device_name(program),
    })


def scored(system, cell, places, program, out):
    """Scores a run that ended in the folder out."""
    with open(os.path.join(out, "log.jsonl"), encoding="utf-8") as lines:
        steps = [0, *(json.loads(line)["step"] for line in lines)][-1]
    found = system.score(dict(cell, **places), out, functools.partial(output, program))
    shown = " ".join(f"--set {s.format(data='DATA', runs='RUNS')}" for s in cell["set"])
    return dict(found, steps=steps, command=f"clattn train {cell['config']} {shown} --out RUN")


def measured(system, cell, places, program):
    """A cell that needs no training."""
    start = time.monotonic()
    found = system.measure(dict(cell, **places), functools.partial(output, program))
    ended = {"wall_s": time.monotonic() - start, "commit": commit(places["checkout"])}
    return finished_line(cell, found, ended, program)


def run_cell(table, cell, places, program):
    """Trains and scores one cell, in a folder of its own below places["runs"]/TABLE where runs are kept:
    there, a run that was cut off is continued, and one that has ended is only scored."""
    system = TABLES[table]
    if hasattr(system, "measure"):
        return measured(system, cell, places, program)
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "run")
        if places["runs"]:
            out = os.path.join(places["runs"], table, "-".join(str(part) for part in system.key(cell)))
        ended = train_once(cell, places, program, out)
        return finished_line(cell, scored(system, cell, places, program, out), ended, program)


def missing(table, only, store):
    """The cells of a table that match only and are not in the store when their turn comes: another
    process may have run them meanwhile."""
    system = TABLES[table]
    for cell in system.TABLES[table]():
        name = "/".join(str(part) for part in system.key(cell))
        if re.search(only, name) and system.key(cell) not in map(system.key, store.lines(table)):
            yield name, cell


def run_table(args, store):
    program = os.path.join(os.path.abspath(args.build), "clattn")
    checkout = output("git", "-C", os.path.abspath(args.build), "rev-parse", "--show-toplevel").strip()
    places = {"data": os.path.abspath(args.data), "checkout": checkout,
              "runs": args.runs and os.path.abspath(args.runs)}
    system = TABLES[args.table]
    failed = 0
    for name, cell in missing(args.table, args.only, store):
        if args.set:
            cell["set"] += args.set
        try:
            line = run_cell(args.table, cell, places, program)
        except subprocess.CalledProcessError as error:
            print(f"FAILED  {name}: {error}\n{error.stderr or ''}", file=sys.stderr, flush=True)
            failed += 1
            continue
        store.add(args.table, line)
        took = "a run that was there" if line["wall_s"] is None else f"{line['wall_s']} s"
        print(f"{args.table}: {name} {system.told(line)}, {took}", flush=True)
        render(store)
    return failed


def rendered(store):
    """The pages and the long tables by their place in store.home."""
    texts = {"results": list(results_page.head(store))}
    shown = {"tables/claims.csv": results_page.csv_of(results_claims.table(store))}
    for system in SYSTEMS:
        texts.setdefault(system.PAGE, []).extend(system.page(store))
        for name, rows in system.tables(store).items():
            shown[f"tables/{name}.csv"] = results_page.csv_of(rows)
    return {**{f"pages/{name}.md": results_page.whole(lines) for name, lines in texts.items()}, **shown}


def render(store):
    for place, text in rendered(store).items():
        path = os.path.join(store.home, place)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)


def check(store, pages_alone):
    """Exit status 1 where a line lacks its origin or a page says something else."""
    errors = results_check.pages(store, ROOT, rendered(store))
    if not pages_alone:
        errors += results_check.cells(TABLES, store, ROOT)
    return 1 if errors else 0


def main():
    parser = argparse.ArgumentParser(prog="reproduction/results.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?", choices=[*TABLES, "render", "pictures"])
    parser.add_argument("data", nargs="?", help="folder that the table reads; of pictures, the build folder")
    parser.add_argument("build", nargs="?", default="build")
    parser.add_argument("--check", action="store_true",
                        help="says which cells are there, and what the pages say otherwise")
    parser.add_argument("--check-pages", action="store_true", help="the pages alone")
    parser.add_argument("--only", default="", metavar="RE",
                        help="cells whose name, such as BANK/VARIANT/SEED, matches")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="one more setting; wants --into, since it makes other figures")
    parser.add_argument("--runs", metavar="FOLDER",
                        help="keeps the runs' folders; what begins from another run wants it")
    parser.add_argument("--into", metavar="FOLDER",
                        help="in place of reproduction/rows; pages and tables are in it, too")
    args = parser.parse_args()
    if args.set and not args.into:
        parser.error("--set wants --into")
    store = Store(os.path.abspath(args.into or ROWS))
    if args.check or args.check_pages:
        return check(store, args.check_pages)
    if not args.table:
        parser.error("wants a table, render, pictures, --check or --check-pages")
    if args.table == "render":
        return render(store)
    if not args.data:
        parser.error(f"{args.table} wants a folder")
    if args.table == "pictures":
        program = os.path.join(os.path.abspath(args.data), "clattn")
        return results_curves.pictures(store, ROOT, functools.partial(output, program))
    return 1 if run_table(args, store) else 0


if __name__ == "__main__":
    sys.exit(main())
