"""Each operator against NumPy, and its gradient against finite differences of that.

A forward result is a sum of at most a few hundred products of numbers near 1 in
float32: an error of eps sqrt(n) is 2e-6, and softmax and tanh add a handful of eps. The
bar is 1e-4 of the largest number. The reference is in double, so a central difference
with a step of 1e-5 has an error near 1e-9, and the gradient's bar is that of float32 sums
again.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import clattn
import numpy as np
import pytest
import reference as ref
from clattn import ops

BAR = 1e-4
N, H, D = 12, 2, 8
SHORT, LONG = [3, 0, 4], [5, 0, 7]  # with an empty sequence
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Case:
    """An operator with inputs: `shapes` are drawn, `fixed` are given."""

    name: str
    shapes: dict[str, tuple[int, ...]]
    call: Callable[..., clattn.Tensor]
    expect: Callable[..., Array]
    fixed: dict[str, Array] = field(default_factory=dict)
    rows: dict[str, list[int]] = field(default_factory=dict)
    constant: tuple[str, ...] = ()  # drawn, but without a gradient


def of(name: str) -> Callable[..., Any]:
    """The operator; its own arguments by name."""
    return lambda tape, **arguments: getattr(clattn, name)(tape, **arguments)


QKV = {"q": (N, H, D), "k": (N, H, D), "v": (N, H, D)}
CROSS = {"q": (7, H, D), "k": (N, H, D), "v": (N, H, D)}
ROWS = {"rows": LONG}
BOTH = {"q_rows": SHORT, "k_rows": LONG}
IDS = np.array([3, -1, 0, 4, 2, 2, 9], np.int32)
GATES = np.tile(np.array([1, 0, 1], np.float32), 15)[:43]  # 3*5 + 0 + 4*7 pairs


def a2(window: int, area: int) -> Case:
    return Case(
        "band_attention_2d",
        QKV,
        lambda tape, q, k, v, rows: clattn.band_attention_2d(
            tape, q, k, v, rows, window, area, clattn.Edge.TRUNCATE
        ),
        lambda q, k, v, rows: ref.band_attention_2d(q, k, v, rows, window, area),
        rows=ROWS,
    )


# fmt: off
# ruff: noqa: E501
CASES = [
    Case("attention", CROSS, of("attention"),
         lambda q, k, v, q_rows, k_rows: ref.attention(q, k, v, q_rows, k_rows), rows=BOTH),
    Case("attention", QKV,
         lambda tape, q, k, v, rows: clattn.attention(tape, q, k, v, rows, rows, causal=True),
         lambda q, k, v, rows: ref.attention(q, k, v, rows, rows, True), rows=ROWS),
    Case("band_attention", QKV,
         lambda tape, **a: clattn.band_attention(tape, **a, window=3),
         lambda q, k, v, rows: ref.attention(q, k, v, rows, rows, bias=ref.band(3)),
         rows=ROWS),
    a2(3, 1),
    a2(5, 3),
    Case("conv_attention_2d", {**QKV, "w": (H, 3, 5), "b": (H,)},
         lambda tape, **a: clattn.conv_attention_2d(
             tape, **a, activation=clattn.Activation.TANH, method=clattn.ConvMethod.AUTO),
         lambda q, k, v, w, b, rows: ref.conv_attention_2d(q, k, v, w, b, rows, 2),
         rows=ROWS),
    Case("conv_attention_1d", {**QKV, "w": (H, 3, 9, 9), "b": (H, 9)},
         lambda tape, **a: clattn.conv_attention_1d(
             tape, **a, activation=clattn.Activation.TANH),
         lambda q, k, v, w, b, rows: ref.conv_attention_1d(q, k, v, w, b, rows, 2),
         rows=ROWS),
    Case("position_attention", {**QKV, "absolute": (H, 9, 9), "relative": (H, 18)},
         of("position_attention"),
         lambda q, k, v, absolute, relative, rows: ref.attention(
             q, k, v, rows, rows, bias=ref.positions(absolute, relative)), rows=ROWS),
    *(Case("relative_attention", {**QKV, "rel_k": table, "rel_v": table},
           lambda tape, q, k, v, rel_k, rel_v, rows: clattn.relative_attention(
               tape, q, k, v, rel_k, rel_v, rows, rows),
           lambda q, k, v, rel_k, rel_v, rows: ref.relative_attention(
               q, k, v, rel_k, rel_v, rows), rows=ROWS)
      for table in ((7, D), (H, 7, D))),
    Case("gaussian_attention", {**QKV, "center": (N, H)},
         lambda tape, **a: clattn.gaussian_attention(tape, **a, reach=math.inf),
         lambda q, k, v, center, sigma, rows: ref.attention(
             q, k, v, rows, rows, bias=ref.gaussian(center, sigma)),
         fixed={"sigma": np.linspace(0.8, 3, N * H, dtype=np.float32).reshape(N, H)},
         rows=ROWS),
    Case("custom_attention", {**CROSS, "slope": (H,)},
         lambda tape, **a: clattn.custom_attention(
             tape, **a, score="s - slope[h] * abs(j - i)"),
         lambda q, k, v, slope, q_rows, k_rows: ref.custom_attention(
             q, k, v, q_rows, k_rows, lambda s, at: s - slope[at.h] * abs(at.j - at.i)),
         rows=BOTH),
    Case("custom_attention", {**QKV, "table": (H, 3)},
         lambda tape, rows, **a: clattn.custom_attention(
             tape, q_rows=rows, k_rows=rows, **a, mask="j <= i || j < prefix[b]",
             score="2 * tanh(s / 2) + table[h][bucket[clamp(j - i, -4, 4) + 4]]"),
         lambda q, k, v, table, prefix, bucket, rows: ref.custom_attention(
             q, k, v, rows, rows,
             lambda s, at: 2 * np.tanh(s / 2)
             + table[at.h][bucket[np.clip(at.j - at.i, -4, 4) + 4]],
             lambda s, at: (at.j <= at.i) | (at.j < prefix[at.b])),
         fixed={"prefix": np.array([2, 0, 3], np.int32),
                "bucket": np.array([0, 0, 1, 1, 2, 1, 1, 0, 0], np.int32)}, rows=ROWS),
    Case("custom_attention", {**QKV, "gate": (H,)},
         lambda tape, rows, **a: clattn.custom_attention(
             tape, q_rows=rows, k_rows=rows, **a, causal=True, window=7,
             mask="doc[ni] == doc[nj]", weight="w * w * gate[h]"),
         lambda q, k, v, gate, doc, rows: ref.custom_attention(
             q, k, v, rows, rows,
             mask=lambda s, at: (doc[at.ni] == doc[at.nj]) & (at.j <= at.i)
             & (at.i - at.j <= 3),
             weight=lambda w, at: w * w * gate[at.h]),
         fixed={"doc": np.array([0] * 3 + [1] * 2 + [2] * 5 + [3] * 2, np.int32)},
         rows=ROWS),
    Case("length_sigmoid", {"x": (N, 3)},
         lambda tape, x, rows: clattn.length_sigmoid(tape, x, rows, 0.5, -1.0, 0.05),
         lambda x, rows: ref.length_sigmoid(x, rows, 0.5, -1.0, 0.05), rows=ROWS),
    Case("ham_v", {"q": (7, D), "k": (N, D), "c": (3,)}, of("ham_v"),
         lambda q, k, c, q_rows, k_rows: ref.ham_v(q, k, c, q_rows, k_rows), rows=BOTH),
    Case("ham_s", {"x": (N, D), "c": (3,)}, of("ham_s"),
         lambda x, c, rows: ref.ham_s(x, c, rows), rows=ROWS),
    Case("mix_levels", {"x": (4, 3), "y": (4, 3), "c": (2,)},
         lambda tape, x, y, c: clattn.mix_levels(tape, [x, y], c),
         lambda x, y, c: ref.mix([x, y], c)),
    Case("additive_attention", {"m": (N, 5), "q": (7, 5), "v": (5,), "values": (N, D)},
         of("additive_attention"),
         lambda m, q, v, values, q_rows, k_rows: ref.additive_attention(
             m, q, v, values, q_rows, k_rows), rows=BOTH),
    Case("max_attention", {"q": (7, D), "k": (N, D)}, of("max_attention"),
         lambda q, k, q_rows, k_rows: ref.max_attention(q, k, q_rows, k_rows), rows=BOTH),
    Case("ragged_cross_entropy", {"x": (N,)}, of("ragged_cross_entropy"),
         lambda x, targets, rows: ref.ragged_cross_entropy(x, targets, rows),
         fixed={"targets": np.array([4, 0, -1], np.int32)}, rows=ROWS),
    Case("hard_attention", {"q": (7, D), "k": (N, D), "v": (N, D)}, of("hard_attention"),
         lambda q, k, v, q_rows, k_rows: ref.hard_attention(q, k, v, q_rows, k_rows),
         rows=BOTH),
    Case("hard_project", {"x": (5, D), "w1": (D, D), "b1": (D,), "w2": (D, D), "b2": (D,)},
         lambda tape, **a: clattn.hard_project(tape, **a, stop=False),
         lambda x, w1, b1, w2, b2: np.tanh((x @ w1 + b1) @ w2 + b2)),
    Case("reinforce", {"scores": (43,), "rewards": (7,)},
         lambda tape, **a: clattn.reinforce(tape, **a, entropy=0.1),
         lambda scores, gates, rewards, q_rows, k_rows: ref.reinforce(
             scores, gates, rewards, q_rows, k_rows, 0.1),
         fixed={"gates": GATES}, rows=BOTH, constant=("rewards",)),
    Case("weighted_cross_entropy", {"logits": (7, 5), "factor": (7,)},
         lambda tape, **a: clattn.weighted_cross_entropy(tape, **a, smoothing=0.1),
         lambda logits, targets, factor: ref.cross_entropy(logits, targets, 0.1, factor),
         fixed={"targets": IDS}, constant=("factor",)),
    Case("cross_entropy", {"logits": (7, 5)},
         lambda tape, **a: clattn.cross_entropy(tape, **a, smoothing=0.1),
         lambda logits, targets: ref.cross_entropy(logits, targets, 0.1),
         fixed={"targets": IDS}),
    Case("masked_softmax", {"x": (2, H, 4, 6)},
         lambda tape, **a: clattn.masked_softmax(tape, **a, causal=True),
         lambda x, q_len, k_len: ref.masked_softmax(x, q_len, k_len, True),
         fixed={"q_len": np.array([4, 2], np.int32), "k_len": np.array([6, 3], np.int32)}),
    Case("matmul", {"a": (3, 4, 5), "b": (6, 5)},
         lambda tape, a, b: clattn.matmul(tape, a, b, False, True),
         lambda a, b: a @ b.T),
    Case("linear", {"x": (7, 5), "w": (5, 6), "b": (6,), "residual": (7, 6)},
         lambda tape, **a: clattn.linear(tape, **a, activation=clattn.Activation.TANH),
         lambda x, w, b, residual: np.tanh(x @ w + b) + residual),
    Case("relative_spectrum", {"spectrum": (H, 10)}, of("relative_spectrum"),
         ref.relative_spectrum),
    Case("add", {"a": (3, 5), "b": (3, 5)}, of("add"), lambda a, b: a + b),
    Case("sub", {"a": (3, 5), "b": (3, 5)}, of("sub"), lambda a, b: a - b),
    Case("scale_by", {"x": (3, 5)}, lambda tape, x: clattn.scale_by(tape, x, -0.5),
         lambda x: -0.5 * x),
    Case("sigmoid", {"x": (3, 2, 5)}, of("sigmoid"), ref.sigmoid),
    Case("sum", {"x": (3, 2, 5)}, of("sum"), lambda x: x.sum()[None]),
    Case("mean", {"x": (3, 5)}, of("mean"), lambda x: x.mean()[None]),
    Case("mse", {"a": (3, 5), "b": (3, 5)}, of("mse"),
         lambda a, b: np.square(a - b).mean()[None]),
    Case("multiply", {"a": (3, 5), "b": (3, 5)}, of("multiply"), lambda a, b: a * b),
    Case("gelu", {"x": (3, 5)}, of("gelu"), ref.gelu),
    Case("gelu_tanh", {"x": (3, 5)}, of("gelu_tanh"), ref.gelu_tanh),
    Case("silu", {"x": (3, 5)}, of("silu"), lambda x: x * ref.sigmoid(x)),
    Case("tied_linear", {"x": (3, 5), "w": (4, 5), "b": (4,)}, of("tied_linear"),
         lambda x, w, b: x @ w.T + b),
    Case("concat", {"a": (3, 5), "b": (3, 2)}, of("concat"),
         lambda a, b: np.concatenate([a, b], axis=1)),
    Case("scale_heads", {"x": (5, H, D), "gamma": (H,)}, of("scale_heads"),
         lambda x, gamma: x * gamma[:, None]),
    Case("gate", {"x": (3, 5), "a": (3, 5), "b": (3, 5)}, of("gate"),
         lambda x, a, b: ref.sigmoid(x) * a + (1 - ref.sigmoid(x)) * b),
    Case("embedding", {"table": (5, 6)},
         lambda tape, **a: clattn.embedding(tape, **a, scale=2.0),
         lambda table, ids: np.where(
             ((ids >= 0) & (ids < 5))[:, None], 2 * table[np.clip(ids, 0, 4)], 0),
         fixed={"ids": IDS}),
    Case("layer_norm", {"x": (7, D), "gamma": (D,), "beta": (D,)},
         lambda tape, **a: clattn.layer_norm(tape, **a, eps=1e-5),
         lambda x, gamma, beta: ref.layer_norm(x, gamma, beta, 1e-5)),
    Case("rms_norm", {"x": (7, D), "gamma": (D,)},
         lambda tape, **a: clattn.rms_norm(tape, **a, eps=1e-5),
         lambda x, gamma: x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-5) * gamma),
    Case("rotary", {"x": (7, H, D)},
         lambda tape, **a: clattn.rotary(tape, **a, turned=1),
         lambda x, table, positions: ref.rotary(x, table, positions, 1),
         fixed={"table": ref.angles(5, 3), "positions": IDS}),
    Case("conv1d", {"x": (N, 4), "w": (3, 4, 6), "b": (6,)},
         lambda tape, **a: clattn.conv1d(tape, **a, activation=clattn.Activation.TANH),
         lambda x, w, b, rows: ref.conv1d(x, w, b, rows, 2), rows=ROWS),
    Case("depthwise_conv1d", {"x": (N, 4), "w": (3, 4)}, of("depthwise_conv1d"),
         lambda x, w, rows: ref.depthwise_conv1d(x, w, rows), rows=ROWS),
    Case("char_cnn", {"x": (N, 4), "w": (3, 4, 6), "b": (6,)}, of("char_cnn"),
         lambda x, w, b, rows: ref.char_cnn(x, w, b, rows), rows=ROWS),
    Case("lstm", {"x": (N, 4), "w": (9, 20), "b": (20,)}, of("lstm"),
         lambda x, w, b, rows: ref.lstm(x, w, b, rows), rows=ROWS),
    Case("gru", {"x": (N, 4), "w_g": (9, 10), "b_g": (10,), "w_c": (9, 5), "b_c": (5,)},
         of("gru"),
         lambda x, w_g, b_g, w_c, b_c, rows: ref.gru(x, w_g, b_g, w_c, b_c, rows),
         rows=ROWS),
    Case("sru", {"x": (N, 4), "w": (4, 5), "w_g": (4, 10), "b_g": (10,)}, of("sru"),
         lambda x, w, w_g, b_g, rows: ref.sru(x, w, w_g, b_g, rows), rows=ROWS),
    Case("stack", {"x": (2, 5), "y": (3, 5)},
         lambda tape, x, y: clattn.stack(tape, [x, y]),
         lambda x, y: np.concatenate([x, y])),
    Case("slice", {"x": (6, 5)}, lambda tape, x: clattn.slice(tape, x, 2, 3),
         lambda x: x[2:5]),
    Case("dropout", {"x": (6, 5)}, lambda tape, x: clattn.dropout(
        tape, clattn.scale_heads(tape, tape.reshape(x, (6, 1, 5)), _one(tape)), 0.0),
        lambda x: x.reshape(6, 1, 5)),
    Case("dropout_add", {"a": (6, 5), "x": (6, 5)},
         lambda tape, a, x: clattn.dropout_add(tape, a, x, 0.0, False),
         lambda a, x: a + x),
]
# fmt: on
# What has no gradient, or changes its arguments, has tests of its own below.
OTHERS = {
    "multinomial",
    "top_k",
    "rmsprop",
    "adadelta",
    "adam",
    "ema",
    "swap",
    "norm",
    "finite",
    "scale",
    "clip",
}


def _one(tape: clattn.Tape) -> clattn.Tensor:
    return clattn.Tensor.from_numpy(tape.runtime, np.ones(1, np.float32))


def test_every_operator_has_a_case() -> None:
    assert {case.name for case in CASES} | OTHERS == set(ops.__all__)


def close(got: Array, want: Array) -> None:
    scale = max(1.0, float(np.abs(want).max(initial=0)))
    np.testing.assert_allclose(got, want, rtol=0, atol=BAR * scale)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_operator(
    case: Case, runtime: clattn.Runtime, rng: np.random.Generator
) -> None:
    drawn = {n: rng.normal(size=s).astype(np.float32) for n, s in case.shapes.items()}
    arrays = {**drawn, **case.fixed}
    inputs = {
        n: clattn.Tensor.from_numpy(runtime, a, n in drawn and n not in case.constant)
        for n, a in arrays.items()
    }
    rows = {n: clattn.Ragged.from_lengths(runtime, r) for n, r in case.rows.items()}
    wide = {n: a if a.dtype == np.int32 else a.astype(float) for n, a in arrays.items()}

    def expected(moved: dict[str, Array]) -> Array:
        return np.asarray(case.expect(**moved, **case.rows))

    with runtime.tape() as tape:
        y = case.call(tape, **inputs, **rows)
        want = expected(wide)
        assert y.shape == want.shape
        close(y.numpy(), want)

        dy = rng.normal(size=want.shape).astype(np.float32)
        tape.backward(y, clattn.Tensor.from_numpy(runtime, dy))
        analytic, numeric, size = 0.0, 0.0, 1.0
        for name in set(drawn) - set(case.constant):
            u, h = rng.normal(size=drawn[name].shape), 1e-5
            up = expected({**wide, name: wide[name] + h * u})
            down = expected({**wide, name: wide[name] - h * u})
            numeric = float(((up - down) * dy).sum() / (2 * h))
            grad = inputs[name].grad
            got = np.zeros_like(u) if grad is None else grad.numpy()
            analytic, size = float((got * u).sum()), float(np.abs(got * u).sum())
            assert abs(analytic - numeric) <= BAR * max(1.0, size), name


def vector(runtime: clattn.Runtime, *numbers: float) -> clattn.Tensor:
    return clattn.Tensor.from_numpy(runtime, np.array(numbers, np.float32))


def test_dropout_scales_what_it_keeps(runtime: clattn.Runtime) -> None:
    x = clattn.Tensor.from_numpy(runtime, np.ones((64, 64), np.float32))
    with runtime.tape(seed=7) as tape:
        y = clattn.dropout(tape, x, 0.25).numpy()
        assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}
        # 4096 draws: the share kept has a deviation of 0.007
        assert abs((y > 0).mean() - 0.75) < 0.04
    with runtime.tape(seed=7) as tape:
        assert (clattn.dropout(tape, x, 0.25).numpy() == y).all()


def test_choices(runtime: clattn.Runtime, rng: np.random.Generator) -> None:
    logits = rng.normal(size=(5, 7)).astype(np.float32)
    sure = np.where(np.arange(7)[None] == np.arange(5)[:, None], 50, 0)
    with runtime.tape() as tape:
        logp, ids = clattn.top_k(tape, clattn.Tensor.from_numpy(runtime, logits), 3)
        order = np.argsort(-logits, axis=1, kind="stable")[:, :3]
        assert (ids.numpy() == order).all()
        wide = ref.log_softmax(logits.astype(float))
        close(logp.numpy(), np.take_along_axis(wide, order, axis=1))
        drawn = clattn.multinomial(
            tape, clattn.Tensor.from_numpy(runtime, sure.astype(np.float32))
        )
        assert (drawn.numpy() == np.arange(5)).all()


def test_optimisers(runtime: clattn.Runtime) -> None:
    p0, g0 = np.array([1.0, -2.0, 3.0]), np.array([0.5, 1.0, -2.0])
    g = vector(runtime, *g0)

    p, a = vector(runtime, *p0), vector(runtime, 0, 0, 0)
    clattn.rmsprop(p, a, g, 0.1, 0.9, 1e-7)
    mean = 0.1 * g0**2
    close(a.numpy(), mean)
    close(p.numpy(), p0 - 0.1 * g0 / (np.sqrt(mean) + 1e-7))

    p, a, d = vector(runtime, *p0), vector(runtime, 0, 0, 0), vector(runtime, 0, 0, 0)
    clattn.adadelta(p, a, d, g, 1.0, 0.95, 1e-6)
    mean = 0.05 * g0**2
    u = g0 * np.sqrt(1e-6) / np.sqrt(mean + 1e-6)
    close(d.numpy(), 0.05 * u**2)
    close(p.numpy(), p0 - u)

    p, m, v = vector(runtime, *p0), vector(runtime, 0, 0, 0), vector(runtime, 0, 0, 0)
    clattn.adam(p, m, v, g, 1, 0.1, 0.9, 0.999, 1e-8)
    close(p.numpy(), p0 - 0.1 * np.sign(g0))

    e = vector(runtime, 0, 0, 0)
    clattn.ema(e, g, 0.75)
    close(e.numpy(), 0.25 * g0)
    clattn.swap(e, g)
    close(g.numpy(), 0.25 * g0)
    close(e.numpy(), g0)


def test_norms(runtime: clattn.Runtime) -> None:
    x = vector(runtime, 3, 4)
    assert clattn.norm(x) == pytest.approx(5)
    assert clattn.finite(x) is True
    assert clattn.clip(x, 2.5) == pytest.approx(5)
    close(x.numpy(), np.array([1.5, 2]))
    clattn.scale(x, 2)
    close(x.numpy(), np.array([3, 4]))
    x.fill(math.nan)
    assert clattn.finite(x) is False
