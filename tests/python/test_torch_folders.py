"""Systems of clattn as modules of PyTorch: from a folder, and back."""

import subprocess
from pathlib import Path
from typing import Any

import clattn
import pytest
import toy
from clattn import program

torch = pytest.importorskip("torch")

from clattn import _encoder as modules  # noqa: E402
from clattn import nn  # noqa: E402

CONFIG = toy.CONFIGS / "tagger-conv2d.json"
WORDS = "euh je de la une ces xyzzy".split()
TAGGERS: list[dict[str, Any]] = [
    {"attention": "softmax", "positions": "none", "temperature": True},
    {"attention": "softmax", "positions": "p"},
    {"attention": "softmax", "positions": "r", "rel_mode": "spectral"},
    {"attention": "softmax", "positions": "p_r", "attention_layers": "1-2"},
    {"attention": "csan1d", "window": 3, "positions": "concat", "position_dim": 8},
    {"attention": "csan2d", "window": 3, "area": 1},
    {"attention": "bi_direct", "directed_heads": 1},
    {"attention": "rel_pos", "clip": 2, "attention_layers": "2-2"},
    {"attention": "neighbor"},
    {"attention": "neighbor_predicted", "local_heads": 1},
    {"attention": "local_hard", "local_width": 3},
    {"attention": "local_soft", "local_predictor": 5},
    {"attention": "direct"},
    {"attention": "conv", "length": 40},
    {"attention": "conv2d", "map_filter": 5, "map_activation": "tanh"},
    {"attention": "conv2d", "conv_pos": "before"},
    {
        "attention": "custom",
        "score": "s - slope[h] * abs(i - j)",
        "learn": {"slope": {"shape": ["heads"], "init": "alibi"}},
    },
]


def trained(tmp_path: Path, settings: dict[str, Any]) -> Path:
    """A tagger after some steps, so that no parameter is what it was at first."""
    settings = toy.tagging(tmp_path) | {"steps": 8, "dropout": 0} | settings
    clattn.train(CONFIG, tmp_path / "run", settings=settings)
    return tmp_path / "run"


def logits(folder: Path) -> Any:
    """What clattn computes for WORDS."""
    with clattn.Model.load(folder) as model:
        return torch.from_numpy(model.maps(" ".join(WORDS))["logits"])


def sentences(data: Path) -> list[list[str]]:
    text = (data / "dev.conllu").read_text().strip().split("\n\n")
    rows = [
        [line.split("\t") for line in one.split("\n") if line[0] != "#"] for one in text
    ]
    return [[row[1] for row in some if row[0].isdecimal()] for some in rows]


@pytest.mark.parametrize("number", range(len(TAGGERS)))
def test_a_tagger(number: int, tmp_path: Path) -> None:
    run = trained(tmp_path, TAGGERS[number])
    tagger = nn.Tagger.load(run).eval()
    found = tagger([WORDS])
    torch.testing.assert_close(found, logits(run), rtol=1e-4, atol=1e-5)
    tagger.train()
    loss = torch.nn.functional.cross_entropy(
        tagger([WORDS, WORDS[:2]]), torch.arange(9) % 5 + 2
    )
    torch.autograd.backward(loss)
    missing = [name for name, p in tagger.named_parameters() if p.grad is None]
    assert not missing
    torch.optim.SGD(tagger.parameters(), 0.1).step()
    tagger.save(tmp_path / "saved")
    found = tagger.eval()([WORDS])
    torch.testing.assert_close(found, logits(tmp_path / "saved"), rtol=1e-4, atol=1e-5)
    again = nn.Tagger.load(tmp_path / "saved").eval()
    assert torch.equal(again([WORDS]), found)


@pytest.mark.parametrize(
    "settings",
    [{"mask_pad": False}, {"attention": "block", "block": 2, "train_words": False}],
)
def test_tags(settings: dict[str, Any], tmp_path: Path) -> None:
    """Tags of a batch, with padding that takes part and without."""
    run = trained(tmp_path, settings | {"epochs": 3})
    tagger = nn.Tagger.load(run)
    some = sentences(tmp_path)
    with clattn.Model.load(run) as model:
        assert tagger.tag(some) == model.tag_sentences(some)
    assert tagger.training
    assert tagger.word.table.requires_grad == settings.get("train_words", True)
    assert tagger.targets([[tagger.tags[3], "no tag"], [tagger.tags[2]]]).tolist() == [
        3,
        -100,
        2,
    ]
    assert tagger([]).shape == (0, len(tagger.tags)) and tagger.tag([[]]) == [[]]
    with pytest.raises(clattn.UsageError, match=r"sentences\[1\] has 61 words"):
        tagger([WORDS, ["a"] * 61])


