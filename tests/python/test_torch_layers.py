"""SelfAttention of every kind, Levels and HardAttention, against float64."""

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clattn
import pytest

torch = pytest.importorskip("torch")
import formulas as theirs  # noqa: E402
from clattn import nn as layers  # noqa: E402
from clattn._layers import KINDS  # noqa: E402
from formulas import ROWS, SHORT, D, H  # noqa: E402
from test_torch import device  # noqa: E402, F401
from torch import nn  # noqa: E402

Torch = Any
N = sum(ROWS)
BAR = 1e-4
LENGTH = 6


def positions(rows: list[int]) -> Torch:
    return torch.cat([torch.arange(n) for n in rows]).double()[:, None]


def tokens(rows: list[int]) -> Torch:
    return torch.cat([torch.full((n,), n) for n in rows]).double()[:, None]


def plain(way: Any, q: Torch, k: Torch, v: Torch) -> Torch:
    return theirs.attend(q, k, v, ROWS, ROWS)


def banded(way: Any, q: Torch, k: Torch, v: Torch) -> Torch:
    return theirs.attend(q, k, v, ROWS, ROWS, theirs.band(3))


def directed(way: Any, q: Torch, k: Torch, v: Torch) -> Torch:
    def bias(_: slice, t: int, s: int) -> Torch:
        later = theirs.apart(t, s) < 0
        hidden = torch.stack([later, later.T])
        return torch.zeros(2, t, s).masked_fill(hidden, -math.inf)

    return theirs.attend(q, k, v, ROWS, ROWS, bias)


def blocks(way: Any, q: Torch, k: Torch, v: Torch) -> Torch:
    """One sentence and one block after the other."""
    parts = []
    for i, _ in theirs.pairs(ROWS, ROWS):
        sizes = [min(2, i.stop - at) for at in range(i.start, i.stop, 2)]
        if not sizes:
            continue
        o = theirs.attend(q[i], k[i], v[i], sizes, sizes)
        e = way.score(torch.sigmoid(way.hidden(o.flatten(1))))
        g = torch.stack(
            [
                (torch.softmax(s, 0)[..., None] * b).sum(0)
                for s, b in zip(e.split(sizes), o.split(sizes), strict=True)
            ]
        )
        query = way.between(g.flatten(1)).view(g.shape)
        c = theirs.attend(query, g, g, [len(sizes)], [len(sizes)]).flatten(1)
        z = torch.sigmoid(way.gate(torch.cat([g.flatten(1), c], 1)))
        f = z * c + (1 - z) * g.flatten(1)
        parts.append(
            torch.cat([o.flatten(1), f.repeat_interleave(torch.tensor(sizes), 0)], 1)
        )
    return torch.cat(parts)


def widths(way: Any, u: Torch) -> Torch:
    return (tokens(ROWS) * torch.sigmoid(way.spread(u)) + 0.1) / 2


def centers(way: Any, u: Torch) -> Torch:
    return (tokens(ROWS) - 1) * torch.sigmoid(way.center(u))


def neighbor(way: Any, q: Torch, k: Torch, v: Torch) -> Torch:
    """The second head is plain."""
    sigma = torch.cat([way.root**2, torch.tensor([1e9]).double()]).expand(N, H)
    return theirs.gaussian(q, k, v, positions(ROWS).expand(N, H), sigma)


def predicted(way: Any, q: Torch, k: Torch, v: Torch) -> Torch:
    u = torch.tanh(way.predictor(q.flatten(1)))
    return theirs.gaussian(q, k, v, positions(ROWS).expand(N, H), widths(way, u))


def soft(way: Any, q: Torch, k: Torch, v: Torch) -> Torch:
    u = torch.tanh(way.predictor(q.flatten(1)))
    return theirs.gaussian(q, k, v, centers(way, u), widths(way, u))


