"""scaled_dot_product_attention, against PyTorch's own in float64.

PyTorch before 2.5 gives NaN, not 0, to a query without a visible key: the reference has
0 there.
"""

import contextlib
import inspect
import math
from collections.abc import Iterator
from typing import Any

import clattn
import pytest

torch = pytest.importorskip("torch")
import clattn.torch as ours  # noqa: E402
from clattn import _autograd  # noqa: E402
from test_torch import device  # noqa: E402, F401

theirs = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
if theirs is None:
    pytest.skip("PyTorch has none before 2.0", allow_module_level=True)
Torch = Any
B, H, T, S, D = 2, 4, 5, 7, 4
# Of numbers near 1: float32's sums of some ten products; a last bit of the result for
# the types that are shorter. float64 is computed in float32.
BAR = {"float32": 1e-5, "float64": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}


def math_backend() -> Any:
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:  # before 2.3
        return contextlib.nullcontext()
    return sdpa_kernel(SDPBackend.MATH)


def reference(q: Torch, k: Torch, v: Torch, mask: Torch = None, **options: Any) -> Any:
    if options.pop("enable_gqa", False):
        k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    with math_backend():
        return theirs(q, k, v, mask, **options)


def compare(
    tensors: list[Torch], mask: Torch = None, reference_mask: Torch = None, **o: Any
) -> None:
    """Results and gradients, those of a mask of floats included."""
    given = [x.detach().requires_grad_() for x in tensors]
    wide = [x.detach().double().requires_grad_() for x in tensors]
    masks = [mask, mask if reference_mask is None else reference_mask]
    if mask is not None and mask.is_floating_point():
        masks = [mask.detach(), mask.detach().double()]
        if mask.requires_grad:
            given.append(masks[0].requires_grad_())
            wide.append(masks[1].requires_grad_())
    got = ours.scaled_dot_product_attention(*given[:3], masks[0], **o)
    want = reference(*wide[:3], masks[1], **o)
    assert got.dtype == tensors[0].dtype
    bar = BAR[str(got.dtype).removeprefix("torch.")]
    torch.testing.assert_close(got.double(), want, rtol=bar, atol=bar)
    if not want.numel():
        return
    dy = torch.randn_like(want).to(got.dtype)
    got.backward(dy)
    want.backward(dy.double())
    for x, y in zip(given, wide, strict=True):
        assert x.grad.dtype == x.dtype and x.grad.shape == x.shape
        torch.testing.assert_close(x.grad.double(), y.grad, rtol=4 * bar, atol=4 * bar)


def make(*shapes: tuple[int, ...]) -> list[Torch]:
    return [torch.randn(shape) for shape in shapes]


def qkv(t: int = T, s: int = S) -> list[Torch]:
    return make((B, H, t, D), (B, H, s, D), (B, H, s, D))


@pytest.fixture(autouse=True)
def seed() -> Iterator[None]:
    torch.manual_seed(7)
    yield


SHAPES: dict[str, list[tuple[int, ...]]] = {
    "heads": [(B, H, T, D), (B, H, S, D), (B, H, S, D)],
    "one sequence": [(T, D), (S, D), (S, D)],
    "no heads": [(3, T, D), (3, S, D), (3, S, D)],
    "five axes": [(2, 3, H, T, D), (3, H, S, D), (2, 1, 1, S, D)],
    "broadcast": [(B, H, T, D), (1, H, S, D), (B, 1, S, D)],
    "narrow values": [(B, H, T, D), (B, H, S, D), (B, H, S, 3)],
    "wide values": [(B, H, T, 3), (B, H, S, 3), (B, H, S, D)],
    "no keys": [(B, H, T, D), (B, H, 0, D), (B, H, 0, D)],
    "no queries": [(B, H, 0, D), (B, H, S, D), (B, H, S, D)],
    "no sequences": [(0, H, T, D), (0, H, S, D), (0, H, S, D)],
}


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("scale", [None, 0.7, -0.3, 0])
def test_shapes(shapes: list[tuple[int, ...]], scale: float | None) -> None:
    compare(make(*shapes), scale=scale)


def test_strides() -> None:
    q, k, v = torch.randn(B, T, 3, H, D).unbind(2)  # of one projection
    compare([x.transpose(1, 2) for x in (q, k, v)])
    x = torch.randn(B, D, H, 2 * T)
    compare([x.permute(0, 2, 3, 1)[:, :, ::2], x.permute(0, 2, 3, 1), *qkv(T, 10)[2:]])
    one = torch.randn(B, 1, S, D).expand(B, H, S, D)
    compare([qkv()[0], one, one])


