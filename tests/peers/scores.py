#!/usr/bin/env python3
"""scores.py - compares scores with the programs that define them

    scores.py CLATTN SEED

sacrebleu: BLEU with each tokenizer, chrF2. pycocoevalcap: ROUGE-L of each line, with
blanks of all kinds: as it is, or cut by sacrebleu's tokenizers; the characters of char are
without blanks, as DuReader's. On random text; prints counts and exits
with 1 when something differs.
"""
import json
import sys

import sacrebleu
from pycocoevalcap.rouge.rouge import Rouge

from peer import Tally, clattn, rounds, write_lines

LETTERS = "aabcdeeflmnorst" + "éÜß漢字文мир" + "0123" + ".,-'$%&/()!?:;«»“”"
TOKENIZERS = ("none", "13a", "intl", "char", "zh")
# A blank is more likely than another sign, so that lines have words.
BLANKS = [*" " * 12, "  ", "\u00a0", "\u3000", "\u2009", "\x1c", "\x85", "\u2028", "\x0b"]
SIGNS = [*"ab" * 4, *"AΣÉ1.,-!&;。，中İ한", "&quot;", "<skipped>", *BLANKS]
ROUNDS, LINES = 25, 20


def line(draw, words):
    return " ".join(draw.choices(words, k=draw.randint(1, 15)))


def noisy(draw, text, words):
    return " ".join(w if draw.random() < 0.7 else draw.choice(words) for w in text.split())


class Corpus:
    """Random lines and references in files."""

    def __init__(self, program, draw, folder):
        self.program, self.folder = program, folder
        words = ["".join(draw.choices(LETTERS, k=draw.randint(1, 7))) for _ in range(60)]
        self.refs = [line(draw, words) for _ in range(LINES)]
        self.hyps = [noisy(draw, r, words) for r in self.refs]
        write_lines(folder / "ref", self.refs)
        write_lines(folder / "hyp", self.hyps)

    def score(self, verb, *arguments):
        said = clattn(self.program, "score", verb, "--json", "--ref", self.folder / "ref",
                      "--hyp", self.folder / "hyp", *arguments)
        return json.loads(said.splitlines()[0])["score"]

    def compare(self, tally, number):
        for kind in TOKENIZERS:
            theirs = sacrebleu.corpus_bleu(self.hyps, [self.refs], tokenize=kind).score
            tally.compare(f"bleu {kind}", self.score("bleu", "--tokenize", kind), theirs,
                          f"round {number}")
        theirs = sacrebleu.corpus_chrf(self.hyps, [self.refs]).score
        tally.compare("chrf", self.score("chrf"), theirs, f"round {number}")


def blanks(draw):
    return "".join(draw.choices(SIGNS, k=draw.randint(0, 12)))


def cut(kind, lower, text):
    """What the caption scorer is given of a line; it splits that at single blanks."""
    text = text.lower() if lower else text
    if kind == "none":
        return text
    if kind == "char":
        return " ".join("".join(text.split()))
    bleu = sacrebleu.BLEU(tokenize=kind, force=True)
    return " ".join(bleu.tokenizer(text.rstrip()).split())


def rouge(program, tally, number, draw, folder):
    """ROUGE-L of lines that may be empty; the references of a line stand between tabs."""
    hyps = [blanks(draw) for _ in range(LINES)]
    refs = [[blanks(draw) for _ in range(draw.randint(1, 3))] for _ in hyps]
    refs = [[h, *r] if draw.random() < 0.2 else r for h, r in zip(hyps, refs)]
    write_lines(folder / "ref", ["\t".join(row) for row in refs])
    write_lines(folder / "hyp", hyps)
    for kind in TOKENIZERS:
        lower = draw.random() < 0.5
        said = clattn(program, "score", "rougel", "--json", "--sentence", "--tokenize", kind,
                      "--ref", folder / "ref", "--hyp", folder / "hyp",
                      *["--lowercase"] * lower)
        ours = [json.loads(row)["score"] for row in said.splitlines()]
        for i, (hyp, row) in enumerate(zip(hyps, refs)):
            golds = [cut(kind, lower, r) for r in row]
            theirs = 100 * float(Rouge().calc_score([cut(kind, lower, hyp)], golds))
            tally.compare(f"rouge-l {kind}", ours[i], theirs,
                          f"round {number}, {'lower case, ' * lower}{hyp!r} for {row!r}")


def main():
    program, tally = sys.argv[1], Tally(sys.argv[2])
    for number, draw, folder in rounds(tally, ROUNDS):
        Corpus(program, draw, folder).compare(tally, number)
        rouge(program, tally, number, draw, folder)
    tally.finish()


if __name__ == "__main__":
    main()