def test_refusals(tmp_path: Path) -> None:
    run = trained(tmp_path, {"attention": "conv2d", "layers": 1})
    tagger = nn.Tagger.load(run)
    with pytest.raises(clattn.UsageError, match="holds a run"):
        tagger.save(run)
    config = run / "config.json"
    text = config.read_text()
    config.write_text(text.replace('"heads": 2', '"heads": 4'))
    with pytest.raises(clattn.InputError, match=r"layer\.0\.filter' is .2, 3"):
        nn.Tagger.load(run)
    config.write_text(text.replace('"layers": 1', '"layers": 2'))
    with pytest.raises(clattn.InputError, match=r"no tensor 'layer\.1\.qkv'"):
        nn.Tagger.load(run)
    config.write_text(text.replace('"tagger"', '"reader"'))
    with pytest.raises(clattn.InputError, match="model is 'reader', must be 'tagger'"):
        nn.Tagger.load(run)
    with pytest.raises(clattn.FileError, match=r"nowhere/config\.json"):
        nn.Tagger.load(tmp_path / "nowhere")
    lists = (["<pad>", "<oov>", "a"],) * 3
    with pytest.raises(clattn.UsageError, match="was not loaded"):
        nn.Tagger({}, *lists).save(tmp_path / "new")


# ---- encoders ------------------------------------------------------------------------

ENCODERS: list[dict[str, Any]] = [
    {},
    {"preset": "csan", "attention": "csan1d", "window": 3},
    {"preset": "hard", "attention_dropout": 0, "relu_dropout": 0, "tied": "output"},
    {"attention": "rel_pos", "clip": 2, "attention_where": "encoder"},
    {"attention": "block", "block": 2, "position": "marian"},
    {"attention": "local_soft", "position": "opennmt", "embedding_norm": True},
    {"position": "learned", "max_positions": 30, "embedding_scale": False},
    {"positions": "fairseq", "activation": "gelu", "dim": 18, "heads": 3},
    {"norm": "rms", "feed_forward": "swiglu", "bias": False, "position": "rope"},
    {"kv_heads": 1, "position": "rope", "rope_part": 0.5, "pre_norm": True},
]
LINES = ["the red dog runs.", "a cat sleeps."]


def piece_ids(run: Path, name: str, language: str) -> list[list[int]]:
    """The pieces of LINES, of that language's words, with the end of a sentence."""
    known = {p: i for i, p in enumerate((run / name).read_text().split("\n"))}
    text = "".join(f"{line}\n" for line in language.split("|")).encode()
    command = [program.find_program(), "bpe", "apply", "--split"]
    command += ["--codes", str(run / "codes.txt")]
    made = subprocess.run(command, input=text, check=True, capture_output=True)
    lines = made.stdout.decode().splitlines()
    return [[known.get(piece, 2) for piece in line.split()] + [1] for line in lines]


