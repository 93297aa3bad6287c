"""Training, verification, benchmarks and scores.

The C library has no functions for these. Each function here runs the installed program
`clattn`. If that fails, the exception of its exit status is raised with its message.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clattn import _arguments as arguments
from clattn._library import PROGRAM, WINDOWS, carried
from clattn.errors import DtypeError, FileError, InputError, from_status
from clattn.safetensors import read_header

__all__ = ["bench", "evaluate", "read_log", "score", "train", "training", "verify"]

PathName = str | os.PathLike[str]
Row = dict[str, Any]
_log = logging.getLogger("clattn")
_POLL_S = 0.05
_GROUP: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
_STOP: int = getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT)


def find_program() -> str:
    """$CLATTN_PROGRAM, else the wheel's own program, else the one in PATH."""
    own = os.environ.get("CLATTN_PROGRAM") or carried(PROGRAM)
    found = own or shutil.which("clattn")
    if not found:
        raise FileError("the program clattn is neither in the package nor in PATH")
    return found


def main() -> None:
    """What a wheel installs as `clattn`: becomes the program."""
    program = find_program()
    if os.path.samefile(program, sys.argv[0]):
        sys.exit("clattn: the package has no program of its own, and PATH no other")
    if WINDOWS:  # there execv ends this process before the other one has begun
        sys.exit(subprocess.call([program, *sys.argv[1:]]))
    os.execv(program, ["clattn", *sys.argv[1:]])


