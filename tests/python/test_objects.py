"""Runtimes, tensors and tapes: copies, lifetimes, errors, threads."""

import gc
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import clattn
import numpy as np
import pytest


def tensor(runtime: clattn.Runtime, *shape: int, grad: bool = False) -> clattn.Tensor:
    size = int(np.prod(shape))
    values = np.sin(np.arange(size, dtype=np.float32)).reshape(shape)
    return clattn.Tensor.from_numpy(runtime, values, grad)


# ---- import and devices ------------------------------------------------------------


def test_import_opens_nothing() -> None:
    """Neither NumPy nor the library, and so no device."""
    code = (
        "import sys, clattn; maps = open('/proc/self/maps').read();"
        "assert 'numpy' not in sys.modules;"
        "assert 'libclattn' not in maps and 'libOpenCL' not in maps"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_devices(runtime: clattn.Runtime) -> None:
    found = clattn.devices()
    assert [device.index for device in found] == list(range(len(found)))
    assert sum(device.is_default for device in found) == 1
    assert runtime.device in found
    assert runtime.device.compute_units >= 1 and runtime.device.name
    with pytest.raises(clattn.UsageError, match="no device matches 'abacus'"):
        clattn.Runtime("abacus")


def test_the_runtime_says_what_it_does(runtime: clattn.Runtime) -> None:
    before = runtime.schedule
    runtime.schedule = clattn.Schedule.GROUP
    assert runtime.schedule == clattn.Schedule.GROUP
    runtime.schedule = clattn.Schedule.AUTO
    runtime.precision = clattn.Precision.MEDIUM
    assert runtime.precision == clattn.Precision.MEDIUM
    runtime.precision = clattn.Precision.HIGHEST
    with pytest.raises(clattn.UsageError, match="precision is 3"):
        runtime.precision = 3  # type: ignore[assignment]
    assert runtime.schedule == before
    runtime.profile()
    with runtime.tape() as tape:
        clattn.add(tape, tensor(runtime, 3, 4), tensor(runtime, 3, 4))
        runtime.finish()
    runtime.profile(False)
    assert sum(row.launches for row in runtime.profile_rows) >= 1
    assert runtime.peak_bytes > 0


def test_warnings_go_to_the_logger(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    broken = tmp_path / "tuning.json"
    broken.write_text("{")
    monkeypatch.setenv("CLATTN_TUNING", str(broken))
    with caplog.at_level(logging.WARNING, "clattn"), clattn.Runtime():
        pass
    assert str(broken) in caplog.text


# ---- arrays ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("shape", [(1,), (5, 3), (2, 3, 4), (2, 1, 3, 2), (0, 4)])
def test_numbers_come_back(
    runtime: clattn.Runtime, shape: tuple[int, ...], dtype: type
) -> None:
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    t = clattn.Tensor.from_numpy(runtime, array)
    assert t.shape == shape and t.size == array.size
    assert t.numpy().dtype == dtype
    np.testing.assert_array_equal(t.numpy(), array)


def test_arrays_that_are_not_contiguous_are_copied(runtime: clattn.Runtime) -> None:
    array = np.arange(24, dtype=np.float32).reshape(4, 6).T[::2, ::-1]
    assert not array.flags.c_contiguous
    t = clattn.Tensor.from_numpy(runtime, array)
    np.testing.assert_array_equal(t.numpy(), array)


def test_other_dtypes_and_shapes_are_refused(runtime: clattn.Runtime) -> None:
    for array in (np.zeros(3), np.zeros(3, np.int64), np.zeros(3, ">f4")):
        with pytest.raises(clattn.DtypeError, match=str(array.dtype)):
            clattn.Tensor.from_numpy(runtime, array)
    with pytest.raises(clattn.ShapeError, match="rank"):
        clattn.Tensor.from_numpy(runtime, np.zeros((1, 1, 1, 1, 1), np.float32))
    with pytest.raises(clattn.DtypeError, match=r"\[4\].*\[3\]"):
        tensor(runtime, 3).upload(np.zeros(4, np.float32))


def test_dlpack_gives_and_takes_copies(runtime: clattn.Runtime) -> None:
    t = tensor(runtime, 2, 3)
    if t.__dlpack_device__()[0] != 1:
        pytest.skip("the device is no CPU")
    array = np.from_dlpack(t)
    np.testing.assert_array_equal(array, t.numpy())
    t.fill(7)
    assert (array != 7).all()  # a copy
    with pytest.raises(BufferError, match="only be copied"):
        t.__dlpack__(copy=False)
    with pytest.raises(BufferError, match="to the host"):
        t.__dlpack__(dl_device=(2, 0))
    back = clattn.Tensor.from_dlpack(runtime, np.ones((2, 2), np.int32))
    np.testing.assert_array_equal(back.numpy(), 1)


def test_views_share_numbers_and_gradients(runtime: clattn.Runtime) -> None:
    x = tensor(runtime, 4, 6, grad=True)
    with runtime.tape() as tape:
        view = tape.columns(x, 2, 2, 2)
        assert view.shape == (4, 2, 2)
        y = clattn.scale_heads(tape, view, tensor(runtime, 2))
        tape.backward(y)
        assert x.grad is not None
        grad = x.grad.numpy()
        assert (grad[:, :2] == 0).all() and (grad[:, 4:] != 0).all()
        assert tape.reshape(x, (2, 12)).shape == (2, 12)
        with pytest.raises(clattn.ShapeError, match="cannot become"):
            tape.reshape(x, (5, 5))


def test_a_copy_is_a_tensor_of_its_own(runtime: clattn.Runtime) -> None:
    x = tensor(runtime, 4, 6, grad=True)
    want = x.numpy()
    with runtime.tape() as tape:
        y = clattn.add(tape, x, x)
        copy = y.copy()
        with pytest.raises(clattn.ShapeError, match="column view"):
            tape.columns(x, 2, 2, 2).copy()
    x.fill(1)
    np.testing.assert_array_equal(copy.numpy(), 2 * want)
    assert copy.shape == x.shape and copy.grad is None
    with pytest.raises(clattn.FreedError):
        y.copy()


# ---- lifetimes ---------------------------------------------------------------------


def test_uses_of_freed_objects_raise() -> None:
    runtime = clattn.Runtime()
    x, rows = tensor(runtime, 3, 2), clattn.Ragged(runtime, [0, 3])
    tape = runtime.tape()
    y = clattn.add(tape, x, x)
    with pytest.raises(clattn.UsageError, match="has used the tensor"):
        x.free()
    tape.reset()
    with pytest.raises(clattn.FreedError, match="step that is over"):
        y.numpy()
    x.free()
    x.free()  # again: nothing happens
    with pytest.raises(clattn.FreedError, match="the tensor is freed"):
        x.numpy()
    with pytest.raises(clattn.FreedError, match="the tensor is freed"):
        clattn.add(tape, x, x)
    assert repr(x) == "<Tensor, freed>"
    z = clattn.add(tape, tensor(runtime, 2), tensor(runtime, 2))
    tape.free()
    with pytest.raises(clattn.FreedError, match="the tape is freed"):
        z.numpy()
    runtime.close()
    runtime.close()
    for use in (runtime.finish, lambda: rows.tokens, lambda: tensor(runtime, 1)):
        with pytest.raises(clattn.FreedError, match="the runtime is closed"):
            use()


def test_a_runtime_closed_inside_a_step() -> None:
    with clattn.Runtime() as runtime, runtime.tape() as tape:
        x = tensor(runtime, 3)
        y = clattn.add(tape, x, x)
        runtime.close()
        for freed in (x, y):
            with pytest.raises(clattn.FreedError, match="the runtime is closed"):
                freed.numpy()
    x.free()


def test_a_forked_process_leaves_the_device_alone(runtime: clattn.Runtime) -> None:
    x = tensor(runtime, 3)
    child = os.fork()
    if not child:
        code = 1
        try:
            clattn.add(runtime.tape(), x, x)
        except clattn.UsageError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(x.numpy(), tensor(runtime, 3).numpy())


def test_a_tape_keeps_what_it_read(runtime: clattn.Runtime) -> None:
    """Its backward pass reads inputs to which nothing else refers."""
    x = tensor(runtime, 64, 64, grad=True)
    with runtime.tape() as tape:
        y = clattn.multiply(tape, x, tensor(runtime, 64, 64))
        gc.collect()
        for _ in range(8):  # would take the place of what was freed
            tensor(runtime, 64, 64).fill(5)
        tape.backward(y)
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), x.numpy(), rtol=1e-6)


