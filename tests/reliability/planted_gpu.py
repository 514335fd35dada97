"""A program with a fault for each tool of compute-sanitizer."""

from __future__ import annotations

import ctypes

from neurodriver.backends.cuda.compiler import compile_cubin
from neurodriver.backends.cuda.device import Device, Loaded, launch

TEXT = """
/* planted */
extern "C" __global__ void nd_past(int *x) { x[1000000] = x[0]; }
extern "C" __global__ void nd_unwritten(int *x) { x[0] += x[1]; }
extern "C" __global__ void nd_race(int *x)
{
    __shared__ int row[64];
    row[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = row[63 - threadIdx.x];
}
extern "C" __global__ void nd_apart(int *x)
{
    if (threadIdx.x < 48) __syncthreads();
    x[threadIdx.x] = 1;
}
"""


def main(names: list[str]) -> None:
    """Run kernels, each on memory of its own."""
    device = Device(0)
    with device.current():
        code = Loaded(device, compile_cubin(TEXT, device.arch))
        for name in names:
            memory = device.allocate(4096)
            pointer = (int(memory),), (ctypes.c_void_p,)
            launch(device, code.function(name), 1, 64, *pointer)
            device.wait()


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
