"""Devices, and a runtime that works on one of them."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clattn import _arguments as arguments
from clattn._api import DeviceKind, Precision, Schedule
from clattn._library import check, library, struct, text
from clattn.errors import FreedError, UsageError

if TYPE_CHECKING:
    from types import TracebackType

    from clattn.tape import Tape

__all__ = ["Device", "ProfileRow", "Runtime", "devices"]


@dataclass(frozen=True)
class Device:
    """An OpenCL device. Sizes are in bytes; `clock_mhz` is 0 where it is unknown.
    `matrix_unit` is that of a GPU: mma, mfma, wmma, dpas, or empty."""

    index: int
    platform: int
    member: int
    kind: DeviceKind
    name: str
    vendor: str
    platform_name: str
    driver: str
    version: str
    uuid: str
    memory_bytes: int
    max_buffer_bytes: int
    local_bytes: int
    compute_units: int
    clock_mhz: int
    vector_width: int
    fp16: bool
    subgroups: bool
    is_default: bool
    matrix_unit: str


@dataclass(frozen=True)
class ProfileRow:
    """Launches, device time and bytes of one kernel."""

    kernel: str
    launches: int
    total_ms: float
    bytes: int


def _device(raw: Any) -> Device:
    names = [name for name, _ in raw._fields_ if name != "reserved"]
    values = {name: getattr(raw, name) for name in names}
    for name, value in values.items():
        if isinstance(value, bytes):
            values[name] = text(value)
    values["kind"] = DeviceKind(values["kind"])
    return Device(**values)


def devices() -> list[Device]:
    """All OpenCL devices, best first. Opens none of them."""
    rows = ctypes.POINTER(struct("cla_device"))()
    count = ctypes.c_int()
    check(library().cla_devices(ctypes.byref(rows), ctypes.byref(count)))
    try:
        return [_device(rows[i]) for i in range(count.value)]
    finally:
        library().cla_devices_free(ctypes.byref(rows))


def _free(function: str, address: int) -> None:
    getattr(library(), function)(ctypes.byref(ctypes.c_void_p(address)))


def _close(pointer: int, owned: dict[int, str], process: int) -> None:
    """Frees a runtime and its objects. Does nothing in a forked process."""
    if process == os.getpid():
        for address, function in reversed(owned.items()):
            _free(function, address)
        owned.clear()
        _free("cla_runtime_free", pointer)


class Runtime:
    """A runtime on one device.

    device  index, "P:D", cpu, gpu, accelerator, a vendor's word, "uuid:...", or part of
            the name; "!x" excludes, a list with commas is an order of preference. None
            takes $CLATTN_DEVICE, and without it the first of `devices()`.

    Each call locks the runtime, so threads may share it. Runtimes are independent:
    threads with a runtime each run in parallel.
    """

    def __init__(self, device: str | int | None = None) -> None:
        pointer = ctypes.c_void_p()
        name = arguments.device("Runtime", device)
        choice = None if name is None else name.encode("utf-8", "replace")
        check(library().cla_runtime_new(ctypes.byref(pointer), choice))
        self.lock = threading.RLock()
        self._pointer = pointer.value
        self._process = os.getpid()
        self._owned: dict[int, str] = {}  # address, and the function that frees it
        self._dropped: deque[tuple[int, object]] = deque()
        self._tapes: weakref.WeakSet[Tape] = weakref.WeakSet()
        raw = library().cla_runtime_device(self._pointer).contents
        self.device = _device(raw)
        self._finalizer = weakref.finalize(
            self, _close, self.pointer, self._owned, self._process
        )

    # ---- for tensors, tapes and models ------------------------------------------

    @property
    def pointer(self) -> int:
        """The address of the C object."""
        if self._pointer is None:
            raise FreedError("the runtime is closed")
        return self._pointer

    def begin(self) -> int:
        """Frees dropped objects and returns the address. The caller holds the lock."""
        pointer = self.pointer
        self._sweep()
        return pointer

    def own(
        self, holder: object, function: str, address: int, lent: object
    ) -> weakref.finalize[..., Any]:
        """Frees address when holder is collected or the runtime is closed.

        lent  what address uses; it lives until then
        """
        self._owned[address] = function
        return weakref.finalize(holder, self._drop, address, lent)

    def _drop(self, address: int, lent: object) -> None:
        """Never waits, since the garbage collector calls it in any thread."""
        self._dropped.append((address, lent))
        if self.lock.acquire(blocking=False):
            try:
                self._sweep()
            finally:
                self.lock.release()

    def _sweep(self) -> None:
        while self._dropped and self._process == os.getpid():
            address, _lent = self._dropped.popleft()
            function = self._owned.pop(address, None)
            if function:
                _free(function, address)

    def __enter__(self) -> Runtime:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Frees the runtime and all objects made from it. Using them then raises."""
        with self.lock:
            self._sweep()
            self._pointer = None
            self._finalizer()

    # ---- for users --------------------------------------------------------------

    def tape(self, training: bool = True, seed: int = 42, step: int = 0) -> Tape:
        """Returns a new tape: `with runtime.tape() as tape:` is one step."""
        from clattn.tape import Tape

        return Tape(self, training, seed, step)

    def finish(self) -> None:
        """Waits until the device has finished all work."""
        with self.lock:
            check(library().cla_runtime_finish(self.begin()))

    @property
    def schedule(self) -> Schedule:
        """The form of kernels in use. Setting AUTO selects the device's default."""
        with self.lock:
            return Schedule(library().cla_runtime_schedule(self.pointer))

    @schedule.setter
    def schedule(self, schedule: Schedule) -> None:
        number = arguments.whole("schedule", "schedule", schedule, "int")
        if number not in list(Schedule):
            raise UsageError(
                f"schedule is {number}, must be one of {list(Schedule)}"
            )
        with self.lock:
            library().cla_runtime_set_schedule(self.pointer, number)

    @property
    def precision(self) -> Precision:
        """How products are computed (docs/precision.md)."""
        with self.lock:
            return Precision(library().cla_runtime_precision(self.pointer))

    @precision.setter
    def precision(self, precision: Precision) -> None:
        number = arguments.whole("precision", "precision", precision, "int")
        with self.lock:
            check(library().cla_runtime_set_precision(self.begin(), number))

    @property
    def peak_bytes(self) -> int:
        """Largest number of bytes that were in use on the device at one time."""
        with self.lock:
            return int(library().cla_runtime_peak_bytes(self.pointer))

    def profile(self, on: bool = True) -> None:
        """Collects device time for each kernel from now on, or stops to."""
        with self.lock:
            wanted = arguments.flag("profile", "on", on)
            library().cla_profile_enable(self.pointer, wanted)

    @property
    def profile_rows(self) -> list[ProfileRow]:
        """Device time for each kernel so far, longest first."""
        count = ctypes.c_int()
        with self.lock:
            rows = library().cla_profile_rows(self.pointer, ctypes.byref(count))
            return [
                ProfileRow(
                    text(rows[i].kernel),
                    rows[i].launches,
                    rows[i].total_ms,
                    rows[i].bytes,
                )
                for i in range(count.value)
            ]


class Owned:
    """An object of the C library that its holder frees."""

    _free = ""
    _name = ""

    def __init__(self, runtime: Runtime, address: int, lent: object = None) -> None:
        self.runtime = runtime
        self.step = 0  # of a tape: counts resets, so that tensors know theirs is over
        self._address: int | None = address
        self._finalizer = runtime.own(self, self._free, address, lent)

    @property
    def pointer(self) -> int:
        if self._address is None:
            raise FreedError(f"the {self._name} is freed")
        _ = self.runtime.pointer  # raises where that is closed
        return self._address

    def free(self) -> None:
        """Frees the memory now instead of when nothing refers to the object."""
        with self.runtime.lock:
            if self._address is not None:
                for tape in self.runtime._tapes:
                    tape.refuse_to_free(self)
                self._address = None
                self._finalizer()
