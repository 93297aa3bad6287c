#!/usr/bin/env python3
"""m2m.py - makes tests/data/m2m100, nllb and mbart: small models and what transformers says

    m2m.py [FAMILY...]

Needs torch, transformers and sentencepiece from PyPI.
"""
import random
import shutil
import sys
from pathlib import Path

import torch

DATA = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DATA.parent / "peers"))

import m2m_models  # noqa: E402  # pylint: disable=wrong-import-position
from marian_models import page  # noqa: E402  # pylint: disable=wrong-import-position

SEED = {"m2m100": 2, "nllb": 2, "mbart": 3}  # of pieces and texts that are small and differ
SAME = {"heads": 2, "width": 12, "inner": 24, "tied": True, "dtype": "float32", "sharded": False,
        "early": True, "penalty": 1.0, "max_length": 24}
MODELS = {
    "m2m100": {"layers": (2, 1), "activation": "relu", "scaled": True, "padding": 8},
    "nllb": {"layers": (1, 2), "activation": "gelu", "scaled": False, "padding": 2},
    "mbart": {"layers": (1, 2), "activation": "gelu", "scaled": True, "padding": 0,
              "positions": 128},
}


def write_answers(folder, form, tokens, network, pair, lines):
    named = [m2m_models.token_of(form, x) for x in pair]
    for beam in (1, 4):
        rows = []
        for line in lines:
            text, score = m2m_models.generate(
                network, tokens, tokens.encode(line, named[0]), named[1], beam)
            rows.append(f"{'-' if score is None else f'{score:.6f}'}\t{text}\n")
        (folder / f"{pair[0]}-{pair[1]}-{beam}.txt").write_text("".join(rows), encoding="utf-8")


def main():
    torch.set_num_threads(1)
    for family, form in MODELS.items():
        if sys.argv[1:] and family not in sys.argv[1:]:
            continue
        folder = DATA / family
        shutil.rmtree(folder, ignore_errors=True)
        draw = random.Random(f"{SEED[family]} {family}")
        made = m2m_models.make(draw, folder, family, **SAME, **form)
        lines = [*(draw.choice(page(draw)) for _ in range(6)), "漢字 naïve <unk 3.14", "x"]
        (folder / "lines.txt").write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")
        for pair in m2m_models.PAIRS[family]:
            write_answers(folder, *made, pair, lines)


if __name__ == "__main__":
    main()
