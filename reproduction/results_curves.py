"""results_curves.py - pictures of the results page, drawn by `clattn plot`.

A curve of figures becomes the log of a run for the length of the drawing.
"""
import json
import os
import tempfile

import results_nmt
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
            ("levels.svg", "levels", "F1 above one level", depths(store))):
        if curves and all(curves.values()):
            draw(run, os.path.join(root, FOLDER, name), along, metric, curves)
