"""Blocks of resident(), on a device that is made to copy all tensors."""

from collections.abc import Callable, Iterator
from typing import Any

import clattn
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import clattn.torch as ours  # noqa: E402
from clattn import _lent, _resident  # noqa: E402
from test_docs import has  # noqa: E402
from test_torch import CASES, device  # noqa: E402, F401

if not has("torch 2.0"):
    pytest.skip("PyTorch has no untyped_storage before 2.0", allow_module_level=True)
Torch = Any
H, D = 4, 8
ROWS = [5, 0, 7]
N = sum(ROWS)
SIZE = 4 * N * H * D  # bytes of a tensor


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[clattn.Runtime]:
    monkeypatch.setattr(_lent, "reads_host", lambda runtime: False)
    torch.manual_seed(1)
    with clattn.Runtime() as made:
        ours.use(made)
        made.profile()
        yield made


def moved(runtime: clattn.Runtime, call: Callable[[], Any]) -> tuple[int, int]:
    """How many tensors a call copies to the device and back, but for tables of rows."""

    def total(kernel: str) -> int:
        rows = runtime.profile_rows
        return sum(row.bytes for row in rows if row.kernel == kernel)

    before = [total(way) for way in ("(write)", "(read)")]
    call()
    to, back = (
        total(way) - was for way, was in zip(("(write)", "(read)"), before, strict=True)
    )
    return to // SIZE, back // SIZE


def band(q: Torch, k: Torch, v: Torch) -> Torch:
    return ours.band_attention(q, k, v, ROWS, 3)


def make(count: int = 3, grad: bool = False) -> list[Torch]:
    return [torch.randn(N, H, D, requires_grad=grad) for _ in range(count)]


def chain(q: Torch, k: Torch, v: Torch) -> Torch:
    return band(band(band(q, k, v), k, v), k, v)


def test_a_chain_is_copied_once(own: clattn.Runtime) -> None:
    given = make()
    assert moved(own, lambda: chain(*given)) == (9, 3)
    with ours.resident():
        assert moved(own, lambda: chain(*given)) == (3, 3)
        assert moved(own, lambda: chain(*given)) == (0, 3)
    assert moved(own, lambda: chain(*given)) == (9, 3)


def test_a_step_of_a_chain(own: clattn.Runtime) -> None:
    """The gradient of a result that one operator read comes from the device, too."""
    leaves, dy = make(3, True), torch.randn(N, H, D)

    def step() -> list[Torch]:
        return [*torch.autograd.grad(chain(*leaves), leaves, dy)]

    want = step()
    assert moved(own, step) == (12, 12)
    with ours.resident():
        got: list[Torch] = []
        assert moved(own, lambda: got.extend(step())) == (4, 12)
        again = step()
    for one in (got, again):
        assert all(torch.equal(a, b) for a, b in zip(one, want, strict=True))


def test_parts_of_a_projection(own: clattn.Runtime) -> None:
    fused = torch.randn(N, 3, H, D, requires_grad=True)

    def step() -> Torch:
        o = band(*fused.unbind(1)) + 2 * band(*fused.unbind(1))
        return torch.autograd.grad(o.sum(), fused)[0]

    want = step()
    before, _ = moved(own, step)
    with ours.resident():
        after, _ = moved(own, step)
        assert torch.equal(step(), want)
    assert after == before - 3


def steps() -> list[Callable[[Torch], None]]:
    def by(make: Any, **options: Any) -> Callable[[Torch], None]:
        def run(x: Torch) -> None:
            leaf = x.detach().requires_grad_()  # the same numbers and changes
            leaf.grad = torch.ones_like(x)
            make([leaf], lr=0.1, **options).step()

        return run

    optim = torch.optim
    made = [by(optim.SGD), by(optim.Adam), by(optim.AdamW, foreach=True)]
    if has("torch 2.4"):
        made += [by(optim.Adam, fused=True), by(optim.SGD, fused=True)]

    @torch.no_grad()
    def part(x: Torch) -> None:
        x.view(-1)[3:5].fill_(2)

    return [*made, part, lambda x: x.mul_(2), lambda x: x.copy_(x + 1)]


