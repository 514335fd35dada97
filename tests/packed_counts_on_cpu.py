"""Counts that GPUs show each other, by warps whose threads are fibers."""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

from warps_on_cpu import QUICK, WARPS

from neurodriver.native.compiler import build
from neurodriver.native.headers import INLINE, header

_WORDS = f"""
#define ND_FN {INLINE}
#define ND_UNROLL
static int nd_bits_in(unsigned x) {{ return __builtin_popcount(x); }}
"""

_RUN = """
struct nd_call {
    const nd_packed *packed;
    int gpus;
    const long long *first;
    long long *counts;
    int *marks;
    long long row;
};
static thread_local nd_call nd_this;
static void nd_pack()
{
    const nd_call &c = nd_this;
    nd_pack_row(*c.packed, c.row, c.first, c.counts, c.marks);
}
static void nd_add()
{
    const nd_call &c = nd_this;
    for (int i = 0; i < c.gpus; ++i) nd_add_row(c.packed[i], c.row, c.first, c.counts, c.marks);
}
static void nd_rows(void (*work)(), nd_call call, long long rows)
{
    for (long long row = 0; row < rows; ++row) {
        nd_this = call;
        nd_this.row = row;
        if (!nd_run_warp(work)) __builtin_abort();
    }
}
extern "C" void nd_pack_counts(const nd_packed *own, const long long *first, long long rows,
                               long long *counts, int *marks)
{
    nd_rows(nd_pack, {own, 1, first, counts, marks, 0}, rows);
}
extern "C" void nd_add_counts(const nd_packed *others, int gpus, const long long *first,
                              long long rows, long long *counts, int *marks)
{
    nd_rows(nd_add, {others, gpus, first, counts, marks, 0}, rows);
}
"""


def packed_counts(patience: float = 60.0) -> Callable[..., None]:
    """Return what stands for `launch`: it runs the kernels of `PeerCounts`.

    A kernel that waits for other GPUs does so for ``patience`` seconds at most.
    """
    text = "\n".join([_WORDS, WARPS, header("codegen/simt/packed_counts.cuh"), _RUN])
    (library,) = build([(text, QUICK)])

    def launched(
        _: Any, kernel: str, blocks: int, threads: int, values: Any, types: Any, *more: Any
    ) -> None:
        if kernel in ("nd_signal", "nd_wait_for"):
            (signal if kernel == "nd_signal" else wait)(threads, *values)
            return
        rows = values[-3]
        assert threads % 32 == 0 and 0 <= blocks * threads // 32 - rows < threads // 32
        given = (kind(value) for kind, value in zip(types, values, strict=True))
        getattr(library, kernel)(*given)

    def signal(ranks: int, words: int, number: int) -> None:
        for word in (ct.c_uint64 * ranks).from_address(words):
            ct.c_uint64.from_address(word).value = number

    def wait(ranks: int, words: int, number: int, most: int, missing: int) -> None:
        signals, end = (ct.c_uint64 * ranks).from_address(words), monotonic() + patience
        assert most == 30 * 10**9
        while min(signals) < number and monotonic() < end:
            sleep(1e-4)
        for rank in range(ranks):
            if signals[rank] < number:
                (ct.c_int64 * ranks).from_address(missing)[rank] = number

    return launched
