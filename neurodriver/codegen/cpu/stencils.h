/* Delivery of spikes along stencils, on a CPU: see plan/spikes/stencils.py. */

/* Adds the weights of one thread's targets, `low` to `high` - 1, to their slots of this step. The
 * entries of a stencil are those of one latency after the other; `of_latency` is the number of the
 * first stencil of this latency. `each`: each entry has a weight. `marks`: dirty says which
 * slots were reached, as in nd_fanout. `odd`: units of targets differ, and some sources have -1 less
 * their stencil: multiples follow from `exact` weights and `per_unit` of each target. `masked`: homes
 * and codes are points of a grid; `cell` has the target at each of them, or -1. */
template <typename Slot, typename Multiple, bool each, bool marks, bool odd, bool masked> struct nd_stencils {
    Slot *slots;
    nd_dirty_byte *dirty;
    const int *stencil, *home;      /* of each source */
    const long long *begin;         /* of each stencil and latency */
    const int *code;                /* targets less the home, ascending */
    const Multiple *multiple;
    const double *exact, *per_unit;
    const int *cell, *point;        /* target at each point, point of each target */
    Slot all;
    long long low, high, sources, of_latency;
    long long arrivals = 0;
    bool marking = marks;

    /* Mark all slots at once, if as many spikes arrived in the step before as there are slices. */
    void expect(long long before)
    {
        const long long slices = (high - low + ND_LANES - 1) / ND_LANES;
        if (before < slices) return;
        __builtin_memset(dirty + low / ND_LANES, ND_DIRTY, (unsigned long)slices);
        marking = false;
    }

    /* `count` spikes of a source; blocks of sources may hold others, which have numbers beyond. */
    void send(long long s, int count)
    {
        if ((unsigned long long)s >= (unsigned long long)sources) return;
        const bool other = odd && stencil[s] < 0;
        const long long row = of_latency + (other ? -1 - stencil[s] : stencil[s]), at = home[s];
        long long p = begin[row], past = begin[row + 1];
        if (p == past) return;
        const long long begin_at = masked ? point[low] : low, end_at = masked ? point[high] : high;
        const long long first = at + code[p], last = at + code[past - 1];
        if (last < begin_at || first >= end_at) return;
        if (first < begin_at) p = nd_not_below(code, p, past, begin_at - at);
        if (last >= end_at) past = nd_not_below(code, p, past, end_at - at);
        if (masked) return add_to_cells(at, p, past, count, other);
        Slot *const to = slots + at;
        if (other)
            for (long long q = p; q < past; ++q)
                to[code[q]] += (Slot)__builtin_rint(exact[q] * per_unit[at + code[q]]) * count;
        else if (count == 1) add(to, p, past, 1);
        else add(to, p, past, count);
        if (!marks) return;
        arrivals += past - p;
        if (marking)
            for (; p < past; ++p) dirty[(at + code[p]) / ND_LANES] = ND_DIRTY;
    }

    /* The same where some points have no target. */
    void add_to_cells(long long at, long long p, long long past, int count, bool other)
    {
        for (; p < past; ++p) {
            const int to = cell[at + code[p]];
            if (to < 0) continue;
            Slot one = each ? (Slot)multiple[p] : all;
            if (other) one = (Slot)__builtin_rint(exact[p] * per_unit[to]);
            slots[to] += one * count;
            if (!marks) continue;
            ++arrivals;
            if (marking) dirty[to / ND_LANES] = ND_DIRTY;
        }
    }

    __attribute__((always_inline)) void add(Slot *to, long long p, long long past, Slot count) const
    {
        const Slot one = all * count;
#pragma GCC unroll 8
        for (; p < past; ++p) to[code[p]] += each ? (Slot)multiple[p] * count : one;
    }
};
