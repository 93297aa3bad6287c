"""results_chinese.py - readers in Chinese by levels of attention: scores of characters."""
import functools
import json
import os
import statistics

import results_means

DRCD_HEAD = """
### Readers in Chinese

BiDAF, seeds 42 to 44: 900 steps on 80 % of the articles of DRCD's dev file (10 % are dev, 10 % test). Scores are of
characters, on the test articles and on the dev file of CMRC 2018, which has other articles, in simplified characters.
The depths differ by at most 0.4 F1 points, which is less than the seeds differ.

| levels | seeds | F1 | EM | BLEU-4 | ROUGE-L | CMRC: F1 | EM | BLEU-4 | ROUGE-L | minutes |
|---|---|---|---|---|---|---|---|---|---|---|"""
FIRST = "\nThe first line's command: `{command}`"
DRCD = tuple((of, name) for of in ("score", "cmrc") for name in ("f1_char", "em", "bleu4", "rouge_l"))
DUREADER_HEAD = """
DuReader's sample: 100 questions to train on and 100 in dev, with up to five passages each and answers in free
words; 300 steps, seeds 42 to 44. Behind the slash is the paper's figure, of a system that learned from the whole of
DuReader. A figure is bold where its difference to one level of the same seeds has another sign than in the paper.

A piece is the control: so many characters from a place at random of one of the passages. 100 questions teach no
reader to read: a piece of 100 characters scores above every depth. Depths differ by how much they write, which
BLEU-4 rewards up to the length of the references (110 characters on average).

| levels | seeds | BLEU-4 | ROUGE-L | characters of an answer | minutes |
|---|---|---|---|---|---|"""
DUREADER = (("score", "bleu4"), ("score", "rouge_l"), ("characters",))
PAPER = {1: (33.95, 44.20, None), 5: (34.79, 45.10, None), 10: (35.96, 47.33, None)}


def characters(line, out, run):
    """Mean length of a reader's answers to the questions of dev, without white space."""
    dev = os.path.join(line["data"], line["data_set"], "dev.jsonl")
    answers = json.loads(run("answer", "--model", out, "--squad", dev))
    return statistics.mean(len("".join(answer.split())) for answer in answers.values())


def by_seed(lines, column):
    """What stands in each line under the names of a column."""
    return {x["seed"]: functools.reduce(lambda found, name: found[name], column, x) for x in lines}


def minutes(lines):
    """The mean over the runs whose wall time is known."""
    known = [x["wall_s"] for x in lines if x["wall_s"]]
    return f"{statistics.mean(known) / 60:.0f}" if known else ""


def table(lines, columns, papers=None):
    """A row a depth; papers: the paper's figures of each depth."""
    ones = [x for x in lines if x["depth"] == 1]
    for depth in sorted({x["depth"] for x in lines}):
        own = [x for x in lines if x["depth"] == depth]
        shown = []
        for place, column in enumerate(columns):
            paper, paper_one = (papers[d][place] for d in (depth, 1)) if papers else (None, None)
            text = results_means.marked(by_seed(own, column), by_seed(ones, column), paper, paper_one)
            shown.append(f"{text} / {paper:.2f}" if paper else text)
        yield f"| {depth} | {len(own)} | {' | '.join(shown)} | {minutes(own)} |"


def piece_rows(pieces):
    for length in sorted({x["length"] for x in pieces}):
        own = [x for x in pieces if x["length"] == length]
        shown = [results_means.marked(by_seed(own, column), {}, None, None) for column in DUREADER[:2]]
        yield f"| a piece | {len(own)} | {' | '.join(shown)} | {length} | |"


def page(drcd, dureader, pieces):
    if drcd:
        yield DRCD_HEAD
        yield from table(drcd, DRCD)
        yield FIRST.format(**drcd[0])
    if dureader:
        yield DUREADER_HEAD
        yield from table(dureader, DUREADER, PAPER)
        yield from piece_rows(pieces)
        yield FIRST.format(**dureader[0])
