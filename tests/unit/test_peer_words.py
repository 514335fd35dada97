"""The text by which kernels exchange rows, compiled for a CPU: threads in the place of two GPUs."""

from __future__ import annotations

import ctypes as ct
import re

import numpy as np
import pytest

from neurodriver.native.compiler import build
from neurodriver.native.headers import header

HEAD = """
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>
#define ND_FN static inline
#define ND_UNROLL
#define ND_GATES 1
#define ND_WORD {word}
#define __device__
#define __noinline__
typedef {real} real;
typedef unsigned long long nd_peer_word;
enum {{ ND_BATCH = 4 }};
struct nd_item {{ int what, first, end, which; }};
struct nd_input {{
    real *ring;
    long long *active;
    long long width, depth, first, count, back;
    const nd_peer_word *words;
}};
struct nd_probe {{
    const real *ring;
    const int *elements;
    long long width, depth, start, count;
    nd_peer_word *words;
}};
static void nd_send_brought(const nd_input &, const nd_item &, long long, const real *, bool) {{}}
struct nd_run {{ long long *gate, window, gated, sent; }};
static thread_local nd_run nd_chunk;
static thread_local int nd_lane_number;
static int nd_lane() {{ return nd_lane_number; }}
static long long nd_row_index(long long k, long long depth) {{ return k & (depth - 1); }}
static void nd_mark(long long *active, long long k, long long depth)
{{
    active[k & (depth - 1)] = k;
}}
template <class T> static T __ldcg(const T *p) {{ return *(volatile const T *)p; }}
static void atomicMin(long long *p, long long x) {{ if (x < *p) *p = x; }}
"""

TAIL = """
/* One of two sides: sends `count` values of each row, and takes as many; `wrong` counts others. */
static void side(int who, nd_peer_word *mine, nd_peer_word *theirs, long long *gate, int steps,
                 int window, long long gated, long long sent, int count, long long *wrong)
{
    nd_chunk = {gate, window, gated, sent};
    const long long depth = 64, width = count + 5;
    std::vector<real> own(depth * width), taken(depth * width);
    std::vector<int> element(count);
    for (int i = 0; i < count; ++i) element[i] = count - 1 - i;
    const nd_probe out = {own.data(), element.data(), width, depth, 0, count, theirs};
    const nd_input in = {taken.data(), nullptr, width, depth, 2, count, window - 1, mine};
    auto value = [](int side, long long k, int i) { return (real)(k * 1009 + i * 2 + side); };
    auto each = [&](auto work) {
        for (int first = 0; first < count; first += 200)
            for (nd_lane_number = 0; nd_lane_number < 32; ++nd_lane_number)
                work(nd_item{0, first, first + 200 < count ? first + 200 : count, 0});
    };
    for (long long k = gated; k < gated + steps; ++k) {
        each([&](nd_item item) {
            if (nd_take_row(in, item, k) != (k >= gated + window)) *wrong += 1;
        });
        if (nd_is_shut(k)) break;
        for (int i = 0; k >= gated + window && i < count; ++i) {
            const long long row = k - (window - 1);
            const real found = taken[nd_row_index(row, depth) * width + 2 + i];
            *wrong += found != value(1 - who, row, count - 1 - i);
        }
        real *const next = own.data() + nd_row_index(k + 1, depth) * width;
        for (int i = 0; i < count; ++i) next[i] = value(who, k + 1, i);
        each([&](nd_item item) { nd_send_row(out, item, k + 1); });
    }
}

extern "C" long long exchange(
    int steps, int window, long long gated, long long sent, int count, int other)
{
    const size_t words = 2ull * window * count * ND_WORDS;
    std::vector<nd_peer_word> one(words), two(words);
    long long gate[64] = {}, wrong[2] = {};
    nd_shut = 0x7fffffffffffffffll;
    auto run = [&](int who, nd_peer_word *mine, nd_peer_word *theirs, int n) {
        side(who, mine, theirs, gate, n, window, gated, sent, count, wrong + who);
    };
    std::thread first(run, 0, one.data(), two.data(), steps);
    std::thread second(run, 1, two.data(), one.data(), other);
    second.join();
    if (other < steps) ((volatile long long *)gate)[16] = -1;
    first.join();
    return other < steps && nd_shut > gated + other + 2 * window ? -1 : wrong[0] + wrong[1];
}
"""

STORE = re.compile(r'asm volatile\("st\.relaxed\.sys.*?"memory"\);')
LOAD = re.compile(r'asm volatile\("ld\.relaxed\.sys.*?"memory"\);')


@pytest.fixture(scope="module", params=["float", "double"])
def library(request: pytest.FixtureRequest) -> ct.CDLL:
    """Return the text for numbers of 4 and of 8 bytes."""
    text = header("codegen/simt/peers.cuh")
    text, stores = STORE.subn("((std::atomic<nd_peer_word> *)(to + i))->store(word);", text)
    load = "word = ((const std::atomic<nd_peer_word> *)(from + i))->load();"
    text, loads = LOAD.subn(load, text)
    assert stores == loads == 1 and "asm" not in text
    size = {"float": 4, "double": 8}[request.param]
    head = HEAD.format(word=size, real=request.param)
    (made,) = build([(head + text + TAIL, ("-pthread",))])
    made.exchange.restype = ct.c_longlong
    made.exchange.argtypes = [ct.c_int, ct.c_int, ct.c_longlong, ct.c_longlong, ct.c_int, ct.c_int]
    return made


@pytest.mark.parametrize("window", [1, 2, 7])
@pytest.mark.parametrize("gated", [0, 13])
def test_rows_of_the_other_side(library: ct.CDLL, window: int, gated: int) -> None:
    """Each row comes whole and in time, whoever is faster, beyond 32 bits of messages, too."""
    for count, sent in ((1, 0), (500, 3), (250, 2**32 - 20)):
        assert library.exchange(600, window, gated, sent, count, 600) == 0


def test_a_side_that_ends(library: ct.CDLL) -> None:
    """The other one waits until the host lets it go."""
    assert library.exchange(600, 2, 5, 0, 300, 100) == 0
    assert np.iinfo(np.int64).max == 0x7FFFFFFFFFFFFFFF
