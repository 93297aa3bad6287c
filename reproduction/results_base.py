"""results_base.py - the translator's table of base models: the published sizes and preset.

A cell is one of results_nmt.py's at the end of an annealed schedule, in every size of the
published base model.
"""
import results_nmt
from results_nmt import key, score, told  # what a run gives is the same

PAIR, SEED, STEPS = "en-de", 42, 2500
BASE = ("preset=csan", "dim=512", "layers=6", "inner=2048")
HEAD = """
### Base models

The published sizes and preset: D512, 6 layers, 8 heads, `inner` 2,048, a source vector, norms first, nothing tied (`{sets}`).
Pair, steps, rate and averaged states are those of the annealed schedule above. Fixed in advance: one seed, {steps:,} steps.
The order of the three is the paper's; one seed tells little.
"""


def base():
    for way in ("plain", *results_nmt.WINDOWS):
        sets = (*results_nmt.ANNEALED, *BASE, *results_nmt.WAYS[way][0])
        yield dict(results_nmt.cell(PAIR, way, SEED, sets, STEPS), mean=4)


PAGE = "translation"
TABLES = {"nmt-base": lambda: list(base())}


def page(store):
    lines = store.lines("nmt-base")
    if lines:
        yield HEAD.format(sets=" ".join(f"--set {s}" for s in BASE), steps=STEPS)
        yield from (row for row in results_nmt.ways_table(lines) if row.startswith("|"))


def tables(_):
    """All its rows are on the page."""
    return {}
