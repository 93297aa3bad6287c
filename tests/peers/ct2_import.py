#!/usr/bin/env python3
"""ct2_import.py - compares imported CTranslate2 folders and Argos packages with CTranslate2

    ct2_import.py CLATTN SEED

CTranslate2's converter for transformers writes random models of Marian, M2M-100, NLLB, mBART-50
and T5, each in two of its types of weights. `clattn import` reads the folder, and both must give
the same words, greedy and with a beam of 4, with the same log probability of each. Both compute
in float32, so that 8 and 16 bits only change the weights. `clattn export` of what was imported
has the bytes of a float32 folder; those of T5 are the converter's own. Packages of Argos are made
of OpenNMT-py's layout (argos_models.py).
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
from ctranslate2.converters.transformers import M2M100Loader, MBartLoader, T5Loader

import argos_models
import m2m_models
import marian_models
import t5_models
from ct2 import LONGEST, clear_padding, cut_marian, fixed, load_as_float32
from peer import Tally, clattn, cut_alike, scored_pieces

MODELS, LINES = 18, 25
# Relative, of scores. CTranslate2 rounds the sines of positions with the weights; clattn has them
# whole. So words of models in 16 bits are compared with those of the exported folder alone.
CLOSE = {"float32": 1e-4, "int8": 1e-4, "int16": 1e-4, "float16": 2e-3, "int8_float16": 2e-3,
         "bfloat16": 2e-2}
KINDS = ["marian", "m2m100", "argos", "t5", "nllb", "flan", "mt5", "madlad", "mbart"]
PAIRS = {"m2m100": ["en", "de"], "nllb": ["eng_Latn", "deu_Latn"], "mbart": ["en_XX", "de_DE"]}
CHOSEN = {**{kind: ["--source", x, "--target", y] for kind, (x, y) in PAIRS.items()},
          "madlad": ["--target", "de"]}
SINES = ["marian", "m2m100", "nllb", "argos"]
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

    def translate(self, pieces, beam, penalty):
        prefix = None
        if self.pair:
            pieces, prefix = [self.pair[0], *pieces], [[self.pair[1]]]
        if self.kind != "argos":
            pieces = [*pieces, "</s>"]
        (result,) = self.translator.translate_batch(
            [pieces], target_prefix=prefix, beam_size=beam, length_penalty=penalty,
            max_decoding_length=LONGEST, min_decoding_length=0, return_scores=True)
        silent = {"<s>", "</s>", "<pad>", "<unk>", "<blank>", "<mask>", *m2m_models.NLLB,
                  *m2m_models.MBART,
                  *(f"__{x}__" for x in m2m_models.M2M100)}
        words = [x for x in result.hypotheses[0]
                 if x not in silent and not x.startswith(("<extra_id_", "<unused"))]
        return self.target.decode(words).strip(), result.scores[0]


def convert(network, tokens, folder, form_type):
    """As the converter does, with the tokens at hand: it asks the tokenizers of transformers 4
    for them, which 5 no longer has."""
    loader = MBartLoader() if network.config.model_type == "mbart" else M2M100Loader()
    network.config.normalize_before = True  # as real models have it
    spec = loader.get_model_spec(network)
    unused = range(network.config.vocab_size - len(tokens))
    loader.set_vocabulary(spec, [*tokens, *(f"madeupword{i}" for i in unused)])
    spec.config.decoder_start_token = "</s>"
    spec.validate()
    spec.optimize(quantization=form_type)
    folder.mkdir()
    spec.save(str(folder))


def convert_t5(form, tokens, network, folder, form_type):
    """The same for T5, whose converter names rows without a token as its sentinels."""
    loader, model, count = T5Loader(), tokens.model, form["sentinels"]
    with torch.no_grad():
        spec = loader.get_model_spec(network)
    names = [*(model.id_to_piece(i) for i in range(len(model))),
             *(f"<extra_id_{count - 1 - i}>" for i in range(count))]
    names += [f"<extra_id_{i}>" for i in range(network.config.vocab_size - len(names))]
    loader.set_vocabulary(spec, names)
    pad, _, _, start = t5_models.special_ids(form)
    spec.config.bos_token, spec.config.decoder_start_token = names[pad], names[start]
    spec.validate()
    spec.optimize(quantization=form_type)
    folder.mkdir()
    spec.save(str(folder))


def make_folder(draw, kind, folder, form_type):
    """Writes a CTranslate2 folder or package; returns what reads it and the lines."""
    given = folder.with_name(f"{folder.name}-given")
    if kind == "argos":
        lines, models = argos_models.make(draw, folder, form_type, LINES)
        return Other(folder / "model", kind, models), lines
    if kind == "marian":
        form = marian_models.make(draw, given, **fixed(draw))
        clear_padding(given)
        lines = marian_models.sources(draw, form, LINES)
        names, pair = ("source.spm", "target.spm"), None
        load_as_float32(given)
        TransformersConverter(str(given)).convert(str(folder), quantization=form_type)
    elif kind in t5_models.FAMILIES:
        made = t5_models.make(draw, given, kind)
        lines = [draw.choice(marian_models.page(draw)) for _ in range(LINES)]
        names, pair = ("spiece.model",) * 2, None
        convert_t5(*made, folder, form_type)
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


def sources_of(program, tally, kind, model, other, lines):
    """The pieces of each line: clattn's own, where source and target have one model."""
    texts = [t5_models.tagged(x, "de" if kind == "madlad" else None) for x in lines]
    if kind == "marian":
        return [cut_marian(other.source, x)[:-1] for x in texts]
    said = scored_pieces(program, model, lines, texts, *CHOSEN.get(kind, []),
                         first=other.pair and other.pair[1])
    rows = [[x for x, _ in row[:-1]] for row in said]
    cut_alike(tally, kind, other.source, texts, rows)
    return rows


