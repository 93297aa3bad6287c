"""The attention operators in PyTorch's own formulas, for packed sequences of ROWS."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

H, D = 2, 4
ROWS = [3, 0, 5]
SHORT = [2, 1, 3]
DOCUMENTS = torch.tensor([0, 0, 1, 2, 2, 2, 3, 3], dtype=torch.int32)
Torch = Any  # PyTorch need not be installed where types are checked


def pairs(q_rows: list[int], k_rows: list[int]) -> Any:
    q_at = k_at = 0
    for t, s in zip(q_rows, k_rows, strict=True):
        yield slice(q_at, q_at + t), slice(k_at, k_at + s)
        q_at, k_at = q_at + t, k_at + s


def apart(t: int, s: int) -> Torch:
    return torch.arange(t)[:, None] - torch.arange(s)[None]


def attend(
    q: Torch, k: Torch, v: Torch, q_rows: list[int], k_rows: list[int], bias: Any = None
) -> Torch:
    """[N,H,d]; bias(queries, t, s) is added to the scores [H,t,s]."""
    parts = []
    for i, j in pairs(q_rows, k_rows):
        x = torch.einsum("ihd,jhd->hij", q[i], k[j]) / math.sqrt(q.shape[2])
        if bias is not None:
            x = x + bias(i, x.shape[1], x.shape[2])
        parts.append(torch.einsum("hij,jhd->ihd", torch.softmax(x, -1), v[j]))
    return torch.cat(parts)


def band(window: int) -> Any:
    def bias(_: slice, t: int, s: int) -> Torch:
        far = apart(t, s).abs() > window // 2
        return torch.zeros(t, s).masked_fill(far, -math.inf)

    return bias


def band_2d(q: Torch, k: Torch, v: Torch, window: int, area: int) -> Torch:
    """Heads wrap."""
    parts = []
    for i, _ in pairs(ROWS, ROWS):
        turns = range(-(area // 2), area // 2 + 1)
        keys = torch.cat([k[i].roll(-g, 1) for g in turns])
        values = torch.cat([v[i].roll(-g, 1) for g in turns])
        x = torch.einsum("ihd,jhd->hij", q[i], keys) / math.sqrt(q.shape[2])
        t = i.stop - i.start
        p = torch.softmax(x + band(window)(i, t, t).repeat(1, area), -1)
        parts.append(torch.einsum("hij,jhd->ihd", p, values))
    return torch.cat(parts)


def convolved(q: Torch, k: Torch, v: Torch, change: Callable[[Torch], Torch]) -> Torch:
    """change turns a map [H,t,t] into the one that sums values."""
    parts = []
    for i, _ in pairs(ROWS, ROWS):
        x = torch.einsum("ihd,jhd->hij", q[i], k[i]) / math.sqrt(q.shape[2])
        parts.append(torch.einsum("hij,jhd->ihd", change(torch.softmax(x, -1)), v[i]))
    return torch.cat(parts)


def conv_2d(q: Torch, k: Torch, v: Torch, w: Torch, b: Torch) -> Torch:
    def change(p: Torch) -> Torch:
        if not p.shape[1]:
            return p
        pad = (w.shape[1] // 2, w.shape[2] // 2)
        s = nn.functional.conv2d(p[None], w[:, None], b, padding=pad, groups=H)
        return torch.tanh(s[0])

    return convolved(q, k, v, change)


def conv_1d(q: Torch, k: Torch, v: Torch, w: Torch, b: Torch) -> Torch:
    def change(p: Torch) -> Torch:
        t = p.shape[1]
        if not t:
            return p
        padded = nn.functional.pad(p, (0, 0, 1, 1))
        parts = [padded[:, u : u + t] @ w[:, u, :t, :t] for u in range(3)]
        return torch.tanh(b[:, None, :t] + parts[0] + parts[1] + parts[2])

    return convolved(q, k, v, change)


def position(q: Torch, k: Torch, v: Torch, absolute: Torch, relative: Torch) -> Torch:
    def bias(_: slice, t: int, s: int) -> Torch:
        middle = relative.shape[1] // 2
        return absolute[:, :t, :s] + relative[:, apart(t, s) + middle]

    return attend(q, k, v, ROWS, ROWS, bias)


def relative(q: Torch, k: Torch, v: Torch, rel_k: Torch, rel_v: Torch) -> Torch:
    parts, reach = [], rel_k.shape[-2] // 2
    rel_k, rel_v = (x.expand(q.shape[1], *x.shape[-2:]) for x in (rel_k, rel_v))
    for i, _ in pairs(ROWS, ROWS):
        t = i.stop - i.start
        c = (-apart(t, t)).clamp(-reach, reach) + reach
        x = torch.einsum("ihd,jhd->hij", q[i], k[i])
        x = x + torch.einsum("ihd,hijd->hij", q[i], rel_k[:, c])
        p = torch.softmax(x / math.sqrt(q.shape[2]), -1)
        o = torch.einsum("hij,jhd->ihd", p, v[i])
        parts.append(o + torch.einsum("hij,hijd->ihd", p, rel_v[:, c]))
    return torch.cat(parts)


def gaussian(q: Torch, k: Torch, v: Torch, center: Torch, sigma: Torch) -> Torch:
    def bias(i: slice, t: int, s: int) -> Torch:
        away = torch.arange(s)[None, None] - center[i].T[:, :, None]
        return -(away**2) / (2 * sigma[i].T[:, :, None] ** 2)

    return attend(q, k, v, ROWS, ROWS, bias)


def alibi(q: Torch, k: Torch, v: Torch, slope: Torch) -> Torch:
    """Keys of other documents are hidden, and so are those that are far."""

    def bias(i: slice, t: int, s: int) -> Torch:
        far = apart(t, s).abs()
        hidden = (far > 3) | (DOCUMENTS[i][:, None] != DOCUMENTS[i][None])
        return (-slope[:, None, None] * far).masked_fill(hidden, -math.inf)

    return attend(q, k, v, ROWS, ROWS, bias)


def waves(q: Torch, k: Torch, v: Torch, amp: Torch, freq: Torch) -> Torch:
    def bias(i: slice, t: int, s: int) -> Torch:
        return amp[:, None, None] * torch.cos(freq[:, None, None] * apart(t, s))

    return attend(q, k, v, ROWS, ROWS, bias)


def capped(q: Torch, k: Torch, v: Torch, gate: Torch) -> Torch:
    parts = []
    for i, j in pairs([2, 0, 4], ROWS):
        x = torch.einsum("ihd,jhd->hij", q[i], k[j]) / math.sqrt(D)
        w = torch.softmax(2 * torch.tanh(x / 2), -1) * gate[:, None, None]
        parts.append(torch.einsum("hij,jhd->ihd", w, v[j]))
    return torch.cat(parts)


def levels(q: Torch, k: Torch, c: Torch, q_rows: list[int], k_rows: list[int]) -> Torch:
    out = []
    for i, j in pairs(q_rows, k_rows):
        x, sums = q[i], 0
        for weight in torch.softmax(c, 0):
            x = torch.softmax(x @ k[j].T / math.sqrt(q.shape[1]), -1) @ k[j]
            sums = sums + weight * x
        out.append(sums)
    return torch.cat(out)


def on_itself(x: Torch, c: Torch) -> Torch:
    out = []
    for i, _ in pairs(ROWS, ROWS):
        m, sums = x[i], 0
        for weight in torch.softmax(c, 0):
            m = torch.softmax(m @ m.T / math.sqrt(x.shape[1]), -1) @ m
            sums = sums + weight * m
        out.append(sums)
    return torch.cat(out)


def additive(m: Torch, q: Torch, v: Torch, values: Torch) -> Torch:
    out = []
    for i, j in pairs(SHORT, SHORT):
        s = torch.tanh(m[j][None] + q[i][:, None]) @ v
        out.append(torch.softmax(s, -1) @ values[j])
    return torch.cat(out)


def best(q: Torch, k: Torch) -> Torch:
    rows = pairs(SHORT, SHORT)
    return torch.stack(
        [torch.softmax((q[i] @ k[j].T).max(1).values, 0) @ q[i] for i, j in rows]
    )


def gates(q: Torch, k: Torch, v: Torch) -> Torch:
    """By threshold: constants of the gradient."""
    rows = pairs(SHORT, SHORT)
    return torch.cat([(q[i] @ k[j].T >= 0).to(v.dtype) @ v[j] for i, j in rows])


def masked(x: Torch) -> Torch:
    hidden = torch.ones(x.shape[2:], dtype=torch.bool).triu(1)
    return torch.softmax(x.masked_fill(hidden, -math.inf), -1)


def scaled(q: Torch, k: Torch, v: Torch, bias: Torch) -> Torch:
    """Two heads of q for each of k and v."""
    k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    return torch.softmax(0.3 * q @ k.transpose(2, 3) + bias, -1) @ v
