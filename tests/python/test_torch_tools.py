"""Layers and operators under PyTorch's tools: checkpoint, DDP, deepcopy, export,
functional_call, compile, vmap."""

import copy
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import clattn
import pytest

torch = pytest.importorskip("torch")
import clattn.torch as ours  # noqa: E402
from clattn import nn as layers  # noqa: E402
from test_torch import device  # noqa: E402, F401
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

Torch = Any
D, H = 8, 2
ROWS = [3, 0, 5]
N = sum(ROWS)


def make() -> list[tuple[str, Any, Any]]:
    """A layer of each module, and what it is called with beside x."""
    torch.manual_seed(1)
    return [
        ("band", layers.SelfAttention(D, H, "csan1d", window=3, dropout=0.2), (ROWS,)),
        ("block", layers.SelfAttention(D, H, "block", block=2), (ROWS,)),
        ("custom", layers.SelfAttention(D, H, "custom", **ALIBI), (ROWS,)),
        ("levels", layers.Levels(3), (ROWS,)),
        ("lstm", First(layers.LSTM(D, D)), ()),
        ("gru", First(layers.GRU(D, D)), ()),
    ]


ALIBI = {
    "score": "s - slope[h] * abs(j - i)",
    "learn": {"slope": {"shape": ["heads"], "init": "alibi"}},
}


