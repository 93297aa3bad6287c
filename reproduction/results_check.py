"""results_check.py - which cells of the tables are there, and whether the pages say what they say.

Reports each cell that is planned: its commit, seed, command and wall time, or that it is
missing and what it would take: training, or a feature. Errors are what a line or a page
should not say.
"""
import os
import re
import statistics
import subprocess

import results_hard
import results_nmt
import results_reader

ORDERED = ("bi_direct", "rel_pos_encoder", "neighbor", "conv")  # the other ways that give words an order


def in_history(root, name, known):
    """Whether HEAD comes from the commit; one with a + had changes that no commit has."""
    if name not in known:
        known[name] = "+" not in name and not subprocess.run(
            ["git", "merge-base", "--is-ancestor", name, "HEAD"], cwd=root, check=False,
            capture_output=True).returncode
    return known[name]


def faults(line, root, known):
    """What a finished line lacks."""
    if not in_history(root, line.get("commit", "+"), known):
        yield f"commit {line.get('commit')} is not in the history"
    if not line.get("command"):
        yield "no command"
    if not line.get("wall_s"):
        yield "no wall time"
    if not line.get("device"):
        yield "no device"


def settings(cell):
    """What a run is told, in the words of any version: configs and a soft model have moved, and relative
    positions were in both stacks before attention_where could say so."""
    own = [re.sub(r"^(warm_start={runs}/)hard/", r"\1", x) for x in cell.get("set", ())]
    return os.path.basename(cell.get("config") or ""), [x for x in own if x != "attention_where=both"]


def strays(lines, plan):
    """Keys of lines that are no planned run, with what is wrong."""
    for key, line in lines:
        if key not in plan:
            yield key, "is not planned"
        elif settings(line) != settings(plan[key]):
            yield key, "has other settings than planned"
    keys = [key for key, _ in lines]
    yield from ((key, "is there more than once") for key in dict.fromkeys(keys) if keys.count(key) > 1)


def seconds(key, done):
    """The mean time of the runs whose keys share most parts with this one, the seed apart; None without runs."""
    timed = [(sum(a == b for a, b in zip(key[:-1], other[:-1])), line["wall_s"])
             for other, line in done.items() if line.get("wall_s")]
    most = max((shared for shared, _ in timed), default=0)
    walls = [wall for shared, wall in timed if shared == most]
    return statistics.mean(walls) if walls else None


def cost(spent):
    if not spent:
        return "training"
    return f"{spent / 3600:.1f} hours of training" if spent >= 3600 else f"{spent / 60:.0f} minutes of training"


def cells(tables, store, root):
    """Prints a line for each table and for what it lacks; gives the number of errors."""
    errors, known = 0, {}
    for table, system in tables.items():
        lines = [(system.key(line), line) for line in store.lines(table)]
        done = dict(lines)
        plan = {system.key(cell): cell for cell in system.TABLES[table]()}
        lacking = [key for key in plan if key not in done]
        needed = [seconds(key, done) or 0 for key in lacking]
        for key, each in zip(lacking, needed):
            print(f"{table}: {'/'.join(str(part) for part in key)} is missing: {cost(each)}; not run yet")
        found = [(key, fault) for key, line in lines for fault in faults(line, root, known)]
        for key, fault in (*found, *strays(lines, plan)):
            errors += 1
            print(f"{table}: {'/'.join(str(part) for part in key)}: {fault}")
        rest = f"; {len(lacking)} missing: {cost(sum(needed))}" if lacking else ""
        print(f"{table}: {len(plan) - len(lacking)} of {len(plan)} cells{rest}")
    return errors


def mean(lines, value, **wanted):
    return statistics.mean(value(x) for x in lines
                           if all(x[name] == what for name, what in wanted.items()))


NETWORKS = {"bidaf": "BiDAF", "bidaf_original": "BiDAF as published", "match_lstm": "Match-LSTM", "r_net": "R-NET"}


def levels_changes(lines, start):
    """What ten levels change in F1 beside one of the same seeds, and how many seeds, of each network
    with several; start is the weight of the first level at first, 0 for equal weights."""
    for network, name in NETWORKS.items():
        own = [x for x in lines if (x["network"], x["depth"], x["start"]) == (network, 10, start)]
        pairs = results_reader.beside_pairs(own, lines)
        if len(pairs) > 1:
            yield f"of {name} by {statistics.mean(a - b for a, b in pairs):+.1f}", len(pairs)


def levels_told(lines):
    told, seeds = zip(*levels_changes(lines, 0.9))
    yield (f"ten levels of attention instead of one change the F1 {', '.join(told)} "
           f"(means of {min(seeds)} seeds{' or more' if max(seeds) > min(seeds) else ''})")
    told, _ = zip(*levels_changes(lines, 0))
    yield f"with equal weights of levels at the start, {', '.join(told)}"


