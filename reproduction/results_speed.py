"""results_speed.py - the speed of each way of attending beside plain attention, by length.

A cell is a length: rounds of one step of training of every way in turn, on a machine that does
nothing else; the figure of a way is the median over the rounds of its steps a second, plain's = 1.
"""
import json
import statistics

import results_nmt

PAIRS = {16: 128, 64: 32, 256: 8}  # pairs of a step by their pieces
ROUNDS = 3


def cells():
    for pieces in PAIRS:
        yield {"pieces": pieces}


PAGE = "translation"
TABLES = {"nmt-speed": lambda: list(cells())}


def key(cell):
    return (str(cell["pieces"]),)


def measure(cell, run):
    """Times the rounds of a cell: milliseconds of a step, by way."""
    pieces = cell["pieces"]
    chosen = f"^nmt D256 L3 .* train B{PAIRS[pieces]} T{pieces}$"
    command = ("bench", "--suite", "nmt", "--quick", "--filter", chosen, "--json", "-")
    rounds = []
    for _ in range(ROUNDS):
        rows = [json.loads(row) for row in run(*command).splitlines() if row.startswith("{")]
        rounds.append({row["case"].split()[3]: row["median_ms"] for row in rows})
    return {"rounds": rounds, "command": "clattn bench --suite nmt --quick --filter "
                                         f"'{chosen}' --json -, {ROUNDS} times"}


def speeds(line):
    """Steps a second beside plain's of the same round: the median, by way."""
    return {way: statistics.median(r["plain"] / r[way] for r in line["rounds"]) for way in line["rounds"][0]}


def told(line):
    return ", ".join(f"{way} {speed:.2f}" for way, speed in speeds(line).items())


HEAD = """
### Speed of each way

Steps of training a second beside plain attention, by the pieces of a sentence: medians of {rounds} rounds in turn, with nothing
else running (D256, 3 layers, 8,000 pieces, 2,048 pieces a step; 16 are a sentence of Multi30k). The paper's: base, WMT14. All ways
are in `reproduction/tables/translation-speed.csv`; of the others, `block` is slowest with 0.90.

{titles}
|---|---|---|---|---|"""
TITLES = "| way | 16 pieces | 64 | 256 | in the paper |"


def rows(found):
    """(way, its row); found: speeds by pieces."""
    for way, (_, _, paper, _) in results_nmt.WAYS.items():
        shown = [f"{found[n][way]:.2f}" if way in found.get(n, {}) else "" for n in PAIRS]
        if any(shown):
            yield way, f"| `{results_nmt.NAMES.get(way, way)}` | {' | '.join(shown)} | {paper:.2f} |"


def page(store):
    found = {line["pieces"]: speeds(line) for line in store.lines("nmt-speed")}
    if not found:
        return
    yield HEAD.format(rounds=ROUNDS, titles=TITLES)
    yield from (row for way, row in rows(found) if way in ("plain", "conv", *results_nmt.WINDOWS))
    yield f"\nThe command of the first column: `{store.lines('nmt-speed')[0]['command']}`"


def tables(store):
    """All ways."""
    found = {line["pieces"]: speeds(line) for line in store.lines("nmt-speed")}
    return {"translation-speed": [TITLES, *(row for _, row in rows(found))]} if found else {}
