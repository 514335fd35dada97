"""Random numbers for kernels of old classes on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import stand_ins

WORDS = 12
"""Words of four bytes that the state of a generator takes (``curandStateXORWOW``)."""

_TEXT = """
#include <curand_kernel.h>

extern "C" __global__ void begin(curandStateXORWOW_t *states, int count, unsigned long long seed)
{
    int number = threadIdx.x + blockIdx.x * blockDim.x;
    if (number < count) curand_init(seed, number, 0, states + number);
}
"""


def curand_setup(num_threads: int, seed: int) -> Any:
    """Return a generator for each thread of a kernel.

    Parameters
    ----------
    seed : int
        Thread i gets the i-th sequence of this seed.

    Returns
    -------
    GPUArray
        ``(12 * num_threads,)`` int32: one ``curandStateXORWOW`` after the other.

    Raises
    ------
    NoDeviceError
        Without PyCUDA. The mathematics of a declared model draws with ``uniform()`` and
        ``normal()``, on the CPU, too.
    """
    if isinstance(stand_ins.SourceModule, stand_ins.Absent):
        advice = "the text of a declared model draws with uniform() and normal()"
        message = "curand_setup needs PyCUDA and a GPU: pip install 'neurodriver[gpu,pycuda]'"
        raise stand_ins.NoDeviceError(f"{message}; {advice}")
    states = stand_ins.garray.empty(int(num_threads) * WORDS, np.int32)
    kernel = stand_ins.SourceModule(_TEXT, no_extern_c=True).get_function("begin")
    numbers = np.int32(num_threads), np.uint64(seed)
    kernel(states, *numbers, block=(128, 1, 1), grid=(-(-int(num_threads) // 128), 1))
    return states
