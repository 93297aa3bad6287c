"""Tensors, and packed batches of sequences."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from clattn import _arguments as arguments
from clattn._api import DeviceKind, Dtype
from clattn._library import check, library
from clattn.errors import DtypeError, FreedError, UsageError
from clattn.runtime import Owned, Runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

__all__ = ["Ragged", "Tensor"]

_DTYPES = {"float32": Dtype.F32, "int32": Dtype.I32}
_DLPACK_CPU, _DLPACK_OPENCL = 1, 4


def as_shape(where: str, shape: Sequence[int]) -> tuple[int, Any]:
    sizes = arguments.sizes(where, "shape", shape)
    return len(sizes), (ctypes.c_int64 * len(sizes))(*sizes)


class Tensor:
    """A tensor on a device: row-major, of rank 1 to 4, f32 or i32.

    Results of operators belong to their tape, which frees them at its reset.
    """

    def __init__(self, holder: Owned, address: int) -> None:
        """Made by `Tensor.from_numpy`, `Tensor.empty` and the operators."""
        self.runtime = holder.runtime
        self._holder = holder
        self._address = address
        self._step = holder.step

    @staticmethod
    def empty(
        runtime: Runtime, shape: Sequence[int], dtype: Dtype = Dtype.F32
    ) -> Tensor:
        """A tensor of its own whose content is undefined."""
        arguments.instance("empty", "runtime", runtime, Runtime)
        out = ctypes.c_void_p()
        with runtime.lock:
            rank, sizes = as_shape("empty", shape)
            at = runtime.begin()
            check(library().cla_tensor_new(ctypes.byref(out), at, dtype, rank, sizes))
            assert out.value
            return Tensor(_TensorMemory(runtime, out.value), out.value)

    @staticmethod
    def from_numpy(
        runtime: Runtime, array: npt.ArrayLike, grad: bool = False
    ) -> Tensor:
        """A copy of an array of float32 or int32, on the device.

        grad  whether training tapes compute this tensor's gradient

        An array that is not contiguous is first copied into one that is.
        """
        arguments.instance("from_numpy", "runtime", runtime, Runtime)
        host = _host("from_numpy", array)
        wanted = arguments.flag("from_numpy", "grad", grad)
        arguments.sizes("from_numpy", "the shape of array", host.shape)
        tensor = Tensor.empty(runtime, host.shape, _dtype("from_numpy", host))
        tensor.upload(host)
        tensor.want_grad(wanted)
        return tensor

    @staticmethod
    def from_dlpack(runtime: Runtime, source: Any, grad: bool = False) -> Tensor:
        """Copies an array in host memory from any library that supports DLPack."""
        import numpy as np

        try:
            array = np.from_dlpack(source)
        except (
            AttributeError,
            TypeError,
            ValueError,
            RuntimeError,
            BufferError,
        ) as error:
            raise DtypeError(f"from_dlpack: source cannot be read: {error}") from None
        return Tensor.from_numpy(runtime, array, grad)

    @staticmethod
    def _borrow(
        runtime: Runtime, host: object, address: int, shape: Sequence[int], dtype: Dtype
    ) -> Tensor:
        """A tensor over numbers at an address, in place where the device allows it.

        host  what owns the numbers; it lives as long as the tensor. They must not
              change meanwhile, and work that reads the tensor must end before both go
        """
        out = ctypes.c_void_p()
        with runtime.lock:
            rank, sizes = as_shape("borrow", shape)
            at = runtime.begin()
            check(
                library().cla_tensor_borrow(
                    ctypes.byref(out), at, dtype, rank, sizes, address
                )
            )
            assert out.value
            return Tensor(_TensorMemory(runtime, out.value, host), out.value)

    @property
    def pointer(self) -> int:
        """The address of the C object. Raises FreedError if that was freed."""
        _ = self._holder.pointer
        if self._holder.step != self._step:
            raise FreedError("the tensor belongs to a step that is over")
        return self._address

    @property
    def shape(self) -> tuple[int, ...]:
        at = self.pointer
        lib = library()
        return tuple(lib.cla_tensor_dim(at, i) for i in range(lib.cla_tensor_rank(at)))

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(library().cla_tensor_size(self.pointer))

    @property
    def dtype(self) -> Dtype:
        return Dtype(library().cla_tensor_dtype(self.pointer))

    def __repr__(self) -> str:
        try:
            return f"<Tensor {list(self.shape)} {self.dtype.name.lower()}>"
        except FreedError:
            return "<Tensor, freed>"

    def upload(self, array: npt.ArrayLike) -> None:
        """Copies an array of the same shape and type to the device, and waits.

        An array that is not contiguous is first copied into one that is.
        """
        import numpy as np

        host = _host("upload", array)
        if _dtype("upload", host) != self.dtype or host.shape != self.shape:
            raise DtypeError(
                f"upload: the array is {host.dtype} {list(host.shape)}, the tensor"
                f" {self.dtype.name.lower()} {list(self.shape)}"
            )
        host = np.ascontiguousarray(host)
        with self.runtime.lock:
            self.runtime.begin()
            check(library().cla_tensor_upload(self.pointer, host.ctypes.data))

    def numpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Waits for earlier work and returns a copy in host memory."""
        import numpy as np

        dtype = np.float32 if self.dtype == Dtype.F32 else np.int32
        with self.runtime.lock:
            host = np.empty(self.shape, dtype)
            self._download(host.ctypes.data)
        return host

    def _download(self, address: int) -> None:
        """Waits for earlier work and copies all numbers to an address."""
        with self.runtime.lock:
            self.runtime.begin()
            check(library().cla_tensor_download(self.pointer, address))

    def _borrow_grad(self, address: int) -> None:
        """Lends memory for the gradient, which lives as long as the tensor."""
        with self.runtime.lock:
            self.runtime.begin()
            check(library().cla_tensor_borrow_grad(self.pointer, address))

    def copy(self) -> Tensor:
        """A tensor of its own with the same numbers, copied on the device."""
        out = ctypes.c_void_p()
        with self.runtime.lock:
            self.runtime.begin()
            check(library().cla_tensor_copy(ctypes.byref(out), self.pointer))
            assert out.value
            return Tensor(_TensorMemory(self.runtime, out.value), out.value)

    def fill(self, value: float) -> None:
        """Sets all elements of an f32 tensor."""
        with self.runtime.lock:
            self.runtime.begin()
            number = arguments.real("fill", "value", value, "float")
            check(library().cla_tensor_fill(self.pointer, number))

    def want_grad(self, wanted: bool = True) -> None:
        """Sets whether training tapes compute the gradient. False for new tensors."""
        with self.runtime.lock:
            wanted = arguments.flag("want_grad", "wanted", wanted)
            library().cla_tensor_want_grad(self.pointer, wanted)

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have added up; None when none has."""
        with self.runtime.lock:
            address = library().cla_tensor_grad(self.pointer)
        return Tensor(self._holder, address) if address else None

    def clear_grad(self) -> None:
        """Forgets the gradient, so that the next backward pass starts from zero."""
        with self.runtime.lock:
            library().cla_tensor_clear_grad(self.pointer)

    def free(self) -> None:
        """Frees the tensor now. Using it then raises FreedError.

        UsageError for results of operators, and for inputs of a step that is not over.
        """
        if not isinstance(self._holder, _TensorMemory):
            raise UsageError("free: the tensor belongs to a tape: reset that")
        self._holder.free()

    def __dlpack_device__(self) -> tuple[int, int]:
        """(1, 0), the host, on CPU devices; (4, index), OpenCL, on all others."""
        device = self.runtime.device
        on_host = device.kind in (DeviceKind.CPU, DeviceKind.SOFTWARE)
        return (_DLPACK_CPU, 0) if on_host else (_DLPACK_OPENCL, device.index)

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Returns a copy in host memory as a DLPack capsule.

        The host may use OpenCL's memory only while it is mapped, so there is no view
        with the lifetime of a capsule: copy=False raises BufferError, as the standard
        demands. For devices other than CPUs, dl_device must ask for the host.
        """
        if copy is False:
            raise BufferError("a tensor's memory can only be copied")
        wanted = dl_device or self.__dlpack_device__()
        if tuple(map(int, wanted)) != (_DLPACK_CPU, 0):
            raise BufferError("a tensor can only be copied to the host")
        host: Any = self.numpy()  # its keywords differ between versions of NumPy
        try:
            return host.__dlpack__(max_version=max_version)
        except TypeError:  # NumPy before 2.1
            return host.__dlpack__()