def hard(way: Any, q: Torch, k: Torch, v: Torch) -> Torch:
    center = centers(way, torch.tanh(way.predictor(q.flatten(1))))

    def bias(i: slice, t: int, s: int) -> Torch:
        away = torch.arange(s)[None, None] - center[i].T[:, :, None]
        return (-(away**2) / (2 * 1.5**2)).masked_fill(away.abs() > 3, -math.inf)

    return theirs.attend(q, k, v, ROWS, ROWS, bias)


def spectral(way: Any, q: Torch, k: Torch, v: Torch) -> Torch:
    """The table is the inverse of a real even Fourier transform, centred."""
    table = torch.fft.ifft(way.spectrum).real.roll(LENGTH, 1)
    return theirs.position(q, k, v, way.absolute, table)


def before(way: Any, q: Torch, k: Torch, v: Torch) -> Torch:
    parts = []
    for i, _ in theirs.pairs(ROWS, ROWS):
        t = i.stop - i.start
        if not t:
            continue
        x = torch.einsum("ihd,jhd->hij", q[i], k[i]) / math.sqrt(D)
        if way.filter.dim() == 3:
            x = nn.functional.conv2d(x[None], way.filter[:, None], padding=1, groups=H)[
                0
            ]
        else:
            padded = nn.functional.pad(x, (0, 0, 1, 1))
            w = way.filter[..., :t, :t]
            x = sum(padded[:, u : u + t] @ w[:, u] for u in range(3))
            x = x + way.bias[:, None, :t]
        parts.append(torch.einsum("hij,jhd->ihd", torch.softmax(x, -1), v[i]))
    return torch.cat(parts)


def alibi(way: Any, q: Torch, k: Torch, v: Torch) -> Torch:
    def bias(_: slice, t: int, s: int) -> Torch:
        far = theirs.apart(t, s).abs()
        return (
            -way.learned["slope"][:, None, None] * far + way.learned["lift"][:t, None]
        )

    return theirs.attend(q, k, v, ROWS, ROWS, bias)


TANH = {"map_activation": "tanh"}
LEARN = {
    "slope": {"shape": ["heads"], "init": "alibi"},
    "lift": {"shape": ["length"], "init": "normal"},
}
CASES: list[tuple[str, dict[str, Any], Callable[..., Torch]]] = [
    ("softmax", {}, plain),
    ("csan1d", {"window": 3}, banded),
    (
        "csan2d",
        {"window": 3, "area": 3, "edge": "wrap"},
        lambda way, q, k, v: theirs.band_2d(q, k, v, 3, 3),
    ),
    ("bi_direct", {}, directed),
    ("block", {"block": 2}, blocks),
    (
        "rel_pos",
        {"clip": 2},
        lambda way, q, k, v: theirs.relative(q, k, v, way.rel_k, way.rel_v),
    ),
    (
        "rel_pos",
        {"clip": 1, "rel_shared": False},
        lambda way, q, k, v: theirs.relative(q, k, v, way.rel_k, way.rel_v),
    ),
    ("neighbor", {"local_heads": 1}, neighbor),
    ("neighbor_predicted", {}, predicted),
    ("local_hard", {"local_width": 3}, hard),
    ("local_soft", {"local_predictor": 5}, soft),
    (
        "direct",
        {},
        lambda way, q, k, v: theirs.position(q, k, v, way.absolute, way.relative),
    ),
    ("direct", {"rel_mode": "spectral"}, spectral),
    (
        "conv",
        TANH,
        lambda way, q, k, v: theirs.conv_1d(q, k, v, way.filter, way.bias),
    ),
    ("conv", {"conv_pos": "before"}, before),
    (
        "conv2d",
        TANH,
        lambda way, q, k, v: theirs.conv_2d(q, k, v, way.filter, way.bias),
    ),
    ("conv2d", {"conv_pos": "before"}, before),
    (
        "custom",
        {"score": "s - slope[h] * abs(j - i) + lift[i]", "learn": LEARN},
        alibi,
    ),
]


