#!/usr/bin/env python3
"""marian.py - compares translations of random Marian models with those of transformers

    marian.py CLATTN SEED [OLD]

The newest transformers makes models of many forms (marian_models.py); clattn imports them.
Texts and scores must be the same, greedy and with a beam of 4. OLD is a folder with a
transformers of release 4, whose search `import --transformers 4` has; what that release
cannot load of these models is named. Prints counts; exits
with 1 when something differs.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers

import marian_models
from peer import Tally, clattn, run, write_lines

MODELS, LINES = 12, 12
OLD = {"separate": False, "tied": True, "added": False}  # what release 4 loads of release 5
CLOSE = 1e-4  # scores, sums of float32; texts have no tolerance
DELETED = re.compile(".*>>.+<<")  # inside of a line, by the tokenizer of release 4


def generated(folders, old):
    """What a release generates, by folder. The search of release 4 needs its own process,
    and so that both are the same, has that of 5."""
    environment = {**os.environ, **({"PYTHONPATH": old} if old else {})}
    made = subprocess.run(
        [sys.executable, Path(__file__).parent / "generate.py", *map(str, folders)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if made.returncode:
        sys.exit(f"generate.py: {made.stderr.decode()[-2000:]}")
    return json.loads(made.stdout)


def translated(program, model, folder, beam):
    text = (folder / "sources.txt").read_bytes().decode()
    said = clattn(program, "translate", "--no-split", "--model", model, "--beam", beam, "--scores", text=text)
    rows = (row.split("\t") for row in said.split("\n")[:-1])
    return [(text, float(score)) for _, score, text in rows]


def compare(program, tally, folder, form, made, release):
    """One model under the rules of a release. Release 4 does not load all that 5 writes."""
    rules, model = release.split(".")[0], folder.with_name(f"{folder.name}-{release}")
    where = f"model {folder.name}, {json.dumps(form)}"
    status, _, error = run(program, "import", folder, "--transformers", rules, "--out", model)
    refused = made.get("refused", "the tables that release 5 keeps apart are one"
                       if rules == "4" and not form["tied"] and not form["separate"] else "")
    if rules == "4" and refused:  # the folder is one of release 5
        print(f"left out: {release} and model {folder.name}: {refused.strip()[:120]!r}")
        return
    tally.compare(f"{release}: loaded", error if status else "", refused, where)
    if status or refused:
        return
    lines = (folder / "sources.txt").read_bytes().decode().split("\n")
    for beam, theirs in made.items():
        ours = translated(program, model, folder, beam)
        for line, (our, score), (their, other) in zip(lines, ours, theirs):
            if rules == "4" and DELETED.match(line, 1):
                continue
            name, at = f"{release}: beam {beam}", f"{line!r}, {where}"
            tally.compare(f"{name}, text", our, their, at)
            if other is not None and our == their:
                tally.compare(f"{name}, score", score, other, at, CLOSE)


def main():
    program, tally, olds = sys.argv[1], Tally(sys.argv[2]), sys.argv[3:]
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as scratch:
        forms = {}
        for number in range(MODELS):
            draw, folder = tally.draw(number), Path(scratch) / str(number)
            forms[folder] = marian_models.make(draw, folder, **(OLD if number % 3 == 0 else {}))
            write_lines(folder / "sources.txt",
                        marian_models.sources(draw, forms[folder], LINES))
        for old in [None, *olds]:
            said = generated(forms, old)
            for folder, form in forms.items():
                compare(program, tally, folder, form, said["made"][str(folder)],
                        said["release"])
    tally.finish()


if __name__ == "__main__":
    main()
