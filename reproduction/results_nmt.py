"""results_nmt.py - the translator's tables: BLEU for each way of attending.

All cells have the size of nmt-csan2d.json but a quarter of its batch, dropout that suits
so few epochs, and 2,500 steps (1,000 in the study of windows): what differs is the way
of attending alone.
"""
import json
import os
import shutil
import statistics

import results_means

CONFIG = "examples/configs/nmt-csan2d.json"
SIZE = ("tokens=1024", "lr=1.0", "dropout=0.1")
ANNEALED = ("heads=8", "anneal=1000", "eval_every=250", "keep=4")  # and the mean of the last four states

WAYS = {  # settings; the paper's Table 1, base: parameters, steps/s, BLEU beside 27.31
    "plain": (("attention=softmax",), "88.0 M", 1.0, 0.0),
    "bi_direct": (("attention=bi_direct",), "+0.0 M", 1.0, 0.27),
    "rel_pos": (("attention=rel_pos", "attention_where=both"), "+0.1 M", 0.91, 0.32),
    "rel_pos_encoder": (("attention=rel_pos", "attention_where=encoder"), "+0.1 M", 0.91, 0.32),
    "rel_pos_heads": (("attention=rel_pos", "attention_where=encoder", "rel_shared=false"), "+0.1 M", 0.91, 0.32),
    "neighbor": (("attention=neighbor_predicted",), "+0.4 M", 0.95, 0.29),
    "local_hard": (("attention=local_hard",), "+0.4 M", 0.95, 0.42),
    "local_soft": (("attention=local_soft",), "+0.8 M", 0.93, 0.50),
    "block": (("attention=block",), "+6.0 M", 0.74, 0.28),
    "conv": (("attention=softmax", "convolutions=4", "conv_kind=full"), "+42.6 M", 0.58, 0.39),
    "csan1d": (("attention=csan1d",), "+0.0 M", 1.0, 0.55),
    "csan2d": (("attention=csan2d",), "+0.0 M", 0.95, 0.87),
}
NAMES = {"neighbor": "neighbor_predicted"}  # where the store's name is not that of `attention`
WINDOWS = ("csan1d", "csan2d")
SEEDS = {way: (42, 43, 44) for way in ("plain", *WINDOWS)}
PAPER = {  # BLEU above plain attention: Table 1, and Table 2's base
    **{(pair, way): gain for pair in ("en-de", "wmt-en-de") for way, (*_, gain) in WAYS.items() if way != "plain"},
    ("zh-en", "csan2d"): 0.67, ("ja-en", "csan2d"): 0.40,
}
PAIRS = {  # folder, endings, where it is scored, how
    "en-de": ("{data}/multi30k/raw", "en", "de", "test_2016_flickr", ()),
    "en-fr": ("{data}/multi30k/raw", "en", "fr", "test_2016_flickr", ()),
    "en-ja": ("{data}/tanaka_enja", "en", "ja", "dev", ("--multi-bleu",)),
    "zh-en": ("{data}/tatoeba_zhen", "zh", "en", "dev", ()),
    "ja-en": ("{runs}/tanaka_jaen", "ja", "en", "test", ("--multi-bleu",)),
    "wmt-en-de": ("{data}/wmt14_ende_sample", "en", "de", "valid", ()),
}


def dev_of(pair):
    return {"test_2016_flickr": "val", "test": "dev"}.get(PAIRS[pair][3], PAIRS[pair][3])


def cell(pair, way, seed, sets, steps, stem=None):
    folder, source, target, own, _ = PAIRS[pair]
    dev = dev_of(pair)
    return {
        "pair": pair, "way": way, "seed": seed, "config": CONFIG, "stem": stem or own,
        "set": [f"data={folder}", f"source={source}", f"target={target}",
                f"dev={dev}", f"test={own}", *SIZE, *sets, f"steps={steps}", f"seed={seed}"],
    }


def ways():
    for way, (sets, *_) in WAYS.items():
        if way not in ("rel_pos_encoder", "rel_pos_heads"):
            for seed in SEEDS.get(way, (42,)):
                yield cell("en-de", way, seed, sets, 2500)


def pairs():
    """Three ways in other pairs. English to Japanese was begun first: one seed, scored on dev."""
    for pair, seeds in (("zh-en", (42, 43, 44)), ("ja-en", (42, 43, 44)), ("en-ja", (42,))):
        for seed in seeds:
            for way in ("plain", *WINDOWS):
                yield cell(pair, way, seed, WAYS[way][0], 2500)


