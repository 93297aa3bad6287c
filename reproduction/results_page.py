"""results_page.py - the first page, how lines of pages break, and long tables as CSV.

The first page has the papers' claims (results_claims.py) and tells of the other pages.
"""
import csv
import io
import re
import textwrap

import results_claims

PAGES = """
| page | tells of |
|---|---|
| [tagger](tagger.md) | positions, temperatures and convolved attention on treebanks |
| [translation](translation.md) | ways of attending, windows, other languages, base models, speed |
| [rewards](rewards.md) | gates and sequence rewards beside further training |
| [reading](reading.md) | one to twenty levels of attention, in English and Chinese |
| [poems](poems.md) | levels of attention that write quatrains |
| [language](language.md) | ways of attention in a small language model |
| [precision](precision.md) | training with rounded products |

A figure in bold on these pages points in another direction than the paper's. The folder `reproduction/rows` has each
run with its command, seed, device, commit and wall time; `reproduction/tables` has the tables that are too long for a
page. [Reproduction](../README.md) tells how to run and to check them."""

COMMAND = re.compile(r"`[^`\n]{90,}`")


def csv_of(rows):
    """A table of a page as CSV: without bold type and the signs of code."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    for row in rows:
        if row.startswith("| "):
            lines.writerow([cell.strip(" `*") for cell in row.strip()[1:-1].split("|")])
    return out.getvalue()


def whole(lines):
    """A page of its lines; its title is a heading of the first level."""
    text = re.sub(r"\n{3,}", "\n\n", wrapped("\n".join(lines).strip("\n"))) + "\n"
    return text if text.startswith("# ") else re.sub(r"^##(#*) ", r"#\1 ", text, flags=re.M)


def head(store):
    yield from results_claims.page(store)
    yield PAGES


def wrapped(page):
    """Breaks the lines of paragraphs at 80 columns; tables, lists, code and titles stay as they are."""
    out, code = [], False
    for block in page.split("\n\n"):
        fences = block.count("```")
        plain = not (code or fences or COMMAND.search(block) or block.lstrip("\n")[:1] in ("", "|", "#", "-", "<", "!"))
        if fences % 2:
            code = not code
        lines = block.strip("\n").split("\n")
        if plain and not any(line.startswith(("|", "- ")) for line in lines):
            text = " ".join(line.strip() for line in lines)
            block = textwrap.fill(text, 80, break_long_words=False, break_on_hyphens=False)
        out.append(block)
    return "\n\n".join(out)
