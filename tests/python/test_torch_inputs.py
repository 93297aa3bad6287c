"""What PyTorch programs pass to clattn.torch: taken, or refused with the name.

The operators and their arguments come from the module itself and from the cases of
test_torch.py.
"""

import inspect
from collections.abc import Callable
from typing import Any

import clattn
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import clattn.torch as ours  # noqa: E402
from test_torch import CASES, device  # noqa: E402, F401

NAMES = [name for name in ours.__all__ if name != "use"]
L = [5, 7]
Torch = Any


def unlike(x: Torch) -> list[Any]:
    """Values that no tensor's argument takes, each near to one that does."""
    return [
        x.to(torch.complex64), x.numpy(), [1.0], "x", x.to_sparse(), x.to("meta"),
        torch.tensor([2**40]), torch.tensor([-(2**31) - 1]),
    ]  # fmt: skip


LENGTHS = [
    "57", 12, None, [5.0, 7.0], [True], [2**31], [-5, 17], [2**30] * 4, object(),
    [[5, 7]], torch.tensor([5.0, 7.0]), torch.tensor([[5, 7]]), torch.tensor(5),
    np.array([5.5, 6.5]), torch.ones(12, dtype=torch.bool),
]  # fmt: skip
OTHERS: dict[str, list[Any]] = {
    "int": [3.0, "3", 2**33, torch.tensor(3.5), None],
    "float": ["0.5", object(), 10**400],
    "float | None": ["0.5", object(), 10**400],
    "bool": ["no", 2, 0.5],
    "int | None": [3.0, "3", 2**33, torch.tensor(3.5)],
    "str | None": [5, b"s", "a\0b"],
    "str | Callable[..., Any] | None": [5, b"s", "a\0b"],
}


def right_value(kind: str, x: Torch) -> Any:
    values = {"torch.Tensor": x, "Sequence[int] | torch.Tensor": L, "int": 1}
    values["Sequence[int] | torch.Tensor | None"] = L
    values |= {"float": 0.5, "bool": False}
    enums = {"Activation", "ConvMethod", "Edge", "HamMemory", "HardForm", "HardGate"}
    if kind.split(" ")[0] in enums:
        return next(iter(getattr(clattn, kind)))
    return values.get(kind)


def test_every_argument_is_named() -> None:
    for name in NAMES:
        check_arguments(name)


def check_arguments(name: str) -> None:
    function = getattr(ours, name)
    x = torch.ones(12, 2, 8)
    parameters = inspect.signature(function).parameters.values()
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    given = {p.name: right_value(p.annotation, x) for p in positional}
    for p in parameters:
        kind = p.annotation.split(" ")[0]
        values = OTHERS.get(p.annotation, [])
        if kind == "torch.Tensor":
            values = unlike(x)
        elif kind == "Sequence[int]":
            values = LENGTHS
        elif kind.startswith(("Hard", "Ham", "Conv", "Edge", "Activation")):
            values = ["x", 1.5, 2**40]
        if p.kind is p.KEYWORD_ONLY or p.annotation.endswith("| None"):
            values = [value for value in values if value is not None]
        others = {"q_rows", "k_rows"} if p.name in ("lengths", "cu_seqlens") else ()
        kept = {other: given[other] for other in given if other not in others}
        for value in values:
            with pytest.raises(clattn.ClattnError, match=rf"{name}: .*\b{p.name}\b"):
                function(**kept | {p.name: value})
                print(f"{name} takes {value!r} as {p.name}")


def test_lengths_of_all_kinds() -> None:
    q = torch.randn(12, 2, 8)
    want = ours.attention(q, q, q, L, L)
    for lengths in (
        tuple(L), torch.tensor(L), torch.tensor(L, dtype=torch.uint8), np.array(L),
        [torch.tensor(5), np.int64(7)], torch.Size(L), iter(L),
    ):  # fmt: skip
        assert torch.equal(ours.attention(q, q, q, lengths, L), want)


def test_lengths_from_cu_seqlens() -> None:
    q = torch.randn(12, 2, 8)
    want = ours.attention(q, q, q, L, L)
    for dtype in (torch.int32, torch.int64):
        cu_seqlens = torch.tensor([0, 5, 12], dtype=dtype)
        rows = ours.lengths(cu_seqlens)
        assert rows == L and torch.equal(ours.attention(q, q, q, rows, rows), want)
    assert ours.lengths([0, 5, 5, 12]) == [5, 0, 7] and ours.lengths([0]) == []
    for wrong in ([], [1, 2], [0, 5, 4], [0, -1]):
        with pytest.raises(clattn.UsageError, match="lengths: cu_seqlens"):
            ours.lengths(wrong)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_types(case: Any, rng: np.random.Generator) -> None:
    """Other floats are computed in float32 and given back in their type.

    PyTorch's own part of a layer is computed in their type, with its last bit.
    """
    _, shapes, layer, _ = case
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    bars = {torch.bfloat16: 3e-2, torch.float16: 4e-3, torch.float64: 1e-5}
    for dtype, bar in bars.items():
        given = [torch.from_numpy(a).to(dtype).requires_grad_() for a in arrays]
        single = [x.detach().float().requires_grad_() for x in given]
        got, want = layer(*given), layer(*single)
        assert got.dtype == dtype
        torch.testing.assert_close(got.float(), want, rtol=bar, atol=bar)
        got.sum().backward()
        want.sum().backward()
        for x, y in zip(given, single, strict=True):
            assert (x.grad is None) == (y.grad is None)
            if x.grad is not None:
                assert x.grad.dtype == dtype
                grad = x.grad.float()
                torch.testing.assert_close(grad, y.grad, rtol=bar, atol=bar)


