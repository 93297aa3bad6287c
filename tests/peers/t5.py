#!/usr/bin/env python3
"""t5.py - compares random models of T5, T5 1.1, mT5 and MADLAD-400 with those of transformers

    t5.py CLATTN SEED

The newest transformers makes models of many forms (t5_models.py); clattn imports them. Texts
and scores must be the same, greedy and with a beam of 4, and the log probabilities of texts at
ten positions; those of weights in 16 and 8 bits within the bounds of peer.SHORT. What clattn
exports must be the same network for transformers, and the same bits for clattn. Prints counts;
exits with 1 when something differs.
"""
import filecmp
import json
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from transformers import T5ForConditionalGeneration

import t5_models
from marian_models import page
from peer import (Tally, clattn, cut_alike, logits_alike, scored_pieces,
                  short_weights_alike)

MODELS, LINES = 8, 25
CLOSE = 1e-4  # scores, sums of float32; texts have no tolerance


def compare_logits(tally, name, network, tokens, source, row):
    ids = tokens.numbers(row)
    start = network.generation_config.decoder_start_token_id
    with torch.no_grad():
        logits = network(input_ids=torch.tensor([source]),
                         decoder_input_ids=torch.tensor([[start, *ids[:-1]]])).logits[0]
    logits_alike(tally, name, logits, ids, row, f"{source}")


def compare(program, tally, folder, form, tokens, network):
    model = folder.with_name(f"{folder.name}-imported")
    clattn(program, "import", folder, "--out", model)
    draw = tally.draw(f"lines of {folder.name}")
    lines = [draw.choice(page(draw)) for _ in range(LINES)]
    for target in t5_models.TARGETS.get(form["family"], [None]):
        named = ["--target", target] if target else []
        texts = [t5_models.tagged(x, target) for x in lines]
        cut = list(scored_pieces(program, model, lines, texts, *named))
        short_weights_alike(tally, form["family"], cut, program, model, lines, texts, *named)
        cut_alike(tally, form["family"], tokens.model, texts,
                  [[x for x, _ in row[:-1]] for row in cut])
        for row in cut:
            compare_logits(tally, form["family"], network, tokens, tokens.numbers(row), row)
        for beam in (1, 4):
            said = clattn(program, "translate", "--no-split", "--model", model, *named, "--beam",
                          beam, "--scores", text="".join(f"{x}\n" for x in lines))
            rows = [row.split("\t") for row in said.split("\n")[:-1]]
            for line, source, (_, score, text) in zip(lines, cut, rows, strict=True):
                their, other = t5_models.generate(network, tokens, tokens.numbers(source), beam)
                name, at = f"{form['family']}: beam {beam}", f"{line!r}, {json.dumps(form)}"
                tally.compare(f"{name}, text", text, their, at)
                if other is not None and text == their:
                    tally.compare(f"{name}, score", float(score), other, at, CLOSE)


def compare_exported(program, tally, folder, form, tokens, network):
    """What `clattn export` writes is the same network for transformers; imported again, it is
    the same file."""
    first = folder.with_name(f"{folder.name}-imported")
    exported, again = (folder.with_name(f"{folder.name}-{x}") for x in ("exported", "again"))
    clattn(program, "export", "--format", "huggingface", "--model", first, "--out", exported)
    clattn(program, "import", exported, "--out", again)
    for file in ("best.ckpt.safetensors", "source.txt", "target.txt", "codes.txt", "config.json"):
        tally.compare(f"{form['family']}: imported again, {file}",
                      filecmp.cmp(first / file, again / file, shallow=False), True,
                      json.dumps(form))
    theirs = T5ForConditionalGeneration.from_pretrained(exported).eval()
    target = t5_models.TARGETS.get(form["family"], [None])[0]
    for line in page(tally.draw(folder.name))[:LINES]:
        ids = tokens.encode(t5_models.tagged(line, target))
        given = {"input_ids": torch.tensor([ids]), "decoder_input_ids": torch.tensor([ids[:10]])}
        with torch.no_grad():
            ours, other = (x(**given).logits[..., :len(tokens.model)] for x in (theirs, network))
        tally.compare(f"{form['family']}: exported network", (ours - other).abs().max().item(),
                      0.0, f"{line!r}, {json.dumps(form)}", CLOSE)


def main():
    program, tally = sys.argv[1], Tally(sys.argv[2])
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(MODELS):
            folder = Path(scratch) / str(number)
            made = t5_models.make(tally.draw(number), folder, t5_models.FAMILIES[number % 4])
            compare(program, tally, folder, *made)
            compare_exported(program, tally, folder, *made)
    tally.finish()


if __name__ == "__main__":
    main()
