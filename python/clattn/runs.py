"""Runs beside each other: rows for tables and data frames, sweeps over settings."""

from __future__ import annotations

import csv
import importlib
import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from clattn import _arguments as arguments
from clattn.errors import FileError, InputError, UsageError
from clattn.program import PathName, Row, read_config, read_log, train

__all__ = ["read_runs", "sweep", "table", "write_csv", "write_tensorboard"]


def _setting(where: str, settings: Mapping[str, Any], key: str, folder: Path) -> Any:
    value: Any = settings
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise InputError(f"{where}: {folder}/config.json has no key {key}")
        value = value[part]
    return value


def _keys(where: str, name: str, value: Any) -> list[str]:
    return [text.decode() for text in arguments.texts(where, name, value)]


def _folders(where: str, runs: Any) -> list[Path]:
    alone = isinstance(runs, str) or hasattr(runs, "__fspath__")
    some = [runs] if alone else arguments.items(where, "runs", runs, "paths")
    return [
        Path(arguments.path(where, f"runs[{i}]", run)) for i, run in enumerate(some)
    ]


def read_runs(
    runs: PathName | Iterable[PathName], settings: Sequence[str] = ()
) -> list[Row]:
    """The lines of the logs of runs, one after the other: pandas.DataFrame takes them.

    runs      folders of runs
    settings  keys of their configs that become columns, dotted for nested ones

    A row has `run`, the settings, and what a line of the log has: `step`, `loss`.
    """
    where = "read_runs"
    keys = _keys(where, "settings", settings)
    rows = []
    for folder in _folders(where, runs):
        known = read_config(where, folder) if keys else {}
        chosen = {key: _setting(where, known, key, folder) for key in keys}
        rows += [{"run": str(folder), **chosen, **row} for row in read_log(folder)]
    return rows


# ---- other programs ------------------------------------------------------------------


def write_csv(rows: Iterable[Row], file: PathName) -> None:
    """Writes rows of read_runs, sweep or bench as a table (RFC 4180, UTF-8).

    A column for each key, in the order in which rows first have it; a key that a row
    lacks is an empty field.
    """
    where = "write_csv"
    path = Path(arguments.path(where, "file", file))
    given = arguments.items(where, "rows", rows, "rows")
    for i, row in enumerate(given):
        arguments.instance(where, f"rows[{i}]", row, Mapping)
    columns = list(dict.fromkeys(key for row in given for key in row))
    try:
        with open(path, "w", encoding="utf-8", newline="") as out:
            made = csv.DictWriter(out, columns)
            made.writeheader()
            made.writerows({k: _field(value) for k, value in r.items()} for r in given)
    except OSError as error:
        raise FileError(f"{where}: {path}: {error.strerror}") from error