def _host(where: str, array: npt.ArrayLike) -> np.ndarray[Any, np.dtype[Any]]:
    import numpy as np

    try:
        return np.asarray(array)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DtypeError(f"{where}: array cannot be read: {error}") from None


def _dtype(where: str, array: np.ndarray[Any, np.dtype[Any]]) -> Dtype:
    try:
        return _DTYPES[str(array.dtype)]
    except KeyError:
        raise DtypeError(
            f"{where}: array is of {array.dtype}, neither float32 nor int32: convert it"
        ) from None


class _TensorMemory(Owned):
    _free = "cla_tensor_free"
    _name = "tensor"


class Ragged(Owned):
    """Where each sequence lies in a packed batch.

    offsets  [B+1], from 0, never falling: sequence b owns rows offsets[b] to
             offsets[b+1]-1; equal neighbours are an empty sequence
    """

    _free = "cla_ragged_free"
    _name = "batch"

    def __init__(self, runtime: Runtime, offsets: Sequence[int]) -> None:
        arguments.instance("Ragged", "runtime", runtime, Runtime)
        out = ctypes.c_void_p()
        rows = arguments.wholes("Ragged", "offsets", offsets, "int32_t")
        if not rows:
            raise UsageError("Ragged: offsets needs one number, or more")
        with runtime.lock:
            array = (ctypes.c_int32 * len(rows))(*rows)
            at = runtime.begin()
            check(library().cla_ragged_new(ctypes.byref(out), at, len(rows) - 1, array))
            assert out.value
            super().__init__(runtime, out.value)

    @staticmethod
    def from_lengths(runtime: Runtime, lengths: Sequence[int]) -> Ragged:
        """The same from the number of tokens of each sequence."""
        offsets = [0]
        for length in arguments.lengths("from_lengths", "lengths", lengths):
            offsets.append(offsets[-1] + length)
        return Ragged(runtime, offsets)

    @property
    def sequences(self) -> int:
        return int(library().cla_ragged_sequences(self.pointer))

    @property
    def tokens(self) -> int:
        return int(library().cla_ragged_tokens(self.pointer))

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return int(library().cla_ragged_longest(self.pointer))
