#!/usr/bin/env python3
"""config_manual.py - the manual page clattn-config(5), from the tables of keys in docs.

usage: tools/config_manual.py VERSION [CONFIG.json] >clattn-config.5

With the config.json of a run it lists instead the keys of that file that the page lacks,
and fails when there is one.

Tables of keys (key, default, meaning; key, default, of, meaning; key, value) and of kinds
of attention (`attention`, meaning) become entries under the headings of their page."""
import json
import os
import re
import sys

DOCS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs")
PAGES = ("training", "translation", "attention", "reinforcement", "reading", "poems", "language-models", "custom")

HEAD = r""".TH CLATTN\-CONFIG 5 "" "clattn VERSION" "clattn Manual"
.SH NAME
clattn\-config \- settings of a training run
.SH DESCRIPTION
A config is a file of JSON: one object of keys and values.
.PP
.nf
.RS 4
{
    "model": "tagger",
    "data": "../data/fr_spoken",
    "attention": "conv2d",
    "epochs": 2
}
.RE
.fi
.PP
.B clattn train
.I CONFIG
reads it, and
.B \-\-set
.I key=value
changes one key. A key that is not known is an error, which names the file, the line and
the nearest key. A relative path in a value is searched beside the config first. The run
folder keeps a
.I config.json
with the values of all keys.
"""
TAIL = r"""Keys that are marked * take their default from the preset.
.SH SEE ALSO
.BR clattn (1),
.BR clattn\-train (1)
"""


def roff(text):
    """A cell of a table: code is bold, links are their text."""
    text = re.sub(r" \(\[[^]]*\]\([^)]*\)\)", "", text.strip()).replace(", see below", "")
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = text.replace("\\", r"\e").replace("-", r"\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return r"\&" + text if text[:1] in (".", "'") else text


def cells(line):
    return [cell.replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def tables(lines):
    """The rows of each table of a page, its header first."""
    rows = []
    for line in lines + [""]:
        if line.startswith("|"):
            rows.append(cells(line))
        elif rows:
            yield rows
            rows = []


def meaning(default, text):
    """The sentence of a key."""
    if default in ("", "see below"):
        return text + "." if text.strip() else "See the page of the model."
    if not text.strip():
        return f"Default: {default}."
    if text.startswith("or "):
        return f"{default} (default), {text}."
    return f"{text} (default: {default})."


def is_of_config(row):
    """Whether the table of this header is of keys, or of kinds of attention."""
    first, *others = (cell.strip() for cell in row)
    if first == "key":
        return others in (["default", "meaning"], ["default", "of", "meaning"], ["value"])
    return first == "`attention`" and len(others) == 1


def entry(row):
    """A key with its meaning and default."""
    key, *others = (cell.strip() for cell in row)
    if len(others) == 1:
        text = others[0] + "."
    else:
        of = f"{others[1]}: " if len(others) == 3 and others[1] != "all" else ""
        text = of + meaning(others[0], others[-1])
    return [".TP", roff(key), roff(text)]


def section(page):
    """The tables of one page, each under its heading."""
    with open(page, encoding="utf-8") as text:
        lines = text.read().splitlines()
    body, heading, said = [], "", ""
    for part in re.split(r"\n(?=#)", "\n".join(lines)):
        heading = part.split("\n")[0].lstrip("# ")
        for rows in tables(part.splitlines()):
            known = is_of_config(rows[0])
            if known and heading != said:
                body.append(f'.SS "{roff(heading)}"')
                said = heading
            for row in rows[2:] if known else []:
                body += entry(row)
    return [f'.SH "{roff(lines[0][2:]).upper()}"'] + body


def entries():
    for page in PAGES:
        yield from section(os.path.join(DOCS, page + ".md"))


def missing(config):
    """Keys of a complete config that no entry names."""
    with open(config, encoding="utf-8") as text:
        keys = json.load(text)
    heads = re.findall(r"^\.TP\n(.*)$", "\n".join(entries()).replace(r"\-", "-"), re.M)
    named = set(re.findall(r"\\fB([^\\]*)\\fR", " ".join(heads)))
    return sorted(set(keys) - named - {"integrity"})


def main():
    if len(sys.argv) > 2:
        lacks = missing(sys.argv[2])
        print("\n".join(f"no page names the key {key} of {sys.argv[2]}" for key in lacks))
        sys.exit(bool(lacks))
    sys.stdout.write(HEAD.replace("VERSION", sys.argv[1]))
    print("\n".join(entries()))
    sys.stdout.write(TAIL)


main()
