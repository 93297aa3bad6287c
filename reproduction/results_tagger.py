"""results_tagger.py - the tagger's tables: accuracies beside those of the paper."""
import json
import math
import os
import statistics
import struct

import results_means

TREEBANKS = {  # accuracies of the paper: PE[add], P+R, Temp, Conv, Conv2d
    "Afrikaans-AfriBooms": (92.11, 92.02, 92.06, 94.50, 94.75),
    "English-LinES": (89.38, 89.53, 88.69, 93.34, 93.56),
    "French-Spoken": (86.50, 88.27, 87.93, 91.17, 92.20),
    "Greek-GDT": (92.94, 93.22, 93.57, 95.02, 94.99),
    "Hungarian-Szeged": (87.38, 88.90, 88.76, 89.47, 89.97),
    "Vietnamese-VTB": (84.42, 84.77, 84.78, 86.29, 86.52),
}
PUBLISHED = ("pe_add", "p_r", "temp", "conv", "conv2d")
# The paper has the other variants on the Penn Treebank alone.
VARIANTS = (*PUBLISHED, "san", "pe_con", "p", "r", "r_spectral", "p_r_spectral")
SETS = {  # where a variant is a config with settings
    "r_spectral": ("r", ("rel_mode=spectral",)),
    "p_r_spectral": ("p_r", ("rel_mode=spectral",)),
    "conv_before": ("conv", ("conv_pos=before",)),
    "conv2d_before": ("conv2d", ("conv_pos=before",)),
}
SEEDS = (42, 43, 44)
# What each adds to another by the paper's Section 2, with t = 60, words of 300, 4 heads, 4 layers.
COUNTED = {
    "san": (None, ""),
    "pe_add": ("san", "t d = 60 * 300"),
    "p": ("san", "heads t^2 = 4 * 60^2, in the first layer"),
    "r": ("san", "heads 2 t = 4 * 120, in the first layer"),
    "p_r": ("san", "both"),
    "temp": ("pe_add", "3 for each of 16 heads"),
    "conv": ("pe_add", "t filters of 3 t and their biases for each of 16 heads"),
    "conv2d": ("pe_add", "9 and a bias for each of 16 heads"),
}
EPOCHS = (1, 2, 3, 5, 8)
PENN = {  # Table 2b: accuracy on the Penn Treebank; before the softmax: "this resulted in worse results"
    "san": 94.62, "pe_add": 96.82, "pe_con": 96.81, "p": 96.84, "r": 96.33, "p_r": 96.88, "temp": 96.93,
    "conv": 96.93, "conv_before": None, "conv2d": 96.88, "conv2d_before": None,
}
CONFIGS = ("san", "pe_add", "r", "conv2d")  # examples for users, too
PENN_SIZES = ("vectors={runs}/words.vec", "word_dim=300", "train_words=false", "limit=20000")


def tagger_cell(bank, variant, seed, more=(), split="test"):
    config, sets = SETS.get(variant, (variant, ()))
    folder = "examples" if config in CONFIGS else "reproduction"
    return {
        "bank": bank,
        "variant": variant,
        "seed": seed,
        "config": f"{folder}/configs/tagger-{config}.json",
        "set": [f"data={{data}}/{bank}", f"seed={seed}", *sets, *more],
        "split": split,
        "paper": dict(zip(PUBLISHED, TREEBANKS[bank])).get(variant) if split == "test" else None,
    }


def tagger_cells():
    """Each treebank and variant with three seeds; those of the paper's table first."""
    for variants in (PUBLISHED, VARIANTS[len(PUBLISHED):]):
        for seed in SEEDS:
            for bank in TREEBANKS:
                for variant in variants:
                    yield tagger_cell(bank, variant, seed)


def parameter_cells():
    """Models of the paper's sizes for the Penn Treebank, not trained. What a variant adds
    depends neither on the words nor on the tags."""
    for variant in COUNTED:
        yield tagger_cell("French-Spoken", variant, 42, ("word_dim=300", "epochs=0"), None)


def penn_cells():
    for seed in SEEDS:
        for variant, paper in PENN.items():
            yield dict(tagger_cell("English-LinES", variant, seed, PENN_SIZES), paper=paper)


PAGE = "tagger"
TABLES = {
    "tagger": lambda: list(tagger_cells()),
    "tagger-penn": lambda: list(penn_cells()),
    "tagger-parameters": lambda: list(parameter_cells()),
}


