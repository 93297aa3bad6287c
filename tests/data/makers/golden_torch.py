#!/usr/bin/env python3
"""golden_torch.py - golden cases of layers, by PyTorch's autograd in float64.
Needs torch and numpy.

    tests/data/makers/golden_torch.py FOLDER     write three cases of each operator below
                                     (clattn verify FOLDER runs them)

The equations are those of include/clattn.
"""
import math
import os
import sys

import numpy as np
import torch
from torch.nn import functional

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from golden import sequences, write_case

# Lengths of the sequences of a small, a ragged and a larger batch.
BATCHES = ((3,), (5, 0, 2, 1), (33, 7, 0, 40))


def offsets(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype("i4")


def activate(y, name):
    return {"none": y, "relu": torch.relu(y), "tanh": torch.tanh(y)}[name]


def along(x, rows, each):
    """each(x of a sequence, number of the sequence) for each sequence, packed again."""
    return torch.cat([each(x[part], b) for b, part in enumerate(sequences(rows))])


def shifted(x, steps):
    """Row n is x[n + steps], 0 outside."""
    out = torch.zeros_like(x)
    for n in range(len(x)):
        if 0 <= n + steps < len(x):
            out[n] = x[n + steps]
    return out


# ---- the operators: attributes and inputs to outputs ----------------------------------------


def add(a, x):
    return {"y": x["a"] + x["b"]}


def sub(a, x):
    return {"y": x["a"] - x["b"]}


def multiply(a, x):
    return {"y": x["a"] * x["b"]}


def scale_by(a, x):
    return {"y": float(a["factor"]) * x["x"]}


def sigmoid(a, x):
    return {"y": torch.sigmoid(x["x"])}


def sum_all(a, x):
    return {"y": x["x"].sum().reshape(1)}


def mean(a, x):
    return {"y": x["x"].mean().reshape(1)}


def mse(a, x):
    return {"loss": functional.mse_loss(x["a"], x["b"]).reshape(1)}


def gate(a, x):
    s = torch.sigmoid(x["x"])
    return {"y": s * x["a"] + (1 - s) * x["b"]}


def concat(a, x):
    return {"y": torch.cat([x["a"], x["b"]], 1)}


def scale_heads(a, x):
    return {"y": x["x"] * x["gamma"][None, :, None]}


def conv1d(a, x):
    taps = x["w"].shape[0]

    def one(part, _):
        parts = [shifted(part, u - (taps - 1) // 2) @ x["w"][u] for u in range(taps)]
        return activate(sum(parts) + x["b"], a["activation"])

    return {"y": along(x["x"], x["offsets"], one)}


def depthwise_conv1d(a, x):
    taps = x["w"].shape[0]

    def one(part, _):
        return sum(shifted(part, u - (taps - 1) // 2) * x["w"][u] for u in range(taps))

    return {"y": along(x["x"], x["offsets"], one)}


def length_sigmoid(a, x):
    slope, shift, base = (float(a[n]) for n in ("slope", "shift", "base"))

    def one(part, _):
        return (slope * len(part) + shift) * torch.sigmoid(part) + base

    return {"y": along(x["x"], x["offsets"], one)}


def matmul(a, x):
    left = x["a"].transpose(-1, -2) if a["transpose_a"] == "1" else x["a"]
    right = x["b"].transpose(-1, -2) if a["transpose_b"] == "1" else x["b"]
    return {"y": left @ right}


def cross_entropy(a, x):
    smoothing, log_p = float(a["smoothing"]), functional.log_softmax(x["logits"], 1)
    losses = []
    for n, target in enumerate(x["targets"]):
        if target >= 0:
            q = torch.full_like(log_p[n], smoothing / (len(log_p[n]) - 1))
            q[int(target)] = 1 - smoothing
            losses.append(-x["factor"][n] * (q * log_p[n]).sum())
    return {"loss": (sum(losses) / len(losses)).reshape(1)}


def mix_levels(a, x):
    weights = torch.softmax(x["c"], 0)
    return {"out": sum(w * x[f"x{i}"] for i, w in enumerate(weights))}


def stack(a, x):
    return {"y": torch.cat([x[n] for n in sorted(x)])}


def slice_rows(a, x):
    first = int(a["first"])
    return {"y": x["x"][first : first + int(a["count"])]}


def relative_spectrum(a, x):
    width = x["spectrum"].shape[1]
    m, k = torch.arange(width)[:, None], torch.arange(width)[None]
    waves = torch.cos(2 * math.pi * k * abs(m - width // 2) / width) / width
    waves[0] = 0
    return {"table": x["spectrum"] @ waves.T.to(x["spectrum"].dtype)}


def ragged_cross_entropy(a, x):
    losses = []
    for b, part in enumerate(sequences(x["offsets"])):
        target = int(x["targets"][b])
        if 0 <= target < part.stop - part.start:
            if a["probabilities"] == "1":
                losses.append(-torch.log(x["x"][part][target] + float(a["least"])))
            else:
                losses.append(-functional.log_softmax(x["x"][part], 0)[target])
    return {"loss": (sum(losses) / len(losses)).reshape(1)}


def pairs(x):
    return zip(sequences(x["q_offsets"]), sequences(x["k_offsets"]))


def additive_attention(a, x):
    parts = []
    for i, j in pairs(x):
        scores = torch.tanh(x["m"][j][None] + x["q"][i][:, None]) @ x["v"]
        parts.append(torch.softmax(scores, 1) @ x["values"][j])
    return {"context": torch.cat(parts)}


def max_attention(a, x):
    out = []
    for i, j in pairs(x):
        q, k = x["q"][i], x["k"][j]
        if len(q) and len(k):
            out.append(torch.softmax((q @ k.T).max(1).values, 0) @ q)
        else:
            out.append(q.sum(0) * 0)
    return {"out": torch.stack(out)}


def sru(a, x):
    n = x["w"].shape[1]
    gates = torch.sigmoid(x["x"] @ x["w_g"] + x["b_g"])
    z, f, r = x["x"] @ x["w"], gates[:, :n], gates[:, n:]
    y, last = [None] * len(x["x"]), []
    for b, part in enumerate(sequences(x["offsets"])):
        c, order = x["c0"][b], range(part.start, part.stop)
        for t in reversed(order) if a["reverse"] == "1" else order:
            c = torch.tanh(f[t] * c + (1 - f[t]) * z[t])
            y[t] = r[t] * c + (1 - r[t]) * z[t]
        last.append(c)
    return {"y": torch.stack(y), "c": torch.stack(last)}


# ---- cases ----------------------------------------------------------------------------------


class Writer:
    def __init__(self, folder):
        self.folder, self.count, self.random = folder, 0, np.random.default_rng(2026)

    def normal(self, *shape, scale=1.0, mean=0.0):
        return (self.random.standard_normal(shape) * scale + mean).astype("f4")

    def write(self, op, name, attributes, inputs, params=(), constants=()):
        """inputs: NumPy arrays by name; params: the names that files call parameters."""
        attributes = {n: str(v) for n, v in attributes.items()}
        x = {}
        for key, values in inputs.items():
            whole = values.dtype.kind == "i"
            x[key] = values if whole else torch.tensor(values, dtype=torch.float64,
                                                       requires_grad=key not in constants)
        outputs = OPERATORS[op](attributes, x)
        upstream = {n: self.normal(*y.shape) for n, y in outputs.items()}
        sum((y * torch.tensor(upstream[n], dtype=torch.float64)).sum()
            for n, y in outputs.items()).backward()
        tensors = {("param." if n in params else "in.") + n: v for n, v in inputs.items()}
        for n, y in outputs.items():
            tensors["out." + n] = y.detach().numpy()
            tensors["grad_out." + n] = upstream[n]
        for n, v in x.items():
            if isinstance(v, torch.Tensor) and v.requires_grad:
                tensors["grad." + n] = v.grad.numpy()
        path = os.path.join(self.folder, op, f"{op}_{name}.safetensors")
        write_case(path, {"op": op, **attributes}, tensors)
        self.count += 1


def write_elementwise(w):
    for i, shape in enumerate(((2, 3), (7, 65), (3, 5, 4))):
        w.write("add", i, {}, {"a": w.normal(*shape), "b": w.normal(*shape)})
        w.write("multiply", i, {}, {"a": w.normal(*shape), "b": w.normal(*shape)})
        w.write("gate", i, {},
                {"x": w.normal(*shape, scale=3), "a": w.normal(*shape), "b": w.normal(*shape)})
    for i, (n, left, right) in enumerate(((1, 1, 2), (7, 65, 3), (33, 16, 40))):
        w.write("concat", i, {}, {"a": w.normal(n, left), "b": w.normal(n, right)})
    for i, (n, heads, width) in enumerate(((1, 1, 1), (7, 2, 33), (40, 4, 16))):
        w.write("scale_heads", i, {},
                {"x": w.normal(n, heads, width), "gamma": w.normal(heads)}, ["gamma"])
    for i, (heads, t) in enumerate(((1, 1), (2, 7), (3, 40))):
        w.write("relative_spectrum", i, {}, {"spectrum": w.normal(heads, 2 * t)}, ["spectrum"])


def write_arithmetic(w):
    for i, shape in enumerate(((2, 3), (7, 65), (3, 5, 4))):
        w.write("sub", i, {}, {"a": w.normal(*shape), "b": w.normal(*shape)})
        w.write("mse", i, {}, {"a": w.normal(*shape), "b": w.normal(*shape, mean=1)})
        w.write("scale_by", i, {"factor": (-0.5, 3.0, 0.0)[i]}, {"x": w.normal(*shape)})
        w.write("sigmoid", i, {}, {"x": w.normal(*shape, scale=3)})
        for op in ("sum", "mean"):
            w.write(op, i, {}, {"x": w.normal(*shape, mean=1)})


def write_along_rows(w):
    for i, lengths in enumerate(BATCHES):
        n, rows = sum(lengths), offsets(lengths)
        inside, out, taps = ((2, 3, 1), (9, 5, 3), (16, 33, 5))[i]
        w.write("conv1d", i, {"activation": ("none", "relu", "tanh")[i]},
                {"x": w.normal(n, inside), "offsets": rows, "b": w.normal(out),
                 "w": w.normal(taps, inside, out, scale=(taps * inside) ** -0.5)}, ["w", "b"])
        w.write("depthwise_conv1d", i, {},
                {"x": w.normal(n, out), "offsets": rows, "w": w.normal(taps, out)}, ["w"])
        w.write("length_sigmoid", i,
                {"slope": (1.0, 0.5, 0.5)[i], "shift": (-1.0, 0.0, 0.25)[i], "base": 0.05},
                {"x": w.normal(n, out, scale=2), "offsets": rows})
        reverse = i % 2
        w.write("sru", i, {"reverse": reverse},
                {"x": w.normal(n, inside), "offsets": rows, "c0": w.normal(len(lengths), out),
                 "w": w.normal(inside, out, scale=inside**-0.5), "b_g": w.normal(2 * out),
                 "w_g": w.normal(inside, 2 * out, scale=inside**-0.5)}, ["w", "w_g", "b_g"])


def write_attention(w):
    for i, lengths in enumerate(BATCHES):
        keys = tuple(reversed([max(1, n) for n in lengths]))
        queries, memory = sum(lengths), sum(keys)
        a, d = ((2, 3), (9, 5), (40, 33))[i]
        both = {"q_offsets": offsets(lengths), "k_offsets": offsets(keys)}
        w.write("additive_attention", i, {},
                {"m": w.normal(memory, a), "q": w.normal(queries, a), "v": w.normal(a),
                 "values": w.normal(memory, d), **both}, ["v"])
        w.write("max_attention", i, {},
                {"q": w.normal(queries, d), "k": w.normal(memory, d), **both})
        targets = np.array([n // 2 if n else -1 for n in lengths], "i4")
        probabilities = i % 2
        x = w.normal(queries)
        x = abs(x) / 4 + np.float32(0.1) if probabilities else x
        w.write("ragged_cross_entropy", i,
                {"probabilities": probabilities, "least": 0.01 if probabilities else 0.0},
                {"x": x.astype("f4"), "targets": targets, "offsets": offsets(lengths)})


def write_products(w):
    shapes = (((2, 3), (3, 4)), ((2, 5, 7), (7, 33)), ((3, 17, 9), (3, 9, 40)))
    for i, (left, right) in enumerate(shapes):
        turn_a, turn_b = i == 2, i > 0
        a, b = w.normal(*left), w.normal(*right)
        a = np.ascontiguousarray(a.swapaxes(-1, -2)) if turn_a else a
        b = np.ascontiguousarray(b.swapaxes(-1, -2)) if turn_b else b
        w.write("matmul", i, {"transpose_a": int(turn_a), "transpose_b": int(turn_b)},
                {"a": a, "b": b})
    for i, (n, classes) in enumerate(((1, 2), (7, 65), (33, 40))):
        targets = w.random.integers(-1, classes, n).astype("i4")
        targets[-1] = classes - 1
        w.write("cross_entropy", f"factor{i}", {"smoothing": 0.1},
                {"logits": w.normal(n, classes, scale=2), "targets": targets,
                 "factor": w.normal(n)}, constants=["factor"])


def write_lists(w):
    for i, (depth, shape) in enumerate(((1, (2, 3)), (2, (7, 33)), (4, (5, 4, 3)))):
        levels = {f"x{n}": w.normal(*shape) for n in range(depth)}
        w.write("mix_levels", i, {}, {**levels, "c": w.normal(depth)}, ["c"])
    for i, (rows, width) in enumerate((((1,), 2), ((3, 5), 33), ((2, 1, 7), 40))):
        w.write("stack", i, {}, {f"x{n}": w.normal(r, width) for n, r in enumerate(rows)})
    for i, (n, width, first, count) in enumerate(((1, 2, 0, 1), (7, 33, 2, 3), (40, 5, 39, 1))):
        w.write("slice", i, {"first": first, "count": count}, {"x": w.normal(n, width)})


OPERATORS = {
    f.__name__: f
    for f in (add, multiply, gate, concat, scale_heads, conv1d, depthwise_conv1d, length_sigmoid,
              relative_spectrum, ragged_cross_entropy, additive_attention, max_attention, sru,
              matmul, cross_entropy, mix_levels, stack, sub, scale_by, sigmoid, mean, mse)
}
OPERATORS.update(slice=slice_rows, sum=sum_all)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    w = Writer(sys.argv[1])
    for part in (write_elementwise, write_along_rows, write_attention, write_products,
                 write_lists, write_arithmetic):
        part(w)
    print(f"{w.count} cases in {sys.argv[1]}")


if __name__ == "__main__":
    main()
