"""attention with modifiers, of packed, padded and nested batches.

A modifier is a function of Python: ours translates it, the reference calls it with
PyTorch's tensors in float64.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any

import clattn
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import clattn.torch as ours  # noqa: E402
from clattn._trace import Traced, Tracing  # noqa: E402
from clattn._translate import RULES, expression  # noqa: E402
from test_torch import device  # noqa: E402, F401

Torch = Any
H, D = 2, 4
L, K = [3, 0, 5], [4, 2, 3]
N = sum(L)
BAR = 1e-4
SLOPE = torch.tensor([0.5, -0.25], requires_grad=True)
TABLE = torch.linspace(-1, 1, 2 * 5 * 5).reshape(2, 5, 5).requires_grad_()
HEAT = torch.tensor(1.5, requires_grad=True)
DOCUMENTS = torch.tensor([[0, 0, 1, 1, 1]] * 3)
SHOWN = torch.tensor([True, False, True, True, True])
ALIASES = {"score": "s", "q_idx": "i", "kv_idx": "j"}


def infinite(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    biased = score + (q_idx - kv_idx) * SLOPE[h]
    return torch.where(q_idx >= kv_idx, biased, -float("inf"))


# Few of them, as each makes kernels of its own.
MODIFIERS: dict[str, dict[str, Any]] = {
    "as flex_attention's": {"score": infinite},
    "documents": {
        "score": lambda s, h, i, j: 3 * torch.tanh(HEAT * s / 3) + TABLE[h, i, j],
        "mask": lambda b, i, j: (DOCUMENTS[b, i] == DOCUMENTS[b, j]) & SHOWN[j],
    },
    "gate": {
        "mask": lambda i, j: (i // 2 == j // 2) | ~(j >= 1),
        "weight": lambda w, h, i: w * torch.sigmoid(SLOPE[h] * i),
        "window": 3,
    },
}


def evaluate(function: Callable[..., Any], values: dict[str, Any]) -> Any:
    names = [ALIASES.get(n, n) for n in inspect.signature(function).parameters]
    return function(*(values[n] for n in names))


def modified(q: Torch, k: Torch, b: int, scale: float, o: dict[str, Any]) -> Torch:
    """The weights [H,t,s] of a sequence."""
    s = torch.einsum("ihd,jhd->hij", q, k) * scale
    i, j = torch.arange(len(q))[:, None], torch.arange(len(k))[None]
    values = {"s": s, "i": i, "j": j, "b": b, "h": torch.arange(H)[:, None, None]}
    shown = torch.ones_like(s, dtype=torch.bool)
    if "mask" in o:
        shown = shown & evaluate(o["mask"], values)
    if "window" in o:
        shown = shown & (abs(i - j) <= o["window"] // 2)
    if "score" in o:
        s = evaluate(o["score"], values)
    empty = ~shown.any(-1, keepdim=True)
    w = torch.softmax(s.masked_fill(~shown & ~empty, -math.inf), -1)
    w = w.masked_fill(empty, 0)
    return evaluate(o["weight"], values | {"w": w}) if "weight" in o else w


def reference(
    q: Torch, k: Torch, v: Torch, q_rows: Any, k_rows: Any, scale: Any = None, **o: Any
) -> Torch:
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    parts = zip(q.split(q_rows), k.split(k_rows), v.split(k_rows), strict=True)
    made = [
        torch.einsum("hij,jhd->ihd", modified(x, y, b, scale, o), z)
        for b, (x, y, z) in enumerate(parts)
    ]
    return torch.cat(made)


def compare(got: Torch, want: Torch, mine: Any, wide: Any) -> None:
    """Results, and gradients by the same direction."""
    torch.testing.assert_close(got.double(), want, rtol=BAR, atol=BAR)
    dy = torch.randn(want.shape, dtype=torch.float64)
    options = {"allow_unused": True}
    a = torch.autograd.grad(got, mine, dy.to(got.dtype), **options)
    b = torch.autograd.grad(want, wide, dy, **options)
    for x, y, leaf in zip(a, b, wide, strict=True):
        x, y = (torch.zeros_like(leaf) if g is None else g for g in (x, y))
        torch.testing.assert_close(x.double(), y.double(), rtol=BAR, atol=BAR)


def make(*shapes: tuple[int, ...]) -> tuple[list[Torch], list[Torch]]:
    """Tensors, and the same in float64."""
    single = [torch.randn(shape).requires_grad_() for shape in shapes]
    return single, [x.detach().double().requires_grad_() for x in single]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(3)


@pytest.mark.parametrize("name", MODIFIERS)
def test_modifiers(name: str) -> None:
    options = MODIFIERS[name]
    single, double = make((N, H, D), (N, H, D), (N, H, D))
    learned = [SLOPE, TABLE, HEAT]
    got = ours.attention(*single, lengths=L, **options)
    want = reference(*double, L, L, **options)
    compare(got, want, single + learned, double + learned)


def test_a_text_and_a_function() -> None:
    q, k, v = make((N, H, D), (N, H, D), (N, H, D))[0]
    slope = torch.rand(H)
    text = ours.attention(q, k, v, L, score="s - slope[h] * abs(j - i)", slope=slope)
    custom = ours.custom_attention(
        q, k, v, L, L, score="s - slope[h] * abs(j - i)", slope=slope
    )
    assert torch.equal(text, custom)

    def named(s: Any, h: Any, i: Any, j: Any, slope: Any, *, by: float = 1) -> Any:
        return s - by * slope[h] * abs(j - i)

    def captures(s: Any, h: Any, i: Any, j: Any) -> Any:
        return s - slope[h] * abs(j - i)

    for score, inputs in ((named, {"slope": slope}), (captures, {})):
        got = ours.attention(q, k, v, L, score=score, **inputs)
        torch.testing.assert_close(got, text)
    inputs = {"captured1": torch.zeros(1)}  # a name that is taken
    text, _ = expression("attention", "score", captures, inputs)
    assert "captured2[h]" in text and inputs["captured2"] is slope


# ---- layouts -------------------------------------------------------------------------


def test_packed() -> None:
    (q, k, v), double = make((N, H, D), (sum(K), H, D), (sum(K), H, 3))
    got = ours.attention(q, k, v, L, K, scale=0.3)
    compare(got, reference(*double, L, K, scale=0.3), (q, k, v), double)
    want = ours.attention(q, q, q, L, L)
    starts = [0, 3, 3, 8]
    for given in (starts, np.array(starts), torch.tensor(starts),
                  torch.tensor(starts, dtype=torch.int32)):  # fmt: skip
        assert torch.equal(ours.attention(q, q, q, cu_seqlens=given), want)
    for rows in (L, torch.tensor(L), iter(L)):
        assert torch.equal(ours.attention(q, q, q, lengths=rows), want)


def padded(x: Torch, rows: list[int], size: int) -> Torch:
    """[B,H,T,d] of packed x, with NaN behind the ends."""
    made = x.new_full((len(rows), size, *x.shape[1:]), math.nan)
    for b, part in enumerate(x.split(rows)):
        made[b, : len(part)] = part
    return made.transpose(1, 2)


def unpadded(x: Torch, rows: list[int]) -> Torch:
    return torch.cat([x[b, :, :n].transpose(0, 1) for b, n in enumerate(rows)])


def test_padded() -> None:
    """What is behind the ends reaches nothing and gets no results and gradients."""
    single, double = make((N, H, D), (sum(K), H, D), (sum(K), H, 3))
    q, k, v = (padded(x, r, 6) for x, r in zip(single, (L, K, K), strict=True))
    options = MODIFIERS["documents"]
    got = ours.attention(q, k, v, torch.tensor(L), K, **options)
    want = reference(*double, L, K, **options)
    compare(unpadded(got, L), want, single, double)
    assert got.shape == (3, H, 6, 3) and not got[1].any() and not got[0, :, 3:].any()
    short = ours.attention(q, k[:, :, :4], v[:, :, :4], L, K, **options)
    torch.testing.assert_close(short, got)


def test_padded_without_lengths() -> None:
    single, double = make((2, H, 3, D), (2, H, 4, D), (2, H, 4, D))
    got = ours.attention(*single)
    flat = [x.transpose(1, 2).flatten(0, 1) for x in double]
    want = reference(*flat, [3, 3], [4, 4]).view(2, 3, H, D).transpose(1, 2)
    compare(got, want, single, double)
    for shape in ((0, H, 3, D), (2, H, 0, D), (2, 0, 3, D)):
        x = torch.ones(shape, requires_grad=True)
        y = ours.attention(x, x, x)
        y.sum().backward()
        assert y.shape == shape and x.grad.shape == shape


def test_strides_and_fewer_heads() -> None:
    x, wide = make((2, 5, 8, D))
    parts, double = (
        [y[0][:, :, :4], y[0][:, :, 4:6], y[0][:, :, 6:]] for y in (x, wide)
    )
    got = ours.attention(
        *(y.transpose(1, 2) for y in parts), lengths=[5, 2], enable_gqa=True
    )
    many = [y.repeat_interleave(4 // y.shape[2], 2) for y in double]
    flat = [torch.cat([y[0], y[1, :2]]) for y in many]
    scores = [torch.einsum("ihd,jhd->hij", *(y.split([5, 2])[b] for y in flat[:2]))
              for b in range(2)]  # fmt: skip
    o = torch.cat([
        torch.einsum("hij,jhd->ihd", torch.softmax(s / 2, -1), flat[2].split([5, 2])[b])
        for b, s in enumerate(scores)
    ])  # fmt: skip
    compare(unpadded(got, [5, 2]), o, x, wide)
    packed = [y.reshape(10, -1, D) for y in parts]
    assert ours.attention(*packed, [6, 4], enable_gqa=True).shape == (10, 4, D)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested() -> None:
    if not hasattr(torch.nested, "nested_tensor_from_jagged"):
        pytest.skip("PyTorch has none before 2.4")
    (x,), (wide,) = make((N, H, D))
    starts = torch.tensor([0, 3, 3, 8])
    nested = torch.nested.nested_tensor_from_jagged(x, starts)
    for turn in (lambda y: y, lambda y: y.transpose(1, 2)):
        given = turn(nested)
        got = ours.attention(given, given, given)
        assert got.is_nested and got.shape == given.shape
        want = reference(wide, wide, wide, L, L)
        compare(turn(got).values(), want, [x], [wide])
    with pytest.raises(clattn.ShapeError, match="attention: k must be a nested"):
        ours.attention(nested, x, nested)
    with pytest.raises(clattn.UsageError, match="lengths must be None: nested"):
        ours.attention(nested, nested, nested, lengths=L)


def test_types() -> None:
    x = torch.randn(2, H, 4, D)
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        given = x.to(dtype).requires_grad_()
        got = ours.attention(given, given, given, lengths=[4, 2])
        want = ours.attention(*[given.detach().float()] * 3, lengths=[4, 2])
        assert got.dtype == dtype and torch.equal(got, want.to(dtype))
        got.sum().backward()
        assert given.grad.dtype == dtype
    half, slope = x.bfloat16(), torch.rand(H, requires_grad=True)
    alibi = "s - slope[h] * abs(j - i)"
    got = ours.attention(half, half, half, score=alibi, slope=slope)
    assert got.dtype == torch.bfloat16  # that of q, not of what is learned beside it


def test_no_gradient_of_a_gradient() -> None:
    q = torch.randn(2, H, 4, D, requires_grad=True)
    y = ours.attention(q, q, q)
    (grad,) = torch.autograd.grad(y.square().sum(), q, create_graph=True)
    with pytest.raises(clattn.GradientError, match="attention: trying to"):
        grad.square().sum().backward()


# ---- translation ---------------------------------------------------------------------

# An argument list for each rule: x and y are floats of 0 to 1, i and j whole numbers.
SAMPLES = {
    **dict.fromkeys(["sub", "subtract", "pow", "maximum", "minimum"], "x y"),
    **dict.fromkeys(["floor_divide", "floordiv", "remainder", "mod"], "i three"),
    **dict.fromkeys(["eq", "ne", "not_equal", "lt", "less", "le", "less_equal"], "i j"),
    **dict.fromkeys(["gt", "greater", "ge", "greater_equal"], "i j"),
    **dict.fromkeys(["and", "or", "xor", "logical_and", "logical_or"], "c e"),
    **dict.fromkeys(["logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"], "c e"),
    **dict.fromkeys(["add", "mul", "multiply"], "x y"),
    **dict.fromkeys(["div", "divide", "true_divide", "truediv"], "x three"),
    **dict.fromkeys(["logical_not", "bitwise_not", "invert"], "c"),
    **dict.fromkeys(["clamp", "clip"], "x low high"),
    "where": "c x y",
    "to": "i dtype",
}
PYTHONS = {
    "floordiv": "floor_divide", "mod": "remainder", "and": "logical_and",
    "or": "logical_or", "xor": "logical_xor", "invert": "logical_not",
    "truediv": "div", "expit": "sigmoid", "pos": "positive",
}  # fmt: skip


def apply_rule(name: str, values: dict[str, Any]) -> Any:
    given = [values[v] for v in SAMPLES.get(name, "x").split()]
    if isinstance(given[0], Traced):
        return given[0].of.call(name, given, {})
    function = getattr(torch, PYTHONS.get(name, name), None)
    function = torch.nn.functional.silu if name == "silu" else function
    if function is None or name in ("float", "double", "int", "long"):
        return getattr(given[0], PYTHONS.get(name, name))(*given[1:])
    return function(*given)


def test_every_rule() -> None:
    """All rules in three expressions, against PyTorch's functions."""
    constants = {"three": 3, "low": 0.25, "high": 0.5, "dtype": torch.float32}
    q, v = torch.zeros(4, 1, D), torch.eye(4)[:, None]
    x, y = torch.rand(2, 4, 4)
    i, j = torch.arange(4)[:, None], torch.arange(4)[None]
    for start in range(3):
        chosen = sorted(RULES)[start::3]

        def score(i: Any, j: Any, x: Any, y: Any, chosen: Any = tuple(chosen)) -> Any:
            values = {"x": x[i, j], "y": y[i, j], "i": i, "j": j}
            values |= {"c": i < j, "e": i > 2} | constants
            made = [apply_rule(name, values) * (k + 1) for k, name in enumerate(chosen)]
            return sum(made[1:], made[0]) / 50

        got = ours.attention(q, q, v, [4], score=score, x=x, y=y)[:, 0]
        want = torch.softmax(score(i, j, x, y), -1)
        torch.testing.assert_close(got, want.float())


