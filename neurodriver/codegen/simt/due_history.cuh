/* The history of spikes that wait until they are due: see due_delivery.cuh. */
#if ND_DUE
/* ND_BINS: bins that a thread looks at. ND_FOUND: places of spikes that a warp may have found. */
enum { ND_BINS = 5, ND_FOUND = 256 };
__shared__ unsigned nd_places[ND_THREADS / 32 * ND_FOUND];

/* What a spike has left: bins `bin` to `last`, whose first one is due in row `due`. Its connections
 * before `begin`, counted from the first one of its source, have been listed. */
struct nd_waiting { long long first, bin, last; int begin, due, more, home; };

template <class Delivery> ND_FN nd_waiting nd_waiting_of(uint4 spike, int due)
{
    const long long source = spike.x, bins = Delivery::bin(source), bin = bins + spike.y;
    const int begin = spike.y ? Delivery::end(bin - 1) : 0;
    return {Delivery::first(source), bin, Delivery::bin(source + 1), begin, due, (int)spike.z, (int)spike.w};
}

/* Called by a warp: takes the connections of each thread's spike that are due in a row, if any: `near`
 * of them, from `begin` on. Then the spike waits for its next bin that is not empty. A thread looks at
 * few bins. Where many are empty, as between near and distant targets, its warp looks at 32 at a time. */
template <class Delivery> ND_FN nd_outgoing nd_take(nd_waiting &spike, int row)
{
    const bool mine = spike.bin < spike.last && spike.due == row;
    if (!nd_ballot(mine)) return {0, 0, 0, 0, 0};
    int end[ND_BINS];
    ND_UNROLL
    for (int j = 0; j < ND_BINS; ++j) end[j] = mine && spike.bin + j < spike.last ? Delivery::end(spike.bin + j) : 0;
    int skipped = ND_BINS;
    ND_UNROLL
    for (int j = ND_BINS - 1; j; --j) skipped = spike.bin + j >= spike.last || end[j] != end[0] ? j : skipped;
    for (unsigned some = nd_ballot(mine && skipped == ND_BINS); some; some &= some - 1) {
        const int from = __ffs((int)some) - 1, same = nd_from(end[0], from);
        const long long bin = nd_from(spike.bin, from), last = nd_from(spike.last, from);
        int far = ND_BINS;
        for (unsigned found = 0; !found; far += found ? __ffs((int)found) - 1 : 32) {
            const long long at = bin + far + nd_lane();
            found = nd_ballot(at >= last || Delivery::end(at) != same);
        }
        if (nd_lane() == from) skipped = far;
    }
    if (!mine) return {0, 0, 0, 0, 0};
    const nd_outgoing out = {spike.first + spike.begin, end[0] - spike.begin, 0, spike.more, spike.home};
    spike.begin = end[0], spike.bin += skipped, spike.due += skipped;
    return out;
}

/* Marks in the history when a spike is due again, if it is. `bins`: the first bin of its source. */
template <class Delivery>
ND_FN void nd_wait(unsigned place, uint4 spike, const nd_waiting &waiting, long long bins, int row)
{
    const bool left = waiting.bin < waiting.last;
    spike.y = left ? (unsigned)(waiting.bin - bins) : 0xffffffffu;      /* never again */
    __stcg(Delivery::due() + place, left ? waiting.due : row - 1);
    __stcg(Delivery::sent() + place, spike);
}

/* Called by a warp: gives the spikes of its threads a place in the history, and adds them to the new
 * spikes of this step. `outgoing` holds source, or the row that it shares, least delay in steps less one,
 * whether there are connections, the weight, and the home. */
template <class Delivery> ND_FN void nd_remember(long long row, const nd_outgoing &outgoing)
{
    const bool mine = outgoing.far && outgoing.more;
    const unsigned all = nd_ballot(mine), due = (unsigned)row + (unsigned)outgoing.near;
    if (!all) return;
    unsigned long long at = 0;
    if (nd_lane() == 0) at = atomicAdd(Delivery::heads(), (unsigned long long)nd_bits_in(all));
    uint4 *const to = Delivery::fresh(nd_from(at, 0) + nd_lower(all));
    if (mine) __stcg(to, make_uint4((unsigned)outgoing.begin, due, (unsigned)outgoing.more, (unsigned)outgoing.home));
}

