"""results_check.py - which cells of the tables are there, and whether the pages say what they say.

Reports each cell that is planned: its commit, seed, command and wall time, or that it is
missing, with the reason where there is one. What is missing without a reason is an error.
"""
import collections
import os
import re
import statistics
import subprocess

UNDEFINED = {  # tables that have no cells yet: why, None where nothing keeps them from being run
    "tagger, Penn Treebank geometry and parameters": None,
    "translation, WMT14 sample, 8 heads, preset csan": None,
    "translation, annealed windows 1 to 15 and heads 1 to 7": None,
    "translation, n-grams of plain against csan": None,
    "translation, base models for eight hours each": "24 hours of training",
    "hard attention, no warm start, and a test set of long sentences": None,
    "levels, pre-trained vectors and trained attention, depths 1 to 20": None,
    "levels, DuReader form, DRCD and CMRC with three seeds": None,
    "levels, poems of five epochs, dot score, planned keywords": None,
    "levels, layout of MS MARCO": None,
}
REASONS = (  # table, name of a cell, why it may be missing
    ("tagger-5-epochs", ".*", "the tagger's runs log dev accuracy on the way"),
)
UNTIMED = {  # commits whose runs were kept and scored later: no wall time
    ("hard", "697f909"), ("hard", "4898cc1"), ("reader", "f04a2c7"),
}


def in_history(root, name, known):
    """Whether HEAD comes from the commit; one with a + had changes that no commit has."""
    if name not in known:
        known[name] = "+" not in name and not subprocess.run(
            ["git", "merge-base", "--is-ancestor", name, "HEAD"], cwd=root, check=False,
            capture_output=True).returncode
    return known[name]


def faults(table, line, root, known):
    """What a finished line lacks."""
    if not in_history(root, line.get("commit", "+"), known):
        yield f"commit {line.get('commit')} is not in the history"
    if not line.get("command"):
        yield "no command"
    if not line.get("wall_s") and (table, line.get("commit")) not in UNTIMED:
        yield "no wall time"


def reason(table, name):
    return next((why for t, cells, why in REASONS if t == table and re.fullmatch(cells, name)), None)


def cells(tables, store, root):
    """Prints a line for each table and for what it lacks; gives the number of errors."""
    errors, known = 0, {}
    for table, system in tables.items():
        done = {system.key(line): line for line in store.lines(table)}
        lacking = collections.Counter()
        planned = system.TABLES[table]()
        for cell in planned:
            name = "/".join(str(part) for part in system.key(cell))
            line = done.get(system.key(cell))
            if not line:
                why = reason(table, name)
                errors += not why
                lacking[why or "no reason"] += 1
                if not why:
                    print(f"{table}: {name} is missing")
        for key, line in done.items():
            for fault in faults(table, line, root, known):
                errors += 1
                print(f"{table}: {'/'.join(str(part) for part in key)}: {fault}")
        there = sum(system.key(cell) in done for cell in planned)
        rest = "".join(f"; {n} missing: {why}" for why, n in lacking.items())
        print(f"{table}: {there} of {len(planned)} cells{rest}")
    for table, why in UNDEFINED.items():
        errors += not why
        print(f"{table}: no cells yet: {why or 'no reason'}")
    return errors


def mean(lines, value, **wanted):
    return statistics.mean(value(x) for x in lines
                           if all(x[name] == what for name, what in wanted.items()))


def beside_plain(lines, way):
    """The mean difference to plain of the same seeds, as the page has it."""
    plain = {x["seed"]: x["bleu"] for x in lines if x["way"] == "plain"}
    return statistics.mean(x["bleu"] - plain[x["seed"]] for x in lines
                           if x["way"] == way and x["seed"] in plain)


def figures(store):
    """Sentences of README.md as the store has them."""
    tagger = [x for x in store.lines("tagger") if x["variant"] == "conv2d"]
    by_bank = {x["bank"]: x["paper"] for x in tagger}
    here = {bank: mean(tagger, lambda x: x["score"]["accuracy"], bank=bank) for bank in by_bank}
    apart = max(abs(here[bank] - paper) for bank, paper in by_bank.items())
    seeds = {sum(x["bank"] == bank for x in tagger) for bank in by_bank}
    yield (f"{min(here.values()):.1f} to {max(here.values()):.1f} % accuracy "
           + {1: "(one seed), ", 2: "(means of two seeds or more), ",
              3: "(means of three seeds), "}.get(min(seeds), "")
           + f"each within {apart:.1f} of the published figure")
    nmt = store.lines("nmt")
    yield (f"gain {beside_plain(nmt, 'csan1d'):.2f} and {beside_plain(nmt, 'csan2d'):.2f} BLEU "
           "over plain attention")
    reader = [x for x in store.lines("reader") if x["data_set"] == "squad_v1.1" and x["depth"] == 1]
    yield (f"reaches F1 {mean(reader, lambda x: x['score']['f1'], network='match_lstm'):.1f} "
           "after 600 steps (mean of three seeds) and BiDAF "
           f"{mean(reader, lambda x: x['score']['f1'], network='bidaf'):.1f} after 2,100")
    poem = next(x for x in store.lines("poem") if x["depth"] == 1)
    yield f"perplexity per character is {poem['score']['perplexity_7']:.1f} on quatrains of seven"


def pages(store, root, rendered):
    """Compares README.md with the store, and docs/results.md with what it renders to."""
    errors = 0
    with open(os.path.join(root, "README.md"), encoding="utf-8") as page:
        text = " ".join(page.read().split())
    for sentence in figures(store):
        if sentence not in text:
            errors += 1
            print(f"README.md does not say: {sentence}")
    with open(store.folder + ".md", encoding="utf-8") as page:
        if page.read() != rendered:
            errors += 1
            print("docs/results.md is not what the store renders to: tools/results.sh render")
    return errors