def make(kind: str, keys: dict[str, Any], **more: Any) -> Any:
    torch.manual_seed(1)
    heads = 3 if kind == "csan2d" else H
    layer = layers.SelfAttention(heads * D, heads, kind, length=LENGTH, **keys, **more)
    for p in layer.parameters():  # also those that begin with zeros
        p.data += 0.1 * torch.randn(p.shape)
    return layer


def check(layer: Any, x: Torch, got: Torch, want: Torch, wide: Any, y: Torch) -> None:
    """Results and all gradients; y is the input of the wide layer."""
    torch.testing.assert_close(got.double(), want, rtol=BAR, atol=BAR)
    dy = torch.randn(got.shape)
    got.backward(dy)
    want.backward(dy.double())
    pairs = [(x, y), *zip(layer.parameters(), wide.parameters(), strict=True)]
    for number, (ours_, exact) in enumerate(pairs):
        expected = torch.zeros_like(exact) if exact.grad is None else exact.grad
        assert ours_.grad is not None, number
        torch.testing.assert_close(ours_.grad.double(), expected, rtol=BAR, atol=BAR)


def test_every_kind_has_a_case() -> None:
    assert {kind for kind, _, _ in CASES} == set(KINDS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_like_the_formula(case: Any) -> None:
    kind, keys, formula = case
    layer = make(kind, keys)
    wide = copy.deepcopy(layer).double()
    x = torch.randn(N, layer.width, requires_grad=True)
    y = x.detach().double().requires_grad_()
    got = layer(x, ROWS)
    q, k, v = wide.project(y).unflatten(1, (3, layer.heads, D)).unbind(1)
    want = wide.out(formula(wide.way, q, k, v).flatten(1))
    check(layer, x, got, want, wide, y)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_layouts_and_states(case: Any, tmp_path: Path) -> None:
    """Padded as packed, and a state dictionary that another layer loads."""
    kind, keys, _ = case
    layer = make(kind, keys)
    x = torch.randn(3, 5, layer.width)
    mask = torch.arange(5) < torch.tensor(ROWS)[:, None]
    want = layer(x[mask], ROWS)
    for lengths in (ROWS, torch.tensor(ROWS), mask):
        got = layer(x, lengths)
        assert got.shape == x.shape and not got[~mask].any()
        torch.testing.assert_close(got[mask], want, rtol=1e-5, atol=1e-5)
    torch.save(layer.state_dict(), tmp_path / "state.pt")
    other = layers.SelfAttention(layer.width, layer.heads, kind, length=LENGTH, **keys)
    assert not torch.equal(other(x[mask], ROWS), want)
    other.load_state_dict(torch.load(tmp_path / "state.pt"))
    assert torch.equal(other(x[mask], ROWS), want)
    full = layer(x)
    assert torch.equal(full, layer(x, [5, 5, 5]))
    assert not layer(x[:0], []).numel() and layer(x[:, :0]).shape == x[:, :0].shape


@pytest.mark.parametrize("kind", ["softmax", "csan1d", "rel_pos", "custom"])
def test_causal(kind: str) -> None:
    """Later tokens change no earlier result, and change their own."""
    keys: dict[str, Any] = {"score": "2 * tanh(s / 2)"} if kind == "custom" else {}
    layer = make(kind, keys, causal=True)
    x = torch.randn(5, layer.width)
    y = x.clone()
    y[3:] += 1
    first, second = layer(x, [5]), layer(y, [5])
    assert torch.equal(first[:3], second[:3])
    assert not torch.allclose(first[3:], second[3:])


def test_dropout_in_training_alone() -> None:
    layer = make("csan1d", {"window": 3}, dropout=0.5)
    x = torch.randn(N, layer.width)
    assert not torch.equal(layer(x, ROWS), layer(x, ROWS))
    layer.eval()
    assert torch.equal(layer(x, ROWS), layer(x, ROWS))


def test_types() -> None:
    layer = make("csan1d", {"window": 3})
    x = torch.randn(N, layer.width)
    want = layer(x, ROWS)
    for dtype, bar in ((torch.float64, 1e-5), (torch.bfloat16, 0.1)):
        other = copy.deepcopy(layer).to(dtype)
        got = other(x.to(dtype), ROWS)
        got.sum().backward()
        assert got.dtype == dtype and other.project.weight.grad.dtype == dtype
        torch.testing.assert_close(got.float(), want, rtol=bar, atol=bar)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(x, ROWS).dtype == torch.bfloat16


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"heads": 3}, clattn.UsageError, "heads is 3, must divide width, 8"),
    ({"kind": "soft"}, clattn.UsageError, "kind is 'soft', must be one of"),
    ({"windows": 3}, clattn.UsageError, r"softmax has no windows; it has \[\]"),
    ({"kind": "csan1d", "window": 4}, clattn.UsageError, "window is 4, must be odd"),
    ({"kind": "csan2d", "area": 5}, clattn.UsageError, "must be at most 3 for 2 heads"),
    ({"kind": "conv", "length": None}, clattn.UsageError, "length is missing"),
    ({"kind": "conv2d", "dropout": 0.1}, clattn.UsageError, "dropout must be 0"),
    ({"kind": "block", "causal": True}, clattn.UsageError, "causal must be False"),
    ({"kind": "rel_pos", "clip": 1.5}, clattn.DtypeError, "clip is a float"),
    ({"kind": "direct", "rel_mode": "x"}, clattn.UsageError, "rel_mode is 'x'"),
    ({"kind": "neighbor", "local_sigma": 0}, clattn.UsageError, "local_sigma is 0"),
    ({"dropout": 1}, clattn.UsageError, r"dropout is 1, must be in \[0,1\)"),
    ({"length": 0}, clattn.UsageError, "length is 0, must be in 1..65535"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[2])
