"""results_reader.py - readers by levels of attention: exact match and F1."""
import json
import statistics

PAPER = {  # the paper's EM and F1 of Match-LSTM on SQuAD, trained on ten times as many questions
    1: (54.29, 66.87), 2: (54.41, 66.99), 5: (55.29, 69.03), 10: (58.37, 70.70), 20: (58.47, 70.81)}
NETWORKS = ("match_lstm", "bidaf", "r_net")
SQUAD, DRCD = "squad_v1.1", "drcd/dev.json"
CHINESE = ("passage_limit=500", "answer_limit=50", "min_count=2")


STEPS = {"match_lstm": 600, "r_net": 600, "bidaf": 900}


def cell(network, depth, seed, data, sets=()):
    return {"data_set": data, "network": network, "depth": depth, "seed": seed,
            "config": f"examples/configs/reader-{network}.json",
            "set": [f"data={{data}}/{data}", f"depth={depth}", *sets,
                    f"steps={STEPS[network]}", f"seed={seed}"]}


def cells():
    for network in NETWORKS:
        for depth in (1, 5, 10):
            three = network == "match_lstm" and depth in (1, 10)
            for seed in (42, 43, 44) if three else (42,):
                yield cell(network, depth, seed, SQUAD)
    for depth in (1, 5, 10):
        yield cell("bidaf", depth, 42, DRCD, CHINESE)


TABLES = {"reader": lambda: list(cells())}


def key(line):
    return line["data_set"].split("/")[0], line["network"], line["depth"], line["seed"]


def score(line, out, run):
    """F1 and EM: of the test articles where the set is one file that is shared out, else of dev."""
    split = "test" if line["data_set"].endswith(".json") else "dev"
    return {"split": split, "score": json.loads(run("eval", "--model", out, "--split", split,
                                                    "--json"))}


def told(line):
    return f"F1 {line['score']['f1']:.2f}, EM {line['score']['em']:.2f}"


def from_longer_run(_line, _store):
    return None


HEAD = """
## Readers: levels of attention

F1 and EM of the best state, mean of the seeds where there are several; SQuAD here is 7,588 questions to learn from, without word
vectors, so that the paper's figures (Match-LSTM, the whole of SQuAD) tell the direction alone.

| data | network | levels | F1 | EM | F1, EM in the paper | steps | minutes |
|---|---|---|---|---|---|---|---|"""


def spread(lines, name):
    values = [x["score"][name] for x in lines]
    seeds = f" ({', '.join(f'{v:.2f}' for v in values)})" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{seeds}"


def page(store):
    lines = store.lines("reader")
    if not lines:
        return
    yield HEAD
    for data, network, depth in dict.fromkeys(key(x)[:3] for x in lines):
        own = [x for x in lines if key(x)[:3] == (data, network, depth)]
        paper = PAPER[depth] if network == "match_lstm" else None
        minutes = [x["wall_s"] for x in own if x["wall_s"]]
        yield (f"| {data} | {network} | {depth} | {spread(own, 'f1')} | {spread(own, 'em')} "
               f"| {f'{paper[1]}, {paper[0]}' if paper else ''} | {own[0]['steps']} "
               f"| {f'{statistics.mean(minutes) / 60:.0f}' if minutes else ''} |")
    yield f"\nThe first line's command: `{lines[0]['command']}`"
