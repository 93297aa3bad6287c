"""Numbers of PyTorch's tensors that the device keeps between calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import torch
from torch.optim import optimizer

from clattn.errors import FreedError, UsageError
from clattn.runtime import Runtime
from clattn.tensor import Tensor

_keeper: ContextVar[Keeper | None] = ContextVar("resident", default=None)


class _Kept:
    """The numbers of a dense tensor of PyTorch, as they were at one of its versions.

    tensor  on the device
    only    whether it is read alone: it wants no gradient, and no tape frees it
    """

    def __init__(self, version: int, tensor: Tensor, only: bool) -> None:
        self.version, self.tensor, self.only = version, tensor, only

    def fits(self, runtime: Runtime, value: Any) -> bool:
        return self.tensor.runtime is runtime and self.version == _version(value)

    def given(self, grad: bool) -> Tensor:
        """For an operator: a tensor has one gradient, so each that wants one is new."""
        if self.only and not grad:
            return self.tensor
        made = self.tensor.copy()
        if not grad:
            self.tensor, self.only = made, True
        return made


class Keeper:
    """What the device has, by the memory of PyTorch that holds the same numbers."""

    def __init__(self) -> None:
        from torch.multiprocessing.reductions import StorageWeakRef

        self._weak: Any = StorageWeakRef
        self._kept: dict[int, tuple[Any, dict[Any, _Kept]]] = {}

    def find(self, runtime: Runtime, value: Any, grad: bool) -> Tensor | None:
        """The numbers of value on the device; None where it does not have them."""
        weak = self._weak(value.untyped_storage())
        _, known = self._kept.get(weak.cdata, (None, {}))
        one = known.get(_place(value))
        if one is None or not one.fits(runtime, value):
            return None
        try:
            return one.given(grad)
        except FreedError:  # a result of a step that is over
            return None

    def keep(self, value: Any, tensor: Tensor, only: bool) -> None:
        """Value and tensor hold the same numbers from now on."""
        version = _version(value)
        if version is None or not value.numel():
            return
        for at, (gone, _) in list(self._kept.items()):  # others may pop
            if gone.expired():
                self._kept.pop(at, None)
        weak = self._weak(value.untyped_storage())
        _, known = self._kept.setdefault(weak.cdata, (weak, {}))
        known[_place(value)] = _Kept(version, tensor, only)

    def stepped(self, by: Any, *_: Any) -> None:
        """Forgets parameters: PyTorch does not count changes by fused optimisers."""
        for group in by.param_groups:
            for x in group["params"]:
                self._kept.pop(self._weak(x.untyped_storage()).cdata, None)


def _place(value: Any) -> Any:
    return value.data_ptr(), value.shape, value.dtype


def _version(value: Any) -> int | None:
    """How often PyTorch has changed it in place; None if that is not counted."""
    return None if value.is_inference() else int(value._version)


def current() -> Keeper | None:
    """The keeper of the innermost block of resident() in this thread."""
    return _keeper.get()


@contextlib.contextmanager
def resident() -> Iterator[None]:
    """Calls of the block share what they copy to a device of its own memory.

    A call takes the numbers of a tensor from the device where an earlier call of the
    block read the tensor, or gave it as a result or a gradient. Results still come back
    at once, since PyTorch may read them. Device memory is free again after PyTorch's
    tensors are, with the next call, and at the end of the block.

    PyTorch counts changes in place, and a tensor that was changed is copied again, as
    is one that an optimiser of torch.optim stepped. Changes through x.data, x.numpy()
    or another library are not counted: make none in the block.

    On CPUs, which read PyTorch's memory, it changes nothing.

    Errors: UsageError (PyTorch before 2.0).
    """
    if not hasattr(torch.Tensor, "untyped_storage"):
        raise UsageError("resident: needs PyTorch 2.0")
    keeper = Keeper()
    token = _keeper.set(keeper)
    try:
        with _hook(keeper.stepped):
            yield
    finally:
        _keeper.reset(token)


def _hook(stepped: Any) -> Any:
    """Calls it after each step of an optimiser, until the block ends."""
    register: Any = getattr(optimizer, "register_optimizer_step_post_hook", None)
    if register is None:  # PyTorch before 2.1, which counts all changes
        return contextlib.nullcontext()
    return register(stepped)
