"""Trained systems: tagger, translator, reader, poet."""

from __future__ import annotations

import ctypes
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clattn import _arguments as arguments
from clattn._api import QUATRAIN_LINES, Weights
from clattn._library import check, filled, library, struct, text
from clattn.errors import InputError, OutOfMemoryError
from clattn.program import call, given
from clattn.runtime import Owned, Runtime
from clattn.safetensors import read_safetensors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    import numpy as np

__all__ = ["Model", "Quatrain", "Quote", "Translation"]


@dataclass(frozen=True)
class Translation:
    """The translation of a line.

    logp   natural logarithm of its probability
    score  logp / ((5 + n) / 6)^length_penalty, n its pieces and the end
    """

    text: str
    logp: float
    score: float


@dataclass(frozen=True)
class Quote:
    """An answer: passage[start:stop]. logp is the logarithm of its probability."""

    text: str
    start: int
    stop: int
    logp: float


@dataclass(frozen=True)
class Quatrain:
    """A poem of four lines, and the keyword that each was written on.

    from_text, from_vectors  keywords that are words of the text, or near to those; the
                             others were drawn
    logp                     logarithm of the probability of all characters
    """

    lines: tuple[str, ...]
    keywords: tuple[str, ...]
    from_text: int
    from_vectors: int
    logp: float


def _bytes(where: str, name: str, value: str) -> bytes:
    if isinstance(value, str) and "\0" in value:
        raise InputError(f"{where}: {name} holds a NUL byte")
    return arguments.text(where, name, value)


def _texts(where: str, name: str, values: Sequence[str]) -> Any:
    """The texts as an array of C."""
    given = arguments.items(where, name, values, "texts")
    data = [_bytes(where, f"{name}[{i}]", value) for i, value in enumerate(given)]
    return (ctypes.c_char_p * len(data))(*data)


