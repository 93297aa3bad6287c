#!/usr/bin/env python3
"""golden_custom.py - golden cases of custom_attention, by PyTorch's autograd in float64.
Needs torch and numpy.

    tests/data/makers/golden_custom.py FOLDER    write the recipes of docs/custom.md and two
                                     cases more: waves, and the other functions
                                     (clattn verify FOLDER runs them)
"""
import math
import os
import sys

import numpy as np
import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from golden import sequences, write_case

LENGTHS, HEADS, WIDTH = (5, 0, 19), 2, 8
TOKENS = sum(LENGTHS)
FAR = 12  # of T5's buckets


def t5_bucket(distance, buckets=8, largest=FAR):
    """The bucket of T5's relative_attention_bias, bidirectional."""
    half = buckets // 2
    result = half if distance > 0 else 0
    n = abs(distance)
    exact = half // 2
    if n < exact:
        return result + n
    steps = math.log(n / exact) / math.log(largest / exact) * (half - exact)
    return result + min(exact + int(steps), half - 1)


BUCKETS = np.array([t5_bucket(n) for n in range(-FAR, FAR + 1)], "i4")
DOCUMENTS = np.array([0, 0, 1, 1, 1] + [2] * 7 + [3] * 4 + [4] * 8, "i4")
PREFIX = np.array([2, 0, 6], "i4")

# name: expressions, learned inputs (shape, mean, deviation), whole numbers, and the same in
# PyTorch: score(s, p, x), mask(p, x), weight(w, p, x) for positions p.i, p.j
RECIPES = {
    "alibi": dict(
        score="s - slope[h] * abs(j - i)",
        learned={"slope": ((HEADS,), 0.4, 0.2)},
        is_score=lambda s, p, x: s - x["slope"][p.h] * abs(p.j - p.i),
    ),
    "t5": dict(
        score="s + table[h][bucket[clip(j - i, -12, 12) + 12]]",
        learned={"table": ((HEADS, 8), 0.0, 1.0)},
        whole={"bucket": BUCKETS},
        is_score=lambda s, p, x: s
        + x["table"][p.h][x["bucket"][(p.j - p.i).clamp(-FAR, FAR) + FAR]],
    ),
    "soft_cap": dict(
        score="30 * tanh(s / 30)",
        scale=4.0,
        is_score=lambda s, p, x: 30 * torch.tanh(s / 30),
    ),
    "window": dict(window=7, is_mask=lambda p, x: abs(p.i - p.j) <= 3),
    "dilated": dict(
        mask="abs(i - j) % 2 == 0",
        window=9,
        is_mask=lambda p, x: (abs(p.i - p.j) <= 4) & ((p.i - p.j) % 2 == 0),
    ),
    "prefix": dict(
        mask="j <= i || j < prefix[b]",
        whole={"prefix": PREFIX},
        is_mask=lambda p, x: (p.j <= p.i) | (p.j < x["prefix"][p.b]),
    ),
    "documents": dict(
        mask="doc[ni] == doc[nj]",
        whole={"doc": DOCUMENTS},
        is_mask=lambda p, x: x["doc"][p.ni] == x["doc"][p.nj],
    ),
    "gaussian": dict(
        score="s - (j - i) * (j - i) / (2 * sigma[h] * sigma[h])",
        learned={"sigma": ((HEADS,), 3.0, 0.5)},
        is_score=lambda s, p, x: s - (p.j - p.i) ** 2 / (2 * x["sigma"][p.h] ** 2),
    ),
    "gates": dict(
        weight="w * gate[h]",
        learned={"gate": ((HEADS,), 1.0, 0.5)},
        is_weight=lambda w, p, x: w * x["gate"][p.h],
    ),
    "temperature": dict(
        score="s * heat[h]",
        learned={"heat": ((HEADS,), 1.0, 0.3)},
        is_score=lambda s, p, x: s * x["heat"][p.h],
    ),
    "decay": dict(
        weight="w * exp(-rate[h] * abs(j - i))",
        learned={"rate": ((HEADS,), 0.3, 0.1)},
        is_weight=lambda w, p, x: w * torch.exp(-x["rate"][p.h] * abs(p.j - p.i)),
    ),
    "blocks": dict(
        mask="int(i / 4) == int(j / 4)",
        is_mask=lambda p, x: p.i // 4 == p.j // 4,
    ),
    "waves": dict(
        score="s + amp[h] * cos(freq[h] * (j - i))",
        learned={"amp": ((HEADS,), 1.0, 0.3), "freq": ((HEADS,), 0.7, 0.2)},
        is_score=lambda s, p, x: s + x["amp"][p.h] * torch.cos(x["freq"][p.h] * (p.j - p.i)),
    ),
    "functions": dict(
        score="s * sigmoid(gain[h] * s) + erf(bend[h] * s) * sin(wave[h] * i)",
        weight="w * exp2(-wave[h] * round(abs(j - i) / 3)) + pow(w, 2)",
        learned={
            "gain": ((HEADS,), 1.0, 0.3),
            "bend": ((HEADS,), 0.5, 0.2),
            "wave": ((HEADS,), 0.6, 0.2),
        },
        is_score=lambda s, p, x: s * torch.sigmoid(x["gain"][p.h] * s)
        + torch.erf(x["bend"][p.h] * s) * torch.sin(x["wave"][p.h] * p.i),
        is_weight=lambda w, p, x: w
        * torch.exp2(-x["wave"][p.h] * torch.round(abs(p.j - p.i) / 3))
        + w**2,
    ),
}


