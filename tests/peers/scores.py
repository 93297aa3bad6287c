#!/usr/bin/env python3
"""scores.py - compares scores and byte pairs with the programs that define them

    scores.py CLATTN SEED

sacrebleu: BLEU with each tokenizer, chrF2.
subword-nmt: merges learned, and applied. On random text; prints counts and exits with 1
when something differs.
"""
import io
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import sacrebleu
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

LETTERS = "aabcdeeflmnorst" + "éÜß漢字文мир" + "0123" + ".,-'$%&/()!?:;«»“”"
ROUNDS, LINES = 25, 20


def clattn(program, *arguments, text=""):
    command = [program, *map(str, arguments)]
    made = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if made.returncode:
        sys.exit(f"{' '.join(command)}: {made.stderr.strip()}")
    return made.stdout


def line(draw, words):
    return " ".join(draw.choices(words, k=draw.randint(1, 15)))


def noisy(draw, text, words):
    return " ".join(w if draw.random() < 0.7 else draw.choice(words) for w in text.split())


class Round:
    """A random corpus in files, and what was counted of it."""

    def __init__(self, program, draw, folder):
        self.program, self.folder = program, folder
        words = ["".join(draw.choices(LETTERS, k=draw.randint(1, 7))) for _ in range(60)]
        self.refs = [line(draw, words) for _ in range(LINES)]
        self.hyps = [noisy(draw, r, words) for r in self.refs]
        for name, rows in (("ref", self.refs), ("hyp", self.hyps)):
            (folder / name).write_text("".join(f"{row}\n" for row in rows))

    def score(self, verb, *arguments):
        said = clattn(self.program, "score", verb, "--json", "--ref", self.folder / "ref",
                      "--hyp", self.folder / "hyp", *arguments)
        return json.loads(said.splitlines()[0])["score"]

    def bleu(self, tokenizer):
        ours = self.score("bleu", "--tokenize", tokenizer)
        theirs = sacrebleu.corpus_bleu(self.hyps, [self.refs], tokenize=tokenizer).score
        return ours, theirs

    def chrf(self):
        return self.score("chrf"), sacrebleu.corpus_chrf(self.hyps, [self.refs]).score

    def merges(self):
        text = (self.folder / "ref").read_text()
        ours = clattn(self.program, "bpe", "learn", "--merges", 40, text=text)
        theirs = io.StringIO()
        learn_bpe(io.StringIO(text), theirs, 40)
        (self.folder / "codes").write_text(ours)
        return ours, theirs.getvalue()

    def pieces(self):
        text = (self.folder / "hyp").read_text()
        ours = clattn(self.program, "bpe", "apply", "--codes", self.folder / "codes", text=text)
        model = BPE(io.StringIO((self.folder / "codes").read_text()))
        return ours, "".join(model.process_line(row) for row in text.splitlines(True))


def same(ours, theirs):
    return ours == theirs if isinstance(ours, str) else abs(ours - theirs) < 1e-4


def main():
    program, draw = sys.argv[1], random.Random(int(sys.argv[2]))
    counts = {}
    for number in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            case = Round(program, draw, Path(folder))
            tests = {f"bleu {t}": lambda t=t: case.bleu(t)
                     for t in ("none", "13a", "intl", "char", "zh")}
            tests |= {"chrf": case.chrf, "bpe learn": case.merges, "bpe apply": case.pieces}
            for name, test in tests.items():
                ours, theirs = test()
                row = counts.setdefault(name, [0, 0])
                row[0] += same(ours, theirs)
                row[1] += 1
                if not same(ours, theirs):
                    print(f"round {number}: {name}: clattn {ours!r}, other {theirs!r}")
    for name, (equal, all_) in counts.items():
        print(f"{name}: {equal} of {all_} equal")
    sys.exit(any(equal < all_ for equal, all_ in counts.values()))


if __name__ == "__main__":
    main()
