#!/usr/bin/env python3
"""report.py - figures of recorded kernels on GPUs, by the vendors' offline compilers; a gate when asked.

usage: tools/gpu-report.sh, which records and fetches the compilers; or by hand
    report.py RECORDING [--targets T,T] [--kernels REGEX] [--hot] [--check] [--update] [--loops]"""
import argparse, collections, concurrent.futures, fnmatch, hashlib, json, os, re, shutil, sys, tempfile

import amd, estimate, intel, nvidia, tables
from machines import MACHINES, UNITS, bound, kernel_bound, product_loops, vendor
from recording import case, read
from tables import cell

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
FIGURES = os.path.join(ROOT, "tests", "gpu", "figures.jsonl")
BREACHES = os.path.join(ROOT, "tests", "gpu", "breaches.txt")
BACK_ENDS = {"amd": amd, "nvidia": nvidia, "intel": intel}
HOT_TARGETS = ["gfx1100", "sm_90", "dg2-g10"]
# Kernels that hold most of a step's work, at the head width that models have and with the tiles of large shapes: expressions
# that a case begins with.
HOT = [r"attention_(forward|grad_q|grad_kv) WIDTH=64 .*DOWN=8 ",
       r"band_attention_(forward|dq|dkdv) WIDTH=64 .*SLOTS=20 ", r"matmul_group .*QM=2 QN=2 .*WIDE=1 ",
       r"matmul_unit_group .*TM=128 .*WIDE=1 ", r"attention_(forward|grad_q|grad_kv) UNIT=. .*TM=64 .*WIDTH=64 ",
       r"conv_filter ", r"ham_forward WIDE=1 ", r"(lstm|gru)_(walk(_back)?|forward|backward) ", r"additive_forward "]
BUDGET = dict(local=32 << 10, items=256, arg_bytes=256)
UNIT_LOCAL = 48 << 10  # each card with a matrix unit gives a group as much
WIDEST = 128  # wider heads may spill
FLOOR = 0.9   # of a stored bound

Tools = collections.namedtuple("Tools", "cache root nvidia env llvm versions")


# ---- compilers ----------------------------------------------------------------------

def find_tools(cache):
    root = os.path.join(cache, "root")
    lib = root + "/usr/lib/x86_64-linux-gnu"
    env = dict(os.environ, LD_LIBRARY_PATH=":".join([lib, lib + "/intel-opencl", root + "/usr/lib/llvm-19/lib"]))
    versions = open(os.path.join(cache, "versions")).read().split("\n")
    return Tools(cache, root, os.path.join(cache, "nv"), env, lambda name: root + "/usr/lib/llvm-19/bin/" + name,
                 dict(v.split(" ", 1) for v in versions if v))


def _key(tools, program, target):
    """Whatever a result depends on: the text, the options, group sizes, the compilers, and this code."""
    h = hashlib.sha256()
    for name in (vendor(target) + ".py", "machines.py", "recording.py", "nvmath.c"):
        h.update(open(os.path.join(HERE, name), "rb").read())
    launches = [[k, l["local"], l["local_bytes"]] for k, l in sorted(program.kernels.items())]
    h.update(json.dumps([target, program.options, launches, tools.versions], sort_keys=True).encode())
    h.update(open(program.source, "rb").read())
    return h.hexdigest()[:32]


