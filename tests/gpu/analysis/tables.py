"""tables.py - the tables of figures and estimates: whole in tests/gpu, ten rows of each in docs/gpu.md."""
import os, re

import estimate

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
PAGE = os.path.join(ROOT, "docs", "gpu.md")
KERNELS = os.path.join(ROOT, "tests", "gpu", "figures.md")
OPERATORS = os.path.join(ROOT, "tests", "gpu", "estimates.md")
# The rows of the page: kernels by an expression that a case begins with, operators by name with the milliseconds that an H100
# took (the section Measured of the page).
PLAIN = r"WIDTH=64 (?!.*(TABLE|NEAR|CUSTOM)).*DOWN=8 "
PAGE_KERNELS = [r"attention_forward " + PLAIN, r"attention_grad_q " + PLAIN, r"attention_grad_kv " + PLAIN,
                r"band_attention_forward WIDTH=64 ", r"matmul_group .*QM=2 QN=2 TA=0 TB=0 WIDE=1 ", r"conv_filter ",
                r"lstm_walk ", r"lstm_walk_back ", r"ham_forward WIDE=1 ", r"embedding_backward "]
MEASURED = [("matmul fwd M1024 N1024 K1024", 0.100), ("matmul fwd M512 N512 K512", 0.032), ("attention fwd B64 H8 T64 d64", 0.024),
            ("attention fwd+bwd B64 H8 T64 d64", 0.193), ("band_attention fwd+bwd B8 H8 T512 d64 w11", 0.141),
            ("band_attention_2d fwd+bwd B8 H8 T512 d64 w11 h3", 0.291), ("conv_attention_2d fwd+bwd B8 H8 T256 d64 k3", 0.953),
            ("masked_softmax fwd+bwd B8 H8 T256 S256", 0.076), ("adam n2000000", 0.022),
            ("embedding fwd+bwd N1920 D128 V8000", 0.288), ("lstm fwd+bwd B32 T64 in256 n128", 8.510),
            ("ham_v fwd+bwd B4 T500 S60 d300 depth5", 5.078)]


def cell(row):
    """Registers (Intel: items a thread), spilled bytes, occupancy, bound / whole round, what limits it."""
    if "error" in row:
        return "does not compile"
    text = "S%d" % row["simd"] if "simd" in row else "r%d" % row["registers"]
    text += "+%d" % row["spill"] if row["spill"] else "+p%d" % row["private"] if row["private"] else ""
    text += " o%d/%d" % (row["occupancy"], row["most"])
    if not row["bound"]:
        return text
    text += " %.0f" % (100 * row["bound"])
    text += "-%.0f" % (100 * row["paired"]) if "paired" in row else ""
    text += "/%.0f" % (100 * row["whole"]) if "whole" in row else ""
    return text + " % " + row["limit"]


def kernels(rows, targets, wanted=None):
    """Lines of a Markdown table, a kernel a line. wanted: expressions, each with one row."""
    by_case = {}
    for row in rows:
        by_case.setdefault(row["case"], {})[row["target"]] = row
    names = sorted(by_case)
    if wanted:
        # variants of the vendors differ in their constants; a row has the first of each target
        for target in targets:
            for n, expression in enumerate(wanted):
                found = next((c for c in names if re.match(expression, c + " ") and target in by_case[c]), None)
                if found:
                    by_case.setdefault("%d" % n, {})[target] = by_case[found][target]
        names = [n for n in map(str, range(len(wanted))) if n in by_case]
    yield "| kernel | local | " + " | ".join(targets) + " |"
    yield "|---|" + "---|" * (len(targets) + 1)
    for name in names:
        mine = by_case[name]
        local = max(r.get("local", 0) for r in mine.values())
        title = name
        if wanted:
            words = {" ".join(w for w in r["case"].split() if not re.match(r"(QUADS|UNROLL|KEYS|VALUES)=", w)) for r in mine.values()}
            title = min(words, key=len)
        yield "| %s | %d | %s |" % (title, local, " | ".join(cell(mine[t]) if t in mine else "" for t in targets))


def _ms(seconds):
    return "%.3g" % (1e3 * seconds)


def operators(times):
    """Lines of a Markdown table, an operator or a model's step a line: on each card its groups, rounds and estimate."""
    by_name = {}
    for time in times:
        by_name.setdefault(time.work.name, {})[time.card.name] = time
    cards = [c for c in estimate.CARDS if any(c.name in mine for mine in by_name.values())]
    yield "| operator | launches | " + " | ".join("%s, %d units" % (c.name, c.units) for c in cards) + " |"
    yield "|---|" + "---|" * (len(cards) + 1)
    for name, mine in by_name.items():
        cells = ["%d / %d / %s / %s" % (t.groups, t.rounds, _ms(t.seconds), _ms(t.roofline)) if t else ""
                 for t in (mine.get(c.name) for c in cards)]
        yield "| %s | %d | %s |" % (name, max(t.launches for t in mine.values()), " | ".join(cells))


def measured(times):
    """Lines of a Markdown table: estimates for the card that has been measured, and what it took."""
    by_name = {t.work.name: t for t in times if t.card == estimate.GATED}
    yield "| operator | launches | fewest groups | rounds | estimate, ms | measured, ms | estimate / measured | at the peaks, ms |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, ms in MEASURED:
        if name in by_name:
            t = by_name[name]
            yield "| %s | %d | %d | %d | %s | %.3f | %.2f | %s |" % (name, t.launches, t.groups, t.rounds, _ms(t.seconds), ms,
                                                                   1e3 * t.seconds / ms, _ms(t.roofline))


def _put(path, begin, end, lines):
    """Writes lines between two comments of a page."""
    text = open(path).read()
    head, rest = text.split(begin, 1)
    with open(path, "w") as f:
        f.write(head + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + rest.split(end, 1)[1])


def write(rows, targets, times, whole):
    """Writes the tables; whole: times are those of all operators, and not of the hot kernels' suites."""
    with open(KERNELS, "w") as f:
        f.write("# Figures of all kernels\n\nWritten by `tools/gpu-report.sh --all --update`; [docs/gpu.md](../../docs/gpu.md) tells "
                "what a cell means.\n\n" + "\n".join(kernels(rows, targets)) + "\n")
    _put(PAGE, "<!-- figures -->", "<!-- end of figures -->", kernels(rows, targets, PAGE_KERNELS))
    if times and whole:
        with open(OPERATORS, "w") as f:
            f.write("# Estimates of all operators\n\nWritten by `tools/gpu-report.sh --all --update`; [docs/gpu.md](../../docs/gpu.md) "
                    "tells how. A cell: groups of the smallest launch / rounds one after another / estimate in ms / ms at the card's "
                    "peaks.\n\n" + "\n".join(operators(times)) + "\n")
        _put(PAGE, "<!-- estimates -->", "<!-- end of estimates -->", measured(times))
