"""machines.py - models of GPUs: how fast one core could run a loop's instructions.

Figures are a core (compute unit, SM, Xe-core) and clock. lanes: fused FP32 operations of the vendor's headline rate; fp:
lanes of vector instructions that are issued; alu, imad, special: lanes of those pipes where they are apart; slots:
instructions issued; lds, l1: bytes of local memory, and of global memory that is in the first cache (0: they share a path).
docs/gpu.md says where a figure comes from and what the model leaves out."""
import collections

AMD = dict(wave=32, fp=64, special=16, lds=128, l1=128)
NVIDIA = dict(wave=32, lanes=128, fp=128, alu=64, imad=64, slots=4, special=16, lds=128, l1=0)
INTEL = dict(wave=8, lanes=128, fp=128, alu=128, special=32, lds=128, l1=64)

MACHINES = {
    # four SIMDs of 16 lanes; the headline counts packed instructions, two operations in one
    "gfx90a": dict(AMD, lanes=128, wave=64, l1=64),
    "gfx942": dict(AMD, lanes=128, wave=64, l1=64),
    # two SIMDs of 32 lanes; RDNA 3's headline counts dual issue
    "gfx1030": dict(AMD, lanes=64),
    "gfx1100": dict(AMD, lanes=128),
    # four quarters that issue an instruction each; Volta's integer products share the float pipe
    "sm_70": dict(NVIDIA, lanes=64, fp=64, imad=0),
    "sm_86": dict(NVIDIA),
    "sm_90": dict(NVIDIA),
    # 8 or 16 engines of 8 lanes, an integer pipe beside the float pipe
    "skl": dict(INTEL, lanes=64, fp=64, alu=64, special=16, lds=64),
    "tgllp": dict(INTEL),
    "dg2-g10": dict(INTEL),
}
# fused operations of bf16 with f32 sums, of the matrix unit: by mma.sync Hopper reaches 63 % of its peak
MATRIX = {"gfx90a": 512, "gfx942": 1024, "gfx1100": 256, "sm_86": 256, "sm_90": 1290, "dg2-g10": 1024}
# the targets that have what a define UNIT names, see cl/unit_group.clh
UNITS = {2: ("sm_86", "sm_90"), 3: ("gfx90a", "gfx942"), 4: ("gfx1100",), 5: ("dg2-g10",)}
# registers, warps, KiB of local memory of an SM; bytes lost a group
SM = {"sm_70": (65536, 64, 96, 0), "sm_86": (65536, 48, 100, 1024), "sm_90": (65536, 64, 228, 1024)}
# hardware threads and KiB of local memory of an Intel core
XE = {"skl": (56, 64), "tgllp": (112, 128), "dg2-g10": (128, 128)}
VENDORS = {"amd": [t for t in MACHINES if t.startswith("gfx")], "nvidia": list(SM), "intel": list(XE)}


def vendor(target):
    return next(v for v, targets in VENDORS.items() if target in targets)


def _clocks(target, c):
    """Clocks that a wave's instructions take on each resource, and those of its products at the headline rate."""
    m = MACHINES[target]
    wave = m["wave"]
    reads = sum(n * int(k[11:]) / 8 for k, n in c.items() if k.startswith("global_load")) * wave
    t = {"special": c["special"] * wave / m["special"], "local": c["local_bytes"] * wave / m["lds"]}
    kind = vendor(target)
    if kind == "amd":
        t["vector"] = c["passes"] * wave / m["fp"]
        t["cache"] = reads / m["l1"]
    elif kind == "nvidia":
        shared = 0 if m["imad"] else c["imad"]
        t["vector"] = (c["fp"] + shared) * wave / m["fp"]
        t["integer"] = max(c["alu"] * wave / m["alu"], c["imad"] * wave / m["imad"] if m["imad"] else 0)
        t["issue"] = c["instructions"] / m["slots"]
        t["local"] += reads / m["lds"]
    else:
        t["vector"] = c["fp"] * wave / m["fp"]
        t["integer"] = c["alu"] * wave / m["alu"]
        t["cache"] = reads / m["l1"]
    if c["matrix"]:
        t["matrix"] = c["matrix"] * wave / MATRIX[target]
        return t, t["matrix"]
    return t, c["fma"] * wave / m["lanes"]


def bound(target, counts, paired=False):
    """(share of the headline rate, or of the matrix unit's peak where it is used, that these instructions allow; what limits
    them). paired: NVIDIA's wide local loads at twice the rate, as when neighbouring lanes ask for the same words."""
    c = collections.Counter(counts)
    t, ideal = _clocks(target, c)
    if paired and vendor(target) == "nvidia":
        wide = 8 * c["local_load64"] + 16 * c["local_load128"]
        t["local"] -= wide / 2 * 32 / MACHINES[target]["lds"]
    limit = max(t, key=lambda k: t[k])
    return (ideal / t[limit] if t[limit] else 0.0), limit


def product_loops(loops):
    """The loops that hold a kernel's products, as far as instructions tell: no remainders, no exponentials."""
    dense = [l for l in loops if not l.get("special") and l.get("fma", 0) >= 0.12 * l["instructions"]]
    dense = dense or [l for l in loops if l.get("fma")]
    most = max((l["fma"] for l in dense), default=0)
    return [l for l in dense if l["fma"] >= 0.5 * most]


def kernel_bound(target, loops, paired=False):
    """The harmonic mean over the product loops, each with the same share of the work; what limits the slowest."""
    each = [bound(target, l, paired) for l in product_loops(loops)]
    if not each or not all(b for b, _ in each):
        return 0.0, ""
    return len(each) / sum(1 / b for b, _ in each), min(each)[1]


# ---- loops of a control-flow graph --------------------------------------------------

def natural_loops(count, succs):
    """For each loop of a graph in layout order the blocks that are in no loop inside it."""
    preds = collections.defaultdict(set)
    for a, ss in succs.items():
        for b in ss:
            preds[b].add(a)
    loops = {}
    for a, ss in succs.items():
        for head in ss:
            if head > a:
                continue
            body, todo = {head, a}, [a]
            while todo:
                b = todo.pop()
                new = set() if b == head else {p for p in preds[b] if p >= head} - body
                body |= new
                todo += new
            loops[head] = loops.get(head, set()) | body
    bodies = sorted(loops.values(), key=len)
    return [body.difference(*[o for o in bodies if o < body]) for body in bodies]
