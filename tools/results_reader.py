"""results_reader.py - readers by levels of attention: exact match and F1."""
import json
import math
import os
import statistics
import tempfile

PAPER = {  # the paper's EM and F1 of Match-LSTM on SQuAD, trained on ten times as many questions
    1: (54.29, 66.87), 2: (54.41, 66.99), 5: (55.29, 69.03), 10: (58.37, 70.70), 20: (58.47, 70.81)}
NETWORKS = ("match_lstm", "bidaf", "r_net")  # by levels
PUBLISHED = "bidaf_original"
SQUAD, DRCD, CMRC = "squad_v1.1", "drcd/dev.json", "cmrc2018/dev.json"
CHINESE = ("passage_limit=500", "answer_limit=50", "min_count=2")
DUREADER = "dureader_demo"
MANY = ("passages=5", "passage_limit=500", "answer_limit=200", "trait_dim=0", "word_dim=100",
        "hidden=75", "min_count=2", "eval_every=100")
OWN = {"r_net": ("passage_limit=150", "batch=32", "eval_every=200")}  # dear steps
STEPS = {"match_lstm": 600, "r_net": 600, "bidaf": 900, PUBLISHED: 1500}
LEVEL_STEPS = {"match_lstm": 2400, "r_net": 600, "bidaf": 2100, PUBLISHED: 2100}


def cell(network, depth, seed, data, sets=(), steps=None):
    return {"data_set": data, "network": network, "depth": depth, "seed": seed,
            "config": f"examples/configs/reader-{network}.json",
            "set": [f"data={{data}}/{data}", f"depth={depth}", *sets,
                    f"steps={steps or STEPS[network]}", f"seed={seed}"]}


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


def level_cells():
    """The comparison of depths by attention that is trained: pre-trained vectors, no word features."""
    sets = ("vectors={runs}/words.vec", "freeze=true", "word_dim=100", "trait_dim=0",
            "passage_limit=150", "dropout=0.2", "batch=32", "eval_every=300")
    for depths, start in (((1, 5, 10), 0.9), ((10,), 0), ((2, 20), 0.9)):
        for seed in (42, 43, 44):
            for network in ("match_lstm", "bidaf", PUBLISHED, "r_net"):
                for depth in depths:
                    own = (f"first_level={start}",) if depth > 1 else ()
                    made = cell(network, depth, seed, SQUAD, (*sets, *own), LEVEL_STEPS[network])
                    yield dict(made, start=start if depth > 1 else None)


TABLES = {"reader": lambda: list(cells()), "reader-levels": lambda: list(level_cells())}


def key(line):
    start = ("equal" if not line["start"] else "first",) if line.get("start") is not None else ()
    return line["data_set"].split("/")[0], line["network"], line["depth"], *start, line["seed"]


def spread_of(rows):
    """Over which part of the keys the weight of a row lies: e to the mean entropy of the rows."""
    entropy = [-sum(w * math.log(w) for w in row if w > 0) for row in rows]
    return math.exp(statistics.mean(entropy)) / len(rows[0])