def test_memory_of_dropped_tensors_is_freed(runtime: clattn.Runtime) -> None:
    tensor(runtime, 1 << 20)
    before = runtime.peak_bytes
    for _ in range(50):
        tensor(runtime, 1 << 20)
    assert runtime.peak_bytes < before + (3 << 22)  # not 50 times 4 MiB


def test_gradients_add_until_they_are_cleared(runtime: clattn.Runtime) -> None:
    x = tensor(runtime, 3, grad=True)
    assert x.grad is None

    def step() -> np.ndarray:
        with runtime.tape() as tape:
            tape.backward(clattn.add(tape, x, tensor(runtime, 3)))
        assert x.grad is not None
        return x.grad.numpy()

    assert (step() == 1).all() and (step() == 2).all()
    x.clear_grad()
    assert x.grad is None
    assert (step() == 1).all()


# ---- wrong calls -------------------------------------------------------------------


def test_errors_are_the_librarys(runtime: clattn.Runtime) -> None:
    x = tensor(runtime, 4, 2, 8)
    rows = clattn.Ragged.from_lengths(runtime, [4])
    with runtime.tape(training=False) as tape:
        with pytest.raises(clattn.UsageError, match="window is 4, must be odd"):
            clattn.band_attention(tape, x, x, x, rows, 4)
        with pytest.raises(clattn.ShapeError, match=r"add: .*\[4,2,8\]"):
            clattn.add(tape, x, tensor(runtime, 4))
        with pytest.raises(clattn.ShapeError, match="f32"):
            ids = clattn.Tensor.from_numpy(runtime, np.zeros(4, np.int32))
            clattn.add(tape, ids, ids)
        with pytest.raises(clattn.UsageError, match="made without training"):
            tape.backward()
        with pytest.raises(clattn.ShapeError, match="2 tensors, but c is"):
            clattn.mix_levels(tape, [x, x], tensor(runtime, 3))
    with pytest.raises(clattn.ShapeError, match="offset"):
        clattn.Ragged(runtime, [0, 3, 2])


