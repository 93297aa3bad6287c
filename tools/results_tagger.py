"""results_tagger.py - the tagger's tables: accuracies beside those of the paper."""
import json
import os

TREEBANKS = {  # accuracies of the paper: PE[add], P+R, Temp, Conv, Conv2d
    "Afrikaans-AfriBooms": (92.11, 92.02, 92.06, 94.50, 94.75),
    "English-LinES": (89.38, 89.53, 88.69, 93.34, 93.56),
    "French-Spoken": (86.50, 88.27, 87.93, 91.17, 92.20),
    "Greek-GDT": (92.94, 93.22, 93.57, 95.02, 94.99),
    "Hungarian-Szeged": (87.38, 88.90, 88.76, 89.47, 89.97),
    "Vietnamese-VTB": (84.42, 84.77, 84.78, 86.29, 86.52),
}
PUBLISHED = ("pe_add", "p_r", "temp", "conv", "conv2d")
VARIANTS = (*PUBLISHED, "san", "pe_con", "p", "r", "r_spectral")  # the paper has the others on PTB
SETS = {"r_spectral": ("r", ("rel_mode=spectral",))}  # where it is a config with settings
SEEDS = (42, 43, 44)


def tagger_cell(bank, variant, seed, epochs=None):
    paper = dict(zip(PUBLISHED, TREEBANKS[bank])).get(variant)
    config, sets = SETS.get(variant, (variant, ()))
    early = (f"epochs={epochs}", "patience=0") if epochs else ()
    return {
        "bank": bank,
        "variant": variant,
        "seed": seed,
        "config": f"examples/configs/tagger-{config}.json",
        "set": [f"data={{data}}/{bank}", f"seed={seed}", *sets, *early],
        "split": "dev" if epochs else "test",
        "paper": None if epochs else paper,
    }


def tagger_cells():
    """Each treebank and variant with three seeds; those of the paper's table first."""
    for variants in (PUBLISHED, VARIANTS[len(PUBLISHED):]):
        for seed in SEEDS:
            for bank in TREEBANKS:
                for variant in variants:
                    yield tagger_cell(bank, variant, seed)


def early_cells(epochs):
    for bank in TREEBANKS:
        for variant in PUBLISHED:
            yield tagger_cell(bank, variant, 42, epochs)


TABLES = {
    "tagger": lambda: list(tagger_cells()),
    "tagger-5-epochs": lambda: list(early_cells(5)),
}


def key(cell):
    return cell["bank"], cell["variant"], cell["seed"]


def score(cell, out, run):
    """The accuracies of a finished run in the folder out, those of dev on the way."""
    with open(os.path.join(out, "log.jsonl"), encoding="utf-8") as lines:
        evaluations = [e for e in map(json.loads, lines) if "accuracy" in e]
    found = evaluations[-1]
    if cell["split"] == "test":
        found = json.loads(run("eval", "--model", out, "--split", "test", "--json"))
    return {
        "score": {k: v for k, v in found.items() if k.startswith("accuracy")},
        "dev": [round(line["accuracy"], 3) for line in evaluations],
    }


def told(line):
    return f"accuracy {line['score']['accuracy']:.2f}, paper {line['paper'] or '-'}"


def from_longer_run(cell, store):
    """What a finished test cell of the same seed has logged on the way, else None: the same
    steps give the same numbers."""
    epochs = next((int(s.split("=")[1]) for s in cell["set"] if s.startswith("epochs=")), 0)
    for line in store.lines("tagger") if cell["split"] == "dev" else []:
        if key(line) == key(cell) and len(line["dev"]) >= epochs:
            return dict(line, **cell, score={"accuracy": line["dev"][epochs - 1]},
                        dev=line["dev"][:epochs], steps=None, wall_s=None)
    return None


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