def more():
    """Seeds that may decide whether windows gain: planned after three seeds of each were seen."""
    for pair in ("ja-en", "en-de", "zh-en"):
        for seed in range(45, 50):
            for way in ("plain", *WINDOWS):
                yield cell(pair, way, seed, WAYS[way][0], 2500)


def windows():
    """1D by window (full: plain), 2D by heads, on dev."""
    for window in (1, 3, 5, 11, 21):
        yield cell("en-de", f"window {window}", 42,
                   ("attention=csan1d", f"window={window}"), 1000, "val")
    yield cell("en-de", "window full", 42, ("attention=softmax",), 1000, "val")
    for area in (3, 5):
        yield cell("en-de", f"heads {area}", 42,
                   ("attention=csan2d", "window=11", f"area={area}"), 1000, "val")


def annealed():
    """Eight heads, a rate that falls to 0, states averaged: ways by pair, and what they look at."""
    for pair in ("en-de", "en-fr", "wmt-en-de"):
        for way, (sets, *_) in WAYS.items():
            for seed in SEEDS.get(way, (42, 43)):
                if way != "rel_pos":  # the encoder's alone, as the other ways
                    yield dict(cell(pair, way, seed, (*ANNEALED, *sets), 2500), mean=4)
    for window in (*range(1, 16, 2), None):
        sets = ("attention=csan1d", f"window={window}") if window else ("attention=softmax",)
        yield dict(cell("en-de", f"window {window or 'full'}", 42, (*ANNEALED, *sets), 2500, "val"), mean=4)
    for area in (1, 3, 5, 7):
        sets = ("attention=csan2d", "window=11", f"area={area}")
        yield dict(cell("en-de", f"heads {area}", 42, (*ANNEALED, *sets), 2500, "val"), mean=4)


PAGE = "translation"
TABLES = {
    "nmt": lambda: list(ways()),
    "nmt-pairs": lambda: list(pairs()),
    "nmt-seeds": lambda: list(more()),
    "nmt-windows": lambda: list(windows()),
    "nmt-annealed": lambda: list(annealed()),
}


def key(line):
    return line["pair"], line["way"], line["seed"]


def ngrams(said, baseline, reference, how, run):
    """By the length of n-grams, 1 to 8: brevity penalty times precision in percent, and p of the gap to
    the translations in the file baseline (paired bootstrap)."""
    tokens = ("--tokenize", "none") if "--multi-bleu" in how else ()
    found = run("score", "ngram", "--json", "--ref", reference, "--baseline", baseline, *tokens, input=said)
    orders = [json.loads(order) for order in found.splitlines()]
    return {"ngrams": [x["model"] for x in orders], "p": [x["p"] for x in orders]}


def compared(line, out, said, reference, run):
    """The n-grams of translations, which are kept in OUT.said, beside those of plain of the same seed
    where these are kept, too."""
    own = out + ".said"
    with open(own, "w", encoding="utf-8") as file:
        file.write(said)
    plain = os.path.join(os.path.dirname(out), f"{line['pair']}-plain-{line['seed']}.said")
    beside = line.get("way") in WAYS and plain != own and os.path.exists(plain)
    found = ngrams(said, plain if beside else own, reference, PAIRS[line["pair"]][4], run)
    return found if beside else {"ngrams": found["ngrams"]}


def score(line, out, run):
    """BLEU (beam 4), n-grams and perplexity of a finished run in the folder out; where the cell says
    so, of the mean of its last states."""
    model = out
    if line.get("mean"):
        model = out + "-mean"
        shutil.rmtree(model, ignore_errors=True)
        run("average", "--model", out, "--last", str(line["mean"]), "--out", model)
    folder, source, target, _, how = PAIRS[line["pair"]]
    stem = os.path.join(folder.format(**line), line["stem"])
    with open(f"{stem}.{source}", encoding="utf-8") as lines:
        said = run("translate", "--no-split", "--model", model, "--beam", "4", input=lines.read())
    bleu = json.loads(run("score", "bleu", "--json", "--ref", f"{stem}.{target}", *how,
                          input=said))
    split = "test" if line["stem"] == PAIRS[line["pair"]][3] else "dev"
    nll = json.loads(run("eval", "--model", model, "--split", split, "--json"))
    return {"bleu": bleu["score"], "signature": bleu["signature"],
            "perplexity": nll["perplexity"], **compared(line, out, said, f"{stem}.{target}", run)}


