"""The text by which kernels exchange rows, compiled for a CPU: threads in the place of two GPUs."""

from __future__ import annotations

import ctypes as ct
import re

import numpy as np
import pytest
from warps_on_cpu import WARPS

from neurodriver.native.compiler import build
from neurodriver.native.headers import header

HEAD = """
#include <chrono>
#define ND_FN static inline
#define ND_APART static
#define ND_UNROLL
#define ND_GATES 1
#define ND_IMPORTS 1
#define ND_QUEUES {queues}
#define ND_WINDOW {window}
#define ND_LOOKAHEAD 0
#define ND_WORD {word}
#define __device__
#define __noinline__
typedef {real} real;
typedef unsigned long long nd_peer_word;
enum {{ ND_BATCH = 4 }};
struct int4 {{ int x, y, z, w; }};
struct nd_item {{ int what, first, end, which; }};
struct nd_taker {{
    real *ring;
    long long *active;
    long long width, depth, first, back, sender, place, input;
    const nd_peer_word *words, *values;
    const int4 *places;
    const int *elements;
    unsigned *held;
    long long number, slots, size;
}};
struct nd_sender {{
    const real *ring;
    nd_peer_word *words, *values;
    long long slots, size;
}};
struct nd_input {{
    real *ring;
    const real *table;
    const int *action;
    long long *active;
    long long width, depth, first, count, back;
    const nd_peer_word *words;
    long long sender, place;
}};
struct nd_probe {{
    const real *ring;
    const int *elements;
    long long width, depth, start, count;
    nd_peer_word *words;
}};
struct nd_run {{ long long *gate, first, window, gated; const nd_input *input; }};
struct nd_recording {{
    int sending;
    unsigned numbered, kept;
    nd_sender senders[2];
    nd_taker takers[2];
}};
static thread_local nd_run nd_chunk;
static thread_local nd_recording nd_records;
#ifdef ND_ALONE
static thread_local int nd_lane_number;
static int nd_lane() {{ return nd_lane_number; }}
static unsigned nd_ballot(bool x) {{ return x; }}
static void nd_together() {{}}
static int nd_lower(unsigned) {{ return 0; }}
template <class T> static T nd_from(T x, int) {{ return x; }}
static int nd_sum_up_to_here(int x) {{ return x; }}
#endif
static int __ffs(int x) {{ return __builtin_ffs(x); }}
static long long nd_row_index(long long k, long long depth) {{ return k & (depth - 1); }}
static void nd_mark(long long *active, long long k, long long depth)
{{
    active[k & (depth - 1)] = k;
}}
template <class T> static T __ldg(const T *p) {{ return *p; }}
template <class T> static T __ldcv(const T *p) {{ return *p; }}
static void nd_inject(const nd_item, long long) {{}}
static void atomicMin(long long *p, long long x) {{ if (x < *p) *p = x; }}
static int nd_table_of(const nd_item &item) {{ return item.which; }}
static int nd_bits_in(unsigned x) {{ return __builtin_popcount(x); }}
static void nd_send_brought(const nd_input &, const nd_item &, long long, const real *, bool) {{}}
static thread_local real nd_sum;        /* of what was sent, each value times its place + 1 */
static void nd_send_imported(int, long long, bool mine, int at, real value, bool)
{{
    if (mine) nd_sum += value * (at + 1);
}}
static thread_local int nd_puts;
static int nd_who_imports(int sender) {{ return 77 + sender; }}
static void nd_put(int who, long long, unsigned bits, real value, int at)
{{
    ++nd_puts;
    if (who == 77 && bits >> nd_lane() & 1) nd_sum += value * (at + 1);
}}
"""

ROWS = """
/* One of two sides: sends `count` values of each row, and takes as many; `wrong` counts others. */
static void side(int who, nd_peer_word *mine, nd_peer_word *theirs, long long *gate, int steps,
                 int window, long long gated, long long sent, int kept, int count, long long *wrong)
{
    nd_chunk = {gate, gated, window, gated, nullptr};
    nd_records.numbered = (unsigned)(sent - gated), nd_records.kept = kept;
    const long long depth = 64, width = count + 5;
    std::vector<real> own(depth * width), taken(depth * width);
    std::vector<int> element(count);
    for (int i = 0; i < count; ++i) element[i] = count - 1 - i;
    const nd_probe out = {own.data(), element.data(), width, depth, 0, count, theirs};
    nd_input in = {};
    in.ring = taken.data(), in.words = mine, in.back = window - 1;
    in.width = width, in.depth = depth, in.first = 2, in.count = count;
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

/* Both sides, with room for `kept` rows; a side that waits for `seconds` in vain is let go. */
extern "C" long long exchange(int steps, int window, long long gated, long long sent, int kept,
                              int count, int other, double seconds)
{
    const size_t words = (size_t)kept * count * ND_WORDS;
    std::vector<nd_peer_word> one(words), two(words);
    long long gate[64] = {}, wrong[2] = {};
    std::atomic<bool> over(false);
    nd_shut = 0x7fffffffffffffffll;
    auto run = [&](int who, nd_peer_word *mine, nd_peer_word *theirs, int n) {
        side(who, mine, theirs, gate, n, window, gated, sent, kept, count, wrong + who);
    };
    std::thread watch([&] {
        typedef std::chrono::steady_clock clock;
        const auto begin = clock::now();
        while (!over && clock::now() - begin < std::chrono::duration<double>(seconds))
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        if (!over) ((volatile long long *)gate)[16] = -1;
    });
    std::thread first(run, 0, one.data(), two.data(), steps);
    std::thread second(run, 1, two.data(), one.data(), other);
    second.join();
    if (other < steps) ((volatile long long *)gate)[16] = -1;
    first.join();
    over = true;
    watch.join();
    const bool late = other < steps ? nd_shut > gated + other + 2 * window : gate[16] < 0;
    return late ? -1 : wrong[0] + wrong[1];
}
"""

