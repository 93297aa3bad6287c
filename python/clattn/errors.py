"""The exceptions: one for each status of the C library, and its message."""

__all__ = [
    "ClattnError",
    "DeviceError",
    "DtypeError",
    "FileError",
    "FreedError",
    "GradientError",
    "InputError",
    "NumericError",
    "OutOfMemoryError",
    "ShapeError",
    "UsageError",
]


class ClattnError(Exception):
    """The base of all. `status` is the exit status of the command line."""

    status = 1


class UsageError(ClattnError, ValueError):
    """An argument is wrong."""

    status = 2


class DtypeError(UsageError, TypeError):
    """An argument has the wrong type, or an array the wrong dtype."""


class FreedError(UsageError):
    """The object was freed, or belongs to a step that is over."""


class GradientError(UsageError, RuntimeError):
    """A gradient was differentiated: there are no second derivatives."""


class InputError(ClattnError, ValueError):
    """A file or text holds bad data."""

    status = 3


class DeviceError(ClattnError, RuntimeError):
    """A device or driver failed, or there is none."""

    status = 4


class OutOfMemoryError(ClattnError, MemoryError):
    """The host or the device has no memory left."""

    status = 5


class FileError(ClattnError, OSError):
    """A file or folder cannot be read or written."""

    status = 6


class NumericError(ClattnError, ArithmeticError):
    """NaN, infinity or divergence."""

    status = 7


class ShapeError(ClattnError, ValueError):
    """Tensors do not fit together."""

    status = 8


_BY_STATUS: dict[int, type[ClattnError]] = {
    kind.status: kind
    for kind in (
        ClattnError,
        UsageError,
        InputError,
        DeviceError,
        OutOfMemoryError,
        FileError,
        NumericError,
        ShapeError,
    )
}


def from_status(status: int, text: str) -> ClattnError:
    """The exception of a status, with the library's message."""
    return _BY_STATUS.get(status, ClattnError)(text or f"status {status}")