def gains(lines, pair, ways=results_nmt.WINDOWS):
    """BLEU of ways of attending above plain attention: means over the seeds."""
    own = [x for x in lines if x["pair"] == pair]
    return [results_nmt.beside_plain([x for x in own if x["way"] == way], own)[0] for way in ways]


def brief(store):
    """Those of the figures that the project's README.md repeats."""
    accuracy, windows, *_, poems = figures(store)
    yield from (accuracy, windows, poems)


def figures(store):
    """Sentences of reproduction/README.md as the store has them."""
    tagger = [x for x in store.lines("tagger") if x["variant"] == "conv2d"]
    by_bank = {x["bank"]: x["paper"] for x in tagger}
    here = {bank: mean(tagger, lambda x: x["score"]["accuracy"], bank=bank) for bank in by_bank}
    apart = max(abs(here[bank] - paper) for bank, paper in by_bank.items())
    seeds = {sum(x["bank"] == bank for x in tagger) for bank in by_bank}
    yield (f"{min(here.values()):.1f} to {max(here.values()):.1f} % accuracy "
           + {1: "(one seed), ", 2: "(means of two seeds or more), ",
              3: "(means of three seeds), "}.get(min(seeds), "")
           + f"each within {apart:.1f} of the published figure")
    one, two = gains(store.lines("nmt"), "en-de")
    yield f"gain {one:.2f} and {two:.2f} BLEU over plain attention"
    annealed = store.lines("nmt-annealed")
    german, french = (gains(annealed, pair) for pair in ("en-de", "en-fr"))
    yield (f"with eight heads and the rate annealed, {german[0]:.2f} and {german[1]:.2f}, "
           f"into French {french[0]:.2f} and {french[1]:.2f}")
    one, two = gains(store.lines("nmt-base"), "en-de")
    yield f"and in the sizes of the published base model {one:.2f} and {two:.2f} (one seed)"
    others = [gain for pair in ("en-de", "en-fr") for gain in gains(annealed, pair, ORDERED)]
    yield (f"directions, relative positions, predicted neighbours and convolutions gain {min(others):.2f} "
           f"to {max(others):.2f}")
    japanese, chinese = (gains(store.lines("nmt-pairs"), pair) for pair in ("ja-en", "zh-en"))
    yield (f"Into English they gain {japanese[0]:.2f} and {japanese[1]:.2f} from Japanese, "
           f"{chinese[0]:.2f} and {chinese[1]:.2f} from Chinese")
    rewarded = store.lines("hard")
    german, french = (results_hard.beside_all(rewarded, pair).values() for pair in ("en-de", "en-fr"))
    hard, seeds = [statistics.mean(differences) for differences in german], min(map(len, german))
    yield (f"training by sequence rewards stands {hard[0]:+.2f} BLEU from that control and {hard[1]:+.2f} "
           f"from the same run without rewards, hard attention {hard[2]:+.2f} and {hard[3]:+.2f} "
           f"({f'means of {seeds} seeds' if seeds > 1 else 'one seed'})")
    hard = [statistics.mean(differences) for differences in french]
    yield (f"Into French sequence rewards stand {hard[0]:+.2f} and {hard[1]:+.2f} from the controls, "
           f"hard attention {hard[2]:+.2f} and {hard[3]:+.2f} (one seed)")
    reader = [x for x in store.lines("reader") if x["data_set"] == "squad_v1.1" and x["depth"] == 1]
    yield (f"reaches F1 {mean(reader, lambda x: x['score']['f1'], network='match_lstm'):.1f} "
           "after 600 steps (mean of three seeds) and BiDAF "
           f"{mean(reader, lambda x: x['score']['f1'], network='bidaf'):.1f} after 2,100")
    yield from levels_told(store.lines("reader-cloze"))
    poem = next(x for x in store.lines("poem") if x["depth"] == 1 and "seed" not in x)
    yield f"perplexity per character is {poem['score']['perplexity_7']:.1f} on quatrains of seven"


def read(path):
    """The text of a file, empty where there is none."""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def lacking(path, sentences):
    """The sentences that a page does not say, wherever its lines break."""
    text = " ".join(read(path).split())
    return [sentence for sentence in sentences if sentence not in text]


def pages(store, root, rendered):
    """Compares both README.md with the store, and the pages and tables with what it renders to."""
    errors = 0
    for name, sentences in (("reproduction/README.md", figures(store)), ("README.md", brief(store))):
        for sentence in lacking(os.path.join(root, name), sentences):
            errors += 1
            print(f"{name} does not say: {sentence}")
    for place, text in rendered.items():
        path = os.path.join(store.home, place)
        if read(path) != text:
            errors += 1
            print(f"{path} is not what the rows render to: reproduction/results.sh render")
    return errors
