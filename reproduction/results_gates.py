"""results_gates.py - gates and rewards where they can matter: from converged soft models, and where gates
alone read the source.

Each cell but a soft model and those from scratch continues the soft model of its data, layers and seed. A
decoder of one layer has its gates alone; with three, two layers of soft attention lie below them.
"""
import json
import os
import statistics

import results_criterion
import results_means

SEEDS = (42, 43, 44)
LAYERS = (1, 3)  # of the decoder
SOFT, MORE = ("cross=soft", "steps=1500"), ("steps=1500",)
SYSTEMS = {  # settings, and whether it begins from the soft model
    "soft": (SOFT, False),
    "soft_on": (SOFT, True),
    "no_reward": (("w_rl=0", "baseline=none", *MORE), True),
    "none": (("baseline=none", *MORE), True),
    "batch_mean": (("baseline=batch_mean", *MORE), True),
    "learned": (("baseline=learned", *MORE), True),
    "scratch_no_reward": (("w_rl=0", "baseline=none", "steps=3000"), False),
    "scratch_none": (("baseline=none", "steps=3000"), False),
    "scratch_batch_mean": (("baseline=batch_mean", "steps=3000"), False),
}
DATA = {"short": (4, 12), "long": (24, 40)}  # words of a sentence
# The same of Multi30k: what a soft model of 10,000 steps gains.
REAL = {
    "soft": ("nmt-plain", ("steps=10000", "eval_every=1000"), False),
    "soft_on": ("nmt-plain", ("warmup=100", "lr=0.15", "steps=600", "eval_every=150"), True),
    **{name: ("nmt-hard", sets, True) for name, sets in (
        ("no_reward", ("w_rl=0",)), ("none", ()), ("batch_mean", ("baseline=batch_mean",)),
        ("learned", ("baseline=learned",)))},
    **{name: ("nmt-seqloss", sets, True) for name, sets in (
        ("sequence_no_reward", ("w_rl=0",)), ("sequence", ()), ("sequence_batch_mean", ("baseline=batch_mean",)))},
}


def warm(table, *soft):
    return f"warm_start={{runs}}/{table}/{'-'.join(map(str, soft))}"


def word_cells():
    """Short sentences first, then long ones; seed by seed; one decoder layer before three."""
    for data in DATA:
        for seed in SEEDS:
            for layers in LAYERS:
                for system, (sets, begins) in SYSTEMS.items():
                    begin = (warm("gates-words", data, layers, "soft", seed),) if begins else ()
                    yield {"data_set": data, "layers": layers, "system": system, "seed": seed,
                           "config": "examples/configs/nmt-words.json",
                           "set": [f"data={{runs}}/words-{data}", f"decoder_layers={layers}", *sets, *begin,
                                   f"seed={seed}"]}


def real_cells():
    for seed in SEEDS:
        for layers in LAYERS:
            for system, (config, sets, begins) in REAL.items():
                begin = (warm("gates", "multi30k", layers, "soft", seed),) if begins else ()
                yield {"data_set": "multi30k", "layers": layers, "system": system, "seed": seed,
                       "config": f"examples/configs/{config}.json",
                       "set": ["data={data}/multi30k/raw", f"decoder_layers={layers}", *sets, *begin,
                               f"seed={seed}"]}


PAGE = "rewards"
TABLES = {"gates-words": lambda: list(word_cells()), "gates": lambda: list(real_cells())}


def key(line):
    return line["data_set"], line["layers"], line["system"], line["seed"]


def right(said, wanted):
    """Words that stand where they should, in percent of those wanted."""
    pairs = [(a.split(), b.split()) for a, b in zip(said.splitlines(), wanted.splitlines(), strict=True)]
    hits = sum(x == y for a, b in pairs for x, y in zip(a, b))
    return 100 * hits / sum(len(b) for _, b in pairs)


