"""results_chinese.py - readers in Chinese by levels of attention: scores of characters."""
import statistics

import results_tagger

DRCD_HEAD = """
### Readers in Chinese

BiDAF, seeds 42 to 44: 900 steps on 80 % of the articles of DRCD's dev file (10 % are dev, 10 % test). Scores are of
characters, on the test articles and on the dev file of CMRC 2018, which has other articles, in simplified characters.

| levels | seeds | F1 | EM | BLEU-4 | ROUGE-L | CMRC: F1 | EM | BLEU-4 | ROUGE-L | minutes |
|---|---|---|---|---|---|---|---|---|---|---|"""
DRCD = tuple((of, name) for of in ("score", "cmrc") for name in ("f1_char", "em", "bleu4", "rouge_l"))
DUREADER_HEAD = """
DuReader's sample: 100 questions to train on and 100 in dev, with up to five passages each and answers in free
words; 300 steps, seeds 42 to 44. Behind the slash is the paper's figure, of a system that learned from the whole of
DuReader. A figure is bold where its difference to one level of the same seeds has another sign than in the paper.

| levels | seeds | BLEU-4 | ROUGE-L | minutes |
|---|---|---|---|---|"""
DUREADER = (("score", "bleu4"), ("score", "rouge_l"))
PAPER = {1: (33.95, 44.20), 5: (34.79, 45.10), 10: (35.96, 47.33)}


def by_seed(lines, depth, column):
    of, name = column
    return {x["seed"]: x[of][name] for x in lines if x["depth"] == depth}


def minutes(lines):
    """The mean over the runs whose wall time is known."""
    known = [x["wall_s"] for x in lines if x["wall_s"]]
    return f"{statistics.mean(known) / 60:.0f}" if known else ""


def table(lines, columns, papers):
    for depth in sorted({x["depth"] for x in lines}):
        own = [x for x in lines if x["depth"] == depth]
        shown = []
        for column, (paper, paper_one) in zip(columns, papers(depth)):
            text = results_tagger.marked_mean(by_seed(lines, depth, column), by_seed(lines, 1, column), paper, paper_one)
            shown.append(f"{text} / {paper:.2f}" if paper else text)
        yield f"| {depth} | {len(own)} | {' | '.join(shown)} | {minutes(own)} |"
    yield f"\nThe first line's command: `{lines[0]['command']}`"


def page(drcd, dureader):
    if drcd:
        yield DRCD_HEAD
        yield from table(drcd, DRCD, lambda depth: [(None, None)] * len(DRCD))
    if dureader:
        yield DUREADER_HEAD
        yield from table(dureader, DUREADER, lambda depth: zip(PAPER[depth], PAPER[1]))
