#!/usr/bin/env python3
"""alignments.py - pieces' probabilities and words' links beside transformers

    alignments.py CLATTN SEED [GOLDEN]

The stored models of tests/data translate lines of this project's pages. For the pieces that
`clattn translate --pieces` names, transformers computes their log probabilities and the attention
of the decoder's last layer; the words that belong together follow from the places of the pieces
in the text. With GOLDEN, writes what tests/cli/marian.sh compares to this file, and no more.
"""
import sys
import tempfile
from pathlib import Path

import torch
from transformers import MarianMTModel, MarianTokenizer

from peer import LOGITS, Tally, clattn

DATA = Path(__file__).resolve().parent.parent / "data"
LINES = 40
NEAR = 1e-3  # a word may have another link where the sums differ by less


def words_of(pieces, hidden=None):
    """The word that each piece ends in, or the next one that can be seen; -1 for none."""
    text, ends = "", []
    for piece in pieces:
        text += "" if piece in ("</s>", "<pad>", hidden) else piece.replace("\u2581", " ")
        ends.append(len(text.rstrip()))
    found, before = [], 0
    for end in ends:
        at = end if end > before else next((x for x in ends if x > before), 0)
        found.append(len(text[:at].split()) - 1)
        before = max(before, end)
    return found


def said_by(program, model, lines, *options):
    said = clattn(program, "translate", "--no-split", "--model", model, "--beam", "1", "--scores",
                  "--align", "--pieces", *options, text="".join(f"{x}\n" for x in lines))
    for row in said.split("\n")[:-1]:
        logp, _, _, links, pieces = row.split("\t")
        pairs = [x.rsplit(":", 1) for x in pieces.split(" ") if x]
        yield (float(logp), [tuple(map(int, x.split("-"))) for x in links.split()],
               [x for x, _ in pairs], [float(x) for _, x in pairs])


def sums_of(network, tokenizer, line, pieces):
    """Log probabilities of the pieces, and the weight of each word of the line for each word."""
    ids = tokenizer(line, return_tensors="pt")["input_ids"]
    target = [tokenizer.convert_tokens_to_ids(x) for x in pieces]
    before = torch.tensor([[network.config.decoder_start_token_id, *target[:-1]]])
    with torch.no_grad():
        out = network(input_ids=ids, decoder_input_ids=before, output_attentions=True)
    logp = out.logits[0].log_softmax(-1)[range(len(target)), target]
    weight = out.cross_attentions[-1][0].mean(0)
    source = words_of(tokenizer.convert_ids_to_tokens(ids[0]))
    words = words_of(pieces, "<unk>")
    sums = torch.zeros(max(words, default=-1) + 1, max(source) + 1)
    for t, w in enumerate(words):
        for j, v in enumerate(source):
            if w >= 0 and v >= 0:
                sums[w, v] += weight[t, j]
    logp = logp.tolist()
    if pieces[-1] == "</s>" and 1 + len(pieces) == network.generation_config.max_length:
        logp[-1] = 0  # the end was forced, at no cost
    return logp, sums


def main():
    program, tally = sys.argv[1], Tally(sys.argv[2])
    text = (DATA.parent.parent / "docs" / "style.md").read_text(encoding="utf-8")
    rows = [x.strip() for x in text.split("\n") if len(x) > 20 and "<" not in x]
    given = (DATA / "marian" / "lines.txt").read_text(encoding="utf-8").split("\n")[:-1]
    lines = [x for x in given if ">>" not in x]
    golden = sys.argv[3] if len(sys.argv) > 3 else None
    lines += [] if golden else tally.draw("alignments").sample(rows, LINES)
    network = MarianMTModel.from_pretrained(DATA / "marian", attn_implementation="eager").eval()
    tokenizer = MarianTokenizer.from_pretrained(DATA / "marian")
    kept = []
    with tempfile.TemporaryDirectory() as scratch:
        model = Path(scratch) / "marian"
        clattn(program, "import", DATA / "marian", "--out", model)
        for line, (whole, links, pieces, logps) in zip(lines, said_by(program, model, lines),
                                                       strict=True):
            wanted, sums = sums_of(network, tokenizer, line, pieces)
            apart = max(abs(a - b) for a, b in zip(logps, wanted, strict=True))
            tally.compare("log probabilities", apart < LOGITS, True, f"{line!r}: {apart}")
            tally.compare("their sum", abs(whole - sum(logps)) < 1e-3, True, repr(line))
            tally.compare("words", [w for _, w in links], list(range(len(sums))), repr(line))
            best = [(sums[w].max() - sums[w, v]).item() for v, w in links]
            tally.compare("links", max(best, default=0) < NEAR, True, f"{line!r}: {best}")
            kept.append(" ".join(f"{int(row.argmax())}-{w}" for w, row in enumerate(sums)))
    if golden:
        Path(golden).write_text("".join(f"{x}\n" for x in kept), encoding="utf-8")
    tally.finish()


if __name__ == "__main__":
    main()