def _field(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else json.dumps(value)


def write_tensorboard(
    runs: PathName | Iterable[PathName], folder: PathName, along: str = "step"
) -> int:
    """Writes the curves of runs as event files, and returns the number of points.

    runs    folders of runs; the curves of each are in a folder of its name in `folder`
    folder  for `tensorboard --logdir`
    along   the key of the other axis: "step" or "epoch"

    Each number of a line of the log is a point, at the time of its line. Lines that an
    earlier call wrote are written again: give it a new folder. Needs the package
    tensorboard.
    """
    where = "write_tensorboard"
    out = Path(arguments.path(where, "folder", folder))
    (axis,) = _keys(where, "along", [along])
    names: dict[str, Path] = {}
    for run in _folders(where, runs):
        name = run.resolve().name
        if name in names:
            raise UsageError(f"{where}: {names[name]} and {run} have the same name")
        names[name] = run
    points = {name: _points(run, axis) for name, run in names.items()}
    try:
        summary = importlib.import_module("tensorboard.summary")
    except ImportError as error:
        raise UsageError(f"{where}: needs the package tensorboard: {error}") from error
    for name, some in points.items():
        writer = summary.Writer(str(out / name))
        for key, value, at, time in some:
            writer.add_scalar(key, value, at, wall_time=time)
        writer.close()
    return sum(map(len, points.values()))


def _points(run: Path, axis: str) -> list[tuple[str, float, int, float | None]]:
    """Key, value, place and time of each number of a log."""
    points = []
    for i, row in enumerate(read_log(run)):
        if not isinstance(row.get(axis), int):
            raise InputError(f"{run}/log.jsonl:{i + 1}: no whole number {axis}")
        when = None
        if "time" in row:  # Python 3.10 knows no Z
            text = row["time"].replace("Z", "+00:00")
            when = datetime.fromisoformat(text).timestamp()
        for key, value in row.items():
            if key not in ("step", "epoch") and isinstance(value, int | float):
                points.append((key, float(value), row[axis], when))
    return points


# ---- sweeps --------------------------------------------------------------------------


def sweep(
    config: PathName | Mapping[str, Any],
    out: PathName,
    over: Mapping[str, Any],
    *,
    settings: Mapping[str, object] | None = None,
    device: str | int | None = None,
) -> list[Row]:
    """Trains a run for each combination of settings, and returns their best scores.

    config    a JSON file, or its content
    out       a folder; each run has one in it, such as out/attention=conv2d,seed=1
    over      the values of each key: {"attention": ["conv", "conv2d"], "seed": [1, 2]}
    settings  keys that are the same in all runs

    A row has `run`, the keys of `over`, and the scores of the best evaluation. The same
    call goes on where an earlier one was interrupted: a run that is complete is read,
    one that began continues.
    """
    where = "sweep"
    folder = Path(arguments.path(where, "out", out))
    arguments.instance(where, "over", over, Mapping)
    values = [
        arguments.items(where, f"over[{key!r}]", one, "values")
        for key, one in over.items()
    ]
    if not all(values):
        raise UsageError(f"{where}: over has a key without values")
    runs: dict[Path, dict[str, Any]] = {}
    for chosen in itertools.product(*values):
        keys = dict(zip(over, chosen, strict=True))
        run = folder / ",".join(f"{key}={_word(value)}" for key, value in keys.items())
        if run in runs:
            raise UsageError(f"{where}: over gives two runs the name {run}")
        runs[run] = keys
    rows = []
    for run, keys in runs.items():
        given = {**(settings or {}), **keys}
        done = run / "sweep.json"
        if not done.exists():
            goes_on = (run / "config.json").exists()
            log = train(config, run, settings=given, resume=goes_on, device=device)
            _finish(done, {"settings": given, "best": _best(run, log)})
        made = json.loads(done.read_text(encoding="utf-8"))
        if made["settings"] != json.loads(json.dumps(given)):
            raise UsageError(f"{where}: {run} was trained with {made['settings']}")
        rows.append({"run": str(run), **keys, **made["best"]})
    return rows


def _word(value: Any) -> str:
    """A value as a part of a folder's name."""
    return re.sub(r"[^\w.+-]", "_", _text(value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _best(run: Path, log: Sequence[Row]) -> Row:
    """The scores of the evaluation that the run keeps."""
    for row in reversed(log):
        if row.get("verdict") == "new best":
            left_out = ("verdict", "time")
            return {key: value for key, value in row.items() if key not in left_out}
    raise InputError(f"sweep: {run}/log.jsonl has no evaluation")


def _finish(path: Path, row: Row) -> None:
    """Writes a file whole or not at all."""
    scrap = path.with_suffix(".part")
    scrap.write_text(json.dumps(row), encoding="utf-8")
    scrap.replace(path)


# ---- tables --------------------------------------------------------------------------


def table(
    rows: Iterable[Row],
    by: str | Sequence[str],
    scores: str | Sequence[str],
    form: str = "markdown",
    digits: int = 2,
) -> str:
    """Means and standard deviations of scores over the rows with the same settings.

    rows    of sweep, or of read_runs
    by      the keys that rows of the table have in common: "attention"
    scores  the keys of numbers: "accuracy"
    form    "markdown", or "latex" (with booktabs)
    digits  behind the point

    The other keys, such as `seed`, are what is averaged over; n counts them. The
    deviation is that of a sample (n - 1), and missing where n is 1.
    """
    where = "table"
    keys = _keys(where, "by", [by] if isinstance(by, str) else by)
    columns = _keys(where, "scores", [scores] if isinstance(scores, str) else scores)
    places = arguments.whole(where, "digits", digits, "int")
    if form not in ("markdown", "latex"):
        raise UsageError(f"{where}: form is {form!r}, must be markdown or latex")
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for i, row in enumerate(arguments.items(where, "rows", rows, "rows")):
        for key in (*keys, *columns):
            if key not in row:
                raise UsageError(f"{where}: rows[{i}] has no {key}")
        groups.setdefault(tuple(_text(row[key]) for key in keys), []).append(row)
    lines = [[*keys, "n", *columns]]
    for names, own in groups.items():
        cells = [_cell([row[c] for row in own], places, form) for c in columns]
        lines.append([*names, str(len(own)), *cells])
    return _latex(lines, len(keys)) if form == "latex" else _markdown(lines, len(keys))


def _cell(values: Sequence[float], digits: int, form: str) -> str:
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return f"{mean:.{digits}f}"
    squares = math.fsum((value - mean) ** 2 for value in values)
    deviation = math.sqrt(squares / (len(values) - 1))
    sign = r" $\pm$ " if form == "latex" else " ± "
    return f"{mean:.{digits}f}{sign}{deviation:.{digits}f}"


def _markdown(lines: Sequence[Sequence[str]], keys: int) -> str:
    rule = ["---"] * keys + ["---:"] * (len(lines[0]) - keys)
    escaped = [[cell.replace("|", r"\|") for cell in line] for line in lines]
    made = [escaped[0], rule, *escaped[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in made) + "\n"


def _latex(lines: Sequence[Sequence[str]], keys: int) -> str:
    def row(line: Sequence[str]) -> str:
        return " & ".join(re.sub(r"([_&%#])", r"\\\1", cell) for cell in line) + r" \\"

    columns = "l" * keys + "r" * (len(lines[0]) - keys)
    made = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", row(lines[0]), r"\midrule"]
    made += [row(line) for line in lines[1:]]
    return "\n".join([*made, r"\bottomrule", r"\end{tabular}"]) + "\n"
