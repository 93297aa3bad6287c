#!/usr/bin/env python3
"""byte_pairs.py - compares byte pairs with subword-nmt: merges learned, and applied

    byte_pairs.py CLATTN SEED

On random text; prints counts and exits with 1 when something differs.
"""
import contextlib
import io
import sys

from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from peer import Tally, clattn, rounds

LETTERS = "aabcdeeflmnorst" + "éÜß漢字文мир" + "0123" + ".,-'@&"
ROUNDS, LINES = 25, 20


def text(draw, words):
    lines = (" ".join(draw.choices(words, k=draw.randint(1, 15))) for _ in range(LINES))
    return "".join(f"{line}\n" for line in lines)


def main():
    program, tally = sys.argv[1], Tally(sys.argv[2])
    for number, draw, folder in rounds(tally, ROUNDS):
        words = ["".join(draw.choices(LETTERS, k=draw.randint(1, 7))) for _ in range(60)]
        known, other, merges = text(draw, words), text(draw, words), draw.randint(1, 80)
        codes = clattn(program, "bpe", "learn", "--merges", merges, text=known)
        theirs = io.StringIO()
        with contextlib.redirect_stderr(io.StringIO()):  # a bar of its progress
            learn_bpe(io.StringIO(known), theirs, merges)
        tally.compare("bpe learn", codes, theirs.getvalue(), f"round {number}")
        (folder / "codes").write_text(codes)
        ours = clattn(program, "bpe", "apply", "--codes", folder / "codes", text=other)
        model = BPE(io.StringIO(codes))
        for our, line in zip(ours.split("\n"), other.split("\n"), strict=True):
            tally.compare("bpe apply", our, model.process_line(line),
                          f"round {number}, {line!r}")
    tally.finish()


if __name__ == "__main__":
    main()
