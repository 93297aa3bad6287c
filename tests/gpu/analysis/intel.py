"""intel.py - kernels on Intel's GPUs, by its offline compiler and the dumps of the assembly it makes."""
import collections, glob, os, re
from machines import MACHINES, XE, natural_loops
from recording import items, run

COMPONENTS = {"x": 1, "xy": 2, "xyz": 3, "xyzw": 4}
CONTROL = ("goto", "jmpi", "join", "brd", "brc", "if", "else", "endif", "while", "break", "cont", "call", "ret")
SIZES = {"8": 1, "8u32": 1, "16": 2, "16u32": 2, "32": 4, "64": 8}


def _local(c, load, size, units):
    c["local_bytes"] += size * units
    c["local"] += units
    c["local_%s%d" % ("load" if load else "store", 8 * size)] += units


def _message(c, op, rest, units):
    """A load, a store, a barrier: by mnemonics on newer chips, by the comment of a send on older ones."""
    base, load = op.split(".")[0], op.startswith("load") or " read" in rest
    if op.startswith(("load.slm", "store.slm")):
        n = re.search(r"\.d(8u32|8|16u32|16|32|64)(?:x(\d+))?(t?)", op)
        size = SIZES[n.group(1)] * int(n.group(2) or 1)
        _local(c, load, size / 8 if n.group(3) else size, units)  # transposed: the words of all lanes
    elif re.match(r"(load|store)\.ugm", op):
        n = re.search(r"\.d(\d+)\w*?(?:x(\d+))?", op)
        c["global"] += 1
        c["global_%s%d" % (base, 32 * int(n.group(2) or 1))] += 1
    elif re.search(r"(untyped surface|scattered) (read|write)", rest):
        descriptor = int(re.findall(r"0x([0-9A-Fa-f]{8})", rest.split("//")[0])[-1], 16)
        n = re.search(r"with (x\w*)", rest)
        size = 4 * COMPONENTS.get(n.group(1) if n else "x", 1)
        if descriptor & 0xFF == 0xFE:
            _local(c, load, size, units)
        else:
            c["global"] += 1
            c["global_%s%d" % ("load" if load else "store", 8 * size)] += 1
    elif "scratch" in rest:
        c["private"] += 1
    elif "barrier" in rest or "gtwy" in op:
        c["barrier"] += 1


def _count(lines, lanes):
    """Work in passes of a pipe; a scalar instruction takes a whole one."""
    c = collections.Counter()
    for line in lines:
        line = re.sub(r"^\((W|W&)\)\s*", "", line)
        m = re.match(r"^(?:\([^)]*\)\s*)?([a-z]\w*(?:\.[\w.()|&^~]+)*)\s*\((\d+)\|M\d+\)(.*)", line)
        if not m:
            continue
        op, units, rest = m.group(1), max(1.0, int(m.group(2)) / lanes), m.group(3)
        base, code = op.split(".")[0], rest.split("//")[0]
        if base in ("sync", "nop", "illegal"):
            continue
        c["instructions"] += 1
        if base in ("load", "store", "send", "sends", "sendc"):
            _message(c, op, rest, units)
        elif base in CONTROL:
            c["branch"] += 1
        elif base == "dpas":
            c["matrix"] += 128 * units  # 8 x 8 x 16
            c["fma"] += 128 * units
        elif base == "math":
            c["special"] += units
        elif re.search(r":(f|hf|df)\b", code):
            c["fp"] += units
            c["fma"] += units if base in ("mad", "fma", "mac") and re.search(r"<[^>]*>:f\b", code) else 0
        else:
            c["alu"] += units
    return c


def _loops(text, lanes):
    blocks, after, index = [], {}, {}
    for line in text.splitlines():
        m = re.match(r"^// B(\d+):.*Succs:\{(.*?)\}", line)
        if m:
            index[int(m.group(1))] = len(blocks)
            after[len(blocks)] = [int(x.strip()[1:]) for x in m.group(2).split(",") if x.strip()]
            blocks.append([])
        elif blocks and re.match(r"^(\(| {4,})", line) and "|M" in line:
            blocks[-1].append(line.strip())
    succs = {i: {index[x] for x in s if x in index} for i, s in after.items()}
    return [_count([l for b in sorted(own) for l in blocks[b]], lanes) for own in natural_loops(len(blocks), succs)]


def _dumps(folder):
    """{kernel: (file, assembly)}; the compiler's second try overrides its first."""
    out = {}
    for path in sorted(glob.glob(folder + "/dump/*.asm"), key=lambda f: ("_1_simd" in f, f)):
        text = open(path, errors="replace").read()
        kernel = re.search(r"^//\.kernel (\w+)", text, re.M)
        if kernel:
            out[kernel.group(1)] = (path, text)
    return out


def _row(target, launch, path, text, tokens):
    simd = int(re.search(r"_simd(\d+)_", path).group(1))
    slm = re.search(r"TotalInlineLocalMemorySize = (\d+)", tokens)
    spill = re.search(r"^//\.spill size (\d+)", text, re.M)
    scratch = re.search(r"PerThreadScratchSpace\s*=\s*(\d+)", tokens)
    registers = re.search(r"numGRF=(\d+)", text)
    local = int(slm.group(1)) if slm else 0
    threads, kib = XE[target]
    each, size = -(-items(launch) // simd), local + launch["local_bytes"]
    taken = 1 << max(10, (size - 1).bit_length()) if size else 0  # rounded up to a power of two
    groups = min(threads // each, kib * 1024 // taken if taken else threads)
    return dict(registers=int(registers.group(1)) if registers else 128, simd=simd, spill=int(spill.group(1)) if spill else 0,
                private=int(scratch.group(1)) if scratch else 0, local=local, occupancy=groups * each, most=threads, calls=[],
                loops=[dict(c) for c in _loops(text, MACHINES[target]["wave"]) if c["fma"]], whole=None)


def compile(tools, program, target, folder):
    """{kernel: row} or the compiler's words."""
    os.makedirs(folder + "/dump")
    env = dict(tools.env, IGC_ShaderDumpEnable="1", IGC_DumpToCustomDir=folder + "/dump")
    code, log = run([tools.root + "/usr/bin/ocloc", "compile", "-file", program.source, "-device", target, "-options",
                     " ".join(program.options), "-out_dir", folder], env=env, cwd=folder)
    if code:
        return " ".join(l.strip() for l in log.splitlines() if "error" in l or "undefined" in l) or log
    tokens = [open(f, errors="replace").read() for f in glob.glob(folder + "/dump/*.cos")]
    dumps = _dumps(folder)
    return {kernel: _row(target, launch, *dumps[kernel], "".join(t for t in tokens if "Kernel Name = %s **" % kernel in t))
            for kernel, launch in program.kernels.items() if kernel in dumps}