SPIKES = """
enum { ND_WIDTH = 80, ND_DEPTH = 4, ND_KEPT = 2 };
static std::vector<real> *nd_values;    /* of a row of the sender, (ND_WIDTH,) */
static std::vector<real> nd_ring(ND_DEPTH *ND_WIDTH), nd_rows(ND_WIDTH);
static nd_input nd_in;
static int nd_read;
static long long nd_k;

static int nd_own;

/* A warp that has N components a thread, of which the last ones may not be there. */
template <int N> static void nd_send_own(int first)
{
    real value[N];
    unsigned bits[N];
    int at[N];
    bool live[N];
    for (int i = 0; i < N; ++i) {
        const int element = first + 32 * i + nd_lane();
        live[i] = element < ND_WIDTH - 16;
        at[i] = live[i] ? element - 16 : ND_WIDTH - 33;
        value[i] = live[i] ? (*nd_values)[element] : (real)0;
        bits[i] = nd_ballot(value[i] != 0);
    }
    nd_send_spikes(nd_ring.data(), nd_k, bits, value, at, live, 16);
}
static void nd_send_all()
{
    if (nd_own == 1) nd_send_own<1>(0), nd_send_own<1>(32);
    else if (nd_own == 2) nd_send_own<2>(0);
    else nd_send_own<3>(0);
}
static void nd_bring_all() { nd_bring({0, 0, nd_read, 1}, nd_k); }

/* Sends rows of spikes and brings those of the elements in `mask`; returns how many are wrong. */
extern "C" long long spikes(const double *rows, int steps, long long sent, const unsigned *mask,
                            int own)
{
    nd_own = own;
    std::vector<nd_peer_word> words(ND_KEPT * (ND_WIDTH / 16));
    std::vector<nd_peer_word> values(ND_KEPT * ND_WIDTH * ND_WORDS);
    std::vector<int4> places;
    std::vector<int> element;
    for (int w = 0; w < 2; ++w) {
        if (mask[w]) places.push_back({2 * w, (int)mask[w], (int)element.size(), 0});
        for (int bit = 0; bit < 32; ++bit) if (mask[w] >> bit & 1) element.push_back(32 * w + bit);
    }
    nd_read = (int)places.size();
    std::vector<unsigned> held(ND_DEPTH * nd_read, 0xffffffffu);
    std::vector<real> now(ND_WIDTH), table(element.size(), 1);
    long long gate[64] = {}, active[ND_DEPTH] = {}, wrong = 0;
    gate[16] = -1;  /* all has been sent before: who waits for more gives up */
    const int action[2] = {0, 0};
    nd_chunk = {gate, 0, 1, 0, &nd_in};
    nd_records.numbered = (unsigned)sent, nd_records.kept = ND_KEPT, nd_records.sending = 1;
    nd_records.senders[0] = {nd_ring.data(), words.data(), values.data(), ND_WIDTH / 16, ND_WIDTH};
    nd_in = {};
    nd_in.count = (long long)element.size(), nd_in.table = table.data(), nd_in.action = action;
    nd_records.takers[1] = {
        nd_ring.data(), active, ND_WIDTH, ND_DEPTH, 3, 0, 0, 0, 0, words.data(), values.data(),
        places.data(), nullptr, held.data(), nd_read, ND_WIDTH / 16, ND_WIDTH};
    nd_shut = 0x7fffffffffffffffll, nd_values = &now;
    std::fill(nd_ring.begin(), nd_ring.end(), (real)7);
    for (nd_k = 0; nd_k <= steps; ++nd_k) {
        for (int i = 0; nd_k && i < ND_WIDTH; ++i) now[i] = (real)rows[(nd_k - 1) * ND_WIDTH + i];
        nd_sum = 0;
        if (nd_k && !nd_run_warp(nd_send_all)) return -1;
        if (!nd_run_warp(nd_bring_all)) return -2;
        real sum = 0, some = 0;
        for (size_t i = 0; i < element.size(); ++i) {
            const real expected = nd_k ? now[element[i]] : 1;
            wrong += nd_ring[nd_row_index(nd_k, ND_DEPTH) * ND_WIDTH + 3 + i] != expected;
            sum += expected * (real)(i + 1), some += expected != 0;
        }
        wrong += nd_sum != sum;
        wrong += some && nd_k && active[nd_row_index(nd_k, ND_DEPTH)] != nd_k;
    }
    return wrong;
}
"""

