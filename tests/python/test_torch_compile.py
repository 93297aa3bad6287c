"""torch.compile, export, checks of operators and vmap: the attention functions in them.

The reference is the call that runs at once, which the other tests compare with
PyTorch's formulas.
"""

from collections.abc import Callable
from typing import Any

import clattn
import pytest

torch = pytest.importorskip("torch")
import clattn.torch as ours  # noqa: E402
from clattn import _attend  # noqa: E402
from test_torch import device  # noqa: E402, F401

Torch = Any
if not _attend._HAS_OPERATORS:
    pytest.skip("PyTorch has no torch.library.custom_op", allow_module_level=True)
B, H, T, D = 2, 4, 4, 4
SCORE = "s - slope[h] * abs(i - j)"


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(3)


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    return torch.compile(function, fullgraph=True, backend="aot_eager", **options)


def same(got: Torch, want: Torch, leaves: list[Torch]) -> None:
    """Results, and gradients by the same direction."""
    torch.testing.assert_close(got, want)
    dy = torch.randn_like(want)
    a, b = (torch.autograd.grad(y, leaves, dy) for y in (got, want))
    torch.testing.assert_close(a, b)


def padded_layer(q: Torch, k: Torch, v: Torch, visible: Torch) -> Any:
    return ours.scaled_dot_product_attention(
        2 * q.bfloat16(),
        k.bfloat16(),
        v.bfloat16(),
        visible[:, None, None],
        scale=0.3,
        enable_gqa=True,
    )


def scored_layer(x: Torch, lengths: Torch, slope: Torch, bias: Torch) -> Any:
    y = ours.attention(x, x, x, lengths=lengths, score=SCORE, slope=slope)
    y = ours.attention(y, x, x, q_rows=[4, 4], k_rows=lengths)
    return ours.scaled_dot_product_attention(y, x, x, bias)


def packed_layer(x: Torch, cu_seqlens: Torch) -> Any:
    rows = cu_seqlens.diff()
    y = ours.attention(x, x, x, cu_seqlens=cu_seqlens, causal=True)
    return ours.attention(y, x, x, [3, 4], rows)


def test_compile_padding() -> None:
    shapes = [(B, H, T, D), (B, 2, T, D), (B, 2, T, 3)]
    given = [torch.randn(shape, requires_grad=True) for shape in shapes]
    visible = torch.tensor([[True] * 4, [True, True, False, False]])
    same(compiled(padded_layer)(*given, visible), padded_layer(*given, visible), given)


def test_compile_modifiers() -> None:
    x = torch.randn(B, H, T, D, requires_grad=True)
    slope = torch.rand(H, requires_grad=True)
    bias = torch.randn(B, 1, T, T).tril().log().nan_to_num(0, 0, -torch.inf)
    given = [x, torch.tensor([4, 2]), slope, bias.requires_grad_()]
    leaves = [x, slope, bias]
    same(compiled(scored_layer)(*given), scored_layer(*given), leaves)


def test_compile_packed() -> None:
    x = torch.randn(7, H, D, requires_grad=True)
    starts = torch.tensor([0, 3, 7], dtype=torch.int32)
    layer = compiled(packed_layer)
    same(layer(x, starts), packed_layer(x, starts), [x])
    wrong = torch.tensor([0, 3, 6], dtype=torch.int32)
    with pytest.raises(clattn.ShapeError, match="attention: cu_seqlens has 6 tokens"):
        layer(x, wrong)


def test_compile_any_size() -> None:
    def layer(x: Torch) -> Any:
        return ours.scaled_dot_product_attention(x, x, x, is_causal=True)

    made = compiled(layer, dynamic=True)
    for size in (4, 5, 7):
        x = torch.randn(2, H, size, D, requires_grad=True)
        same(made(x), layer(x), [x])


def test_compile_dropout() -> None:
    """The backward pass draws as the forward pass: d y / d v are the weights of y."""
    q = torch.randn(1, 1, 32, D)
    v = torch.eye(32)[None, None, :, :D].clone().requires_grad_()
    layer = compiled(
        lambda v: ours.scaled_dot_product_attention(q, q, v, dropout_p=0.5)
    )
    y = layer(v)
    (grad,) = torch.autograd.grad(y.sum(), v)
    columns = y[0, 0].sum(0)  # the weights of the first D keys
    torch.testing.assert_close(grad[0, 0, :D, 0], columns)
    assert not torch.equal(layer(v), y)