def told(line):
    return f"BLEU {line['bleu']:.2f}, perplexity {line['perplexity']:.2f}"


def mean_of(lines):
    """Mean, and with several seeds their deviation and each of them."""
    scores = [line["bleu"] for line in lines]
    each = f" ({', '.join(f'{s:.2f}' for s in scores)})" if len(scores) > 1 else ""
    return results_means.mean(scores) + each


def plain_of(way):
    """The row of plain attention that was scored on the same file: windows and heads are scored on dev."""
    return "plain" if way in WAYS else "window full"


def beside_plain(own, lines):
    """The mean difference to plain of the same seeds, and how many standard errors of the
    difference of the two means that is."""
    base = plain_of(own[0]["way"])
    plain = {x["seed"]: x["bleu"] for x in lines if x["way"] == base}
    scores = {x["seed"]: x["bleu"] for x in own if x["seed"] in plain}
    if not scores or own[0]["way"] == base:
        return None, ""
    pairs = list(scores.values()), [plain[seed] for seed in scores]
    return statistics.mean(pairs[0]) - statistics.mean(pairs[1]), results_means.beside(*pairs)


def row(own, lines, columns):
    """A row of ways_table: the seeds of one way in one pair. columns: those beside its BLEU."""
    pair, way = own[0]["pair"], own[0]["way"]
    mean, beside = beside_plain(own, [x for x in lines if x["pair"] == pair])
    paper = PAPER.get((pair, way))
    if mean and paper and mean * paper < 0:
        beside = f"**{beside}**"
    cells = [pair, f"`{NAMES.get(way, way)}`", mean_of(own)]
    cells += [beside, "" if paper is None else f"{paper:+.2f}"][:len(columns)]
    cells += [f"{statistics.mean(x['perplexity'] for x in own):.2f}",
              f"{statistics.mean(x['wall_s'] for x in own) / 60:.0f}"]
    return f"| {' | '.join(cells)} |"


def ways_table(lines):
    """BLEU by pair and way; where a pair has plain attention, beside it; then the paper's, if it has any."""
    columns = ["beside plain"] if any(x["way"] == plain_of(x["way"]) for x in lines) else []
    if columns and any((x["pair"], x["way"]) in PAPER for x in lines):
        columns.append("in the paper")
    yield f"| pair | {' | '.join(['way', 'BLEU (seeds)', *columns, 'perplexity', 'minutes'])} |"
    yield "|---|---|---|---|---|" + "---|" * len(columns)
    for pair, way in dict.fromkeys((x["pair"], x["way"]) for x in lines):
        yield row([x for x in lines if (x["pair"], x["way"]) == (pair, way)], lines, columns)
    signatures = dict.fromkeys((x["pair"], x["signature"].partition("|version:")[0]) for x in lines)
    told = []
    for signature in dict.fromkeys(name for _, name in signatures):
        of = [pair for pair, name in signatures if name == signature]
        told.append(f"Signature of {', '.join(of)}: `{signature}`")
    yield f"\n{'; '.join(told)}"


def window_gains(lines):
    """By the width of a window: BLEU above attention to the whole sentence."""
    gains = {x["way"].partition("window ")[2]: beside_plain([x], lines)[0] for x in lines}
    return {int(width): gain for width, gain in gains.items() if width.isdigit() and gain is not None}


def ngram_table(lines):
    """Gaps to plain of the same seed by the length of n-grams: means over the seeds, and in how many of
    them the gap has a p below 0.05."""
    found = {key(x): x for x in lines if x.get("ngrams")}
    for pair, way in dict.fromkeys((pair, way) for pair, way, _ in found if way != plain_of(way)):
        both = [(x, found[pair, plain_of(way), seed]) for (p, w, seed), x in found.items()
                if (p, w) == (pair, way) and (pair, plain_of(way), seed) in found]
        if not both:
            continue
        gaps = [[a - b for a, b in zip(x["ngrams"], plain["ngrams"])] for x, plain in both]
        with_p = [x["p"] for x, _ in both if x.get("p")]
        below = [f" ({sum(p < 0.05 for p in column)}/{len(column)})" for column in zip(*with_p)] or [""] * 8
        yield (f"| {pair} | `{NAMES.get(way, way)}` | {len(gaps)} | "
               + " | ".join(f"{statistics.mean(gap):+.2f}{b}" for gap, b in zip(zip(*gaps), below)) + " |")


