"""Numbers drawn for a tile, or kept by a thread, are those of the functions that define them."""

from __future__ import annotations

import ctypes as ct
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from warps_on_cpu import WARPS

from neurodriver.codegen.source import CPU, TILE, prelude
from neurodriver.native.compiler import build
from neurodriver.native.headers import header

Words = NDArray[np.uint32]
ONES = 0xFFFFFFFF

DEVICE = """
#define ND_MEMBER
#define ND_UNROLL
#define ND_ROLLED
#define ND_COUNTS 2
#define ND_THREADS 32
#define __shared__ static
static const struct { int x; } threadIdx = {0};
static const struct { double operator[](int j) const { return 1.0 / (j + 1); } } nd_one_over;
static int nd_bits_in(unsigned x) { return __builtin_popcount(x); }
static int __ffs(int x) { return __builtin_ffs(x); }
"""
EXPORTS = """
extern "C" void defined(long n, const unsigned *w, const real *mean, real *out)
{ for (long i = 0; i < n; ++i) out[i] = (real)nd_poisson_of(w[i], (double)mean[i]); }
extern "C" void drawn(long n, const unsigned *w, const real *mean, real *out)
{
    nd_thresholds t;
    t.mean = -1;
    for (long i = 0; i < n; i += ND_TILE)
        nd_tile_poisson(w + i, mean + i, (int)(n - i < ND_TILE ? n - i : ND_TILE), &t, out + i);
}
extern "C" long counted(long n, const unsigned *w, const real *mean, real *out)
{
    long rare = 0;
    for (long i = 0; i < n; ++i) {
        nd_counts<true> c;
        c.load((double)mean[i]);
        rare += !c.known(w[i]);
        out[i] = (real)c.count<0>(w[i], mean[i]);
    }
    return rare;
}
static const unsigned *nd_in_words;
static const real *nd_in_means;
static real *nd_out_counts;
static void nd_count_one()
{
    const int i = nd_lane();
    nd_out_counts[i] = (real)nd_counts<false>().count<1>(nd_in_words[i], nd_in_means[i]);
}
extern "C" long by_warps(long n, const unsigned *w, const real *mean, real *out)
{
    nd_no_mean_yet();
    for (long i = 0; i < n; i += ND_WARP) {
        nd_in_words = w + i, nd_in_means = mean + i, nd_out_counts = out + i;
        if (!nd_run_warp(nd_count_one)) return 0;
    }
    return 1;
}
static void nd_count_three()
{
    nd_counts<false> counts[3];
    unsigned w[3];
    real mean[3], out[3];
    for (int i = 0; i < 3; ++i)
        w[i] = nd_in_words[32 * i + nd_lane()], mean[i] = nd_in_means[32 * i + nd_lane()];
    nd_count_all<1>(counts, w, mean, out);
    for (int i = 0; i < 3; ++i) nd_out_counts[32 * i + nd_lane()] = out[i];
}
extern "C" long side_by_side(long n, const unsigned *w, const real *mean, real *out)
{
    nd_no_mean_yet();
    for (long i = 0; i < n; i += 3 * ND_WARP) {
        nd_in_words = w + i, nd_in_means = mean + i, nd_out_counts = out + i;
        if (!nd_run_warp(nd_count_three)) return 0;
    }
    return 1;
}
extern "C" void kept(unsigned long long key, unsigned long long seed, long long first, long steps,
                     unsigned *words, real *units)
{
    nd_words<true, 2> one;
    nd_words<true, 1> two;
    one.load(key, seed, first, 7);
    two.load(key, seed, first, 8);
    for (long long k = first; k < first + steps; ++k) {
        one.next(key, seed, k, 7);
        two.next(key, seed, k, 8);
        *words++ = one.word(k) - nd_word(key, seed, k, 0, 7);
        *units++ = nd_unit_of(two.high(k), two.low(k), (real)0)
                 - nd_uniform(key, seed, k, 0, 8, (real)0);
    }
}
extern "C" void block(const unsigned long long *key, unsigned long long seed, long long number,
                      int stream, unsigned *one, unsigned *many)
{
    long long notes[2] = {0, 0};
    nd_tile_blocks(key, seed, number, stream, many, notes, 0, 32, 32);
    for (int i = 0; i < 32; ++i) {
        const nd_block b = nd_draw(key[i], seed, number, 0, stream);
        one[i] = b.w0, one[32 + i] = b.w1, one[64 + i] = b.w2, one[96 + i] = b.w3;
    }
}
"""


@pytest.fixture(scope="module")
def library() -> dict[str, ct.CDLL]:
    """Return the functions for each working type."""
    made = {}
    for dtype in ("float64", "float32"):
        head = prelude(["nd_seed"], dtype, CPU)
        names = "codegen/cpu/tile_draws.h", "codegen/simt/thread_draws.cuh"
        tile, thread = map(header, names)
        text = "\n".join([*head, tile, WARPS, DEVICE, thread, EXPORTS])
        (made[dtype],) = build([(text, ())])
    return made


def call(function: Any, words: Words, means: NDArray[Any], dtype: str) -> NDArray[Any]:
    given, out = np.asarray(means, dtype), np.empty(words.size, dtype)
    function(ct.c_long(words.size), *(ct.c_void_p(a.ctypes.data) for a in (words, given, out)))
    return out


