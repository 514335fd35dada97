"""Kernel -> whole source text of one dialect."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..compile.memory import LANES
from .kernel import Kernel

TILE = 256
"""Components whose sums wait in the cache before they are updated."""


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
    """

    function: str
    kernel: str
    simd: str


CPU = Dialect(
    function="static inline __attribute__((always_inline))",
    kernel='extern "C"',
    simd='_Pragma("omp simd")',
)

_PRELUDE = """
typedef {real} real;
struct nd_args {{ void **p; const long long *n; const double *u; }};

/* Row of step k; all steps before the first one are at row 0's values. */
ND_FN real *nd_row(real *ring, long long k, long long depth, long long width)
{{
    return ring + ((k + depth) % depth) * width;
}}

ND_FN long long nd_wrap(long long row, long long depth)
{{
    return row < 0 ? row + depth : row;
}}
"""


@cache
def _header(name: str) -> str:
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
        f"#define ND_LANES {LANES}",
        f"#define ND_TILE {TILE}",
        _header("math.h"),
        _header("philox.h") if "nd_seed" in kernel.text else "",
        _PRELUDE.format(real=real),
        kernel.text,
    ]
    return "\n".join(parts)
