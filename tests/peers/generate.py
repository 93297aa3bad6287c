#!/usr/bin/env python3
"""generate.py - what the installed transformers generates

    generate.py FOLDER...

Each folder is a MarianMT model with its tokenizer and sources.txt. Prints a JSON object:
the release, and for each folder the texts and the scores with a beam of 1 and of 4, or why
it cannot be loaded. Runs alone, so that two releases can do so.
"""
import contextlib
import json
import sys
from pathlib import Path

import torch
import transformers

BEAMS = 1, 4
# Also of a model in bfloat16, as clattn stores it: its positions are not rounded.
TYPE = "torch_dtype" if transformers.__version__.startswith("4.") else "dtype"


def texts(network, tokenizer, lines, beam):
    for line in lines:
        with torch.no_grad():
            out = network.generate(**tokenizer([line], return_tensors="pt"), num_beams=beam,
                                   return_dict_in_generate=True, output_scores=True)
        text = tokenizer.decode(out.sequences[0], skip_special_tokens=True,
                                clean_up_tokenization_spaces=False)
        yield text, out.sequences_scores[0].item() if beam > 1 else None


def generate(folder):
    lines = (folder / "sources.txt").read_bytes().decode().split("\n")[:-1]
    try:
        tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
        network = transformers.MarianMTModel.from_pretrained(folder, **{TYPE: torch.float32})
    except Exception as error:  # pylint: disable=broad-except
        return {"refused": f"{type(error).__name__}: {error}"}
    return {beam: list(texts(network.eval(), tokenizer, lines, beam)) for beam in BEAMS}


def main():
    torch.set_num_threads(1)  # networks are tiny
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with contextlib.redirect_stdout(sys.stderr):
        made = {path: generate(Path(path)) for path in sys.argv[1:]}
    json.dump({"release": transformers.__version__, "made": made}, sys.stdout)


if __name__ == "__main__":
    main()
