#!/usr/bin/env python3
"""ct2_import.py - compares imported CTranslate2 folders and Argos packages with CTranslate2

    ct2_import.py CLATTN SEED

CTranslate2's converter for transformers writes random models of Marian and M2M-100 with each of
its types of weights. `clattn import` reads the folder, and both must give the same words, greedy
and with a beam of 4, with the same log probability of each. Both compute in float32, so that
8 and 16 bits only change the weights. `clattn export` of what was imported has the bytes of a
float32 folder. Packages of Argos are made of OpenNMT-py's layout (argos_models.py).
"""
import json
import shutil
import sys
import tempfile
from pathlib import Path

import ctranslate2
import sentencepiece
import torch
import transformers
from ctranslate2.converters import TransformersConverter
from ctranslate2.converters.transformers import M2M100Loader

import argos_models
import m2m_models
import marian_models
from ct2 import LONGEST, clear_padding, fixed, load_as_float32
from peer import Tally, clattn

MODELS, LINES = 10, 10
# Relative, of scores. CTranslate2 rounds the sines of positions with the weights; clattn has them
# whole. So words of models in 16 bits are compared with those of the exported folder alone.
CLOSE = {"float32": 1e-4, "int8": 1e-4, "int16": 1e-4, "float16": 2e-3, "int8_float16": 2e-3,
         "bfloat16": 2e-2}
KINDS = ["marian", "m2m100", "argos", "nllb"]
PAIRS = {"m2m100": ["en", "de"], "nllb": ["eng_Latn", "deu_Latn"]}
EXACT = ["float32", "int8", "int16"]
TYPES = ["float32", "float16", "bfloat16", "int8", "int16", "int8_float16"]


class Other:
    """A folder of CTranslate2 and how its callers make pieces."""

    def __init__(self, folder, kind, models, pair=None):
        self.translator = ctranslate2.Translator(str(folder), intra_threads=1,
                                                 compute_type="float32")
        self.kind, self.pair = kind, pair
        self.source, self.target = (sentencepiece.SentencePieceProcessor(model_file=str(x))
                                    for x in models)

    def translate(self, line, beam, penalty):
        pieces, prefix = self.source.encode(line, out_type=str), None
        if self.kind == "marian":
            pieces = [*pieces, "</s>"]
        elif self.pair:
            pieces, prefix = [self.pair[0], *pieces, "</s>"], [[self.pair[1]]]
        (result,) = self.translator.translate_batch(
            [pieces], target_prefix=prefix, beam_size=beam, length_penalty=penalty,
            max_decoding_length=LONGEST, min_decoding_length=0, return_scores=True)
        silent = {"<s>", "</s>", "<pad>", "<unk>", "<blank>", "<mask>", *m2m_models.NLLB,
                  *(f"__{x}__" for x in m2m_models.M2M100)}
        words = [x for x in result.hypotheses[0] if x not in silent]
        return self.target.decode(words).strip(), result.scores[0]


def convert(network, tokens, folder, form_type):
    """As the converter does, with the tokens at hand: it asks the tokenizers of transformers 4
    for them, which 5 no longer has."""
    loader = M2M100Loader()
    spec = loader.get_model_spec(network)
    unused = range(network.config.vocab_size - len(tokens))
    loader.set_vocabulary(spec, [*tokens, *(f"madeupword{i}" for i in unused)])
    spec.config.decoder_start_token = "</s>"
    spec.validate()
    spec.optimize(quantization=form_type)
    folder.mkdir()
    spec.save(str(folder))


def make_folder(draw, kind, folder, form_type):
    """Writes a CTranslate2 folder or package; returns what reads it and the lines."""
    given = folder.with_name(f"{folder.name}-given")
    if kind == "argos":
        lines, models = argos_models.make(draw, folder, form_type)
        return Other(folder / "model", kind, models), lines
    if kind == "marian":
        form = marian_models.make(draw, given, **fixed(draw))
        clear_padding(given)
        lines = marian_models.sources(draw, form, LINES)
        names, pair = ("source.spm", "target.spm"), None
        load_as_float32(given)
        TransformersConverter(str(given)).convert(str(folder), quantization=form_type)
    else:
        form, tokens, network = m2m_models.make(draw, given, kind)
        lines = [draw.choice(marian_models.page(draw)) for _ in range(LINES)]
        names = ("sentencepiece.bpe.model",) * 2
        pair = [m2m_models.token_of(form, x) for x in PAIRS[kind]]
        convert(network, sorted(tokens.ids, key=tokens.ids.get), folder, form_type)
    for name in set(names):
        shutil.copy(given / name, folder)
    return Other(folder, kind, [folder / x for x in names], pair), lines


def set_search(model, penalty):
    """The search of CTranslate2 with this penalty (ct2.py), without the folder's hashes."""
    path = model / "config.json"
    settings = json.loads(path.read_text())
    settings |= {"max_length": LONGEST, "length_penalty": penalty,
                 "early_stopping": "first" if penalty else "never"}
    settings.pop("integrity")
    path.write_text(json.dumps(settings))
    weights = model / "best.ckpt.safetensors"
    weights.write_bytes(weights.read_bytes().replace(b'"xxh3":"', b'"none":"'))


def compare(program, tally, folder, kind, form_type):
    draw = tally.draw(folder.name)
    other, lines = make_folder(draw, kind, folder, form_type)
    model, back = (folder.with_name(f"{folder.name}-{x}") for x in ("imported", "back"))
    penalty = draw.choice([0.0, 0.6, 1.0])
    clattn(program, "import", folder, "--out", model)
    bits = (model / "best.ckpt.safetensors").read_bytes()
    set_search(model, penalty)
    pair = ["--source", PAIRS[kind][0], "--target", PAIRS[kind][1]] if kind in PAIRS else []
    text = "".join(f"{x}\n" for x in lines)
    clattn(program, "export", "--format", "ctranslate2", "--model", model, "--out", back)
    exported = Other(back, kind, [back / "source.spm", back / "target.spm"], other.pair)
    for beam in (1, 4):
        said = clattn(program, "translate", "--no-split", "--model", model, *pair, "--beam", beam,
                      "--scores", text=text)
        rows = [row.split("\t") for row in said.split("\n")[:-1]]
        for line, (_, score, ours) in zip(text.split("\n"), rows):
            if not line.strip():
                continue
            name, at = f"{kind} {form_type}, beam {beam}", f"{line!r}, model {folder.name}"
            for origin, reader, close in (("given", other, CLOSE[form_type]),
                                          ("exported", exported, CLOSE["float32"])):
                their, their_score = reader.translate(line, beam, penalty)
                if origin == "exported" or form_type in EXACT:
                    tally.compare(f"{name}, {origin}, text", ours.strip(), their, at)
                if ours.strip() == their and beam > 1:
                    tally.compare(f"{name}, {origin}, score", float(score), their_score, at, close)
    again = folder.with_name(f"{folder.name}-again")
    clattn(program, "import", back, "--out", again)
    tally.compare(f"{kind}, bits after export and import",
                  (again / "best.ckpt.safetensors").read_bytes() == bits, True, folder.name)


def main():
    program, tally = sys.argv[1], Tally(sys.argv[2])
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(MODELS):
            compare(program, tally, Path(scratch) / str(number), KINDS[number % len(KINDS)],
                    TYPES[number % len(TYPES)])
    tally.finish()


if __name__ == "__main__":
    main()