@pytest.mark.parametrize("t, s", [(T, T), (3, S), (S, 3), (1, S), (S, 1)])
def test_causal(t: int, s: int) -> None:
    compare(qkv(t, s), is_causal=True)


@pytest.mark.parametrize("shape", [(B,), (), (3, B)])
@pytest.mark.parametrize("fewer", [(1, 1), (2, 2), (4, 2)])
def test_fewer_key_heads(shape: tuple[int, ...], fewer: tuple[int, int]) -> None:
    sizes = [(H, T), (fewer[0], S), (fewer[1], S)]
    compare(make(*((*shape, *size, D) for size in sizes)), enable_gqa=True)


# ---- masks ---------------------------------------------------------------------------

# Masks of [B,H,T,S], and of the shapes that broadcast to it.
BROADCAST = [
    (B, H, T, S), (B, 1, T, S), (1, H, T, S), (H, 1, S), (T, S), (T, 1), (B, H, 1, 1),
    (1,), (),
]  # fmt: skip


@pytest.mark.parametrize("shape", BROADCAST, ids=str)
def test_masks(shape: tuple[int, ...]) -> None:
    visible = torch.rand(shape) < 0.6
    numbers = torch.randn(shape)
    compare(qkv(), visible)
    compare(qkv(), numbers.requires_grad_())
    compare(qkv(), numbers.detach().masked_fill(~visible, -math.inf))
    compare(qkv(), torch.zeros(shape).masked_fill(~visible, -math.inf))


def test_a_mask_of_five_axes() -> None:
    tensors = make((2, 3, H, T, D), (3, H, S, D), (2, 1, 1, S, D))
    for shape in ((2, 1, 1, T, S), (3, H, T, S), (2, 3, 1, 1, S)):
        compare(tensors, torch.rand(shape) < 0.6)
        compare(tensors, torch.randn(shape).requires_grad_())


def padding(lengths: list[int]) -> Torch:
    return torch.arange(S)[None] < torch.tensor(lengths)[:, None]


@pytest.mark.parametrize("lengths", [[7, 3], [7, 7], [0, 5], [0, 0]], ids=str)
def test_padding(lengths: list[int]) -> None:
    visible = padding(lengths)
    compare(qkv(), visible[:, None, None])
    compare(qkv(), visible[:, None, None].expand(B, H, T, S))
    added = torch.zeros(B, 1, 1, S).masked_fill(~visible[:, None, None], -math.inf)
    compare(qkv(), added)
    with pytest.raises(clattn.ShapeError, match=r"padding is \[B,1,1,S\]"):
        ours.scaled_dot_product_attention(*qkv(), visible)
    compare([x[:, 0] for x in qkv()], visible[:, None])  # without heads


def test_padding_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator gets the visible keys alone, whatever the mask's form."""
    rows, run = [], _autograd.run

    def counted(
        name: str, call: Any, values: Any, lengths: Any, draws: bool
    ) -> Any:
        assert values["key"].shape[0] == sum(lengths["key"])
        rows.append((list(lengths["key"]), "attn_mask" in values))
        return run(name, call, values, lengths, draws)

    monkeypatch.setattr("clattn._autograd.run", counted)
    visible = padding([6, 2])[:, None, None]
    for mask in (
        visible,
        visible.flip(-1),
        visible.expand(B, H, T, S),
        torch.zeros(B, 1, 1, S).masked_fill(~visible, -math.inf),
    ):
        ours.scaled_dot_product_attention(*qkv(), mask)
    # each head is a sequence, as tensors are dense
    assert rows == [([6] * H + [2] * H, False)] * 4


def test_square_masks_are_of_queries() -> None:
    """[B,S] where B is T is [T,S], as in PyTorch."""
    q, k, v = make((T, H, T, D), (T, H, S, D), (T, H, S, D))
    compare([q, k, v], torch.rand(T, S) < 0.6)


