"""Texts over synapses as a GPU runs them: a warp shares a row, and its threads are fibers."""

from __future__ import annotations

import numpy as np
from warps_on_cpu import QUICK, WARPS

from neurodriver.backends.cpu.synapse_place import HostSynapses
from neurodriver.codegen.synapse_texts import rows_text
from neurodriver.model.synapse_texts import SynapseTexts
from neurodriver.native.compiler import build
from neurodriver.native.headers import INLINE

WORDS = f"""
#define ND_FN {INLINE}
#define ND_UNROLL
#define ND_UNROLL_BY(count)
ND_FN long long nd_whole(double x) {{ return __builtin_llrint(x * 0x1p40); }}
"""

RUN = """
static const nd_units *nd_some;
extern "C" void nd_greatest(const nd_units *units, long long count)
{
    for (nd_some = units; nd_some < units + count; ++nd_some)
        if (!nd_run_warp([] { nd_find_greatest(*nd_some, nd_lane(), 32); })) __builtin_abort();
}
static const nd_synapses *nd_one;
static int nd_target;
extern "C" void nd_run(const nd_synapses *sets, const long long *begin, long long count,
                       long long low, long long high)
{
    for (long long i = 0; i < count; ++i)
        for (long long row = begin[i]; row < begin[i + 1]; ++row) {
            if (row < low || row >= high) continue;
            nd_one = sets + i;
            nd_target = (int)(row - begin[i]);
            const bool together =
                nd_run_warp([] { nd_run_row(*nd_one, nd_target, nd_lane(), 32); });
            if (!together) __builtin_abort();
        }
}
"""


class WarpSynapses(HostSynapses):
    """Memory of the host, in which warps run texts."""

    def __init__(self, texts: SynapseTexts, dtype: np.dtype, threads: int) -> None:
        text = "\n".join([WORDS, WARPS, rows_text(texts, dtype.name), RUN])
        (library,) = build([(text, QUICK)])
        self._run, self._greatest = library.nd_run, library.nd_greatest
        self._threads, self._stored = 1, []
