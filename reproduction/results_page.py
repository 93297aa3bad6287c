"""results_page.py - the first page, how lines of pages break, and long tables as CSV.

The table of the first page has a row for each claim of the papers: what was found here, and whether
that supports the claim.
"""
import csv
import io
import re
import statistics
import textwrap

import results_hard
import results_means
import results_nmt
import results_poem
import results_reader
import results_tagger

HEAD = """# Results

Do the systems reach what their papers claim? This table has a row for each claim. "Here" is the difference
to what the claim is compared with. SE is the standard error of a difference of two means over seeds, ± the
standard deviation over seeds. A claim counts as supported where the difference is at least one standard error. Poems
have one seed; there the printed figure must be larger.

| claim of a paper | here | supported? |
|---|---|---|"""
PAGES = """
| page | tells of |
|---|---|
| [tagger](tagger.md) | positions, temperatures and convolved attention on treebanks |
| [translation](translation.md) | ways of attending, windows, other languages, base models, speed |
| [rewards](rewards.md) | gates and sequence rewards beside further training |
| [reading](reading.md) | one to twenty levels of attention, in English and Chinese |
| [poems](poems.md) | levels of attention that write quatrains |

A figure in bold on these pages points in another direction than the paper's. The folder `reproduction/rows` has each
run with its command, seed, device, commit and wall time; `reproduction/tables` has the tables that are too long for a
page. [Reproduction](../README.md) tells how to run and to check them."""

COMMAND = re.compile(r"`[^`\n]{90,}`")


def verdict(yes, of):
    return "yes" if yes == of else "no" if not yes else f"in {yes} of {of}"


def tagger_row(claim, found):
    """found: differences of accuracy and their standard errors, by variant; None where seeds are missing."""
    found = {variant: both for variant, both in found.items() if both}
    if not found:
        return
    told = ", ".join(f"`{variant}` {results_means.in_errors(*gain, ' points')}" for variant, gain in found.items())
    yield f"| {claim} | {told} | {verdict(sum(mean > error for mean, error in found.values()), len(found))} |"


def tagger_rows(lines, penn):
    """Convolved attention and learned positions beside sine positions; convolution before and after the softmax."""
    base = results_tagger.macro(lines, "pe_add", "accuracy")
    for variants, claim in ((("conv", "conv2d"), "Convolved attention maps tag better than plain attention"),
                            (("p_r", "p_r_spectral"), "Position matrices tag better than sine positions")):
        own = {variant: results_tagger.macro(lines, variant, "accuracy") for variant in variants}
        yield from tagger_row(f"{claim} (six treebanks)", {v: results_tagger.difference(x, base) for v, x in own.items()})
    yield from tagger_row("Attention maps that are convolved after the softmax tag better than before it "
                          "(sizes of the Penn Treebank)", dict(results_tagger.after_softmax(penn)))


def nmt_rows(tables):
    """1D and 2D convolutional self-attention beside plain, where there are seeds."""
    shown, yes, of = [], 0, 0
    for name, lines in tables.items():
        for pair in dict.fromkeys(x["pair"] for x in lines):
            ways = [[x for x in lines if (x["pair"], x["way"]) == (pair, way)] for way in results_nmt.WINDOWS]
            plain = [x for x in lines if (x["pair"], x["way"]) == (pair, "plain")]
            if min(map(len, (*ways, plain))) < 2:
                continue
            gains = [results_means.difference([x["bleu"] for x in way], [x["bleu"] for x in plain]) for way in ways]
            of += 1
            yes += all(mean >= error for mean, error in gains)
            told = " and ".join(results_means.in_errors(*gain) for gain in gains)
            shown.append(f"{pair}{', annealed' * (name == 'nmt-annealed')} {told} BLEU")
    if of:
        yield ("| 1D and 2D convolutional self-attention translate better than plain attention | "
               f"{'; '.join(shown)} | {verdict(yes, of)} |")


def hard_rows(lines):
    """Gates and rewards beside the same steps without them; a pair with one seed is told, not judged."""
    told, judged = [], []
    for pair in results_hard.SEEDS:
        found = {names: gains for names, gains in results_hard.beside_all(lines, pair).items() if gains}
        own = ", ".join(f"`{system}` {results_hard.mean_of(gains)} beside `{control}`"
                        for (system, control), gains in found.items())
        told += [f"{pair}: {own}"] if own else []
        judged += [gains for gains in found.values() if len(gains) > 1]
    yes = sum(statistics.mean(g) >= statistics.stdev(g) / len(g) ** 0.5 for g in judged)
    if told:
        yield ("| Gates and sequence rewards translate better than further training of soft attention | "
               f"{'; '.join(told)} | {verdict(yes, len(judged)) if judged else 'not shown by one seed'} |")


def level_rows(lines):
    """Depths where attention is trained."""
    shown, yes, of = [], 0, 0
    for network in results_reader.CLOZE_STEPS:
        gains = []
        for depth in (5, 10):
            own = [x for x in lines if (x["network"], x["depth"], x["start"]) == (network, depth, 0.9)]
            pairs = results_reader.beside_pairs(own, lines)
            if len(pairs) > 1:
                gains.append(results_means.difference(*zip(*pairs)))
        if len(gains) == 2:  # a row tells of both depths
            of += 1
            yes += any(mean >= error for mean, error in gains)
            told = ", ".join(results_means.in_errors(*gain) for gain in gains)
            shown.append(f"{network} {told}")
    if shown:
        yield ("| 5 and 10 levels of attention answer better than 1 | "
               f"F1 of cloze questions: {'; '.join(shown)} | {verdict(yes, of)} |")


def poem_rows(lines, of_epochs):
    """lines: after 2,000 steps; of_epochs: after five epochs, of each score. What the printed figures do not
    show is no gain."""
    scores = results_poem.by_score(of_epochs).items()
    told, better = [], 0
    for name, group in (("2,000 steps", lines), *((f"five epochs, `{name}`", own) for name, own in scores)):
        by_depth = {x["depth"]: round(statistics.mean(x["score"][f"bleu2_{n}"] for n in (5, 7)), 3) for x in group}
        if {1, 5, 10} <= set(by_depth):
            told.append(f"{name}: {', '.join(f'{by_depth[d]:.3f}' for d in (1, 5, 10))}")
            better += max(by_depth[5], by_depth[10]) > by_depth[1]
    if told:
        yield ("| 5 and 10 levels write better poems than 1 | "
               f"BLEU-2 of 1, 5 and 10 levels: {'; '.join(told)} (one seed) | {verdict(better, len(told))} |")


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
    text = wrapped("\n".join(lines).strip("\n")) + "\n"
    return text if text.startswith("# ") else re.sub(r"^##(#*) ", r"#\1 ", text, flags=re.M)


def head(store):
    yield HEAD
    yield from tagger_rows(store.lines("tagger"), store.lines("tagger-penn"))
    yield from nmt_rows({name: store.lines(name) for name in ("nmt", "nmt-pairs", "nmt-annealed")})
    yield from hard_rows(store.lines("hard"))
    yield from level_rows(store.lines("reader-cloze"))
    yield from poem_rows(store.lines("poem"), store.lines("poem-epochs"))
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
