"""A PyCUDA of plain Python: arrays lie in memory of the host, kernels are compiled for the CPU.

A kernel runs block after block and thread after thread, so it may have no barrier. Arguments are
checked as PyCUDA does: bare numbers of Python are refused, formats are counted.
"""

from __future__ import annotations

import ctypes as ct
import itertools
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from neurodriver.backends.cuda.on_device import DeviceMemory
from neurodriver.compat import lpu, pm_gpu
from neurodriver.native.compiler import find_compiler

_PRELUDE = """
#include <algorithm>
#include <cmath>
using std::max; using std::min;
struct nd_three { int x, y, z; };
static nd_three threadIdx, blockIdx, blockDim, gridDim;
#define __global__
#define __device__
#define __restrict__
"""
_LAUNCH = """
extern "C" void nd_launch_{name}(void **a, const int *g, const int *b)
{{
    gridDim = {{g[0], g[1], g[2]}};
    blockDim = {{b[0], b[1], b[2]}};
    for (int i = 0; i < g[0] * g[1] * g[2]; ++i)
        for (int j = 0; j < b[0] * b[1] * b[2]; ++j) {{
            blockIdx = {{i % g[0], i / g[0] % g[1], i / (g[0] * g[1])}};
            threadIdx = {{j % b[0], j / b[0] % b[1], j / (b[0] * b[1])}};
            {name}({arguments});
        }}
}}
"""
_TYPES = {"int": ct.c_int, "double": ct.c_double, "float": ct.c_float, "long long": ct.c_longlong}


class Error(Exception):
    """Stands for ``pycuda.driver.Error``."""


class Context:
    """The context, which is always there unless ``none`` is set."""

    none = False
    pushed = 0

    @classmethod
    def get_current(cls) -> Any:
        return None if cls.none and not cls.pushed else cls

    @classmethod
    def push(cls) -> None:
        cls.pushed += 1

    @classmethod
    def pop(cls) -> None:
        cls.pushed -= 1

    @staticmethod
    def synchronize() -> None:
        """Nothing is ever under way."""

    @staticmethod
    def get_device() -> Any:
        return Device(0)


class Device:
    """One of two GPUs."""

    MULTIPROCESSOR_COUNT = 2
    asked: list[int] = []

    def __init__(self, number: int) -> None:
        Device.asked.append(number)

    @staticmethod
    def count() -> int:
        return 2

    def retain_primary_context(self) -> type[Context]:
        return Context


def _memory(address: Any, size: int) -> Any:
    return (ct.c_char * size).from_address(int(address))


def _copy(to: Any, source: Any, size: int) -> None:
    ct.memmove(int(to), int(source), size)


