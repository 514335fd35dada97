"""The text that draws connections on a GPU, compiled as C++ and run on the host, by one warp."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Mapping
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from warps_on_cpu import WARPS

from neurodriver.backends.cuda.drawing import HEADERS, KERNELS, ROWS
from neurodriver.native.compiler import build
from neurodriver.native.headers import INLINE, header

WORDS = """
#define ND_KERNEL static
#define ND_CALLED static
#define ND_UNROLL
static int nd_memory[1 << 16];
static int nd_bits_in(unsigned x) { return __builtin_popcount(x); }
static unsigned nd_alike(int x)
{
    const volatile unsigned long long *all = nd_give(x);
    unsigned bits = 0;
    for (int i = 0; i < ND_WARP; ++i) bits |= (unsigned)(nd_as<int>(all[i]) == x) << i;
    return bits;
}
static double nd_up(double x, int by)
{
    const int me = nd_lane(), other = me >= by ? me - by : me;
    return nd_as<double>(nd_give(x)[other]);
}
static long long nd_first_of_all() { return nd_lane(); }
static long long nd_number_of_all() { return ND_WARP; }
static long long nd_warp_of_all() { return 0; }
static int *nd_row_memory(long long room) { nd_memory[room] = -1; return nd_memory; }
template <class T> static T nd_add(T *to, T x) { const T old = *to; *to += x; return old; }
template <class T> static T nd_swap(T *to, T had, T x)
{
    const T seen = *to;
    if (seen == had) *to = x;
    return seen;
}
template <class T> static void nd_lower_to(T *to, T x) { if (x < *to) *to = x; }
template <class T> static void nd_raise_to(T *to, T x) { if (x > *to) *to = x; }
"""

ARGUMENTS = {
    "nd_lengths": "const nd_rule *,integer,int *,const integer *,int *",
    "nd_longest": "const nd_rule *,const nd_piece *,integer,int *",
    "nd_survey": "const nd_rule *,const nd_piece *,integer,double,const nd_found *",
    "nd_survey_units": "const nd_rule *,const nd_piece *,integer,const double *,double,word *,"
    "word *",
    "nd_count_bins": "const nd_rule *,const nd_piece *,integer,double,const nd_binned *",
    "nd_begin_bins": "const nd_binned *,integer",
    "nd_write_bins": "const nd_rule *,const nd_piece *,integer,double,const nd_binned *,"
    "const double *,integer,integer,int *,void *",
    "nd_write": "const nd_rule *,const nd_piece *,integer,double,integer,integer *,integer *,"
    "const double *,integer,int *,void *",
}


def _entry(name: str, arguments: str) -> str:
    """Return a function that lets the threads of a warp run a kernel."""
    kinds = arguments.split(",")
    held = "".join(f"{kind} a{i};" for i, kind in enumerate(kinds))
    given = ", ".join(f"{kind} a{i}" for i, kind in enumerate(kinds))
    names = [f"a{i}" for i in range(len(kinds))]
    own = ", ".join(f"{name}_given.{one}" for one in names)
    return (
        f"static struct {{ {held} }} {name}_given;\n"
        f'extern "C" int run_{name}({given})\n{{\n'
        f"    {name}_given = {{{', '.join(names)}}};\n"
        f"    return nd_run_warp([] {{ {name}({own}); }});\n}}\n"
    )


@cache
def _library() -> ct.CDLL:
    parts = [f"/* connections of a GPU */\n#define ND_FN {INLINE}", *map(header, HEADERS)]
    parts += [WARPS, WORDS, *map(header, (ROWS, *KERNELS))]
    parts += [_entry(name, arguments) for name, arguments in ARGUMENTS.items()]
    return build([("\n".join(parts), ())])[0]


class HostMemory:
    """Zeros in host memory, by name."""

    def __init__(self, wanted: Mapping[Any, int]) -> None:
        self._arrays = {name: np.zeros(max(size, 1), np.uint8) for name, size in wanted.items()}
        self.address = {name: one.ctypes.data for name, one in self._arrays.items()}

    def free(self) -> None:
        """Give nothing back: the arrays end with this object."""


class HostPlace:
    """What `GPUDrawer` needs of a device, in host memory."""

    def __init__(self) -> None:
        self.started: list[str] = []

    def memory(self, wanted: Mapping[Any, int]) -> HostMemory:
        """Return zeros."""
        return HostMemory(wanted)

    def upload(self, address: int, array: NDArray[Any]) -> None:
        """Copy an array."""
        whole = np.ascontiguousarray(array)
        ct.memmove(address, whole.ctypes.data, whole.nbytes)

    def download(self, address: int, out: NDArray[Any]) -> None:
        """Copy into an array."""
        ct.memmove(out.ctypes.data, address, out.nbytes)

    def clear(self, address: int, size: int) -> None:
        """Set bytes to zero."""
        ct.memset(address, 0, size)

    def start(self, name: str, warps: int, shared: int, values: tuple[Any, ...]) -> None:
        """Run a kernel."""
        self.started.append(name)
        assert getattr(_library(), f"run_{name}")(*values), "threads of a warp parted"

    def wait(self) -> None:
        """Return at once: kernels run when they are started."""

    def current(self) -> Any:
        """Return nothing to enter."""
        return nullcontext()
