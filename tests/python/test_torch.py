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
import formulas as theirs  # noqa: E402
from formulas import DOCUMENTS, ROWS, SHORT, D, H  # noqa: E402
from torch import nn  # noqa: E402

BAR = 1e-4
Torch = Any  # PyTorch need not be installed where types are checked
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
        lambda q, k, v: theirs.attend(q, k, v, [2, 0, 4], ROWS),
    ),
    (
        "band_attention",
        QKV,
        lambda q, k, v: ours.band_attention(q, k, v, ROWS, 3),
        lambda q, k, v: theirs.attend(q, k, v, ROWS, ROWS, theirs.band(3)),
    ),
    (
        "band_attention_2d",
        [(N, 3, D)] * 3,
        lambda q, k, v: ours.band_attention_2d(q, k, v, ROWS, 3, 3, WRAP),
        lambda q, k, v: theirs.band_2d(q, k, v, 3, 3),
    ),
    (
        "conv_attention_2d",
        [*QKV, (H, 3, 5), (H,)],
        lambda q, k, v, w, b: ours.conv_attention_2d(q, k, v, w, b, ROWS, TANH, AUTO),
        theirs.conv_2d,
    ),
    (
        "conv_attention_1d",
        [*QKV, (H, 3, 6, 6), (H, 6)],
        lambda q, k, v, w, b: ours.conv_attention_1d(q, k, v, w, b, ROWS, TANH),
        theirs.conv_1d,
    ),
    (
        "position_attention",
        [*QKV, (H, 6, 6), (H, 12)],
        lambda q, k, v, a, r: ours.position_attention(q, k, v, a, r, ROWS),
        theirs.position,
    ),
    (
        "relative_attention",
        [*QKV, (5, D), (5, D)],
        lambda q, k, v, a, b: ours.relative_attention(q, k, v, a, b, ROWS, ROWS),
        theirs.relative,
    ),
    (
        "gaussian_attention",
        [*QKV, (N, H), (N, H)],
        lambda q, k, v, c, s: ours.gaussian_attention(
            q, k, v, c, s.square() + 1, math.inf, ROWS
        ),
        lambda q, k, v, c, s: theirs.gaussian(q, k, v, c, s.square() + 1),
    ),
    (
        "custom_attention",
        [*QKV, (H,)],
        lambda q, k, v, slope: ours.custom_attention(
            q,
            k,
            v,
            ROWS,
            ROWS,
            score="s - slope[h] * abs(j - i)",
            mask="doc[ni] == doc[nj]",
            window=7,
            slope=slope,
            doc=DOCUMENTS,
        ),
        theirs.alibi,
    ),
    (
        "custom_attention",
        [(M, H, D), (N, H, D), (N, H, D), (H,)],
        lambda q, k, v, gate: ours.custom_attention(
            q,
            k,
            v,
            [2, 0, 4],
            ROWS,
            score="2 * tanh(s / 2)",
            weight="w * gate[h]",
            gate=gate,
        ),
        theirs.capped,
    ),
    (
        "custom_attention",
        [*QKV, (H,), (H,)],
        lambda q, k, v, amp, freq: ours.custom_attention(
            q,
            k,
            v,
            ROWS,
            ROWS,
            score="s + amp[h] * cos(freq[h] * (j - i))",
            amp=amp,
            freq=freq,
        ),
        theirs.waves,
    ),
    (
        "ham_v",
        [(M, D), (N, D), (3,)],
        lambda q, k, c: ours.ham_v(q, k, c, [2, 0, 4], ROWS),
        lambda q, k, c: theirs.levels(q, k, c, [2, 0, 4], ROWS),
    ),
    ("ham_s", [(N, D), (3,)], lambda x, c: ours.ham_s(x, c, ROWS), theirs.on_itself),
    (
        "additive_attention",
        [(M, 5), (M, 5), (5,), (M, D)],
        lambda m, q, v, x: ours.additive_attention(m, q, v, x, SHORT, SHORT),
        theirs.additive,
    ),
    (
        "max_attention",
        [(M, D), (M, D)],
        lambda q, k: ours.max_attention(q, k, SHORT, SHORT),
        theirs.best,
    ),
    (
        "hard_attention",
        [(M, D), (M, D), (M, D)],
        lambda q, k, v: ours.hard_attention(q, k, v, SHORT, SHORT),
        theirs.gates,
    ),
    (
        "scaled_dot_product_attention",
        [(2, 4, 3, D), (2, 2, 5, D), (2, 2, 5, D), (4, 3, 5)],
        lambda q, k, v, bias: ours.scaled_dot_product_attention(
            q, k, v, bias, scale=0.3, enable_gqa=True
        ),
        theirs.scaled,
    ),
    (
        "masked_softmax",
        [(2, H, 4, 4)],
        lambda x: ours.masked_softmax(x, None, None, True),
        theirs.masked,
    ),
]


@pytest.fixture(autouse=True)
def device(runtime: clattn.Runtime) -> Any:
    ours.use(runtime)
    yield
    ours.use(None)


def test_every_operator_has_a_case() -> None:
    others = {"lengths", "resident", "use"}
    assert {case[0] for case in CASES} | others == set(ours.__all__)


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
    for ours_, wide in zip(single, double, strict=True):
        expected = torch.zeros_like(wide) if wide.grad is None else wide.grad
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
    with pytest.raises(clattn.DtypeError, match="complex64"):
        ours.attention(x.cfloat(), x, x, ROWS, ROWS)
    with pytest.raises(clattn.ShapeError, match="attention"):
        ours.attention(x[1:], x, x, ROWS, ROWS)
    with pytest.raises(clattn.DtypeError, match="ndarray"):
        ours.attention(x.numpy(), x, x, ROWS, ROWS)
    with pytest.raises(clattn.UsageError, match="'slop' is not known"):
        ours.custom_attention(x, x, x, ROWS, ROWS, score="s - slop[h]")


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
        lambda q, k, v, rows: theirs.attend(q, k, v, rows, rows, theirs.band(5)),
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