def test_errors_of_expressions(runtime: clattn.Runtime) -> None:
    x = tensor(runtime, 4, 2, 8)
    rows = clattn.Ragged.from_lengths(runtime, [4])
    slope = tensor(runtime, 2, grad=True)

    def call(**said: Any) -> clattn.Tensor:
        with runtime.tape() as tape:
            return clattn.custom_attention(tape, x, x, x, rows, rows, **said)

    with pytest.raises(clattn.UsageError) as caught:
        call(score="s - slop[h] * abs(j - i)", slope=slope)
    first, text, caret = str(caught.value).split("\n")
    assert "score: name 'slop' is not known" in first and first.endswith("slope")
    assert text[caret.index("^") :].startswith("slop[h]")
    with pytest.raises(clattn.UsageError, match="'slope'"):  # a gradient of nothing
        call(score="s", slope=slope)
    with pytest.raises(clattn.UsageError, match="window is 4, must be odd"):
        call(window=4)
    with pytest.raises(clattn.DtypeError, match="score is a int, must be a str"):
        call(score=3)
    with pytest.raises(clattn.UsageError, match="mask holds a zero byte"):
        call(mask="i == j\0")
    with pytest.raises(clattn.UsageError, match="score"):
        call(score="s - ½")
    with pytest.raises(clattn.DtypeError, match="slope is a ndarray, must be a Tensor"):
        call(score="s - slope[h]", slope=slope.numpy())
    with pytest.raises(clattn.UsageError, match="9 inputs, at most 8"):
        call(**{f"x{n}": tensor(runtime, 2) for n in range(9)})
    many = {f"x{n}": tensor(runtime, 2) for n in range(8)}
    with runtime.tape() as tape:
        total = "s + " + " + ".join(f"{name}[h]" for name in many)
        o = clattn.custom_attention(tape, x, x, x, rows, rows, score=total, **many)
        plain = clattn.attention(tape, x, x, x, rows, rows)
        np.testing.assert_allclose(o.numpy(), plain.numpy(), rtol=0, atol=1e-5)
    other = clattn.Runtime()
    with other, pytest.raises(clattn.UsageError, match="slope belongs to another"):
        call(score="s - slope[h]", slope=tensor(other, 2))