def score(line, out, run):
    """Perplexity of the test set, and its words that are right (Multi30k: BLEU), by greedy search; what the
    log said last of gates."""
    found = {"perplexity": json.loads(run("eval", "--model", out, "--split", "test", "--json"))["perplexity"]}
    with open(os.path.join(out, "log.jsonl"), encoding="utf-8") as lines:
        log = [json.loads(entry) for entry in lines]
    gates = [entry for entry in log if "selected" in entry]
    found.update({name: gates[-1][name] for name in ("reward", "selected", "entropy") if gates})
    folder, stem, ends = ("{data}/multi30k/raw", "test_2016_flickr", ("en", "de")) if (
        line["data_set"] == "multi30k") else (f"{{runs}}/words-{line['data_set']}", "test", ("src", "tgt"))
    sides = [os.path.join(folder.format(**line), f"{stem}.{end}") for end in ends]
    with open(sides[0], encoding="utf-8") as source, open(sides[1], encoding="utf-8") as target:
        said = run("translate", "--no-split", "--model", out, "--beam", "1", input=source.read())
        if line["data_set"] != "multi30k":
            return dict(found, right=right(said, target.read()))
    return dict(found, bleu=json.loads(run("score", "bleu", "--json", "--ref", sides[1], input=said))["score"])


def told(line):
    more = f"{line['right']:.1f} % right" if "right" in line else f"BLEU {line['bleu']:.2f}"
    return f"perplexity {line['perplexity']:.3f}, {more}"


WORDS_HEAD = """
## Gates that alone read the source

Sentences of letters drawn at random, translated letter by letter (`reproduction/results_words.py`; config
`examples/configs/nmt-words.json`): no word tells of the next, so that a decoder that finds no source word guesses.
`short` has 4 to 12 words, `long` 24 to 40. With one decoder layer its gates alone read the source; with three, two
layers of soft attention lie below them. All but `soft` and those from scratch continue the soft model of the same
seed, which has converged: `soft_on` with soft attention, the others with gates, by their `baseline`; `no_reward`
sets the reward's weight to 0. Fixed in advance: seeds 42 to 44, 1,500 steps each, 3,000 from scratch (both after runs
with seed 41). Cells so far: {done} of {count}. Test perplexity, and words in their place by greedy search in percent,
means of the seeds (number of seeds).{table}
"""
PICTURE = """
In the picture a band is one standard deviation over the seeds that have both lengths, of one decoder layer; the
lines only join two lengths.

![Words right by the length of sentences, of further soft training and of gates by their baseline](pictures/letters.svg)"""
TABLE = " Differences to `no_reward` and to `none` are in `reproduction/tables/rewards-words.csv`."
COLUMNS = tuple((data, layers) for data in DATA for layers in LAYERS)


def shown(lines, name, value):
    values = [x[name] for x in lines]
    return results_means.mean(values) if value else f"{statistics.mean(values):.1f}"


def grid(lines):
    """Systems down, data and layers across."""
    columns = [c for c in COLUMNS if any((x["data_set"], x["layers"]) == c for x in lines)]
    yield f"| system | {' | '.join(f'{data}, {n} layers' if n > 1 else f'{data}, 1 layer' for data, n in columns)} |"
    yield "|---|" + "---|" * len(columns)
    for system in SYSTEMS:
        cells = []
        for column in columns:
            own = [x for x in lines if (x["data_set"], x["layers"], x["system"]) == (*column, system)]
            cells.append(f"{shown(own, 'perplexity', True)}, {shown(own, 'right', False)} % ({len(own)})" if own else "")
        if any(cells):
            yield f"| `{system}` | {' | '.join(cells)} |"


def differences(lines):
    """Points of words that are right, above two controls of the same data, layers and seed."""
    for data, layers in COLUMNS:
        of = {system: {x["seed"]: x["right"] for x in lines
                       if (x["data_set"], x["layers"], x["system"]) == (data, layers, system)} for system in SYSTEMS}
        for base in ("no_reward", "none", "scratch_no_reward", "scratch_none"):
            scratch = base.startswith("scratch")
            for system in SYSTEMS:
                gains = results_criterion.paired(of[system], of[base])
                if gains and system != base and system.startswith("scratch") == scratch:
                    yield f"{data}, {layers}", results_criterion.Comparison(f"{system} above {base}", gains)


def page(store):
    lines = store.lines("gates-words")
    if lines:
        yield WORDS_HEAD.format(count=len(list(word_cells())), done=len(lines),
                                table=TABLE if any(differences(lines)) else "")
        yield from grid(lines)
        yield PICTURE


def tables(store):
    found = list(differences(store.lines("gates-words")))
    if not found:
        return {}
    return {"rewards-words": [
        "| data, layers | comparison | seeds | mean | half of the 95 % interval | verdict |",
        *(f"| {where} | {c.name} | {len(c.gains)} | {c.mean:+.3f} | {'' if c.half() is None else f'{c.half():.3f}'} "
          f"| {c.verdict} |" for where, c in found)]}
