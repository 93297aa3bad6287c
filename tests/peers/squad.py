#!/usr/bin/env python3
"""squad.py - compares SQuAD's scores with those of transformers' squad_metrics

    squad.py CLATTN SEED

squad_metrics, in transformers up to release 4, has the rules of evaluate-v2.0. Those of
1.1 are the same where no answer is empty once it has lost articles and punctuation, so
data of 1.1 has such answers alone. On random data; exits with 1 when something differs.
"""
import json
import sys

from transformers.data.metrics import squad_metrics

from peer import Tally, clattn, rounds, write_lines

WORDS = ["a", "an", "the", "The", "AN", "a-b", "(the", "a.", "b", "c", "Über", "STRASSE", "ß",
         "3.14", "1,000", "don't", "—", "“q”", "a\u0301", "the_", "²", "½a", "漢", "İ", "ΟΔΟΣ",
         "a\u200bb", "$5", "U.S.", "the\u00a0end", "\u3000"]
BLANKS = [" ", " ", "  ", "\t", "\u00a0", "\u2003", "\x85", "\n"]
ROUNDS, QUESTIONS = 100, 20


def text(draw, most=5):
    return "".join(draw.choice(WORDS) + draw.choice(BLANKS) for _ in range(draw.randint(0, most)))


def answer(draw, empty):
    """A text; unless empty, one that keeps a word."""
    made = text(draw)
    return made if empty or squad_metrics.normalize_answer(made) else made + " kept"


class Example:
    """What squad_evaluate reads of a question."""

    def __init__(self, number, answers):
        self.qas_id, self.answers = f"q{number}", [{"text": a} for a in answers]
        self.is_impossible = not answers

    def row(self, version):
        row = {"id": self.qas_id, "question": "?",
               "answers": [{"answer_start": 0, **a} for a in self.answers]}
        return {**row, "is_impossible": self.is_impossible} if version == 2 else row


def examples(draw, version):
    least = 0 if version == 2 else 1
    for number in range(QUESTIONS):
        count = draw.randint(least, 3)
        yield Example(number, [answer(draw, version == 2) for _ in range(count)])


def guess(draw, example, version):
    """An answer that is right or nearly right often enough."""
    if example.answers and draw.random() < 0.5:
        right = draw.choice(example.answers)["text"]
        return right if draw.random() < 0.5 else right + " " + draw.choice(WORDS)
    return "" if version == 2 and draw.random() < 0.4 else answer(draw, version == 2)


def main():
    program, tally = sys.argv[1], Tally(sys.argv[2])
    for number, draw, folder in rounds(tally, ROUNDS):
        version = 1 + number % 2
        given = list(examples(draw, version))
        guesses = {e.qas_id: guess(draw, e, version) for e in given}
        data = {"version": f"{version}.1", "data": [{"title": "t", "paragraphs": [
            {"context": "c", "qas": [e.row(version) for e in given]}]}]}
        ours = json.loads(clattn(
            program, "score", "squad", "--json",
            "--ref", write_lines(folder / "ref", [json.dumps(data)]),
            "--hyp", write_lines(folder / "hyp", [json.dumps(guesses)])))
        theirs = squad_metrics.squad_evaluate(given, guesses)
        names = {"em": "exact", "f1": "f1", "questions": "total"}
        if version == 2:
            names |= {n: n for k in ("HasAns", "NoAns") for n in
                      (f"{k}_exact", f"{k}_f1", f"{k}_total") if n in theirs}
        for our, their in names.items():
            tally.compare(f"squad {version} {our}", ours.get(our), theirs[their],
                          f"round {number}")
    tally.finish()


if __name__ == "__main__":
    main()
