"""results_curves.py - pictures of the pages, drawn by `clattn plot`.

A curve of figures becomes the log of a run for the length of the drawing, and a curve of several seeds
a log each: `clattn plot --seeds` draws their mean in a band of one standard deviation to each side.
"""
import json
import os
import statistics
import tempfile

import results_gates
import results_hard
import results_nmt
import results_poem
import results_precision
import results_reader
import results_tagger
import results_windows

EPOCHS = 12
FOLDER = os.path.join("reproduction", "pages", "pictures")


def draw(run, picture, along, metric, curves):
    """Draws {name: {place along the axis: value}, or a list of such, one a seed} into the file picture."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, seeds in curves.items():
            for number, values in enumerate(seeds if isinstance(seeds, list) else [seeds]):
                names.append(f"{name} {number}" if number else name)  # the first one names the mean
                own = os.path.join(folder, names[-1])
                os.mkdir(own)
                with open(os.path.join(own, "config.json"), "w", encoding="utf-8") as config:
                    json.dump({"curve": name}, config)
                with open(os.path.join(own, "log.jsonl"), "w", encoding="utf-8") as log:
                    for place, value in sorted(values.items()):
                        log.write(json.dumps({along: place, metric: value}) + "\n")
        run("plot", "--seeds", *names, "--along", along, "--metric", metric, "--out", picture, cwd=folder)


def gaps(store):
    """What csan2d gains by the length of n-grams, in percent of plain's, up to 5: of longer ones there are few; a
    curve a seed."""
    ways, _ = results_nmt.annealed_parts(store)
    of = {"": store.lines("nmt-pairs"), ", annealed": [x for x in ways if x["pair"] != "wmt-en-de"]}
    curves = {}
    for name, lines in of.items():
        for seed in dict.fromkeys(x["seed"] for x in lines):
            for pair, way, _, gained in results_nmt.gaps([x for x in lines if x["seed"] == seed]):
                if way == "csan2d":
                    curves.setdefault(f"{pair}{name}", []).append(dict(enumerate(gained[:5], 1)))
    return curves


def depths(store):
    """F1 of cloze questions beside one level, by levels that begin with 0.9 for the first; a curve a seed."""
    lines = store.lines("reader-cloze")
    curves = {}
    for network in results_reader.CLOZE_STEPS:
        own = {(x["depth"], x["seed"]): x["score"]["f1"] for x in lines
               if x["network"] == network and x["start"] in (None, 0.9)}
        seeds = sorted(seed for depth, seed in own if depth == 1)
        if seeds:
            curves[network] = [{depth: own[depth, seed] - own[1, seed] for depth in (1, 2, 5, 10, 20)
                                if (depth, seed) in own} for seed in seeds]
    return curves


def lengths(store):
    """BLEU of gates and of sequence rewards above their controls, by the most words of a group of English to
    German sentences, a curve a seed; groups of 30 or more."""
    lines = {results_hard.key(x): x for x in store.lines("hard")}
    curves = {}
    for system, (control, _) in results_hard.CONTROLS.items():
        for seed in results_hard.SEEDS["en-de"]:
            both = [lines.get(("en-de", name, seed)) for name in (system, control)]
            if all(both):
                curves.setdefault(system, []).append({
                    int(own["words"].split("-")[1]): own["bleu"] - other["bleu"]
                    for own, other in zip(*(x["lengths"] for x in both))
                    if own["words"] != "all" and own["sentences"] >= 30})
    return curves


def letters(store):
    """Words that are right where gates alone read the source, by the most words of a sentence: further soft
    training, gates without rewards and gates by their baseline; a curve a seed that has all lengths."""
    lines = [x for x in store.lines("gates-words") if x["layers"] == 1]
    curves = {}
    for system in ("soft_on", "no_reward", "none", "batch_mean", "learned"):
        right = {(x["data_set"], x["seed"]): x["right"] for x in lines if x["system"] == system}
        found = [{most: right[data, seed] for data, (_, most) in results_gates.DATA.items()}
                 for seed in results_gates.SEEDS if all((data, seed) in right for data in results_gates.DATA)]
        if found:
            curves[system] = found
    return curves


def localities(store):
    """Accuracy of taggers above `pe_add` by the words that a window or a filter spans, a curve a seed: means over
    the treebanks where that seed has both controls and every size of a window that is drawn."""
    lines = store.lines("tagger-windows")
    of = {results_windows.key(x): x["score"]["accuracy"] for x in lines}
    shapes = {"window": {n: f"window_{n}" for n in results_windows.SIZES},
              "filter of convolved maps": {n: f"filter_{n}" if n != 3 else "conv2d" for n in results_windows.SIZES}}
    ran = {x["variant"] for x in lines}
    wanted = ran.intersection({"pe_add", "conv2d", *shapes["window"].values()})
    places = {seed: [bank for bank in results_tagger.TREEBANKS if all((bank, way, seed) in of for way in wanted)]
              for seed in results_windows.SEEDS} if {"pe_add", "conv2d"} < wanted else {}
    curves = {}
    for seed, banks in places.items():
        for name, ways in shapes.items() if banks else ():
            curves.setdefault(name, []).append({
                n: statistics.mean(of[bank, way, seed] - of[bank, "pe_add", seed] for bank in banks)
                for n, way in ways.items() if all((bank, way, seed) in of for bank in banks)})
    drawn = {n for own in curves.values() for values in own for n in values}
    return curves and {**curves, "pe_add": dict.fromkeys((min(drawn), max(drawn)), 0.0)}


def poems(store):
    """BLEU-2 in percent above one level, by levels, and the paper's."""
    curves = {"paper": {depth: sum(x[3] for x in of) for depth, of in results_poem.PAPER.items()}}
    for name, lines in results_poem.by_score(store.lines("poem-epochs")).items():
        curves[name] = {x["depth"]: x["score"]["bleu2_5"] + x["score"]["bleu2_7"] for x in lines}
    return {name: {depth: (x / of[1] - 1) * 100 for depth, x in of.items()} for name, of in curves.items() if 1 in of}


def pictures(store, root, run):
    """Draws each picture of which the store has curves."""
    _, means = results_tagger.dev_means(store.lines("tagger"), EPOCHS)
    by_epoch = {name: dict(enumerate(values, 1)) for name, values in means.items()}
    windows = {name: results_nmt.window_gains(store.lines(table))
               for name, table in (("1,000 steps", "nmt-windows"), ("2,500 steps, annealed", "nmt-annealed"))}
    for name, along, metric, curves in (
            ("tagger.svg", "epoch", "accuracy", by_epoch),
            ("windows.svg", "window", "BLEU above plain attention", windows),
            ("ngrams.svg", "n", "percent above plain attention", gaps(store)),
            ("locality.svg", "words of a window or filter", "points of accuracy above pe_add", localities(store)),
            ("letters.svg", "words of a sentence at most", "percent of words right", letters(store)),
            ("levels.svg", "levels", "F1 above one level", depths(store)),
            ("lengths.svg", "words at most", "BLEU above further training", lengths(store)),
            ("poems.svg", "levels", "BLEU-2, percent above one level", poems(store)),
            *((f"precision-{task}.svg", "step", "loss", by_precision)
              for task, by_precision in results_precision.curves(store).items())):
        if curves and all(curves.values()):
            draw(run, os.path.join(root, FOLDER, name), along, metric, curves)
