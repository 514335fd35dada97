"""The text by which spikes are delivered on a GPU, compiled for a CPU: warps of 32 fibers."""

from __future__ import annotations

import ctypes as ct
from typing import Any

import numpy as np
from numpy.typing import NDArray
from warps_on_cpu import QUICK, WARPS

from neurodriver.codegen.generate import generate
from neurodriver.codegen.simt.shape import OUTGOING_BYTES
from neurodriver.codegen.source import CPU, prelude
from neurodriver.native.compiler import build
from neurodriver.native.headers import header
from neurodriver.plan.arrays import Key
from neurodriver.plan.program import Program
from neurodriver.plan.spikes.fanout import PIECE

TAKERS = 3, 16
"""Warps that deliver: fewer than share new spikes, and two groups of these."""

_HEAD = """
#define ND_MEMBER inline
#define ND_UNROLL
#define ND_DELIVERS 1
#define ND_DUE 1
#define ND_COPIES 1
#define ND_CACHED 0
#define ND_ROOMY 0
#define ND_THREADS (32 * {takers})
#define __shared__ static
#define threadIdx nd_thread_index()
struct nd_index {{ unsigned x; }};
static unsigned nd_taker;
static nd_index nd_thread_index() {{ return {{32 * nd_taker + nd_lane()}}; }}
struct short4 {{ short x, y, z, w; }};
struct char4 {{ signed char x, y, z, w; }};
struct int4 {{ int x, y, z, w; }};
struct uint4 {{ unsigned x, y, z, w; }};
static int4 make_int4(int x, int y, int z, int w) {{ return {{x, y, z, w}}; }}
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {{ return {{x, y, z, w}}; }}
template <class T> static T __ldg(const T *p) {{ return *p; }}
static void __stcg(uint4 *p, uint4 x) {{ *p = x; }}
template <class T> static T __ldcg(const T *p) {{ return *p; }}
static void __stcg(int *p, int x) {{ *p = x; }}
static void __stcg(unsigned *p, unsigned x) {{ *p = x; }}
static void __stcg(unsigned long long *p, unsigned long long x) {{ *p = x; }}
static int nd_bits_in(unsigned x) {{ return __builtin_popcount(x); }}
static int __ffs(int x) {{ return __builtin_ffs(x); }}
static unsigned umin(unsigned x, unsigned y) {{ return x < y ? x : y; }}
static double rint(double x) {{ return __builtin_rint(x); }}
template <class T> static T atomicAdd(T *p, T x)
{{
    return __atomic_fetch_add(p, x, __ATOMIC_RELAXED);
}}
template <class T> static void atomicMax(T *p, T x) {{ *p = *p < x ? x : *p; }}
static unsigned long long nd_slots_stay() {{ return 0; }}
template <class T>
static void nd_add(unsigned i, unsigned end, T *to, int more, int times, unsigned long long)
{{
    if (i < end) __atomic_fetch_add(to, (T)more * times, __ATOMIC_RELAXED);
}}
#define ND_PIECE {piece}
#define ND_OUTGOING_BYTES {outgoing}
#define ND_WINDOW {window}
#define ND_LOOKAHEAD {lookahead}
#define ND_EARLY {early}
struct nd_args {{ void *p[64]; long long n[64]; double u[64]; }};
static nd_args nd_table;
#define nd_steady (&nd_table)
"""

_ALL = """
/* Lets each of the warps that deliver do `work`, in an order that changes. */
static bool nd_let_all(void (*work)())
{
    for (unsigned i = 0; i < ND_TAKERS; ++i) {
        nd_taker = (unsigned)((5 * i + nd_row_sent) % ND_TAKERS);
        if (!nd_run_warp(work)) return false;
    }
    return true;
}
static const unsigned *nd_offsets;
static unsigned nd_entries, nd_entry;
static unsigned long long nd_low;
static void nd_find_entry() { nd_entry = nd_entry_of(nd_offsets, nd_entries, nd_low); }
extern "C" unsigned entry_of(const unsigned *offsets, unsigned entries, unsigned long long low)
{
    nd_offsets = offsets, nd_entries = entries, nd_low = low;
    return nd_run_warp(nd_find_entry) ? nd_entry : ~0u;
}
"""

