"""The shared library, loaded at the first use: `import clattn` opens nothing.

libclattn-models brings libclattn along, and a name is looked for in both.

ctypes is part of Python, so the wheel fits every version of it and needs no compiler of
its own; it lets other threads run during each call.
"""

import ctypes
import ctypes.util
import logging
import os
import sys
import sysconfig
import threading
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from clattn._api import OPAQUE, SIGNATURES, STRUCTS
from clattn._arguments import NUMBERS, number
from clattn.errors import DeviceError, from_status

_NUMBERS: dict[str, Any] = {
    "void": None,
    "bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "char": ctypes.c_char,
}
_lock = threading.Lock()

# What the library says beside its errors goes to Python's logger "clattn".
_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)


def _log(_: None, level: int, line: bytes) -> None:
    logging.getLogger("clattn").log(_LEVELS[level], "%s", text(line))


_listener: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(
    _log
)


@cache
def struct(name: str) -> Any:
    """The ctypes class of a structure of the headers."""
    fields = []
    for kind, field, count in STRUCTS[name]:
        of = ctype(kind)
        fields.append((field.rstrip("?"), of * count if count else of))
    return type(name, (ctypes.Structure,), {"_fields_": fields})


def ctype(kind: str) -> Any:
    """The ctypes class of a type of the headers, such as `cla_tensor**`."""
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    if kind in STRUCTS:
        return struct(kind)
    if kind == "char*":
        return ctypes.c_char_p
    below = kind.removesuffix("*")
    if below in OPAQUE or below == "void":
        return ctypes.c_void_p
    return ctypes.POINTER(ctype(below))


def carried(pattern: str) -> str | None:
    """A file of the wheel's own folder, which lies beside the package."""
    for folder in (Path(__file__).resolve().parents[1], sysconfig.get_path("platlib")):
        for path in Path(folder, ".clattn.mesonpy.libs/clattn").glob(pattern):
            return str(path)
    return None


# The files of a wheel, as patterns below its folder.
WINDOWS = sys.platform == "win32"
LIBRARY = f"lib/libclattn-models{'-*.dll' if WINDOWS else '.so*'}"
PROGRAM = f"lib/clattn{'.exe' if WINDOWS else ''}"


def _find() -> str:
    """$CLATTN_LIBRARY, else the wheel's own library, else the system's."""
    own = os.environ.get("CLATTN_LIBRARY") or carried(LIBRARY)
    if own:
        return own
    found = ctypes.util.find_library("clattn-models")
    if found:
        return found
    raise DeviceError("libclattn-models is neither in the package nor in the system")


def _guard(name: str, function: Any) -> Any:
    """The function with checks of its numbers, which ctypes would cut."""
    where = name.removeprefix("cla_")
    checks = [
        (i, argument, kind)
        for i, (kind, argument) in enumerate(SIGNATURES[name][1])
        if kind in NUMBERS
    ]

    def call(*values: Any) -> Any:
        given = list(values)
        for i, argument, kind in checks:
            given[i] = number(where, argument, kind, given[i])
        return function(*given)

    return call if checks else function


def filled(kind: str, where: str, **values: Any) -> Any:
    """A structure of the headers, with its numbers checked."""
    kinds = {field.rstrip("?"): of for of, field, _ in STRUCTS[kind]}
    made = struct(kind)()
    for name, value in values.items():
        setattr(made, name, number(where, name, kinds[name], value))
    return made


@cache
def _load() -> SimpleNamespace:
    path = _find()
    try:
        loaded = [ctypes.CDLL(path)]
        if WINDOWS:  # there a name is looked for in one library alone
            core = Path(path).with_name(Path(path).name.replace("-models", ""))
            loaded.append(ctypes.CDLL(str(core)))
    except OSError as error:
        raise DeviceError(f"{path} cannot be loaded: {error}") from error
    functions = SimpleNamespace()
    for name, (result, arguments) in SIGNATURES.items():
        found = [library for library in loaded if hasattr(library, name)]
        if not found:
            raise DeviceError(f"{path} lacks {name}: it is of another version")
        function = getattr(found[0], name)
        function.restype = ctype(result)
        function.argtypes = [ctype(kind) for kind, _ in arguments]
        setattr(functions, name, _guard(name, function))
    loaded[-1].cla_log_set(_listener, None)
    return functions


def library() -> SimpleNamespace:
    with _lock:
        return _load()


def check(status: int) -> None:
    """Raises the exception of a status other than 0, with this thread's message."""
    if status:
        raise from_status(status, text(library().cla_error()))


def text(data: bytes | None) -> str:
    """Text that C gave out, which may hold any bytes."""
    return (data or b"").decode("utf-8", "replace")


def version() -> str:
    """The library's version."""
    return text(library().cla_version())