def _running(
    arguments: Sequence[str], passed: Sequence[int] = (0,), quiet: bool = False
) -> Generator[None, None, list[str]]:
    """Runs the program with pauses; returns the lines that it printed. quiet: without
    warnings.

    The program runs in its own session, so that Ctrl-C reaches only Python. Python then
    sends one SIGINT, waits until the program has saved its state, and raises again. The
    same happens to what is raised in a pause. On Windows it is a process group, and
    Ctrl-Break.
    """
    environment = os.environ | ({"CLATTN_LOG": "error"} if quiet else {})
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [find_program(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=environment,
            start_new_session=True,
            creationflags=_GROUP,
        )
        try:
            while _still_runs(process):
                yield
        except BaseException:
            process.send_signal(_STOP)
            process.wait()
            raise
        output.seek(0)
        errors.seek(0)
        printed = output.read().decode("utf-8", "replace").splitlines()
        failed = process.returncode not in passed
        message = _message(errors.read().decode("utf-8", "replace"), failed)
    if failed:
        raise from_status(process.returncode, message)
    if message:
        _log.warning("%s", message)
    return printed


def _run(
    arguments: Sequence[str], passed: Sequence[int] = (0,), quiet: bool = False
) -> list[str]:
    """Runs the program to its end; returns the lines that it printed."""
    steps = _running(arguments, passed, quiet)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return list(end.value)


def _still_runs(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_POLL_S)
    except subprocess.TimeoutExpired:
        return True
    return False


def _message(said: str, failed: bool) -> str:
    """The program's last message; those before it go to the logger `clattn`.

    Where the program could not start, the system's last line says why.
    """
    begin = "clattn: "
    lines = said.splitlines()
    ours = [s.removeprefix(begin) for s in lines if s.startswith(begin)]
    for line in ours[:-1]:
        _log.warning("%s", line)
    return (ours or (failed and lines) or [""])[-1]


def call(command: str, arguments: Sequence[str], quiet: bool = False) -> list[str]:
    """The lines that a command printed; quiet: without its warnings."""
    return _run([command, *arguments], quiet=quiet)


def given(**options: object) -> list[str]:
    """`max_words=9` as `--max-words=9`; None is left out, True has no value."""
    words = []
    for name, value in options.items():
        if value is not None and value is not False:
            word = f"--{name.replace('_', '-')}"
            words.append(word if value is True else f"{word}={value}")
    return words


def _option(where: str, name: str, value: str | None) -> str | None:
    if value is not None:
        arguments.text(where, name, value)
    return value


def _rows(lines: Sequence[str]) -> list[Row]:
    return [json.loads(line) for line in lines if line]


def verify(
    paths: Sequence[PathName] = (), device: str | int | None = None
) -> list[Row]:
    """Runs golden cases: files, folders, or the built-in set.

    A row has `case`, `op`, `schedule`, `ok`, `nmse`, `max_abs`, `worst`. A case that
    fails is a row with `ok` False, not an exception.
    """
    names = arguments.items("verify", "paths", paths, "paths")
    files = [
        arguments.path("verify", f"paths[{i}]", path) for i, path in enumerate(names)
    ]
    where = given(device=arguments.device("verify", device))
    words = ["verify", "--json", *where, "--", *files]
    return _rows(_run(words, passed=(0, 1)))


def bench(
    suite: str | None = None,
    filter: str | None = None,
    device: str | int | None = None,
    quick: bool = True,
    verify: bool = False,
) -> list[Row]:
    """Times operators; a row for each case, as `clattn bench --json` writes it.

    filter  a POSIX regular expression of case names
    quick   fewer cases and shorter timings
    verify  checks each result first: a wrong one gets no time
    """
    words = given(
        suite=_option("bench", "suite", suite),
        filter=_option("bench", "filter", filter),
        device=arguments.device("bench", device),
        quick=arguments.flag("bench", "quick", quick),
        verify=arguments.flag("bench", "verify", verify),
        json="-",
    )
    lines = _run(["bench", *words])
    return _rows([line for line in lines if line.startswith("{")])


def score(
    verb: str,
    reference: PathName | Sequence[PathName],
    hypothesis: PathName,
    **options: object,
) -> list[Row]:
    """Scores a file of hypotheses against references, as `clattn score VERB --json`.

    verb       bleu, bootstrap, ngram, squad, rougel or charbleu
    reference  a file, or several for several references
    options    those of the command line, such as tokenize="intl", lowercase=True,
               baseline="other.de"
    """
    _option("score", "verb", verb)
    one = isinstance(reference, str | os.PathLike)
    files = (
        [reference]
        if one
        else arguments.items("score", "reference", reference, "paths")
    )
    words = given(**options)
    for i, file in enumerate(files):
        name = "reference" if one else f"reference[{i}]"
        words.append(f"--ref={arguments.path('score', name, file)}")
    words += given(hyp=arguments.path("score", "hypothesis", hypothesis), json=True)
    return _rows(_run(["score", verb, *words]))


def evaluate(
    model: PathName,
    data: PathName | None = None,
    split: str = "test",
    device: str | int | None = None,
) -> Row:
    """The scores of a trained system on a data set, by default its own test set."""
    words = given(
        model=arguments.path("evaluate", "model", model),
        data=None if data is None else arguments.path("evaluate", "data", data),
        split=_option("evaluate", "split", split),
        device=arguments.device("evaluate", device),
    )
    return _rows(_run(["eval", "--json", *words]))[-1]


# ---- training ----------------------------------------------------------------------


def read_config(where: str, folder: Path) -> dict[str, Any]:
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


def read_log(folder: PathName) -> list[Row]:
    """The lines of a run's log.jsonl: steps and evaluations, oldest first.

    A last line without its end is left out, since a run may be writing it.
    """
    name = arguments.path("read_log", "folder", folder)
    return _read_from(Path(name, "log.jsonl"), 0, 0)[0]


def _read_from(path: Path, at: int, number: int) -> tuple[list[Row], int]:
    """Returns the complete lines from byte `at` on, and the byte at which they end.

    number  lines before `at`, for messages
    """
    try:
        with open(path, "rb") as file:
            file.seek(at)
            data = file.read()
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    rows = []
    lines = data.split(b"\n")[:-1]
    for line in lines:
        number += 1
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise InputError(f"{path}:{number}: not JSON: {error}") from error
    return rows, at + sum(len(line) + 1 for line in lines)


class _Follower:
    """The new lines of a log while a run writes it.

    A resumed run first replaces the log by one without the lines after its checkpoint.
    Lines before that, and lines up to the checkpoint's step, are not new.
    """

    def __init__(self, folder: Path, resume: bool) -> None:
        self.path = folder / "log.jsonl"
        self.old_file = self._file()[0] if resume else None
        self.old_step = _checkpoint_step(folder) if resume else -1
        self.at = self.seen = 0

    def _file(self) -> tuple[int | None, int]:
        """The inode and the size of the log; None where there is no log."""
        try:
            status = self.path.stat()
        except OSError:
            return None, 0
        return status.st_ino, status.st_size

    def rows(self) -> list[Row]:
        file, size = self._file()
        if file is None or file == self.old_file or size <= self.at:
            return []
        rows, self.at = _read_from(self.path, self.at, self.seen)
        self.seen += len(rows)
        return [row for row in rows if row.get("step", 0) > self.old_step]


def _checkpoint_step(folder: Path) -> int:
    try:
        header = read_header(folder / "last.ckpt.safetensors")
        return int(header["__metadata__"]["step"])
    except (OSError, KeyError, TypeError, ValueError):
        return -1  # the program reports what is wrong with the file


def _json(name: str, value: object) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError) as error:
        raise DtypeError(f"train: {name} is not JSON: {error}") from None


