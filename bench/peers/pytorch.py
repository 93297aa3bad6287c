#!/usr/bin/env python3
"""pytorch.py - the cases of a `clattn bench --json` file, run by PyTorch on the CPU.

usage: pytorch.py [--threads N] [--filter RE] [--quick] CASES.json OUT.json

Reads the case names ("band_attention fwd B8 H8 T512 d64 w11"), runs what PyTorch can do of
each in every way it offers, once more in bfloat16 (tensors of that type, "bf16", and
float32 tensors under autocast, "autocast") where a row's precision is medium, and writes the same JSON Lines, so that `clattn bench compare
CASES.json OUT.json` pairs them. Exits 0 with one line where PyTorch is not installed.
"""
import argparse
import contextlib
import json
import os
import re
import statistics
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("pytorch.py: PyTorch is not installed, nothing measured "
          "(bench/peers/setup.sh installs it)")
    sys.exit(0)

from reader import bidaf

FLEX = {}

# Each op gives (provider, leaves, make): make() prepares one way of computing it and
# returns the function that is timed.


def letters(words):
    """{"B": 8, "d": 64, ...} and the set of plain words."""
    sizes, flags = {}, set()
    for word in words:
        match = re.fullmatch(r"([A-Za-z]+)(\d+)", word)
        if match:
            sizes[match.group(1)] = int(match.group(2))
        else:
            flags.add(word)
    return sizes, flags


def heads(s, grad, length="T", count="H"):
    """[B,H,T,d], laid out as [B,T,H,d] is: what a projection gives."""
    x = torch.randn(s["B"], s[length], s[count], s["d"], requires_grad=grad)
    return x, x.transpose(1, 2)


def near(T, w):
    i = torch.arange(T)
    return (i[:, None] - i[None, :]).abs() <= w // 2


def flex(q, k, v, mask, score=None):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    T, S = q.shape[2], k.shape[2]
    if "call" not in FLEX:
        FLEX["call"] = torch.compile(flex_attention, dynamic=False)
    block = create_block_mask(mask, None, None, T, S, device="cpu") if mask else None
    return lambda: FLEX["call"](q, k, v, score_mod=score, block_mask=block)


def unfold_band(q, k, v, w):
    """Keys and values of each window gathered by unfold: O(T w), all in matmuls."""
    T, d, r = q.shape[2], q.shape[3], w // 2
    i = torch.arange(T)[:, None] + torch.arange(-r, r + 1)[None, :]
    inside = (i >= 0) & (i < T)

    def run():
        kw = F.pad(k, (0, 0, r, r)).unfold(2, w, 1)  # [B,H,T,d,w]
        vw = F.pad(v, (0, 0, r, r)).unfold(2, w, 1)
        score = (q.unsqueeze(3) @ kw).squeeze(3) * d ** -0.5
        p = score.masked_fill(~inside, float("-inf")).softmax(-1)
        return (vw @ p.unsqueeze(4)).squeeze(4)

    return run


def unfold_band_2d(q, k, v, w, area):
    """The same with the neighbouring heads' windows beside each other (truncated ends)."""
    H, T, d = q.shape[1:]
    r, a = w // 2, area // 2
    i = torch.arange(T)[:, None] + torch.arange(-r, r + 1)[None, :]
    g = torch.arange(H)[:, None] + torch.arange(-a, a + 1)[None, :]
    inside = (((g >= 0) & (g < H))[:, None, :, None]
              & ((i >= 0) & (i < T))[None, :, None, :])  # [H,T,area,w]

    def run():
        pad = (0, 0, r, r, a, a)
        kw = F.pad(k, pad).unfold(2, w, 1).unfold(1, area, 1)  # [B,H,T,d,w,area]
        vw = F.pad(v, pad).unfold(2, w, 1).unfold(1, area, 1)
        score = torch.einsum("bhtd,bhtdwa->bhtaw", q, kw) * d ** -0.5
        score = score.masked_fill(~inside, float("-inf"))
        p = score.flatten(3).softmax(-1).view_as(score)
        return torch.einsum("bhtaw,bhtdwa->bhtd", p, vw)

    return run


def leaves_of(*pairs):
    return [p[0] for p in pairs], [p[1] for p in pairs]


