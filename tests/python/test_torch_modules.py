"""Layers that stand in for PyTorch's own: MultiheadAttention, LSTM, and GRU; models of
Hugging Face with the attention swapped."""

import copy
from typing import Any

import clattn
import numpy as np
import pytest
import reference

torch = pytest.importorskip("torch")
from clattn import nn as layers  # noqa: E402
from test_docs import has  # noqa: E402
from test_torch import device  # noqa: E402, F401
from torch import nn  # noqa: E402
from torch.nn.utils.rnn import pack_sequence  # noqa: E402

Torch = Any
B, T, S, D, H = 3, 5, 4, 8, 2
BAR = 1e-5


def close(got: Torch, want: Torch, bar: float = BAR) -> None:
    torch.testing.assert_close(got, want, rtol=bar, atol=bar)


def same(ours: Any, theirs: Any, call: Any, *given: Torch, bar: float = BAR) -> None:
    """Results and gradients of inputs and parameters."""
    made = []
    for layer in (ours, theirs):
        layer.zero_grad()
        leaves = [x.clone().requires_grad_() for x in given]
        torch.manual_seed(2)
        y = call(layer, *leaves)
        dy = torch.linspace(-1, 1, y.numel()).view(y.shape)
        y.backward(dy)
        grads = [x.grad for x in leaves] + [p.grad for p in layer.parameters()]
        made.append([y.detach(), *grads])
    for number, (got, want) in enumerate(zip(*made, strict=True)):
        if want is None:
            assert got is None or not got.any(), number
        else:
            close(got, want, bar)


# ---- MultiheadAttention --------------------------------------------------------------