def test_what_is_hidden_reaches_nothing() -> None:
    q, k, v = qkv()
    visible = padding([7, 3])
    want = ours.scaled_dot_product_attention(q, k, v, visible[:, None, None])
    for x in (k, v):
        x.transpose(1, 2)[~visible] = math.nan
    for mask in (visible[:, None, None], visible[:, None, None].repeat(1, 1, T, 1)):
        got = ours.scaled_dot_product_attention(q, k, v, mask)
        torch.testing.assert_close(got, want)


# ---- types ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", BAR)
def test_types(name: str) -> None:
    dtype = getattr(torch, name)
    compare([x.to(dtype) for x in qkv()])
    compare([x.to(dtype) for x in qkv()], padding([7, 3])[:, None, None])
    compare([x.to(dtype) for x in qkv()], torch.randn(T, S).to(dtype).requires_grad_())


def test_autocast() -> None:
    q, k, v = (x.requires_grad_() for x in qkv())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = ours.scaled_dot_product_attention(q, k.bfloat16(), v)
        wide = ours.scaled_dot_product_attention(*(x.double() for x in (q, k, v)))
    assert (got.dtype, wide.dtype) == (torch.bfloat16, torch.float64)
    want = ours.scaled_dot_product_attention(*(x.bfloat16() for x in (q, k, v)))
    assert torch.equal(got, want)
    got.sum().backward()
    assert q.grad.dtype == torch.float32


# ---- dropout, and what is refused ----------------------------------------------------


def test_dropout() -> None:
    q, k = torch.zeros(1, 1, 1024, D), torch.zeros(1, 1, D, D)

    def weights(seed: int) -> Torch:
        torch.manual_seed(seed)
        v = torch.eye(D)[None, None]
        return ours.scaled_dot_product_attention(q, k, v, dropout_p=0.25)

    drawn = weights(1)
    assert torch.equal(drawn, weights(1)) and not torch.equal(drawn, weights(2))
    kept = drawn != 0  # of 4096 draws: 1024 +- 28, five deviations
    assert abs(int((~kept).sum()) - 1024) < 140
    torch.testing.assert_close(drawn[kept], torch.full_like(drawn[kept], 1 / 3))


def test_the_signature_is_pytorchs() -> None:
    names = {
        "query": inspect.Parameter.empty, "key": inspect.Parameter.empty,
        "value": inspect.Parameter.empty, "attn_mask": None, "dropout_p": 0.0,
        "is_causal": False, "scale": None, "enable_gqa": False,
    }  # fmt: skip
    function = inspect.signature(ours.scaled_dot_product_attention)
    assert {p.name: p.default for p in function.parameters.values()} == names


def refused() -> Iterator[tuple[str, dict[str, Any], type[Exception]]]:
    q, k, v = qkv()
    shape, usage, dtype = clattn.ShapeError, clattn.UsageError, clattn.DtypeError
    yield "key", {"key": k[..., 1:]}, shape
    yield "key", {"key": k[:, :3]}, shape
    yield "key", {"key": torch.ones(D)}, shape
    yield "key", {"key": k[:, :3], "enable_gqa": True}, shape
    yield "key", {"key": k.half()}, dtype
    yield "value", {"value": v[:, :, 1:]}, shape
    yield "value", {"value": v[..., :0]}, shape
    yield "value", {"value": v.cfloat()}, dtype
    yield "query", {"query": q.int()}, dtype
    yield "enable_gqa", {"query": q[0, 0], "enable_gqa": True}, shape
    yield "attn_mask", {"attn_mask": torch.ones(T, S).int()}, dtype
    yield "attn_mask", {"attn_mask": torch.ones(T, S).cfloat()}, dtype
    yield "attn_mask", {"attn_mask": torch.ones(S, T)}, shape
    yield "attn_mask", {"attn_mask": torch.ones(3, B, H, T, S)}, shape
    yield "attn_mask", {"attn_mask": torch.ones(B, S)}, shape
    yield "attn_mask", {"attn_mask": torch.ones(T, S), "is_causal": True}, usage
    yield "dropout_p", {"dropout_p": 1.0}, usage
    yield "dropout_p", {"dropout_p": -0.5}, usage
    yield "scale", {"scale": "1"}, dtype


def test_refused() -> None:
    q, k, v = qkv()
    for name, wrong, kind in refused():
        given = {"query": q, "key": k, "value": v} | wrong
        with pytest.raises(kind, match=rf"^scaled_dot_product_attention: .*\b{name}\b"):
            ours.scaled_dot_product_attention(**given)
            print(name, wrong)
