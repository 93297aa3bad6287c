"""Attention networks on any OpenCL device.

    import numpy as np
    import clattn

    with clattn.Runtime() as runtime, runtime.tape() as tape:
        rows = clattn.Ragged.from_lengths(runtime, [5, 7])
        x = np.random.default_rng(1).normal(size=(12, 4, 16)).astype(np.float32)
        q = clattn.Tensor.from_numpy(runtime, x, grad=True)
        o = clattn.band_attention(tape, q, q, q, rows, window=5)
        tape.backward(o)
        print(o.numpy().shape, q.grad.numpy().shape)

docs/python.md is the guide; `clattn.torch` has the attention operators for PyTorch.
"""

from clattn import ops as ops
from clattn._api import (
    Activation,
    Baseline,
    Compute,
    ConvMethod,
    DeviceKind,
    Dtype,
    Edge,
    HamMemory,
    HardForm,
    HardGate,
    Precision,
    Schedule,
    Weights,
)
from clattn._library import version
from clattn.errors import *  # noqa: F403
from clattn.errors import __all__ as _errors
from clattn.model import Alignment, Model, Quatrain, Quote, Translation
from clattn.ops import *  # noqa: F403
from clattn.ops import __all__ as _operators
from clattn.program import (
    bench,
    evaluate,
    read_log,
    score,
    train,
    training,
    verify,
)
from clattn.runs import read_runs, sweep, table, write_csv, write_tensorboard
from clattn.runtime import Device, ProfileRow, Runtime, devices
from clattn.safetensors import read_safetensors
from clattn.tape import Out, Tape
from clattn.tensor import Ragged, Tensor

__all__ = [
    "Activation",
    "Alignment",
    "Compute",
    "Baseline",
    "ConvMethod",
    "Device",
    "DeviceKind",
    "Dtype",
    "Edge",
    "HamMemory",
    "HardForm",
    "HardGate",
    "Model",
    "Out",
    "Precision",
    "ProfileRow",
    "Quatrain",
    "Quote",
    "Ragged",
    "Runtime",
    "Schedule",
    "Tape",
    "Tensor",
    "Translation",
    "Weights",
    "bench",
    "devices",
    "evaluate",
    "ops",
    "read_log",
    "read_runs",
    "read_safetensors",
    "score",
    "sweep",
    "table",
    "train",
    "training",
    "verify",
    "version",
    "write_csv",
    "write_tensorboard",
]
__all__ += _errors
__all__ += _operators
