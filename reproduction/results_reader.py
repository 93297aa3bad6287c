"""results_reader.py - readers by levels of attention: exact match and F1."""
import json
import math
import os
import statistics
import tempfile

import results_chinese
import results_means

PAPER = {  # the paper's EM and F1 of Match-LSTM on SQuAD, trained on ten times as many questions
    1: (54.29, 66.87), 2: (54.41, 66.99), 5: (55.29, 69.03), 10: (58.37, 70.70), 20: (58.47, 70.81)}
NETWORKS = ("match_lstm", "bidaf", "r_net")  # by levels
PUBLISHED = "bidaf_original"
SQUAD, DRCD, CMRC = "squad_v1.1", "drcd/dev.json", "cmrc2018/dev.json"
CHINESE = ("passage_limit=500", "answer_limit=50", "min_count=2")
DUREADER = "dureader_demo"
MANY = ("passages=5", "passage_limit=500", "answer_limit=200", "trait_dim=0", "word_dim=100",
        "hidden=75", "min_count=2", "eval_every=100", "epochs=100")  # 3 steps an epoch
OWN = {"r_net": ("passage_limit=150", "batch=32", "eval_every=200")}  # dear steps
STEPS = {"match_lstm": 600, "r_net": 600, "bidaf": 900, PUBLISHED: 1500}
LEVEL_STEPS = {"match_lstm": 2400, "r_net": 600, "bidaf": 2100}
CLOZE = "cloze"
CLOZE_STEPS = {"match_lstm": 3000, "bidaf": 1500, PUBLISHED: 1500, "r_net": 3000}
CLOZE_OWN = {PUBLISHED: ("optimiser=adam", "lr=0.001")}  # its AdaDelta answers 8 % after 500 steps
NO_TRAITS = ("vectors={runs}/words.vec", "freeze=true", "word_dim=100", "trait_dim=0",
             "passage_limit=150", "dropout=0.2", "batch=32")


def folder_of(data):
    return "{runs}/cloze" if data == CLOZE else f"{{data}}/{data}"


def cell(network, depth, seed, data, sets=(), steps=None):
    own = (network, data, steps) == ("bidaf", SQUAD, None)  # the config's own steps, 2,100
    length = () if own else (f"steps={steps or STEPS[network]}",)
    return {"data_set": data, "network": network, "depth": depth, "seed": seed,
            "config": f"examples/configs/reader-{network}.json",
            "set": [f"data={folder_of(data)}", f"depth={depth}", *sets, *length, f"seed={seed}"]}


def cells():
    for network in NETWORKS:
        for depth in (1, 5, 10):
            three = network == "match_lstm" and depth in (1, 10)
            for seed in (42, 43, 44) if three else (42,):
                yield cell(network, depth, seed, SQUAD, OWN.get(network, ()))
    yield cell(PUBLISHED, 1, 42, SQUAD)
    for seed in (42, 43, 44):
        for depth in (1, 5, 10):
            yield cell("bidaf", depth, seed, DRCD, CHINESE)
    for seed in (42, 43, 44):
        for depth in (1, 5, 10):
            yield cell("bidaf", depth, seed, DUREADER, MANY, 300)


def level_cell(network, depth, start, seed, data, sets, steps):
    own = (f"first_level={start}",) if depth > 1 else ()
    made = cell(network, depth, seed, data, (*NO_TRAITS, *sets, *own), steps[network])
    return dict(made, start=start if depth > 1 else None)


def level_cells():
    """SQuAD without word features: three depths of the network whose attention spreads least there."""
    for seed in (42, 43, 44):
        for depth in (1, 5, 10):
            yield level_cell("match_lstm", depth, 0.9, seed, SQUAD, ("eval_every=300",), LEVEL_STEPS)
    for network in ("bidaf", "r_net"):
        yield level_cell(network, 1, 0.9, 42, SQUAD, ("eval_every=300",), LEVEL_STEPS)


def cloze_cells():
    """Depths where attention is trained: 1, 5 and 10; then equal weights at first; then 2 and 20."""
    for depths, start in (((1, 5, 10), 0.9), ((10,), 0), ((2, 20), 0.9)):
        for seed in (42, 43, 44):
            for network in CLOZE_STEPS:
                for depth in depths:
                    yield level_cell(network, depth, start, seed, CLOZE,
                                     ("eval_every=250", "patience=0", *CLOZE_OWN.get(network, ())), CLOZE_STEPS)


PAGE = "reading"
TABLES = {"reader": lambda: list(cells()), "reader-levels": lambda: list(level_cells()),
          "reader-cloze": lambda: list(cloze_cells())}


