"""make.py - known answers of chrF by sacreBLEU: python3 make.py > cases.json

Needs sacreBLEU 2.x. Random sentences come from a fixed seed.
"""

import json
import random

import sacrebleu

HAND = [
    ("one line", ["the red cat sleeps."], [["the red dog sleeps."]]),
    ("equal", ["the red cat.", "a dog"], [["the red cat.", "a dog"]]),
    ("nothing in common", ["abc"], [["xyz"]]),
    ("empty hypothesis", ["", "a cat runs"], [["a cat", "a cat ran"]]),
    ("empty reference", ["a cat", "a cat runs"], [["", "a cat ran"]]),
    ("all empty", [""], [[""]]),
    ("shorter than the order", ["cat", "a"], [["cart", "a"]]),
    ("reference shorter than the order", ["a long line of words"], [["long"]]),
    ("blanks do not count", ["a  cat\tsleeps "], [["acat sleeps"]]),
    ("other blanks", ["un\u00a0chat\u3000dort"], [["un chat dort"]]),
    ("other scripts", ["Größe und Maß", "春風吹落柳條絲"], [["größer und Maße", "春風已落柳絲"]]),
    ("beyond the basic plane", ["a 𝄞 b 😀😀"], [["a 😀 b 𝄞"]]),
    ("repeated n-grams", ["aaaaaaaaaa"], [["aaab"]]),
    ("two references", ["the cat sat", "a dog"], [["a cat sat", "dogs"], ["the bat sat", "a hog"]]),
    ("three references, equal scores", ["ab"], [["abc"], ["cab"], ["abc"]]),
]


def line(rng, words):
    return " ".join(rng.choice(words) for _ in range(rng.randrange(1, 12)))


def main():
    rng = random.Random(5)
    words = "the a red blue Cat dog sleeps runs über élan 我们 , . ok okay".split()
    cases = list(HAND)
    for n in range(12):
        lines = rng.randrange(1, 9)
        refs = [[line(rng, words) for _ in range(lines)] for _ in range(1 + n % 3)]
        cases.append((f"random {n}", [line(rng, words) for _ in range(lines)], refs))
    out = []
    for name, hyps, refs in cases:
        for lower in (False, True):
            metric = sacrebleu.CHRF(lowercase=lower)
            single = [[list(r) for r in zip(*refs)][i] for i in range(len(hyps))]
            out.append({
                "name": name,
                "lowercase": lower,
                "hypotheses": hyps,
                "references": refs,
                "corpus": metric.corpus_score(hyps, refs).score,
                "sentences": [metric.sentence_score(h, r).score for h, r in zip(hyps, single)],
            })
    print(json.dumps(out, ensure_ascii=False, indent=1))


main()
