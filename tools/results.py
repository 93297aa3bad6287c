#!/usr/bin/env python3
"""results.py - the tables of docs/results.md: which cells there are, how each is made.

A table is a list of cells; a cell is a training command and the figure of the paper
beside it. Finished cells are kept one JSON object a line in docs/results/TABLE.jsonl.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

TREEBANKS = {  # accuracies of the paper: PE[add], P+R, Temp, Conv, Conv2d
    "Afrikaans-AfriBooms": (92.11, 92.02, 92.06, 94.50, 94.75),
    "English-LinES": (89.38, 89.53, 88.69, 93.34, 93.56),
    "French-Spoken": (86.50, 88.27, 87.93, 91.17, 92.20),
    "Greek-GDT": (92.94, 93.22, 93.57, 95.02, 94.99),
    "Hungarian-Szeged": (87.38, 88.90, 88.76, 89.47, 89.97),
    "Vietnamese-VTB": (84.42, 84.77, 84.78, 86.29, 86.52),
}
VARIANTS = ("pe_add", "p_r", "temp", "conv", "conv2d")
THREE_SEEDS = ("French-Spoken", "Vietnamese-VTB")


def tagger_cells(epochs=None):
    """Each treebank and variant, some with three seeds."""
    for bank, row in TREEBANKS.items():
        for variant, paper in zip(VARIANTS, row):
            for seed in (42, 43, 44) if bank in THREE_SEEDS and not epochs else (42,):
                sets = [f"data={{data}}/{bank}", f"seed={seed}"]
                if epochs:
                    sets += [f"epochs={epochs}", "patience=0"]
                yield {
                    "bank": bank,
                    "variant": variant,
                    "seed": seed,
                    "config": f"examples/configs/tagger-{variant}.json",
                    "set": sets,
                    "split": "dev" if epochs else "test",
                    "paper": None if epochs else paper,
                }


TABLES = {
    "tagger": lambda: list(tagger_cells()),
    "tagger-5-epochs": lambda: list(tagger_cells(5)),
}


class Store:
    """The finished lines of every table, in a folder."""

    def __init__(self, folder):
        self.folder = folder
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


def key(cell):
    return cell["bank"], cell["variant"], cell["seed"]


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


SOURCES = ("meson.build", "src", "cl", "include", "examples")


def commit():
    """The commit that ran, with a + where sources were changed since."""
    changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", *SOURCES], cwd=ROOT, check=False)
    return output("git", "rev-parse", "--short", "HEAD").strip() + "+" * bool(changed.returncode)


def device_name(program):
    devices = [json.loads(line) for line in output(program, "devices", "--json").splitlines()]
    return next(d["name"] for d in devices if d.get("default"))


def train(cell, data, program, out):
    """Trains one cell into the folder out; gives the seconds that it took."""
    command = [program, "train", cell["config"], "--out", out, "--quiet"]
    for setting in cell["set"]:
        command += ["--set", setting.format(data=data)]
    start = time.monotonic()
    subprocess.run(command, cwd=ROOT, check=True)
    return time.monotonic() - start


def run_cell(cell, data, program):
    """Trains and scores one cell; gives the finished line."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "run")
        wall = train(cell, data, program, out)
        with open(os.path.join(out, "log.jsonl"), encoding="utf-8") as lines:
            log = [json.loads(line) for line in lines]
        evaluations = [line for line in log if "accuracy" in line]
        score = evaluations[-1]
        if cell["split"] == "test":
            score = json.loads(output(program, "eval", "--model", out, "--split", "test",
                                      "--json"))
    shown = " ".join(f"--set {s.format(data='DATA')}" for s in cell["set"])
    return dict(cell, **{
        "score": {k: v for k, v in score.items() if k.startswith("accuracy")},
        "dev": [round(line["accuracy"], 3) for line in evaluations],
        "steps": log[-1]["step"],
        "wall_s": round(wall, 1),
        "commit": commit(),
        "device": device_name(program),
        "command": f"clattn train {cell['config']} {shown} --out RUN",
    })


def from_longer_run(cell, store):
    """What a finished test cell of the same seed has logged on the way, else None: the same
    steps give the same numbers."""
    epochs = next((int(s.split("=")[1]) for s in cell["set"] if s.startswith("epochs=")), 0)
    for line in store.lines("tagger") if cell["split"] == "dev" else []:
        if key(line) == key(cell) and len(line["dev"]) >= epochs:
            return dict(line, **cell, score={"accuracy": line["dev"][epochs - 1]},
                        dev=line["dev"][:epochs], steps=None, wall_s=None)
    return None