def figures(tools, program, target):
    """A row for each kernel of a program on a target; results are kept."""
    kept = os.path.join(tools.cache, "results", _key(tools, program, target) + ".json")
    if os.path.exists(kept):
        found = json.load(open(kept))
    else:
        folder = tempfile.mkdtemp(prefix="gpu-report-")
        try:
            found = BACK_ENDS[vendor(target)].compile(tools, program, target, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        with open(kept + ".%d" % os.getpid(), "w") as f:
            json.dump(found, f)
        os.rename(kept + ".%d" % os.getpid(), kept)
    return [_row(program, target, kernel, launch, found) for kernel, launch in sorted(program.kernels.items())]


def runs_on(program, target):
    """Whether a target has the matrix unit that a program needs, if it needs one."""
    unit = re.search(r"\bUNIT=(\d+) EMULATED=0\b", program.name)
    return not unit or target in UNITS[int(unit.group(1))]


def _row(program, target, kernel, launch, found):
    row = dict(target=target, case=case(program, kernel), file=program.name.split(" ")[0], group=launch["local"],
               arg_bytes=launch["arg_bytes"])
    mine = found.get(kernel) if isinstance(found, dict) else None
    if mine is None:
        words = found if isinstance(found, str) else "no code for it"
        error = next((l for l in words.splitlines() if "error" in l or "undefined" in l), words.strip()[-300:])
        return dict(row, error=re.sub(r"\S*/", "", error).strip()[:300])
    row.update(mine, local=mine["local"] + launch["local_bytes"])
    share, limit = kernel_bound(target, mine["loops"])
    row.update(bound=round(share, 4), limit=limit, products=len(product_loops(mine["loops"])))
    paired = kernel_bound(target, mine["loops"], True)[0]
    if paired > share:
        row.update(paired=round(paired, 4))
    if mine["whole"]:
        row.update(whole=round(bound(target, mine["whole"])[0], 4))
    else:
        del row["whole"]
    mix = collections.Counter()
    for loop in product_loops(mine["loops"]):
        mix.update({k: v for k, v in loop.items() if not re.search(r"\d|bytes|passes", k)})
    row.update(mix={k: round(v, 1) for k, v in sorted(mix.items()) if v})
    return row


# ---- budgets ------------------------------------------------------------------------

def width(row):
    found = re.search(r"\bWIDTH=(\d+)", row["case"])
    return int(found.group(1)) if found else 0


def is_hot(name):
    return any(re.match(h, name + " ") for h in HOT)


def breaches(row):
    """(name, words) for each budget that a row breaks."""
    if "error" in row:
        return [("compiles", "does not compile: " + row["error"])]
    found = []
    if width(row) <= WIDEST:
        if row["spill"]:
            found.append(("spill", "%d bytes of registers spilled" % row["spill"]))
        elif row["private"]:
            found.append(("private", "%d bytes of private arrays in memory" % row["private"]))
    if row["local"] > (UNIT_LOCAL if "EMULATED=0" in row["case"] else BUDGET["local"]):
        found.append(("local", "%d bytes of local memory" % row["local"]))
    count = row["group"][0] * row["group"][1] * row["group"][2]
    if count > BUDGET["items"]:
        found.append(("items", "%d items a group" % count))
    if row["arg_bytes"] > BUDGET["arg_bytes"]:
        found.append(("arguments", "%d bytes of arguments" % row["arg_bytes"]))
    if row["calls"]:
        found.append(("calls", "calls out of line: " + ", ".join(row["calls"])))
    return found


def known_breaches(path):
    """Lines `budget target case - reason`; target and case are shell patterns, or several with | between."""
    known = []
    for number, line in enumerate(open(path), 1):
        head, dash, reason = line.strip().partition(" - ")
        words = head.split(" ", 2)
        if not line.strip() or line.startswith("#"):
            continue
        if len(words) != 3 or not reason.strip():
            sys.exit("%s:%d: not 'budget target case - reason'" % (path, number))
        known.append((number, words))
    return known


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, p) for p in patterns.split("|"))


def below_floor(row, stored):
    old = stored.get((row["target"], row["case"]), {})
    for name in ("bound", "whole"):
        if name in old and row.get(name, 0) < FLOOR * old[name]:
            yield "%s is %.0f %%, stored %.0f %%" % (name, 100 * row.get(name, 0), 100 * old[name])


def slow(times):
    """(budget, target, operator, words) for each operator that takes too long on the gated card."""
    for t in times:
        if estimate.too_slow(t):
            yield "estimate", t.card.target, t.work.name, (
                "%.3g ms estimated on %d units, %.3g at the peaks; %d groups in the smallest launch, %d rounds" %
                (1e3 * t.seconds, t.card.units, 1e3 * t.roofline, t.groups, t.rounds))


def check(rows, known, stored, targets, whole, times):
    """Prints what breaks a budget; True when nothing does that is not known. whole: all kernels were compiled, so that a
    known breach which does not occur, and a stored kernel which is gone, can be told."""
    used, good = set(), True
    broken = [(budget, r["target"], r["case"], words) for r in rows for budget, words in breaches(r)] + list(slow(times))
    for budget, target, name, words in broken:
        excuse = [n for n, w in known if budget == w[0] and matches(target, w[1]) and matches(name, w[2])]
        used.update(excuse)
        if not excuse:
            good = False
            print("BREACH  %-8s %s: %s" % (target, name, words))
    for row in rows:
        for words in below_floor(row, stored):
            good = False
            print("BELOW   %-8s %s: %s" % (row["target"], row["case"], words))
    seen = {(r["target"], r["case"]) for r in rows}
    for target, name in sorted(k for k in stored if whole == "all" and k[0] in targets and k not in seen and is_hot(k[1])):
        good = False
        print("GONE    %-8s %s: stored, but no longer launched; run tools/gpu-report.sh --update" % (target, name))
    for row in rows:
        if whole and is_hot(row["case"]) and (row["target"], row["case"]) not in stored:
            good = False
            print("NEW     %-8s %s: no stored figures; run tools/gpu-report.sh --update" % (row["target"], row["case"]))
    for number, words in known:
        if whole == "all" and number not in used and any(matches(t, words[1]) for t in targets):
            good = False
            print("MENDED  %s: does not occur any more; delete line %d of tests/gpu/breaches.txt" % (" ".join(words), number))
    return good