@pytest.mark.parametrize("number", range(len(steps())))
def test_changes_are_copied(own: clattn.Runtime, number: int) -> None:
    q, k, v = make()
    with ours.resident():
        band(q, k, v)
        o = band(q, k, v)
        for x in (q, o):
            before = x.clone()
            steps()[number](x)
            assert not torch.equal(x, before)
            got: list[Torch] = []
            to, _ = moved(own, lambda x=x, got=got: got.append(band(x, k, v)))
            assert to == 1
            assert torch.equal(got[0], band(x.clone(), k.clone(), v.clone()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_every_operator(
    own: clattn.Runtime, case: Any, rng: np.random.Generator
) -> None:
    """Its inputs come from the device, twice and with other wishes for gradients."""
    _, shapes, layer, _ = case
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    leaves = [torch.from_numpy(a).clone().requires_grad_() for a in arrays]
    want = layer(*leaves)
    dy = torch.randn(want.shape)
    grads = torch.autograd.grad(want, leaves, dy)
    with ours.resident():
        for _ in range(2):
            assert torch.equal(layer(*(x.detach() for x in leaves)), want)
            o = layer(*leaves)
            assert torch.equal(o, want)
            made = torch.autograd.grad(o, leaves, dy)
            assert all(torch.equal(a, b) for a, b in zip(made, grads, strict=True))


def test_a_result_outlives_its_step(own: clattn.Runtime) -> None:
    """The first graph runs backward, and frees its step, before the second one does."""
    leaves = make(3, True)
    with ours.resident():
        y = band(*leaves)
        x = y.detach().requires_grad_()
        z = band(x, *leaves[1:])
        torch.autograd.grad(y.sum(), leaves)
        (got,) = torch.autograd.grad(z.sum(), x)
        assert moved(own, lambda: band(y.detach(), y.detach(), y.detach()))[0] <= 1
    fresh = y.detach().clone().requires_grad_()
    (want,) = torch.autograd.grad(band(fresh, *leaves[1:]).sum(), fresh)
    assert torch.equal(got, want)


def test_retained_graphs_and_sums(own: clattn.Runtime) -> None:
    x, k, v = make(3, True)

    def grads() -> list[Torch]:
        y = band(x, k, v)
        o = (band(y, k, v) + 3 * band(v, y, y)).sum() + y.square().sum()
        first = torch.autograd.grad(o, (x, k, v), retain_graph=True)
        second = torch.autograd.grad(o, (x, k, v))
        return [*first, *second]

    want = grads()
    with ours.resident():
        got = grads()
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))


def test_device_memory_goes_with_the_tensors(own: clattn.Runtime) -> None:
    with ours.resident():
        for _ in range(3):
            band(*make())
        peak = own.peak_bytes
        for _ in range(9):
            band(*make())
        assert own.peak_bytes == peak
        kept = [band(*make()) for _ in range(9)]
        assert own.peak_bytes >= peak + 8 * SIZE and len(kept) == 9
        peak = own.peak_bytes
    for _ in range(9):
        kept.append(band(*make()))
    assert own.peak_bytes == peak


def test_tensors_without_a_count_and_other_runtimes(own: clattn.Runtime) -> None:
    q, k, v = make()
    want = band(q, k, v)
    with torch.inference_mode():
        dark = [x.clone() for x in (q, k, v)]
    with ours.resident():
        for _ in range(2):
            assert moved(own, lambda: band(*dark))[0] == 3
        assert torch.equal(band(q, k, v), want)
        with clattn.Runtime() as other:
            ours.use(other)
            assert torch.equal(band(q, k, v), want)
            ours.use(own)
        assert torch.equal(band(q, k, v), want)
        with ours.resident():
            assert moved(own, lambda: band(q, k, v))[0] == 3
        assert moved(own, lambda: band(q, k, v))[0] == 0
    assert _resident.current() is None


def test_where_nothing_is_copied_nothing_is_kept(
    own: clattn.Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    if own.device.kind != clattn.DeviceKind.CPU:
        pytest.skip("the device is no CPU")
    with ours.resident():
        band(*make())
        keeper = _resident.current()
        assert keeper is not None and not keeper._kept
