"""Texts over synapses as a GPU runs them: a warp shares a row, and its threads are fibers."""

from __future__ import annotations

import numpy as np
from warps_on_cpu import QUICK, WARPS

from neurodriver.backends.cpu.synapse_place import HostSynapses
from neurodriver.codegen.synapse_texts import rows_text
from neurodriver.model.synapse_texts import SynapseTexts
from neurodriver.native.compiler import build
from neurodriver.native.headers import INLINE, header

WORDS = f"""
#define ND_FN {INLINE}
#define ND_MEMBER inline
#define ND_UNROLL
static int nd_bits_in(unsigned x) {{ return __builtin_popcount(x); }}
#define ND_UNROLL_BY(count)
ND_FN long long nd_whole(double x) {{ return __builtin_llrint(x * 0x1p40); }}
"""

RUN = """
static thread_local const nd_units *nd_some;
extern "C" void nd_greatest(const nd_units *units, long long count)
{
    for (nd_some = units; nd_some < units + count; ++nd_some)
        if (!nd_run_warp([] { nd_find_greatest(*nd_some, nd_lane(), 32); })) __builtin_abort();
}
static thread_local const nd_synapses *nd_one;
static thread_local int nd_target, nd_gpus, nd_how;
static thread_local const nd_packed *nd_others;
static void nd_row()
{
    if (nd_how == ND_ADDS) nd_add_row(nd_others, nd_gpus, *nd_one, nd_target);
    nd_run_row(*nd_one, nd_target, nd_lane(), 32);
    if (nd_how == ND_PACKS) nd_pack_row(nd_others, nd_gpus, *nd_one, nd_target);
}
extern "C" void nd_run_sharing(const nd_synapses *sets, const long long *begin, int count,
                               const nd_packed *packed, int gpus, int how)
{
    nd_others = packed, nd_gpus = gpus, nd_how = how;
    for (int i = 0; i < count; ++i)
        for (long long row = begin[i]; row < begin[i + 1]; ++row) {
            nd_one = sets + i;
            nd_target = (int)(row - begin[i]);
            if (!nd_run_warp(nd_row)) __builtin_abort();
        }
}
extern "C" void nd_run(const nd_synapses *sets, const long long *begin, long long count,
                       long long low, long long high)
{
    nd_run_sharing(sets, begin, (int)count, nullptr, 0, ND_ALONE);
}
"""


class WarpSynapses(HostSynapses):
    """Memory of the host, in which warps run texts."""

    def __init__(self, texts: SynapseTexts, dtype: np.dtype, threads: int) -> None:
        packs = header("codegen/simt/packed_counts.cuh")
        text = "\n".join([WORDS, WARPS, rows_text(texts, dtype.name), packs, RUN])
        (library,) = build([(text, QUICK)])
        self.library = library
        self._run, self._greatest = library.nd_run, library.nd_greatest
        self._threads, self._stored = 1, []