BEST = """
## Translation: a size that suits Multi30k

English to German (raw text, 8,000 joint merges), default seed, two cores:

<!-- not run: needs data multi30k/raw, minutes; whole it takes hours -->
```console
$ clattn train examples/configs/nmt-csan2d.json --set data=multi30k/raw --out runs/m
$ clattn translate --model runs/m --beam 4 < test_2016_flickr.en | clattn score bleu --ref test_2016_flickr.de
```

2,347,264 parameters, 2,800 steps and 26 minutes give a dev perplexity of 5.58 and a BLEU of 38.26 on test_2016_flickr (13a, cased); the
mean of the states of the last four evaluations (2,200 to 2,800) gives 38.28. Beside a PyTorch Transformer of the size and schedule of
`nmt-plain.json`, greedy: 29.55 (30.4) after 1,230 steps, 32.78 (31.2) after 1,476, both means of two seeds; 34.19 (33.3) after 1,722, one seed."""
HEAD = """
## Translation: BLEU for each way of attending

Multi30k, English to German, raw text, 8,000 joint merges; D128, 4 layers, dropout 0.1; 2,500 steps of 1,024 pieces (six epochs); beam 4,
test_2016_flickr, sacreBLEU 13a. Fixed in advance: seeds 42 to 44 for `plain`, `csan1d` and `csan2d`. The other ways have one seed here
(`reproduction/tables/translation-ways.csv`) and two in the annealed schedule below.
BLEU is a mean ± deviation, with each seed. "Beside plain" is the mean difference to `plain` of the same seeds, with
its standard errors; bold where its sign is not the paper's. The paper's column is Table 1 of Yang et al. 2019 (base, WMT14;
plain has 27.31).
"""
COMMAND = """
The first line's command: `{command}`
"""
OTHERS = """
### Other languages

Steps and sizes are those above, seeds 42 to 44; for Japanese to English they were fixed in advance, for Chinese to English after
seed 42 was seen. Japanese and the English beside it are scored on the corpus's own tokens (multi-bleu), Chinese to English by 13a.
Japanese to English is scored on 1,000 pairs that were split off before training, the others on dev: these corpora have no test file. The
paper's column is its Table 2 (base, WMT17 and WAT17; plain has 24.13 and 28.10).
"""
NGRAMS = """
### By the length of n-grams

Brevity penalty times the precision of n-grams: percent of `plain`'s of the same seed above it, a mean over the seeds, as the
paper's Fig. 3 measures. There the gap grows with n, and here, but for `csan1d` into German. Points, and the seeds with a p below 0.05, are in `reproduction/tables/translation-ngrams.csv`.
"""
GAPS_PICTURE = "\n![What csan2d gains in n-grams of 1 to 5 words, in percent: it grows; bands: one standard deviation over seeds](pictures/ngrams.svg)"
N_TITLES = " | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |"
N_HEAD = f"""| pair | way | seeds{N_TITLES}
|---|---|---|---|---|---|---|---|---|---|---|"""
ENDS = """
### At the end of an annealed schedule

Eight heads, 2,500 steps, the rate falling to 0 over the last 1,000, and the mean of the last four states
(`{sets}`, `clattn average --last 4`). Fixed in advance: three seeds of `plain` and windows, two of
the others (`rel_pos_heads`: a table a head). A BLEU of 1, in the sample of WMT14, says little.
The ways that give words an order, `bi_direct`, `rel_pos_encoder`, `neighbor_predicted` and `conv`, gain more than windows in Multi30k,
and less in the paper.
"""
STUDY = """
### Windows and heads

1D by window, then 2D by heads under windows of 11, beside `plain`, on val, seed 42: after 1,000 steps, and annealed as above. Short
windows gain most: 2.6 and 1.9 BLEU with 3 positions, hardly anything from 13 on. In the paper 11 is best, of longer sentences. Three to
seven heads gain 0.7 to 0.9 over one; in the paper three are best. All are in `reproduction/tables/translation-windows.csv`.

![BLEU above plain attention by the width of the window: best at 3, falling to zero at 13](pictures/windows.svg)
"""
GAINS = """BLEU beside `plain` of the same seeds, standard errors in brackets; bold where its sign is not the paper's. Each seed
is in `reproduction/tables/translation-annealed.csv`.
"""


