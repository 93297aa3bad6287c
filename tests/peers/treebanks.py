#!/usr/bin/env python3
"""treebanks.py - compares what `clattn tag` writes with what the package conllu reads of it

    treebanks.py CLATTN MODEL SEED

Random files of CoNLL-U: comments, blocks of comments alone, multiword tokens, empty nodes,
CR LF, several blank lines, a last line without an end. conllu must read the same from input
and output except for the tags of words, which must be the model's. The lines must be the
same, too, with the ends of the input. Prints counts; exits with 1 when something differs.
"""
import json
import sys
from pathlib import Path

import conllu

from peer import Tally, clattn, rounds

ROUNDS, SENTENCES = 100, 8
LETTERS = "aeiouäßéñбд漢字'.,-=#|&;/"
VALUES = ["_", "_", "_", "VERB", "N-1", "Case=Nom|Number=Sing", "SpaceAfter=No", "x y", "a=b=c"]
COMMENTS = ["# sent_id = s{}", "# text = ein {} Satz", "# newpar", "# newdoc id = d{}", "#", "#{}",
            "# text_en = a # b = {}", "#  two   blanks {} ", "# 1\tlooks\tlike\ta\trow {}", "##{}"]


def word(draw):
    made = "".join(draw.choices(LETTERS, k=draw.randint(1, 6)))
    return f"{made} {made}" if draw.random() < 0.1 else made


def row(draw, number, head=True):
    """Ten columns; heads and the dependencies are what conllu takes for whole numbers."""
    heads = str(draw.randint(0, 9)) if head and draw.random() < 0.7 else "_"
    deps = f"{draw.randint(0, 9)}:nsubj|3.1:conj:und" if draw.random() < 0.3 else "_"
    return "\t".join([number, word(draw), word(draw), draw.choice(VALUES[:4]),
                      draw.choice(VALUES[:5]), draw.choice(VALUES[:6]), heads,
                      draw.choice(["_", "nsubj", "obl:arg"]), deps, draw.choice(VALUES)])


def comments(draw, most):
    picked = draw.sample(COMMENTS, draw.randint(0, most))
    return [c.format(draw.randint(1, 999)) for c in picked]


def sentence(draw):
    rows = comments(draw, 3)
    if draw.random() < 0.1:
        rows.append(row(draw, "0.1", head=False))
    for i in range(1, draw.randint(1, 12) + 1):
        if draw.random() < 0.1:
            rows.append(row(draw, f"{i}-{i + draw.randint(0, 2)}", head=False))
        if draw.random() < 0.1:
            rows += comments(draw, 1)
        rows.append(row(draw, str(i)))
        if draw.random() < 0.1:
            rows += [row(draw, f"{i}.{k + 1}", head=False) for k in range(draw.randint(1, 2))]
    return rows


def blocks(draw):
    """Lists of lines: sentences, and blocks of comments without a word."""
    for number in range(SENTENCES):
        if number and draw.random() < 0.15:
            yield comments(draw, 3) or ["# alone"]
        yield sentence(draw)
    if draw.random() < 0.3:
        yield ["# at the end"]


def file(draw):
    """A file, and what is to come of it but for the tags: one blank line behind a block."""
    parts, end = list(blocks(draw)), draw.choice(["\n", "\r\n"])
    blank = [end, end, end, end * 3, f" \t{end}"]
    given = "".join("".join(f"{line}{end}" for line in part) + draw.choice(blank) for part in parts)
    wanted = "".join("".join(f"{line}{end}" for line in part) + end for part in parts)
    given = draw.choice(["", "", "", end, "\ufeff"]) + given
    return given.rstrip("\r\n\t ") if draw.random() < 0.2 else given, wanted, end


def without_tags(text, end, column, tags):
    """Lines with '?' for each tag, and the words whose tag is none of the model's."""
    lines, odd = [], []
    for line in text.split(end):
        columns = line.split("\t")
        if len(columns) == 10 and columns[0].isdecimal():
            odd += [] if columns[column] in tags else [line]
            columns[column] = "?"
        lines.append("\t".join(columns))
    return lines, odd


def readings(text, field):
    """What conllu reads of each sentence, and the sentence as it writes it."""
    for read in conllu.parse(text.removeprefix("\ufeff").replace("\r\n", "\n")):
        for token in read:
            if isinstance(token["id"], int):
                token[field] = "?"
        yield [dict(token) for token in read], dict(read.metadata), read.serialize()


def main():
    program, model, tally = sys.argv[1], Path(sys.argv[2]), Tally(sys.argv[3])
    config = json.loads((model / "config.json").read_text())
    field = config.get("column", "upos")
    column = {"upos": 3, "xpos": 4}[field]
    tags = {line.split("\t")[0] for line in (model / "tags.txt").read_text().split("\n")}
    for number, draw, _ in rounds(tally, ROUNDS):
        given, wanted, end = file(draw)
        ours = clattn(program, "tag", "--model", model, text=given)
        lines, odd = without_tags(ours, end, column, tags)
        every = tags | {c for line in wanted.split(end) for c in line.split("\t")}
        tally.compare("lines and their ends", lines,
                      without_tags(wanted, end, column, every)[0], f"round {number}")
        tally.compare("tags of the model", odd, [], f"round {number}")
        theirs, read = list(readings(given, field)), list(readings(ours, field))
        tally.compare("sentences", len(read), len(theirs), f"round {number}")
        for i, (our, their) in enumerate(zip(read, theirs)):
            where = f"round {number}, sentence {i}"
            for name, one, other in zip(("tokens", "metadata", "written again"), our, their):
                tally.compare(name, one, other, where)
    tally.finish()


if __name__ == "__main__":
    main()