class Model(Owned):
    """The best weights of a model folder, as `train` writes it, on a device."""

    _free = "cla_model_free"
    _name = "model"

    def __init__(
        self,
        folder: str | os.PathLike[str],
        runtime: Runtime | None = None,
        weights: Weights = Weights.STORED,
    ) -> None:
        self.folder = Path(arguments.path("Model", "folder", folder))
        runtime = Runtime() if runtime is None else runtime
        arguments.instance("Model", "runtime", runtime, Runtime)
        arguments.instance("Model", "weights", weights, Weights)
        out = ctypes.c_void_p()
        options = filled("cla_model_options", "Model", weights=int(weights))
        with runtime.lock:
            path, how = os.fsencode(self.folder), ctypes.byref(options)
            to, rt = ctypes.byref(out), runtime.begin()
            check(library().cla_model_open(to, rt, path, how))
            assert out.value
            super().__init__(runtime, out.value)

    @staticmethod
    def load(
        folder: str | os.PathLike[str],
        runtime: Runtime | None = None,
        weights: Weights = Weights.STORED,
    ) -> Model:
        """Loads a folder; without a runtime, on a new one on the default device.

        weights  their number type on the device, such as Weights.INT8
        """
        return Model(folder, runtime, weights)

    def __enter__(self) -> Model:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.free()

    @property
    def kind(self) -> str:
        """ "tagger", "translator", "poet" or "reader"."""
        return text(library().cla_model_kind(self.pointer))

    def hire(self, count: int = 0) -> int:
        """Opens workers, copies on shares of a CPU that translate batches at the same
        time, and returns how many there are. 0: as many as suit the device."""
        count = arguments.whole("hire", "count", count, "int")
        with self.runtime.lock:
            self.runtime.begin()
            check(library().cla_model_hire(self.pointer, count))
            return int(library().cla_model_workers(self.pointer))

    def tag_sentences(
        self, sentences: Sequence[Sequence[str]], max_words: int = 0
    ) -> list[list[str]]:
        """The tag of each word of each sentence; a sentence of more than max_words
        words (0: any number) is refused."""
        where = "tag_sentences"
        given = [
            arguments.items(where, f"sentences[{i}]", words, "words")
            for i, words in enumerate(
                arguments.items(where, "sentences", sentences, "sentences")
            )
        ]
        array = _texts(where, "words", [word for s in given for word in s])
        length = (ctypes.c_size_t * max(len(given), 1))(*map(len, given))
        tags = (ctypes.c_char_p * max(len(array), 1))()
        options = filled("cla_tag_options", where, max_words=max_words)
        how = ctypes.byref(options)
        with self.runtime.lock:
            self.runtime.begin()
            at, count = self.pointer, len(given)
            check(
                library().cla_model_tag_sentences(at, tags, array, length, count, how)
            )
            names = iter([text(tag) for tag in tags[: len(array)]])
        return [[next(names) for _ in sentence] for sentence in given]

    def tag(self, words: Sequence[str]) -> list[str]:
        """The tag of each word of a sentence."""
        array = _texts("tag", "words", words)
        tags = (ctypes.c_char_p * max(len(array), 1))()
        with self.runtime.lock:
            self.runtime.begin()
            check(library().cla_model_tag(self.pointer, tags, array, len(array)))
            return [text(tag) for tag in tags[: len(array)]]

    def translate(
        self,
        lines: Sequence[str],
        beam: int = 1,
        length_penalty: float = 0.6,
        batch: int = 32,
    ) -> list[Translation]:
        """The translation of each line; that of a line without words is empty.

        beam            hypotheses of a line, 1 to 256
        length_penalty  0 to 10: how much longer translations are favoured
        batch           lines that are worked on together, at most
        """
        array = _texts("translate", "lines", lines)
        made = (struct("cla_translation") * max(len(array), 1))()
        options = filled(
            "cla_translate_options",
            "translate",
            beam=beam,
            length_penalty=length_penalty,
            batch=batch,
        )
        with self.runtime.lock:
            self.runtime.begin()
            at, how = self.pointer, ctypes.byref(options)
            check(library().cla_model_translate(at, made, array, len(array), how))
            rows = made[: len(array)]
            return [Translation(text(t.text), t.logp, t.score) for t in rows]

    def answer(
        self, passage: str, questions: Sequence[str], best: int = 1
    ) -> list[list[Quote]]:
        """The answers to each question, best first; none where there are no words."""
        data = _bytes("answer", "passage", passage)
        array = _texts("answer", "questions", questions)
        best = arguments.whole("answer", "best", best, "uint32_t")
        count, rows = len(array), max(len(array) * best, 1)
        try:
            quotes = (struct("cla_quote") * rows)()
        except (MemoryError, OverflowError, ValueError):
            raise OutOfMemoryError(f"answer: no memory for best {best}") from None
        found = (ctypes.c_size_t * max(count, 1))()
        with self.runtime.lock:
            self.runtime.begin()
            check(
                library().cla_model_answer(
                    self.pointer, quotes, found, data, array, count, best
                )
            )
        return [
            [_quote(passage, q) for q in quotes[i * best : i * best + found[i]]]
            for i in range(count)
        ]

    def compose(
        self, about: str = "", characters: int = 7, beam: int = 1, seed: int = 42
    ) -> Quatrain:
        """A quatrain about a text, with lines of 5 or 7 characters.

        The same text, options and weights give the same poem; seed draws the keywords
        that the text does not give.
        """
        out = ctypes.POINTER(struct("cla_quatrain"))()
        options = filled(
            "cla_compose_options",
            "compose",
            characters=characters,
            beam=beam,
            seed=seed,
        )
        data, how = _bytes("compose", "about", about), ctypes.byref(options)
        with self.runtime.lock:
            self.runtime.begin()
            at = self.pointer
            check(library().cla_model_compose(at, ctypes.byref(out), data, how))
        try:
            poem, four = out.contents, range(QUATRAIN_LINES)
            return Quatrain(
                tuple(text(poem.line[i]) for i in four),
                tuple(text(poem.keyword[i]) for i in four),
                poem.from_text,
                poem.from_vectors,
                poem.logp,
            )
        finally:
            library().cla_quatrain_free(ctypes.byref(out))

    def maps(
        self, about: str, passage: str | None = None, characters: int | None = None
    ) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """What attention attends to, as arrays by name.

        tagger  `logits` [T,tags], `map.LAYER.HEAD` [T,T] and, where a map is convolved,
                `convolved.LAYER.HEAD` [T,T], for a sentence without padding: one that
                was trained to see padding (`mask_pad` false) may tag otherwise
        reader  a site [level,row,column], for a question about a passage
        poet    a site [level,row,column], for the poem about a text

        It runs the installed program (`clattn inspect`), since the C library has no
        function for it. A translator's maps can only be drawn: UsageError.
        """
        _bytes("maps", "about", about)
        data = b"" if passage is None else _bytes("maps", "passage", passage)
        if characters is not None:
            arguments.whole("maps", "characters", characters, "int32_t")
        with tempfile.TemporaryDirectory() as folder:
            words = ["--model", str(self.folder), f"--text={about}"]
            words += ["--device", f"uuid:{self.runtime.device.uuid}"]
            if not self.runtime.device.uuid:
                words[-1] = str(self.runtime.device.index)
            if self.kind in ("tagger", "translator"):
                out = Path(folder, "maps.safetensors")
                call("inspect", [*words, "--out", str(out)])
                return read_safetensors(out)
            if passage is not None:
                file = Path(folder, "passage.txt")
                file.write_bytes(data)
                words += ["--passage", str(file)]
            words += given(chars=characters)
            rows = call("inspect", [*words, "--json"])
        return {site["site"]: _array(site["maps"]) for site in map(json.loads, rows)}


def _quote(passage: str, raw: Any) -> Quote:
    start = getattr(raw, "from")  # a word of Python's own
    return Quote(passage[start : raw.to], start, raw.to, raw.logp)


def _array(levels: Any) -> np.ndarray[Any, np.dtype[Any]]:
    import numpy as np

    return np.array(levels, np.float32)
