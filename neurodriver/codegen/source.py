"""Kernel -> whole source text of one dialect."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..native.buffers import LANES
from ..native.headers import INLINE, header
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
    simd_sum : str
        What stands before a loop that adds to ``nd_odd`` what each pass gives.
    simd_any : str
        What stands before a loop that collects in ``nd_here`` whether any pass found something.
    fixed : str
        Type of a pointer to ``kind`` that no step writes through.
    each : str
        Head of a loop of ``i`` over ``n`` components that is done once.
    row : str
        Number of the row of step ``k``.
    opaque : str
        Statement after which ``ring`` is a plain address to the compiler.
    stored : str
        Step that other threads may store at the same time.
    store : str
        Statement that stores ``k`` for all threads to see after the next barrier.
    words : str
        Definitions of the language's own.
    """

    function: str
    kernel: str
    simd: str
    simd_any: str
    fixed: str
    each: str
    row: str
    stored: str
    store: str
    opaque: str = ""
    words: str = ""
    simd_sum: str = ""


_CPU_WORDS = """
#define ND_METHOD inline __attribute__((always_inline))

/* Remainder of two numbers that are not negative; a division of 64 bits takes three times as long
 * as one of 32. */
ND_FN long long nd_rest(long long k, long long depth)
{
    return (k | depth) >> 32 ? k % depth : (unsigned)k % (unsigned)depth;
}

/* Store a step; all threads see it after the next barrier. Several may store the same one. */
ND_FN void nd_mark_at(long long *step, long long k)
{
    if (__atomic_load_n(step, __ATOMIC_RELAXED) < k) __atomic_store_n(step, k, __ATOMIC_RELAXED);
}

/* First dirty slice from `s` on, or an earlier one behind words of zeros. */
ND_FN long long nd_next(const unsigned char *dirty, long long s, long long end)
{
    for (; s + 8 <= end; s += 8) {
        unsigned long long word;
        __builtin_memcpy(&word, dirty + s, 8);
        if (word) break;
    }
    while (s < end && !dirty[s]) ++s;
    return s;
}

/* Whether any of the slices of `m` components is dirty. */
ND_FN bool nd_any_dirty(const unsigned char *dirty, int m)
{
    const int count = (m + ND_LANES - 1) / ND_LANES;
    return nd_next(dirty, 0, count) < count;
}

/* Which thread's share of the components begins at `begin`. */
ND_FN int nd_mine(const long long *cuts, long long threads, long long begin)
{
    int u = 0;
    while (u + 1 < threads && (cuts[u] != begin || cuts[u + 1] == begin)) ++u;
    return u;
}
"""

CPU = Dialect(
    function=INLINE,
    kernel='extern "C"',
    simd='_Pragma("omp simd")',
    simd_sum='_Pragma("omp simd reduction(+:nd_odd)")',
    simd_any='_Pragma("omp simd reduction(|:nd_here)")',
    fixed="const kind *__restrict",
    each="for (long long i = 0; i < (n); ++i)",
    row="nd_rest(k + depth, depth)",
    stored="__atomic_load_n(&active[nd_rest(k, depth)], __ATOMIC_RELAXED)",
    store="__atomic_store_n(&active[nd_rest(k, depth)], k, __ATOMIC_RELAXED)",
    words=_CPU_WORDS,
)

_PRELUDE = """
typedef {real} real;

/* Number of the row of step k. */
ND_FN long long nd_row_index(long long k, long long depth)
{{
    return {row};
}}

/* Row of step k; all steps before the first one are at row 0's values. */
ND_FN real *nd_row(real *ring, long long k, long long depth, long long width)
{{
    ring += (long long)(int)nd_row_index(k, depth) * (int)width;
    {opaque};
    return ring;
}}

/* `active` holds for each row of the ring the last step at which it was not all zero. */
ND_FN bool nd_silent(const long long *active, long long k, long long depth)
{{
    return k > 0 && active[nd_row_index(k, depth)] != k;
}}

ND_FN void nd_mark(long long *active, long long k, long long depth)
{{
    if ({stored} != k) {store};  /* several threads may store the same */
}}

/* Number of spikes that a value stands for: an integer, 1023 at most. */
ND_FN int nd_spikes(real x)
{{
    x = x > -1023 ? x : -1023;
    return (int)nd_floor((x < 1023 ? x : 1023) + (real)0.5);
}}

/* First index from `begin` on whose target is not below `least`; targets ascend. */
ND_FN long long nd_not_below(const int *target, long long begin, long long end, long long least)
{{
    while (begin < end) {{
        const long long middle = begin + (end - begin) / 2;
        if (target[middle] < least) begin = middle + 1;
        else end = middle;
    }}
    return begin;
}}

ND_FN long long nd_wrap(long long row, long long depth)
{{
    return row < 0 ? row + depth : row;
}}
"""


