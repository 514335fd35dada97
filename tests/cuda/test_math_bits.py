"""Elementary functions give the same bits on a GPU as on the CPU."""

from __future__ import annotations

import ctypes as ct

import numpy as np
import pytest

from neurodriver.backends.compiler import build
from neurodriver.backends.cuda.compiler import compile_cubin
from neurodriver.backends.cuda.device import LONG, POINTER, Device, Loaded, launch
from neurodriver.kernels.device import DEVICE
from neurodriver.kernels.source import CPU, prelude

COUNT = 1 << 20
ONE = ("exp", "expm1", "log", "log1p", "tanh", "cosh", "sinh", "sin", "cos", "sqrt")


def text(gpu: bool, dtype: str) -> str:
    """Return functions from x, y and a place for the results, one for each function."""
    head = prelude([""], dtype, DEVICE if gpu else CPU)
    lines = ["#define ND_AHEAD 1", "#define ND_THREADS 1", "#define ND_WORD 8", "#define ND_TEAM 1"]
    lines += head
    for name in (*ONE, "pow"):
        value = f"nd_{name}(x[i], y[i])" if name == "pow" else f"nd_{name}(x[i])"
        kind = 'extern "C" __global__' if gpu else 'extern "C"'
        loop = f"ND_EACH(i, n) out[i] = {value};"
        lines.append(f"{kind} void t_{name}(const real *x, const real *y, real *out, long long n)")
        lines.append(f"{{ {loop} }}")
    return "\n".join(lines)


def arguments(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of every size that mathematics of neurons meets, and beyond."""
    rng = np.random.default_rng(5)
    part = COUNT // 4
    x = np.concatenate([
        rng.uniform(-3.0, 3.0, part),
        rng.uniform(-120.0, 120.0, part),
        rng.choice([-1.0, 1.0], part) * 10.0 ** rng.uniform(-30.0, 3.0, part),
        np.abs(rng.normal(1.0, 1e-3, part)),
    ])  # fmt: skip
    return x.astype(dtype), rng.uniform(-4.0, 4.0, COUNT).astype(dtype)


@pytest.mark.parametrize("name", [*ONE, "pow"])
def test_same_bits(name: str, dtype: str, gpu: Device) -> None:
    """A million arguments each."""
    x, y = arguments(dtype)
    if name in ("log", "sqrt", "pow"):
        x = np.abs(x)
    if name == "log1p":
        x = np.maximum(x, x.dtype.type(-0.999))
    expected, got = np.empty_like(x), np.empty_like(x)
    (library,) = build([(text(False, dtype), ())])
    pointers = [ct.c_void_p(a.ctypes.data) for a in (x, y, expected)]
    getattr(library, f"t_{name}")(*pointers, ct.c_longlong(COUNT))
    with gpu.current():
        code = Loaded(gpu, compile_cubin(text(True, dtype), gpu.arch))
        places = [gpu.cuda.mem_alloc(x.nbytes) for _ in range(3)]
        for place, array in zip(places, (x, y), strict=False):
            gpu.upload(int(place), array)
        values = (*map(int, places), COUNT)
        launch(gpu, code.function(f"t_{name}"), 256, 256, values, (*[POINTER] * 3, LONG))
        gpu.download(int(places[2]), got)
    assert np.isfinite(expected).sum() > COUNT // 2
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    assert same.all(), (x[~same][:5], y[~same][:5], expected[~same][:5], got[~same][:5])
