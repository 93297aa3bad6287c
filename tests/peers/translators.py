#!/usr/bin/env python3
"""translators.py - compares a translator with transformers, after its export

    translators.py CLATTN MODEL LINES

Greedy and with a beam of 4, the words of each line must be the same. Prints counts; exits
with 1 when a line differs. Models of byte pairs go in and out as ids (docs/export.md).
"""
import json
import sys
import tempfile
from pathlib import Path

import torch
from transformers import MarianMTModel, MarianTokenizer

from peer import clattn


class Pieces:
    """The tokenizer of a folder with byte pairs, by the program itself."""

    def __init__(self, program, folder):
        self.program, self.codes = program, folder / "codes.txt"
        self.ids = json.loads((folder / "vocab.json").read_text())
        other = folder / "target_vocab.json"
        names = json.loads(other.read_text()) if other.exists() else self.ids
        self.names = {i: piece for piece, i in names.items()}

    def encode(self, line):
        cut = clattn(self.program, "bpe", "apply", "--split", "--codes", self.codes,
                        text=line + "\n")
        unknown = self.ids["<unk>"]
        ids = [self.ids.get(piece, unknown) for piece in cut.split()]
        return {"input_ids": torch.tensor([[*ids, self.ids["</s>"]]])}

    def decode(self, ids):
        pieces = [self.names[i] for i in ids.tolist()]
        kept = " ".join(p for p in pieces if p not in ("</s>", "<pad>"))
        return clattn(self.program, "bpe", "undo", "--split", text=kept + "\n").rstrip("\n")


class Spoken:
    """The tokenizer of a folder with models of SentencePiece."""

    def __init__(self, folder):
        self.tokenizer = MarianTokenizer.from_pretrained(folder)

    def encode(self, line):
        return self.tokenizer([line], return_tensors="pt")

    def decode(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=True,
                                     clean_up_tokenization_spaces=False)


def main():
    program, model, lines = sys.argv[1:]
    texts = Path(lines).read_text().split("\n")[:-1]
    different = 0
    torch.set_num_threads(1)  # networks are tiny
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "marian"
        clattn(program, "export", "--format", "huggingface", "--model", model, "--out", folder)
        network = MarianMTModel.from_pretrained(folder).eval()
        byte_pairs = (folder / "codes.txt").exists()
        tokens = Pieces(program, folder) if byte_pairs else Spoken(folder)
        for beam in (1, 4):
            ours = clattn(program, "translate", "--no-split", "--model", model, "--beam", beam,
                          text="".join(f"{line}\n" for line in texts)).split("\n")[:-1]
            equal = 0
            for line, our in zip(texts, ours, strict=True):
                with torch.no_grad():
                    out = network.generate(**tokens.encode(line), num_beams=beam)
                theirs = tokens.decode(out[0])
                equal += our.strip() == theirs.strip()
                if our.strip() != theirs.strip():
                    print(f"beam {beam}: {line!r}\n  clattn        {our!r}\n"
                          f"  transformers  {theirs!r}")
            print(f"transformers, beam {beam}: {equal} of {len(texts)} lines are equal")
            different += len(texts) - equal
    print(f"{2 * len(texts)} inputs compared, {different} differences")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
