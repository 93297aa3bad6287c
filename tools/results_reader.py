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
OWN = {"r_net": ("passage_limit=150", "batch=32", "eval_every=200")}  # dear steps
STEPS = {"match_lstm": 600, "r_net": 600, "bidaf": 900, PUBLISHED: 1500}
LEVEL_STEPS = {"match_lstm": 1200, "r_net": 600, "bidaf": 2100, PUBLISHED: 2100}


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
    for depth in (1, 5, 10):
        yield cell("bidaf", depth, 42, DRCD, CHINESE)


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
