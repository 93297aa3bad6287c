#!/usr/bin/env python3
"""golden.py - golden cases of any shape, by a second hand: NumPy, float64, gradients worked
out on paper. Needs python3-numpy.

    tests/data/makers/golden.py check PATH...    recompute the cases in these files, compare
    tests/data/makers/golden.py write FOLDER     write cases of shapes that the shipped ones lack
                                     (clattn verify FOLDER runs them)

The equations are those of include/clattn/ops.h; the file format and the limits those of
tests/data/golden/README.md.
"""
import json
import math
import os
import struct
import sys

import numpy as np

# ---- files ----------------------------------------------------------------------------------


def read_case(path):
    """The attributes and tensors of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    attributes = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        dtype = {"F32": "<f4", "I32": "<i4"}[entry["dtype"]]
        values = np.frombuffer(data[8 + size + first : 8 + size + last], dtype)
        tensors[name] = values.reshape(entry["shape"])
    return attributes, tensors


def write_case(path, attributes, tensors):
    header, body = {"__metadata__": attributes}, b""
    for name, values in tensors.items():
        whole = values.dtype.kind == "i"
        raw = values.astype("<i4" if whole else "<f4").tobytes()
        header[name] = {
            "dtype": "I32" if whole else "F32",
            "shape": list(values.shape),
            "data_offsets": [len(body), len(body) + len(raw)],
        }
        body += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


# ---- what the operators are made of -----------------------------------------------------------


def softmax(scores, visible):
    """Over the last axis; a row without a visible key is all zeros."""
    largest = np.max(np.where(visible, scores, -np.inf), axis=-1, initial=-np.inf, keepdims=True)
    shifted = np.where(visible, scores - np.where(np.isfinite(largest), largest, 0), -np.inf)
    weights = np.exp(shifted)
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total)


def softmax_back(p, dp):
    return p * (dp - (p * dp).sum(axis=-1, keepdims=True))


def sequences(offsets):
    return [slice(a, b) for a, b in zip(offsets[:-1], offsets[1:])]


def visible_keys(queries, keys, causal=False, window=None):
    i, j = np.arange(queries)[:, None], np.arange(keys)[None, :]
    visible = np.ones((queries, keys), bool)
    if causal:
        visible &= j <= i + keys - queries
    if window is not None:
        visible &= abs(i - j) <= window // 2
    return visible


def activate(x, kind):
    """act(x) and its derivative."""
    if kind == "relu":
        return np.maximum(x, 0), (x > 0).astype(float)
    if kind == "tanh":
        return np.tanh(x), 1 - np.tanh(x) ** 2
    return x, np.ones_like(x)


# ---- the operators: inputs and grad_out to outputs and gradients -------------------------------


def masked_softmax(a, t):
    x, dy = t["in.x"], t["grad_out.y"]
    batch, _, queries, keys = x.shape
    visible = np.zeros(x.shape, bool)
    for b in range(batch):
        rows, columns = t["in.q_len"][b], t["in.k_len"][b]
        visible[b, :, :rows, :columns] = visible_keys(queries, keys, a["causal"] == "1")[
            :rows, :columns
        ]
    y = softmax(x, visible)
    return {"out.y": y, "grad.x": softmax_back(y, dy)}


def attend(t, q_offsets, k_offsets, heads_of, mask):
    """Attention of head h over the (key head, value head) pairs heads_of(h, H)."""
    q, k, v, do = (t[n] for n in ("in.q", "in.k", "in.v", "grad_out.o"))
    o, dq, dk, dv = np.zeros_like(q), np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    heads, width = q.shape[1:]
    scale = 1 / np.sqrt(width)
    for rows, columns in zip(sequences(q_offsets), sequences(k_offsets)):
        n, m = rows.stop - rows.start, columns.stop - columns.start
        for h in range(heads):
            pairs = heads_of(h, heads)
            keys = np.concatenate([k[columns, g] for g, _ in pairs])
            values = np.concatenate([v[columns, g] for _, g in pairs])
            p = softmax(q[rows, h] @ keys.T * scale, np.tile(mask(n, m), (1, len(pairs))))
            o[rows, h] = p @ values
            ds = softmax_back(p, do[rows, h] @ values.T) * scale
            dq[rows, h] = ds @ keys
            dkeys, dvalues = ds.T @ q[rows, h], p.T @ do[rows, h]
            for i, (g, e) in enumerate(pairs):
                dk[columns, g] += dkeys[i * m : (i + 1) * m]
                dv[columns, e] += dvalues[i * m : (i + 1) * m]
    return {"out.o": o, "grad.q": dq, "grad.k": dk, "grad.v": dv}


def own_head(h, _):
    return [(h, h)]


def attention(a, t):
    return attend(t, t["in.q_offsets"], t["in.k_offsets"], own_head,
                  lambda n, m: visible_keys(n, m, a["causal"] == "1"))


def band_attention(a, t, heads_of=own_head):
    return attend(t, t["in.offsets"], t["in.offsets"], heads_of,
                  lambda n, m: visible_keys(n, m, a["causal"] == "1", int(a["window"])))


def band_attention_2d(a, t):
    reach = int(a["heads"]) // 2

    def area(h, heads):
        around = range(h - reach, h + reach + 1)
        if a["edge"] == "wrap":
            return [(g % heads, g % heads) for g in around]
        if a["edge"] == "author":
            return [(g % heads, min(max(g, 0), heads - 1)) for g in around]
        return [(g, g) for g in around if 0 <= g < heads]

    return band_attention(a, t, area)


def shifted(p, du, dv):
    """p[i + du, j + dv], zeros outside."""
    n = p.shape[0]
    out = np.zeros_like(p)
    i0, i1 = max(0, -du), min(n, n - du)
    j0, j1 = max(0, -dv), min(n, n - dv)
    if i0 < i1 and j0 < j1:
        out[i0:i1, j0:j1] = p[i0 + du : i1 + du, j0 + dv : j1 + dv]
    return out


def conv_attention_2d(a, t):
    q, k, v, w, b, do = (
        t[n] for n in ("in.q", "in.k", "in.v", "param.w", "param.b", "grad_out.o")
    )
    o, dq, dk, dv = (np.zeros_like(q) for _ in range(4))
    dw, db = np.zeros_like(w), np.zeros_like(b)
    heads, width = q.shape[1:]
    scale = 1 / np.sqrt(width)
    taps = [(u, x, u - (w.shape[1] - 1) // 2, x - (w.shape[2] - 1) // 2)
            for u in range(w.shape[1]) for x in range(w.shape[2])]
    for rows in sequences(t["in.offsets"]):
        n = rows.stop - rows.start
        for h in range(heads):
            p = softmax(q[rows, h] @ k[rows, h].T * scale, np.ones((n, n), bool))
            z = b[h] + sum(w[h, u, x] * shifted(p, i, j) for u, x, i, j in taps)
            s, slope = activate(z, a["activation"])
            o[rows, h] = s @ v[rows, h]
            dv[rows, h] = s.T @ do[rows, h]
            dz = (do[rows, h] @ v[rows, h].T) * slope
            db[h] += dz.sum()
            dp = np.zeros_like(p)
            for u, x, i, j in taps:
                dw[h, u, x] += (dz * shifted(p, i, j)).sum()
                dp += w[h, u, x] * shifted(dz, -i, -j)
            ds = softmax_back(p, dp) * scale
            dq[rows, h] = ds @ k[rows, h]
            dk[rows, h] = ds.T @ q[rows, h]
    return {"out.o": o, "grad.q": dq, "grad.k": dk, "grad.v": dv, "grad.w": dw, "grad.b": db}


def linear(a, t):
    x, w, b, dy = t["in.x"], t["param.w"], t["param.b"], t["grad_out.y"]
    y, slope = activate(x @ w + b, a["activation"])
    dz = dy * slope
    return {"out.y": y, "grad.x": dz @ w.T, "grad.w": x.T @ dz, "grad.b": dz.sum(axis=0)}


def tied_linear(a, t):
    x, w, b, dy = t["in.x"], t["param.w"], t["param.b"], t["grad_out.y"]
    return {"out.y": x @ w.T + b, "grad.x": dy @ w, "grad.w": dy.T @ x, "grad.b": dy.sum(axis=0)}


def gelu(a, t):
    x, dy = t["in.x"], t["grad_out.y"]
    below = (1 + np.vectorize(math.erf, [float])(x / np.sqrt(2))) / 2
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    return {"out.y": x * below, "grad.x": dy * (below + x * density)}


def gelu_tanh(a, t):
    x, dy = t["in.x"], t["grad_out.y"]
    u = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    slope = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    below = (1 + np.tanh(u)) / 2
    return {"out.y": x * below,
            "grad.x": dy * (below + x * slope * (1 - np.tanh(u)**2) / 2)}


def silu(a, t):
    x, dy = t["in.x"], t["grad_out.y"]
    s = 1 / (1 + np.exp(-x))
    return {"out.y": x * s, "grad.x": dy * s * (1 + x * (1 - s))}


def layer_norm(a, t):
    x, gamma, beta, dy = t["in.x"], t["param.gamma"], t["param.beta"], t["grad_out.y"]
    spread = np.sqrt(x.var(axis=1, keepdims=True) + float(a["eps"]))
    z = (x - x.mean(axis=1, keepdims=True)) / spread
    dz = dy * gamma
    dx = dz - dz.mean(axis=1, keepdims=True) - z * (dz * z).mean(axis=1, keepdims=True)
    return {"out.y": gamma * z + beta, "grad.x": dx / spread, "grad.gamma": (dy * z).sum(axis=0),
            "grad.beta": dy.sum(axis=0)}


def rms_norm(a, t):
    x, gamma, dy = t["in.x"], t["param.gamma"], t["grad_out.y"]
    root = np.sqrt((x**2).mean(axis=1, keepdims=True) + float(a["eps"]))
    z, dz = x / root, dy * gamma
    return {"out.y": gamma * z, "grad.gamma": (dy * z).sum(axis=0),
            "grad.x": (dz - z * (dz * z).mean(axis=1, keepdims=True)) / root}


def rotary(a, t):
    """Each pair as a complex number times one of the unit circle; back: its conjugate."""
    x, dy, turned = t["in.x"], t["grad_out.y"], int(a["turned"])
    p, r = t["in.positions"], t["in.table"].shape[1] // 2
    at = np.flatnonzero((p >= 0) & (p < len(t["in.table"])))
    row = t["in.table"][p[at]]
    by = (row[:, :r] + 1j * row[:, r:])[:, None]

    def turn(x, by):
        y = x.copy()
        z = (x[at, :turned, :r] + 1j * x[at, :turned, r : 2 * r]) * by
        y[at, :turned, :r], y[at, :turned, r : 2 * r] = z.real, z.imag
        return y

    return {"out.y": turn(x, by), "grad.x": turn(dy, by.conj())}


def embedding(a, t):
    ids, table, dy = t["in.ids"], t["param.table"], t["grad_out.y"]
    dtable = np.zeros_like(table)
    np.add.at(dtable, ids, dy * float(a["scale"]))
    return {"out.y": table[ids] * float(a["scale"]), "grad.table": dtable}


def cross_entropy(a, t):
    x, targets, dloss = t["in.logits"], t["in.targets"], t["grad_out.loss"]
    smoothing, (rows, classes) = float(a["smoothing"]), x.shape
    p = softmax(x, np.ones(x.shape, bool))
    log_p = x - x.max(axis=1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    counted = (targets >= 0)[:, None]
    q = np.full(x.shape, smoothing / max(1, classes - 1))
    q[np.arange(rows), targets] = 1 - smoothing
    count = max(1, counted.sum())
    return {"out.loss": np.array([-(counted * q * log_p).sum() / count]),
            "grad.logits": counted * (p - q) * dloss / count}


def adam(a, t):
    lr, beta1, beta2, eps = (float(a[n]) for n in ("lr", "beta1", "beta2", "eps"))
    p, m, v = t["in.p"], 0, 0
    for step, g in enumerate(t["in.g"], 1):
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
        p = p - lr * (m / (1 - beta1**step)) / (np.sqrt(v / (1 - beta2**step)) + eps)
    return {"out.p": p}


def adamw(a, t):
    lr, decay = float(a["lr"]), float(a["weight_decay"])
    p, m, v = t["in.p"], 0, 0
    beta1, beta2 = float(a["beta1"]), float(a["beta2"])
    for step, g in enumerate(t["in.g"], 1):
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
        root = np.sqrt(v / (1 - beta2**step))
        p = (1 - lr * decay) * p - lr * (m / (1 - beta1**step)) / (root + float(a["eps"]))
    return {"out.p": p}


def lion(a, t):
    lr, beta1, beta2, decay = (float(a[n]) for n in ("lr", "beta1", "beta2", "weight_decay"))
    p, m = t["in.p"], 0
    for g in t["in.g"]:
        p = (1 - lr * decay) * p - lr * np.sign(beta1 * m + (1 - beta1) * g)
        m = beta2 * m + (1 - beta2) * g
    return {"out.p": p}


def rmsprop(a, t):
    lr, rho, eps = (float(a[n]) for n in ("lr", "rho", "eps"))
    p, mean = t["in.p"], 0
    for g in t["in.g"]:
        mean = rho * mean + (1 - rho) * g**2
        p = p - lr * g / (np.sqrt(mean) + eps)
    return {"out.p": p}


OPERATORS = {
    f.__name__: f
    for f in (masked_softmax, attention, band_attention, band_attention_2d, conv_attention_2d,
              linear, tied_linear, gelu, gelu_tanh, silu, layer_norm, rms_norm, rotary, embedding,
              cross_entropy, adam, adamw, lion, rmsprop)
}


def solve(attributes, tensors):
    """Outputs and gradients of a case."""
    wide = {n: v.astype(float) if v.dtype.kind == "f" else v for n, v in tensors.items()}
    return OPERATORS[attributes["op"]](attributes, wide)


# ---- check ------------------------------------------------------------------------------------


def distance(got, want):
    """Largest difference, relative to the larger of 1 and the largest number."""
    if got.shape != want.shape:
        return np.inf
    return np.max(abs(got - want), initial=0) / max(1, np.max(abs(want), initial=0))


def check(paths):
    """Stored numbers are float32: they differ from float64 by half a unit in the last place."""
    files = []
    for path in paths:
        for folder, _, names in os.walk(path):
            files += [os.path.join(folder, n) for n in names if n.endswith(".safetensors")]
        files += [path] if os.path.isfile(path) else []
    worst, count, bad, others = 0, 0, 0, set()
    for path in sorted(files):
        attributes, tensors = read_case(path)
        if attributes["op"] not in OPERATORS:
            others.add(attributes["op"])
            continue
        count += 1
        solved = solve(attributes, tensors)
        stored = {n for n in tensors if n.startswith(("out.", "grad."))}
        off = max(distance(solved[n], tensors[n]) for n in stored)
        if stored != set(solved) or not off < 1e-7:
            print(f"{path}: off by {off:.1e}", stored ^ set(solved) or "")
            bad += 1
        worst = max(worst, off)
    print(f"{count} cases, {bad} differ, largest difference {worst:.1e}")
    if others:
        print("not computed here:", *sorted(others))
    return bad > 0 or count == 0


# ---- write ------------------------------------------------------------------------------------


def offsets(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype("i4")


class Writer:
    def __init__(self, folder):
        self.folder = folder
        self.random = np.random.default_rng(1)
        self.count = 0

    def normal(self, *shape, scale=1.0):
        return (scale * self.random.standard_normal(shape)).astype("f4")

    def write(self, op, name, attributes, tensors, out=None, shape=None):
        """Adds grad_out, solves, and stores what came out in float32."""
        attributes = {"op": op, **{k: str(v) for k, v in attributes.items()}}
        if out:
            tensors = {**tensors, "grad_out." + out: self.normal(*shape)}
        solved = {n: v.astype("f4") for n, v in solve(attributes, tensors).items()}
        path = os.path.join(self.folder, op, f"{op}_{name}.safetensors")
        write_case(path, attributes, {**tensors, **solved})
        self.count += 1

    def qkv(self, lengths, heads, width, key_lengths=None, scale=1.0):
        n, m = sum(lengths), sum(lengths if key_lengths is None else key_lengths)
        return {"in.q": self.normal(n, heads, width, scale=scale),
                "in.k": self.normal(m, heads, width), "in.v": self.normal(m, heads, width)}

    def packed(self, op, name, attributes, lengths, heads, width, more=None, scale=1.0):
        tensors = {**self.qkv(lengths, heads, width, scale=scale),
                   "in.offsets": offsets(lengths), **(more or {})}
        self.write(op, name, attributes, tensors, "o", (sum(lengths), heads, width))


# lengths, heads, width: names say T, H and d
BATCHES = {
    "T97_H16_d40": ([97], 16, 40),
    "T130_H2_d128": ([130], 2, 128),
    "ragged_H3_d40": ([31, 0, 1, 65, 2, 0, 17], 3, 40),
    "empty_first_H2_d8": ([0, 0, 5], 2, 8),
    "ones_H1_d72": ([1, 1, 1], 1, 72),
    "T70_H5_d256": ([70, 3], 5, 256),
}


def write_attention(w):
    pairs = {  # query lengths, key lengths
        "T97_H16_d40": ([97], [97], 16, 40),
        "T130_S97_H2_d128": ([130], [97], 2, 128),
        "T33_S130_H3_d24": ([33], [130], 3, 24),
        "ragged_H3_d40": ([31, 0, 1, 65, 2], [7, 5, 0, 65, 40], 3, 40),
        "one_H16_d64": ([1], [257], 16, 64),
        "T70_H5_d256": ([70, 3], [70, 3], 5, 256),
    }
    for name, (queries, keys, heads, width) in pairs.items():
        for causal in (0, 1):
            tensors = {**w.qkv(queries, heads, width, keys),
                       "in.q_offsets": offsets(queries), "in.k_offsets": offsets(keys)}
            w.write("attention", f"{name}_c{causal}", {"causal": causal}, tensors, "o",
                    (sum(queries), heads, width))


def write_bands(w):
    for name, (lengths, heads, width) in BATCHES.items():
        for window in (1, 21, 65):
            for causal in (0, 1):
                label = f"{name}_w{window}_c{causal}"
                band = {"window": window, "causal": causal}
                w.packed("band_attention", label, band, lengths, heads, width)
        for edge, area in (("truncate", 3), ("wrap", 3), ("truncate", 5), ("author", 3)):
            if edge != "truncate" and area > heads:
                continue
            attributes = {"window": 21, "heads": area, "causal": int(area == 5), "edge": edge}
            w.packed("band_attention_2d", f"{name}_h{area}{edge}", attributes, lengths, heads,
                     width)
    # scores beyond +-200: nothing may overflow
    lengths, heads, width = BATCHES["ragged_H3_d40"]
    w.packed("band_attention", "steep", {"window": 21, "causal": 0}, lengths, heads, width,
             scale=60.0)


def write_conv(w):
    sides = [(3, 3), (5, 5), (1, 7), (9, 1), (3, 3), (7, 7)]
    for (name, (lengths, heads, width)), (kh, kw) in zip(BATCHES.items(), sides):
        for activation in ("none", "relu", "tanh"):
            more = {"param.w": w.normal(heads, kh, kw), "param.b": w.normal(heads, scale=0.3)}
            w.packed("conv_attention_2d", f"{name}_k{kh}x{kw}{activation}",
                     {"activation": activation}, lengths, heads, width, more)


def write_softmax(w):
    shapes = {"T97_S130": (2, 16, 97, 130), "T130_S97": (1, 3, 130, 97), "one": (1, 1, 1, 1),
              "wide": (2, 1, 3, 1025), "tall": (3, 2, 200, 2)}
    for name, (batch, heads, queries, keys) in shapes.items():
        for causal in (0, 1):
            q_len = w.random.integers(0, queries + 1, batch).astype("i4")
            k_len = w.random.integers(0, keys + 1, batch).astype("i4")
            q_len[-1], k_len[-1] = queries, keys
            # steep, but not where a gradient of 1e-10 would be all there is
            scale = 5.0 if keys > 8 else 1.0
            tensors = {"in.x": w.normal(batch, heads, queries, keys, scale=scale),
                       "in.q_len": q_len, "in.k_len": k_len}
            w.write("masked_softmax", f"{name}_c{causal}", {"causal": causal}, tensors, "y",
                    (batch, heads, queries, keys))


def write_linear(w):
    for n, inside, out in ((97, 130, 40), (130, 97, 1), (1, 1, 1), (3, 640, 257), (513, 40, 128)):
        for activation in ("none", "relu", "tanh"):
            tensors = {"in.x": w.normal(n, inside), "param.b": w.normal(out),
                       "param.w": w.normal(inside, out, scale=inside**-0.5)}
            w.write("linear", f"N{n}_{inside}x{out}{activation}", {"activation": activation},
                    tensors, "y", (n, out))


def write_activations(w):
    for n, width in ((2, 3), (97, 130), (1, 1), (5, 1025), (0, 8)):
        for op in ("gelu", "gelu_tanh", "silu"):
            w.write(op, f"{op}_{n}x{width}", {}, {"in.x": w.normal(n, width, scale=3.0)}, "y",
                    (n, width))
    for n, inside, out in ((2, 3, 4), (97, 130, 40), (1, 1, 1), (3, 64, 257), (0, 4, 5)):
        tensors = {"in.x": w.normal(n, inside), "param.b": w.normal(out),
                   "param.w": w.normal(out, inside, scale=inside**-0.5)}
        w.write("tied_linear", f"tied_linear_{n}x{inside}x{out}", {}, tensors, "y", (n, out))


def write_layers(w):
    for n, width in ((97, 130), (1, 1), (5, 1025), (130, 40), (0, 8)):
        tensors = {"in.x": w.normal(n, width, scale=3.0) + 2, "param.gamma": w.normal(width),
                   "param.beta": w.normal(width)}
        w.write("layer_norm", f"N{n}_D{width}", {"eps": 1e-6}, tensors, "y", (n, width))
    for n, width in ((5, 7), (33, 130), (1, 3)):
        tensors = {"in.x": w.normal(n, width, scale=3.0) + 2, "param.gamma": w.normal(width)}
        w.write("rms_norm", f"N{n}_D{width}", {"eps": 1e-6}, tensors, "y", (n, width))
    for n, heads, width, r, turned in ((5, 3, 4, 2, 2), (33, 2, 9, 3, 2)):
        angle = np.arange(n + 2)[:, None] / 3.0 ** np.arange(r)
        tensors = {"in.x": w.normal(n, heads, width),
                   "in.table": np.concatenate([np.cos(angle), np.sin(angle)], 1).astype("f4"),
                   "in.positions": w.random.integers(-1, n + 3, n).astype("i4")}
        w.write("rotary", f"N{n}_H{heads}_d{width}", {"turned": turned}, tensors, "y",
                (n, heads, width))
    for n, rows, width in ((130, 5, 40), (1, 1, 1), (97, 1000, 128), (257, 1, 72)):
        tensors = {"in.ids": w.random.integers(0, rows, n).astype("i4"),
                   "param.table": w.normal(rows, width)}
        w.write("embedding", f"N{n}_V{rows}_D{width}", {"scale": 1.5}, tensors, "y", (n, width))
    for n, classes in ((97, 130), (3, 8193), (130, 2), (1, 40)):
        for smoothing in (0.0, 0.1):
            targets = w.random.integers(-1, classes, n).astype("i4")
            targets[-1] = classes - 1
            tensors = {"in.logits": w.normal(n, classes, scale=4.0), "in.targets": targets}
            w.write("cross_entropy", f"N{n}_V{classes}_s{smoothing}", {"smoothing": smoothing},
                    tensors, "loss", (1,))
    for n, steps in ((1, 1), (130, 7), (4099, 3)):
        tensors = {"in.p": w.normal(n), "in.g": w.normal(steps, n)}
        w.write("adam", f"n{n}_{steps}steps",
                {"lr": 0.01, "beta1": 0.9, "beta2": 0.98, "eps": 1e-9}, tensors)
        w.write("rmsprop", f"n{n}_{steps}steps", {"lr": 0.01, "rho": 0.9, "eps": 1e-7}, tensors)
        w.write("adamw", f"n{n}_{steps}steps", {"lr": 0.01, "beta1": 0.9, "beta2": 0.98,
                                                "eps": 1e-9, "weight_decay": 0.5}, tensors)
        w.write("lion", f"n{n}_{steps}steps",
                {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.5}, tensors)


def write(folder):
    w = Writer(folder)
    for part in (write_softmax, write_attention, write_bands, write_conv, write_linear,
                 write_activations, write_layers):
        part(w)
    print(f"{w.count} cases in {folder}")
    return False


def main():
    if len(sys.argv) >= 3 and sys.argv[1] == "check":
        return check(sys.argv[2:])
    if len(sys.argv) == 3 and sys.argv[1] == "write":
        return write(sys.argv[2])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
