"""``SourceModule`` on the CPU: kernels of a text, run block after block and thread after thread."""

from __future__ import annotations

import ctypes as ct
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...codegen.source import CPU, prelude
from ...codegen.template import INCLUDE, ends
from ...errors import ModelError
from ...native.compiler import build
from ...native.headers import header

_KERNEL = re.compile(r"__global__\s+(?:static\s+|inline\s+)*void\s+(\w+)\s*\(")
_TOGETHER = re.compile(
    r"\b(?:__shared__|__sync\w+|atomic\w+|__shfl\w*|__ballot\w*|cooperative_groups)\b"
)
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)

_CODES: dict[str, Any] = {
    "b": ct.c_byte, "B": ct.c_ubyte, "?": ct.c_bool, "h": ct.c_short, "H": ct.c_ushort,
    "i": ct.c_int, "I": ct.c_uint, "l": ct.c_long, "L": ct.c_ulong, "q": ct.c_longlong,
    "Q": ct.c_ulonglong, "f": ct.c_float, "d": ct.c_double, "P": ct.c_void_p, "p": ct.c_ssize_t,
}  # fmt: skip
"""Type of an argument, as formats of ``struct`` and codes of NumPy name it."""


class SourceModule:
    """Stands for ``pycuda.compiler.SourceModule``: compiles a text for the CPU.

    Parameters
    ----------
    source : str
        CUDA C++, without shared memory, barriers and atomic functions.
    **options
        Those of PyCUDA; they mean nothing here.

    Raises
    ------
    ModelError
        For a text without a kernel, or whose threads work together.
    CompileError
        With the words of the compiler.
    """

    def __init__(self, source: str, *_: Any, **options: Any) -> None:
        bare = _COMMENTS.sub("", source)
        self._names = list(dict.fromkeys(_KERNEL.findall(bare)))
        if not self._names:
            raise ModelError("SourceModule: the text has no `__global__ void` function")
        asked = _TOGETHER.search(bare)
        if asked:
            raise ModelError(
                f"SourceModule: '{asked.group()}' in the text: on the CPU threads run one after "
                f"the other, without shared memory, barriers and atomic functions; choose "
                f"backend 'cuda'"
            )
        self._library = build([(_whole(source, self._names), ())])[0]

    def get_function(self, name: str) -> Function:
        """Return a kernel of the text."""
        if name not in self._names:
            known = ", ".join(self._names)
            raise ModelError(f"SourceModule: no kernel '{name}' in the text; there are {known}")
        return Function(getattr(self._library, f"nd_launch_{name}"))


def _whole(source: str, names: Iterable[str]) -> str:
    headers = [f"#include <{name}>" for name in INCLUDE.findall(source) if "cuda" not in name]
    if "printf" in source:
        headers.append("#include <stdio.h>")
    launches = [
        f'extern "C" void nd_launch_{name}(void **a, const unsigned *g, const unsigned *b)\n'
        f"{{ nd_grid(nd_user::{name}, a, g, b); }}"
        for name in names
    ]
    text = re.sub(r'extern\s*"C"\s*(?=__global__)', "", INCLUDE.sub("", source))
    return "\n".join(
        ["/* kernels of old classes on the CPU */", *prelude([], "float64", CPU),
         *dict.fromkeys(headers), "#define ND_WHOLE_GRID", "namespace nd_user { namespace {",
         header("codegen/cuda_on_cpu.h"), header("codegen/cuda_functions.h"),
         '#line 1 "SourceModule"', text, '#line 1 "launch of SourceModule"', "} }", *ends(text),
         header("compat/base_classes/launch.h"), *launches]
    )  # fmt: skip


class Function:
    """Stands for ``pycuda.driver.Function``."""

    def __init__(self, launch: Callable[..., Any]) -> None:
        self._launch = launch
        self._types: list[Any] = []

    def prepare(self, arg_types: Sequence[Any], **_: Any) -> Function:
        """Declare the types of the arguments, as a format or as types of NumPy."""
        self._types = [_type(one) for one in arg_types]
        return self

    def prepared_call(self, grid: Any, block: Any, *args: Any, **_: Any) -> None:
        """Run the kernel."""
        if len(args) != len(self._types):
            want = f"{len(self._types)} arguments were prepared"
            raise ModelError(f"prepared call of a kernel: {want}, got {len(args)}")
        held = [kind(_number(one, kind)) for kind, one in zip(self._types, args, strict=True)]
        self._run(grid, block, held)

    def prepared_async_call(
        self, grid: Any, block: Any, stream: Any, *args: Any, **more: Any
    ) -> None:
        """Run the kernel; nothing is under way afterwards."""
        self.prepared_call(grid, block, *args, **more)

    def __call__(self, *args: Any, block: Any, grid: Any = (1, 1), **_: Any) -> None:
        """Run the kernel with arrays and numbers of NumPy."""
        held = []
        for i, one in enumerate(args):
            if hasattr(one, "gpudata"):
                held.append(ct.c_void_p(int(one.gpudata)))
            elif isinstance(one, np.number):
                held.append(_type(one.dtype)(one.item()))
            else:
                raise TypeError(f"invalid type on parameter #{i} (0-based)")
        self._run(grid, block, held)

    def _run(self, grid: Any, block: Any, held: list[Any]) -> None:
        pointers = (ct.c_void_p * max(len(held), 1))(*[ct.addressof(one) for one in held])
        sizes = [(ct.c_uint * 3)(*floored(one)) for one in (grid, block)]
        self._launch(pointers, *sizes)


def _type(given: Any) -> Any:
    code = given if isinstance(given, str) else np.dtype(given).char
    if code not in _CODES:
        raise ModelError(f"prepare: unknown type {given!r:.40} of an argument")
    return _CODES[code]


def _number(value: Any, kind: Any) -> Any:
    value = getattr(value, "gpudata", value)
    return float(value) if kind in (ct.c_float, ct.c_double) else int(value)


def floored(sizes: Any) -> list[int]:
    """Return the sizes of a grid or a block, three; fractions are rounded down."""
    given = sizes if isinstance(sizes, tuple | list) else (sizes,)
    return [int(one) for one in (*given, 1, 1)][:3]
