"""Systems of clattn as modules of PyTorch: from a folder, and back."""

from pathlib import Path
from typing import Any

import clattn
import pytest
import toy

torch = pytest.importorskip("torch")

from clattn import nn  # noqa: E402

CONFIG = toy.CONFIGS / "tagger-conv2d.json"
WORDS = "euh je sais pas du tout xyzzy".split()
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
