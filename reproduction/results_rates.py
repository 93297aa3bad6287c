"""results_rates.py - levels of attention whose weights have a learning rate of their own.

With the rate of the other parameters a level's weight ends near where it begins, so that ten levels meant one
and a rest. These cells ask again what depth changes, on cloze questions and on SQuAD.
"""
import results_criterion
import results_means
import results_reader
from results_reader import CLOZE, CLOZE_OWN, CLOZE_STEPS, SQUAD, key, score, told  # what a run gives is the same

SEEDS = (42, 43, 44)
DEPTHS = (2, 5, 10)
RATE = "lr_levels=30"  # c of softmax(c) may move by 30 times as much as another parameter
NETWORKS = ("bidaf", "bidaf_original", "match_lstm", "r_net")  # cheap ones first
HOUR = {"match_lstm": 7200, "bidaf": 6000}  # steps of SQuAD in about an hour with ten levels, on two cores


def level_cell(network, depth, start, seed, data, sets, steps):
    rate = (RATE,) if depth > 1 else ()
    return results_reader.level_cell(network, depth, start, seed, data, (*sets, *rate), steps)


def cloze_cells():
    """One level, then the depths from equal weights, then from nine tenths for the first, network by network."""
    for network in NETWORKS:
        sets = ("eval_every=250", "patience=0", *CLOZE_OWN.get(network, ()))
        for seed in SEEDS:
            yield level_cell(network, 1, 0.9, seed, CLOZE, sets, CLOZE_STEPS)
            for start in (0, 0.9):
                for depth in DEPTHS:
                    yield level_cell(network, depth, start, seed, CLOZE, sets, CLOZE_STEPS)


def squad_cells():
    """SQuAD without word features, an hour a run."""
    for network in HOUR:
        for seed in SEEDS:
            for depth in (1, *DEPTHS):
                yield level_cell(network, depth, 0, seed, SQUAD, ("eval_every=300", "patience=0"), HOUR)


PAGE = "reading"
TABLES = {"reader-rates": lambda: [*cloze_cells(), *squad_cells()]}
HEAD = """
### Levels whose weights move

The questions, settings and steps above, and weights of levels that learn 30 times as fast as other parameters (`{rate}`). Fixed in
advance: depths 2, 5 and 10, from equal weights and from 0.9 for the first; seeds 42 to 44; one level again as control,
with the same vectors; then SQuAD without word features, {squad}. Cells so far: {done} of {count}. F1 beside one
level of the same seeds, the t interval at 95 % and the number of seeds. `reproduction/tables/reading-rates.csv` has
the weight of the first level after training, too.
"""
TITLES = """| data | network | levels | start | F1 | beside depth 1 | first |
|---|---|---|---|---|---|---|"""


def groups(lines):
    """(data, network, depth, start): its runs and what they gain beside depth 1, or None."""
    where = dict.fromkeys((x["data_set"], x["network"], x["depth"], x["start"]) for x in lines)
    for place in sorted(where, key=lambda w: (w[0], w[1], w[2], w[3] or 0)):
        own = [x for x in lines if (x["data_set"], x["network"], x["depth"], x["start"]) == place]
        alike = [x for x in lines if x["data_set"] == place[0]]
        gains = [a - b for a, b in results_reader.beside_pairs(own, alike)] if place[2] > 1 else []
        yield place, own, results_criterion.Comparison("", gains) if gains else None


def begun(start):
    return "" if start is None else f"{start}" if start else "equal"


def beside_table(lines):
    """Data and networks down, depths and starts across."""
    found = {place: (own, beside) for place, own, beside in groups(lines)}
    columns = sorted(dict.fromkeys(place[2:] for place in found), key=lambda c: (c[1] or 0, c[0]))
    names = ["1 level, F1" if depth == 1 else f"{depth}, {begun(start)}" for depth, start in columns]
    yield f"| data | network | {' | '.join(names)} |"
    yield "|---|---|" + "---|" * len(columns)
    for data, network in dict.fromkeys(place[:2] for place in found):
        cells = []
        for column in columns:
            own, beside = found.get((data, network, *column), ([], None))
            f1 = results_means.mean([x["score"]["f1"] for x in own]) if own else ""
            cells.append(beside.told().strip() if beside else f1)
        yield f"| {data} | `{network}` | {' | '.join(cells)} |"


def page(store):
    lines = store.lines("reader-rates")
    if lines:
        squad = " and ".join(f"{steps:,} steps of `{network}`" for network, steps in HOUR.items())
        yield HEAD.format(rate=RATE, squad=squad, count=len(TABLES["reader-rates"]()), done=len(lines))
        yield from beside_table(lines)


def tables(store):
    """Each depth and start, with the weight of the first level."""
    found = list(groups(store.lines("reader-rates")))
    if not found:
        return {}
    rows = []
    for (data, network, depth, start), own, beside in found:
        first = results_reader.shown(results_reader.mean_of_sites(own, "weights", lambda x: x[0]))
        rows.append(f"| {data} | {network} | {depth} | {begun(start)} | "
                    f"{results_means.mean([x['score']['f1'] for x in own])} | "
                    f"{beside.told().strip() if beside else ''} | {first} |")
    return {"reading-rates": [*TITLES.split("\n"), *rows]}