def test_refused(case: Any) -> None:
    keys, kind, message = case
    with pytest.raises(kind, match=message):
        layers.SelfAttention(**{"width": 8, "heads": 2, "length": 6} | keys)


def test_refused_inputs() -> None:
    layer = make("softmax", {})
    x = torch.randn(2, 5, layer.width)
    for given, message in (
        ((x, [5, 6]), r"lengths\[1\] is 6, sequences have 5 tokens"),
        ((x, [5]), r"lengths has 1 sequences of 5 tokens, x is \[2, 5, 8\]"),
        ((x[0], [4]), r"lengths has 1 sequences of 4 tokens, x is \[5, 8\]"),
        ((x, torch.ones(2, 4, dtype=torch.bool)), r"lengths is a mask \[2, 4\]"),
        ((x[None], None), r"x is \[1, 2, 5, 8\], must be \[N,D\] or \[B,T,D\]"),
    ):
        with pytest.raises(clattn.ShapeError, match=message):
            layer(*given)
    with pytest.raises(
        clattn.DtypeError, match=r"SelfAttention: x is torch\.complex64"
    ):
        layer(x.cfloat())
    conv = make("conv", {})
    with pytest.raises(clattn.ShapeError, match="a sequence of 7 tokens, length is 6"):
        conv(torch.randn(7, 8), [7])


# ---- levels and gates ----------------------------------------------------------------


def test_levels() -> None:
    torch.manual_seed(1)
    layer = layers.Levels(3)
    layer.c.data = torch.randn(3)
    wide = copy.deepcopy(layer).double()
    x = torch.randn(N, D, requires_grad=True)
    y = x.detach().double().requires_grad_()
    check(layer, x, layer(x, ROWS), theirs.on_itself(y, wide.c), wide, y)
    layer.zero_grad()
    wide.zero_grad()
    memory = torch.randn(N, D)
    x = torch.randn(sum(SHORT), D, requires_grad=True)
    y = x.detach().double().requires_grad_()
    want = theirs.levels(y, memory.double(), wide.c, [2, 0, 4], ROWS)
    check(layer, x, layer(x, [2, 0, 4], memory, ROWS), want, wide, y)
    with pytest.raises(clattn.UsageError, match="depth is 0"):
        layers.Levels(0)


