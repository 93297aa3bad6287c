"""The tape of a step, and the places of optional results."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from clattn import _arguments as arguments
from clattn._library import check, library
from clattn.errors import UsageError
from clattn.runtime import Owned, Runtime
from clattn.tensor import Ragged, Tensor, as_shape

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

__all__ = ["Out", "Tape"]


class Out:
    """A place for an optional result, such as an attention map:

    weights = Out()
    o = clattn.attention(tape, q, k, v, rows, rows, map=weights)
    weights.tensor.numpy()
    """

    def __init__(self) -> None:
        self._tensor: Tensor | None = None

    @property
    def tensor(self) -> Tensor:
        if self._tensor is None:
            raise UsageError("no operator has filled this Out")
        return self._tensor


class Tape(Owned):
    """One step: its results, their gradients and the record for the backward pass.

    training  whether operators record their backward pass
    seed      with step, the key of all random draws: the same pair, the same draws
    step      number of the step in the run

    As a context manager it is freed at the end of the block. `reset` ends a step and
    keeps the memory for the next.
    """

    _free = "cla_tape_free"
    _name = "tape"

    def __init__(
        self, runtime: Runtime, training: bool = True, seed: int = 42, step: int = 0
    ) -> None:
        arguments.instance("Tape", "runtime", runtime, Runtime)
        out = ctypes.c_void_p()
        arguments.whole("Tape", "seed", seed, "uint32_t")
        arguments.whole("Tape", "step", step, "uint32_t")
        records = arguments.flag("Tape", "training", training)
        with runtime.lock:
            at = runtime.begin()
            check(library().cla_tape_new(ctypes.byref(out), at, records))
            assert out.value
            super().__init__(runtime, out.value)
            runtime._tapes.add(self)
        self._used: dict[int, object] = {}  # inputs that the record points to
        self.random(seed, step)

    def __enter__(self) -> Tape:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.free()

    def keep(self, used: Tensor | Ragged) -> None:
        """Keeps an input alive until the step ends."""
        holder = used._holder if isinstance(used, Tensor) else used
        if holder is not self:
            self._used[id(holder)] = holder

    def refuse_to_free(self, what: Owned) -> None:
        if id(what) in self._used:
            raise UsageError(f"free: a tape's step has used the {what._name}: reset it")

    def free(self) -> None:
        with self.runtime.lock:
            super().free()
            self.step += 1
            self._used.clear()

    def reset(self) -> None:
        """Frees the step's tensors and keeps the memory for the next step."""
        with self.runtime.lock:
            self.runtime.begin()
            library().cla_tape_reset(self.pointer)
            self.step += 1
            self._used.clear()

    def random(self, seed: int, step: int) -> None:
        """Sets the key of all later random draws."""
        key = arguments.whole("random", "seed", seed, "uint32_t")
        count = arguments.whole("random", "step", step, "uint32_t")
        with self.runtime.lock:
            library().cla_tape_random(self.pointer, key, count)

    def rows(self, first: int) -> None:
        """Sets where this tape's rows begin in a batch that processes share."""
        row = arguments.whole("rows", "first", first, "uint32_t")
        with self.runtime.lock:
            library().cla_tape_rows(self.pointer, row)

    def seed(self, y: Tensor, dy: Tensor | None = None) -> None:
        """Adds dy (None: ones) to the gradient of y, the start of a backward pass."""
        from clattn._call import operate

        operate(self, "cla_tape_seed", [y, dy])

    def backward(self, y: Tensor | None = None, dy: Tensor | None = None) -> None:
        """Runs the recorded backward functions, last first. Seeds y first, if given.

        The pass consumes the record: a second one needs another forward pass.
        """
        from clattn._call import operate

        if y is not None:
            self.seed(y, dy)
        elif dy is not None:
            raise UsageError("backward: dy is the gradient of y, which is not given")
        operate(self, "cla_tape_backward", [])

    def columns(self, x: Tensor, first: int, heads: int, width: int) -> Tensor:
        """Columns first to first + heads*width - 1 of x [N,C] as [N,heads,width].

        No copy: q, k and v as parts of one projection. Its gradient is part of x's.
        """
        from clattn._call import RESULT, as_tensor, operate

        values = [RESULT, x, first, heads, width]
        return as_tensor(operate(self, "cla_tensor_columns", values)[0])

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """The same numbers under another shape of the same size, with no copy."""
        from clattn._call import RESULT, as_tensor, operate

        rank, sizes = as_shape("reshape", shape)
        values = [RESULT, x, rank, sizes]
        return as_tensor(operate(self, "cla_tensor_reshape", values)[0])
