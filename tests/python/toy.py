"""Small data sets and settings, those of tests/cli: systems that train in seconds."""

import json
from pathlib import Path
from typing import Any

from conftest import ROOT

CONFIGS = ROOT / "examples/configs"
LINES = {
    "en": "the red dog runs.\nthe red cat sleeps.\n"
    "a blue dog sleeps.\na blue cat runs.\n",
    "de": "der rote Hund rennt.\ndie rote Katze schläft.\n"
    "ein blauer Hund schläft.\neine blaue Katze rennt.\n",
}
POEMS = [
    "春眠不覺曉|處處聞啼鳥|夜來風雨聲|花落知多少",
    "床前明月光|疑是地上霜|舉頭望明月|低頭思故鄉",
    "白日依山盡|黃河入海流|欲窮千里目|更上一層樓",
    "朝辭白帝彩雲間|千里江陵一日還|兩岸猿聲啼不住|輕舟已過萬重山",
    "月落烏啼霜滿天|江楓漁火對愁眠|姑蘇城外寒山寺|夜半鐘聲到客船",
]


def tagging(folder: Path) -> dict[str, Any]:
    """The first sentences of the treebank that ships with the project."""
    for split in ("train", "dev", "test"):
        text = (ROOT / f"examples/data/fr_spoken/{split}.conllu").read_text()
        sentences = text.split("\n\n")[:60]
        (folder / f"{split}.conllu").write_text("\n\n".join(sentences) + "\n\n")
    return {
        "data": str(folder),
        "mask_pad": True,  # maps are those of a sentence without padding
        "word_dim": 24,
        "char_dim": 8,
        "layers": 2,
        "heads": 2,
        "epochs": 3,
        "batch": 8,
        "save_every": 3,
        "log_every": 2,
    }


def translation(folder: Path) -> dict[str, Any]:
    for split in ("train", "dev", "test"):
        for language, text in LINES.items():
            (folder / f"{split}.{language}").write_text(text)
    return {
        "data": str(folder),
        "dev": "dev",
        "test": "test",
        "dim": 16,
        "heads": 2,
        "inner": 32,
        "layers": 1,
        "merges": 40,
        "tokens": 100,
        "steps": 100,
        "eval_every": 100,
        "warmup": 20,
        "lr": 0.4,
        "dropout": 0,
    }


def reading(folder: Path) -> dict[str, Any]:
    """Sixteen passages with two questions each; names of two bytes a letter."""
    paragraphs = []
    names, foods = (
        ["Än", "Öd", "Üm", "Éa"],
        ["red figs", "ripe plums", "green peas", "rye"],
    )
    for i in range(16):
        who, what = names[i % 4], foods[(i // 4 + i) % 4]
        questions = [
            (f"a{i}", f"What did {who} sell?", 8, what),
            (f"b{i}", f"Who sold {what}?", 0, who),
        ]
        paragraphs.append(
            {
                "context": f"{who} sold {what} on day {i}.",
                "qas": [
                    {
                        "id": a,
                        "question": q,
                        "answers": [{"answer_start": at, "text": t}],
                    }
                    for a, q, at, t in questions
                ],
            }
        )
    data = json.dumps({"data": [{"title": "t", "paragraphs": paragraphs}]})
    for split in ("train", "dev"):
        (folder / f"{split}.json").write_text(data)
    return {
        "data": str(folder),
        "word_dim": 12,
        "trait_dim": 4,
        "hidden": 12,
        "dropout": 0,
        "min_count": 1,
        "batch": 8,
        "lr": 0.02,
        "epochs": 40,
        "eval_every": 160,
        "depth": 2,
    }


def poetry(folder: Path) -> dict[str, Any]:
    """Each poem twice, so that its pairs of characters are words."""
    for split in ("train", "val", "test"):
        rows = [f"tang\tpoet\ttitle {again}\t{p}\n" for again in (1, 2) for p in POEMS]
        (folder / f"{split}.tsv").write_text("".join(rows))
    return {
        "data": str(folder),
        "hidden": 32,
        "depth": 2,
        "dropout": 0,
        "word_count": 2,
        "word_ratio": 1,
        "vector_epochs": 1,
        "batch": 24,
        "lr": 0.02,
        "steps": 70,
        "epochs": 1000,
        "eval_every": 70,
    }


def language(folder: Path) -> dict[str, Any]:
    """A line that is learnt by heart."""
    for split in ("train", "dev", "test"):
        (folder / f"{split}.txt").write_text(3 * "one two three four five six\n")
    return {
        "data": str(folder),
        "train": "train.txt",
        "hold_out": 0,
        "dim": 32,
        "heads": 2,
        "layers": 1,
        "context": 16,
        "batch": 4,
        "lr": 0.01,
        "warmup": 1,
        "steps": 160,
        "eval_every": 80,
    }