def gains_table(lines):
    """What each way gains over plain attention, a column a pair."""
    pairs = list(dict.fromkeys(x["pair"] for x in lines))
    yield f"| way | {' | '.join(pairs)} | in the paper |"
    yield "|---|---|" + "---|" * len(pairs)
    for way in dict.fromkeys(x["way"] for x in lines):
        cells = []
        for pair in pairs:
            of_pair = [x for x in lines if x["pair"] == pair]
            own = [x for x in of_pair if x["way"] == way]
            mean, beside = beside_plain(own, of_pair) if own else (None, "")
            if own and way == "plain":
                beside = f"BLEU {results_means.mean([x['bleu'] for x in own])}"
            paper = PAPER.get((pair, way))
            cells.append(f"**{beside}**" if mean and paper and mean * paper < 0 else beside)
        _, _, _, paper = WAYS[way]
        yield f"| `{NAMES.get(way, way)}` | {' | '.join(cells)} | {f'{paper:+.2f}' if paper else ''} |"


def in_order(store, table):
    """The finished cells of a table in the order of its plan."""
    places = {key(line): place for place, line in enumerate(TABLES[table]())}
    return sorted(store.lines(table), key=lambda line: places.get(key(line), len(places)))


def annealed_parts(store):
    """The annealed runs: ways of attending in their pairs, and the study of windows and heads."""
    lines = in_order(store, "nmt-annealed")
    return [x for x in lines if x["way"] in WAYS], [x for x in lines if x["way"] not in WAYS]


def gaps(lines):
    """(pair, way, seeds, means by n): gaps of n-grams of windows to plain of the same seed, in percent of it."""
    found = {key(x): x for x in lines if x.get("ngrams")}
    for pair, way in dict.fromkeys((pair, way) for pair, way, _ in found if way in WINDOWS):
        both = [(x, found[pair, "plain", seed]) for (p, w, seed), x in found.items()
                if (p, w) == (pair, way) and (pair, "plain", seed) in found]
        each = [[(a / b - 1) * 100 for a, b in zip(x["ngrams"], plain["ngrams"]) if b] for x, plain in both]
        if each:
            yield pair, way, len(each), [statistics.mean(column) for column in zip(*each)]


def gaps_table(stores):
    """The gaps of (name, lines), a row each."""
    for name, lines in stores:
        for pair, way, seeds, means in gaps(lines):
            cells = [f"{mean:+.1f}" for mean in means] + [""] * (8 - len(means))
            yield f"| {pair}{name} | `{way}` | {seeds} | " + " | ".join(cells) + " |"


def page(store):
    yield BEST
    lines = in_order(store, "nmt")
    if lines:
        yield HEAD
        yield from ways_table([x for x in lines if x["way"] in ("plain", *WINDOWS)])
        yield COMMAND.format(command=lines[0]["command"])
    ways, study = annealed_parts(store)
    grams = list(gaps_table((("", lines), ("", in_order(store, "nmt-pairs")),
                             (", annealed", [x for x in ways if x["pair"] != "wmt-en-de"]))))
    if grams:
        yield NGRAMS
        yield N_HEAD
        yield from grams
        yield GAPS_PICTURE
    if store.lines("nmt-pairs"):
        yield OTHERS
        yield from ways_table(in_order(store, "nmt-pairs"))
    if ways:
        yield ENDS.format(sets=" ".join(f"--set {s}" for s in ANNEALED)) + GAINS
        yield from gains_table(ways)
    if study:
        yield STUDY


def tables(store):
    """All ways; n-grams of ways, windows and heads in points; the studies of windows and heads."""
    ways, study = annealed_parts(store)
    first, pairs = in_order(store, "nmt"), in_order(store, "nmt-pairs")
    short = in_order(store, "nmt-windows")
    named = [*short, *(dict(x, pair=f"{x['pair']}, annealed") for x in study)]
    return {"translation-ways": [row for row in ways_table(first) if row.startswith("|")],
            "translation-annealed": [row for row in ways_table(ways) if row.startswith("|")],
            "translation-windows": [row for row in ways_table(named) if row.startswith("|")],
            "translation-ngrams": [*N_HEAD.split("\n"), *ngram_table(pairs), *ngram_table(ways), *ngram_table(study)]}
