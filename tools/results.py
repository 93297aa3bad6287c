#!/usr/bin/env python3
"""results.py - the tables of docs/results.md: which cells there are, how each is made.

A table is a list of cells; a cell is a training command and the figure of the paper
beside it. Finished cells are kept one JSON object a line in docs/results/TABLE.jsonl.
"""
import json
import os
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
                    sets.append(f"epochs={epochs}")
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


def path_of(table):
    return os.path.join(ROOT, "docs", "results", table + ".jsonl")


def finished(table):
    if not os.path.exists(path_of(table)):
        return []
    with open(path_of(table), encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def key(cell):
    return cell["bank"], cell["variant"], cell["seed"]


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def device_name(program):
    devices = [json.loads(line) for line in output(program, "devices", "--json").splitlines()]
    return next(d["name"] for d in devices if d.get("default"))


def run_cell(cell, data, program):
    """Trains and scores one cell; gives the finished line."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "run")
        train = [program, "train", cell["config"], "--out", out, "--quiet"]
        for setting in cell["set"]:
            train += ["--set", setting.format(data=data)]
        start = time.monotonic()
        subprocess.run(train, cwd=ROOT, check=True)
        wall = time.monotonic() - start
        score = json.loads(output(program, "eval", "--model", out, "--split", cell["split"],
                                  "--json"))
        with open(os.path.join(out, "log.jsonl"), encoding="utf-8") as lines:
            log = [json.loads(line) for line in lines]
    shown = " ".join(f"--set {s.format(data='DATA')}" for s in cell["set"])
    return dict(cell, **{
        "score": score,
        "steps": log[-1]["step"],
        "wall_s": round(wall, 1),
        "commit": output("git", "rev-parse", "--short", "HEAD").strip(),
        "device": device_name(program),
        "command": f"clattn train {cell['config']} {shown} --out RUN",
    })


def run_table(table, data, build):
    program = os.path.join(build, "clattn")
    data = os.path.abspath(data)
    done = {key(line) for line in finished(table)}
    for cell in TABLES[table]():
        if key(cell) in done:
            continue
        line = run_cell(cell, data, program)
        with open(path_of(table), "a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")
        print(f"{table}: {key(line)} accuracy {line['score']['accuracy']:.2f}, "
              f"paper {line['paper']}, {line['wall_s']} s", flush=True)
        render()


def cell_text(lines):
    """Mean accuracy of the seeds, and the paper's figure beside it."""
    if not lines:
        return "-"
    mean = sum(line["score"]["accuracy"] for line in lines) / len(lines)
    seeds = f" ({len(lines)} seeds)" if len(lines) > 1 else ""
    paper = lines[0]["paper"]
    return f"{mean:.2f}{seeds}" + (f" / {paper:.2f}" if paper else "")


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


def page():
    yield "# Results"
    yield ""
    yield "For readers who want to know whether the systems reach the published figures."
    yield "`tools/results.sh TABLE DATA` runs the cells that are missing and writes this page"
    yield "from `docs/results/*.jsonl`, which also name device, commit and wall time."
    tagger, early = finished("tagger"), finished("tagger-5-epochs")
    if tagger:
        yield ""
        yield "## Tagger: test accuracy, here / in the paper"
        yield ""
        yield "`paper` preset; figures in percent of all test words (UD 2.2)."
        yield ""
        yield from grid(tagger)
        yield ""
        yield f"Device: {tagger[-1]['device']}. Each figure's command (DATA is the folder of"
        yield "the treebanks):"
        yield ""
        yield from details(tagger)
    if early:
        yield ""
        yield "## Tagger: dev accuracy after 5 epochs"
        yield ""
        yield from grid(early)


def render():
    with open(os.path.join(ROOT, "docs", "results.md"), "w", encoding="utf-8") as out:
        out.write("\n".join(page()) + "\n")


def main():
    args = sys.argv[1:]
    if args == ["render"]:
        return render()
    if len(args) not in (2, 3) or args[0] not in TABLES:
        sys.exit(f"usage: tools/results.sh TABLE DATA [BUILD], TABLE one of {', '.join(TABLES)}")
    return run_table(args[0], args[1], args[2] if len(args) > 2 else "build")


if __name__ == "__main__":
    main()