def test_gates() -> None:
    """Threshold gates as the formula, and a gradient for the values alone."""
    torch.manual_seed(1)
    layer = layers.HardAttention(D).eval()
    x = torch.randn(sum(SHORT), D)
    o = layer(x, SHORT)
    want = theirs.gates(layer.query(x), layer.key(x), layer.value(x))
    torch.testing.assert_close(o, want, rtol=1e-5, atol=1e-5)
    o.sum().backward()
    assert layer.value[0].weight.grad.abs().sum() > 0
    assert layer.query[0].weight.grad is None or not layer.query[0].weight.grad.any()


@pytest.mark.parametrize("baseline", ["none", "mean", "learned"])
def test_policy_gradient(baseline: str) -> None:
    """The gradient of the loss is that of the formula with the gates as drawn."""
    torch.manual_seed(1)
    layer = layers.HardAttention(D, baseline=baseline)
    x, rewards = torch.randn(2, 3, D), torch.randn(2, 3)
    layer(x, [3, 2])
    gates = layer._drawn[3].double()
    assert set(gates.tolist()) <= {0.0, 1.0}
    loss = layer.policy_loss(rewards, entropy=0.1)
    loss.backward()
    wide = copy.deepcopy(layer).double()
    wide.zero_grad()
    returns, losses, at = [], [], 0
    for b, n in enumerate([3, 2]):
        returns.append(rewards[b, :n].double().flip(0).cumsum(0).flip(0))
    for b, n in enumerate([3, 2]):
        z = x[b, :n].double()
        s = wide.query(z) @ wide.key(z).T
        g = gates[at : at + n * n].view(n, n)
        at += n * n
        logs = g * nn.functional.logsigmoid(s) + (1 - g) * nn.functional.logsigmoid(-s)
        p = torch.sigmoid(s)
        entropy = -(
            p * nn.functional.logsigmoid(s) + (1 - p) * nn.functional.logsigmoid(-s)
        )
        gain = returns[b]
        if baseline == "mean":
            both = [[r[t] for r in returns if t < len(r)] for t in range(n)]
            gain = gain - torch.stack([torch.stack(r).mean() for r in both])
        if baseline == "learned":
            expected = wide.expect(z).flatten()
            losses.append(((returns[b] - expected) ** 2).sum())
            gain = gain - expected.detach()
        losses.append(-(gain * logs.sum(1) + 0.1 * entropy.sum(1)).sum())
    want = torch.stack(losses).sum() / 5
    want.backward()
    torch.testing.assert_close(loss.double(), want, rtol=BAR, atol=BAR)
    for ours_, exact in zip(layer.parameters(), wide.parameters(), strict=True):
        zero = torch.zeros_like(exact)
        grads = [zero if p.grad is None else p.grad.double() for p in (ours_, exact)]
        torch.testing.assert_close(*grads, rtol=BAR, atol=BAR)
    with pytest.raises(clattn.UsageError, match="policy_loss: no call has drawn gates"):
        layer.policy_loss(rewards)


def test_gates_learn() -> None:
    """Rewards for open gates open them."""
    torch.manual_seed(1)
    layer = layers.HardAttention(D, baseline="mean")
    x = torch.randn(4, 6, D)
    steps = torch.optim.Adam(layer.parameters(), lr=0.05)

    def open_gates() -> float:
        layer(x)
        return float(layer._drawn[3].mean())

    first = sum(open_gates() for _ in range(10)) / 10
    for _ in range(150):
        layer(x)
        gates = layer._drawn[3].view(4, 6, 6)
        steps.zero_grad()
        layer.policy_loss(gates.mean(2)).backward()
        steps.step()
    last = sum(open_gates() for _ in range(10)) / 10
    assert last > first + 0.1
