"""amd.py - kernels on AMD's GPUs, by clang and AMD's own device libraries, the compiler of its OpenCL driver.

Registers, scratch, local memory and occupancy are the compiler's words. Loops come from the comments of its assembly, and
how often they turn from LLVM's analysis; a whole round of the outer product loop counts inner loops as often."""
import collections, os, re
from recording import run

# newer than Debian's libraries: a file with their one constant
NEWER = {"gfx942": 9402, "gfx1100": 11000}
BYTES = {"b8": 1, "u8": 1, "i8": 1, "b16": 2, "u16": 2, "b32": 4, "f32": 4, "u32": 4, "i32": 4, "b64": 8, "b96": 12, "b128": 16}
QUARTER = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos|mul_lo_u32|mul_hi_[ui]32|mul_lo_i32|mad_u64_u32|mad_i64_i32)")


def prepare(tools):
    """The folder of device libraries with the newer chips added."""
    folder = os.path.join(tools.cache, "amdlib")
    for chip, number in NEWER.items():
        path = os.path.join(folder, "oclc_isa_version_%s.bc" % chip[3:])
        if os.path.exists(path):
            continue
        if not os.path.isdir(folder):
            run(["cp", "-r", tools.root + "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", folder])
        ir = os.path.join(folder, "isa.ll")
        with open(ir, "w") as f:
            f.write('target triple = "amdgcn-amd-amdhsa"\n@__oclc_ISA_version = linkonce_odr hidden local_unnamed_addr '
                    "addrspace(4) constant i32 %d, align 4\n" % number)
        run([tools.llvm("llvm-as"), ir, "-o", path], env=tools.env)
    return folder


def _count(lines):
    c = collections.Counter()
    for line in lines:
        op = line.split()[0]
        if re.match(r"s_(waitcnt|nop|delay_alu)", op):
            continue
        c["instructions"] += 1
        for part in line.split(" :: "):
            base = re.sub(r"_(e32|e64|dpp|sdwa)$", "", part.split()[0])
            if re.match(r"v_(dual_)?(fma|fmac|mac|mad|fmaak|fmamk|madak|madmk)_f32", base):
                c["fma"] += 1
            elif base.startswith("v_pk_fma_f32"):
                c["fma"] += 2
        if re.match(r"v_(mfma_f32_32x32x8_?bf16|wmma_f32_16x16x16_bf16)", op):
            c["matrix"] += 128
            c["fma"] += 128
        elif op.startswith("v_"):
            c["passes"] += 4 if QUARTER.match(op) else 1
            c["vector"] += 1
        elif op.startswith("ds_") and not re.match(r"ds_(swizzle|permute|bpermute)", op):
            size = BYTES[re.search(r"(b8|u8|i8|b16|u16|b32|f32|u32|i32|b64|b96|b128)", op).group(1)]
            size *= 2 if re.search(r"2(st64|addr)?(_stride64)?_(b32|b64)|_2addr_", op) else 1
            c["local_bytes"] += size
            c["local"] += 1
            c["local_%s%d" % ("load" if re.match(r"ds_(read|load)", op) else "store", 8 * size)] += 1
        elif re.match(r"(global|flat|buffer)_(load|store|atomic)", op):
            wide = re.search(r"(x2|x3|x4|b64|b96|b128)$", op)
            bits = {"x2": 64, "x3": 96, "x4": 128, "b64": 64, "b96": 96, "b128": 128}[wide.group(1)] if wide else 32
            c["global"] += 1
            c["global_%s%d" % ("load" if "_load" in op else "store", bits)] += 1
        elif op == "s_barrier":
            c["barrier"] += 1
        elif op.startswith(("s_cbranch", "s_branch")):
            c["branch"] += 1
        elif op.startswith("s_"):
            c["scalar"] += 1
    return c


class Loop:
    def __init__(self):
        self.name = self.parent = self.trips = None
        self.lines = []

    def draws(self):
        """Random numbers: dropout's, which inference and most benchmarks do not meet."""
        text = "\n".join(self.lines)
        return "v_mul_hi_u32" in text and "v_xor" in text


def _note(block, loops):
    """Where a block's comments put it."""
    if re.search(r"=>\s*This (Inner )?Loop Header", block["head"]):
        loop = loops.setdefault(block["label"], Loop())
        name = re.search(r"%([\w.]+)", block["head"])
        parents = re.findall(r"Parent Loop (BB\d+_\d+)", block["head"])
        loop.name, loop.parent = name.group(1) if name else None, parents[-1] if parents else None
        block["loop"] = block["label"]
    else:
        inside = re.search(r"in Loop: Header=(BB\d+_\d+)", block["head"])
        if inside:
            block["loop"] = inside.group(1)
            loops.setdefault(inside.group(1), Loop())