REFUSED: list[tuple[str, Callable[..., Any]]] = [
    ("torch.where", lambda s: s if s > 0 else -s),
    ("torch.maximum", lambda s: max(s, 0)),
    ("those of math do not", lambda s: math.exp(s)),
    ("those of math do not", lambda s, i: range(i)),
    ("round cannot", lambda s: torch.round(s)),
    ("cumsum cannot", lambda s: s.cumsum(0)),
    ("matmul cannot", lambda s: s @ s),
    ("div with these arguments", lambda s, i: torch.div(s, i, rounding_mode="floor")),
    ("argument 'x'", lambda s, x: s),
    (r"argument '\*s'", lambda *s: s),
    ("'w' .* not known", lambda s, w: s),
    ("index must be a whole number", lambda s: SLOPE[s]),
    ("index 2 is outside", lambda h: TABLE[h, 2, h] + TABLE[2, h, h]),
    ("without slices", lambda s, h: s + TABLE[h, :, h]),
    ("with 2 indices", lambda s, h: s + SLOPE[h, h]),
    (r"\[2\] must be read", lambda s: s + SLOPE),
    (r"\[2, 5, 5\] must be read", lambda s, h: s + TABLE[h]),
    ("-inf may only be", lambda s, i, j: 2 * torch.where(i < j, s, -math.inf)),
    ("inf is no number", lambda s: s + math.inf),
    ("outside 32 bits", lambda s: s + 2**31),
    ("no condition", lambda s: torch.where(s, 1, 2)),
    ("% takes whole", lambda s: s % 2),
    ("NoneType is no number", lambda s: None),
    ("no list", lambda s: [*s]),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_no_expression(number: int) -> None:
    words, function = REFUSED[number]
    with pytest.raises(clattn.UsageError, match=f"^attention: score: .*{words}"):
        print(expression("attention", "score", function, {}))


def test_the_tracing_sees_no_other_calls() -> None:
    """Tensors are computed as ever, inside a modifier, too."""
    t = Tracing("attention", "score", {}, RULES)
    with t:
        assert torch.equal(torch.exp(SLOPE)[0], torch.exp(SLOPE[0])) and not t.inputs
    q = torch.randn(N, H, D)
    log = torch.tensor([0.1, 0.2], requires_grad=True)
    ours.attention(q, q, q, L, score=lambda s, h: s * log.exp()[h]).sum().backward()
    assert log.grad.abs().min() > 0


def refused() -> Any:
    x, p = torch.ones(8, H, D), torch.ones(2, H, 5, D)
    shape, usage = clattn.ShapeError, clattn.UsageError
    yield "q_rows is missing", [x, x, x], {}, usage
    yield "lengths must be None", [x, x, x, L], {"lengths": L}, usage
    yield "lengths has 9 tokens", [x, x, x], {"lengths": [4, 5]}, shape
    yield "k_rows has 1 sequences", [x, x, x, L, [8]], {}, shape
    yield r"lengths\[1\] is 6", [p, p, p], {"lengths": [5, 6]}, shape
    yield "lengths has 1 sequences", [p, p, p], {"lengths": [5]}, shape
    yield "needs k_rows", [p, p[:, :, 1:], p[:, :, 1:]], {"lengths": [5, 4]}, shape
    yield "cu_seqlens is for packed", [p, p, p], {"cu_seqlens": [0, 5, 10]}, shape
    yield "cu_seqlens must begin", [x, x, x], {"cu_seqlens": [1, 8]}, usage
    yield "k is .* other axes", [x, p, p, L], {}, shape
    yield "q is .* must be", [x[0], x[0], x[0], L], {}, shape
    yield "v is .* tokens differ", [p, p, p[:, :, 1:]], {}, shape
    yield "k is .* heads differ", [p, p[:, 1:], p[:, 1:]], {}, shape
    yield "k is .* widths differ", [p, p[..., 1:], p], {}, shape
    yield "window is 4", [p, p, p], {"window": 4}, usage
    yield "dropout is 1", [p, p, p], {"dropout": 1}, usage
    yield "no expression reads slope", [p, p, p], {"slope": SLOPE}, usage
    yield "is a ndarray", [p, p, p], {"score": "s*g[h]", "g": np.ones(2)}, usage
    yield "mask: i is no condition", [p, p, p], {"mask": lambda i: i}, usage


def test_refused() -> None:
    for words, given, options, kind in refused():
        with pytest.raises(kind, match=rf"^attention: .*{words}"):
            ours.attention(*given, **options)
            print(words)
