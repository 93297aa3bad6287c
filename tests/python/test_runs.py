"""Training event by event, sweeps, and tables of runs."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import clattn
import pytest
import toy

CONFIG = toy.CONFIGS / "tagger-conv2d.json"
Row = dict[str, Any]


def test_events(tmp_path: Path) -> None:
    settings = toy.tagging(tmp_path)
    events = list(clattn.training(CONFIG, tmp_path / "run", settings=settings))
    assert events == clattn.read_log(tmp_path / "run")
    assert any("loss" in event for event in events)
    assert any("verdict" in event for event in events)


def test_a_loop_that_is_left(tmp_path: Path) -> None:
    """break ends the run with its state saved, and a later one goes on."""
    settings = toy.tagging(tmp_path) | {"epochs": 400, "patience": 0}
    out = tmp_path / "run"
    for event in clattn.training(CONFIG, out, settings=settings):
        if "loss" in event:
            break
    step = clattn.program._checkpoint_step(out)
    assert event["step"] <= step < 400
    events = clattn.training(CONFIG, out, settings=settings, resume=True)
    first = next(events)
    events.close()
    assert first["step"] > step
    with pytest.raises(ZeroDivisionError):
        for _ in clattn.training(CONFIG, out, settings=settings, resume=True):
            raise ZeroDivisionError
    assert clattn.program._checkpoint_step(out) > step


def test_wrong_events(tmp_path: Path) -> None:
    with pytest.raises(clattn.DtypeError, match="settings is a list"):
        clattn.training(CONFIG, tmp_path / "run", settings=[])  # type: ignore[arg-type]
    with pytest.raises(clattn.InputError, match="did you mean 'dropout'"):
        next(clattn.training(CONFIG, tmp_path / "run", settings={"dropuot": 0.1}))


def test_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run for each combination; those that are complete are not trained again."""
    settings = toy.tagging(tmp_path)
    over = {"attention": ["softmax", "csan1d"], "seed": [1, 2]}
    trained: list[Path] = []

    def counted(config: Any, out: Path, **given: Any) -> list[Row]:
        trained.append(out)
        if len(trained) == 3:
            raise KeyboardInterrupt
        return clattn.train(config, out, **given)

    monkeypatch.setattr("clattn.runs.train", counted)
    out = tmp_path / "sweep"
    with pytest.raises(KeyboardInterrupt):
        clattn.sweep(CONFIG, out, over, settings=settings)
    rows = clattn.sweep(CONFIG, out, over, settings=settings)
    assert len(trained) == 3 + 2
    names = [Path(row["run"]).name for row in rows]
    assert names == [
        f"attention={a},seed={n}" for a in over["attention"] for n in (1, 2)
    ]
    assert all(0 <= row["accuracy"] <= 100 for row in rows)
    best = [
        r for r in clattn.read_log(rows[0]["run"]) if r.get("verdict") == "new best"
    ]
    assert rows[0]["accuracy"] == best[-1]["accuracy"]
    config = json.loads((out / names[3] / "config.json").read_text())
    assert config["attention"] == "csan1d" and config["seed"] == 2
    assert clattn.sweep(CONFIG, out, over, settings=settings) == rows
    assert len(trained) == 5
    logs = clattn.read_runs([row["run"] for row in rows], ["attention", "seed"])
    assert {(r["attention"], r["seed"]) for r in logs} == {
        (a, n) for a in over["attention"] for n in (1, 2)
    }
    assert all("step" in row for row in logs)
    text = clattn.table(rows, "attention", "accuracy")
    assert text.count("±") == 2 and "| softmax | 2 |" in text
    with pytest.raises(clattn.UsageError, match="was trained with"):
        clattn.sweep(CONFIG, out, over, settings=settings | {"epochs": 7})
    with pytest.raises(clattn.UsageError, match="two runs the name"):
        clattn.sweep(CONFIG, out, {"seed": [1, 1]})
    with pytest.raises(clattn.UsageError, match="a key without values"):
        clattn.sweep(CONFIG, out, {"seed": []})