def key(line):
    start = ("equal" if not line["start"] else "first",) if line.get("start") is not None else ()
    return line["data_set"].split("/")[0], line["network"], line["depth"], *start, line["seed"]


def spread_of(rows):
    """Over which part of the keys the weight of a row lies: e to the mean entropy of the rows."""
    entropy = [-sum(w * math.log(w) for w in row if w > 0) for row in rows]
    return math.exp(statistics.mean(entropy)) / len(rows[0])


def moved(rows, others):
    """Which part of a row's weight lies elsewhere in the next level, a mean over the rows."""
    return statistics.mean(sum(abs(a - b) for a, b in zip(*pair)) / 2 for pair in zip(rows, others))


def look(line, out, run):
    """Means over the first questions of sixteen passages of dev, by site: the spread of each level as a part
    of the keys, of all rows and of the words that the question has, too; the weight that moves from a
    level to the next; the weights of the levels."""
    path = os.path.join(folder_of(line["data_set"]).format(**line), "dev.json")
    with open(path, encoding="utf-8") as file:
        passages = [p for article in json.load(file)["data"] for p in article["paragraphs"]]
    found = {"spread": {}, "spread_shared": {}, "moved": {}}
    weights = {}
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        for p in passages[::len(passages) // 16][:16]:
            file.seek(0)
            file.truncate()
            file.write(p["context"])
            file.flush()
            for site in run("inspect", "--model", out, "--json", "--passage", file.name,
                            "--text", p["qas"][0]["question"]).splitlines():
                site = json.loads(site)
                maps = site["maps"]
                asked = {word.lower() for word in site["columns"]}
                shared = [i for i, word in enumerate(site["rows"]) if word.lower() in asked]
                parts = {"spread": [spread_of(rows) for rows in maps],
                         "spread_shared": [spread_of([rows[i] for i in shared]) for rows in maps if shared],
                         "moved": [moved(*pair) for pair in zip(maps, maps[1:])]}
                for name, levels in parts.items():
                    if levels:
                        found[name].setdefault(site["site"], []).append(levels)
                weights[site["site"]] = [round(w, 4) for w in site["weights"]]
    means = {name: {site: [round(statistics.mean(x), 4) for x in zip(*levels)] for site, levels in of.items()}
             for name, of in found.items()}
    return dict(means, weights=weights)


def score(line, out, run):
    """All that eval tells of dev; in Chinese of the test articles, and of CMRC 2018."""
    def of(*words):
        return json.loads(run("eval", "--model", out, "--json", *words))

    if "start" in line:
        return {"split": "dev", "score": of("--split", "dev"), **look(line, out, run)}
    if line["data_set"] == DUREADER:
        return {"split": "dev", "score": of("--split", "dev"), "characters": results_chinese.characters(line, out, run)}
    if line["data_set"] != DRCD:
        return {"split": "dev", "score": of("--split", "dev")}
    return {"split": "test", "score": of("--split", "test"),
            "cmrc": of("--data", f"{line['data']}/{CMRC}")}


def told(line):
    return f"F1 {line['score']['f1']:.2f}, EM {line['score']['em']:.2f}"


HEAD = """
## Readers: levels of attention

F1 and EM of the best state, a mean where there are several seeds; the control is 1 level. SQuAD here has 7,588 questions to train on, and the readers have no
word vectors, so that the paper's figures (Match-LSTM, the whole of SQuAD) only tell the direction. After 600 steps Match-LSTM answers
from its word features: its attention over the question is almost even at every level (`clattn inspect`), so that this table cannot
judge depth. The cloze questions below can. R-NET trains on passages of at most 150 words, 32 questions a step; every reader is scored on whole passages.

| data | network | levels | F1 | EM | F1, EM in the paper | steps | minutes |
|---|---|---|---|---|---|---|---|"""


LEVELS = """
### Depths without word features

SQuAD without word features, so that answers come from attention to the question. The word vectors are frozen; they
come from the training parts of SQuAD and of the English of Multi30k, Tatoeba (Chinese), Tanaka and the WMT14 sample
(`reproduction/results_text.py --lower FILES | clattn vectors --dim 100 --min-count 2 --sample 0.001 --out RUNS/words.vec`).
The first level begins with nine tenths of the weight (`first_level` 0.9), since with equal weights levels that are
not trained yet dilute the first. Fixed in advance: depths 1, 5 and 10; seeds 42 to 44; {steps}. (1,200 steps
were planned for Match-LSTM and doubled once two runs of them had attention that spread over 0.59 of the words:
attention counts as trained at half or less.) No network gets there with 7,588 questions. BiDAF and R-NET are
further away and have one run each. The cloze questions below judge depth.

"Beside depth 1" is the mean difference to depth 1 of the same seeds, with the number of standard errors in brackets.
"Spread" is the share of the question's words that the first level attends to: the perplexity of the attention weights over their number,
so that 1 is even. It is a mean over sixteen dev passages; in brackets, over the passage words that stand in the question, too.
"First" is the weight of the first level after training. "Moved" is the share of the attention weights that moves to other words from
the first level to the second, then from each later level to the next.
"""
TITLES = """
| network | levels | F1 (seeds) | beside depth 1 | EM | spread | first | moved | minutes |
|---|---|---|---|---|---|---|---|---|"""
CLOZE_HEAD = """
### Depths with trained attention

Cloze questions on SQuAD's passages, 20,417 to train on and 3,385 in dev. A passage has three sentences. A question is one of
them, with a number, a name or a long word replaced by "what" and without half of the other words (`reproduction/results_cloze.py
DATA/squad_v1.1 RUNS/cloze`). There are no word features, so that a reader has to match the question's words. Vectors and the start
of the levels are those above; "equal" rows begin with equal weights (the paper says nothing of the start). Fixed in advance: depths 1, 5 and 10, then
equal weights at 10, then 2 and 20; seeds 42 to 44; {steps} (steps after one run each of Match-LSTM, BiDAF and R-NET with seed 41).
R-NET's steps were 1,500 at first and were doubled since its F1 still rose by ten points between two evaluations. After 1,500 steps it was
64.1, 59.7 and 58.0 at depths 1, 5 and 10 with seed 42, and 56.1 and 54.3 at 1 and 5 with seed 43. `bidaf_original` learns by
Adam here: with AdaDelta as published its F1 is 8 after 500 steps.

The first column is the mean F1 of one level, the others are mean differences to it of the same seeds, with the number of
standard errors in brackets. `reproduction/tables/reading-cloze.csv` has the columns of the table above for each row.
"""


def mean_of_sites(lines, name, of):
    """A mean over runs and sites, but R-NET's own passage."""
    values = [of(x) for line in lines for site, x in line.get(name, {}).items() if site != "self"]
    return statistics.mean(v for v in values if v is not None) if any(v is not None for v in values) else None


def shown(value):
    return "" if value is None else f"{value:.2f}"


def spreads(lines):
    """Of the first level: all rows (those of words that the question has)."""
    every, shared = (shown(mean_of_sites(lines, name, lambda x: x[0])) for name in ("spread", "spread_shared"))
    return f"{every} ({shared})" if shared else every


def moves(lines):
    """From the first level to the second; from each later one to the next."""
    first = mean_of_sites(lines, "moved", lambda x: x[0] if x else None)
    later = mean_of_sites(lines, "moved", lambda x: statistics.mean(x[1:]) if x[1:] else None)
    return ", ".join(filter(None, (shown(first), shown(later))))


def beside_pairs(own, lines):
    """F1 of each run and of depth 1 of the same network and seed."""
    one = {x["seed"]: x["score"]["f1"] for x in lines
           if own and x["network"] == own[0]["network"] and x["depth"] == 1}
    return [(x["score"]["f1"], one[x["seed"]]) for x in own if x["seed"] in one]


def beside_one(own, lines):
    """The mean difference to depth 1 of the same seeds, in F1, with its standard errors."""
    pairs = beside_pairs(own, lines)
    if own[0]["depth"] == 1 or not pairs:
        return ""
    return results_means.beside(*zip(*pairs))


def head_of(lines, head, steps_of):
    names = [name for name in steps_of if any(x["network"] == name for x in lines)]
    return head.format(steps=", ".join(f"{steps_of[name]:,} steps of `{name}`" for name in names))


def by_levels(lines):
    return sorted(lines, key=lambda x: (x["network"], x["depth"], x["start"] or 0, x["seed"]))


def levels_table(lines):
    """A row for each network, depth and start."""
    yield from TITLES.split("\n")
    lines = by_levels(lines)
    for name, depth, start in dict.fromkeys((x["network"], x["depth"], x["start"]) for x in lines):
        own = [x for x in lines if (x["network"], x["depth"], x["start"]) == (name, depth, start)]
        f1 = [x["score"]["f1"] for x in own]
        yield (f"| {name} | {depth}{', equal' if start == 0 else ''} | {results_means.mean(f1)} ({len(f1)}) "
               f"| {beside_one(own, lines)} | {statistics.mean(x['score']['em'] for x in own):.2f} "
               f"| {spreads(own)} "
               f"| {shown(mean_of_sites(own, 'weights', lambda x: x[0]))} | {moves(own)} "
               f"| {statistics.mean(x['wall_s'] for x in own) / 60:.0f} |")


def levels_page(lines):
    if lines:
        yield head_of(lines, LEVELS, LEVEL_STEPS)
        yield from levels_table(lines)


def cloze_table(lines):
    """What each number of levels changes beside one, a row a network."""
    columns = list(dict.fromkeys((x["depth"], x["start"]) for x in by_levels(lines)))
    columns.sort(key=lambda column: (column[0], column[1] or 0))
    names = [f"{depth}, equal" if start == 0 else str(depth) for depth, start in columns]
    yield f"| network | {' | '.join(['1 level, F1', *names[1:]])} |"
    yield "|---|" + "---|" * len(columns)
    for name in dict.fromkeys(x["network"] for x in by_levels(lines)):
        own = [[x for x in lines if (x["network"], x["depth"], x["start"]) == (name, *column)] for column in columns]
        first = results_means.mean([x["score"]["f1"] for x in own[0]]) if own[0] else ""
        yield f"| `{name}` | {' | '.join([first, *(beside_one(x, lines) if x else '' for x in own[1:])])} |"


CLOZE_FOUND = """
In none of the four networks do 2, 5, 10 or 20 levels lie one standard error above one level (three seeds each):

- `bidaf_original` has the sharpest attention: it spreads over a sixth of the question's words. From its second level on attention no longer moves: the levels have the same output, so that their weights get the same gradient and stay equal.
- In `match_lstm` the backward direction ends in a cycle of two outputs. Two seeds gain a point with ten levels, one loses a point. With 2 and 20 levels it loses 1.6 and 1.3 points (1.7 and 1.3 standard errors).
- `bidaf` does not scale its scores; its levels sharpen one after another, and it loses with depth. Its attention and that of `match_lstm` spread over somewhat more than half of the words.
- `r_net` with 5, 10 and 20 levels loses with seed 42 (3.6, 3.3 and 3.8 points), gains with seed 43 (2.3, 0.3 and 1.8), and changes by -0.4, -2.4 and +0.5 with seed 44. Its attention over the question stays spread over three quarters of the words, at an F1 of 80, too. Its attention over the passage itself sharpens to a quarter of the words, on the first level alone: on the third it is even.
- With equal weights at the start ten levels answer worse than one in `bidaf` and `match_lstm`, by 7.5 and 2.7 standard errors and with every seed. `bidaf_original` and `r_net` neither gain nor lose clearly (0.1 and 0.9 points less, 0.5 standard errors at most).
"""


def cloze_page(lines):
    if lines:
        yield head_of(lines, CLOZE_HEAD, CLOZE_STEPS)
        yield from cloze_table(lines)
        yield ("\n![F1 beside one level, by levels and network, in bands of one standard deviation over three seeds: "
               "no network gains](pictures/levels.svg)")
        yield CLOZE_FOUND


def tables(store):
    """All that was measured of the cloze questions."""
    return {"reading-cloze": levels_table(store.lines("reader-cloze"))}


def spread(lines, name):
    values = [x["score"][name] for x in lines]
    seeds = f" ({', '.join(f'{v:.2f}' for v in values)})" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{seeds}"


def page(store):
    found = sorted(store.lines("reader"), key=key)
    lines, drcd, dureader = ([x for x in found if x["data_set"] == data] for data in (SQUAD, DRCD, DUREADER))
    if lines:
        yield from english_page(lines)
    yield from levels_page(store.lines("reader-levels"))
    yield from cloze_page(store.lines("reader-cloze"))
    yield from results_chinese.page(drcd, dureader, store.lines("reader-pieces"))


def english_page(lines):
    yield HEAD
    for data, network, depth in dict.fromkeys(key(x)[:3] for x in lines):
        own = [x for x in lines if key(x)[:3] == (data, network, depth)]
        paper = PAPER[depth] if network == "match_lstm" else None
        yield (f"| {data} | {network} | {depth} | {spread(own, 'f1')} | {spread(own, 'em')} "
               f"| {f'{paper[1]}, {paper[0]}' if paper else ''} | {own[0]['steps']} "
               f"| {results_chinese.minutes(own)} |")
    yield f"\nThe first line's command: `{lines[0]['command']}`"