def look(line, out, run):
    """Spread of the first level, as a part of the keys, and the weights of the levels by site: the
    spread is a mean over the first questions of sixteen passages of dev."""
    with open(os.path.join(line["data"], SQUAD, "dev.json"), encoding="utf-8") as file:
        passages = [p for article in json.load(file)["data"] for p in article["paragraphs"]]
    spreads, weights = {}, {}
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        for p in passages[::len(passages) // 16][:16]:
            file.seek(0)
            file.truncate()
            file.write(p["context"])
            file.flush()
            for site in run("inspect", "--model", out, "--json", "--passage", file.name,
                            "--text", p["qas"][0]["question"]).splitlines():
                site = json.loads(site)
                spreads.setdefault(site["site"], []).append(spread_of(site["maps"][0]))
                weights[site["site"]] = [round(w, 4) for w in site["weights"]]
    return {"spread": {site: round(statistics.mean(x), 4) for site, x in spreads.items()},
            "weights": weights}


def score(line, out, run):
    """All that eval tells of dev; in Chinese of the test articles, and of CMRC 2018."""
    def of(*words):
        return json.loads(run("eval", "--model", out, "--json", *words))

    if "start" in line:
        return {"split": "dev", "score": of("--split", "dev"), **look(line, out, run)}
    if line["data_set"] != DRCD:
        return {"split": "dev", "score": of("--split", "dev")}
    return {"split": "test", "score": of("--split", "test"),
            "cmrc": of("--data", f"{line['data']}/{CMRC}")}


def told(line):
    return f"F1 {line['score']['f1']:.2f}, EM {line['score']['em']:.2f}"


CHINESE_HEAD = """
BiDAF in Chinese, 900 steps on the articles of DRCD's dev file that fall to training (80 %; 10 % each to dev and test), scores of
characters: of its test articles, and of the dev file of CMRC 2018, whose articles are others and in simplified characters.

| levels | F1 | EM | BLEU-4 | ROUGE-L | CMRC: F1 | EM | BLEU-4 | ROUGE-L | minutes |
|---|---|---|---|---|---|---|---|---|---|"""
CHARACTERS = ("f1_char", "em", "bleu4", "rouge_l")
HEAD = """
## Readers: levels of attention

F1 and EM of the best state, mean of the seeds where there are several; SQuAD here is 7,588 questions to learn from, without word
vectors, so that the paper's figures (Match-LSTM, the whole of SQuAD) tell the direction alone. What Match-LSTM answers after 600 steps
it has from traits of words: its attention over the question is still almost even, at every level alike (`clattn inspect`), so
that levels cannot tell yet. R-NET learns here from passages of at most 150 words, 32 questions a step; all are asked about whole ones.

| data | network | levels | F1 | EM | F1, EM in the paper | steps | minutes |
|---|---|---|---|---|---|---|---|"""


LEVELS = """
### Depths with trained attention

SQuAD without word features, so that answers come from attention to the question: frozen word vectors made
here, of the training parts of SQuAD and of the English of Multi30k, Tatoeba (Chinese), Tanaka and the WMT14 sample
(`tools/results_text.py --lower FILES | clattn vectors --dim 100 --min-count 2 --sample 0.001 --out RUNS/words.vec`).
The first level begins with nine tenths of the weight (`first_level` 0.9), since equal shares let levels that are
not trained yet dilute the first; "equal" rows begin with equal shares. Fixed in advance: depths 1, 5
and 10, then equal shares at 10, then 2 and 20; seeds 42 to 44; {steps}. (1,200 steps were planned for Match-LSTM and
doubled once two runs of them had attention that spread over 0.59 of the words: half or less is what counts as trained.)

Beside depth 1: the mean difference to depth 1 of the same seeds, and in brackets how many standard errors of a difference of
two means that is. Spread: over which part of the question's words the first level's weight lies (e to the entropy
of a row of weights; 1 is even), a mean over sixteen passages of dev. Weight of the first level: after training.

| network | levels | F1 (seeds) | beside depth 1 | EM | spread | weight of the first level | minutes |
|---|---|---|---|---|---|---|---|"""


def beside_one(own, lines):
    """The mean difference to depth 1 of the same seeds, in F1, with its standard errors."""
    one = {x["seed"]: x["score"]["f1"] for x in lines
           if x["network"] == own[0]["network"] and x["depth"] == 1}
    pairs = [(x["score"]["f1"], one[x["seed"]]) for x in own if x["seed"] in one]
    if own[0]["depth"] == 1 or not pairs:
        return ""
    mean = statistics.mean(a - b for a, b in pairs)
    if len(pairs) < 2:
        return f"{mean:+.2f}"
    error = math.sqrt(sum(map(statistics.variance, zip(*pairs))) / len(pairs))
    return f"{mean:+.2f} ({mean / error:.1f} SE)"


def levels_page(lines):
    if not lines:
        return
    steps = ", ".join(f"{n} steps of {name}" for name, n in LEVEL_STEPS.items()
                      if any(x["network"] == name for x in lines))
    yield LEVELS.format(steps=steps)
    lines = sorted(lines, key=lambda x: (x["network"], x["depth"], x["start"] or 0, x["seed"]))
    for name, depth, start in dict.fromkeys((x["network"], x["depth"], x["start"]) for x in lines):
        own = [x for x in lines if (x["network"], x["depth"], x["start"]) == (name, depth, start)]
        f1 = [x["score"]["f1"] for x in own]
        error = f" ±{statistics.stdev(f1):.2f}" if len(f1) > 1 else ""
        spreads = [s for x in own for site, s in x["spread"].items() if site != "self"]
        first = [w[0] for x in own for w in x["weights"].values()]
        yield (f"| {name} | {depth}{', equal' if start == 0 else ''} | {statistics.mean(f1):.2f}{error} ({len(f1)}) "
               f"| {beside_one(own, lines)} | {statistics.mean(x['score']['em'] for x in own):.2f} "
               f"| {statistics.mean(spreads):.2f} | {statistics.mean(first):.2f} "
               f"| {statistics.mean(x['wall_s'] for x in own) / 60:.0f} |")
    yield f"\nThe first line's command: `{lines[0]['command']}`"


def spread(lines, name):
    values = [x["score"][name] for x in lines]
    seeds = f" ({', '.join(f'{v:.2f}' for v in values)})" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{seeds}"


def chinese_page(lines):
    if not lines:
        return
    yield CHINESE_HEAD
    for x in lines:
        shown = [f"{x[of][name]:.2f}" for of in ("score", "cmrc") for name in CHARACTERS]
        minutes = f"{x['wall_s'] / 60:.0f}" if x["wall_s"] else ""
        yield f"| {x['depth']} | {' | '.join(shown)} | {minutes} |"
    yield f"\nThe first line's command: `{lines[0]['command']}`"


def page(store):
    found = sorted(store.lines("reader"), key=key)
    lines = [x for x in found if x["data_set"] != DRCD]
    chinese = [x for x in found if x["data_set"] == DRCD]
    if lines:
        yield from english_page(lines)
    yield from levels_page(store.lines("reader-levels"))
    yield from chinese_page(chinese)


def english_page(lines):
    yield HEAD
    for data, network, depth in dict.fromkeys(key(x)[:3] for x in lines):
        own = [x for x in lines if key(x)[:3] == (data, network, depth)]
        paper = PAPER[depth] if network == "match_lstm" else None
        minutes = [x["wall_s"] for x in own if x["wall_s"]]
        yield (f"| {data} | {network} | {depth} | {spread(own, 'f1')} | {spread(own, 'em')} "
               f"| {f'{paper[1]}, {paper[0]}' if paper else ''} | {own[0]['steps']} "
               f"| {f'{statistics.mean(minutes) / 60:.0f}' if minutes else ''} |")
    yield f"\nThe first line's command: `{lines[0]['command']}`"