def test_csv(tmp_path: Path) -> None:
    """A reader of CSV finds what the rows have, with quotes where they must be."""
    rows: list[Row] = [
        {"run": "a,b", "step": 1, "loss": 0.5, "name": 'a "word"\nmore'},
        {"run": "é", "step": 2, "accuracy": 90.25, "list": [1, 2]},
    ]
    file = tmp_path / "runs.csv"
    clattn.write_csv(rows, file)
    with open(file, encoding="utf-8", newline="") as text:
        found = list(csv.reader(text))
    assert found == [
        ["run", "step", "loss", "name", "accuracy", "list"],
        ["a,b", "1", "0.5", 'a "word"\nmore', "", ""],
        ["é", "2", "", "", "90.25", "[1, 2]"],
    ]
    with pytest.raises(clattn.DtypeError, match=r"rows\[0\]"):
        clattn.write_csv([1], file)  # type: ignore[list-item]
    with pytest.raises(clattn.FileError, match="nowhere"):
        clattn.write_csv(rows, tmp_path / "nowhere/runs.csv")


def test_tensorboard(tmp_path: Path) -> None:
    """What TensorBoard reads of the event files is what the logs have."""
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    )
    lines = (
        '{"step":5,"epoch":1,"loss":2.5,"time":"2026-11-28T16:35:17Z"}\n'
        '{"step":5,"epoch":1,"verdict":"new best","accuracy":50.5}\n'
        '{"step":9,"epoch":2,"loss":1.25,"time":"2026-11-28T16:36:17Z"}\n'
    )
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.jsonl").write_text(lines)
    runs = [tmp_path / "one", tmp_path / "two"]
    assert clattn.write_tensorboard(runs, tmp_path / "board") == 6
    for name in ("one", "two"):
        read = accumulator.EventAccumulator(str(tmp_path / "board" / name))
        read.Reload()
        assert set(read.Tags()["tensors"]) == {"loss", "accuracy"}
        loss = read.Tensors("loss")
        assert [e.step for e in loss] == [5, 9] and loss[1].wall_time == 1795883777
        assert [e.tensor_proto.float_val[0] for e in loss] == [2.5, 1.25]
    assert clattn.write_tensorboard(runs[0], tmp_path / "epochs", "epoch") == 3
    with pytest.raises(clattn.UsageError, match="the same name"):
        clattn.write_tensorboard([runs[0], runs[0]], tmp_path / "again")
    with pytest.raises(clattn.InputError, match=r"one/log\.jsonl:1: no whole number x"):
        clattn.write_tensorboard(runs, tmp_path / "again", along="x")


ROWS: list[Row] = [
    {"attention": "a|b", "seed": 1, "accuracy": 90.0, "loss": 0.5},
    {"attention": "a|b", "seed": 2, "accuracy": 92.0, "loss": 0.7},
    {"attention": "c_d", "seed": 1, "accuracy": 95.0, "loss": 0.25},
]


def test_tables() -> None:
    """Means, and deviations of samples: sqrt(2) and sqrt(0.02) of the first two."""
    assert clattn.table(ROWS, "attention", ["accuracy", "loss"]) == (
        "| attention | n | accuracy | loss |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| a\\|b | 2 | 91.00 ± 1.41 | 0.60 ± 0.14 |\n"
        "| c_d | 1 | 95.00 | 0.25 |\n"
    )
    assert clattn.table(ROWS, ["attention"], "accuracy", "latex", digits=1) == (
        "\\begin{tabular}{lrr}\n"
        "\\toprule\n"
        "attention & n & accuracy \\\\\n"
        "\\midrule\n"
        "a|b & 2 & 91.0 $\\pm$ 1.4 \\\\\n"
        "c\\_d & 1 & 95.0 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


def test_wrong_tables(tmp_path: Path) -> None:
    for given, message in (
        ((ROWS, "attention", "f1"), r"rows\[0\] has no f1"),
        ((ROWS, "attention", "accuracy", "html"), "form is 'html'"),
    ):
        with pytest.raises(clattn.UsageError, match=message):
            clattn.table(*given)  # type: ignore[arg-type]
    with pytest.raises(clattn.FileError, match=re.escape(str(tmp_path))):
        clattn.read_runs(tmp_path, ["seed"])
    (tmp_path / "config.json").write_text('{"a": {"b": 3}}')
    (tmp_path / "log.jsonl").write_text('{"step":1}\n{"step":2}\n')
    rows = clattn.read_runs(tmp_path, ["a.b"])
    run = str(tmp_path)
    assert rows == [
        {"run": run, "a.b": 3, "step": 1},
        {"run": run, "a.b": 3, "step": 2},
    ]
    with pytest.raises(clattn.InputError, match=r"has no key a\.c"):
        clattn.read_runs(tmp_path, ["a.c"])
