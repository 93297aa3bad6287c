#!/usr/bin/env python3
"""ct2.py - compares translations of random Marian models with those of CTranslate2

    ct2.py CLATTN SEED

CTranslate2's converter for transformers reads a folder of Hugging Face, and so does
`clattn import`; and `clattn export --format ctranslate2` writes what was imported. All three
must give the same words, greedy and with a beam of 4, with the same log probability of each.
CTranslate2 starts with zeros and has no <pad>, so the models have a row of zeros and no share
of the probability for it. It stops a beam at the fourth hypothesis (`early_stopping`), and
with a length penalty of 0 when nothing better can come ("never"). Unless
it is told so, it does not take an empty translation. Blanks at the end stay in its pieces.
"""
import json
import re
import sys
import tempfile
from pathlib import Path

import ctranslate2
import sentencepiece
import torch
import transformers
from ctranslate2.converters import TransformersConverter

import marian_models
from peer import Tally, clattn, write_lines

MODELS, LINES, LONGEST = 6, 12, 24
CLOSE = 1e-4  # relative, of scores in float32


def fixed(draw):
    """Keys of the form that CTranslate2's search needs; it reads one vocabulary."""
    penalty = draw.choice([0.0, 0.6, 1.0])
    return {"separate": False, "tied": True, "pad_last": True, "padding": 0, "added": False,
            "forced": False, "forbidden": True, "renormalize": True, "languages": False,
            "max_length": LONGEST + 1, "penalty": penalty,
            "early": True if penalty else "never"}


def clear_padding(folder):
    """Zeros for the embedding of <pad>, as real models have them."""
    pad = json.loads((folder / "config.json").read_text())["pad_token_id"]
    for path in folder.glob("*.safetensors"):
        tensors = marian_models.load_file(path)
        if "model.shared.weight" in tensors:
            tensors["model.shared.weight"][pad] = 0
            marian_models.save_file(tensors, path, metadata={"format": "pt"})


def cut_marian(model, line):
    """The pieces of MarianTokenizer, for which a language in front is one."""
    code = re.match(">>.+?<<", line)
    rest = line[code.end():] if code else line
    return [*([code[0]] if code else []), *model.encode(rest, out_type=str), "</s>"]


class Other:
    """A folder of CTranslate2."""

    def __init__(self, folder, pieces):
        # A model in bfloat16 is computed in it where the processor can.
        self.translator = ctranslate2.Translator(str(folder), intra_threads=1,
                                                 compute_type="float32")
        self.source, self.target = (
            sentencepiece.SentencePieceProcessor(model_file=str(pieces / f"{side}.spm"))
            for side in ("source", "target"))

    def translate(self, line, beam, penalty):
        (result,) = self.translator.translate_batch(
            [cut_marian(self.source, line)], beam_size=beam,
            length_penalty=penalty, max_decoding_length=LONGEST, min_decoding_length=0,
            return_scores=True)
        return self.target.decode(result.hypotheses[0]), result.scores[0]


def translated(program, model, folder, beam):
    text = (folder / "sources.txt").read_bytes().decode()
    said = clattn(program, "translate", "--no-split", "--model", model, "--beam", beam, "--scores", text=text)
    rows = (row.split("\t") for row in said.split("\n")[:-1])
    return [(text.strip(), float(score)) for _, score, text in rows]


def load_as_float32(folder):
    """The converter would round the positions of a model in bfloat16, which are made of sines."""
    path = folder / "config.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "dtype": "float32", "torch_dtype": "float32"}))


def compare(program, tally, folder, form):
    imported, ours, theirs = (folder.with_name(f"{folder.name}-{kind}")
                              for kind in ("clattn", "exported", "converted"))
    clattn(program, "import", folder, "--out", imported)
    clattn(program, "export", "--format", "ctranslate2", "--model", imported, "--out", ours)
    load_as_float32(folder)
    TransformersConverter(str(folder)).convert(str(theirs))
    others = {"converted": Other(theirs, folder), "exported": Other(ours, ours)}
    lines = (folder / "sources.txt").read_bytes().decode().split("\n")
    for beam in (1, 4):
        said = translated(program, imported, folder, beam)
        for name, other in others.items():
            for line, (text, score) in zip(lines, said):
                their, their_score = other.translate(line, beam, form["penalty"])
                at = f"{line!r}, model {folder.name}, {json.dumps(form)}"
                their = their.strip()
                tally.compare(f"{name}, beam {beam}, text", text, their, at)
                if text == their and beam > 1:
                    tally.compare(f"{name}, beam {beam}, score", score, their_score, at, CLOSE)


def main():
    program, tally = sys.argv[1], Tally(sys.argv[2])
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(MODELS):
            draw, folder = tally.draw(number), Path(scratch) / str(number)
            form = marian_models.make(draw, folder, **fixed(draw))
            clear_padding(folder)
            write_lines(folder / "sources.txt", marian_models.sources(draw, form, LINES))
            compare(program, tally, folder, form)
    tally.finish()


if __name__ == "__main__":
    main()
