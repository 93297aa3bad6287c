#!/usr/bin/env python3
"""m2m.py - compares random M2M-100, NLLB and mBART-50 models with those of transformers

    m2m.py CLATTN SEED

The newest transformers makes models of many forms (m2m_models.py); clattn imports them. Texts
and scores must be the same for several pairs of languages, greedy and with a beam of 4, and the
log probabilities of texts at ten positions; those of weights in 16 and 8 bits within the bounds
of peer.SHORT. What clattn exports must be the same network and tokenizer for transformers. Prints
counts; exits with 1 when something differs.
"""
import json
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from sentencepiece import sentencepiece_model_pb2
from transformers import AutoTokenizer

import m2m_models
from marian_models import page
from peer import (Tally, clattn, cut_alike, logits_alike, scored_pieces,
                  short_weights_alike)

MODELS, LINES = 9, 17
CLOSE = 1e-4  # scores, sums of float32; texts have no tolerance
FAMILIES = ["m2m100", "nllb", "mbart"]


def compare_logits(tally, name, network, source, first, ids, row):
    start = network.generation_config.decoder_start_token_id
    with torch.no_grad():
        logits = network(input_ids=torch.tensor([source]),
                         decoder_input_ids=torch.tensor([[start, first, *ids[:-1]]])).logits[0]
    logits_alike(tally, name, logits[1:], ids, row, f"{source}")


def compare(program, tally, folder, form, tokens, network):
    model = folder.with_name(f"{folder.name}-imported")
    clattn(program, "import", folder, "--out", model)
    draw = tally.draw(f"lines of {folder.name}")
    lines = [draw.choice(page(draw)) for _ in range(LINES)]
    for pair in m2m_models.PAIRS[form["family"]]:
        named = [m2m_models.token_of(form, x) for x in pair]
        chosen = ["--source", pair[0], "--target", pair[1]]
        given = (program, model, lines, lines, *chosen)
        cut = list(scored_pieces(*given, first=named[1]))
        short_weights_alike(tally, form["family"], cut, *given, first=named[1])
        cut_alike(tally, form["family"], tokens.model, lines,
                  [[x for x, _ in row[:-1]] for row in cut])
        sources = [[tokens.ids[named[0]], *tokens.numbers(row)] for row in cut]
        for source, row in zip(sources, cut):
            compare_logits(tally, form["family"], network, source, tokens.ids[named[1]],
                           source[1:], row)
        for beam in (1, 4):
            said = clattn(program, "translate", "--no-split", "--model", model, *chosen, "--beam",
                          beam, "--scores", text="".join(f"{x}\n" for x in lines))
            rows = [row.split("\t") for row in said.split("\n")[:-1]]
            for line, source, (_, score, text) in zip(lines, sources, rows, strict=True):
                their, other = m2m_models.generate(network, tokens, source, named[1], beam)
                name, at = f"{form['family']}: beam {beam}", f"{line!r}, {json.dumps(form)}"
                tally.compare(f"{name}, text", text, their, at)
                if other is not None and text == their:
                    tally.compare(f"{name}, score", float(score), other, at, CLOSE)


def is_bpe(folder):
    """transformers reads NLLB's model of SentencePiece as one of byte pairs, and mBART's as a
    unigram model, as they are."""
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString((folder / "sentencepiece.bpe.model").read_bytes())
    return model.trainer_spec.model_type == model.trainer_spec.BPE


def compare_exported(program, tally, folder, form, tokens):
    """What `clattn export` writes: transformers loads the network and the tokenizer, and both
    do what the folder's own did."""
    given = folder.with_name(f"{folder.name}-imported")
    exported = folder.with_name(f"{folder.name}-exported")
    clattn(program, "export", "--format", "huggingface", "--model", given, "--out", exported)
    kind = m2m_models.CLASSES[form["family"] == "mbart"][0]
    network = kind.from_pretrained(exported).eval()
    first = kind.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(exported)
    pair = m2m_models.PAIRS[form["family"]][0]
    tokenizer.src_lang = pair[0]
    for line in page(tally.draw(folder.name))[:LINES]:
        ids = tokens.encode(line, m2m_models.token_of(form, pair[0]))
        at = f"{line!r}, {json.dumps(form)}"
        if form["family"] == "m2m100" or is_bpe(exported) == (form["family"] == "nllb"):
            tally.compare(f"{form['family']}: exported tokenizer", tokenizer(line).input_ids, ids,
                          at)
        with torch.no_grad():
            given = {"input_ids": torch.tensor([ids]), "decoder_input_ids": torch.tensor([ids[:5]])}
            ours, theirs = (x(**given).logits[..., :len(tokens.ids)] for x in (network, first))
        tally.compare(f"{form['family']}: exported network", (ours - theirs).abs().max().item(),
                      0.0, at, CLOSE)


def main():
    program, tally = sys.argv[1], Tally(sys.argv[2])
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(MODELS):
            folder = Path(scratch) / str(number)
            made = m2m_models.make(tally.draw(number), folder, FAMILIES[number % 3])
            compare(program, tally, folder, *made)
            compare_exported(program, tally, folder, *made[:2])
    tally.finish()


if __name__ == "__main__":
    main()