/* Called by a warp: lists what new spikes of its threads bring into a row, and marks in the history when
 * they are due again. `mine`: whether this thread has one, `number`: which one, `bins`: the first bin of its
 * source. */
template <class Delivery>
ND_FN void nd_keep(long long row, bool mine, unsigned long long number, uint4 spike, long long bins, nd_waiting &waiting)
{
    const nd_outgoing then = nd_take<Delivery>(waiting, (int)row);
    const unsigned some = nd_ballot(then.near > 0);
    const int upto = nd_sum_up_to_here(then.near);
    const unsigned long long space = nd_reserve_entries<Delivery>(row, some, upto);
    if (mine) nd_wait<Delivery>(Delivery::place(number), spike, waiting, bins, (int)row);
    nd_list<Delivery>(row, some, upto, nd_from(space, 31), then);
}

/* Called by a warp: the connections of spikes that are due in a row. `mine`: whether this thread has one.
 * Marks in the history when it is due again. It may have nothing left if the history had no room and
 * another spike was written over it: the run is wrong then. */
template <class Delivery> ND_FN nd_outgoing nd_take_due(bool mine, unsigned place, int row)
{
    uint4 spike = make_uint4(0u, 0xffffffffu, 0u, 0u);
    if (mine) spike = __ldcg(Delivery::sent() + place);
    nd_waiting waiting = {0, 0, 0, 0, 0, 0, 0};
    mine = spike.y != 0xffffffffu;
    if (mine) waiting = nd_waiting_of<Delivery>(spike, row);
    const long long bin = waiting.bin;
    const nd_outgoing out = nd_take<Delivery>(waiting, row);
    if (!mine) return out;
    nd_wait<Delivery>(place, spike, waiting, bin - spike.y, row);
    return out;
}

/* The rows in which four spikes side by side in the history are due; row - 1 behind its end. Four is
 * SIDE_BY_SIDE of plan/spikes/due.py. */
template <class Delivery>
ND_FN int4 nd_four_due(unsigned long long tail, unsigned long long i, unsigned long long number, int row)
{
    int4 x = make_int4(row - 1, row - 1, row - 1, row - 1);
    if (i < number) x = __ldcg((const int4 *)(Delivery::due() + Delivery::place(tail + i)));
    if (i + 1 >= number) x.y = row - 1;
    if (i + 2 >= number) x.z = row - 1;
    if (i + 3 >= number) x.w = row - 1;
    return x;
}

/* Lists what is due in a row of the spikes that were in the history before this step; called by each of
 * `warps` warps. A warp first finds 32 spikes that are due. */
template <class Delivery> ND_FN void nd_list_due(unsigned warp, unsigned warps, long long row)
{
    const unsigned long long *const before = Delivery::before();
    const unsigned long long tail = __ldcg(before + Delivery::oldest(row)) & ~3ull;
    const unsigned long long number = __ldcg(before + Delivery::turn(row - 1)) - tail;
    const unsigned own = 4 * (nd_lane() * warps + warp);
    unsigned *const places = nd_places + threadIdx.x / 32 * ND_FOUND;
    unsigned found = 0, done = 0;
    int4 next = nd_four_due<Delivery>(tail, own, number, (int)row);
    for (unsigned long long at = 0; at < number;) {
        const int when[4] = {next.x, next.y, next.z, next.w};
        const unsigned place = Delivery::place(tail + at + own);
        at += 128ull * warps;
        if (at < number) next = nd_four_due<Delivery>(tail, at + own, number, (int)row);
        ND_UNROLL
        for (int j = 0; j < 4; ++j) {
            const unsigned some = nd_ballot(when[j] == (int)row);
            if (when[j] == (int)row) places[(found + nd_lower(some)) % ND_FOUND] = place + j;
            found += (unsigned)nd_bits_in(some);
        }
        nd_together();
        while (found - done >= 32 || (at >= number && found > done)) {
            const unsigned own_place = places[(done + nd_lane()) % ND_FOUND];
            const nd_outgoing out = nd_take_due<Delivery>(done + nd_lane() < found, own_place, (int)row);
            done = found - done < 32 ? found : done + 32;
            const unsigned some = nd_ballot(out.near > 0);
            const int upto = nd_sum_up_to_here(out.near);
            const unsigned long long space = nd_reserve_entries<Delivery>(row, some, upto);
            nd_list<Delivery>(row, some, upto, nd_from(space, 31), out);
        }
    }
}
#endif
