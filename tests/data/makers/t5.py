#!/usr/bin/env python3
"""t5.py - makes tests/data/t5 and madlad: small models and what transformers says

    t5.py [FAMILY...]

Needs torch, transformers and sentencepiece from PyPI.
"""
import random
import shutil
import sys
from pathlib import Path

import torch

DATA = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DATA.parent / "peers"))

import t5_models  # noqa: E402  # pylint: disable=wrong-import-position
from marian_models import page  # noqa: E402  # pylint: disable=wrong-import-position

SEED = 3  # of texts that differ
SAME = {"heads": 2, "inner": 14, "width": 12, "dtype": "float32", "sharded": False,
        "early": True, "penalty": 1.0, "max_length": 24, "padding": 4, "normal": "identity"}
MODELS = {
    "t5": {"layers": (2, 2), "head_width": 5, "feed": "gelu_new", "buckets": 14, "reach": 20,
           "sentinels": 3},
    "madlad": {"layers": (2, 1), "head_width": 7, "buckets": 8, "reach": 12, "sentinels": 0},
}


def main():
    torch.set_num_threads(1)
    for family, form in MODELS.items():
        if sys.argv[1:] and family not in sys.argv[1:]:
            continue
        folder = DATA / family
        shutil.rmtree(folder, ignore_errors=True)
        draw = random.Random(f"{SEED} {family}")
        _, tokens, network = t5_models.make(draw, folder, family, **SAME, **form)
        lines = [*(draw.choice(page(draw)) for _ in range(6)), "漢字 naïve <unk 3.14", "x"]
        (folder / "lines.txt").write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")
        for target in t5_models.TARGETS.get(family, [None]):
            for beam in (1, 4):
                rows = []
                for line in lines:
                    text, score = t5_models.generate(
                        network, tokens, tokens.encode(t5_models.tagged(line, target)), beam)
                    rows.append(f"{'-' if score is None else f'{score:.6f}'}\t{text}\n")
                (folder / f"{target or 'any'}-{beam}.txt").write_text("".join(rows),
                                                                      encoding="utf-8")


if __name__ == "__main__":
    main()