def test_wrong_arguments_never_reach_the_library(runtime: clattn.Runtime) -> None:
    x = tensor(runtime, 4, 2, 8)
    rows = clattn.Ragged.from_lengths(runtime, [4])
    with runtime.tape() as tape:
        for wrong in (None, x.numpy(), rows):
            with pytest.raises(clattn.DtypeError, match=r"q is a .*, must be a Tensor"):
                clattn.band_attention(tape, wrong, x, x, rows, 3)  # type: ignore[arg-type]
        with pytest.raises(clattn.DtypeError, match="rows is a list"):
            clattn.band_attention(tape, x, x, x, [4], 3)  # type: ignore[arg-type]
        with pytest.raises(clattn.UsageError, match="outside 32 bits"):
            clattn.band_attention(tape, x, x, x, rows, 2**32 + 3)
        with pytest.raises(clattn.DtypeError, match="window is a float"):
            clattn.band_attention(tape, x, x, x, rows, 3.5)  # type: ignore[arg-type]
        with pytest.raises(clattn.DtypeError, match="map must be an Out"):
            clattn.attention(tape, x, x, x, rows, rows, map=x)  # type: ignore[arg-type]
        with pytest.raises(clattn.UsageError, match="no operator has filled"):
            _ = clattn.Out().tensor
        with clattn.Runtime() as other:
            alien = tensor(other, 4, 2, 8)
            with pytest.raises(clattn.UsageError, match="k belongs to another runtime"):
                clattn.band_attention(tape, x, alien, x, rows, 3)


@pytest.mark.parametrize("value", [-1, 7, 2**31 - 1])
def test_unknown_values_of_enums(runtime: clattn.Runtime, value: int) -> None:
    x, w = tensor(runtime, 4, 4), tensor(runtime, 3, 4, 4)
    rows = clattn.Ragged.from_lengths(runtime, [4])
    with runtime.tape() as tape:
        with pytest.raises(clattn.UsageError, match=f"linear: activation is {value}"):
            clattn.linear(tape, x, x, None, value)  # type: ignore[arg-type]
        with pytest.raises(clattn.UsageError, match=f"conv1d: activation is {value}"):
            clattn.conv1d(tape, x, w, None, rows, value)  # type: ignore[arg-type]
        with pytest.raises(clattn.UsageError, match=rf"options.memory is {value}"):
            clattn.ham_s(tape, x, tensor(runtime, 2), rows, memory=value)  # type: ignore[arg-type]
    before = runtime.schedule
    with pytest.raises(clattn.UsageError, match=f"schedule is {value}"):
        runtime.schedule = value  # type: ignore[assignment]
    assert runtime.schedule == before


def test_backward_needs_a_seed(runtime: clattn.Runtime) -> None:
    x = tensor(runtime, 4, grad=True)
    with runtime.tape() as tape:
        y = clattn.add(tape, x, x)
        with pytest.raises(clattn.UsageError, match="nothing was seeded"):
            tape.backward()
        tape.backward(y)
        with pytest.raises(clattn.UsageError, match="since the last backward pass"):
            tape.backward()


# ---- threads -----------------------------------------------------------------------


def work(runtime: clattn.Runtime, seed: int) -> np.ndarray:
    rows = clattn.Ragged.from_lengths(runtime, [5, 7])
    x = np.random.default_rng(seed).normal(size=(12, 4, 16)).astype(np.float32)
    q = clattn.Tensor.from_numpy(runtime, x, grad=True)
    for _ in range(5):
        q.clear_grad()
        with runtime.tape() as tape:
            tape.backward(clattn.band_attention(tape, q, q, q, rows, 5))
    assert q.grad is not None
    return q.grad.numpy()


@pytest.mark.parametrize("shared", [False, True], ids=["a runtime each", "one runtime"])
def test_four_threads(runtime: clattn.Runtime, shared: bool) -> None:
    got: dict[int, np.ndarray] = {}

    def run(seed: int) -> None:
        if shared:
            got[seed] = work(runtime, seed)
        else:
            with clattn.Runtime() as own:
                got[seed] = work(own, seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    for seed in range(4):
        np.testing.assert_array_equal(got[seed], work(runtime, seed))


def test_other_threads_run_during_a_call(runtime: clattn.Runtime) -> None:
    """A counter goes on while a download waits for long work."""
    x = tensor(runtime, 700, 700)
    count, stop = 0, threading.Event()

    def counting() -> None:
        nonlocal count
        while not stop.is_set():
            count += 1

    thread = threading.Thread(target=counting)
    with runtime.tape(training=False) as tape:
        y = x
        for _ in range(20):
            y = clattn.matmul(tape, y, x, False, False)
        thread.start()
        before = count
        y.numpy()
        after = count
    stop.set()
    thread.join()
    assert after > before
