"""results_curves.py - pictures of the results page, drawn by `clattn plot`.

A curve is a mean over runs by epoch, as in the papers' figures: each becomes the log of a
run for the length of the drawing.
"""
import json
import os
import tempfile

import results_tagger

EPOCHS = 12
FOLDER = os.path.join("docs", "pictures")


def draw(run, picture, metric, curves):
    """Draws {name: values by epoch} into the file picture."""
    with tempfile.TemporaryDirectory() as folder:
        for name, values in curves.items():
            os.mkdir(os.path.join(folder, name))
            with open(os.path.join(folder, name, "log.jsonl"), "w", encoding="utf-8") as log:
                for epoch, value in enumerate(values, 1):
                    log.write(json.dumps({"epoch": epoch, metric: value}) + "\n")
        run("plot", *curves, "--along", "epoch", "--metric", metric, "--out", picture, cwd=folder)


def pictures(store, root, run):
    """Draws each picture of which the store has curves."""
    _, curves = results_tagger.dev_means(store.lines("tagger"), EPOCHS)
    if curves:
        draw(run, os.path.join(root, FOLDER, "results-tagger.svg"), "accuracy", curves)