def training(
    config: PathName | Mapping[str, Any],
    out: PathName,
    *,
    settings: Mapping[str, object] | None = None,
    resume: bool = False,
    device: str | int | None = None,
) -> Generator[Row, None, list[Row]]:
    """Trains a system, event by event: `for event in clattn.training(...)`.

    The arguments are those of train. An event is a new line of the log: a step with its
    `loss`, or an evaluation with its scores and its `verdict`. The run begins with the
    first event. It is ahead of the loop, and a loop that takes long does not stop it.

    Leaving the loop (break, an exception, Ctrl-C) ends the run after the step it is in,
    with its state saved: `resume=True` continues it.
    """
    folder = Path(arguments.path("train", "out", out))
    goes_on = arguments.flag("train", "resume", resume)
    where = arguments.device("train", device)
    words = ["train", "--quiet", *given(out=folder, resume=goes_on, device=where)]
    if settings is not None:
        arguments.instance("train", "settings", settings, Mapping)
        for key, value in settings.items():
            text = (
                value if isinstance(value, str) else _json(f"settings[{key!r}]", value)
            )
            words.append(f"--set={key}={text}")
    file: Path | str
    if isinstance(config, Mapping):
        file = _json("config", config)
    else:
        file = Path(arguments.path("train", "config", config))
    return _events(words, file, _Follower(folder, goes_on))


def _events(
    words: list[str], config: Path | str, follow: _Follower
) -> Generator[Row, None, list[Row]]:
    """config  a file, or its content"""
    with tempfile.TemporaryDirectory() as made:
        if isinstance(config, str):
            file = Path(made, "config.json")
            file.write_text(config, encoding="utf-8")
            config = file
        steps = _running([*words, "--", str(config)])
        try:
            for _ in steps:
                yield from follow.rows()
        except BaseException as error:
            with contextlib.suppress(StopIteration):
                steps.throw(error)
            raise
    yield from follow.rows()
    return read_log(follow.path.parent)


def train(
    config: PathName | Mapping[str, Any],
    out: PathName,
    *,
    settings: Mapping[str, object] | None = None,
    resume: bool = False,
    device: str | int | None = None,
    on_log: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Trains a system into the folder `out` and returns its log.

    config    a JSON file, or its content
    settings  keys of the config that are overridden, dotted for nested ones
    resume    continues the run in `out`
    on_log    is called with each new line of the log, soon after it is written

    KeyboardInterrupt (Ctrl-C), and any exception of on_log, end the run after the step
    it is in, with its state saved: `resume=True` continues it.
    """
    events = training(config, out, settings=settings, resume=resume, device=device)
    with contextlib.closing(events):
        while True:
            try:
                event = next(events)
            except StopIteration as end:
                return list(end.value)
            if on_log:
                on_log(event)