class GPUArray:
    """Stands for ``pycuda.gpuarray.GPUArray``."""

    def __init__(self, shape: Any, dtype: Any, gpudata: Any = None, **_: Any) -> None:
        self.shape = shape if isinstance(shape, tuple) else (shape,)
        self.dtype = np.dtype(dtype)
        self.ndim, self.size = len(self.shape), int(np.prod(self.shape))
        self.nbytes = self.size * self.dtype.itemsize
        self._own = np.empty(self.nbytes, np.uint8) if gpudata is None else None
        self.gpudata = self._own.ctypes.data if self._own is not None else gpudata

    def _view(self) -> np.ndarray:
        raw = _memory(self.gpudata, self.nbytes) if self.nbytes else b""
        return np.frombuffer(raw, dtype=self.dtype).reshape(self.shape)

    def get(self, out: Any = None) -> np.ndarray:
        """Return a copy on the host."""
        values = self._view().copy()
        if out is not None:
            out[...] = values
        return values

    def set(self, values: Any) -> None:
        """Take values of the same type and shape."""
        values = np.asarray(values)
        assert values.dtype == self.dtype and values.shape == self.shape
        self._view()[...] = values

    def fill(self, value: Any) -> GPUArray:
        self._view()[...] = value
        return self

    def copy(self) -> GPUArray:
        return to_gpu(self._view())

    def view(self, dtype: Any) -> GPUArray:
        made = GPUArray(self.nbytes // np.dtype(dtype).itemsize, dtype, self.gpudata)
        made._own = self._own
        return made

    def __len__(self) -> int:
        return self.shape[0]

    def __add__(self, other: Any) -> GPUArray:
        return to_gpu(self._view() + (other._view() if isinstance(other, GPUArray) else other))


def to_gpu(values: Any) -> GPUArray:
    values = np.ascontiguousarray(values)
    made = GPUArray(values.shape, values.dtype)
    made.set(values)
    return made


def zeros(shape: Any, dtype: Any) -> GPUArray:
    return GPUArray(shape, dtype).fill(0)


@cache
def _compiled(text: str, kernels: tuple[tuple[str, tuple[str, ...]], ...]) -> ct.CDLL:
    launches = [
        _LAUNCH.format(
            name=name,
            arguments=", ".join(f"*({kind}*)a[{i}]" for i, kind in enumerate(kinds)),
        )
        for name, kinds in kernels
    ]
    folder = Path(tempfile.mkdtemp(prefix="emulated_pycuda_"))
    (folder / "text.cpp").write_text("\n".join([_PRELUDE, text, *launches]))
    flags = ["-std=c++20", "-O1", "-fPIC", "-shared", "-ffp-contract=off", "-w"]
    words = [*find_compiler().command, *flags, str(folder / "text.cpp"), "-o", str(folder / "k.so")]
    subprocess.run(words, check=True)
    return ct.CDLL(str(folder / "k.so"))


class SourceModule:
    """Stands for ``pycuda.compiler.SourceModule``."""

    def __init__(self, text: str, options: Any = (), **_: Any) -> None:
        assert "__syncthreads" not in text, "a kernel with barriers cannot be emulated"
        assert all(isinstance(word, str) for word in options)
        found = re.findall(r"__global__\s+void\s+(\w+)\s*\(([^)]*)\)", text)
        self.kernels = {name: [_kind(one) for one in given.split(",")] for name, given in found}
        kinds = tuple((name, tuple(k)) for name, k in self.kernels.items())
        self._library = _compiled(text, kinds)

    def get_function(self, name: str) -> Function:
        return Function(getattr(self._library, f"nd_launch_{name}"), self.kernels[name])


def _kind(argument: str) -> str:
    """Return the type of an argument, without its name."""
    words = re.sub(r"//.*|__restrict__", "", argument).strip()
    return re.sub(r"\w+$", "", words).strip()


for _made in (GPUArray, SourceModule):
    _made.__module__ = "pycuda"


class Function:
    """Stands for ``pycuda.driver.Function``."""

    def __init__(self, launch: Any, kinds: list[str]) -> None:
        self._launch, self._kinds = launch, kinds
        self._format: list[str] = []

    def prepare(self, arg_types: str) -> Function:
        self._format = list(arg_types)
        assert len(self._format) == len(self._kinds)
        return self

    def __call__(self, *args: Any, block: Any, grid: Any = (1, 1), **_: Any) -> None:
        for i, one in enumerate(args):
            if not isinstance(one, np.number) and not hasattr(one, "gpudata"):
                raise TypeError(f"invalid type on parameter #{i} (0-based)")
        self._run(grid, block, [getattr(one, "gpudata", one) for one in args])

    def prepared_call(self, grid: Any, block: Any, *args: Any, **_: Any) -> None:
        assert len(args) == len(self._format), "pack expected another number of items"
        self._run(grid, block, list(args))

    def prepared_async_call(self, grid: Any, block: Any, stream: Any, *args: Any, **_: Any) -> None:
        self.prepared_call(grid, block, *args)

    def _run(self, grid: Any, block: Any, args: list[Any]) -> None:
        held = [
            ct.c_void_p(int(one)) if kind.endswith("*") else _TYPES[kind](one)
            for kind, one in zip(self._kinds, args, strict=True)
        ]
        pointers = (ct.c_void_p * len(held))(*[ct.addressof(one) for one in held])
        sizes = [(ct.c_int * 3)(*itertools.islice((*one, 1, 1), 3)) for one in (grid, block)]
        self._launch(pointers, *sizes)


def _helper(self: DeviceMemory, name: str, count: int, pointers: Any, numbers: Any) -> None:
    """Do what the helper kernels of instances do."""
    kind = self.program.dtype

    def at(address: int, size: int, dtype: Any) -> np.ndarray:
        dtype = np.dtype(dtype)
        return np.frombuffer(_memory(address, size * dtype.itemsize), dtype=dtype)

    if name == "nd_mark_events":
        slices, step = numbers
        row = at(pointers[0], 16 * slices, kind)
        if row.any() and pointers[2]:
            at(pointers[2], 1, np.int64)[0] = step
        return
    ring, pre, cumpre, delay, weight, out = pointers
    n, current, length, ld, first = numbers
    starts = at(cumpre, n + 1, np.int32)
    rows = at(ring, length * ld, kind).reshape(length, ld)
    for i in range(n):
        total = kind.type(0)
        for j in range(starts[i], starts[i + 1]):
            row = (current - at(delay, starts[-1], np.int32)[j]) % length
            value = rows[row, at(pre, starts[-1], np.int32)[j]]
            value = value * at(weight, starts[-1], kind)[j] if weight else value
            total = total + value
            if first:
                break
        at(out, n, kind)[i] = total


def _module(name: str, **given: Any) -> ModuleType:
    made = ModuleType(name)
    made.__dict__.update(given)
    return made


def emulate_pycuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put this PyCUDA in the place of the real one."""
    monkeypatch.setattr(Context, "pushed", 0)
    monkeypatch.setattr(Device, "asked", [])
    ctypes_of = {"float64": "double", "float32": "float", "int32": "int"}
    driver = _module(
        "pycuda.driver", Error=Error, LogicError=Error, init=lambda: None, Device=Device,
        Context=Context, memcpy_dtod=_copy, Stream=lambda *_: None,
        memcpy_htod=lambda to, source: _copy(to, source.ctypes.data, source.nbytes),
        memcpy_dtoh=lambda to, source: _copy(to.ctypes.data, source, to.nbytes),
    )  # fmt: skip
    arrays = _module(
        "pycuda.gpuarray", GPUArray=GPUArray, to_gpu=to_gpu, zeros=zeros, empty=GPUArray
    )
    modules = {
        "pycuda": _module("pycuda", driver=driver, gpuarray=arrays, __path__=[]),
        "pycuda.driver": driver,
        "pycuda.gpuarray": arrays,
        "pycuda.compiler": _module("pycuda.compiler", SourceModule=SourceModule),
        "pycuda.tools": _module(
            "pycuda.tools", dtype_to_ctype=lambda dtype: ctypes_of[np.dtype(dtype).name]
        ),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
        if "." in name:
            setattr(modules["pycuda"], name.partition(".")[2], module)
    monkeypatch.setattr(DeviceMemory, "_call", _helper)
    for user in (lpu, pm_gpu):
        monkeypatch.setattr(user, "device_count", Device.count)
    monkeypatch.setattr("emulated_gpu.OWN_CLASSES", True)


@pytest.fixture
def pycuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``import pycuda`` find the emulated one."""
    emulate_pycuda(monkeypatch)
