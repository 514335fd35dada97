"""The bandwidth of this machine's memory, by the triad a = b + s c (McCalpin 1995, STREAM)."""

from __future__ import annotations

import ctypes as ct
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from ..compile.buffers import aligned
from .compiler import build


@cache
def _library() -> ct.CDLL:
    return build([((Path(__file__).parent / "triad.cpp").read_text(encoding="utf-8"), ())])[0]


def triad(
    footprint: float, dtype: DTypeLike, threads: int, passes: int = 30, limit: float = float("inf")
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
    limit : float
        Seconds after which no pass begins; one is made in any case.
    """
    dtype = np.dtype(dtype)
    size = int(footprint / 3 / dtype.itemsize)
    arrays = [aligned(size, dtype) for _ in range(3)]
    for array in arrays:
        array[:] = 1.5
    function = getattr(_library(), "triad_float" if dtype == np.float32 else "triad_double")
    function.restype = ct.c_double
    pointers = [ct.c_void_p(a.ctypes.data) for a in arrays]
    numbers = ct.c_longlong(size), ct.c_int(threads), ct.c_int(passes), ct.c_double(limit)
    spent: float = function(*pointers, *numbers)
    return 3 * size * dtype.itemsize / spent
