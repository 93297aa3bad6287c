"""results_curves.py - pictures of the results page, drawn by `clattn plot`.

A curve of figures becomes the log of a run for the length of the drawing.
"""
import json
import os
import tempfile

import results_nmt
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


def pictures(store, root, run):
    """Draws each picture of which the store has curves."""
    _, means = results_tagger.dev_means(store.lines("tagger"), EPOCHS)
    by_epoch = {name: dict(enumerate(values, 1)) for name, values in means.items()}
    windows = {name: results_nmt.window_gains(store.lines(table))
               for name, table in (("1,000 steps", "nmt-windows"), ("2,500 steps, annealed", "nmt-annealed"))}
    for name, along, metric, curves in (
            ("tagger.svg", "epoch", "accuracy", by_epoch),
            ("windows.svg", "window", "BLEU above plain attention", windows)):
        if curves and all(curves.values()):
            draw(run, os.path.join(root, FOLDER, name), along, metric, curves)
