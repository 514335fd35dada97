"""The bandwidth of this machine's memory, by the triad a = b + s c (McCalpin 1995, STREAM)."""

from __future__ import annotations

import ctypes as ct
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from ...native.buffers import aligned
from ...native.compiler import build


@cache
def _library() -> ct.CDLL:
    return build([((Path(__file__).parent / "triad.cpp").read_text(encoding="utf-8"), ())])[0]


def triad(
    footprint: float,
    dtype: DTypeLike,
    threads: int,
    passes: int = 30,
    blocks: int = 1,
    limit: float = float("inf"),
) -> float:
    """Return the bandwidth of the triad in bytes a second, the best of some passes.

    Parameters
    ----------
    footprint : float
        Bytes of the three arrays together.
    dtype : dtype
        float64 or float32.
    threads : int
    passes : int
        Most passes.
    blocks : int
        Parts of a pass that are timed by themselves: on a busy machine a short one may be left
        alone. What lies between two visits must be more than the caches hold.
    limit : float
        Seconds after which no part begins; one is timed in any case.
    """
    dtype = np.dtype(dtype)
    size = int(footprint / 3 / dtype.itemsize) // blocks * blocks
    arrays = [aligned(size, dtype) for _ in range(3)]
    for array in arrays:
        array[:] = 1.5
    function = getattr(_library(), "triad_float" if dtype == np.float32 else "triad_double")
    function.restype = ct.c_double
    pointers = [ct.c_void_p(a.ctypes.data) for a in arrays]
    counts = [ct.c_int(n) for n in (threads, passes, blocks)]
    spent: float = function(*pointers, ct.c_longlong(size), *counts, ct.c_double(limit))
    return 3 * size // blocks * dtype.itemsize / spent
