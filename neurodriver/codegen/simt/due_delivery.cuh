/* Delivery of spikes when they are due.
 *
 * A spike enters a history (due_history.cuh). In step k warps look through it for spikes of earlier rows
 * that are due in row k + 2, and write their connections into a list (due_lists.cuh). In step k + 1 each
 * warp delivers an equal share of the list. All this happens while components are computed. Behind the
 * barrier of step k new spikes are delivered that are due in row k + 1. Those due in row k + 2 are listed.
 */
/* What a call does: it delivers the list of a row and lists what is due in the next one, or it delivers new
 * spikes, or both. */
enum { ND_ALL_DUE, ND_LISTED_DUE, ND_FRESH_DUE };

/* The half of its block to which a warp belongs: four warps in turn, one of each scheduler. */
ND_FN int nd_half() { return (int)(threadIdx.x / 128 % 2); }

#if ND_DUE
/* ND_GROUP: warps that share new spikes. */
enum { ND_GROUP = 8 };

/* Delivers what new spikes bring into a row. ND_GROUP warps share the same spikes: one keeps what is due
 * later, the others deliver. There are two such calls for a row at most: `call` is 2 * row, or 1 more. */
template <class Delivery> ND_FN void nd_deliver_fresh(unsigned warp, unsigned warps, long long row, long long call)
{
    unsigned long long *const begins = Delivery::begins(), *const before = Delivery::before();
    const unsigned long long begin = __ldcg(begins + (call & 7)), head = __ldcg(Delivery::heads());
    const unsigned long long number = head - begin;
    if (warp == 0 && nd_lane() == 0) {
        for (long long later = call + 1; later <= 2 * row + 3; ++later) __stcg(begins + (later & 7), head);
        const unsigned long long most = head - __ldcg(before + Delivery::oldest(row));
        __stcg(before + Delivery::turn(row + 1), head);
        if (most > __ldcg(Delivery::most())) atomicMax(Delivery::most(), most);
        if (number > Delivery::entries()) nd_no_room<Delivery>();
    }
    const unsigned together = warps < ND_GROUP ? 1 : ND_GROUP, groups = warps / together;
    const unsigned group = warp / together, now = Delivery::now_at(row);
    const int me = (int)(warp % together) - (together > 1), delivering = together > 1 ? ND_GROUP - 1 : 1;
    if (group >= groups) return;
    for (unsigned long long i = group; i < number; i += 32ull * groups) {
        const unsigned long long own = begin + i + (unsigned long long)groups * nd_lane();
        const bool mine = own < head;
        uint4 spike = make_uint4(0u, 0u, 0u, 0u);
        nd_waiting waiting = {0, 0, 0, 0, 0, 0, 0};
        if (mine) {
            spike = __ldcg(Delivery::fresh(own));
            waiting = nd_waiting_of<Delivery>(make_uint4(spike.x, 0u, spike.z, spike.w), (int)spike.y);
        }
        const long long bins = waiting.bin;
        nd_outgoing one = nd_take<Delivery>(waiting, (int)row);
        if (me < 0 || together == 1) nd_keep<Delivery>(row + 1, mine, own, spike, bins, waiting);
        if (me < 0) continue;
        const int upto = nd_sum_up_to_here(one.near), first = upto - one.near;
        const long long all = nd_from(upto, 31);
        const int low = (int)(all * me / delivering), high = (int)(all * (me + 1) / delivering);
        const int from = first > low ? first : low, to = upto < high ? upto : high;
        one.begin += from - first;
        one.near = to > from ? to - from : 0;
        nd_send_near<Delivery>(now, one);
    }
}

/* Delivers into a row; called by each of `warps` warps. `call`: see nd_deliver_fresh. In blocks of 512
 * threads half of the warps list first, as this waits for memory while additions wait for the L2 cache. */
template <class Delivery>
ND_FN void nd_deliver_when_due(unsigned warp, unsigned warps, long long row, int which, long long call)
{
    const bool list_first = threadIdx.x / 256 % 2 == 0;
    for (int part = 0; part < 2 && which != ND_FRESH_DUE; ++part) {
        if ((part == 0) == list_first) nd_list_due<Delivery>(warp, warps, row + 1);
        else nd_deliver_listed<Delivery>(warp, warps, row);
    }
    if (which != ND_LISTED_DUE) nd_deliver_fresh<Delivery>(warp, warps, row, call);
}
#endif