def _parse(asm):
    """{kernel: ({figure: number}, {label: Loop})}"""
    out, loops, figures, block, fresh = {}, None, None, None, False
    for line in asm.splitlines():
        start = re.match(r"^([A-Za-z_]\w*):", line)
        if start and "@" + start.group(1) in line:
            figures, loops, block = {}, {}, None
            out[start.group(1)] = (figures, loops)
            continue
        if loops is None:
            continue
        figure = re.match(r"^;? ?(NumVgprs|TotalNumVgprs|ScratchSize|LDSByteSize|Occupancy): *(\d+)", line)
        label = re.match(r"^(?:\.L(BB\d+_\d+):|; %bb\.(\d+):)(.*)", line)
        code = re.match(r"^\t([a-z]\w+.*)", line)
        if figure:
            figures[figure.group(1)] = int(figure.group(2))
        elif label:
            block, fresh = dict(label=label.group(1), head=label.group(3), loop=None), True
            _note(block, loops)
        elif fresh and re.match(r"^\s+;", line):
            block["head"] += line
            _note(block, loops)
        elif code and block:
            fresh = False
            if block["loop"]:
                loops[block["loop"]].lines.append(code.group(1))
    return out


def _trips(text):
    """{function: {loop header: how often it turns}} as LLVM's scalar evolution says; an upper bound where it has no more."""
    out, f = {}, None
    for line in text.splitlines():
        m = re.match(r"Determining loop execution counts for: @(\w+)", line)
        if m:
            f = out.setdefault(m.group(1), {})
        m = re.match(r"\s*Loop %([\w.]+): backedge-taken count is i\d+ (\d+)$", line)
        if m:
            f[m.group(1)] = int(m.group(2)) + 1
        m = re.match(r"\s*Loop %([\w.]+): constant max backedge-taken count is i\d+ (-?\d+)", line)
        if m and 0 <= int(m.group(2)) < 4096:
            f.setdefault(m.group(1), int(m.group(2)) + 1)
    return out


def _round(loops, label):
    """Instructions of one round of a loop, inner loops as often as they turn."""
    total = _count(loops[label].lines)
    for inner, loop in loops.items():
        if loop.parent == label and not loop.draws():
            for key, n in _round(loops, inner).items():
                total[key] += n * (loop.trips or 1)
    return total


def _inside(loops, label, outer):
    while label and label != outer:
        label = loops[label].parent
    return label == outer


def _outer_product_loop(loops):
    """The deepest loop of unknown length that holds most of the products."""
    best, most = None, 0
    for label, loop in loops.items():
        if loop.trips is not None and loop.parent is not None:
            continue
        fma = _round(loops, label)["fma"]
        if fma and fma >= 0.9 * most and (fma > 1.1 * most or best is None or _inside(loops, label, best)):
            best, most = label, max(fma, most)
    return best


def compile(tools, program, target, folder):
    """{kernel: row} or the compiler's words."""
    libraries = prepare(tools)
    stem = os.path.join(folder, "amd")
    code, log = run([tools.llvm("clang"), "-x", "cl", *program.options, "-target", "amdgcn-amd-amdhsa", "-mcpu=" + target, "-O3",
                     "--rocm-device-lib-path=" + libraries, "-Wno-linker-warnings", "-fno-discard-value-names", "-emit-llvm",
                     "-c", "-o", stem + ".bc", program.source], env=tools.env)
    if code:
        return log
    trips = _trips(run([tools.llvm("opt"), "-passes=print<scalar-evolution>", "-disable-output", stem + ".bc"], env=tools.env)[1])
    code, log = run([tools.llvm("llc"), "-O3", "-mcpu=" + target, stem + ".bc", "-o", stem + ".s"], env=tools.env)
    if code:
        return log
    asm = open(stem + ".s").read()
    called = sorted(set(re.findall(r"^\s+\.globl\s+(\w+)", asm, re.M)) & set(re.findall(r"(\w+)@rel32", asm)))
    undefined = sorted(set(re.findall(r"(\w+)@(?:gotpcrel32|rel32)@lo", asm)))
    spilled = dict(re.findall(r"\.name: +(\w+)\n(?:(?!\.name:).)*?\.vgpr_spill_count: (\d+)", asm, re.S))
    rows = {}
    for kernel, (figures, loops) in _parse(asm).items():
        for loop in loops.values():
            loop.trips = trips.get(kernel, {}).get(loop.name)
        outer = _outer_product_loop(loops)
        rows[kernel] = dict(
            registers=figures.get("TotalNumVgprs", figures.get("NumVgprs", 0)), spill=4 * int(spilled.get(kernel, 0)),
            private=figures.get("ScratchSize", 0), local=figures.get("LDSByteSize", 0), occupancy=figures.get("Occupancy", 0),
            most=8 if target in ("gfx90a", "gfx942") else 16, calls=sorted(set(called) | set(undefined)),
            loops=[dict(c) for c in (_count(l.lines) for l in loops.values() if not l.draws()) if c["fma"]],
            whole=dict(_round(loops, outer)) if outer else None)
    return rows
