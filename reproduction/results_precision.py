"""results_precision.py - the table of precisions: do networks learn as well from rounded products?

A tagger, a translator and a reader are trained under each precision with the same seeds, which draw the same
parameters, batches and dropout. What differs is how products are rounded.
"""
import json
import os
import statistics

import results_criterion
import results_means
import results_nmt
import results_reader
import results_tagger

SEEDS = (42, 43, 44)
MORE = (45, 46, 47, 48, 49)  # of the tagger, whose first two seeds left the question open
PRECISIONS = ("highest", "high", "medium")
EPOCHS = 20
BINS = 25  # of a curve
SCORES = {"tagger": "accuracy", "translator": "BLEU", "reader": "F1"}


def tagger(seed):
    return results_tagger.tagger_cell("French-Spoken", "conv2d", seed, (f"epochs={EPOCHS}", "patience=0"))


def translator(seed):
    sets = (*results_nmt.ANNEALED, *results_nmt.WAYS["plain"][0])
    return dict(results_nmt.cell("en-de", "plain", seed, sets, 2500), mean=4)


def reader(seed):
    sets = (*results_reader.NO_TRAITS, "eval_every=250", "patience=0")
    return results_reader.cell("bidaf", 1, seed, results_reader.CLOZE, sets, results_reader.CLOZE_STEPS["bidaf"])


TASKS = {"tagger": tagger, "translator": translator, "reader": reader}


def cell(task, precision, seed):
    made = TASKS[task](seed)
    return {"task": task, "precision": precision, "seed": seed,
            **{name: made[name] for name in ("config", "mean") if name in made},
            "set": [*made["set"], f"precision={precision}"]}


def cells():
    for seed in SEEDS:
        for task in TASKS:
            for precision in PRECISIONS:
                yield cell(task, precision, seed)
    for seed in MORE:
        for precision in ("highest", "medium"):
            yield cell("tagger", precision, seed)


PAGE = "precision"
TABLES = {"precision": lambda: list(cells())}


def key(line):
    return line["task"], line["precision"], line["seed"]


def curve(out):
    """Mean losses of training by the last step of each of BINS parts of the log."""
    with open(os.path.join(out, "log.jsonl"), encoding="utf-8") as lines:
        losses = [(row["step"], row["loss"]) for row in map(json.loads, lines) if "loss" in row]
    parts = [losses[len(losses) * i // BINS:len(losses) * (i + 1) // BINS] for i in range(BINS)]
    return {part[-1][0]: round(statistics.mean(loss for _, loss in part), 4) for part in parts if part}


def score(line, out, run):
    """The score of the task on what the other tables score it on, and the curve of the loss."""
    if line["task"] == "translator":
        found = results_nmt.score(dict(translator(line["seed"]), data=line["data"]), out, run)["bleu"]
    else:
        split = "test" if line["task"] == "tagger" else "dev"
        told_of = json.loads(run("eval", "--model", out, "--split", split, "--json"))
        found = told_of[SCORES[line["task"]].lower()]
    return {"score": round(found, 4), "curve": curve(out)}


def told(line):
    return f"{SCORES[line['task']]} {line['score']:.2f}"


HEAD = f"""# Precisions

Do networks learn as well when products are rounded ([precision](../../docs/precision.md))? Each of three
tasks is trained under each precision with the seeds {', '.join(map(str, SEEDS))}: a tagger with convolved maps
(French-Spoken, {EPOCHS} epochs, accuracy on test), a translator (Multi30k English to German, the annealed schedule
of [translation](translation.md), BLEU on test_2016_flickr), a reader (BiDAF, one level, the cloze questions of
[reading](reading.md), F1 on dev). Fixed in advance: these seeds, steps, no early stop, the best state counts (of the
translator the mean of the last four). After two seeds of the tagger were seen, five more were planned for it, of
`highest` and `medium`. Control: `highest`, with the same seeds, so with the same first
parameters, batches and dropout. Where a processor has no matrix unit, the roundings and the bits of `medium` are
the same; under `high` products are float32 there. Cells ran beside other work: their times do not compare."""
ROWS = """
| task | precision | score (seeds) | beside `highest` | its 95 % interval | loss at the end |
|---|---|---|---|---|---|"""
CURVES = """
"Beside" is the difference of the means, in brackets in standard errors of that difference; the interval is
that of the differences by seed. The loss is that of the last twenty-fifth of the steps, with dropout. Cells so
far: {done} of {count}. No run diverged.
"""
PICTURE = "![The {task}'s loss at each precision by steps; bands: one standard deviation over seeds](pictures/precision-{task}.svg)"


def of(lines, task, precision):
    """The lines of a cell by seed."""
    return {line["seed"]: line for line in lines if (line["task"], line["precision"]) == (task, precision)}


def row(lines, task, precision):
    own, base = of(lines, task, precision), of(lines, task, "highest")
    scores = [line["score"] for line in own.values()]
    both = sorted(set(own) & set(base))
    beside = interval = ""
    if precision != "highest" and both:
        pairs = [[found[seed]["score"] for seed in both] for found in (own, base)]
        beside = results_means.beside(*pairs)
        half = results_criterion.Comparison("", [a - b for a, b in zip(*pairs)]).half()
        interval = "" if half is None else f"±{half:.2f}"
    each = ", ".join(f"{score:.2f}" for score in scores)
    loss = statistics.mean(list(line["curve"].values())[-1] for line in own.values())
    return f"| {task} | `{precision}` | {results_means.mean(scores)} ({each}) | {beside} | {interval} | {loss:.3f} |"


def page(store):
    lines = store.lines("precision")
    yield HEAD
    if not lines:
        yield "\nNo cell has been run yet: `reproduction/results.sh precision DATA build`."
        return
    yield ROWS
    for task in TASKS:
        for precision in PRECISIONS:
            if of(lines, task, precision):
                yield row(lines, task, precision)
    yield CURVES.format(done=len(lines), count=len(list(cells())))
    for task in curves(store):
        yield PICTURE.format(task=task)
    yield f"\nThe first line's command: `{lines[0]['command']}`"


def curves(store):
    """{task: {precision: losses by step, a curve a seed}} of what is drawn and has all precisions; the
    tagger's curves cannot be told apart."""
    lines = store.lines("precision")
    found = {}
    for task in ("translator", "reader"):
        own = {precision: [{int(step): loss for step, loss in line["curve"].items()}
                           for line in of(lines, task, precision).values()] for precision in PRECISIONS}
        if all(own.values()):
            found[task] = own
    return found


def tables(_):
    """All its rows are on the page."""
    return {}
