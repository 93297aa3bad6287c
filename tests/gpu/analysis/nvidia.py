"""nvidia.py - kernels on NVIDIA's GPUs: clang and libclc make PTX, with NVIDIA's own libdevice for exp, log and tanh;
its ptxas and nvdisasm do the rest. Registers and spills are ptxas's words, loops come from the machine code."""
import collections, hashlib, os, re
from machines import SM, natural_loops
from recording import items, run

FLAGS = ["-target", "nvptx64-unknown-nvcl"]
# ptxas also leaves loops by a call of a label in the kernel, which does not return; a call of a function goes on behind it.
JUMP = re.compile(r"\b(?:BRA|CALL\.REL\.NOINC)\b.*`\((\.L_\w+)\)")
CONTROL = ("BRA", "BRX", "EXIT", "RET", "BSSY", "BSYNC", "CALL", "WARPSYNC", "BREAK")
OTHER = ("NOP", "S2R", "DEPBAR", "MEMBAR", "ERRBAR", "CCTL", "BMOV", "I2F", "F2I")


def _math(tools):
    """OpenCL's names in front of libdevice's."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "nvmath.c")
    text = open(source, "rb").read()
    path = os.path.join(tools.cache, "nvmath-%s.bc" % hashlib.sha256(text).hexdigest()[:16])
    if not os.path.exists(path):
        run([tools.llvm("clang"), *FLAGS, "-Xclang", "-target-cpu", "-Xclang", "sm_70", "-O2", "-emit-llvm", "-c", "-o", path,
             source], env=tools.env)
    return path


def _ptx(tools, program, target, path):
    libraries = [_math(tools), tools.root + "/usr/lib/clc/nvptx64--nvidiacl.bc", tools.nvidia + "/libdevice.10.bc"]
    link = [x for bc in libraries for x in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", bc)]
    # OpenCL's division and root: not the correctly rounded ones
    code, log = run([tools.llvm("clang"), "-x", "cl", *program.options, *FLAGS, "-Xclang", "-target-cpu", "-Xclang", target, "-O3",
                     *link, "-mllvm", "-nvptx-prec-divf32=1", "-mllvm", "-nvptx-prec-sqrtf32=0", "-Wno-linker-warnings", "-S",
                     "-o", path, program.source], env=tools.env)
    if code:
        return log, ""
    text = re.sub(r"^\.version .*", ".version 7.8", open(path).read(), flags=re.M)  # an older ptxas; nothing newer is used
    open(path, "w").write(text)
    return "", text


def _count(lines):
    c = collections.Counter()
    for line in lines:
        name = re.sub(r"^@!?U?P\w+\s+", "", line).split()[0].rstrip(";")
        base = name.split(".")[0]
        bits = 128 if ".128" in name else 64 if ".64" in name else 32
        c["instructions"] += base != "NOP"
        c["matrix"] += 64 * (base == "HMMA")  # 16 x 8 x 16
        c["fma"] += base == "FFMA" or 64 * (base == "HMMA")
        c["special"] += base in ("MUFU", "I2F", "F2I", "F2F")
        if base in ("FFMA", "FMUL", "FADD"):
            c["fp"] += 1
        elif base == "IMAD":
            c["imad"] += 1
        elif base == "LDSM":
            c["local_bytes"] += 16 if ".4" in name else 4
            c["local"] += 1
        elif base in ("LDS", "STS"):
            c["local_bytes"] += bits // 8
            c["local"] += 1
            c["local_%s%d" % ("load" if base == "LDS" else "store", bits)] += 1
        elif base in ("LDG", "STG", "LD", "ST"):
            c["global"] += 1
            c["global_%s%d" % ("load" if base.startswith("LD") else "store", bits)] += 1
        elif base in ("LDL", "STL"):
            c["private"] += 1
        elif base == "BAR":
            c["barrier"] += 1
        elif base in CONTROL:
            c["branch"] += 1
        elif not base.startswith("U") and base not in OTHER and base not in ("MUFU", "HMMA"):
            c["alu"] += 1
    return c


def _blocks(text):
    """{kernel: [[label, lines]]}"""
    out, blocks = {}, None
    for line in text.splitlines():
        section = re.match(r"^\.text\.(\w+):", line)
        label = re.match(r"^(\.L_\w+):", line)
        code = re.match(r"^\s+/\*[0-9a-f]{4,}\*/\s+(.*?);", line)
        if section:
            blocks = out.setdefault(section.group(1), [["entry", []]])
        elif blocks is not None and label:
            blocks.append([label.group(1), []])
        elif blocks is not None and code:
            blocks[-1][1].append(code.group(1).strip())
            if re.search(r"\b(BRA|EXIT|RET|BRX)\b", code.group(1)) or JUMP.search(code.group(1)):
                blocks.append([None, []])
    return out


def _loops(blocks):
    blocks = [b for b in blocks if b[0] or b[1]]
    index = {b[0]: i for i, b in enumerate(blocks) if b[0]}
    succs = {}
    for i, (_, lines) in enumerate(blocks):
        last, after = lines[-1] if lines else "", set()
        jump = JUMP.search(last)
        aim = index.get(jump.group(1)) if jump else None
        if aim == i and not last.startswith("@"):
            succs[i] = after  # the end of the code: a branch to itself
            continue
        if aim is not None:
            after.add(aim)
        always = re.match(r"^(BRA|EXIT|RET|CALL\.REL\.NOINC `\(\.L_)", last) and not re.match(r"^BRA (\.DIV|!?U?P)", last)
        if not always and i + 1 < len(blocks):
            after.add(i + 1)
        succs[i] = after
    return [_count([l for b in sorted(own) for l in blocks[b][1]]) for own in natural_loops(len(blocks), succs)]


def _occupancy(target, registers, local, count):
    """Warps of one SM at a time."""
    total, warps, kib, lost = SM[target]
    each = (count + 31) // 32
    a_warp = -(-registers * 32 // 256) * 256
    by_registers = total // a_warp // each if a_warp else 32
    by_local = kib * 1024 // (local + lost) if local else 32
    return min(by_registers, warps // each, by_local, 32) * each


def compile(tools, program, target, folder):
    """{kernel: row} or the compiler's words."""
    stem = os.path.join(folder, "nv")
    log, ptx = _ptx(tools, program, target, stem + ".ptx")
    if log:
        return log
    calls = sorted(set(re.findall(r"call\.uni\s*(?:\(\w+\),\s*)?(\w+),", ptx)))
    code, log = run([tools.nvidia + "/ptxas", "-v", "-arch=" + target, stem + ".ptx", "-o", stem + ".cubin"])
    if code:
        return log
    code, sass = run([tools.nvidia + "/nvdisasm", "-c", stem + ".cubin"])
    rows = {}
    for kernel, blocks in _blocks(sass).items():
        if kernel not in program.kernels:
            continue
        part = log.split("function '%s'" % kernel)[1].split("Compiling")[0]
        stack, stores, loads = map(int, re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part).groups())
        registers = int(re.search(r"Used (\d+) registers", part).group(1))
        smem = re.search(r"(\d+) bytes smem", part)
        local = int(smem.group(1)) if smem else 0
        launch = program.kernels[kernel]
        rows[kernel] = dict(
            registers=registers, spill=stores + loads, private=stack, local=local,
            occupancy=_occupancy(target, registers, local + launch["local_bytes"], items(launch)), most=SM[target][1],
            calls=calls, loops=[dict(c) for c in _loops(blocks) if c["fma"]], whole=None)
    return rows
