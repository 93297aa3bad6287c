#!/usr/bin/env python3
"""argos.py - makes tests/data/argos: a small package of Argos and what CTranslate2 says

    argos.py

Needs ctranslate2, transformers, torch and sentencepiece from PyPI. The package is unpacked; its
weights have 8 bits, the rest float32. The answers are those of Argos' settings: a beam of 4, a
length penalty of 0.2 and at most 256 pieces.
"""
import random
import shutil
import sys
from pathlib import Path

import ctranslate2
import sentencepiece

DATA = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DATA.parent / "peers"))

import argos_models  # noqa: E402  # pylint: disable=wrong-import-position

SEED = 6  # of a package whose answers differ and end


def main():
    folder = DATA / "argos"
    shutil.rmtree(folder, ignore_errors=True)
    lines, models = argos_models.make(random.Random(SEED), folder, "int8", heads=2, width=12,
                                      inner=20, layers=(2, 1), tied=False)
    (folder / "lines.txt").write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(models[0]))
    translator = ctranslate2.Translator(str(folder / "model"), compute_type="float32")
    for beam in (1, 4):
        rows = []
        for line in lines:
            (result,) = translator.translate_batch(
                [pieces.encode(line, out_type=str)], beam_size=beam, length_penalty=0.2,
                min_decoding_length=0, return_scores=True)
            words = [x for x in result.hypotheses[0] if x != "<unk>"]  # as tidy_output does
            text = pieces.decode(words).strip()
            rows.append(f"{result.scores[0]:.6f}\t{text}\n")
        (folder / f"beam{beam}.txt").write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
