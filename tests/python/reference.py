"""The operators in NumPy, in the precision of their arguments: their definition.

Arrays are packed as in include/clattn; lengths are those of the sequences.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Lengths = Sequence[int]


def spans(lengths: Lengths) -> Iterator[slice]:
    at = 0
    for length in lengths:
        yield slice(at, at + length)
        at += length


def pairs(q_len: Lengths, k_len: Lengths) -> Iterator[tuple[slice, slice]]:
    return zip(spans(q_len), spans(k_len), strict=True)


def softmax(x: Array) -> Array:
    """Over the last axis; a row of -inf alone gives zeros."""
    top = np.max(x, axis=-1, keepdims=True, initial=-np.inf)
    e = np.exp(x - np.where(np.isfinite(top), top, 0))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total > 0, total, 1)


def log_softmax(x: Array) -> Array:
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def activate(x: Array, kind: int) -> Array:
    return [x, np.maximum(x, 0), np.tanh(x)][kind]


# ---- attention ---------------------------------------------------------------------

Bias = Callable[[slice, int, int, int], Array]


def nothing(rows: slice, h: int, t: int, s: int) -> Array:
    return np.zeros((t, s))


def attention(
    q: Array,
    k: Array,
    v: Array,
    q_len: Lengths,
    k_len: Lengths,
    causal: bool = False,
    bias: Bias = nothing,
) -> Array:
    """bias is added to the scores of a sequence and head; -inf hides."""
    o = np.zeros_like(q)
    for i, j in pairs(q_len, k_len):
        t, s = i.stop - i.start, j.stop - j.start
        late = np.arange(s)[None] > np.arange(t)[:, None] + s - t
        for h in range(q.shape[1]):
            x = q[i, h] @ k[j, h].T / np.sqrt(q.shape[2]) + bias(i, h, t, s)
            o[i, h] = softmax(np.where(late & causal, -np.inf, x)) @ v[j, h]
    return o


class Place(NamedTuple):
    """What expressions of custom_attention read beside a score."""

    i: Array  # [T,1]
    j: Array  # [1,S]
    h: int
    b: int
    ni: Array  # [T,1]
    nj: Array  # [1,S]


def custom_attention(
    q: Array,
    k: Array,
    v: Array,
    q_len: Lengths,
    k_len: Lengths,
    score: Callable[[Array, Place], Array] = lambda s, at: s,
    mask: Callable[[Array, Place], Array] = lambda s, at: np.array(True),
    weight: Callable[[Array, Place], Array] = lambda w, at: w,
) -> Array:
    o = np.zeros_like(q)
    for b, (i, j) in enumerate(pairs(q_len, k_len)):
        rows, columns = np.arange(i.start, i.stop), np.arange(j.start, j.stop)
        ni, nj = rows[:, None], columns[None]
        for h in range(q.shape[1]):
            at = Place(ni - i.start, nj - j.start, h, b, ni, nj)
            s = q[i, h] @ k[j, h].T / np.sqrt(q.shape[2])
            p = softmax(np.where(mask(s, at), score(s, at), -np.inf))
            o[i, h] = weight(p, at) @ v[j, h]
    return o


def band(window: int) -> Bias:
    def bias(rows: slice, h: int, t: int, s: int) -> Array:
        far = np.abs(np.arange(t)[:, None] - np.arange(s)[None]) > window // 2
        return np.where(far, -np.inf, 0)

    return bias


def band_attention_2d(
    q: Array, k: Array, v: Array, lengths: Lengths, window: int, area: int
) -> Array:
    """Truncated edges."""
    o, heads = np.zeros_like(q), q.shape[1]
    for i in spans(lengths):
        t = i.stop - i.start
        mask = band(window)(i, 0, t, t)
        for h in range(heads):
            near = range(max(0, h - area // 2), min(heads, h + area // 2 + 1))
            x = [q[i, h] @ k[i, g].T / np.sqrt(q.shape[2]) + mask for g in near]
            p = softmax(np.concatenate(x, axis=1))
            o[i, h] = p @ np.concatenate([v[i, g] for g in near])
    return o


def maps(q: Array, k: Array, rows: slice, h: int) -> Array:
    return softmax(q[rows, h] @ k[rows, h].T / np.sqrt(q.shape[2]))


def conv_attention_2d(
    q: Array, k: Array, v: Array, w: Array, b: Array, lengths: Lengths, act: int
) -> Array:
    o, (heads, kh, kw) = np.zeros_like(q), w.shape
    for i in spans(lengths):
        t = i.stop - i.start
        for h in range(heads):
            p = np.pad(maps(q, k, i, h), ((kh // 2,) * 2, (kw // 2,) * 2))
            s = b[h] + sum(
                w[h, u, x] * p[u : u + t, x : x + t]
                for u in range(kh)
                for x in range(kw)
            )
            o[i, h] = activate(s, act) @ v[i, h]
    return o


def conv_attention_1d(
    q: Array, k: Array, v: Array, w: Array, b: Array, lengths: Lengths, act: int
) -> Array:
    o = np.zeros_like(q)
    for i in spans(lengths):
        t = i.stop - i.start
        for h in range(q.shape[1]):
            p = np.pad(maps(q, k, i, h), ((1, 1), (0, 0)))
            s = b[h, :t] + sum(p[u : u + t] @ w[h, u, :t, :t] for u in range(3))
            o[i, h] = activate(s, act) @ v[i, h]
    return o


def positions(absolute: Array, relative: Array) -> Bias:
    middle = relative.shape[1] // 2

    def bias(rows: slice, h: int, t: int, s: int) -> Array:
        apart = np.arange(t)[:, None] - np.arange(s)[None] + middle
        return absolute[h, :t, :s] + relative[h][apart]

    return bias


def relative_attention(
    q: Array, k: Array, v: Array, rel_k: Array, rel_v: Array, lengths: Lengths
) -> Array:
    o, reach = np.zeros_like(q), rel_k.shape[-2] // 2
    each = (q.shape[1], *rel_k.shape[-2:])
    rel_k, rel_v = np.broadcast_to(rel_k, each), np.broadcast_to(rel_v, each)
    for i in spans(lengths):
        n = np.arange(i.stop - i.start)
        c = np.clip(n[None] - n[:, None], -reach, reach) + reach
        for h in range(q.shape[1]):
            keys = k[i, h][None] + rel_k[h][c]
            p = softmax(np.einsum("id,ijd->ij", q[i, h], keys) / np.sqrt(q.shape[2]))
            o[i, h] = np.einsum("ij,ijd->id", p, v[i, h][None] + rel_v[h][c])
    return o


def gaussian(center: Array, sigma: Array) -> Bias:
    def bias(rows: slice, h: int, t: int, s: int) -> Array:
        away = np.arange(s)[None] - center[rows, h][:, None]
        return -(away**2) / (2 * sigma[rows, h][:, None] ** 2)

    return bias


def length_sigmoid(
    x: Array, lengths: Lengths, slope: float, shift: float, base: float
) -> Array:
    length = np.repeat(lengths, lengths)[:, None]
    return (slope * length + shift) * sigmoid(x) + base


def mix(levels: Sequence[Array], c: Array) -> Array:
    return np.tensordot(softmax(c), np.stack(levels), 1)


def ham_v(q: Array, k: Array, c: Array, q_len: Lengths, k_len: Lengths) -> Array:
    out = np.zeros_like(q)
    for i, j in pairs(q_len, k_len):
        levels, x = [], q[i]
        for _ in c:
            x = softmax(x @ k[j].T / np.sqrt(q.shape[1])) @ k[j]
            levels.append(x)
        out[i] = mix(levels, c)
    return out


def ham_s(x: Array, c: Array, lengths: Lengths) -> Array:
    out = np.zeros_like(x)
    for i in spans(lengths):
        levels, m = [], x[i]
        for _ in c:
            m = softmax(m @ m.T / np.sqrt(x.shape[1])) @ m
            levels.append(m)
        out[i] = mix(levels, c)
    return out


def additive_attention(
    m: Array, q: Array, v: Array, values: Array, q_len: Lengths, k_len: Lengths
) -> Array:
    out = np.zeros((q.shape[0], values.shape[1]))
    for i, j in pairs(q_len, k_len):
        out[i] = softmax(np.tanh(m[j][None] + q[i][:, None]) @ v) @ values[j]
    return out


def max_attention(q: Array, k: Array, q_len: Lengths, k_len: Lengths) -> Array:
    rows = []
    for i, j in pairs(q_len, k_len):
        best = (q[i] @ k[j].T).max(axis=1, initial=-np.inf)
        rows.append(softmax(best) @ q[i])
    return np.stack(rows)


def hard_attention(
    q: Array, k: Array, v: Array, q_len: Lengths, k_len: Lengths
) -> Array:
    """Gates by threshold."""
    out = np.zeros_like(q)
    for i, j in pairs(q_len, k_len):
        out[i] = (q[i] @ k[j].T >= 0) @ v[j]
    return out


def reinforce(
    scores: Array,
    gates: Array,
    rewards: Array,
    q_len: Lengths,
    k_len: Lengths,
    entropy: float,
) -> Array:
    loss, at = 0.0, 0
    for rows, keys in zip(spans(q_len), k_len, strict=True):
        returns = np.cumsum(rewards[rows][::-1])[::-1]
        t = rows.stop - rows.start
        s, g = (x[at : at + t * keys].reshape(t, keys) for x in (scores, gates))
        p, at = sigmoid(s), at + t * keys
        taken = (g * np.log(p) + (1 - g) * np.log(1 - p)).sum(axis=1)
        spread = -(p * np.log(p) + (1 - p) * np.log(1 - p)).sum(axis=1)
        loss += (returns * taken + entropy * spread).sum()
    return np.array([-loss / len(rewards)])


# ---- layers ------------------------------------------------------------------------


def masked_softmax(x: Array, q_len: Array, k_len: Array, causal: bool) -> Array:
    y, (batch, _, t, s) = np.zeros_like(x), x.shape
    keys = np.arange(s)
    for b in range(batch):
        for row in range(min(t, q_len[b])):
            hidden = (keys >= k_len[b]) | (causal & (keys > row + s - t))
            y[b, :, row] = softmax(np.where(hidden, -np.inf, x[b, :, row]))
    return y


def gelu_tanh(x: Array) -> Array:
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


def gelu(x: Array) -> Array:
    below = np.array([math.erf(v / 2**0.5) for v in x.ravel()]).reshape(x.shape)
    return x * (1 + below) / 2


def layer_norm(x: Array, gamma: Array, beta: Array, eps: float) -> Array:
    apart = x - x.mean(axis=1, keepdims=True)
    return apart / np.sqrt((apart**2).mean(axis=1, keepdims=True) + eps) * gamma + beta


def angles(places: int, r: int) -> Array:
    """The table of rotary: r cosines, then r sines."""
    angle = np.arange(places)[:, None] / 3.0 ** np.arange(r)
    return np.concatenate([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)


def rotary(x: Array, table: Array, positions: Array, turned: int) -> Array:
    y, r = x.copy(), table.shape[1] // 2
    for n, p in enumerate(positions):
        if 0 <= p < len(table):
            c, s = table[p, :r], table[p, r:]
            a, b = x[n, :turned, :r], x[n, :turned, r : 2 * r]
            y[n, :turned, :r] = a * c - b * s
            y[n, :turned, r : 2 * r] = b * c + a * s
    return y


def cross_entropy(
    logits: Array, targets: Array, smoothing: float, factor: Array | None = None
) -> Array:
    kept = np.flatnonzero((targets >= 0) & (targets < logits.shape[1]))
    q = np.full((len(kept), logits.shape[1]), smoothing / (logits.shape[1] - 1))
    q[np.arange(len(kept)), targets[kept]] = 1 - smoothing
    rows = -(q * log_softmax(logits[kept])).sum(axis=1)
    return np.array([(rows * (1 if factor is None else factor[kept])).mean()])


def ragged_cross_entropy(x: Array, targets: Array, lengths: Lengths) -> Array:
    losses = [
        -log_softmax(x[rows])[target]
        for rows, target in zip(spans(lengths), targets, strict=True)
        if 0 <= target < rows.stop - rows.start
    ]
    return np.array([np.mean(losses)])


def windows(x: Array, width: int, lengths: Lengths) -> Array:
    """[N,K,C]: the rows around each row, zeros outside its sequence."""
    around = np.zeros((x.shape[0], width, x.shape[1]), x.dtype)
    for rows in spans(lengths):
        t = rows.stop - rows.start
        padded = np.pad(x[rows], ((width // 2, width // 2), (0, 0)))
        for u in range(width):
            around[rows, u] = padded[u : u + t]
    return around


def conv1d(x: Array, w: Array, b: Array, lengths: Lengths, act: int) -> Array:
    y = np.einsum("nkc,kco->no", windows(x, w.shape[0], lengths), w)
    return activate(y + b, act)


def depthwise_conv1d(x: Array, w: Array, lengths: Lengths) -> Array:
    return np.einsum("nkc,kc->nc", windows(x, w.shape[0], lengths), w)


def char_cnn(x: Array, w: Array, b: Array, lengths: Lengths) -> Array:
    y = conv1d(x, w, b, lengths, 1)
    return np.stack([y[rows].max(axis=0, initial=0) for rows in spans(lengths)])


def relative_spectrum(spectrum: Array) -> Array:
    n = spectrum.shape[1]
    apart = np.abs(np.arange(n) - n // 2)
    table = spectrum @ np.cos(2 * np.pi * np.outer(np.arange(n), apart) / n) / n
    table[:, 0] = 0
    return table


# ---- cells -------------------------------------------------------------------------


def lstm(x: Array, w: Array, b: Array, lengths: Lengths) -> Array:
    n = w.shape[1] // 4
    y = np.zeros((x.shape[0], n))
    for rows in spans(lengths):
        h = c = np.zeros(n)
        for t in range(rows.start, rows.stop):
            i, g, f, o = np.split(np.concatenate([x[t], h]) @ w + b, 4)
            c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(g)
            y[t] = h = sigmoid(o) * np.tanh(c)
    return y


def gru(
    x: Array, w_g: Array, b_g: Array, w_c: Array, b_c: Array, lengths: Lengths
) -> Array:
    n = w_c.shape[1]
    y = np.zeros((x.shape[0], n))
    for rows in spans(lengths):
        h = np.zeros(n)
        for t in range(rows.start, rows.stop):
            r, u = np.split(sigmoid(np.concatenate([x[t], h]) @ w_g + b_g), 2)
            new = np.tanh(np.concatenate([x[t], r * h]) @ w_c + b_c)
            y[t] = h = u * h + (1 - u) * new
    return y


def sru(x: Array, w: Array, w_g: Array, b_g: Array, lengths: Lengths) -> Array:
    y = np.zeros((x.shape[0], w.shape[1]))
    for rows in spans(lengths):
        c = np.zeros(w.shape[1])
        for t in range(rows.start, rows.stop):
            f, r = np.split(sigmoid(x[t] @ w_g + b_g), 2)
            z = x[t] @ w
            c = np.tanh(f * c + (1 - f) * z)
            y[t] = r * c + (1 - r) * z
    return y