def same_compilers(compilers, tools):
    """Whether the stored figures come from the compilers at work; prints those that differ."""
    other = [name for name in sorted(compilers) if tools.versions.get(name) != compilers[name]]
    for name in other:
        print("VERSION %s: figures are stored from %s, here is %s; run tools/gpu-report.sh --all --update" %
              (name, compilers[name], tools.versions.get(name)))
    return not other


# ---- what is printed and stored -----------------------------------------------------

def print_loops(row):
    print("%s %s: %s" % (row["target"], row["case"], cell(row)))
    chosen = product_loops(row.get("loops", []))
    for loop in row.get("loops", []):
        share, limit = bound(row["target"], loop)
        words = " ".join("%s %g" % (k, v) for k, v in sorted(loop.items()))
        print("  %s %3.0f %% %-8s %s" % ("*" if loop in chosen else " ", 100 * share, limit, words))


def load_figures(path=FIGURES):
    if not os.path.exists(path):
        return {}, {}
    lines = [json.loads(l) for l in open(path)]
    return lines[0]["compilers"], {(r["target"], r["case"]): r for r in lines[1:]}


def store(rows, tools, targets, asked_for, recording, whole):
    """Figures of these targets in the place of their old ones, and the tables. asked_for: which cases were.
    whole: the recording has all operators."""
    _, old = load_figures()
    kept = {k: r for k, r in old.items() if not whole or k[0] not in targets or not asked_for(k[1])}
    for row in rows:
        kept[(row["target"], row["case"])] = {k: v for k, v in row.items() if k != "loops"}
    os.makedirs(os.path.dirname(FIGURES), exist_ok=True)
    with open(FIGURES, "w") as f:
        f.write(json.dumps(dict(compilers=tools.versions)) + "\n")
        for key in sorted(kept):
            f.write(json.dumps(kept[key]) + "\n")
    _, stored = load_figures()
    present = [t for t in MACHINES if any(k[0] == t for k in stored)]
    times = [t for card in estimate.CARDS for t in estimate.estimates(recording, card, stored)]
    tables.write(stored.values(), present, times, whole)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording")
    parser.add_argument("--cache", default=os.environ.get("CLATTN_GPU"), required=not os.environ.get("CLATTN_GPU"))
    parser.add_argument("--targets", default="")
    parser.add_argument("--kernels", default="", help="regular expression on `kernel DEFINE=N ...`")
    parser.add_argument("--hot", action="store_true", help="hot kernels only")
    parser.add_argument("--check", action="store_true", help="fail when a budget is broken")
    parser.add_argument("--update", action="store_true", help="store the figures and write docs/gpu.md's table")
    parser.add_argument("--loops", action="store_true", help="print every loop that multiplies; * the bound is made of")
    parser.add_argument("--breaches", default=BREACHES, help="the file of known breaches")
    parser.add_argument("--figures", default=FIGURES, help="the file of stored figures")
    parser.add_argument("-j", type=int, default=2)
    a = parser.parse_args()
    tools = find_tools(a.cache)
    targets = a.targets.split(",") if a.targets else HOT_TARGETS
    programs = {}

    def asked_for(name):
        return (not a.hot or is_hot(name)) and re.search(a.kernels, name) is not None

    for kind in sorted({vendor(t) for t in targets}):
        all_of_it = [(p, {k: l for k, l in p.kernels.items() if asked_for(case(p, k))}) for p in read(a.recording, kind)]
        programs[kind] = [p._replace(kernels=wanted) for p, wanted in all_of_it if wanted]
    amd.prepare(tools)
    with concurrent.futures.ThreadPoolExecutor(a.j) as pool:
        jobs = [pool.submit(figures, tools, p, t) for t in targets for p in programs[vendor(t)] if runs_on(p, t)]
        rows = [row for job in jobs for row in job.result()]
    if a.loops:
        for row in rows:
            print_loops(row)
    else:
        print("\n".join(tables.kernels(rows, targets)))
    if a.update:
        store(rows, tools, targets, asked_for, a.recording, not a.hot)
    if a.check:
        compilers, stored = load_figures(a.figures)
        whole = "" if a.kernels else "hot" if a.hot else "all"
        figures_now = {**stored, **{(r["target"], r["case"]): r for r in rows}}
        times = estimate.estimates(a.recording, estimate.GATED, figures_now)
        good = check(rows, known_breaches(a.breaches), stored, targets, whole, times)
        if not same_compilers(compilers, tools) or not good:
            sys.exit(1)
        print("%d kernels and %d operators hold their budgets on %s" % (len(rows), len(times), ", ".join(targets)))


if __name__ == "__main__":
    main()
