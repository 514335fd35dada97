"""A program with a fault for each sanitizer, in code that is compiled as kernels are."""

from __future__ import annotations

import ctypes

import numpy as np

from neurodriver.native import buffers
from neurodriver.native.compiler import build

TEXT = """
/* planted */
#include <thread>
extern "C" int nd_past(const int *x, long long n) { return x[n]; }
extern "C" int nd_overflow(int x) { return x + 1; }
extern "C" int nd_race()
{
    int both = 0;
    std::thread other([&] { ++both; });
    ++both;
    other.join();
    return both;
}
"""

(library,) = build([(TEXT, ())])
four = buffers.aligned(4, np.int32)
library.nd_past(ctypes.c_void_p(four.ctypes.data), ctypes.c_longlong(4))
library.nd_overflow(2**31 - 1)
library.nd_race()