def run_table(args, store):
    program = os.path.join(os.path.abspath(args.build), "clattn")
    data = os.path.abspath(args.data)
    done = {key(line) for line in store.lines(args.table)}
    failed = 0
    for cell in TABLES[args.table]():
        name = "/".join(str(part) for part in key(cell))
        if key(cell) in done or not re.search(args.only, name):
            continue
        cell["set"] += args.set
        try:
            line = from_longer_run(cell, store) or run_cell(cell, data, program)
        except subprocess.CalledProcessError as error:
            print(f"FAILED  {name}: {error}\n{error.stderr or ''}", file=sys.stderr, flush=True)
            failed += 1
            continue
        store.add(args.table, line)
        took = "from the longer run" if line["wall_s"] is None else f"{line['wall_s']} s"
        print(f"{args.table}: {name} accuracy {line['score']['accuracy']:.2f}, "
              f"paper {line['paper'] or '-'}, {took}", flush=True)
        render(store)
    return failed


def cell_text(lines):
    """Mean accuracy of the seeds, the paper's figure beside it; bold when 1.0 below it."""
    if not lines:
        return "-"
    mean = sum(line["score"]["accuracy"] for line in lines) / len(lines)
    seeds = f" ({len(lines)} seeds)" if len(lines) > 1 else ""
    paper = lines[0]["paper"]
    text = f"**{mean:.2f}**" if paper and mean < paper - 1 else f"{mean:.2f}"
    return text + seeds + (f" / {paper:.2f}" if paper else "")


def grid(lines):
    """Treebanks down, variants across."""
    yield "| treebank | " + " | ".join(VARIANTS) + " |"
    yield "|---|" + "---|" * len(VARIANTS)
    for bank in TREEBANKS:
        row = [[x for x in lines if x["bank"] == bank and x["variant"] == v] for v in VARIANTS]
        if any(row):
            yield f"| {bank} | " + " | ".join(cell_text(cell) for cell in row) + " |"


def details(lines):
    yield "| run | accuracy | OOV | ambiguous | steps | wall time | commit |"
    yield "|---|---|---|---|---|---|---|"
    for x in lines:
        s = x["score"]
        yield (f"| `{x['command']}` | {s['accuracy']:.2f} | {s['accuracy_oov']:.2f} "
               f"| {s['accuracy_ambiguous']:.2f} | {x['steps']} | {x['wall_s']:.0f} s "
               f"| {x['commit']} |")


HEAD = """# Results

For readers who want to know whether the systems reach the published figures.
`tools/results.sh TABLE DATA` runs the cells that are missing and writes this page from
`docs/results/*.jsonl`, which also name device, commit and wall time."""

TAGGER = """
## Tagger: test accuracy, here / in the paper

`paper` preset; percent of all test words (UD 2.2). Bold: more than 1.0 below the paper.
"""

COMMANDS = """
On {device}. Each figure's command (DATA is the folder of the treebanks):
"""

EARLY = """
## Tagger: dev accuracy after 5 epochs

Seed 42; the commands above with `--set epochs=5 --set patience=0`. Where the longer run
had been made, its fifth evaluation is taken: the steps are the same.
"""


def page(store):
    yield HEAD
    lines = store.lines("tagger")
    if lines:
        yield TAGGER
        yield from grid(lines)
        yield COMMANDS.format(device=" and ".join(sorted({x["device"] for x in lines})))
        yield from details(lines)
    early = store.lines("tagger-5-epochs")
    if early:
        yield EARLY
        yield from grid(early)


def render(store):
    with open(store.folder + ".md", "w", encoding="utf-8") as out:
        out.write("\n".join(page(store)) + "\n")


def main():
    parser = argparse.ArgumentParser(prog="tools/results.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=[*TABLES, "render"])
    parser.add_argument("data", nargs="?", help="folder that the table reads")
    parser.add_argument("build", nargs="?", default="build")
    parser.add_argument("--only", default="", metavar="RE",
                        help="cells whose BANK/VARIANT/SEED matches")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="one more setting; wants --into, since it makes other figures")
    parser.add_argument("--into", metavar="FOLDER",
                        help="in place of docs/results; the page is FOLDER.md")
    args = parser.parse_args()
    if args.set and not args.into:
        parser.error("--set wants --into")
    store = Store(os.path.abspath(args.into or os.path.join(ROOT, "docs", "results")))
    if args.table == "render":
        return render(store)
    if not args.data:
        parser.error("a table wants its data")
    return 1 if run_table(args, store) else 0


if __name__ == "__main__":
    sys.exit(main())