def test_compile_refuses_functions_by_name() -> None:
    x = torch.randn(7, H, D)
    layer = compiled(lambda x: ours.attention(x, x, x, [3, 4], score=lambda s: 2 * s))
    with pytest.raises(Exception, match="attention: score is a function"):
        layer(x)


def test_export() -> None:
    class Layer(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def forward(self, *given: Torch) -> Any:
            return padded_layer(*given)

    shapes = [(B, H, T, D), (B, 2, T, D), (B, 2, T, 3)]
    given = [torch.randn(shape) for shape in shapes]
    given.append(torch.tensor([[True] * 4, [True, True, False, False]]))
    made = torch.export.export(Layer(), tuple(given)).module()
    assert torch.equal(made(*given), padded_layer(*given))


# ---- the operators -------------------------------------------------------------------


def arguments(rows: Torch, seed: Torch = None) -> tuple[Any, ...]:
    x, y, z = (torch.randn(7, H, D, requires_grad=True) for _ in range(3))
    names = ["attention", "q", "k", "v", "q_rows", "k_rows", "slope"]
    slope = torch.rand(H, requires_grad=True)
    texts = [SCORE, "", ""]
    drop = 0.0 if seed is None else 0.5
    padded = [-1, -1] if rows.dtype != torch.bool else [7, 7]
    options = (names, texts, 0, False, drop)
    return (x, y, z, [slope], rows, rows, seed, padded, *options)


def test_opcheck() -> None:
    operator = torch.ops.clattn.packed_attention.default
    kept = torch.tensor([[True, True, False, True, True, True, False]])
    for rows, seed in (
        (torch.tensor([3, 4]), None),
        (kept, torch.tensor(5)),
    ):
        torch.library.opcheck(operator, arguments(rows, seed))


@pytest.mark.filterwarnings("ignore:Input #")
def test_gradcheck() -> None:
    """As in test_torch.py, of the operator itself."""
    given = arguments(torch.tensor([[True, True, False, True, True, True, False]]))

    def layer(q: Torch, k: Torch, v: Torch, slope: Torch) -> Any:
        return torch.ops.clattn.packed_attention(q, k, v, [slope], *given[4:])

    assert torch.autograd.gradcheck(
        layer, [*given[:3], *given[3]], eps=1e-2, atol=2e-2, rtol=2e-2, fast_mode=True
    )


def test_no_gradient_of_a_gradient() -> None:
    given = arguments(torch.tensor([3, 4]))
    y = torch.ops.clattn.packed_attention(*given)
    (grad,) = torch.autograd.grad(y.square().sum(), given[0], create_graph=True)
    with pytest.raises(RuntimeError, match="packed_attention_backward"):
        grad.sum().backward()


# ---- torch.func ----------------------------------------------------------------------


def test_vmap() -> None:
    x = torch.randn(3, B, H, T, D, requires_grad=True)
    k = torch.randn(B, H, T, D, requires_grad=True)
    visible = torch.rand(3, B, T) < 0.6

    def layer(x: Torch, visible: Torch) -> Any:
        o = ours.scaled_dot_product_attention(x, k, k, visible[:, None, None])
        return ours.attention(o, x, x, score=lambda s, i, j: s - abs(i - j))

    got = torch.func.vmap(layer)(x, visible)
    want = torch.stack([layer(*one) for one in zip(x, visible, strict=True)])
    same(got, want, [x, k])


def test_other_transforms_are_refused() -> None:
    x = torch.randn(B, H, T, D)

    def loss(x: Torch) -> Any:
        return ours.scaled_dot_product_attention(x, x, x).square().sum()

    for transform in (
        lambda: torch.func.grad(loss)(x),
        lambda: torch.func.vmap(torch.func.grad(loss))(x[None]),
        lambda: torch.func.jvp(loss, (x,), (x,)),
    ):
        with pytest.raises(clattn.GradientError, match="^scaled_dot_product_att.*func"):
            transform()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x)
        with pytest.raises(RuntimeError):
            loss(dual)


def test_checkpoint() -> None:
    x = torch.randn(B, H, T, D, requires_grad=True)

    def layer(x: Torch) -> Any:
        return ours.scaled_dot_product_attention(x, x, x, dropout_p=0.3)

    grads = []
    for run in (
        layer,
        lambda x: torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False),
    ):
        torch.manual_seed(1)
        grads += torch.autograd.grad(run(x).square().sum(), x)
    assert torch.equal(*grads)
