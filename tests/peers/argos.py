#!/usr/bin/env python3
"""argos.py - Argos Translate's own command and classes, unchanged, with `clattn serve`

    argos.py CLATTN SEED

`argos-translate` and its library take their translations from a LibreTranslate service where
ARGOS_MODEL_PROVIDER says so; the address of that is a constant of theirs, which points to the
loopback here. The command gets texts as an argument and on standard input; the library lists
languages, translates and detects. Texts must be those of `clattn translate`.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from peer import Tally, clattn

DATA = Path(__file__).resolve().parent.parent / "data"
LINES = 2  # the command takes seconds to start
COMMAND = ("from argostranslate import apis, cli; "
           "apis.LibreTranslateAPI.DEFAULT_URL = {!r}; cli.main()")


def argos(address, home, *arguments, text=None):
    """Status, output and errors of `argos-translate ARGUMENTS`."""
    ran = subprocess.run([sys.executable, "-c", COMMAND.format(address), *arguments],
                         input=text, capture_output=True, text=True, check=False,
                         env={**os.environ, "ARGOS_MODEL_PROVIDER": "LIBRETRANSLATE",
                              "HOME": home, "XDG_DATA_HOME": home})
    return ran.returncode, ran.stdout, ran.stderr


def texts(tally):
    page = (DATA.parent.parent / "docs" / "style.md").read_text(encoding="utf-8")
    rows = [x.strip() for x in page.split("\n") if len(x) > 20 and "<" not in x]
    return [*tally.draw("argos").sample(rows, LINES), "one line\nanother\n\nand a third",
            "a & b = 50% ü 漢字"]


def talk(tally, program, model, address, home):
    from argostranslate import apis  # noqa: PLC0415 - its settings need the scratch folder

    service = apis.LibreTranslateAPI(address)
    tally.compare("languages", [x["code"] for x in service.languages()], ["en", "deu"], "")
    found = service.detect("This is a sentence in a language that many people read and write.")
    tally.compare("detect", found[0]["language"], "en", str(found))
    for text in texts(tally):
        wanted = clattn(program, "translate", "--model", model, "--target", "deu", text=text + "\n")
        wanted = wanted.removesuffix("\n")
        tally.compare("library", service.translate(text, "en", "deu"), wanted, repr(text))
        for name, given in (("argument", {}), ("standard input", {"text": text})):
            words = [] if given else [text]
            said = argos(address, home, "--from-lang", "en", "--to-lang", "deu", *words, **given)
            tally.compare(f"command, {name}", said[:2], (0, wanted + "\n"), f"{text!r}: {said[2]}")
    status, _, said = argos(address, home, "-f", "en", "-t", "xx", "a")
    tally.compare("command, no such language", (status, "'xx' is not an installed" in said),
                  (2, True), said)


def main():
    program, tally = sys.argv[1], Tally(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_DATA_HOME"] = scratch
        model = Path(scratch) / "marian"
        clattn(program, "import", DATA / "marian", "--out", model)
        with subprocess.Popen([program, "serve", "--model", model, "--port", "0"],
                              stdout=subprocess.PIPE, text=True) as service:
            address = service.stdout.readline().strip()
            try:
                if not re.fullmatch(r"http://127\.0\.0\.1:\d+", address):
                    sys.exit(f"the service said {address!r}")
                talk(tally, program, model, address, scratch)
            finally:
                service.terminate()
    tally.finish()


if __name__ == "__main__":
    main()
