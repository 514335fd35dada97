"""The kernels of ``event_lists.cuh`` and ``trains.cuh``, compiled for a CPU.

Their threads are threads of the host.
"""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable
from functools import cache
from typing import Any

from neurodriver.native.compiler import build
from neurodriver.native.headers import header

THREADS = 32
"""Of a block; fewer than on a GPU, as each of them is a thread of the host."""

_HEAD = """/* event lists on a CPU */
#include <barrier>
#include <bit>
#include <thread>
#include <vector>
#define __global__
#define __device__
#define __launch_bounds__(threads)
#define __shared__ static
#define ND_MEMBER inline
#define ND_FN static inline
typedef REAL real;
struct nd_index { unsigned x; };
struct uint4 { unsigned x, y, z, w; };
static thread_local nd_index threadIdx;
static nd_index blockIdx, gridDim;
static std::barrier<> *nd_meeting;
static void __syncthreads() { nd_meeting->arrive_and_wait(); }
static unsigned atomicAdd(unsigned *p, unsigned x) { return __atomic_fetch_add(p, x, 0); }
static int __popc(unsigned x) { return std::popcount(x); }
static int __ffs(int x) { return x ? std::countr_zero((unsigned)x) + 1 : 0; }
"""

_TAIL = """
template <class... Given> static void nd_run(void (*kernel)(Given...), int blocks, Given... given)
{
    gridDim.x = blocks;
    std::barrier<> meeting(ND_LISTING);
    nd_meeting = &meeting;
    for (int block = 0; block < blocks; ++block) {
        blockIdx.x = block;
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < ND_LISTING; ++i)
            threads.emplace_back([=] { threadIdx.x = i; kernel(given...); });
        for (auto &one : threads) one.join();
    }
}
extern "C" void run_nd_count_events(int n, const unsigned *a, unsigned b, unsigned *c)
{
    nd_run(nd_count_events, n, a, b, c);
}
extern "C" void run_nd_list_events(int n, const unsigned *a, unsigned b, unsigned c,
                                   const unsigned *d, unsigned e, int *f, int *g, long long *h)
{
    nd_run(nd_list_events, n, a, b, c, d, e, f, g, h);
}
extern "C" void run_nd_enter_events(int n, const int *a, const int *b, const real *c,
                                    const int *d, real *e, long long f, long long g)
{
    nd_run(nd_enter_events, n, a, b, c, d, e, f, g);
}
"""


_TRAINS = """
extern "C" void run_nd_draw_trains(int n, const nd_trains *a, long long b, long long c,
                                   unsigned *d, int *e, unsigned f)
{
    nd_run(nd_draw_trains, n, a, b, c, d, e, f);
}
extern "C" void run_nd_place_trains(int n, unsigned *a, unsigned b, unsigned c, int *d)
{
    nd_run(nd_place_trains, n, a, b, c, d);
}
extern "C" void run_nd_limit_trains(int n, const int *a, unsigned b, unsigned c, unsigned d, int *e)
{
    nd_run(nd_limit_trains, n, a, b, c, d, e);
}
"""


@cache
def _library(dtype: str) -> ct.CDLL:
    text = header("codegen/simt/event_lists.cuh")
    few = text.replace("ND_LISTING = 256", f"ND_LISTING = {THREADS}")
    assert few != text
    real = "float" if dtype == "float32" else "double"
    names = "native/math.h", "native/philox.h", "codegen/simt/trains.cuh"
    trains = "\n".join(map(header, names))
    return build([(_HEAD + few + trains + _TAIL + _TRAINS, (f"-DREAL={real}",))])[0]


def launcher(dtype: str) -> Callable[..., None]:
    """Return what stands for ``launch`` of the backend, on an emulated device."""

    def launch(
        device: Any, function: str, blocks: int, threads: int, values: Any, types: Any
    ) -> None:
        run = getattr(_library(dtype), f"run_{function}")
        given = [kind(value) for kind, value in zip(types, values, strict=True)]
        device.queue.append(lambda: run(ct.c_int(blocks), *given))

    return launch
