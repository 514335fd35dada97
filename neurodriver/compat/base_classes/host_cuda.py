"""What stands for PyCUDA where classes run on the CPU: NumPy's arrays, addresses of the process."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ...native.addresses import HostArray
from ..models.c_types import dtype_to_ctype
from .host_kernels import Function, SourceModule


class GPUArray(HostArray):
    """Stands for ``pycuda.gpuarray.GPUArray``: an array that also gives its address."""

    def __new__(cls, shape: Any, dtype: Any = np.float64, **_: Any) -> GPUArray:
        """Return an array of zeros."""
        return np.zeros(shape, dtype).view(cls)

    @property
    def ptr(self) -> int:
        """Address of the first element."""
        return self.gpudata


class Memory(int):
    """An allocation: its address, which lives as long as this object."""

    held: Any

    def free(self) -> None:
        """Give the memory back."""
        self.held = None


def to_gpu(values: Any, *_: Any, **more: Any) -> GPUArray:
    """Return a copy of an array."""
    out: GPUArray = np.array(values, order="C", copy=True).view(GPUArray)
    return out


def zeros(shape: Any, dtype: Any = np.float64, **_: Any) -> GPUArray:
    """Return an array of zeros."""
    return GPUArray(shape, dtype)


def zeros_like(other: Any, **_: Any) -> GPUArray:
    """Return zeros in the shape and type of an array."""
    return GPUArray(other.shape, other.dtype)


def arange(*given: Any, dtype: Any = None, **_: Any) -> GPUArray:
    """Return the numbers of a range."""
    return to_gpu(np.arange(*given, dtype=dtype))


def _reduced(name: str) -> Callable[..., GPUArray]:
    """Return what makes one number of an array, or of two; an array without axes has it."""

    def reduced(*arrays: GPUArray, dtype: Any = None, **_: Any) -> GPUArray:
        return to_gpu(np.asarray(getattr(np, name)(*arrays[: 2 if name == "dot" else 1]), dtype))

    return reduced


def mem_alloc(size: int) -> Memory:
    """Return memory of so many bytes."""
    held = np.zeros(max(int(size), 1), np.uint8)
    made = Memory(held.ctypes.data)
    made.held = held
    return made


def memcpy_htod(dest: Any, src: Any, *_: Any) -> None:
    """Copy an array to an address."""
    whole = np.ascontiguousarray(src)
    ct.memmove(int(dest), whole.ctypes.data, whole.nbytes)


def memcpy_dtoh(dest: Any, src: Any, *_: Any) -> None:
    """Copy from an address into an array."""
    ct.memmove(dest.ctypes.data, int(src), dest.nbytes)


def memcpy_dtod(dest: Any, src: Any, size: int, *_: Any) -> None:
    """Copy from one address to another one."""
    ct.memmove(int(dest), int(src), int(size))


def memset_d32(dest: Any, value: int, count: int, *_: Any) -> None:
    """Fill words of four bytes."""
    (ct.c_uint32 * int(count)).from_address(int(dest))[:] = [int(value)] * int(count)


class Stream:
    """Stands for ``pycuda.driver.Stream``: nothing is ever under way."""

    handle = 0

    def synchronize(self) -> None:
        """Return at once."""


def _module(name: str, **given: Any) -> ModuleType:
    made = ModuleType(name, "Stands for PyCUDA on the CPU.")
    made.__dict__.update(given)
    return made


_DRIVER = _module(
    "pycuda.driver", memcpy_htod=memcpy_htod, memcpy_dtoh=memcpy_dtoh, memcpy_dtod=memcpy_dtod,
    memcpy_htod_async=memcpy_htod, memcpy_dtoh_async=memcpy_dtoh, memcpy_dtod_async=memcpy_dtod,
    memset_d32=memset_d32, mem_alloc=mem_alloc, Stream=Stream, Function=Function,
    init=lambda *_: None,
)  # fmt: skip
_ARRAYS = _module(
    "pycuda.gpuarray", GPUArray=GPUArray, to_gpu=to_gpu, to_gpu_async=to_gpu, zeros=zeros,
    empty=zeros, zeros_like=zeros_like, empty_like=zeros_like, arange=arange,
    **{name: _reduced(name) for name in ("sum", "max", "min", "dot")},
)  # fmt: skip

MODULES: dict[str, ModuleType] = {
    "pycuda": _module("pycuda", driver=_DRIVER, gpuarray=_ARRAYS, __path__=[]),
    "pycuda.driver": _DRIVER,
    "pycuda.gpuarray": _ARRAYS,
    "pycuda.compiler": _module("pycuda.compiler", SourceModule=SourceModule),
    "pycuda.tools": _module("pycuda.tools", dtype_to_ctype=dtype_to_ctype),
    "pycuda.autoinit": _module("pycuda.autoinit"),
}
"""Module of PyCUDA -> what stands for it on the CPU."""
for _name, _one in MODULES.items():
    if "." in _name:
        setattr(MODULES["pycuda"], _name.partition(".")[2], _one)