def test_types_are_promoted() -> None:
    q, half = torch.randn(12, 2, 8), torch.randn(12, 2, 8).half()
    assert ours.attention(half, half, half, L, L).dtype == torch.float16
    assert ours.attention(half, q, half, L, L).dtype == torch.float32
    assert ours.attention(half, half, half.bfloat16(), L, L).dtype == torch.float32
    assert ours.attention(half, q.double(), half, L, L).dtype == torch.float64


def test_autocast() -> None:
    q = torch.randn(12, 2, 8)
    half = q.bfloat16().requires_grad_()
    want = ours.attention(q.bfloat16().float(), q, q, L, L)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = ours.attention(half, q, q, L, L)
        wide = ours.attention(half, q.double(), q, L, L)
        band = ours.band_attention(half, q, q, L, 3)
    assert got.dtype == band.dtype == torch.bfloat16 and wide.dtype == torch.float64
    assert torch.equal(got, want.bfloat16())
    got.sum().backward()
    assert half.grad.dtype == torch.bfloat16


def test_views_that_negate() -> None:
    q = torch.randn(12, 2, 8)
    view = torch.view_as_complex(torch.randn(12, 2, 8, 2)).conj().imag
    assert view.is_neg()
    packed = view.clone().resolve_neg()
    assert torch.equal(
        ours.attention(view, q, q, L, L), ours.attention(packed, q, q, L, L)
    )
    grads = []
    for dy in (view, packed):
        x = q.clone().requires_grad_()
        ours.attention(x, q, q, L, L).backward(dy)
        grads.append(x.grad)
    assert torch.equal(grads[0], grads[1])


def test_a_learned_scalar() -> None:
    q = torch.randn(12, 2, 8)
    heats = [
        torch.nn.Parameter(torch.tensor(1.5)),
        torch.nn.Parameter(torch.ones(1) * 1.5),
    ]
    for heat in heats:
        y = ours.custom_attention(q, q, q, L, L, score="s * heat[0]", heat=heat)
        y.square().sum().backward()
    assert heats[0].grad.shape == ()
    assert torch.equal(heats[0].grad, heats[1].grad[0])


def test_whole_numbers() -> None:
    q = torch.randn(12, 2, 8)
    documents = torch.tensor([0] * 6 + [1] * 6)

    def attend(doc: Torch) -> Torch:
        return ours.custom_attention(q, q, q, L, L, mask="doc[ni] == doc[nj]", doc=doc)

    want = attend(documents.int())
    for dtype in ("int64", "int16", "int8", "uint8", "bool"):
        assert torch.equal(attend(documents.to(getattr(torch, dtype))), want)
    with pytest.raises(clattn.UsageError, match=r"_attention: .* doc is 1099511627776"):
        attend(documents * 2**40)


# ---- gradients of gradients ----------------------------------------------------------


def make(case: Any, rng: np.random.Generator) -> list[Torch]:
    return [
        torch.from_numpy(rng.normal(size=shape).astype(np.float32)).requires_grad_()
        for shape in case[1]
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_no_gradient_of_a_gradient(case: Any, rng: np.random.Generator) -> None:
    name, _, layer, _ = case
    inputs = make(case, rng)
    losses: list[Callable[[Torch], Torch]] = [
        lambda y: y.sum(),
        lambda y: y.square().sum(),
    ]
    for loss in losses:
        want = torch.autograd.grad(loss(layer(*inputs)), inputs, allow_unused=True)
        kept = torch.autograd.grad(
            loss(layer(*inputs)), inputs, create_graph=True, allow_unused=True
        )
        for a, b in zip(want, kept, strict=True):
            assert (a is None and b is None) or torch.equal(a, b)
        penalty = sum(grad.square().sum() for grad in kept if grad is not None)
        with pytest.raises(
            clattn.GradientError, match=f"{name}: trying to differentiate"
        ):
            (loss(layer(*inputs)) + 1000 * penalty).backward()
        with pytest.raises(RuntimeError):  # as PyTorch's own errors of this kind
            torch.autograd.grad(penalty, inputs[0])


def test_a_gradient_as_a_constant(rng: np.random.Generator) -> None:
    """create_graph alone is no error, nor is a gradient without its graph."""
    (x,) = make((None, [(12, 2, 8)]), rng)
    y = ours.attention(x, x, x, L, L)
    (grad,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (y.square().sum() + grad.detach().square().sum()).backward()
    assert x.grad is not None