KINDS: list[dict[str, Any]] = [
    {},
    {"batch_first": True},
    {"bias": False},
    {"kdim": 6, "vdim": 3},
    {"add_bias_kv": True},
    {"add_zero_attn": True, "batch_first": True},
]
HIDDEN = torch.arange(S) >= torch.tensor([4, 2, 3])[:, None]
MASKS: list[dict[str, Torch]] = [
    {},
    {"key_padding_mask": HIDDEN},
    {"attn_mask": torch.ones(T, S).triu(1).bool()},
    {"attn_mask": torch.linspace(-1, 1, T * S).view(T, S)},
    {"attn_mask": torch.ones(B * H, T, S).triu(2).bool(), "key_padding_mask": HIDDEN},
    {
        "attn_mask": torch.linspace(-1, 1, T * S).view(T, S),
        "key_padding_mask": torch.zeros(B, S).masked_fill(HIDDEN, -torch.inf),
    },
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("masks", range(len(MASKS)))
def test_multihead(kind: dict[str, Any], masks: int) -> None:
    floats = [m for m in MASKS[masks].values() if m.is_floating_point()]
    if len(floats) == 2 and not has("torch 2.0"):
        pytest.skip("PyTorch forgets the padding then")
    torch.manual_seed(1)
    theirs = nn.MultiheadAttention(D, H, **kind)
    ours = layers.MultiheadAttention(D, H, **kind)
    ours.load_state_dict(theirs.state_dict())
    given = [
        torch.randn(T, B, D),
        torch.randn(S, B, kind.get("kdim", D)),
        torch.randn(S, B, kind.get("vdim", D)),
    ]
    if kind.get("batch_first"):
        given = [x.transpose(0, 1).contiguous() for x in given]

    def call(layer: Any, *x: Torch) -> Torch:
        y, weights = layer(*x, need_weights=False, **MASKS[masks])
        assert weights is None
        return y

    same(ours, theirs, call, *given)


def test_multihead_alone_and_causal() -> None:
    torch.manual_seed(1)
    theirs, ours = nn.MultiheadAttention(D, H), layers.MultiheadAttention(D, H)
    ours.load_state_dict(theirs.state_dict())
    mask = torch.ones(T, T).triu(1).bool()
    hidden = torch.tensor([False, False, True, False, True])

    def alone(layer: Any, x: Torch) -> Torch:
        return layer(x, x, x, need_weights=False, key_padding_mask=hidden)[0]

    def causal(layer: Any, x: Torch) -> Torch:
        said = {"is_causal": True} if layer is ours else {}  # not in PyTorch 1.13
        return layer(x, x, x, need_weights=False, attn_mask=mask, **said)[0]

    same(ours, theirs, alone, torch.randn(T, D))
    same(ours, theirs, causal, torch.randn(T, B, D))
    x = torch.randn(T, B, D)
    got, weights = ours(x, x, x)
    want, wanted = theirs(x, x, x)
    assert torch.equal(got, want) and torch.equal(weights, wanted)


def test_multihead_refuses() -> None:
    ours = layers.MultiheadAttention(D, H)
    x = torch.randn(T, B, D)
    for given, message in (
        (
            {"key_padding_mask": HIDDEN},
            r"key_padding_mask is \[3, 4\], must be \[3, 5\]",
        ),
        (
            {"attn_mask": HIDDEN},
            r"attn_mask is \[3, 4\], must be \[5, 5\] or \[6, 5, 5\]",
        ),
    ):
        with pytest.raises(clattn.ShapeError, match=message):
            ours(x, x, x, need_weights=False, **given)
    with pytest.raises(clattn.UsageError, match="attn_mask is missing"):
        ours(x, x, x, need_weights=False, is_causal=True)
    with pytest.raises(
        clattn.DtypeError, match=r"MultiheadAttention: key is torch\.int64"
    ):
        ours(x, x.long(), x, need_weights=False)


def test_an_encoder_of_pytorch() -> None:
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(D, H, 16, dropout=0.0, batch_first=True)
    theirs = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    ours = layers.swap_attention(copy.deepcopy(theirs))
    assert type(ours.layers[1].self_attn) is layers.MultiheadAttention

    def call(model: Any, x: Torch) -> Torch:
        return model(x, src_key_padding_mask=HIDDEN).masked_fill(HIDDEN[..., None], 0)

    same(ours, theirs, call, torch.randn(B, S, D), bar=1e-4)


# ---- LSTM and GRU --------------------------------------------------------------------


@pytest.mark.parametrize("form", ["packed", "padded", "alone"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_lstm(form: str, bidirectional: bool, bias: bool) -> None:
    torch.manual_seed(1)
    shape = {"num_layers": 2, "bidirectional": bidirectional, "bias": bias}
    theirs = nn.LSTM(D, 6, batch_first=form == "padded", **shape)
    ours = layers.LSTM(D, 6, batch_first=form == "padded", **shape)
    ours.load_state_dict(theirs.state_dict())
    layered = 4 if bidirectional else 2
    states = [layered, 6] if form == "alone" else [layered, B, 6]

    def call(layer: Any, x: Torch, h: Torch, c: Torch) -> Torch:
        given = x
        if form == "packed":
            rows = [x[0, :3], x[1, :5], x[2, :2]]
            given = pack_sequence(rows, enforce_sorted=False)
        elif form == "alone":
            given = x[0]
        y, (h, c) = layer(given, (h, c))
        data = y.data if form == "packed" else y
        return torch.cat([data.flatten(), 2 * h.flatten(), 3 * c.flatten()])

    given = torch.randn(B, T, D), torch.randn(states), torch.randn(states)
    same(ours, theirs, call, *given, bar=1e-4)


def test_lstm_of_packed_tokens() -> None:
    """[N,in] with lengths is what a PackedSequence of them is."""
    torch.manual_seed(1)
    layer = layers.LSTM(D, 6)
    parts = [torch.randn(n, D) for n in (3, 5, 2)]
    y, (h, c) = layer(torch.cat(parts), lengths=[3, 5, 2])
    z, (k, d) = layer(pack_sequence(parts, enforce_sorted=False))
    unpacked, _ = nn.utils.rnn.pad_packed_sequence(z)
    close(torch.cat([unpacked[:n, b] for b, n in enumerate([3, 5, 2])]), y)
    close(h, k)
    close(c, d)
    padded = nn.utils.rnn.pad_sequence(parts)
    x, (k, d) = layer(padded, lengths=[3, 5, 2])
    close(x, nn.utils.rnn.pad_sequence(list(y.split([3, 5, 2]))))
    close(h, k)


def test_gru() -> None:
    """The definition in float64, forward and backward in time."""
    torch.manual_seed(1)
    layer = layers.GRU(D, 6, bidirectional=True)
    parts = [torch.randn(n, D) for n in (3, 5, 2)]
    lengths = [3, 5, 2]
    y, h = layer(torch.cat(parts), lengths=lengths)
    own = {n: p.detach().double().numpy() for n, p in layer.named_parameters()}
    x = torch.cat(parts).double().numpy()

    def run(x: Any, end: str) -> Any:
        names = "weight_g", "bias_g", "weight_c", "bias_c"
        return reference.gru(x, *(own[f"{n}_l0{end}"] for n in names), lengths)

    turned = np.concatenate([np.flip(p, 0) for p in np.split(x, [3, 8])])
    back = run(turned, "_reverse")
    back = np.concatenate([np.flip(p, 0) for p in np.split(back, [3, 8])])
    want = torch.from_numpy(np.concatenate([run(x, ""), back], 1))
    close(y.double(), want, 1e-5)
    ends = torch.stack([y[[2, 7, 9], :6], y[[0, 3, 8], 6:]])
    close(h, ends)


def test_gru_learns_and_takes_states() -> None:
    torch.manual_seed(1)
    layer = layers.GRU(D, 6, num_layers=2, dropout=0.1, batch_first=True)
    x, h = torch.randn(B, T, D, requires_grad=True), torch.randn(2, B, 6)
    steps = torch.optim.Adam(layer.parameters(), lr=0.03)
    losses = []
    for _ in range(30):
        y, last = layer(x, h)
        loss = (y - 0.5).square().mean() + last.square().mean()
        steps.zero_grad()
        loss.backward()
        steps.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    layer.eval()
    halves, state = [], h
    for part in (x[:, :2], x[:, 2:]):
        y, state = layer(part, state)
        halves.append(y)
    close(torch.cat(halves, 1), layer(x, h)[0])


def test_recurrent_refuses() -> None:
    x = torch.randn(B, T, D)
    layer = layers.LSTM(D, 6, batch_first=True)
    h = torch.randn(1, B, 6)
    with pytest.raises(clattn.UsageError, match="proj_size is 2"):
        layers.LSTM(D, 6, proj_size=2)
    with pytest.raises(clattn.ShapeError, match="input has 7 columns, must have 8"):
        layer(x[..., :7])
    with pytest.raises(clattn.ShapeError, match=r"c_0 is \[1, 2, 6\], must be"):
        layer(x, (h, h[:, :2]))
    with pytest.raises(clattn.UsageError, match="hx must be"):
        layer(x, h)
    packed = pack_sequence([x[0], x[1]])
    with pytest.raises(clattn.UsageError, match="lengths must be None"):
        layer(packed, lengths=[5, 5])
    with pytest.raises(clattn.DtypeError, match=r"LSTM: input is torch\.int64"):
        layer(x.long())
    with pytest.raises(clattn.UsageError, match="hidden_size is 0"):
        layers.GRU(D, 0)


# ---- Hugging Face --------------------------------------------------------------------


def encoder(name: str) -> Any:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(1)
    if name == "bert":
        config = transformers.BertConfig(
            vocab_size=40,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=24,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        return transformers.BertModel(config, add_pooling_layer=False)
    config = transformers.MarianConfig(
        vocab_size=40,
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        dropout=0.0,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=1,
        decoder_start_token_id=0,
        max_position_embeddings=16,
    )
    return transformers.MarianMTModel(config)


@pytest.mark.parametrize("name", ["bert", "marian"])
@pytest.mark.parametrize("padding", [False, True])
def test_hugging_face(name: str, padding: bool) -> None:
    """Outputs and gradients of a model with random weights, attention swapped."""
    theirs = encoder(name).train()
    theirs.set_attn_implementation("eager")
    ours = layers.swap_attention(copy.deepcopy(theirs))
    assert ours.config._attn_implementation == "clattn"
    words = torch.randint(2, 40, (3, 7))
    mask = torch.ones(3, 7, dtype=torch.long)
    if padding:
        mask = (torch.arange(7) < torch.tensor([7, 4, 2])[:, None]).long()
    made = []
    for model in (ours, theirs):
        if name == "bert":
            y = model(input_ids=words, attention_mask=mask).last_hidden_state
            y = y * mask[..., None]
        else:
            y = model(
                input_ids=words,
                attention_mask=mask,
                decoder_input_ids=words[:, :5],
            ).logits
        y.square().mean().backward()
        grads = {n: p.grad for n, p in model.named_parameters()}
        made.append((y.detach(), grads))
    (got, ours_), (want, exact) = made
    close(got, want)
    for key, grad in exact.items():
        if grad is not None:
            torch.testing.assert_close(ours_[key], grad, rtol=1e-3, atol=1e-6)


def test_padding_of_hugging_face_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from clattn import _autograd

    model = layers.swap_attention(encoder("bert"))
    mask = (torch.arange(7) < torch.tensor([7, 4, 2])[:, None]).long()
    keys, run = [], _autograd.run

    def counted(name: str, call: Any, values: Any, rows: Any, *draws: Any) -> Any:
        keys.append(tuple(rows["key"]))
        return run(name, call, values, rows, *draws)

    monkeypatch.setattr("clattn._autograd.run", counted)
    model(input_ids=torch.randint(2, 40, (3, 7)), attention_mask=mask)
    assert keys == [(7, 4, 2)] * 2


def test_swap_refuses() -> None:
    with pytest.raises(
        clattn.UsageError, match=r"Linear has no torch\.nn\.MultiheadAtt"
    ):
        layers.swap_attention(nn.Linear(2, 2))
    with pytest.raises(clattn.DtypeError, match="model is a str"):
        layers.swap_attention("bert")
