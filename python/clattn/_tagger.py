"""A tagger of clattn as a module of PyTorch, from a model folder and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from clattn import _arguments as arguments
from clattn import _folders as folders
from clattn._layers import KINDS
from clattn._ways import Sizes
from clattn.errors import UsageError
from clattn.program import PathName

_PAD, _OOV, _SPECIAL = 0, 1, 2
_TABLES = ("add", "concat")  # positions that are embeddings
_SCORES = ("p", "r", "p_r")  # positions that are scores of attention
_DEFAULTS: dict[str, Any] = {  # of clattn's taggers: src/models/tagger.c
    "preset": "paper",
    "positions": "add",
    "attention": "softmax",
    "length": 60,
    "word_dim": 128,
    "char_dim": 64,
    "char_length": 20,
    "char_layers": 3,
    "position_dim": 64,
    "layers": 4,
    "heads": 4,
    "dropout": 0.1,
}


@dataclass(frozen=True)
class Sentences:
    """Sentences as ids, which Tagger.batch makes.

    word, position, spelling  [N] of each token, padding included
    letters                   [U,L] of each distinct spelling
    lengths                   tokens of each sentence, padding included
    kept                      [n] the rows that are words
    """

    word: torch.Tensor
    position: torch.Tensor
    spelling: torch.Tensor
    letters: torch.Tensor
    lengths: tuple[int, ...]
    kept: torch.Tensor


class _Letters(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """Words from their letters: convolutions of five taps, then the largest numbers."""

    def __init__(self, chars: int, dim: int, layers: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(chars, dim).uniform_(-0.05, 0.05))
        for i in range(layers):
            made = nn.Module()
            bound = math.sqrt(6 / (10 * dim))
            made.filter = nn.Parameter(torch.empty(5, dim, dim).uniform_(-bound, bound))
            made.bias = nn.Parameter(torch.zeros(dim))
            self.add_module(str(i), made)

    def forward(self, letters: torch.Tensor) -> Any:
        x = self.table[letters].transpose(1, 2)
        for made in self.children():
            w: Any = made.filter
            x = functional.conv1d(x, w.permute(2, 1, 0), made.bias, padding=2)  # type: ignore[arg-type, unused-ignore]
            x = torch.relu(x)
        return x.amax(2)


class _Layer(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """Attention without biases: x qkv is [q | k | v]."""

    def __init__(self, sizes: Sizes, way: Any, gamma: bool) -> None:
        super().__init__()
        width, heads = sizes.model, sizes.heads
        deviation = math.sqrt(2 / (width + sizes.width))
        self.qkv = nn.Parameter(deviation * torch.randn(width, 3 * width))
        self.gamma = nn.Parameter(torch.ones(3 * heads)) if gamma else None
        self.way = way
        self.out = None
        if way.parts > 1:
            bound = math.sqrt(6 / ((way.parts + 1) * width))
            drawn = torch.empty(way.parts * width, width).uniform_(-bound, bound)
            self.out = nn.Parameter(drawn)
        self.heads = heads

    def forward(self, x: Any, lengths: Sequence[int]) -> Any:
        qkv = (x @ self.qkv).unflatten(1, (3 * self.heads, -1))
        if self.gamma is not None:
            qkv = qkv * self.gamma[:, None]
        q, k, v = qkv.unflatten(1, (3, self.heads)).unbind(1)
        o = self.way(q, k, v, lengths).flatten(1)
        return o if self.out is None else o @ self.out


class Tagger(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """A tagger of clattn, such as `clattn train` makes: docs/checkpoints.md.

      e = [word (+ position) | letters], h = e; for each layer: h = h + attention(h)
      logits = [e | h] W + b

    Tagger.load(folder) makes one with the best weights of a folder, and save(folder)
    writes a folder that `clattn tag` and Model.load take. Call it with sentences, lists
    of words, or with what batch(sentences) makes of them.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        words: Sequence[str],
        chars: Sequence[str],
        tags: Sequence[str],
    ) -> None:
        super().__init__()
        self.config = _DEFAULTS | dict(config)
        self.config.setdefault("map_activation", self.config.get("activation", "relu"))
        self.tags = list(tags)
        self._words, self._chars = folders.ids(words), folders.ids(chars)
        get = self.config.__getitem__
        self.length, self.drop = get("length"), float(get("dropout"))
        self.pads = not self.config.get("mask_pad", get("preset") == "modern")
        positions, heads = get("positions"), get("heads")
        width = get("word_dim") + get("char_dim")
        width += get("position_dim") if positions == "concat" else 0
        if width % heads:
            raise UsageError(f"Tagger: heads is {heads}, must divide {width}")

        self.word, self.char = (
            nn.Module(),
            _Letters(len(chars), get("char_dim"), get("char_layers")),
        )
        self.word.table = self._table(len(words), get("word_dim"))
        self.word.table.requires_grad_(self.config.get("train_words", True))
        self.position = None
        if positions in _TABLES:
            self.position = nn.Module()
            wide = get("word_dim" if positions == "add" else "position_dim")
            self.position.table = self._table(self.length, wide)
        self.layer = nn.ModuleList(self._layers(width, heads, positions))
        self.out = nn.Linear(2 * width, len(tags))
        nn.init.xavier_uniform_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    @staticmethod
    def _table(rows: int, columns: int) -> Any:
        return nn.Parameter(torch.empty(rows, columns).uniform_(-0.05, 0.05))

    def _layers(self, width: int, heads: int, positions: str) -> list[_Layer]:
        """Attention of the kind that the config names, or softmax."""
        kind, count = self.config["attention"], self.config["layers"]
        scores = positions in _SCORES and kind == "softmax"
        kind = "direct" if scores else kind
        if kind not in KINDS:
            raise UsageError(f"Tagger: attention is {kind!r}, none of {list(KINDS)}")
        first, last = folders.span(self.config, 1 if scores else count, count)
        sizes = Sizes(width, heads, width // heads, self.length)
        keys = folders.keys_of(KINDS[kind], self.config)
        if kind == "direct":
            keys["positions"] = positions if positions in _SCORES else "p_r"
        gamma = self.config.get("temperature", False)
        long = [
            one for one in keys.get("learn", {}).values() if "length" in one["shape"]
        ]
        self.tied = positions != "none" or kind in ("direct", "conv") or bool(long)
        ways = [
            KINDS[kind](sizes, **keys)
            if first <= i <= last
            else KINDS["softmax"](sizes)
            for i in range(1, count + 1)
        ]
        return [_Layer(sizes, way, gamma) for way in ways]

    # ---- folders ---------------------------------------------------------------------

    @classmethod
    def load(cls, folder: PathName) -> Tagger:
        """The best weights of a folder, or the last ones if it has no best.

        Errors: FileError, InputError (what is missing or does not fit, by name)."""
        where = "Tagger.load"
        path, config = folders.config_of(where, folder, "tagger")
        lines = [folders.lines(path / f"{n}.txt") for n in ("words", "chars", "tags")]
        made = cls(config, *lines)
        folders.read(path, made._named())
        made._folder = path
        return made

    def save(self, folder: PathName) -> None:
        """Writes a new folder for clattn, whole or not at all.

        The vocabularies are those of the folder that it was loaded from."""
        folders.write("Tagger.save", self._folder, folder, self._named())

    word: Any
    position: Any
    _folder: Any = None

    def _named(self) -> dict[str, folders.Entry]:
        """Its parameters under the names of a checkpoint."""
        return folders.entries(self)

    # ---- use -------------------------------------------------------------------------

    def batch(self, sentences: Sequence[Sequence[str]]) -> Sentences:
        """Sentences as ids; words are looked up as they are written."""
        where = "Tagger"
        spellings: dict[str, int] = {"PAD": 0} if self.pads else {}
        word: list[int] = []
        position: list[int] = []
        spelling: list[int] = []
        kept: list[int] = []
        lengths: list[int] = []
        given = arguments.items(where, "sentences", sentences, "lists")
        for i, one in enumerate(given):
            words = arguments.items(where, f"sentences[{i}]", one, "words")
            if len(words) > self.length and (self.pads or self.tied):
                raise UsageError(
                    f"{where}: sentences[{i}] has {len(words)} words, the tagger takes"
                    f" {self.length}"
                )
            size = self.length if self.pads else len(words)
            kept += range(len(word), len(word) + len(words))
            for text in words:
                spelling.append(spellings.setdefault(text, len(spellings)))
                word.append(self._words.get(text, _OOV))
            word += [_PAD] * (size - len(words))
            spelling += [0] * (size - len(words))
            position += range(size)
            lengths.append(size)
        most = self.config["char_length"]
        letters = torch.zeros(max(len(spellings), 1), most, dtype=torch.long)
        for text, row in spellings.items():
            some = [self._chars.get(letter, _OOV) for letter in text[:most]]
            letters[row, : len(some)] = torch.tensor(some, dtype=torch.long)
        w, p, s, k = (
            torch.tensor(ids, dtype=torch.long)
            for ids in (word, position, spelling, kept)
        )
        return Sentences(w, p, s, letters, tuple(lengths), k)

    def forward(self, sentences: Sequence[Sequence[str]] | Sentences) -> torch.Tensor:
        """Logits [n,G] of the tags of all words, one sentence after the other."""
        made = isinstance(sentences, Sentences)
        batch: Any = sentences if made else self.batch(sentences)  # type: ignore[arg-type]
        e = self.word.table[batch.word]
        if self.position is not None:
            place = self.position.table[batch.position]
            added = self.config["positions"] == "add"
            e = e + place if added else torch.cat([e, place], 1)
        e = torch.cat([e, self.char(batch.letters)[batch.spelling]], 1)
        h = functional.dropout(e, self.drop, self.training) if len(self.layer) else e
        for i, layer in enumerate(self.layer):
            o = layer(h, batch.lengths)
            if i + 1 < len(self.layer):  # dropout of the next layer's input
                h = functional.dropout(h + o, self.drop, self.training)
            else:
                h = h + o
        y: torch.Tensor = self.out(torch.cat([e, h], 1)[batch.kept])
        return y

    def targets(self, tags: Sequence[Sequence[str]]) -> torch.Tensor:
        """Ids [n] of tags, for cross_entropy: -100 for those that it does not know."""
        known = {tag: i for i, tag in enumerate(self.tags) if i >= _SPECIAL}
        return torch.tensor([known.get(tag, -100) for some in tags for tag in some])

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """The likeliest tag of each word."""
        was = self.training
        self.eval()
        with torch.no_grad():
            best = self(sentences)[:, _SPECIAL:].argmax(1) + _SPECIAL
        self.train(was)
        names = iter([self.tags[i] for i in best.tolist()])
        return [[next(names) for _ in sentence] for sentence in sentences]