class Decoder:
    """A decoder of softmax attention for whole sentences, of the numbers in a state."""

    def __init__(self, run: Path, encoder: Any) -> None:
        stored = clattn.read_safetensors(run / "best.ckpt.safetensors")
        self.w = {k: torch.from_numpy(v) for k, v in stored.items() if "/" not in k}
        self.config, self.encoder = encoder.config, encoder

    def linear(self, x: Any, name: str) -> Any:
        y = x @ self.w[name]
        return y + self.w[f"{name}_bias"] if f"{name}_bias" in self.w else y

    def norm(self, x: Any, name: str) -> Any:
        made = modules.norm_of(self.config)
        made.gain.data = self.w[f"{name}.gain"]
        if made.bias is not None:
            made.bias.data = self.w[f"{name}.bias"]
        return made(x)

    def attend(self, q: Any, k: Any, v: Any, causal: bool) -> Any:
        q, k, v = (x.transpose(0, 1) for x in (q, k, v))
        scores = q @ k.transpose(1, 2) / q.shape[2] ** 0.5
        if causal:
            hidden = torch.ones(scores.shape[1:]).triu(1).bool()
            scores = scores.masked_fill(hidden, -torch.inf)
        return (scores.softmax(2) @ v).transpose(0, 1).flatten(1)

    def layer(self, x: Any, memory: Any, prefix: str) -> Any:
        c, H = self.config, self.config["heads"]
        d, K = c["dim"] // H, c.get("kv_heads") or H

        def around(x: Any, name: str, block: Any) -> Any:
            if c["pre_norm"]:
                return x + block(self.norm(x, f"{prefix}.{name}.norm"))
            return self.norm(x + block(x), f"{prefix}.{name}.norm")

        def itself(x: Any) -> Any:
            heads = self.linear(x, f"{prefix}.self.in").unflatten(1, (-1, d))
            q, k, v = heads.split([H, K, K], 1)
            if c["position"] == "rope":
                turns = 2 * int(c["rope_part"] * d / 2)
                at = torch.arange(len(x))
                q, k = (modules.turned(y, at, c["rope_base"], turns) for y in (q, k))
            k, v = (y.repeat_interleave(H // K, 1) for y in (k, v))
            return self.linear(self.attend(q, k, v, True), f"{prefix}.self.out")

        def cross(x: Any) -> Any:
            q = self.linear(x, f"{prefix}.cross.in").unflatten(1, (H, d))
            kv = self.linear(memory, f"{prefix}.cross.memory").unflatten(1, (2, H, d))
            o = self.attend(q, kv[:, 0], kv[:, 1], False)
            return self.linear(o, f"{prefix}.cross.out")

        def feed(x: Any) -> Any:
            made = modules.Feed(c, modules.norm_of(c))
            linear = {"in": made.get_submodule("in"), "out": made.out}
            if made.gate is not None:
                linear["gate"] = made.gate
            for name, one in linear.items():
                one.weight.data = self.w[f"{prefix}.feed.{name}"].T
                if one.bias is not None:
                    one.bias.data = self.w[f"{prefix}.feed.{name}_bias"]
            return made(x)

        x = around(x, "self", itself)
        return around(around(x, "cross", cross), "feed", feed)

    def logp(self, memory: Any, target: list[int]) -> float:
        c, table = self.config, self.w["target.table"]
        x = table[torch.tensor([0, *target[:-1]])] * self.encoder.scale
        x[0] = 0  # a decoder starts with zeros
        kind = modules.kind_of(c)
        if kind not in ("rope", "none"):
            learned = self.w.get("decoder.positions")
            size = len(target)
            made = modules.signal(kind, size, c["dim"]) if learned is None else learned
            x = x + made[:size]
        if c["embedding_norm"]:
            x = self.norm(x, "decoder.embedding_norm")
        for i in range(c.get("decoder_layers", c["layers"])):
            x = self.layer(x, memory, f"decoder.{i}")
        if c["pre_norm"]:
            x = self.norm(x, "decoder.norm")
        scores = x @ self.w.get("output.table", table).T
        chosen = scores.log_softmax(1)[torch.arange(len(target)), torch.tensor(target)]
        return float(chosen.sum())


@pytest.mark.parametrize("number", range(len(ENCODERS)))
def test_an_encoder(number: int, tmp_path: Path) -> None:
    """With it, translations are as likely as clattn finds them."""
    small = {"steps": 6, "eval_every": 6, "layers": 2, "warmup": 2, "save_every": 6}
    settings = toy.translation(tmp_path) | small | ENCODERS[number]
    run, saved = tmp_path / "run", tmp_path / "saved"
    clattn.train(toy.CONFIGS / "nmt-plain.json", run, settings=settings)
    encoder = nn.Encoder.load(run)
    names = "source.txt", "the red dog runs.|a cat sleeps."
    source = piece_ids(run, *names)
    targets = ["der rote Hund rennt.", "eine Katze schläft."]
    target = piece_ids(run, "target.txt", "|".join(targets))
    lengths = [len(s) for s in source]
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(s) for s in source], True)
    packed = torch.tensor([piece for s in source for piece in s])

    def check(folder: Path, encoder: Any) -> None:
        memory = encoder.eval()(packed, lengths)
        decoder = Decoder(folder, encoder)
        with torch.no_grad(), clattn.Model.load(folder) as model:
            told = model.score(LINES, targets)
            for one, m, t in zip(told, memory.split(lengths), target, strict=True):
                assert decoder.logp(m, t) == pytest.approx(one.logp, rel=1e-4)

    check(run, encoder)
    padded = encoder(ids, lengths)
    mask = torch.arange(ids.shape[1]) < torch.tensor(lengths)[:, None]
    torch.testing.assert_close(padded[mask], encoder(packed, lengths))
    assert torch.equal(encoder(ids, mask), padded) and not padded[~mask].any()
    torch.autograd.backward(encoder.train()(ids, lengths).square().sum())
    assert not [name for name, p in encoder.named_parameters() if p.grad is None]
    torch.optim.SGD(encoder.parameters(), 1e-3).step()
    encoder.save(saved)
    check(saved, encoder)
    check(saved, nn.Encoder.load(saved))


def test_refusals_of_an_encoder() -> None:
    encoder = nn.Encoder({"dim": 8, "heads": 2, "layers": 1, "inner": 8}, 5)
    for ids, lengths, message in (
        (torch.zeros(3), [3], "ids is torch.float32"),
        (torch.zeros(3, dtype=torch.long), [2], "lengths has 1 sentences"),
        (torch.zeros(1, 2, 3, dtype=torch.long), [2], r"must be \[N\] or \[B,S\]"),
    ):
        with pytest.raises(clattn.ClattnError, match=message):
            encoder(ids, lengths)
    with pytest.raises(clattn.UsageError, match="convolutions is 2, must be 0"):
        nn.Encoder({"convolutions": 2}, 5)
    others = {"position": "buckets", "attention_scale": False, "head_width": 3}
    for key, value in others.items():
        with pytest.raises(clattn.UsageError, match=f"{key} is {value}, must be"):
            nn.Encoder({key: value}, 5)
