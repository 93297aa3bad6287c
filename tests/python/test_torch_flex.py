"""Modifiers, layouts and shapes that PyTorch tries with flex_attention, in our words.

The reference computes all scores at once, in float64. docs/python.md has the list of
what PyTorch tries and what of it applies.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

import clattn
import pytest

torch = pytest.importorskip("torch")
import clattn.torch as ours  # noqa: E402
from test_torch import device  # noqa: E402, F401

Torch = Any
B, H, S, D = 2, 4, 12, 4
BAR = 1e-4  # of sums in float32 behind functions whose slopes are near 10
PLACES = torch.linspace(-1, 1, S)
HEADS = torch.linspace(0.5, 2, H)
BATCHES = torch.linspace(-1, 1, B)
DISTANCES = torch.linspace(-2, 2, 2 * S)
TABLE = torch.linspace(-2, 2, B * H * S * S).view(B, H, S, S).sin()
UPPER = torch.arange(S) >= S // 2
DOCUMENTS = torch.arange(S) // 4
STARTS = torch.tensor([0, 4, 8, S])
PREFIX = torch.tensor([3, 7])
ONE, WHICH = torch.tensor(1), torch.tensor(2)
WIDTH, REACH = 4, 1  # of a picture whose pixels are tokens


def causal(s: Any, i: Any, j: Any) -> Any:
    return torch.where(i >= j, s, -math.inf)


def neighbours(s: Any, i: Any, j: Any) -> Any:
    rows, columns = i / WIDTH - j / WIDTH, i % WIDTH - j % WIDTH
    return torch.where((rows.abs() <= REACH) | (columns.abs() <= REACH), s, -math.inf)


def prefix(s: Any, b: Any, i: Any, j: Any) -> Any:
    own = (i <= PREFIX[b]) & (j <= PREFIX[b])
    return torch.where(own | (i >= j), s, -math.inf)


def nested(s: Any, i: Any, j: Any) -> Any:
    """Places within a document, as those of a nested tensor."""
    return causal(s, i - STARTS[DOCUMENTS[i]], j - STARTS[DOCUMENTS[j]])


SCORES: dict[str, Callable[..., Any]] = {
    "squared": lambda s: s * s,
    "causal": causal,
    "relative and causal": lambda s, i, j: torch.where(i >= j, s + (i - j), -math.inf),
    "alibi": lambda s, h, i, j: s + (j - i) * torch.exp2(-((h + 1) * 8.0 / H)),
    "sine and tangent": lambda s, b: torch.sin(torch.cos(s)) + torch.tan(b),
    "branches": lambda s: torch.cos(s) * torch.sin(s),
    "silu": lambda s: torch.nn.functional.silu(s),
    "even keys": lambda s, j: torch.where(j % 2 == 0, s, -math.inf),
    "composed": lambda s, i, j: causal(s + (i - j), j, i),
    "floor": lambda s, i, j: s - i // (1 + j),
    "neighbours": neighbours,
    "prefix": prefix,
    "nested": nested,
    "halves": lambda s, i, j: torch.where(
        (i >= j) & (UPPER[i] == UPPER[j]), s, -math.inf
    ),
    "all axes": lambda s, b, h, i: s + PLACES[i] + BATCHES[b] + HEADS[h],
    "a scalar": lambda s: s + ONE,
    "of distances": lambda s, i, j: s + DISTANCES[(i - j) + S],
    "of places": lambda s, i, j: s + TABLE[0][1][i, j],
    "of batches": lambda s, b, h, i, j: s + TABLE[b, h, i, j],
    "of rows of a picture": lambda s, b, h, i, j: s + TABLE[b, h, i, j // WIDTH],
}
MASKS: dict[str, Callable[..., Any]] = {
    "causal": lambda i, j: i >= j,
    "window": lambda i, j: (i >= j) & (i <= j + 3),
    "nothing": lambda i, j: (i >= j) & (i < j),
    "everything": lambda i, j: (i >= j) | (i < j),
    "documents": lambda i, j: DOCUMENTS[i] == DOCUMENTS[j],
    "of each batch": lambda b, h, i, j: TABLE[b, h, i, j] > 0,
}


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(5)


def called(function: Callable[..., Any], s: Torch) -> Torch:
    axes = torch.meshgrid(*map(torch.arange, s.shape), indexing="ij")
    values = {"s": s, **dict(zip("bhij", axes, strict=True))}
    return function(*(values[name] for name in inspect.signature(function).parameters))


def reference(
    q: Torch, k: Torch, v: Torch, score: Any = None, mask: Any = None
) -> Torch:
    k, v = (x.expand(len(q), -1, -1, -1) for x in (k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    s = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
    shown = torch.ones(s.shape, dtype=torch.bool)
    if mask is not None:
        shown = called(mask, s)
    if score is not None:
        s = called(score, s)
        shown = shown & ~s.isneginf()
    empty = ~shown.any(-1, keepdim=True)
    s = s.masked_fill(~shown & ~empty, -math.inf).masked_fill(empty, 0)
    return torch.softmax(s, -1).masked_fill(empty, 0) @ v


def compare(tensors: list[Torch], **options: Any) -> None:
    mine = [x.detach().requires_grad_() for x in tensors]
    wide = [x.detach().double().requires_grad_() for x in tensors]
    grouped = {"enable_gqa": True} if tensors[0].shape[1] != tensors[1].shape[1] else {}
    got = ours.attention(*mine, **grouped, **options)
    want = reference(*wide, **options)
    torch.testing.assert_close(got.double(), want, rtol=BAR, atol=BAR)
    dy = torch.randn(want.shape)
    got.backward(dy)
    want.backward(dy.double())
    for x, y in zip(mine, wide, strict=True):
        torch.testing.assert_close(x.grad.double(), y.grad, rtol=BAR, atol=BAR)


def make(t: int = S, s: int = S, heads: int = H, e: int = D) -> list[Torch]:
    return [
        torch.randn(B, H, t, D), torch.randn(B, heads, s, D),
        torch.randn(B, heads, s, e),
    ]  # fmt: skip


@pytest.mark.parametrize("name", SCORES)
def test_scores(name: str) -> None:
    compare(make(), score=SCORES[name])


@pytest.mark.parametrize("name", MASKS)
def test_masks(name: str) -> None:
    compare(make(), mask=MASKS[name])


@pytest.mark.parametrize("name", ["relative and causal", "of distances"])
def test_shapes(name: str) -> None:
    """Other numbers of keys, fewer key heads, values of another width."""
    for sizes in ({"t": S // 2, "e": 2}, {"s": 7, "heads": 1}, {"heads": 2, "e": 6}):
        compare(make(**sizes), score=SCORES[name])


# Steps of [B,H,S,D] in memory, and where the first number lies.
STRIDES = [
    ((H * S * D, S * D, D, 1), 97),
    ((H * D, D, B * H * D, 1), 49),
    ((H * S * D, D, H * D, 1), 0),
    ((S * (D + 1), B * S * (D + 1), D + 1, 1), 29),
    ((1, D, (B + 1) * (H + 1) * D, 1), 7),
]


@pytest.mark.parametrize("number", range(len(STRIDES)))
def test_strides(number: int) -> None:
    """Of q, k, v and of the gradient of the result."""
    turned = [STRIDES[(number + n) % len(STRIDES)] for n in range(4)]
    size = (B, H, S, D)
    q, k, v, dy = (torch.randn(4 * B * H * S * D).as_strided(size, *s) for s in turned)
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    wide = [x.detach().double().requires_grad_() for x in (q, k, v)]
    got = ours.attention(*leaves, score=SCORES["alibi"])
    want = reference(*wide, score=SCORES["alibi"])
    torch.testing.assert_close(got.double(), want, rtol=BAR, atol=BAR)
    got.backward(dy)
    want.backward(dy.double())
    for x, y in zip(leaves, wide, strict=True):
        torch.testing.assert_close(x.grad.double(), y.grad, rtol=BAR, atol=BAR)


def test_calls_beside_each_other() -> None:
    """Results of one go to the next, and a function may change between calls."""
    q, k, v = make()
    first = ours.attention(q, k, v, score=SCORES["squared"])
    got = ours.attention(first, v, k, score=SCORES["causal"])
    want = reference(q.double(), k.double(), v.double(), SCORES["squared"])
    want = reference(want, v.double(), k.double(), SCORES["causal"])
    torch.testing.assert_close(got.double(), want, rtol=BAR, atol=BAR)
    add = True

    def changes(s: Any) -> Any:
        return s + ONE if add else s * s

    compare([q, k, v], score=changes)
    add = False
    compare([q, k, v], score=changes)


def test_indices_one_by_one() -> None:
    q, k, v = make()
    parts = ours.attention(q, k, v, score=lambda s, b, i: s + TABLE[b][WHICH, 0][i])
    whole = ours.attention(q, k, v, score=lambda s, b, i: s + TABLE[b, WHICH, 0, i])
    assert torch.equal(parts, whole)


def test_what_is_refused() -> None:
    q, k, v = make()
    for score in (
        lambda s, b: s + TABLE[b].sum(-1),  # a reduction of a captured tensor
        lambda s, h: s + TABLE[0, h.new_zeros(h.shape), 0, 0],
    ):
        with pytest.raises(clattn.UsageError, match=r"^attention: score"):
            ours.attention(q, k, v, score=score)
