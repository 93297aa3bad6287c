"""Tensors of PyTorch that CPU devices use in place, and those that they copy."""

import threading
import weakref
from collections.abc import Callable
from typing import Any

import clattn
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import clattn.torch as ours  # noqa: E402
from test_torch import CASES, device  # noqa: E402, F401

Torch = Any
H, D = 4, 8
ROWS = [5, 0, 7]
N = sum(ROWS)
LINE = 64  # bytes: where a tensor must begin


@pytest.fixture
def own() -> Any:
    """A runtime of its own, whose copies are counted."""
    with clattn.Runtime() as made:
        if made.device.kind != clattn.DeviceKind.CPU:
            pytest.skip("the device is no CPU")
        ours.use(made)
        made.profile()
        yield made


def written(runtime: clattn.Runtime, call: Callable[[], Any]) -> int:
    """The bytes that a call copies to the device."""

    def total() -> int:
        rows = runtime.profile_rows
        return sum(row.bytes for row in rows if row.kernel == "(write)")

    before = total()
    call()
    return total() - before


def at(offset: int, *shape: int) -> Torch:
    """Numbers that begin so many bytes behind a line, between others."""
    size = torch.Size(shape).numel()
    base = torch.full((size + 3 * LINE // 4,), 7.0)
    first = (-base.data_ptr() % LINE + offset) // 4
    x = base[first : first + size].view(shape)
    x.copy_(torch.randn(shape))
    assert x.data_ptr() % LINE == offset
    x.around = base
    return x


def band(q: Torch, k: Torch, v: Torch) -> Torch:
    return ours.band_attention(q, k, v, ROWS, 3)


def test_tensors_on_lines_are_not_copied(own: clattn.Runtime) -> None:
    torch.manual_seed(1)
    q, k, v = (at(0, N, H, D) for _ in range(3))
    off = at(4, N, H, D).copy_(q)
    tables = written(own, lambda: band(q, k, v))  # of the lengths
    assert tables < 4 * q.numel()
    assert written(own, lambda: band(off, k, v)) == tables + 4 * q.numel()
    assert torch.equal(band(q, k, v), band(off, k, v))


@pytest.mark.parametrize("offset", [0, 4, 32])
def test_results_and_what_lies_around(own: clattn.Runtime, offset: int) -> None:
    """The bits of a copy, gradients too, and nothing is written to inputs' memory."""
    torch.manual_seed(1)
    leaves = [at(offset, N, H, D).requires_grad_() for _ in range(3)]
    bases = [x.around.clone() for x in leaves]
    fresh = [x.detach().clone().requires_grad_() for x in leaves]
    dy = at(offset, N, H, D)
    made = torch.autograd.grad(band(*leaves), leaves, dy)
    want = torch.autograd.grad(band(*fresh), fresh, dy.clone())
    assert all(torch.equal(a, b) for a, b in zip(made, want, strict=True))
    for x, base in zip(leaves, bases, strict=True):
        assert torch.equal(x.around, base)


@pytest.mark.parametrize("training", [False, True])
def test_parts_of_a_projection_are_not_copied(
    own: clattn.Runtime, training: bool
) -> None:
    """q, k and v as columns of one tensor, with the bits of dense ones."""
    torch.manual_seed(1)
    fused = at(0, N, 3, H, D).requires_grad_(training)
    dense = fused.detach().clone().requires_grad_(training)
    parts, copies = fused.unbind(1), [x.contiguous() for x in dense.unbind(1)]
    assert written(own, lambda: band(*parts)) == written(own, lambda: band(*copies))
    got, want = band(*parts), band(*copies)
    assert torch.equal(got, want)
    if training:
        dy = torch.randn(got.shape)
        got.backward(dy)
        want.backward(dy)
        assert torch.equal(fused.grad, dense.grad)


def test_other_strides_are_copied_once(own: clattn.Runtime) -> None:
    """By PyTorch: turned axes, rows with a gap, parts that begin off a line."""
    torch.manual_seed(1)
    turned = [torch.randn(N, D, H).transpose(1, 2) for _ in range(3)]
    gaps = [torch.randn(N, H, D + 3)[..., :D] for _ in range(3)]
    off = list(at(4, N, 3, H, D).unbind(1))
    ends = [torch.randn(2 * N * H * D)[-N * H * D :].view(N, H, D)] * 3
    for given in (turned, gaps, off, ends):
        dense = [x.contiguous().clone() for x in given]
        assert torch.equal(band(*given), band(*dense))
        tables = written(own, lambda dense=dense: band(*dense))
        more = written(own, lambda given=given: band(*given)) - tables
        assert more in (0, 4 * dense[0].numel())


def test_parts_that_share_columns(own: clattn.Runtime) -> None:
    """Each has a gradient of its own, whatever the others read; some want none."""
    torch.manual_seed(1)
    leaf = at(0, N, 3, H, D).requires_grad_()
    dense = leaf.detach().clone().requires_grad_()

    def gradient(x: Torch, copied: bool) -> Torch:
        q, k, v = x.unbind(1)
        given = [q, q.detach(), k, v.detach()]
        if copied:
            given = [y.contiguous().clone() for y in given]
        a, b, c, d = given
        o = band(a, b, c) + 2 * band(c, d, a) + 3 * band(d, a, a)
        return torch.autograd.grad(o.square().sum(), x)[0]

    torch.testing.assert_close(
        gradient(leaf, False), gradient(dense, True), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_every_operator_takes_parts(
    own: clattn.Runtime, case: Any, rng: np.random.Generator
) -> None:
    """Its tensors as columns of wider ones, where three axes allow that."""
    _, shapes, layer, _ = case
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    dense = [torch.from_numpy(a).clone().requires_grad_() for a in arrays]
    parts = []
    for x in dense:
        wide = torch.full((x.shape[0], 2, *x.shape[1:]), torch.nan)
        wide[:, 1] = x.detach()
        parts.append(wide[:, 1].detach().requires_grad_())
    got, want = layer(*parts), layer(*dense)
    assert torch.equal(got, want)
    dy = torch.randn(got.shape)
    got.backward(dy)
    want.backward(dy)
    for one, other in zip(parts, dense, strict=True):
        assert torch.equal(one.grad, other.grad)


def test_a_tensor_that_is_passed_thrice(own: clattn.Runtime) -> None:
    """Without gradients it is lent once; with them each argument has its own."""
    torch.manual_seed(1)
    x = at(0, N, H, D)
    parts = [x.clone().requires_grad_() for _ in range(3)]
    want = band(*parts)
    assert torch.equal(band(x, x, x), want)
    want.square().sum().backward()
    x.requires_grad_()
    band(x, x, x).square().sum().backward()
    total = parts[0].grad + parts[1].grad + parts[2].grad
    torch.testing.assert_close(x.grad, total, rtol=1e-6, atol=1e-6)
    y = x.detach().requires_grad_()  # the same memory, another leaf
    band(y, x.detach(), x.detach()).square().sum().backward()
    torch.testing.assert_close(y.grad, parts[0].grad, rtol=1e-6, atol=1e-6)


def test_changes_in_place(own: clattn.Runtime) -> None:
    """Of a result they change nothing else; of an input autograd refuses them."""
    torch.manual_seed(1)
    x = at(0, N, H, D).requires_grad_()
    (want,) = torch.autograd.grad(band(x, x, x).mul(2).sum(), x)
    o = band(x, x, x)
    (got,) = torch.autograd.grad(o.mul_(2).sum(), x)
    assert torch.equal(want, got)
    y = x * 1
    o = band(y, y, y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        o.sum().backward()


def test_a_graph_keeps_what_it_reads(own: clattn.Runtime) -> None:
    """Tensors that the caller dropped are read again by the backward pass."""
    torch.manual_seed(1)
    x = at(0, N, H, D).requires_grad_()
    (want,) = torch.autograd.grad(band(x * 2, x * 3, x * 4).sum(), x)
    o = band(x * 2, x * 3, x * 4)
    noise = [torch.full((N, H, D), torch.nan) for _ in range(50)]
    (got,) = torch.autograd.grad(o.sum(), x)
    assert torch.equal(want, got) and len(noise) == 50


@pytest.mark.parametrize("padding", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_heads_become_sequences(
    own: clattn.Runtime, padding: bool, causal: bool
) -> None:
    """A dense [B,H,T,d] is used as it is, with the numbers of a transposed one."""
    torch.manual_seed(1)
    q, k, v = (at(0, 2, H, 6, D) for _ in range(3))
    turned = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    mask = None
    if padding:
        mask = (torch.arange(6) < torch.tensor([[6], [4]]))[:, None, None]
    if causal and padding:
        got, want = (
            ours.attention(*x, lengths=[6, 4], causal=True) for x in ((q, k, v), turned)
        )
    else:
        got, want = (
            ours.scaled_dot_product_attention(*x, mask, is_causal=causal)
            for x in ((q, k, v), turned)
        )
    assert got.shape == want.shape
    torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6)


def test_lengths_are_named_by_their_own_number(own: clattn.Runtime) -> None:
    x = at(0, 2, H, 6, D)
    with pytest.raises(clattn.ShapeError, match=r"lengths\[1\] is 7"):
        ours.attention(x, x, x, lengths=[6, 7])
    with pytest.raises(clattn.ShapeError, match="lengths has 3 sequences, q 2"):
        ours.attention(x, x, x, lengths=[6, 6, 6])


def test_memory_outlives_its_tensor(own: clattn.Runtime) -> None:
    """Another call holds the runtime: what is dropped meanwhile is freed after it."""
    x = at(0, N, H, D)
    gone = weakref.ref(x)
    tensor = clattn.Tensor._borrow(own, x, x.data_ptr(), x.shape, clattn.Dtype.F32)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with own.lock:
            held.set()
            done.wait(60)

    other = threading.Thread(target=hold)
    other.start()
    held.wait(60)
    del x, tensor
    assert gone() is not None
    done.set()
    other.join()
    own.finish()
    assert gone() is None


def test_an_error_leaves_no_work_behind(own: clattn.Runtime) -> None:
    x = at(0, N, H, D)
    with pytest.raises(clattn.ShapeError):
        band(x, x[:, :2], x)
    del x
    y = at(0, N, H, D)
    assert torch.isfinite(band(y, y, y)).all()
