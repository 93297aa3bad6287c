"""Trained systems: tagger, translator, reader, poet."""

from __future__ import annotations

import ctypes
import json
import math
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clattn import _arguments as arguments
from clattn._api import QUATRAIN_LINES, Compute, Weights
from clattn._library import check, filled, library, struct, text
from clattn._results import (
    Alignment,
    Quatrain,
    Quote,
    Translation,
    as_bytes,
    as_quote,
    as_texts,
)
from clattn.errors import OutOfMemoryError, UsageError
from clattn.program import call, given
from clattn.runtime import Owned, Runtime
from clattn.safetensors import read_safetensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    import numpy as np

__all__ = ["Alignment", "Model", "Quatrain", "Quote", "Translation"]


_WATCH = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t
)


class Model(Owned):
    """The best weights of a model folder, as `train` writes it, on a device."""

    _free = "cla_model_free"
    _name = "model"
    _watcher: Any = None
    _raised: BaseException | None = None  # by the listener

    def __init__(
        self,
        folder: str | os.PathLike[str],
        runtime: Runtime | None = None,
        weights: Weights = Weights.STORED,
        compute: Compute = Compute.FLOAT32,
    ) -> None:
        self.folder = Path(arguments.path("Model", "folder", folder))
        runtime = Runtime() if runtime is None else runtime
        arguments.instance("Model", "runtime", runtime, Runtime)
        arguments.instance("Model", "weights", weights, Weights)
        arguments.instance("Model", "compute", compute, Compute)
        out = ctypes.c_void_p()
        options = filled(
            "cla_model_options", "Model", weights=int(weights), compute=int(compute)
        )
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
        compute: Compute = Compute.FLOAT32,
    ) -> Model:
        """Loads a folder; without a runtime, on a new one on the default device.

        weights  their number type on the device, such as Weights.INT8
        compute  what products with weights of 8 bits are computed in
        """
        return Model(folder, runtime, weights, compute)

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
        array = as_texts(where, "words", [word for s in given for word in s])
        length = (ctypes.c_size_t * max(len(given), 1))(*map(len, given))
        tags = (ctypes.c_char_p * max(len(array), 1))()
        options = filled("cla_tag_options", where, max_words=max_words)
        how = ctypes.byref(options)
        with self.runtime.lock:
            self.runtime.begin()
            at, count = self.pointer, len(given)
            self._check(
                library().cla_model_tag_sentences(at, tags, array, length, count, how)
            )
            names = iter([text(tag) for tag in tags[: len(array)]])
        return [[next(names) for _ in sentence] for sentence in given]

    def tag(self, words: Sequence[str]) -> list[str]:
        """The tag of each word of a sentence."""
        array = as_texts("tag", "words", words)
        tags = (ctypes.c_char_p * max(len(array), 1))()
        with self.runtime.lock:
            self.runtime.begin()
            self._check(library().cla_model_tag(self.pointer, tags, array, len(array)))
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
        search = {"beam": beam, "length_penalty": length_penalty, "batch": batch}
        return self._translate("translate", lines, None, search)

    def nbest(
        self,
        lines: Sequence[str],
        best: int,
        beam: int | None = None,
        length_penalty: float = 0.6,
        batch: int = 32,
        extra: int = 0,
        most: int = 0,
    ) -> list[list[Translation]]:
        """The best translations of each line, as many as the beam finds.

        best   how many, at most; the beam where that is not given
        extra  pieces that a translation may have beyond those of its line; 0: as the
               model has it
        most   or its pieces, whatever those of its line; one of the two
        """
        best = arguments.whole("nbest", "best", best, "int32_t")
        search = {
            "beam": best if beam is None else beam,
            "length_penalty": length_penalty,
            "batch": batch,
            "best": best,
            "extra": extra,
            "most": most,
        }
        rows, each = self._translate("nbest", lines, None, search), max(best, 1)
        found = [rows[i : i + each] for i in range(0, len(rows), each)]
        return [[t for t in row if t.logp > -math.inf] for row in found]

    def score(
        self,
        lines: Sequence[str],
        targets: Sequence[str],
        length_penalty: float = 0.6,
        batch: int = 32,
    ) -> list[Translation]:
        """The scores of given translations of lines."""
        search = {"length_penalty": length_penalty, "batch": batch}
        given = as_texts("score", "targets", targets)
        return self._translate("score", lines, given, search)

    def align(
        self,
        lines: Sequence[str],
        targets: Sequence[str] | None = None,
        beam: int = 1,
        length_penalty: float = 0.6,
        batch: int = 32,
    ) -> list[Alignment]:
        """Pieces and links of words: of the translation of each line, or of targets."""
        search = {
            "beam": beam,
            "length_penalty": length_penalty,
            "batch": batch,
            "detail": 1,
        }
        given = None if targets is None else as_texts("align", "targets", targets)
        return self._translate("align", lines, given, search, self._detail)

    def _detail(self, i: int, said: Any) -> Alignment:
        d = struct("cla_translation_detail")()
        self._check(library().cla_model_detail(self.pointer, ctypes.byref(d), i))
        pieces = [(text(d.piece[k]), d.logp[k]) for k in range(d.pieces)]
        links = [(d.link[k].source, d.link[k].target) for k in range(d.links)]
        return Alignment(text(said.text), pieces, links)

    def _translate(
        self,
        where: str,
        lines: Sequence[str],
        targets: Any,
        search: dict[str, Any],
        build: Callable[[int, Any], Any] | None = None,
    ) -> list[Any]:
        array = as_texts(where, "lines", lines)
        count = len(array)
        options = filled("cla_translate_options", where, **search)
        rows = count * max(options.best, 1)
        try:
            made = (struct("cla_translation") * max(rows, 1))()
        except (MemoryError, OverflowError, ValueError):
            raise OutOfMemoryError(f"{where}: no memory for {rows} rows") from None
        if targets is not None and len(targets) != count:
            raise UsageError(f"{where}: {count} lines, {len(targets)} targets")
        with self.runtime.lock:
            self.runtime.begin()
            at, how = self.pointer, ctypes.byref(options)
            texts = [array] if targets is None else [array, targets]
            name = "translate" if targets is None else "score"
            function = getattr(library(), f"cla_model_{name}")
            self._check(function(at, made, *texts, count, how))
            if build:
                return [build(i, made[i]) for i in range(rows)]
            return [Translation(text(t.text), t.logp, t.score) for t in made[:rows]]

    def answer(
        self, passage: str, questions: Sequence[str], best: int = 1
    ) -> list[list[Quote]]:
        """The answers to each question, best first; none where there are no words."""
        data = as_bytes("answer", "passage", passage)
        array = as_texts("answer", "questions", questions)
        best = arguments.whole("answer", "best", best, "uint32_t")
        count, rows = len(array), max(len(array) * best, 1)
        try:
            quotes = (struct("cla_quote") * rows)()
        except (MemoryError, OverflowError, ValueError):
            raise OutOfMemoryError(f"answer: no memory for best {best}") from None
        found = (ctypes.c_size_t * max(count, 1))()
        with self.runtime.lock:
            self.runtime.begin()
            self._check(
                library().cla_model_answer(
                    self.pointer, quotes, found, data, array, count, best
                )
            )
        return [
            [as_quote(passage, q) for q in quotes[i * best : i * best + found[i]]]
            for i in range(count)
        ]

    def ask(
        self,
        questions: Sequence[tuple[str, Sequence[str]]],
        best: int = 1,
        max_words: int = 0,
    ) -> list[list[Quote]]:
        """The answers to questions that have passages of their own, best first.

        questions  pairs of a question and a list of its passages
        max_words  of a passage; a longer one is refused. 0: any number
        """
        where = "ask"
        pairs = [
            arguments.items(where, f"questions[{i}]", pair, "texts")
            for i, pair in enumerate(
                arguments.items(where, "questions", questions, "pairs")
            )
        ]
        if any(len(pair) != 2 for pair in pairs):
            raise UsageError("ask: questions must be pairs of a text and passages")
        asked = (struct("cla_question") * max(len(pairs), 1))()
        arrays = [as_texts(where, "passages", passages) for _, passages in pairs]
        for one, (question, _), array in zip(asked, pairs, arrays, strict=False):
            one.text = as_bytes(where, "questions", question)
            one.passages, one.passage_count = array, len(array)
        options = filled("cla_answer_options", where, best=best, max_words=max_words)
        best, count = max(options.best, 1), len(pairs)
        quotes = (struct("cla_passage_quote") * max(count * best, 1))()
        found = (ctypes.c_size_t * max(count, 1))()
        with self.runtime.lock:
            self.runtime.begin()
            at, how = self.pointer, ctypes.byref(options)
            self._check(library().cla_model_ask(at, quotes, found, asked, count, how))
        return [
            [
                as_quote(pairs[i][1][q.passage], q.quote, q.passage)
                for q in quotes[i * best : i * best + found[i]]
            ]
            for i in range(count)
        ]

    def watch(self, listener: Callable[[int, int], Any] | None) -> None:
        """Has listener(done, count) called after each batch of later calls: done of
        count words, lines, questions or lines of a poem. What it raises ends the call
        and comes out of it. None: nobody listens."""
        if listener is not None and not callable(listener):
            raise arguments.wrong("watch", "listener", listener, "a function")

        def hear(_: int | None, done: int, count: int) -> int:
            assert listener
            try:
                listener(done, count)
            except BaseException as error:
                self._raised = error
            return UsageError.status if self._raised else 0

        watcher = _WATCH(hear) if listener else None
        with self.runtime.lock:
            self.runtime.begin()
            to = ctypes.cast(watcher, ctypes.c_void_p) if watcher else None
            check(library().cla_model_watch(self.pointer, to, None))
            self._watcher = watcher  # C keeps no reference

    def _check(self, status: int) -> None:
        """As check, but raises what the listener raised."""
        raised, self._raised = self._raised, None
        if raised:
            raise raised
        check(status)

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
        data, how = as_bytes("compose", "about", about), ctypes.byref(options)
        with self.runtime.lock:
            self.runtime.begin()
            at = self.pointer
            self._check(library().cla_model_compose(at, ctypes.byref(out), data, how))
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

    def generate(
        self,
        prompt: str = "",
        pieces: int = 200,
        *,
        greedy: bool = False,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 42,
    ) -> str:
        """The text that a language model writes behind a prompt.

        Pieces are drawn by their probabilities to the power 1/temperature, from the
        top_k likeliest (0: all), and from the fewest likeliest that have the
        probability top_p together. The same arguments give the same text.
        """
        out = ctypes.c_char_p()
        options = filled(
            "cla_generate_options",
            "generate",
            pieces=pieces,
            greedy=int(arguments.flag("generate", "greedy", greedy)),
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            seed=seed,
        )
        data, how = as_bytes("generate", "prompt", prompt), ctypes.byref(options)
        with self.runtime.lock:
            self.runtime.begin()
            at = self.pointer
            self._check(library().cla_model_generate(at, ctypes.byref(out), data, how))
            return text(out.value)

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
        as_bytes("maps", "about", about)
        data = b"" if passage is None else as_bytes("maps", "passage", passage)
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


def _array(levels: Any) -> np.ndarray[Any, np.dtype[Any]]:
    import numpy as np

    return np.array(levels, np.float32)
