"""results_lm.py - ten ways of attention in one language model, beside a plain one of as many parameters."""
import json
import os
import re
import statistics
import subprocess
import tempfile

from results_criterion import CONTRADICTED, OPEN, SUPPORTED, Comparison, paired

SEEDS = (42, 43, 44)
STEPS = 1000
CONFIG = "examples/configs/lm-small.json"
ALIBI = ("attention=custom", "score=s - slope[h] * (i - j)", 'learn={{"slope": {{"shape": ["heads"], "init": "alibi"}}}}',
         "position=none")
WAYS = {
    "plain": ((), "all earlier pieces, rotary positions"),
    "none": (("position=none",), "no positions"),
    "learned": (("position=learned",), "learned positions"),
    "alibi": (ALIBI, "ALiBi as an expression, slopes trained"),
    "rel_pos": (("attention=rel_pos", "position=none"), "relative positions"),
    "csan1d": (("attention=csan1d", "window=11"), "the piece and the five before it"),
    "csan2d": (("attention=csan2d", "window=11"), "the same, of neighbouring heads too"),
    "local": (("attention=csan1d", "window=11", "attention_layers=1-2"), "that in the two lower layers alone"),
    "neighbor": (("attention=neighbor",), "neighbours"),
    "direct": (("attention=direct",), "learned scores of pairs of places"),
    "wide": (("inner=1032",), "control: plain, with the parameters of `direct`"),
}
PARAMETERS = re.compile(r"(\d+) parameters")
MEMORY = re.compile(r"(\d+) MB on the device")


def cells():
    for seed in SEEDS:
        for way, (sets, _) in WAYS.items():
            yield {"way": way, "seed": seed, "config": CONFIG,
                   "set": ["data={data}", "context=256", f"steps={STEPS}", f"seed={seed}", *sets]}


PAGE = "language"
TABLES = {"lm": lambda: list(cells())}


def key(line):
    return (line["way"], line["seed"])


def sizes(line, program):
    """Parameters, and megabytes on the device after a few steps, as a training tells them: the shapes of all
    steps are the same."""
    with tempfile.TemporaryDirectory() as folder:
        sets = [s.format(**line) for s in line["set"]] + ["steps=3", "warmup=1", "hold_out=0.01"]
        command = [program, "train", line["config"], *(x for s in sets for x in ("--set", s)),
                   "--out", os.path.join(folder, "run")]
        said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=line["checkout"]).stderr
    return {"parameters": int(PARAMETERS.search(said)[1]), "memory_mb": int(MEMORY.search(said)[1])}


def score(line, out, run):
    """Scores of the held-out part, parameters, pieces a second (the median of the log), memory."""
    with open(os.path.join(out, "log.jsonl"), encoding="utf-8") as lines:
        rates = [row["units_per_s"] for row in map(json.loads, lines) if "units_per_s" in row]
    return {"score": json.loads(run("eval", "--model", out, "--split", "dev", "--data", line["data"], "--json")),
            "pieces_s": round(statistics.median(rates)), **sizes(line, run.args[0])}


def told(line):
    return f"{line['score']['nll']:.3f} nats"


HEAD = f"""
## Language models: ways of attention

Nats a character of the held-out tenth of tiny Shakespeare: means of the seeds {', '.join(map(str, SEEDS))}, and their
standard deviation; the gap's interval is that of the differences by seed, at 95 %. The network is that of `{CONFIG}` with 256 characters of context. Fixed in advance: {STEPS:,} steps of
12 windows, the ways below with no setting tuned, three seeds; the best state counts. `direct` has 2.3 times the
parameters of the others: its control is the plain network with as many. Cells ran beside other work, so that
their paces do not compare."""

ROWS = """
| way | which is | nats | deviation | gap to plain | parameters | characters a second | MB on the device | seeds |
|---|---|---|---|---|---|---|---|---|"""


def against(own, base):
    """Nats that a way saves beside another, by seed."""
    nats = [{line["seed"]: line["score"]["nll"] for line in lines} for lines in (base, own)]
    return Comparison("", paired(*nats))


def row(way, own, plain):
    nats = [line["score"]["nll"] for line in own]
    mean, spread = statistics.mean(nats), statistics.stdev(nats) if len(nats) > 1 else 0
    saved = against(own, plain)
    gap = "" if way == "plain" else f"{-saved.mean:+.3f} ±{saved.half() or 0:.3f}" if plain else ""
    rate = statistics.median(line["pieces_s"] for line in own)
    return (f"| `{way}` | {WAYS[way][1]} | {mean:.3f} | {spread:.3f} | {gap} | {own[0]['parameters']:,} "
            f"| {rate:,.0f} | {own[0]['memory_mb']} | {len(own)} |")


def found(by_way, base):
    """Which ways are better or worse than another, by the criterion of all claims."""
    verdicts = {way: against(own, by_way[base]).verdict for way, own in by_way.items() if own and way != base}
    told = ((SUPPORTED, "better"), (CONTRADICTED, "worse"), (OPEN, "not decided"))
    groups = ((word, [f"`{way}`" for way, own in verdicts.items() if own == verdict]) for verdict, word in told)
    return "; ".join(f"{word}: {', '.join(ways)}" for word, ways in groups if ways)


def page(store):
    lines = store.lines("lm")
    by_way = {way: [x for x in lines if x["way"] == way] for way in WAYS}
    yield HEAD
    if not lines:
        yield "\nNo cell has been run yet: `reproduction/results.sh lm DATA build`."
        return
    yield ROWS
    for way, own in by_way.items():
        if own:
            yield row(way, own, by_way["plain"])
    for base in ("plain", "wide"):
        if by_way[base]:
            yield f"\nBeside `{base}`, by these intervals: {found(by_way, base)}."
    yield f"\nThe first line's command: `{lines[0]['command']}`"


def tables(_):
    """All its rows are on the page."""
    return {}
