"""Words of a GPU for a C++ compiler: warps whose threads are fibers that wait for one another.

Each of the 32 threads of a warp runs until it needs something of the others. They take turns in an
order that changes, so a thread that reads what another one writes without `nd_together` finds it
now written, now not. Where some threads of a warp are done while others wait, `nd_run_warp`
returns false.
"""

from __future__ import annotations

QUICK = ("-O0",)
"""Flags for texts of a GPU: they are compiled in a fifth of the time, and have the same bits."""

WARPS = """
#undef _FORTIFY_SOURCE   /* its longjmp does not leave a stack for another one */
#include <atomic>
#include <csetjmp>
#include <cstring>
#include <thread>
#include <vector>
#include <ucontext.h>
enum { ND_WARP = 32, ND_STACK = 1 << 18 };
static thread_local ucontext_t nd_fiber[ND_WARP];
static thread_local jmp_buf nd_scheduler, nd_stopped[ND_WARP];   /* swapcontext calls the system */
alignas(16) static thread_local char nd_stack[ND_WARP][ND_STACK];
static thread_local volatile int nd_now, nd_done[ND_WARP];
static thread_local volatile unsigned nd_rounds[ND_WARP];
static thread_local volatile unsigned long long nd_given[2][ND_WARP];
static thread_local void (*volatile nd_work)();

/* Give a value to the other threads and wait until all have; returns where their values are. */
template <class T> static const volatile unsigned long long *nd_give(T x)
{
    unsigned long long word = 0;
    memcpy(&word, &x, sizeof x);
    const int me = nd_now;
    const unsigned round = nd_rounds[me];
    nd_given[round & 1][me] = word;
    nd_rounds[me] = round + 1;
    if (!_setjmp(nd_stopped[me])) _longjmp(nd_scheduler, 1);
    return nd_given[round & 1];
}
template <class T> static T nd_as(unsigned long long word)
{
    T x;
    memcpy(&x, &word, sizeof x);
    return x;
}
static int nd_lane() { return nd_now; }
static void nd_together() { nd_give(0); }
static unsigned nd_ballot(bool x)
{
    const volatile unsigned long long *all = nd_give((unsigned)x);
    unsigned bits = 0;
    for (int i = 0; i < ND_WARP; ++i) bits |= (unsigned)(all[i] != 0) << i;
    return bits;
}
template <class T> static T nd_from(T x, int lane) { return nd_as<T>(nd_give(x)[lane]); }
static unsigned nd_across(unsigned x, int lanes)
{
    const int me = nd_now;
    return nd_as<unsigned>(nd_give(x)[me ^ lanes]);
}
static int nd_sum_up_to_here(int x)
{
    const int me = nd_now;
    const volatile unsigned long long *all = nd_give(x);
    int sum = 0;
    for (int i = 0; i <= me; ++i) sum += nd_as<int>(all[i]);
    return sum;
}
static long long nd_total(long long x)
{
    const volatile unsigned long long *all = nd_give(x);
    long long sum = 0;
    for (int i = 0; i < ND_WARP; ++i) sum += nd_as<long long>(all[i]);
    return sum;
}
static double nd_greatest_of(double x)
{
    const volatile unsigned long long *all = nd_give(x);
    double most = x;
    for (int i = 0; i < ND_WARP; ++i)
        if (most < nd_as<double>(all[i]) || nd_as<double>(all[i]) != nd_as<double>(all[i]))
            most = nd_as<double>(all[i]);
    return most;
}
static int nd_lower(unsigned x) { return __builtin_popcount(x & ((1u << nd_now) - 1)); }

static void nd_enter()
{
    nd_work();
    nd_done[nd_now] = 1;
    _longjmp(nd_scheduler, 1);
}

/* Let the threads of a warp do `work`. */
static bool nd_run_warp(void (*work)())
{
    static thread_local unsigned chance = 1;
    nd_work = work;
    for (int i = 0; i < ND_WARP; ++i) {
        nd_done[i] = 0, nd_rounds[i] = 0;
        getcontext(&nd_fiber[i]);
        nd_fiber[i].uc_stack.ss_sp = nd_stack[i];
        nd_fiber[i].uc_stack.ss_size = ND_STACK;
        nd_fiber[i].uc_link = 0;
        makecontext(&nd_fiber[i], nd_enter, 0);
    }
    for (bool begun = false;; begun = true) {
        chance = chance * 1664525u + 1013904223u;
        for (int i = 0; i < ND_WARP; ++i) {
            nd_now = (int)((i * (chance >> 8 | 1) + (chance >> 3)) % ND_WARP);
            if (_setjmp(nd_scheduler)) continue;
            if (begun) _longjmp(nd_stopped[nd_now], 1);
            setcontext(&nd_fiber[nd_now]);
        }
        for (int i = 1; i < ND_WARP; ++i)
            if (nd_done[i] != nd_done[0] || nd_rounds[i] != nd_rounds[0]) return false;
        if (nd_done[0]) return true;
    }
}
"""