_EACH = """
namespace nd_part_{number} {{
#define ND_DELIVERY {number}
{text}
#undef ND_DELIVERY
}}
static void nd_send_{number}()
{{
    typedef nd_part_{number}::delivery delivery;
    const long long source = nd_first + nd_lane();
    const int count = source < nd_sources ? nd_counts[source] : 0;
    nd_outgoing outgoing = {{0, 0, 0, 0, 0}};
    if (count) outgoing = delivery::outgoing(source);
    outgoing.more *= count;
#if {due}
    nd_remember<delivery>(nd_row_sent, outgoing);
}}
static void nd_take_{number}()
{{
    typedef nd_part_{number}::delivery delivery;
    nd_deliver_when_due<delivery>(nd_taker, ND_TAKERS, nd_row_sent, nd_which, nd_call);
}}
#else
    const unsigned now = delivery::now_at(nd_row_sent);
    if ({alone}) {{
        nd_send_own<delivery>(now, outgoing);
        return;
    }}
    if (ND_LOOKAHEAD && ND_EARLY) nd_all_later(outgoing);
    nd_send_near<delivery>(now, outgoing);
    const int pieces = nd_pieces(outgoing);
    nd_reservation reserved = {{nd_list_of(nd_row_sent, ND_EARLY), pieces, true, false, {{0, 0}}}};
    reserved();
    nd_send_far<delivery>(reserved.room(), now, outgoing);
}}
static void nd_take_{number}()
{{
    const uint4 piece = nd_spike_list.pieces[nd_first];
    const long long begin = (long long)piece.x | (long long)(piece.y & 0xff) << 32;
    const int length = (int)(piece.y >> 8 & 0xff);
    nd_deliver<nd_part_{number}::delivery>(begin, length, piece.z, (int)piece.w);
}}
#endif
extern "C" int run_{number}(void *const *p, const long long *n, const double *u, const int *counts,
                            long long sources, long long row, int again, uint4 *pieces,
                            unsigned *number)
{{
    for (int i = 0; i < 64; ++i) nd_table.p[i] = p[i], nd_table.n[i] = n[i], nd_table.u[i] = u[i];
    nd_counts = counts, nd_sources = sources, nd_row_sent = row, nd_call = 2 * row + (again > 0);
    nd_spike_list = {{pieces, number, 0}};
    const bool apart = {due} && ND_WINDOW && again != 1;
    nd_which = ND_LISTED_DUE;   /* before the spikes of this row, or after them */
    if (apart && row % 2 && !nd_let_all(nd_take_{number})) return 0;
    for (nd_first = 0; nd_first < sources; nd_first += 32)
        if (!nd_run_warp(nd_send_{number})) return 0;
    if (apart && row % 2 == 0 && !nd_let_all(nd_take_{number})) return 0;
    nd_which = apart || again == 1 ? ND_FRESH_DUE : ND_ALL_DUE;
    if ({due}) return again == 3 || nd_let_all(nd_take_{number});
    const long long listed = (long long)number[nd_list_of(row, ND_EARLY) & 3];
    for (nd_first = 0; nd_first < listed; ++nd_first)
        if (!nd_run_warp(nd_take_{number})) return 0;
    return 1;
}}
"""


class DeliveryOnCPU:
    """The memory of a program for a GPU, and what delivers its spikes.

    Parameters
    ----------
    window : int
        Steps of a window, or 0.
    takers : int
        Warps that deliver.
    lookahead : bool
        Whether threads send spikes a step early.
    early : bool
        Whether these spikes are sent so.
    """

    def __init__(
        self,
        program: Program,
        window: int,
        takers: int = TAKERS[0],
        lookahead: bool = False,
        early: bool = True,
    ) -> None:
        self.program, self.deliveries = program, generate(program).deliveries
        self.arrays: dict[Key, NDArray[Any]] = {}
        kernels = [one.kernel for one in self.deliveries]
        names = "spike_delivery", "due_lists", "due_history", "due_delivery"
        text = "".join(header(f"codegen/simt/{name}.cuh") for name in names)
        begin, end = text.index("/* The L2 policy"), text.index("#if ND_DELIVERS")
        numbers = {"takers": takers, "piece": PIECE, "outgoing": OUTGOING_BYTES, "window": window}
        numbers |= {"lookahead": int(lookahead), "early": int(early)}
        lines = [
            "/* delivery on a CPU */",
            *prelude([kernel.text for kernel in kernels], program.dtype.name, CPU),
            WARPS,
            _HEAD.format(**numbers),
            text[:begin] + text[end:],
            "static long long nd_first, nd_sources, nd_row_sent, nd_call;",
            "static int nd_which;",
            f"enum {{ ND_TAKERS = {takers} }};",
            "static const int *nd_counts;",
            _ALL,
        ]
        for number, kernel in enumerate(kernels):
            how = {"alone": int(not kernel.delivers), "due": int(kernel.due)}
            lines.append(_EACH.format(number=number, text=kernel.text, **how))
        self.library = build([("\n".join(lines), QUICK)])[0]

    def array(self, key: Key) -> NDArray[Any]:
        """Return the array of a key, at an address that vectors ask for."""
        if key not in self.arrays:
            row = self.program.arrays[key]
            made = np.zeros(row.size + 64, row.dtype)
            start = -made.ctypes.data % 64 // row.dtype.itemsize
            self.arrays[key] = made[start : start + row.size]
            if row.value is not None:
                self.arrays[key][:] = row.initial().reshape(-1)
        return self.arrays[key]

    def send(self, counts: NDArray[np.integer[Any]], row: int, again: int = 0) -> NDArray[Any]:
        """Return the slots of the only access, (turns, targets), after the spikes of a row.

        ``again``: 1, if they come late, when others of that row have been delivered; 2, if all of
        that row are delivered late; 3, if they are not delivered.
        """
        given = np.ascontiguousarray(counts, np.int32)
        for number, one in enumerate(self.deliveries):
            kernel, value = one.kernel, self.program.arrays
            tables = (
                (ct.c_void_p * 64)(*[self.array(key).ctypes.data for key in kernel.pointers]),
                (ct.c_longlong * 64)(*[int(value[key].initial()) for key in kernel.integers]),
                (ct.c_double * 64)(*[float(value[key].initial()) for key in kernel.scalars]),
            )
            pieces = np.zeros(4 * (2 * one.gather.limits.get("pieces", 0) + 64), np.uint32)
            start = -pieces.ctypes.data % 16 // 4
            listed = pieces[start:].ctypes.data, np.zeros(4, np.uint32)
            run = getattr(self.library, f"run_{number}")
            assert run(
                *tables,
                ct.c_void_p(given.ctypes.data),
                ct.c_longlong(len(given)),
                ct.c_longlong(row),
                ct.c_int(again),
                ct.c_void_p(listed[0]),
                ct.c_void_p(listed[1].ctypes.data),
            ), "the threads of a warp went different ways"
        spec, access = self.deliveries[0].spec, self.deliveries[0].access
        limits = spec.gathers[access].limits
        return self.array(spec.connection(access, "slots")).reshape(
            limits["depth"], limits["ahead"]
        )