PUTS = """
extern "C" int puts_since() { const int found = nd_puts; nd_puts = 0; return found; }
"""

STORE = re.compile(r'asm volatile\("st\.relaxed\.sys.*?"memory"\);')
LOAD = re.compile(r'asm volatile\("ld\.relaxed\.sys.*?"memory"\);')
SHUT = re.compile(r'asm volatile\("ld\.relaxed\.gpu.*?"memory"\);')


def built(real: str, head: str, tail: str, queues: int = 0, window: int = 0) -> ct.CDLL:
    """Return the text for numbers of 4 or of 8 bytes, between two others."""
    copied = header("codegen/simt/chunk_items.cuh")
    begin, end = copied.index("/* Loads the values i"), copied.index("/* Spikes of sources")
    text = header("codegen/simt/peer_words.cuh") + copied[begin:end]
    text += header("codegen/simt/peers.cuh")
    text, stores = STORE.subn("((std::atomic<nd_peer_word> *)to)->store(word);", text)
    load = "word = ((const std::atomic<nd_peer_word> *)from)->load();"
    text, loads = LOAD.subn(load, text)
    text, looks = SHUT.subn("shut = *(volatile long long *)&nd_shut;", text)
    assert stores == loads == looks == 1 and "asm" not in text
    size = {"float": 4, "double": 8}[real]
    words = HEAD.format(word=size, real=real, queues=queues, window=window)
    (made,) = build([(head + words + text + tail, ("-pthread",))])
    return made


@pytest.fixture(scope="module", params=["float", "double"])
def library(request: pytest.FixtureRequest) -> ct.CDLL:
    """Return the text of rows, each thread alone."""
    alone = "#include <atomic>\n#include <cstring>\n#include <thread>\n#include <vector>\n"
    made = built(request.param, alone + "#define ND_ALONE\n", ROWS)
    made.exchange.restype = ct.c_longlong
    made.exchange.argtypes = [ct.c_int, ct.c_int, ct.c_longlong, ct.c_longlong, *[ct.c_int] * 3,
                              ct.c_double]  # fmt: skip
    return made


@pytest.mark.parametrize("window", [1, 2, 7])
@pytest.mark.parametrize("gated", [0, 13])
def test_rows_of_the_other_side(library: ct.CDLL, window: int, gated: int) -> None:
    """Each row comes whole and in time, whoever is faster, beyond 32 bits of messages, too."""
    kept = 1 << (2 * window - 1).bit_length()
    for count, sent in ((1, 0), (500, 3), (250, 2**32 - 20)):
        assert library.exchange(600, window, gated, sent, kept, count, 600, 60.0) == 0


def test_a_side_that_ends(library: ct.CDLL) -> None:
    """The other one waits until the host lets it go."""
    assert library.exchange(600, 2, 5, 0, 4, 300, 100, 60.0) == 0
    assert np.iinfo(np.int64).max == 0x7FFFFFFFFFFFFFFF


def test_too_little_room(library: ct.CDLL) -> None:
    """With room for the rows of one window, rows are lost: no side waits for ever."""
    assert library.exchange(20000, 1, 0, 0, 1, 500, 20000, 3.0) != 0


@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("sent", [0, 2**31 - 5, 2**32 - 5])
@pytest.mark.parametrize("own", [1, 2, 3])
def test_spikes_as_bits(real: str, sent: int, own: int) -> None:
    """Spikes of a warp come as bits, those that are not 1 as values; others are not read."""
    check_spikes(built(real, WARPS, SPIKES), sent, own)


@pytest.mark.parametrize("window", [0, 1])
def test_spikes_wait_beside_own_ones(window: int) -> None:
    """In the queue of the warp; in windows they are sent at once."""
    made = built("float", WARPS, SPIKES + PUTS, queues=1, window=window)
    check_spikes(made, 0, 2)
    assert (made.puts_since() > 0) == (window == 0)


def check_spikes(made: ct.CDLL, sent: int, own: int) -> None:
    """Send 40 rows, and bring those of some elements."""
    made.spikes.restype = ct.c_longlong
    rng = np.random.default_rng(3)
    rows = (rng.random((40, 80)) < 0.2).astype(float) * rng.choice([1, 1, 1, 2.5, -1], (40, 80))
    rows[5:9] = 0
    for mask in ([0xFFFFFFFF] * 2, [0x80000001, 0], [0, 0xF0F0], [7, 0xFFFF0000]):
        given = np.array(mask, np.uint32)
        wrong = made.spikes(ct.c_void_p(rows.ctypes.data), 40, ct.c_longlong(sent),
                            ct.c_void_p(given.ctypes.data), own)  # fmt: skip
        assert wrong == 0