class Positions:
    """All pairs of queries and keys of one head of one sequence."""

    def __init__(self, rows, b, h):
        length = rows.stop - rows.start
        self.i = torch.arange(length)[:, None]
        self.j = torch.arange(length)[None, :]
        self.ni, self.nj = self.i + rows.start, self.j + rows.start
        self.b, self.h = b, h


def attend(recipe, x, offsets):
    """The output [N,H,d]; a query without a visible key gives 0."""
    outputs = []
    for b, rows in enumerate(sequences(offsets)):
        heads = []
        for h in range(HEADS):
            p = Positions(rows, b, h)
            s = x["q"][rows, h] @ x["k"][rows, h].T / math.sqrt(WIDTH)
            s = recipe["is_score"](s, p, x) if "is_score" in recipe else s
            if "is_mask" in recipe:
                s = s.masked_fill(~recipe["is_mask"](p, x), -math.inf)
            w = torch.softmax(s, -1).nan_to_num(0) if rows.stop > rows.start else s
            w = recipe["is_weight"](w, p, x) if "is_weight" in recipe else w
            heads.append(w @ x["v"][rows, h])
        outputs.append(torch.stack(heads, 1))
    return torch.cat(outputs)


def write(folder, name, recipe, random):
    def normal(shape, mean=0.0, scale=1.0):
        return (mean + scale * random.standard_normal(shape)).astype("f4")

    shape = (TOKENS, HEADS, WIDTH)
    scale = recipe.get("scale", 1.0)
    given = {f"in.{n}": normal(shape, scale=scale) for n in "qkv"}
    learned, whole = recipe.get("learned", {}), recipe.get("whole", {})
    given |= {f"param.{n}": normal(*what) for n, what in learned.items()}
    offsets = np.cumsum([0, *LENGTHS]).astype("i4")
    x = {n.split(".")[1]: torch.tensor(v.astype("f8"), requires_grad=True) for n, v in given.items()}
    leaves = dict(x)
    x |= {n: torch.tensor(v.astype("i8")) for n, v in whole.items()}
    o = attend(recipe, x, offsets)
    do = normal(shape)
    o.backward(torch.tensor(do.astype("f8")))
    tensors = given | {f"in.{n}": v for n, v in whole.items()}
    tensors |= {"in.offsets": offsets, "out.o": o.detach().numpy(), "grad_out.o": do}
    tensors |= {f"grad.{n}": v.grad.numpy() for n, v in leaves.items()}
    attributes = {n: str(recipe.get(n, "")) for n in ("score", "mask", "weight")}
    attributes |= {"op": "custom_attention", "window": str(recipe.get("window", 0))}
    write_case(os.path.join(folder, f"custom_attention_{name}.safetensors"), attributes, tensors)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    random = np.random.default_rng(42)
    for name, recipe in RECIPES.items():
        write(sys.argv[1], name, recipe, random)
    print(f"{len(RECIPES)} cases in {sys.argv[1]}")


if __name__ == "__main__":
    main()
