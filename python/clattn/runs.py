"""Runs beside each other: rows for tables and data frames, sweeps over settings."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clattn import _arguments as arguments
from clattn.errors import FileError, InputError, UsageError
from clattn.program import PathName, Row, read_log, train

__all__ = ["read_runs", "sweep", "table"]


def _settings(where: str, folder: Path) -> dict[str, Any]:
    """What a run was trained with."""
    path = folder / "config.json"
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{where}: {path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{where}: {path}: not JSON: {error}") from error
    if not isinstance(made, dict):
        raise InputError(f"{where}: {path}: no object")
    return made


def _setting(where: str, settings: Mapping[str, Any], key: str, folder: Path) -> Any:
    value: Any = settings
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise InputError(f"{where}: {folder}/config.json has no key {key}")
        value = value[part]
    return value


def _keys(where: str, name: str, value: Any) -> list[str]:
    return [text.decode() for text in arguments.texts(where, name, value)]


def read_runs(
    runs: PathName | Iterable[PathName], settings: Sequence[str] = ()
) -> list[Row]:
    """The lines of the logs of runs, one after the other: pandas.DataFrame takes them.

    runs      folders of runs
    settings  keys of their configs that become columns, dotted for nested ones

    A row has `run`, the settings, and what a line of the log has: `step`, `loss`.
    """
    where = "read_runs"
    alone = isinstance(runs, str) or hasattr(runs, "__fspath__")
    folders: list[Any] = (
        [runs] if alone else arguments.items(where, "runs", runs, "paths")
    )
    keys = _keys(where, "settings", settings)
    rows = []
    for i, one in enumerate(folders):
        folder = Path(arguments.path(where, f"runs[{i}]", one))
        known = _settings(where, folder) if keys else {}
        chosen = {key: _setting(where, known, key, folder) for key in keys}
        rows += [{"run": str(folder), **chosen, **row} for row in read_log(folder)]
    return rows


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
