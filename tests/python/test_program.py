"""Training, models and everything else that runs the installed program."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import clattn
import numpy as np
import pytest
import toy
from conftest import ROOT

Make = Callable[[str], Path]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """The folder of a run, trained when it is first asked for."""
    made: dict[str, Path] = {}
    systems = {
        "tagger": ("tagger-conv2d", toy.tagging),
        "translator": ("nmt-plain", toy.translation),
        "reader": ("reader-match_lstm", toy.reading),
        "poet": ("poem-ppg", toy.poetry),
        "lm": ("lm-small", toy.language),
    }

    def make(kind: str) -> Path:
        if kind not in made:
            config, prepare = systems[kind]
            data = tmp_path_factory.mktemp(f"{kind}-data")
            out = tmp_path_factory.mktemp(kind) / "run"
            path = toy.CONFIGS / f"{config}.json"
            clattn.train(path, out, settings=prepare(data))
            made[kind] = out
        return made[kind]

    return make


# ---- training ----------------------------------------------------------------------


def test_training_tells_its_log(tmp_path: Path) -> None:
    settings = toy.tagging(tmp_path)
    config = json.loads((toy.CONFIGS / "tagger-conv2d.json").read_text()) | settings
    seen: list[clattn.program.Row] = []
    log = clattn.train(config, tmp_path / "run", on_log=seen.append)
    assert seen == log == clattn.read_log(tmp_path / "run")
    assert {row["step"] for row in log if "loss" in row} >= {2, 4, 6}
    assert any("accuracy" in row for row in log)
    scores = clattn.evaluate(tmp_path / "run", split="dev")
    assert 0 <= scores["accuracy"] <= 100


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, also where the caller has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    settings = toy.tagging(tmp_path) | {"epochs": 400, "patience": 0}
    config, out = toy.CONFIGS / "tagger-conv2d.json", tmp_path / "run"
    first: list[clattn.program.Row] = []

    def interrupt(row: clattn.program.Row) -> None:
        first.append(row)
        if len(first) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        clattn.train(config, out, settings=settings, on_log=interrupt)
    assert len(first) < 400
    with clattn.Model.load(out) as model:
        assert model.kind == "tagger"
    step = clattn.program._checkpoint_step(out)
    assert step >= first[-1]["step"]

    again: list[clattn.program.Row] = []

    class Enough(Exception):
        pass

    def stop(row: clattn.program.Row) -> None:
        again.append(row)
        if len(again) == 3:
            raise Enough

    with pytest.raises(Enough):
        clattn.train(config, out, settings=settings, resume=True, on_log=stop)
    assert all(row["step"] > step for row in again)
    log = clattn.read_log(out)
    steps = [row["step"] for row in log if "loss" in row]
    assert steps == sorted(set(steps))
    assert clattn.program._checkpoint_step(out) >= again[-1]["step"]


def test_training_in_other_threads(tmp_path: Path) -> None:
    """Two runs at once, outside the main thread."""
    logs: dict[int, list[Any]] = {}

    def run(seed: int) -> None:
        folder = tmp_path / str(seed)
        folder.mkdir()
        settings = toy.tagging(folder) | {"seed": seed, "epochs": 1}
        config = toy.CONFIGS / "tagger-conv2d.json"
        logs[seed] = clattn.train(config, folder / "run", settings=settings)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert logs[1][0]["loss"] != logs[2][0]["loss"]


def test_wrong_training(tmp_path: Path) -> None:
    config = toy.CONFIGS / "tagger-conv2d.json"
    with pytest.raises(clattn.InputError, match="did you mean 'dropout'"):
        clattn.train(config, tmp_path / "a", settings={"dropuot": 0.1})
    with pytest.raises(clattn.FileError, match="nowhere"):
        clattn.train(config, tmp_path / "b", settings={"data": "nowhere"})
    with pytest.raises(clattn.FileError, match=r"none\.json"):
        clattn.train(tmp_path / "none.json", tmp_path / "c")
    with pytest.raises(clattn.FileError, match=r"log\.jsonl"):
        clattn.read_log(tmp_path)
    log = tmp_path / "log.jsonl"
    log.write_text('{"step":1}\n{"step":2}\n{"step"')
    assert clattn.read_log(tmp_path) == [{"step": 1}, {"step": 2}]
    log.write_text('{"step":1}\n{"st\n{"step":3}\n')
    with pytest.raises(clattn.InputError, match=r"log\.jsonl:2: not JSON"):
        clattn.read_log(tmp_path)


# ---- models ------------------------------------------------------------------------


def test_a_tagger(runtime: clattn.Runtime, trained: Make) -> None:
    words = ["il", "ne", "vient", "pas"]
    with clattn.Model.load(trained("tagger"), runtime) as model:
        tags = model.tag(words)
        assert len(tags) == 4 and all(tag.isupper() for tag in tags)
        assert model.tag([]) == []
        both = model.tag_sentences([words, [], words[:2]])
        assert both == [tags, [], model.tag(words[:2])]
        assert model.tag_sentences([]) == []
        with pytest.raises(clattn.InputError, match="sentence 1 has 4 words"):
            model.tag_sentences([["il"], words], max_words=3)
        assert model.hire(1) == 1
        heard: list[tuple[int, int]] = []
        model.watch(lambda done, count: heard.append((done, count)))
        assert model.tag(words) == tags and heard == [(4, 4)]
        model.watch(lambda done, count: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            model.tag(words)
        model.watch(None)
        assert model.tag(words) == tags
        maps = model.maps(" ".join(words))
        assert maps["logits"].shape[0] == 4
        np.testing.assert_allclose(maps["map.0.0"].sum(axis=1), 1, rtol=1e-5)
        assert maps["convolved.1.1"].shape == (4, 4)
        names = (trained("tagger") / "tags.txt").read_text().split()
        assert tags == [names[i] for i in maps["logits"].argmax(axis=1)]
        with pytest.raises(clattn.InputError, match=r"words\[1\]"):
            model.tag(["il", ""])
        with pytest.raises(clattn.InputError, match=r"words\[0\] holds a NUL"):
            model.tag(["i\0l"])
        with pytest.raises(clattn.UsageError, match="the model is a tagger"):
            model.translate(["il"])
    with pytest.raises(clattn.FreedError, match="the model is freed"):
        model.tag(words)
    small = clattn.Weights.INT8
    with clattn.Model.load(trained("tagger"), runtime, weights=small) as model:
        assert len(model.tag(words)) == 4
    folder, int8 = trained("tagger"), clattn.Compute.INT8
    with clattn.Model.load(folder, runtime, weights=small, compute=int8) as model:
        assert len(model.tag(words)) == 4
    with pytest.raises(clattn.UsageError, match="weights must be int8, too"):
        clattn.Model.load(folder, runtime, compute=int8)
    with pytest.raises(clattn.UsageError, match="weights"):
        clattn.Model.load(trained("tagger"), runtime, weights=7)  # type: ignore[arg-type]
    with pytest.raises(clattn.FileError, match="none/config"):
        clattn.Model.load("none", runtime)


def test_a_translator(runtime: clattn.Runtime, trained: Make) -> None:
    with clattn.Model.load(trained("translator"), runtime) as model:
        lines = ["", "the red cat sleeps.", "a blue dog sleeps."]
        for beam in (1, 4):
            made = model.translate(lines, beam=beam)
            assert [t.text for t in made] == [
                "",
                "die rote Katze schläft.",
                "ein blauer Hund schläft.",
            ]
            assert all(t.logp <= 0 for t in made)
        some = model.nbest(lines, 2, beam=4)
        assert [t[0].text for t in some] == [t.text for t in made]
        assert len(some[1]) == 2 and some[1][0].score >= some[1][1].score
        scored = model.score(lines, [t.text for t in made])
        np.testing.assert_allclose(
            [t.logp for t in scored], [t.logp for t in made], rtol=1e-4, atol=1e-5
        )
        assert len(model.nbest(lines[1:2], 1, most=1)[0][0].text.split()) <= 1
        for found in model.align(lines), model.align(lines, [t.text for t in made]):
            for a, t in zip(found, made, strict=True):
                assert a.text == t.text
                assert sum(p for _, p in a.pieces) == pytest.approx(t.logp, 1e-3, 1e-4)
                assert [j for _, j in a.links] == list(range(len(t.text.split())))
            assert all(0 <= i < 4 for i, _ in found[1].links), found[1]
        with pytest.raises(clattn.UsageError, match="3 lines, 1 targets"):
            model.score(lines, ["a"])
        with pytest.raises(clattn.UsageError, match="beam"):
            model.translate(lines, beam=-1)
        with pytest.raises(clattn.InputError, match=r"lines\[0\] holds a line end"):
            model.translate(["a\nb"])
        with pytest.raises(clattn.UsageError, match="drawn as"):
            model.maps("the red cat sleeps.")


def test_a_reader(runtime: clattn.Runtime, trained: Make) -> None:
    passage = "Än sold rye on day 20."
    with clattn.Model.load(trained("reader"), runtime) as model:
        questions = ["What did Än sell?", "Who sold rye?"]
        answers = model.answer(passage, questions, best=2)
        assert [quotes[0].text for quotes in answers] == ["rye", "Än"]
        assert [len(quotes) for quotes in answers] == [2, 2]
        quote = answers[0][0]
        assert (quote.start, quote.stop) == (8, 11) and quote.logp <= 0
        assert model.answer("", questions) == [[], []]
        both = model.ask([(q, [passage]) for q in questions], best=2)
        assert [[a.text for a in row] for row in both] == [
            [a.text for a in row] for row in answers
        ]
        with pytest.raises(clattn.InputError, match="more than 2"):
            model.ask([(questions[0], [passage])], max_words=2)
        maps = model.maps(questions[0], passage=passage)
        assert set(maps) == {"forward", "backward"}
        assert maps["forward"].ndim == 3
        np.testing.assert_allclose(maps["forward"].sum(axis=2), 1, rtol=1e-5)


def test_a_poet(runtime: clattn.Runtime, trained: Make) -> None:
    with clattn.Model.load(trained("poet"), runtime) as model:
        poem = model.compose("明月", characters=5)
        assert [len(line) for line in poem.lines] == [5, 5, 5, 5]
        assert len(poem.keywords) == 4 and poem.logp <= 0
        assert poem == model.compose("明月", characters=5)
        assert "line1" in model.maps("明月", characters=5)
        with pytest.raises(clattn.UsageError, match="characters"):
            model.compose("明月", characters=6)


def test_a_language_model(runtime: clattn.Runtime, trained: Make) -> None:
    with clattn.Model.load(trained("lm"), runtime) as model:
        assert model.kind == "lm"
        assert model.generate("one two", 13, greedy=True) == " three four f"
        drawn = model.generate("one", 20, temperature=2, top_k=3, seed=1)
        assert len(drawn) == 20
        assert drawn == model.generate("one", 20, temperature=2, top_k=3, seed=1)
        with pytest.raises(clattn.UsageError, match="top_p"):
            model.generate("one", top_p=2)
        with pytest.raises(clattn.UsageError, match="the model is a lm"):
            model.compose("one")


# ---- the rest ----------------------------------------------------------------------


def test_verify() -> None:
    folder = ROOT / "tests/data/golden"
    rows = clattn.verify([folder / "masked_softmax/masked_softmax_20.safetensors"])
    assert [row["schedule"] for row in rows] == ["tile", "group"]
    assert all(row["ok"] for row in rows)
    with pytest.raises(clattn.ClattnError, match="none"):
        clattn.verify([folder / "none.safetensors"])


def test_a_program_that_cannot_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "clattn"
    why = "error while loading shared libraries: libOpenCL.so.1"
    program.write_text(f"#!/bin/sh\necho '/opt/clattn: {why}' >&2\nexit 127\n")
    program.chmod(0o755)
    monkeypatch.setenv("CLATTN_PROGRAM", str(program))
    with pytest.raises(clattn.ClattnError, match=why):
        clattn.verify()


def test_bench() -> None:
    rows = clattn.bench(suite="softmax", filter="fwd B8 H8 T256 S256")
    assert rows and all("masked_softmax" in json.dumps(row) for row in rows)
    with pytest.raises(clattn.UsageError, match="suite"):
        clattn.bench(suite="none")


def test_score(tmp_path: Path) -> None:
    reference, worse = tmp_path / "ref", tmp_path / "hyp"
    reference.write_text(toy.LINES["de"])
    worse.write_text(toy.LINES["de"].replace("rote", "blaue"))
    (same,) = clattn.score("bleu", reference, reference)
    (other,) = clattn.score("bleu", [reference], worse, tokenize="none", lowercase=True)
    assert same["score"] == 100 and 0 < other["score"] < 100
    with pytest.raises(clattn.UsageError, match="tokenize"):
        clattn.score("bleu", reference, reference, tokenize="no")


def test_safetensors(tmp_path: Path) -> None:
    for data in (b"", b"\1\0\0\0\0\0\0\0x", b"\2\0\0\0\0\0\0\0[]"):
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(clattn.InputError, match="no safetensors file"):
            clattn.read_safetensors(tmp_path / "bad")
    golden = ROOT / "tests/data/golden/linear/linear_2none.safetensors"
    tensors = clattn.read_safetensors(golden)
    assert tensors["in.x"].ndim == 2
    cut = tmp_path / "cut"
    cut.write_bytes(golden.read_bytes()[:-4])
    with pytest.raises(clattn.InputError, match="cut off in the tensor"):
        clattn.read_safetensors(cut)