def attention(s, flags, grad):
    leaf, (q, k, v) = leaves_of(heads(s, grad), heads(s, grad, "S" if "S" in s else "T"),
                                heads(s, grad, "S" if "S" in s else "T"))
    causal = "causal" in flags
    yield "sdpa", leaf, lambda: lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def band_attention(s, flags, grad):
    leaf, (q, k, v) = leaves_of(*(heads(s, grad) for _ in range(3)))
    T, w = s["T"], s["w"]
    mask = near(T, w)
    yield "sdpa", leaf, lambda: lambda: F.scaled_dot_product_attention(q, k, v)
    yield "sdpa_mask", leaf, lambda: lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    if not grad:  # flex_attention has no backward pass on CPUs
        yield "flex", leaf, lambda: flex(
            q, k, v, lambda b, h, i, j: (i - j).abs() <= w // 2)
    yield "unfold", leaf, lambda: unfold_band(q, k, v, w)


def custom_attention(s, flags, grad):
    """The modifiers of bench/ops/custom_attention.c."""
    if grad:  # flex_attention has no backward pass on CPUs
        return
    leaf, (q, k, v) = leaves_of(*(heads(s, grad) for _ in range(3)))
    slope = torch.randn(s["H"]) * 0.1
    part = next((s["T"] // int(flag[2:]) for flag in flags if flag[:2] == "1/"), s["T"])
    score = mask = None
    if "alibi" in flags:
        score = lambda x, b, h, i, j: x - slope[h] * (j - i).abs()
    if "cap" in flags:
        score = lambda x, b, h, i, j: 30 * torch.tanh(x / 30)
    if "window" in flags:
        mask = lambda b, h, i, j: (i - j).abs() <= 5
    if "documents" in flags:
        mask = lambda b, h, i, j: i // part == j // part
    yield "flex", leaf, lambda: flex(q, k, v, mask, score)


def band_attention_2d(s, flags, grad):
    leaf, (q, k, v) = leaves_of(*(heads(s, grad) for _ in range(3)))
    yield "unfold", leaf, lambda: unfold_band_2d(q, k, v, s["w"], s["h"])


def conv_attention_2d(s, flags, grad):
    leaf, (q, k, v) = leaves_of(*(heads(s, grad) for _ in range(3)))
    side = s["k"]
    weight = torch.randn(s["H"], 1, side, side, requires_grad=grad)
    bias = torch.randn(s["H"], requires_grad=grad)

    def run():
        p = (q @ k.transpose(2, 3) * s["d"] ** -0.5).softmax(-1)
        c = F.conv2d(p, weight, bias, padding=side // 2, groups=s["H"])
        return c.relu() @ v

    yield "conv2d", leaf + [weight, bias], lambda: run


def masked_softmax(s, flags, grad):
    x = torch.randn(s["B"], s["H"], s["T"], s["S"], requires_grad=grad)
    yield "softmax", [x], lambda: lambda: x.softmax(-1)


def matmul(s, flags, grad):
    batch = (s["B"],) if "B" in s else ()
    a = torch.randn(*batch, s["M"], s["K"], requires_grad=grad)
    b = torch.randn(*batch, s["K"], s["N"], requires_grad=grad)
    if "ta" in flags:
        a = a.detach().transpose(-1, -2).contiguous().transpose(-1, -2)
    if "tb" in flags:
        b = b.detach().transpose(-1, -2).contiguous().transpose(-1, -2)
    yield "mkl", [a, b], lambda: lambda: a @ b


def linear(s, flags, grad):
    x = torch.randn(s["N"], s["in"], requires_grad=grad)
    w = torch.randn(s["out"], s["in"], requires_grad=grad)
    b = torch.randn(s["out"], requires_grad=grad)
    residual = torch.randn(s["N"], s["out"], requires_grad=grad)

    def run():
        y = F.linear(x, w, b)
        y = y.relu() if "relu" in flags else y
        return y + residual if "residual" in flags else y

    yield "mkl", [x, w, b, residual], lambda: run


def bidirectional(cell, s, grad):
    """Both directions of a layer over T tokens each of B sequences: packed, as models with
    sentences of different lengths do it, and as one dense block, which oneDNN takes."""
    layer = cell(s["in"], s["n"], bidirectional=True, batch_first=True)
    x = torch.randn(s["B"], s["T"], s["in"], requires_grad=grad)
    lengths = torch.full((s["B"],), s["T"])
    leaves = [x, *layer.parameters()]

    def packed():
        rows = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return layer(rows)[0].data

    yield "packed", leaves, lambda: packed
    yield "dense", leaves, lambda: lambda: layer(x)[0]


def bilstm(s, flags, grad):
    yield from bidirectional(torch.nn.LSTM, s, grad)


def bigru(s, flags, grad):
    yield from bidirectional(torch.nn.GRU, s, grad)


DIRECTIONS = ("fwd", "fwd+bwd", "train")
KNOWN_FLAGS = {"causal", "relu", "residual", "ta", "tb", "plain", "alibi", "soft", "cap",
               "window", "documents", "1/1", "1/2", "1/8"}
OPS = {f.__name__: f for f in (attention, band_attention, custom_attention, band_attention_2d,
                               conv_attention_2d, masked_softmax, matmul, linear, bilstm,
                               bigru, bidaf)}


def stepper(leaf, run, direction):
    """One run as it is timed: forward, or forward and backward into fresh gradients; a
    whole step of training as it is."""
    if direction == "train":
        return run
    if direction == "fwd":
        def step():
            with torch.inference_mode():
                run()
        return step
    dy = torch.randn_like(run())

    def step():
        for x in leaf:
            x.grad = None
        run().backward(dy)
    return step


def measure(step, quick):
    """Milliseconds of each sample: at least 10 and 0.3 s of them, after a warm-up."""
    least, seconds = (5, 0.05) if quick else (10, 0.3)
    begin, runs = time.perf_counter(), 0
    while runs < 2 or time.perf_counter() - begin < seconds / 3:
        step()
        runs += 1
    samples, begin = [], time.perf_counter()
    while len(samples) < least or time.perf_counter() - begin < seconds:
        t = time.perf_counter()
        step()
        samples.append((time.perf_counter() - t) * 1e3)
    return samples


def read_cases(path):
    """The fastest row of each case, in the file's order."""
    cases = {}
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            try:
                row = json.loads(line)
                best = cases.get(row["case"])
                if best is None or row["median_ms"] < best["median_ms"]:
                    cases[row["case"]] = row
            except (ValueError, KeyError, TypeError):
                sys.exit(f"{path}:{number}: not a row of clattn bench --json")
    return list(cases.values())


def record(row, provider, samples):
    q = statistics.quantiles(samples, n=4, method="inclusive")
    scale = row["median_ms"] / q[1]  # the same work in another time
    return {"suite": row["suite"], "case": row["case"],
            "device": f"PyTorch {torch.__version__} cpu", "provider": provider,
            "runs": len(samples), "median_ms": q[1], "p25_ms": q[0], "p75_ms": q[2],
            "gflops": row["gflops"] * scale, "gbs": row["gbs"] * scale,
            "peak_share": row["peak_share"] * scale}


@contextlib.contextmanager
def types(kind):
    """Tensors and products of bfloat16 ("bf16"), products alone ("autocast"), or neither."""
    torch.set_default_dtype(torch.bfloat16 if kind == "bf16" else torch.float32)
    try:
        with torch.autocast("cpu", torch.bfloat16, enabled=kind == "autocast"):
            yield
    finally:
        torch.set_default_dtype(torch.float32)


def run_case(row, quick):
    kinds = ("", "bf16", "autocast") if row.get("precision") == "medium" else ("",)
    for kind in kinds:
        with types(kind):
            yield from run_ways(row, quick, kind)


def run_ways(row, quick, kind):
    op, direction, *rest = row["case"].split()
    sizes, flags = letters(rest)
    grad = direction == "fwd+bwd"
    if op not in OPS or flags - KNOWN_FLAGS or direction not in DIRECTIONS:
        return
    try:
        ways = list(OPS[op](sizes, flags, grad))
    except KeyError:
        return  # letters this script does not know
    for provider, leaf, make in ways:
        provider += f"_{kind}" if kind else ""
        try:
            samples = measure(stepper(leaf, make(), direction), quick)
        except Exception as error:  # one way may fail where another works
            reason = str(error).splitlines()[0][:80] if str(error) else "no reason given"
            print(f"{row['case']:<52} {provider:<14} failed: {reason}")
            continue
        out = record(row, provider, samples)
        print(f"{row['case']:<52} {provider:<14} {out['median_ms']:9.3f} ms", flush=True)
        yield out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--filter", default="", help="only cases that match")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("cases")
    parser.add_argument("out")
    args = parser.parse_args()
    torch.manual_seed(42)
    torch.set_num_threads(args.threads)
    print(f"PyTorch {torch.__version__}, {args.threads} threads")

    rows = []
    for row in read_cases(args.cases):
        if re.search(args.filter, row["case"]):
            rows += run_case(row, args.quick)
    part = f"{args.out}.part"
    with open(part, "w", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(row) + "\n")
    os.replace(part, args.out)


if __name__ == "__main__":
    main()