def key(cell):
    return cell["bank"], cell["variant"], cell["seed"]


def count_parameters(state):
    """Numbers of a state but those of the optimiser and of the table of words."""
    with open(state, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        tensors = json.loads(file.read(size))
    return sum(math.prod(tensor["shape"]) for name, tensor in tensors.items()
               if name not in ("__metadata__", "word.table") and "/" not in name)


def score(cell, out, run):
    """The accuracies of a finished run in the folder out, those of dev on the way; of a model
    that was not trained, its parameters."""
    if not cell["split"]:
        return {"parameters": count_parameters(os.path.join(out, "last.ckpt.safetensors"))}
    with open(os.path.join(out, "log.jsonl"), encoding="utf-8") as lines:
        evaluations = [e for e in map(json.loads, lines) if "accuracy" in e]
    found = json.loads(run("eval", "--model", out, "--split", "test", "--json"))
    return {
        "score": {k: v for k, v in found.items() if k.startswith("accuracy")},
        "dev": [round(line["accuracy"], 3) for line in evaluations],
    }


def told(line):
    if "parameters" in line:
        return f"{line['parameters']} parameters"
    return f"accuracy {line['score']['accuracy']:.2f}, paper {line['paper'] or '-'}"


WORD_KINDS = {"accuracy_oov": "out-of-vocabulary", "accuracy_ambiguous": "ambiguous"}
MACRO = {  # the paper's means: of the same six treebanks, and of its 47
    "accuracy": tuple(statistics.mean(column) for column in zip(*TREEBANKS.values())),
    "accuracy_oov": (77.89, 78.77, 78.33, 82.40, 82.87),
    "accuracy_ambiguous": (88.85, 89.44, 88.85, 92.20, 92.47),
}


def of(lines, bank, variant, measure="accuracy"):
    """The scores of a cell by seed."""
    return {x["seed"]: x["score"][measure] for x in lines
            if x["bank"] == bank and x["variant"] == variant and measure in x["score"]}


def macro(lines, variant, measure):
    """The mean over the treebanks by seed, of the seeds that all of them have."""
    rows = [of(lines, bank, variant, measure) for bank in TREEBANKS]
    seeds = set(rows[0]).intersection(*rows)
    return {seed: statistics.mean(row[seed] for row in rows) for seed in sorted(seeds)}


def figure(found, base, paper, paper_base):
    """The mean (seeds) / the paper's."""
    if not found:
        return "-"
    text = results_means.marked(found, base, paper, paper_base)
    return f"{text} ({len(found)})" + (f" / {paper:.2f}" if paper else "")


def row(name, found, paper):
    cells = [figure(x, found[0], p, paper[0])
             for x, p in zip(found, [*paper, *[None] * (len(found) - len(paper))])]
    return f"| {name} | " + " | ".join(cells) + " |"


def grid(lines, variants, measure="accuracy", papers=True):
    """Treebanks down, variants across, and the means over the treebanks."""
    none = (None,) * len(PUBLISHED)
    yield "| treebank | " + " | ".join(f"`{v}`" for v in variants) + " |"
    yield "|---|" + "---|" * len(variants)
    for bank, paper in TREEBANKS.items():
        found = [of(lines, bank, v, measure) for v in variants]
        if any(found):
            yield row(bank, found, paper if measure == "accuracy" and papers else none)
    means = [macro(lines, v, measure) for v in variants]
    if any(means):
        whole = papers and measure != "accuracy"
        yield row("mean of the six" + " / of the paper's 47" * whole, means,
                  MACRO[measure] if papers else none)


def words_grid(lines):
    """The means over the treebanks for words that taggers find hard."""
    yield "| words | " + " | ".join(f"`{v}`" for v in PUBLISHED) + " |"
    yield "|---|" + "---|" * len(PUBLISHED)
    for measure, words in WORD_KINDS.items():
        yield row(words, [macro(lines, v, measure) for v in PUBLISHED], MACRO[measure])


def details(lines):
    yield "| treebank | variant | seed | all | OOV | ambiguous | steps | wall time | commit |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for x in sorted(lines, key=key):
        s = x["score"]
        wall = f"{x['wall_s']:.0f} s" if x["wall_s"] else ""
        yield (f"| {x['bank']} | `{x['variant']}` | {x['seed']} | {s['accuracy']:.2f} "
               f"| {s['accuracy_oov']:.2f} | {s['accuracy_ambiguous']:.2f} | {x['steps']} "
               f"| {wall} | {x['commit']} |")


TAGGER = """
## Tagger

The tagger has the sizes of Dufter et al. 2020 (preset `paper`) and trains on six treebanks of
Universal Dependencies 2.2. Fixed in advance: seeds 42, 43 and 44 for every variant; up to 100 epochs;
a stop after three epochs without a better dev accuracy. (Seed 42 ran first, before the other two
were fixed.) `p_r` adds learned scores for positions and for distances. The paper's code computes the
scores of distances from a Fourier spectrum: `p_r_spectral` does that.

Each cell has the mean over the seeds ± their standard deviation, the number of seeds in brackets, and the
paper's figure behind the slash. A figure is bold where its difference to `pe_add` of the same seeds has
another sign than in the paper. Only `p_r` and `temp` have bold figures: their differences to `pe_add` are small, and
in the paper, too, their sign changes between treebanks.
"""
OTHERS = """
### Accuracy of the other variants

The paper reports these variants on the Penn Treebank alone. Seeds and epochs are those above. `r` reads its
scores from a table; `r_spectral` computes them from a Fourier spectrum, as the paper's code does; `p_r_spectral`
is the published form of `p_r`. `pe_add` and `p_r` are those above. Each treebank is in `reproduction/tables/tagger-others.csv`.

`san` knows no positions, and it tags as well as the others of this table. These treebanks have 15,000 to 50,000
words to learn from; on the Penn Treebank, of about a million, the paper has 94.62 for `san` and 96.82 for `pe_add`.
Deviations above 1.0 come from the early stop: the best seed of such a cell is the one that trained longest.
"""
COMMANDS = """
### How the six treebanks were run

`clattn train CONFIGS/tagger-VARIANT.json --set data=DATA/TREEBANK --set seed=SEED --out RUN`

`DATA` is the folder of the treebanks, `CONFIGS` is `reproduction/configs` or `examples/configs`; `r_spectral` and
`p_r_spectral` add `--set rel_mode=spectral` to `tagger-r.json` and `tagger-p_r.json`. Devices: {device}.
All {runs} runs are in `reproduction/tables/tagger-runs.csv`.
"""
WORDS = """
### Accuracy of out-of-vocabulary and of ambiguous words

Means of the six treebanks, and behind the slash of the paper's 47. Each treebank is in
`reproduction/tables/tagger-oov.csv` and `tagger-ambiguous.csv`.
"""

CURVES = """
### Dev accuracy while it learns

Dev accuracy by epoch, a mean over the six treebanks and seeds {seeds} of the runs above. A run that has
stopped counts with its last accuracy. The paper's Fig. 2 draws such curves for the Penn Treebank: with
convolution a tagger needs fewer epochs, and a temperature changes nothing. What the seeds decide of that is on
[the first page](results.md). The figures are in `reproduction/tables/tagger-curves.csv`.

![Dev accuracy of five taggers by epoch](pictures/tagger.svg)
"""
WITH_VECTORS = """
### Sizes of the Penn Treebank

English-LinES with the paper's sizes for the Penn Treebank: frozen word vectors of 300, and the 20,000 most
frequent words, which here are all 10,138, so that none is out of vocabulary. Fixed in advance: nine
variants and convolution before the softmax, of which the paper has no figures; seeds 42 to 44. The
vectors are of the training parts of the treebank, of SQuAD and of the English of Multi30k, Tatoeba (Chinese),
Tanaka and the WMT14 sample: `reproduction/results_text.py FILES | clattn vectors --dim 300 --min-count 2 --sample 0.001
--out RUNS/words.vec`. The runs are those above with `{sets}`; `conv_before` and `conv2d_before` are `conv` and
`conv2d` with `--set conv_pos=before`. Behind the slash is the paper's figure for the Penn Treebank. As above, a
figure is bold where its difference to `pe_add` has another sign than in the paper.

`san`, `p` and `temp` lie near `pe_add`, as on the six treebanks; `r` and `p_r` gain 0.8 and 1.5 points (1.7 and 2.5
SE), more than there. With seed 42 alone convolution after the softmax was a point better than before it; with three
seeds nothing is left of that.

| variant | accuracy (seeds) / paper | of ambiguous words |
|---|---|---|"""
PARAMETERS = """
### Parameters

Parameters of models with the paper's sizes for the Penn Treebank (sentences of 60 words, word vectors of
300), without the word vectors, are in `reproduction/tables/tagger-parameters.csv`. By the paper's Table 1c, `r`,
`temp` and `conv2d` add very few, and `p` adds fewer than `pe_add`. Here {added}.
"""
COUNTS = """| variant | parameters | more than | by | which is |
|---|---|---|---|---|"""


def dev_means(lines, epochs):
    """The seeds whose runs have all logged their dev accuracies, and by variant the means over treebanks
    and seeds after 1 to so many epochs; a run that has stopped counts with its last one."""
    dev = {key(x): x["dev"] for x in lines if x.get("dev") and x["variant"] in PUBLISHED}
    seeds = [s for s in SEEDS if all((b, v, s) in dev for b in TREEBANKS for v in PUBLISHED)]
    means = {v: [statistics.mean(dev[b, v, s][:epoch][-1] for b in TREEBANKS for s in seeds)
                 for epoch in range(1, epochs + 1)] for v in PUBLISHED} if seeds else {}
    return seeds, means


def curves(lines):
    """Dev accuracy by epoch and variant, for the CSV file."""
    seeds, means = dev_means(lines, max(EPOCHS))
    if not seeds:
        return
    yield "| epochs | " + " | ".join(f"`{v}`" for v in PUBLISHED) + " |"
    yield "|---|" + "---|" * len(PUBLISHED)
    for epoch in EPOCHS:
        yield f"| {epoch} | " + " | ".join(f"{means[v][epoch - 1]:.2f}" for v in PUBLISHED) + " |"


def penn(lines):
    if not lines:
        return
    yield WITH_VECTORS.format(sets=" ".join(f"--set {s.format(runs='RUNS')}" for s in PENN_SIZES))
    for variant, paper in PENN.items():
        accuracy, ambiguous = ([of(lines, "English-LinES", name, measure) for name in (variant, "pe_add")]
                               for measure in ("accuracy", "accuracy_ambiguous"))
        yield (f"| `{variant}` | {figure(*accuracy, paper, PENN['pe_add'])} "
               f"| {figure(*ambiguous, None, None)} |")


def added(lines):
    """The parameters that each variant adds to another; empty while one of them lacks."""
    counts = {x["variant"]: x["parameters"] for x in lines}
    return {variant: counts[variant] - counts.get(base, 0) for variant, (base, _) in COUNTED.items()} if (
        set(counts) >= set(COUNTED)) else {}


def parameters(lines):
    counts = {x["variant"]: x["parameters"] for x in lines}
    if not added(lines):
        return
    yield from COUNTS.split("\n")
    for variant, (base, why) in COUNTED.items():
        more = f"`{base}` | {added(lines)[variant]:,}" if base else " | "
        yield f"| `{variant}` | {counts[variant]:,} | {more} | {why} |"


def page(store):
    lines = store.lines("tagger")
    if lines:
        yield TAGGER
        yield "### Accuracy of all words\n"
        yield from grid(lines, PUBLISHED)
        yield WORDS
        yield from words_grid(lines)
        yield ""
        others = [v for v in VARIANTS[len(PUBLISHED):] if any(x["variant"] == v for x in lines)]
        if others:
            yield OTHERS.lstrip("\n")
            head, rule, *_, means = grid(lines, ("pe_add", "p_r", *others), papers=False)
            yield from (head, rule, means)
        seeds, _ = dev_means(lines, max(EPOCHS))
        if seeds:
            yield CURVES.format(seeds=" and ".join(map(str, seeds)))
        yield from penn(store.lines("tagger-penn"))
        counts = added(store.lines("tagger-parameters"))
        if counts:
            told_counts = ", ".join(f"`{v}` adds {counts[v]:,}" for v in ("r", "temp", "conv2d", "p", "pe_add"))
            yield PARAMETERS.format(added=told_counts)
        yield COMMANDS.format(device=", ".join(sorted({x["device"] for x in lines})), runs=len(lines))


def tables(store):
    lines = store.lines("tagger")
    return {"tagger-runs": details(lines), "tagger-oov": grid(lines, PUBLISHED, "accuracy_oov"),
            "tagger-ambiguous": grid(lines, PUBLISHED, "accuracy_ambiguous"),
            "tagger-others": grid(lines, ("pe_add", "p_r", *VARIANTS[len(PUBLISHED):]), papers=False),
            "tagger-curves": curves(lines), "tagger-parameters": parameters(store.lines("tagger-parameters"))}