_AXES = re.compile(r"\bnd_(?:wrapped|inside|position|near|within_first|within_last)\(")
"""Calls of what ``axes.h`` defines."""

_UNROLL_BY = """
#define ND_PRAGMA(text) _Pragma(#text)
#if defined(__CUDACC__) || defined(__clang__)
#define ND_UNROLL_BY(count) ND_PRAGMA(unroll count)
#elif defined(__GNUC__)
#define ND_UNROLL_BY(count) ND_PRAGMA(GCC unroll count)
#else
#define ND_UNROLL_BY(count)
#endif
"""
"""Asks to write out so many passes of the loop that follows; it changes no result."""

_ARGUMENTS = "struct nd_args { void **p; const long long *n; const double *u; };"


def prelude(kernel_texts: Iterable[str], dtype: str, dialect: Dialect) -> list[str]:
    """Return what stands before the texts of kernels."""
    real = "float" if dtype == "float32" else "double"
    texts = list(kernel_texts)
    draws = any("nd_seed" in text for text in texts)
    prints = any(call in text for text in texts for call in ("nd_print(", "nd_error("))
    records = prints or any("nd_record_first(" in text for text in texts)
    if prints:  # what prints has an effect beyond its component
        dialect = replace(dialect, simd="", simd_sum="")
    return [
        f"#define ND_FN {dialect.function}",
        f"#define ND_KERNEL {dialect.kernel}",
        f"#define ND_SIMD {dialect.simd}",
        f"#define ND_SIMD_SUM {dialect.simd_sum}",
        f"#define ND_SIMD_ANY {dialect.simd_any}",
        f"#define ND_FIXED(kind) {dialect.fixed}",
        f"#define ND_EACH(i, n) {dialect.each}",
        f"#define ND_LANES {LANES}",
        f"#define ND_TILE {TILE}",
        dialect.words,
        header("native/math.h"),
        header("native/philox.h") if draws else "",
        _PRELUDE.format(
            real=real,
            stored=dialect.stored,
            store=dialect.store,
            row=dialect.row,
            opaque=dialect.opaque,
        ),
        header("codegen/axes.h") if any(_AXES.search(text) for text in texts) else "",
        header("codegen/member_sums.h") if any("nd_sum" in text for text in texts) else "",
        header("codegen/first_fault.h") if records else "",
        header("codegen/prints.h") if prints else "",
        _UNROLL_BY if any("ND_UNROLL_BY(" in text for text in texts) else "",
    ]


def source(kernel: Kernel, dtype: str, dialect: Dialect = CPU) -> str:
    """Return everything a C++ compiler needs to build a kernel for the CPU.

    Parameters
    ----------
    kernel : Kernel
    dtype : str
        ``float64`` or ``float32``.
    dialect : Dialect
    """
    head = prelude([kernel.text], dtype, dialect)
    if "nd_tile_blocks" in kernel.text:
        head.append(header("codegen/cpu/tile_draws.h"))
    if "ND_VECTOR" in kernel.text:
        head.append(header("codegen/cpu/strips.h"))
    if "nd_write_events" in kernel.text:
        head.append(header("codegen/cpu/tile_events.h"))
    if "nd_by_place<" in kernel.text:
        head.append(header("codegen/cpu/by_place.h"))
    if kernel.delivers:
        head.append(header("codegen/cpu/fanout.h"))
    if "nd_add_listed<" in kernel.text:
        head.append(header("codegen/cpu/listed_events.h"))
    elif "nd_add_single(" in kernel.text:
        head.append(header("codegen/cpu/singles.h"))
    if "nd_stencils<" in kernel.text:
        head.append(header("codegen/cpu/stencils.h"))
    if "nd_values<" in kernel.text:
        head.append(header("codegen/event.h"))
    if kernel.learns:
        names = ("histories", "learning", "arrivals", "all_synapses")
        head += [header(f"codegen/{name}.h") for name in names]
    return "\n".join([f"/* {kernel.name}, {dtype} */", *head, _ARGUMENTS, kernel.text])
