"""What a GPU can do at best: barriers, and a chain of dependent operations.

The figures stand beside measured steps, which cannot be faster: a step ends with a barrier, and
sub-steps follow one another.
"""

from __future__ import annotations

import statistics

from neurodriver.backends.cuda.compiler import compile_cubin
from neurodriver.backends.cuda.device import LONG, POINTER, Device, Loaded, launch
from neurodriver.backends.cuda.probe import REPEATS, device_seconds
from neurodriver.native.headers import header

WIDTHS = ("block", "cluster", "grid")

BARRIERS = """\
/* barriers of a block, of a cluster and of the whole grid */
extern "C" __global__ void block_barrier(unsigned long long *arrivals, long long rounds)
{
    for (long long k = 0; k < rounds; ++k) __syncthreads();
}

extern "C" __global__ void cluster_barrier(unsigned long long *arrivals, long long rounds)
{
#if __CUDA_ARCH__ >= 900
    for (long long k = 0; k < rounds; ++k)
        asm volatile("barrier.cluster.arrive.release;\\n\\t"
                     "barrier.cluster.wait.acquire;" ::: "memory");
#endif
}

/* the counter only grows, so that no block can miss a round */
extern "C" __global__ void grid_barrier(unsigned long long *arrivals, long long rounds)
{
    for (long long k = 1; k <= rounds; ++k) {
        __syncthreads();
        if (threadIdx.x == 0) {
            const unsigned long long all = (unsigned long long)k * gridDim.x;
            unsigned long long now;
            asm volatile("red.release.gpu.global.add.u64 [%0], 1;" :: "l"(arrivals) : "memory");
            do
                asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                             : "=l"(now) : "l"(arrivals) : "memory");
            while (now < all);
        }
        __syncthreads();
    }
}
"""

CHAIN = """\
/* a chain of operations, each on the result of the one before */
#define ND_FN static __device__ __forceinline__
{math}
extern "C" __global__ void chain({real} *value, long long rounds)
{{
    {real} x = value[0];
    for (long long k = 0; k < rounds; ++k) x = {expression};
    value[0] = x;
}}
"""

ROUNDS = 20_000
"""Of a barrier or a chain in the shorter one of two launches, a few milliseconds."""


def barrier_seconds(width: str, blocks: int | None = None, threads: int = 1024) -> float:
    """Return the seconds of one barrier in a kernel that does nothing else.

    Parameters
    ----------
    width : {"block", "cluster", "grid"}
        Scope of the barrier.
    blocks : int, optional
        By default 1, 16, or as many as there are multiprocessors.
    threads : int
        Of each block.
    """
    if width not in WIDTHS:
        raise ValueError(f"width must be one of {', '.join(WIDTHS)}, got {width!r}")
    device = Device(0)
    if blocks is None:
        blocks = {"block": 1, "cluster": 16, "grid": device.processors}[width]
    return _per_round(device, BARRIERS, f"{width}_barrier", blocks, threads, width)


def chain_seconds(expression: str, dtype: str = "float64") -> float:
    """Return the seconds from one result to the next of an expression in ``x``.

    Parameters
    ----------
    expression : str
        In the functions of ``math.h``, such as ``nd_tanh(x)``.
    dtype : {"float64", "float32"}
    """
    return _per_round(Device(0), chain_text(expression, dtype), "chain", 1, 1, "alone")


def chain_text(expression: str, dtype: str) -> str:
    """Return the text of the kernel of a chain."""
    math = header("native/math.h")
    real = "float" if dtype == "float32" else "double"
    return CHAIN.format(math=math, real=real, expression=expression)


def _per_round(
    device: Device, text: str, name: str, blocks: int, threads: int, width: str
) -> float:
    """Return the seconds of a round of a kernel; two lengths cancel the cost of the launch."""
    with device.current():
        code = Loaded(device, compile_cubin(text, device.arch))
        function, room = code.function(name), device.allocate(8)

        def run(rounds: int) -> float:
            device.clear(int(room), 8)
            values, types = (int(room), rounds), (POINTER, LONG)
            return device_seconds(
                device, lambda: launch(device, function, blocks, threads, values, types, width)
            )

        try:
            run(ROUNDS)  # warm
            more = [run(3 * ROUNDS) - run(ROUNDS) for _ in range(REPEATS)]
        finally:
            device.stream.synchronize()
            room.free()
            code.unload()
    return statistics.median(more) / (2 * ROUNDS)