class First(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """The first result of a layer."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Torch) -> Torch:
        return self.layer(x)[0]


def gradients(layer: Any, call: Any) -> list[Torch]:
    layer.zero_grad()
    x = torch.linspace(-1, 1, N * D).view(N, D).requires_grad_()
    torch.manual_seed(3)
    y = call(x)
    y.square().sum().backward()
    return [y.detach(), x.grad, *(p.grad for p in layer.parameters())]


@pytest.mark.parametrize("case", make(), ids=lambda case: case[0])
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(case: Any, reentrant: bool) -> None:
    """The pass that is run again draws what the first one drew."""
    _, layer, rest = case
    want = gradients(layer, lambda x: layer(x, *rest))
    got = gradients(
        layer, lambda x: checkpoint(layer, x, *rest, use_reentrant=reentrant)
    )
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))


@pytest.mark.parametrize("case", make(), ids=lambda case: case[0])
def test_copies_and_functional_call(case: Any) -> None:
    _, layer, rest = case
    layer(torch.randn(N, D), *rest)  # leaves nothing behind that cannot be copied
    other = copy.deepcopy(layer)
    want = gradients(layer, lambda x: layer(x, *rest))
    got = gradients(other, lambda x: other(x, *rest))
    assert all(torch.equal(a, b) for a, b in zip(got, want, strict=True))
    if not hasattr(torch, "func"):
        pytest.skip("PyTorch has no functional_call before 2.0")
    own = {name: p * 1 for name, p in layer.named_parameters()}
    for p in other.parameters():
        p.data.zero_()
    y = gradients(layer, lambda x: torch.func.functional_call(other, own, (x, *rest)))
    assert all(torch.equal(a, b) for a, b in zip(y, want, strict=True))


def test_a_copy_of_gates_that_were_drawn() -> None:
    layer = layers.HardAttention(D)
    layer(torch.randn(N, D), ROWS)
    other = copy.deepcopy(layer)
    with pytest.raises(clattn.UsageError, match="no call has drawn gates"):
        other.policy_loss(torch.zeros(N))
    layer.policy_loss(torch.zeros(N)).backward()


@pytest.mark.filterwarnings("ignore:Input #")
@pytest.mark.parametrize("case", make(), ids=lambda case: case[0])
def test_gradcheck(case: Any) -> None:
    """Float32: a step of 1e-2 has an error near 1e-4 of its own."""
    _, layer, rest = case
    layer.eval()
    x = torch.linspace(-1, 1, N * D).view(N, D).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda *given: layer(given[0], *rest),
        [x, *layer.parameters()],
        eps=1e-2,
        atol=2e-2,
        rtol=2e-2,
        fast_mode=True,
    )


def test_no_gradient_of_a_gradient() -> None:
    for _, layer, rest in make():
        x = torch.randn(N, D, requires_grad=True)
        y = layer(x, *rest).square().sum()
        (grad,) = torch.autograd.grad(y, x, create_graph=True)
        with pytest.raises(clattn.GradientError, match="differentiate twice"):
            grad.sum().backward()


# ---- compile, export, vmap -----------------------------------------------------------


@pytest.mark.parametrize("kind", ["softmax", "custom"])
def test_a_layer_compiles_and_exports(kind: str) -> None:
    if not hasattr(torch.library, "register_vmap"):
        pytest.skip("PyTorch has no such operators before 2.5")
    torch.manual_seed(1)
    keys: dict[str, Any] = ALIBI if kind == "custom" else {}
    layer = layers.SelfAttention(D, H, kind, **keys)
    x, lengths = torch.randn(2, 5, D), torch.tensor([5, 3])
    want = layer(x, lengths)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, lengths), want)
    compiled(x, lengths).sum().backward()
    grads = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    layer(x, lengths).sum().backward()
    for p, grad in zip(layer.parameters(), grads, strict=True):
        torch.testing.assert_close(grad, p.grad, rtol=1e-5, atol=1e-5)
    program = torch.export.export(layer, (x, lengths))
    assert "packed_attention" in str(program.graph)
    torch.testing.assert_close(program.module()(x, lengths), want)


def test_other_layers_break_the_graph() -> None:
    """They run outside of compiled code, with the same numbers."""
    if not hasattr(getattr(torch, "compiler", None), "disable"):
        pytest.skip("PyTorch has none before 2.1")
    layer = make()[0][1].eval()
    x = torch.randn(N, D)
    compiled = torch.compile(layer, backend="eager")
    torch.testing.assert_close(compiled(x, ROWS), layer(x, ROWS))
    torch._dynamo.reset()
    whole = torch.compile(layer, backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported):
        whole(x, ROWS)


def test_vmap_is_refused_by_name() -> None:
    if not hasattr(torch, "func"):
        pytest.skip("PyTorch has none before 2.0")
    x = torch.randn(2, N, H, 4)
    band = torch.func.vmap(lambda y: ours.band_attention(y, y, y, ROWS, 3))
    with pytest.raises(
        clattn.GradientError, match=r"band_attention: torch.func .*Vmap"
    ):
        band(x)


# ---- two processes -------------------------------------------------------------------

WORKER = """
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from clattn import nn as layers

rank, port = int(sys.argv[1]), sys.argv[2]
dist.init_process_group(
    "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2
)
torch.manual_seed(1)
layer = layers.SelfAttention(8, 2, "csan1d", window=3)
both = torch.linspace(-1, 1, 2 * 5 * 8).view(2, 5, 8)
model = DistributedDataParallel(layer)
steps = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    steps.zero_grad()
    model(both[rank : rank + 1]).square().mean().backward()
    steps.step()
if rank == 0:
    torch.save(layer.state_dict(), sys.argv[3])
dist.destroy_process_group()
"""


def test_two_processes(tmp_path: Path) -> None:
    """Their parameters after three steps are those of one process with both halves."""
    if not torch.distributed.is_available():
        pytest.skip("PyTorch was built without torch.distributed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    script, saved = tmp_path / "worker.py", tmp_path / "state.pt"
    script.write_text(WORKER)
    workers = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), port, str(saved)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [worker.communicate(timeout=300)[1] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.returncode for worker in workers] == [0, 0], said
    torch.manual_seed(1)
    layer = layers.SelfAttention(D, H, "csan1d", window=3)
    first = copy.deepcopy(layer.state_dict())
    both = torch.linspace(-1, 1, 2 * 5 * 8).view(2, 5, 8)
    steps = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        steps.zero_grad()
        layer(both).square().mean().backward()
        steps.step()
    for name, got in torch.load(saved).items():
        assert not torch.equal(got, first[name]) or name.endswith("bias")
        torch.testing.assert_close(got, layer.state_dict()[name], rtol=1e-5, atol=1e-6)
