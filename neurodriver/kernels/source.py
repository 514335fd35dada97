"""Kernel -> whole source text of one dialect."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..compile.memory import LANES
from .kernel import Kernel

TILE = 128
"""Components that are updated together: so few that loads of the next ones begin in time."""


@dataclass(frozen=True)
class Dialect:
    """What differs between the languages kernels are written in.

    Attributes
    ----------
    function : str
        Qualifiers of an inlined function.
    kernel : str
        Qualifiers of an entry point.
    simd : str
        What stands before a loop whose passes are independent.
    simd_any : str
        What stands before a loop that collects in ``nd_here`` whether any pass found something.
    store : str
        Statement that stores ``k`` for all threads to see after the next barrier.
    """

    function: str
    kernel: str
    simd: str
    simd_any: str
    store: str


CPU = Dialect(
    function="static inline __attribute__((always_inline))",
    kernel='extern "C"',
    simd='_Pragma("omp simd")',
    simd_any='_Pragma("omp simd reduction(|:nd_here)")',
    store="__atomic_store_n(&active[k % depth], k, __ATOMIC_RELAXED)",
)

_PRELUDE = """
typedef {real} real;
struct nd_args {{ void **p; const long long *n; const double *u; }};

/* Row of step k; all steps before the first one are at row 0's values. */
ND_FN real *nd_row(real *ring, long long k, long long depth, long long width)
{{
    return ring + ((k + depth) % depth) * width;
}}

/* `active` holds for each row of the ring the last step at which it was not all zero. */
ND_FN bool nd_silent(const long long *active, long long k, long long depth)
{{
    return k > 0 && active[k % depth] != k;
}}

ND_FN void nd_mark(long long *active, long long k, long long depth)
{{
    {store};
}}

ND_FN long long nd_wrap(long long row, long long depth)
{{
    return row < 0 ? row + depth : row;
}}
"""


@cache
def header(name: str) -> str:
    """Return the text of one of the headers beside this module."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def source(kernel: Kernel, dtype: str, dialect: Dialect = CPU) -> str:
    """Return everything a compiler needs to build a kernel.

    Parameters
    ----------
    kernel : Kernel
    dtype : str
        ``float64`` or ``float32``.
    dialect : Dialect
    """
    real = "float" if dtype == "float32" else "double"
    parts = [
        f"/* {kernel.name}, {dtype} */",
        f"#define ND_FN {dialect.function}",
        f"#define ND_KERNEL {dialect.kernel}",
        f"#define ND_SIMD {dialect.simd}",
        f"#define ND_SIMD_ANY {dialect.simd_any}",
        f"#define ND_LANES {LANES}",
        f"#define ND_TILE {TILE}",
        header("math.h"),
        header("philox.h") if "nd_seed" in kernel.text else "",
        _PRELUDE.format(real=real, store=dialect.store),
        kernel.text,
    ]
    return "\n".join(parts)
