"""The queue of a warp for spikes, compiled for a CPU: each spike is sent once, few at a time."""

from __future__ import annotations

import ctypes as ct

import numpy as np
import pytest
from numpy.ctypeslib import ndpointer
from numpy.typing import NDArray
from warps_on_cpu import QUICK, WARPS

from neurodriver.native.compiler import build
from neurodriver.native.headers import header

HEAD = """
#define ND_FN static inline
#define ND_QUEUES 1
#define ND_QUEUE_BYTES 388
#define ND_THREADS 32
#define __device__
#define __noinline__
#define __shared__ static
typedef double real;
static const struct { int x; } threadIdx = {0};
static int nd_bits_in(unsigned x) { return __builtin_popcount(x); }
static int nd_spikes(real x) { return (int)x; }
static int nd_member() { return 70000; }
"""

RUN = """
struct nd_sent { int call, row, sender, member, at, spikes; };
static std::vector<nd_sent> nd_all;
static const int *nd_asked;     /* (puts, 32) */
static int nd_puts, nd_calls[ND_WARP];

static void nd_send_queued(long long row)
{
    const int call = nd_calls[nd_lane()]++;
    const nd_queued one = nd_take_queued();
    const int sender = nd_sender(one.who), member = nd_member(one.who);
    if (one.spikes) nd_all.push_back({call, (int)row, sender, member, one.at, one.spikes});
}
static void nd_put_all()
{
    nd_open_queue();
    nd_empty_queue(5);     /* nothing */
    for (int i = 0; i < nd_puts; ++i) {
        const int spikes = nd_asked[32 * i + nd_lane()];
        const unsigned bits = nd_ballot(spikes != 0);
        if (bits) nd_put(nd_who(i % 4096), 7, bits, spikes, 1000 * i + nd_lane());
    }
    nd_empty_queue(8);
    nd_empty_queue(9);     /* nothing again */
}
extern "C" int queue(const int *given, int puts, int *out)
{
    nd_all.clear(), nd_asked = given, nd_puts = puts;
    for (int i = 0; i < ND_WARP; ++i) nd_calls[i] = 0;
    if (!nd_run_warp(nd_put_all)) return -1;
    for (int i = 1; i < ND_WARP; ++i) if (nd_calls[i] != nd_calls[0]) return -2;
    memcpy(out, nd_all.data(), nd_all.size() * sizeof(nd_sent));
    return (int)nd_all.size();
}
"""


LOOP = """
struct nd_item { int what, first, end, which; };
enum { ND_WINDOW = 0, ND_LOOKAHEAD = 0, ND_INPUTS = 0 };
static bool nd_enters(const nd_item &item) { return item.what < 0; }
static int nd_late(const nd_item &item) { return item.which; }
static void nd_enter_late(const nd_item &item, long long k, long long)
{
    nd_put(nd_who(item.first), k, nd_ballot(nd_lane() < item.end), 1, nd_lane());
}
struct nd_loop {
    long long first, end;
    int count;
    struct { void add(int) {} } timer;
    nd_item item(int i) const { return {i ? -1 : 0, i, 5 + i, 0}; }
};
FIRST
static void nd_let_enter()
{
    nd_loop loop = {40, 100, 3, {}};
    nd_open_queue();
    nd_enter_first(loop);
    if (nd_own_queue().number) nd_calls[nd_lane()] = 100;
}
extern "C" int enter(int *out)
{
    nd_all.clear();
    for (int i = 0; i < ND_WARP; ++i) nd_calls[i] = 0;
    if (!nd_run_warp(nd_let_enter) || nd_calls[0] != 1) return -1;
    memcpy(out, nd_all.data(), nd_all.size() * sizeof(nd_sent));
    return (int)nd_all.size();
}
"""


def test_what_enters_is_sent_before_the_barrier() -> None:
    """At the begin of a launch: else it would be sent a step too late."""
    end = header("codegen/simt/device_end.cuh")
    first = end[end.index("ND_FN void nd_enter_first(") : end.index("/* Advance steps first ..")]
    library = built(LOOP.replace("FIRST", first))
    out = np.zeros((64, 6), np.int32)
    assert library.enter(out.ctypes.data_as(ct.c_void_p)) == 6 + 7
    assert (out[:13, 1] == 40).all() and np.bincount(out[:13, 2]).tolist() == [0, 6, 7]


def built(tail: str = "") -> ct.CDLL:
    """Return the text of queues, and what runs it."""
    text = "\n".join([WARPS, HEAD, header("codegen/simt/queued_spikes.cuh"), RUN, tail])
    return build([(text, QUICK)])[0]


def queued(given: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return what was sent: call, row, sender, member, component and spikes of each, (n, 6)."""
    library = built()
    flat = ndpointer(np.int32, flags="C")
    library.queue.argtypes = [flat, ct.c_int, flat]
    out = np.zeros((given.size, 6), np.int32)
    number = library.queue(np.ascontiguousarray(given), len(given), out)
    assert number >= 0
    return out[:number]


@pytest.mark.parametrize("chance", [0.01, 0.3, 1.0])
def test_each_spike_is_sent_once(chance: float) -> None:
    """With its sender, component and number; none is left when the warp has done its items."""
    rng = np.random.default_rng(2)
    given = (rng.random((60, 32)) < chance) * rng.integers(1, 9, (60, 32)).astype(np.int32)
    sent = queued(given.astype(np.int32))
    put, lane = np.nonzero(given)
    assert len(put) > 5
    order = np.argsort(sent[:, 4])
    assert np.array_equal(sent[order, 2], put)
    assert np.array_equal(sent[order, 4], 1000 * put + lane)
    assert np.array_equal(sent[order, 5], given[put, lane])
    assert (sent[:, 3] == 70000).all()


@pytest.mark.parametrize("chance", [0.01, 0.3, 1.0])
def test_as_many_at_a_time_as_a_warp_has_threads(chance: float) -> None:
    """A warp sends before a put that would be too much, and at its end what is left."""
    rng = np.random.default_rng(3)
    given = (rng.random((60, 32)) < chance).astype(np.int32)
    sent = queued(given)
    found = np.bincount(sent[:, 0]).tolist()
    calls, waiting = [], 0
    for number in given.sum(axis=1).tolist():
        if waiting + number > 32:
            calls.append(waiting)
            waiting = 0
        waiting += number
    assert found == [*calls, waiting]
    assert np.array_equal(sent[:, 1], np.where(sent[:, 0] < len(calls), 7, 8))
