"""results_curves.py - pictures of the results page, drawn by `clattn plot`.

A curve of figures becomes the log of a run for the length of the drawing.
"""
import json
import os
import tempfile

import results_hard
import results_nmt
import results_poem
import results_reader
import results_tagger

EPOCHS = 12
FOLDER = os.path.join("reproduction", "pages", "pictures")


def draw(run, picture, along, metric, curves):
    """Draws {name: {place along the axis: value}} into the file picture."""
    with tempfile.TemporaryDirectory() as folder:
        for name, values in curves.items():
            os.mkdir(os.path.join(folder, name))
            with open(os.path.join(folder, name, "log.jsonl"), "w", encoding="utf-8") as log:
                for place, value in sorted(values.items()):
                    log.write(json.dumps({along: place, metric: value}) + "\n")
        run("plot", *curves, "--along", along, "--metric", metric, "--out", picture, cwd=folder)


def gaps(store):
    """What csan2d gains by the length of n-grams, in percent of plain's, up to 5: of longer ones there are few."""
    ways, _ = results_nmt.annealed_parts(store)
    of = {"": store.lines("nmt-pairs"), ", annealed": [x for x in ways if x["pair"] != "wmt-en-de"]}
    return {f"{pair}{name}": dict(enumerate(means[:5], 1))
            for name, lines in of.items() for pair, way, _, means in results_nmt.gaps(lines) if way == "csan2d"}


def depths(store):
    """F1 of cloze questions beside one level, by levels that begin with 0.9 for the first."""
    lines = store.lines("reader-cloze")
    curves = {}
    for network in results_reader.CLOZE_STEPS:
        for depth in (2, 5, 10, 20):
            own = [x for x in lines if (x["network"], x["depth"], x["start"]) == (network, depth, 0.9)]
            found = [a - b for a, b in results_reader.beside_pairs(own, lines)]
            if found:
                curves.setdefault(network, {1: 0.0})[depth] = sum(found) / len(found)
    return curves


def lengths(store):
    """BLEU of gates and of sequence rewards above their controls, by the most words of a group of English to
    German sentences; groups of 30 or more."""
    lines = {results_hard.key(x): x for x in store.lines("hard")}
    curves = {}
    for system, (control, _) in results_hard.CONTROLS.items():
        for seed in results_hard.SEEDS["en-de"]:
            both = [lines.get(("en-de", name, seed)) for name in (system, control)]
            for own, other in zip(*(x["lengths"] for x in both)) if all(both) else ():
                if own["words"] != "all" and own["sentences"] >= 30:
                    most = int(own["words"].split("-")[1])
                    curves.setdefault(system, {}).setdefault(most, []).append(own["bleu"] - other["bleu"])
    return {system: {most: sum(x) / len(x) for most, x in gains.items()} for system, gains in curves.items()}


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
            ("levels.svg", "levels", "F1 above one level", depths(store)),
            ("lengths.svg", "words at most", "BLEU above further training", lengths(store)),
            ("poems.svg", "levels", "BLEU-2, percent above one level", poems(store))):
        if curves and all(curves.values()):
            draw(run, os.path.join(root, FOLDER, name), along, metric, curves)
