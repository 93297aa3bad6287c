#!/usr/bin/env python3
"""make.py - random lines as sacreBLEU 2.6.0 cuts them and the MS COCO caption scorer compares them
usage: make.py > cases.json"""
import json
import random

import sacrebleu
from pycocoevalcap.rouge.rouge import Rouge

random.seed(46)
# Punctuation of both worlds, the ends of sacreBLEU's ranges of Chinese characters,
# ideographs and letters beyond U+FFFF, blanks of all kinds.
PIECES = (
    list("ab19.,-!?&\"'<>()$%/:; ")
    + list("我们是中国，。！？、：“”（）《》—…·￥")
    + [chr(c) for c in (0x3000, 0xA0, 0x2000, 0x2001, 0x2A6D, 0x2A6E, 0x2F80, 0x2F81, 0x2FA2, 0x4DB5)]
    + [chr(c) for c in (0x4DB6, 0x9FBB, 0x9FBC, 0xFA2E, 0xFFEF, 0x20000, 0x2A6D6, 0x1F600, 0x1C, 0x85)]
    + ["&quot;", "<skipped>", "É", "Σ", "½", "한"]
)
WORDS = ["a", "b", "c", " ", "  ", "\u00a0", "\u3000"]


def text(pieces, most):
    return "".join(random.choice(pieces) for _ in range(random.randint(0, most)))


def tokens():
    for kind in ("none", "13a", "intl", "char", "zh"):
        for i in range(40):
            lower, line = i % 2 == 1, text(PIECES, 24)
            bleu = sacrebleu.BLEU(tokenize=kind, lowercase=lower, force=True)
            cut = bleu._preprocess_segment(line).split()
            yield {"kind": kind, "lower": lower, "line": line, "tokens": " ".join(cut)}


def rouge():
    for _ in range(60):
        hyp, refs = text(WORDS, 8), [text(WORDS, 8) for _ in range(random.randint(1, 2))]
        yield {"hyp": hyp, "refs": refs, "score": float(Rouge().calc_score([hyp], refs))}


print(json.dumps({"tokens": list(tokens()), "rouge_l": list(rouge())}, ensure_ascii=True, indent=0))