def edges(library: ct.CDLL, mean: float, dtype: str) -> Words:
    """Return the words around each step of the count, up to whole tiles."""
    most = int(call(library.defined, np.array([ONES], np.uint32), [mean], dtype)[0])
    j = np.arange(most)
    low, high = np.full(most, -1, np.int64), np.full(most, 2**32 - 1, np.int64)
    while (high - low > 1).any():
        middle = (low + high) // 2
        more = call(library.defined, middle.astype(np.uint32), np.full(most, mean), dtype) > j
        high, low = np.where(more, middle, high), np.where(more, low, middle)
    around = np.concatenate([high - 1, high, high + 1, [0, ONES]])
    around = np.clip(around, 0, ONES).astype(np.uint32)
    return np.resize(around, -(-around.size // TILE) * TILE)


@pytest.mark.parametrize("mean", [1e-9, 1e-4, 0.3, 2.0, 2.1, 7.7, 15.99, 16.0, 16.01, 40.0, 1e3])
def test_counts_at_their_edges(library: dict[str, ct.CDLL], mean: float, dtype: str) -> None:
    """Thresholds of a tile of one mean, and sums of a tile of many, agree with the definition."""
    one = library[dtype]
    words = edges(one, mean, dtype)
    same = np.full(words.size, mean)
    expected = call(one.defined, words, same, dtype)
    np.testing.assert_array_equal(call(one.drawn, words, same, dtype), expected)
    np.testing.assert_array_equal(call(one.by_warps, words, same, dtype), expected)
    np.testing.assert_array_equal(call(one.counted, words, same, dtype), expected)
    mixed = same.copy()
    mixed[::9] = 3.0
    mixed[4::9] = 50.0
    expected = call(one.defined, words, mixed, dtype)
    np.testing.assert_array_equal(call(one.drawn, words, mixed, dtype), expected)
    np.testing.assert_array_equal(call(one.by_warps, words, mixed, dtype), expected)


def test_counts_of_random_words(library: dict[str, ct.CDLL], dtype: str) -> None:
    """Tiles of one mean that follow each other, tiles of many, and means of every kind."""
    rng = np.random.default_rng(8)
    words = rng.integers(0, 2**32, 200 * TILE, dtype=np.uint32)
    means = np.repeat(rng.choice([0.0, 0.5, 2.0, 11.0, 16.0, 17.0], 200), TILE)
    means[100 * TILE :] = rng.gamma(0.5, 12.0, 100 * TILE)
    means[150 * TILE :: 7] = -1.0
    means[151 * TILE :: 1001] = np.nan
    means[: 50 * TILE] = rng.choice([0.3, 4.0, 12.0], 50 * TILE // 10).repeat(10)
    rare = slice(60 * TILE, 64 * TILE)
    words[rare][::5], means[rare] = 0xFFFFFFFF, 16.0
    expected = call(library[dtype].defined, words, means, dtype)
    np.testing.assert_array_equal(call(library[dtype].drawn, words, means, dtype), expected)
    np.testing.assert_array_equal(call(library[dtype].counted, words, means, dtype), expected)
    np.testing.assert_array_equal(call(library[dtype].by_warps, words, means, dtype), expected)
    whole = len(words) // 96 * 96
    found = call(library[dtype].side_by_side, words[:whole], means[:whole], dtype)
    np.testing.assert_array_equal(found, expected[:whole])
    assert expected.max() > 40 and np.isfinite(expected).all()


def test_few_counts_are_rare(library: dict[str, ct.CDLL], dtype: str) -> None:
    """Up to seven spikes are counted by comparisons, with the mean that one of 16 has, too."""
    words = np.random.default_rng(2).integers(0, 2**32, 100_000, dtype=np.uint32)
    for mean, share in ((0.0, 0.0), (2.0, 0.0011), (16.0, 0.99)):
        given, out = np.full(words.size, mean, dtype), np.empty(words.size, dtype)
        places = (ct.c_void_p(a.ctypes.data) for a in (words, given, out))
        rare = library[dtype].counted(ct.c_long(words.size), *places) / words.size
        assert rare == pytest.approx(share, rel=0.2, abs=1e-9)
    assert call(library[dtype].counted, words[:1], [0.0], dtype) == 0


@pytest.mark.parametrize("first", [0, 1, 6, 4 * 10**12 + 3])
def test_words_of_several_steps(library: dict[str, ct.CDLL], first: int, dtype: str) -> None:
    """Whichever step a thread begins with, its words are those of the steps."""
    words, units = np.ones(13, np.uint32), np.ones(13, dtype)
    places = (ct.c_void_p(a.ctypes.data) for a in (words, units))
    key, seed = ct.c_ulonglong(0x123456789ABCDEF0), ct.c_ulonglong(5)
    library[dtype].kept(key, seed, ct.c_longlong(first), ct.c_long(13), *places)
    assert not words.any() and not units.any()


@pytest.mark.parametrize("number", [0, 5, 2**32 - 1, 2**32, 2**40 - 1])
def test_blocks_of_a_slice(library: dict[str, ct.CDLL], number: int) -> None:
    """Two slices at once have the words of single blocks."""
    keys = np.random.default_rng(1).integers(0, 2**64, 32, dtype=np.uint64)
    one, many = np.zeros(128, np.uint32), np.zeros(128, np.uint32)
    key, first, second = (ct.c_void_p(a.ctypes.data) for a in (keys, one, many))
    seed = ct.c_ulonglong(0xFEDCBA9876543210)
    library["float64"].block(key, seed, ct.c_longlong(number), ct.c_int(201), first, second)
    np.testing.assert_array_equal(many, one)
    assert len(np.unique(one)) == 128
