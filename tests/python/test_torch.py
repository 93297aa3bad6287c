"""The attention operators in PyTorch, against PyTorch's own formulas.

The formulas run in float64. Ours are float32: see test_ops.py for the bar.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import clattn
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import clattn.torch as ours  # noqa: E402
from torch import nn  # noqa: E402

BAR = 1e-4
H, D = 2, 4
ROWS = [3, 0, 5]
SHORT = [2, 1, 3]
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
    parts, reach = [], rel_k.shape[0] // 2
    for i, _ in pairs(ROWS, ROWS):
        t = i.stop - i.start
        c = (-apart(t, t)).clamp(-reach, reach) + reach
        x = torch.einsum("ihd,jhd->hij", q[i], k[i])
        x = x + torch.einsum("ihd,ijd->hij", q[i], rel_k[c])
        p = torch.softmax(x / math.sqrt(q.shape[2]), -1)
        o = torch.einsum("hij,jhd->ihd", p, v[i])
        parts.append(o + torch.einsum("hij,ijd->ihd", p, rel_v[c]))
    return torch.cat(parts)


def gaussian(q: Torch, k: Torch, v: Torch, center: Torch, sigma: Torch) -> Torch:
    def bias(i: slice, t: int, s: int) -> Torch:
        away = torch.arange(s)[None, None] - center[i].T[:, :, None]
        return -(away**2) / (2 * sigma[i].T[:, :, None] ** 2)

    return attend(q, k, v, ROWS, ROWS, bias)


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


N, M = sum(ROWS), sum(SHORT)
QKV = [(N, H, D)] * 3
TANH = clattn.Activation.TANH
AUTO = clattn.ConvMethod.AUTO
WRAP = clattn.Edge.WRAP
# name, shapes of the inputs, ours, PyTorch's
CASES: list[tuple[str, list[Any], Callable[..., Torch], Callable[..., Torch]]] = [
    (
        "attention",
        [(M, H, D), (N, H, D), (N, H, D)],
        lambda q, k, v: ours.attention(q, k, v, [2, 0, 4], ROWS),
        lambda q, k, v: attend(q, k, v, [2, 0, 4], ROWS),
    ),
    (
        "band_attention",
        QKV,
        lambda q, k, v: ours.band_attention(q, k, v, ROWS, 3),
        lambda q, k, v: attend(q, k, v, ROWS, ROWS, band(3)),
    ),
    (
        "band_attention_2d",
        [(N, 3, D)] * 3,
        lambda q, k, v: ours.band_attention_2d(q, k, v, ROWS, 3, 3, WRAP),
        lambda q, k, v: band_2d(q, k, v, 3, 3),
    ),
    (
        "conv_attention_2d",
        [*QKV, (H, 3, 5), (H,)],
        lambda q, k, v, w, b: ours.conv_attention_2d(q, k, v, w, b, ROWS, TANH, AUTO),
        conv_2d,
    ),
    (
        "conv_attention_1d",
        [*QKV, (H, 3, 6, 6), (H, 6)],
        lambda q, k, v, w, b: ours.conv_attention_1d(q, k, v, w, b, ROWS, TANH),
        conv_1d,
    ),
    (
        "position_attention",
        [*QKV, (H, 6, 6), (H, 12)],
        lambda q, k, v, a, r: ours.position_attention(q, k, v, a, r, ROWS),
        position,
    ),
    (
        "relative_attention",
        [*QKV, (5, D), (5, D)],
        lambda q, k, v, a, b: ours.relative_attention(q, k, v, a, b, ROWS, ROWS),
        relative,
    ),
    (
        "gaussian_attention",
        [*QKV, (N, H), (N, H)],
        lambda q, k, v, c, s: ours.gaussian_attention(
            q, k, v, c, s.exp() + 1, math.inf, ROWS
        ),
        lambda q, k, v, c, s: gaussian(q, k, v, c, s.exp() + 1),
    ),
    (
        "ham_v",
        [(M, D), (N, D), (3,)],
        lambda q, k, c: ours.ham_v(q, k, c, [2, 0, 4], ROWS),
        lambda q, k, c: levels(q, k, c, [2, 0, 4], ROWS),
    ),
    ("ham_s", [(N, D), (3,)], lambda x, c: ours.ham_s(x, c, ROWS), on_itself),
    (
        "additive_attention",
        [(M, 5), (M, 5), (5,), (M, D)],
        lambda m, q, v, x: ours.additive_attention(m, q, v, x, SHORT, SHORT),
        additive,
    ),
    (
        "max_attention",
        [(M, D), (M, D)],
        lambda q, k: ours.max_attention(q, k, SHORT, SHORT),
        best,
    ),
    (
        "hard_attention",
        [(M, D), (M, D), (M, D)],
        lambda q, k, v: ours.hard_attention(q, k, v, SHORT, SHORT),
        gates,
    ),
    (
        "masked_softmax",
        [(2, H, 4, 4)],
        lambda x: ours.masked_softmax(x, None, None, True),
        masked,
    ),
]


@pytest.fixture(autouse=True)
def device(runtime: clattn.Runtime) -> Any:
    ours.use(runtime)
    yield
    ours.use(None)


def test_every_operator_has_a_case() -> None:
    assert {case[0] for case in CASES} | {"use"} == set(ours.__all__)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_like_the_formula(case: Any, rng: np.random.Generator) -> None:
    _, shapes, layer, formula = case
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    single = [torch.from_numpy(a).requires_grad_() for a in arrays]
    double = [torch.from_numpy(a.astype(float)).requires_grad_() for a in arrays]
    got, want = layer(*single), formula(*double)
    assert got.dtype == torch.float32
    torch.testing.assert_close(got.double(), want, rtol=BAR, atol=BAR)
    dy = torch.from_numpy(rng.normal(size=want.shape).astype(np.float32))
    got.backward(dy)
    want.backward(dy.double())
    for ours_, theirs in zip(single, double, strict=True):
        expected = torch.zeros_like(theirs) if theirs.grad is None else theirs.grad
        torch.testing.assert_close(ours_.grad.double(), expected, rtol=BAR, atol=BAR)


@pytest.mark.filterwarnings("ignore:Input #")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_gradcheck(case: Any, rng: np.random.Generator) -> None:
    """Float32: a step of 1e-2 has an error near 1e-4 of its own and one of eps / 1e-2,
    1e-5, from rounding; the fast mode compares random directions."""
    name, shapes, layer, _ = case
    if name == "hard_attention":
        pytest.skip("its gates are steps, and constants of its gradient")
    values = [
        torch.from_numpy(rng.normal(size=s).astype(np.float32)).requires_grad_()
        for s in shapes
    ]
    assert torch.autograd.gradcheck(
        layer, values, eps=1e-2, atol=2e-2, rtol=2e-2, fast_mode=True
    )


def test_a_kept_graph_goes_back_twice(rng: np.random.Generator) -> None:
    x = torch.from_numpy(rng.normal(size=(N, H, D)).astype(np.float32)).requires_grad_()
    loss = ours.band_attention(x, x, x, ROWS, 3, dropout=0.3).square().sum()
    (once,) = torch.autograd.grad(loss, x, retain_graph=True)
    (twice,) = torch.autograd.grad(loss, x)
    assert torch.equal(once, twice)


def test_dropout_follows_the_seed_of_torch() -> None:
    x = torch.ones(N, H, D)

    def drawn(seed: int) -> Torch:
        torch.manual_seed(seed)
        return ours.attention(x, x, x, ROWS, ROWS, dropout=0.5)

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))


def test_arrays_that_are_not_contiguous(rng: np.random.Generator) -> None:
    wide = torch.from_numpy(rng.normal(size=(H, N, D)).astype(np.float32))
    x = wide.transpose(0, 1)
    packed = x.contiguous()
    assert torch.equal(
        ours.band_attention(x, x, x, ROWS, 3),
        ours.band_attention(packed, packed, packed, ROWS, 3),
    )


def test_wrong_tensors() -> None:
    x = torch.ones(N, H, D)
    with pytest.raises(clattn.DtypeError, match="float64"):
        ours.attention(x.double(), x, x, ROWS, ROWS)
    with pytest.raises(clattn.ShapeError, match="attention"):
        ours.attention(x[1:], x, x, ROWS, ROWS)
    with pytest.raises(clattn.DtypeError, match="ndarray"):
        ours.attention(x.numpy(), x, x, ROWS, ROWS)


class Tagger(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """Embedding, one layer of band attention, classes."""

    def __init__(self, attention: Callable[..., Torch]) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        self.project = nn.Linear(32, 96)
        self.classes = nn.Linear(32, 9)
        self.attention = attention

    def forward(self, words: Torch, rows: list[int]) -> Torch:
        x = self.embed(words)
        q, k, v = self.project(x).view(-1, 3, 4, 8).unbind(1)
        return self.classes(x + self.attention(q, k, v, rows).reshape(x.shape))


def test_a_layer_of_a_tagger_swapped() -> None:
    """The same losses. The time of a step is printed (pytest -rP)."""
    rows = [12, 7, 20, 9] * 8
    losses: list[list[float]] = []
    seconds = []
    for attention in (
        lambda q, k, v, rows: ours.band_attention(q, k, v, rows, 5),
        lambda q, k, v, rows: attend(q, k, v, rows, rows, band(5)),
    ):
        torch.manual_seed(1)
        tagger = Tagger(attention)
        words = torch.randint(50, (sum(rows),))
        tags = words % 9
        steps = torch.optim.Adam(tagger.parameters(), lr=0.01)
        losses.append([])
        for _ in range(10):
            start = time.perf_counter()
            loss = nn.functional.cross_entropy(tagger(words, rows), tags)
            steps.zero_grad()
            loss.backward()
            steps.step()
            losses[-1].append(loss.item())
            last = time.perf_counter() - start
        seconds.append(last)
    assert losses[0][-1] < losses[0][0]
    np.testing.assert_allclose(losses[0], losses[1], rtol=0, atol=1e-5)
    print(f"a step: {seconds[0] * 1e3:.1f} ms, PyTorch {seconds[1] * 1e3:.1f} ms")
