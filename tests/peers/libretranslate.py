#!/usr/bin/env python3
"""libretranslate.py - LibreTranslate's own client for Python, unchanged, with `clattn serve`

    libretranslate.py CLATTN SEED

The client lists the languages and translates lines of this project's pages. Texts must be those
of `clattn translate`: one language each way (Marian) and a choice of both (NLLB). A text with
markup's signs, an empty one and one of several lines go through, too; a wrong language is
refused with LibreTranslate's status and a reason.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.error import HTTPError

from libretranslatepy import LibreTranslateAPI

from peer import Tally, clattn

DATA = Path(__file__).resolve().parent.parent / "data"
LINES = 25
MODELS = {"marian": [("en", "de")], "nllb": [("eng_Latn", "deu_Latn"), ("zho_Hans", "ace_Arab")]}
ODD = ["", " ", "a & b = <c> + 50% ü 漢字", "one line\nanother one\n\nand a third", "x" * 300]


def lines_of(draw):
    text = (DATA.parent.parent / "docs" / "style.md").read_text(encoding="utf-8")
    rows = [x.strip() for x in text.split("\n") if len(x) > 20 and "<" not in x]
    return draw.sample(rows, LINES)


def expected(program, model, text, pair):
    """What `clattn translate` makes of a text, line by line."""
    chosen = ["--source", pair[0], "--target", pair[1]] if "_" in pair[0] else []
    said = clattn(program, "translate", "--model", model, *chosen, text=text + "\n")
    return said.removesuffix("\n")


def refused(client, *arguments):
    try:
        client.translate(*arguments)
    except HTTPError as error:
        return error.code, bool(json.loads(error.read())["error"])
    return 200, False


def talk(program, tally, client, model, name):
    pairs = MODELS[name]
    codes = {x["code"] for x in client.languages()}
    for pair in pairs:
        tally.compare(f"{name}: languages", pair[0] in codes, True, str(sorted(codes)))
        for text in [*lines_of(tally.draw(name)), *ODD]:
            tally.compare(f"{name}: text", client.translate(text, *pair),
                          expected(program, model, text, pair), f"{text!r}, {pair}")
        tally.compare(f"{name}: a wrong target", refused(client, "a", pair[0], "xx"), (400, True),
                      str(pair))
        tally.compare(f"{name}: a wrong source", refused(client, "a", "xx", pair[1]), (400, True),
                      str(pair))


def main():
    program, tally = sys.argv[1], Tally(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        for name in MODELS:
            model = Path(scratch) / name
            clattn(program, "import", DATA / name, "--out", model)
            with subprocess.Popen([program, "serve", "--model", model, "--port", "0"],
                                  stdout=subprocess.PIPE, text=True) as service:
                address = service.stdout.readline().strip()
                try:
                    if not re.fullmatch(r"http://127\.0\.0\.1:\d+", address):
                        sys.exit(f"the service said {address!r}")
                    talk(program, tally, LibreTranslateAPI(address), model, name)
                finally:
                    service.terminate()
    tally.finish()


if __name__ == "__main__":
    main()