def compare(program, tally, folder, kind, form_type):
    draw = tally.draw(folder.name)
    other, lines = make_folder(draw, kind, folder, form_type)
    model, back = (folder.with_name(f"{folder.name}-{x}") for x in ("imported", "back"))
    penalty = draw.choice([0.0, 0.6, 1.0])
    clattn(program, "import", folder, "--out", model)
    bits = (model / "best.ckpt.safetensors").read_bytes()
    set_search(model, penalty)
    clattn(program, "export", "--format", "ctranslate2", "--model", model, "--out", back)
    t5 = kind in t5_models.FAMILIES
    pieces = ["spiece.model"] * 2 if t5 else ["source.spm", "target.spm"]
    exported = Other(back, kind, [back / x for x in pieces], other.pair)
    lines = [x for x in "\n".join(lines).split("\n") if x.strip()]
    sources = sources_of(program, tally, kind, model, other, lines)
    for beam in (1, 4):
        said = clattn(program, "translate", "--no-split", "--model", model, *CHOSEN.get(kind, []),
                      "--beam", beam, "--scores", text="".join(f"{x}\n" for x in lines))
        rows = [row.split("\t") for row in said.split("\n")[:-1]]
        for line, source, (_, score, ours) in zip(lines, sources, rows, strict=True):
            name, at = f"{kind} {form_type}, beam {beam}", f"{line!r}, model {folder.name}"
            for origin, reader, close in (("given", other, CLOSE[form_type]),
                                          ("exported", exported, CLOSE["float32"])):
                their, their_score = reader.translate(source, beam, penalty)
                if origin == "exported" or kind not in SINES or form_type in EXACT:
                    tally.compare(f"{name}, {origin}, text", ours.strip(), their, at)
                if ours.strip() == their and beam > 1:
                    tally.compare(f"{name}, {origin}, score", float(score), their_score, at, close)
    again = folder.with_name(f"{folder.name}-again")
    clattn(program, "import", back, "--out", again)
    tally.compare(f"{kind}, bits after export and import",
                  (again / "best.ckpt.safetensors").read_bytes() == bits, True, folder.name)
    if t5 and form_type == "float32":
        tally.compare("t5, the converter's bytes",
                      (back / "model.bin").read_bytes() == (folder / "model.bin").read_bytes(),
                      True, folder.name)


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
