"""results_windows.py - the tagger's table of windows: does locality explain what convolved maps gain?

Windows take no parameters and read what lies beside a word; filters of convolved maps read that, too. Both
stand beside attention to the whole sentence, under an early stop that leaves every run the time to converge.
"""
import results_criterion
import results_tagger
from results_tagger import SEEDS, TREEBANKS, key, score, told  # what a run gives is the same

PATIENCE = "patience=10"
SIZES = (1, 3, 5, 7, 11)
WINDOWS = {f"window_{n}": ("pe_add", ("attention=csan1d", f"window={n}")) for n in SIZES}
FILTERS = {f"filter_{n}": ("conv2d", (f"map_filter={n}",)) for n in SIZES if n != 3}
WAYS = {"pe_add": ("pe_add", ()), "conv2d": ("conv2d", ()), **WINDOWS, **FILTERS,
        **{name: (name, ()) for name in ("p_r", "temp", "conv", "san")}}
FIRST = ("French-Spoken", "English-LinES")  # those that an earlier look had windows of


def cell(bank, way, seed):
    variant, sets = WAYS[way]
    made = results_tagger.tagger_cell(bank, variant, seed, (*sets, PATIENCE))
    return dict(made, variant=way, paper=None)


def cells():
    """Windows and both controls first, of two treebanks, then of the others; then what is left."""
    names = list(WAYS)
    first, rest = names[:2 + len(WINDOWS)], names[2 + len(WINDOWS):]
    others = tuple(bank for bank in TREEBANKS if bank not in FIRST)
    for banks, ways in ((FIRST, first), (others, first), (FIRST, rest), (others, rest)):
        for seed in SEEDS:
            for bank in banks:
                for way in ways:
                    yield cell(bank, way, seed)


PAGE = "tagger"
TABLES = {"tagger-windows": lambda: list(cells())}
HEAD = """
## Windows beside convolved maps

Does locality explain what convolved maps gain? `window_N` is `pe_add` with `attention=csan1d window=N`: a word
attends to N words around it, without a parameter more. `filter_N` is `conv2d` with `map_filter=N`, and `conv2d`
itself has 3; no way of attending has a window and convolved maps at once. Controls: `pe_add`, and `filter_1`, which
convolves and has no neighbours. Fixed in advance: six treebanks, seeds 42 to 44, a stop after ten
epochs without a better dev accuracy in place of three. Cells so far: {done} of {count}, in the order of the plan.{table}
"""
PICTURE = """
The picture has means over the treebanks that have both controls and each window that is drawn. A band is one standard
deviation over the seeds; a curve without a band has one seed.

![Accuracy above `pe_add` by the words of a window or of a filter](pictures/locality.svg)"""
TABLE = " Differences with their intervals are in `reproduction/tables/tagger-windows.csv`."


def differences(lines):
    """(treebank, comparison): each way above both controls, of the seeds of both."""
    for bank in TREEBANKS:
        for base in ("pe_add", "conv2d"):
            controls = results_tagger.of(lines, bank, base)
            for way in WAYS:
                gains = results_criterion.paired(results_tagger.of(lines, bank, way), controls)
                if gains and way != base:
                    yield bank, results_criterion.Comparison(f"{way} above {base}", gains)


def page(store):
    lines = store.lines("tagger-windows")
    if lines:
        yield HEAD.format(count=len(list(cells())), done=len(lines),
                          table=TABLE if any(differences(lines)) else "")
        ways = [way for way in WAYS if any(x["variant"] == way for x in lines)]
        yield from results_tagger.grid(lines, ways, papers=False)
        yield PICTURE


def tables(store):
    """Every difference; none where no cell has run."""
    found = list(differences(store.lines("tagger-windows")))
    if not found:
        return {}
    head = ["| treebank | comparison | seeds | mean | half of the 95 % interval | verdict |"]
    return {"tagger-windows": head + [
        f"| {bank} | {c.name} | {len(c.gains)} | {c.mean:+.3f} "
        f"| {'' if c.half() is None else f'{c.half():.3f}'} | {c.verdict} |" for bank, c in found]}
