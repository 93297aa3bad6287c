"""estimate.py - groups of each launch on cards, rounds one after another, and an estimate of the time from both.

docs/gpu.md says how an estimate is made and how good it was on the card that has been measured."""
import collections, json, math, os
from machines import MACHINES, vendor
from recording import name_of

# of boost clocks and memory as the makers state them
Card = collections.namedtuple("Card", "name target units mhz gbs")
CARDS = [Card("H100", "sm_90", 132, 1755, 3350), Card("7900 XTX", "gfx1100", 96, 2300, 960),
         Card("64 units", "gfx1030", 64, 2000, 512), Card("A770", "dg2-g10", 32, 2400, 560)]
GATED = CARDS[0]
SIMDS = {"gfx90a": 4, "gfx942": 4, "gfx1030": 2, "gfx1100": 2}  # of a unit; occupancy is a SIMD's there
LAUNCH = 3e-6        # seconds of a launch that does nothing, behind another one
LAUNCHES = 10        # that an operator may make before they count against it
READ, LOCAL = 300, 30  # clocks until a word comes from global memory, from local memory
ISSUE = 2            # clocks an instruction in a round that waits for itself
WORDS = 8            # that an item asks for at once where it has no product loop
SLOWEST = 10         # times its roofline

Work = collections.namedtuple("Work", "name flops bytes launches")  # launches: {(case, group, groups, flops, bytes): n}
Time = collections.namedtuple("Time", "card work groups launches rounds seconds roofline")


def grids(folder, card):
    """The cases recorded for a card, each once."""
    found, work = {}, None
    for each in (os.path.join(folder, "%s-%d" % (vendor(card.target), card.units)), folder):
        path = os.path.join(each, "grids.jsonl")
        if os.path.exists(path):
            break
    else:
        return []
    with open(path) as lines:
        for l in map(json.loads, lines):
            if "case" in l:
                work = found[l["case"]] = Work(l["case"], l["flops"], l["bytes"], collections.Counter())
                continue
            name = name_of(l["kernel"], l["file"], ["%s=%d" % d for d in l["defines"].items()])
            work.launches[(name, math.prod(l["local"]), math.prod(l["groups"]), l["flops"], l["bytes"])] += 1
    return list(found.values())


def _products(row):
    """Whether the loops that hold a kernel's products hold many: else its flops are no products."""
    mix = row.get("mix") or {}
    return mix.get("fma", 0) >= 0.12 * mix.get("instructions", math.inf)


def _rounds(row, items, flops, size):
    """Rounds of an item one after another, and the clocks of one."""
    mix = row.get("mix") or {}
    if flops and mix.get("fma"):
        loops = row.get("products", 1)
        waits = READ * bool(mix.get("global")) + LOCAL * bool(mix.get("local"))
        return flops / (2 * mix["fma"] * items) * loops, waits + ISSUE * mix["instructions"] / loops
    return math.ceil(size / 4 / items / WORDS), READ


def launch_time(card, row, launch):
    """(rounds one after another on the busiest unit, seconds) of one launch."""
    _, items, groups, flops, size = launch
    machine, clock = MACHINES[card.target], card.mhz * 1e6
    waves = math.ceil(items / row.get("simd", machine["wave"]))
    resident = max(1, row.get("occupancy", waves) * SIMDS.get(card.target, 1) // waves)
    here = math.ceil(groups / card.units)
    rounds, clocks = _rounds(row, items * groups, flops, size)
    rounds *= math.ceil(here / resident)
    busy = flops / groups * here / (2 * machine["lanes"] * row["bound"]) if _products(row) else 0
    return rounds, max(rounds * clocks / clock, busy / clock, size / (card.gbs * 1e9)) + LAUNCH


def roofline(card, work):
    """Seconds that the work takes at the card's peaks, with its launches, up to ten."""
    peak = 2 * MACHINES[card.target]["lanes"] * card.units * card.mhz * 1e6
    flops, size = work.flops, work.bytes
    if not is_operator(work): # a model: what its launches do
        flops = sum(n * l[3] for l, n in work.launches.items())
        size = sum(n * l[4] for l, n in work.launches.items())
    return max(flops / peak, size / (card.gbs * 1e9)) + LAUNCH * min(LAUNCHES, sum(work.launches.values()))


def is_operator(work):
    """Whether the benchmark knows what the work needs: an operator's, not a model's."""
    return bool(work.flops or work.bytes)


def estimates(folder, card, rows):
    """A Time for each case of a card. rows: {(target, case): row}; a kernel without one counts as a launch alone."""
    out = []
    for work in grids(folder, card):
        rounds = seconds = 0.0
        for launch, n in work.launches.items():
            one = launch_time(card, rows.get((card.target, launch[0]), {}), launch)
            rounds += n * one[0]
            seconds += n * one[1]
        peaks = roofline(card, work)
        out.append(Time(card, work, min((l[2] for l in work.launches), default=0), sum(work.launches.values()), rounds,
                        max(seconds, peaks), peaks))
    return out


def too_slow(time):
    return is_operator(time.work) and time.seconds > SLOWEST * time.roofline
