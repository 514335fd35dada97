/* Delivery of spikes when they are due: a history of spikes, and warps that look through it.
 *
 * While the components of step k are computed, spikes of earlier rows are delivered that are due in row
 * k + 1; behind the barrier those of row k + 1 are. Each half of a block shares what its warps find.
 */
/* Spikes of a history: all, those of earlier rows, and those of the row that is delivered. */
enum { ND_ALL_SPIKES, ND_OLD_SPIKES, ND_NEW_SPIKES };

/* Spikes that are due are shared by ND_SHARING warps: those of a half of a block, or of a small block;
 * by none where steps are launched one by one. Warps w and w + 4 belong to different halves. */
enum { ND_HALVES = ND_WINDOW && ND_THREADS % 256 == 0 ? 2 : 1,
       ND_SHARING = ND_WINDOW ? ND_THREADS / 32 / ND_HALVES : 1 };

ND_FN int nd_half() { return ND_HALVES > 1 ? (int)(threadIdx.x / 128 % 2) : 0; }
ND_FN int nd_in_half()
{
    const int warp = (int)threadIdx.x / 32;
    return ND_HALVES > 1 ? warp / 8 * 4 + warp % 4 : ND_SHARING > 1 ? warp : 0;
}

#if ND_DUE
/* ND_SIDE: spikes side by side in the history that a warp looks at together: those of the last steps
 * are distributed over all warps, because most of them have something due. */
enum { ND_SIDE = 2 };

/* ND_LOOKS: loads of a thread in flight. ND_FOUND: spikes that a warp may have found. */
enum { ND_LOOKS = 2, ND_FOUND = 128 };

/* What is due of a thread: connection `begin` + i is number i of its warp, up to `end`. And the homes
 * of sources that share connections. */
struct nd_shared { long long begin; int end, more; };
__shared__ nd_shared nd_shared_due[ND_THREADS];
__shared__ int nd_shared_homes[ND_THREADS];
__shared__ unsigned nd_places[ND_THREADS / 32 * ND_FOUND];

ND_FN void nd_share()
{
    if (ND_HALVES > 1) nd_half_barrier(nd_half(), 32 * ND_SHARING);
    else if (ND_SHARING > 1) __syncthreads();
    else nd_together();
}
ND_FN bool nd_share_any(bool x)
{
    if (ND_HALVES > 1) return nd_half_vote(nd_half(), 32 * ND_SHARING, x);
    return ND_SHARING > 1 ? __syncthreads_or(x) : nd_ballot(x) != 0;
}

/* Called by a warp: adds the spikes of its threads to the history, as spikes of a row. `outgoing`
 * holds source, or the row that it shares, least delay in steps less one, whether there are
 * connections, the weight, and the home. */
template <class Delivery> ND_FN void nd_remember(long long row, const nd_outgoing &outgoing)
{
    const bool mine = outgoing.far && outgoing.more;
    const unsigned all = nd_ballot(mine);
    if (!all) return;
    unsigned long long at = 0;
    if (nd_lane() == 0) at = atomicAdd(Delivery::heads(), (unsigned long long)nd_bits_in(all));
    const unsigned place = Delivery::place(nd_from(at, 0) + nd_lower(all));
    if (!mine) return;
    __stcg(Delivery::due() + place, (int)row + outgoing.near);
    __stcg(Delivery::sent() + place, make_uint4((unsigned)outgoing.begin, 0u, (unsigned)outgoing.more, (unsigned)outgoing.home));
}

/* The connections of a spike that are due in a row; marks in the history when it is due again. It may
 * have none left if the history had no room and another spike was written over it: the run is wrong then. */
template <class Delivery> ND_FN nd_outgoing nd_take_due(unsigned place, int row)
{
    uint4 spike = __ldcg(Delivery::sent() + place);
    if (spike.y == 0xffffffffu) return {0, 0, 0, 0, 0};
    const long long bins = Delivery::bin(spike.x), last = Delivery::bin(spike.x + 1ll);
    long long bin = bins + spike.y;
    const int begin = spike.y ? Delivery::end(bin - 1) : 0, end = Delivery::end(bin);
    const nd_outgoing out = {Delivery::first(spike.x) + begin, end - begin, 0, (int)spike.z, (int)spike.w};
    do ++bin; while (bin < last && Delivery::end(bin) == end);
    const int later = (int)(bin - bins) - (int)spike.y;
    spike.y = bin < last ? (unsigned)(bin - bins) : 0xffffffffu;   /* never again */
    __stcg(Delivery::due() + place, bin < last ? row + later : row - 1);
    __stcg(Delivery::sent() + place, spike);
    return out;
}

/* Called by all warps that share their work: delivers along the connections of all their threads,
 * packed, and each warp along as many as the others. */
template <class Delivery> ND_FN void nd_deliver_shared(unsigned now, const nd_outgoing &outgoing)
{
    const int first = ND_SHARING > 1 ? 32 * ND_SHARING * nd_half() : (int)(threadIdx.x & ~31u);
    nd_shared *const shared = nd_shared_due + first;
    int *const homes = nd_shared_homes + first;
    const int me = nd_in_half(), mine = nd_sum_up_to_here(outgoing.near);
    shared[32 * me + nd_lane()] = {outgoing.begin - (mine - outgoing.near), mine, outgoing.more};
    if (Delivery::shared) homes[32 * me + nd_lane()] = outgoing.home;
    nd_share();
    const int total = nd_lane() < ND_SHARING ? shared[32 * (nd_lane() % ND_SHARING) + 31].end : 0;
    const int upto = nd_sum_up_to_here(total);
    const long long all = nd_from(upto, 31);
    const int low = (int)(all * me / ND_SHARING), high = (int)(all * (me + 1) / ND_SHARING);
    ND_ROLLED
    for (int warp = 0; warp < ND_SHARING; ++warp) {
        const int begin = nd_from(upto - total, warp), end = nd_from(upto, warp);
        if (end <= low || begin >= high) continue;
        const nd_shared one = shared[32 * warp + nd_lane()];
        const int before = nd_lane() ? shared[32 * warp + nd_lane() - 1].end : 0;
        const int from = begin + before > low ? before : low - begin;
        const int to = begin + one.end < high ? one.end : high - begin;
        const int home = Delivery::shared ? homes[32 * warp + nd_lane()] : 0;
        nd_send_near<Delivery>(now, {one.begin + from, to > from ? to - from : 0, 0, one.more, home});
    }
}

/* Delivers what is due in a row, of some spikes; called by each of `warps` warps, when all these spikes
 * are in the history. A warp first finds 32 spikes that are due. Words of `heads`: number of spikes, most
 * of them at once, and their number before each row. */
template <class Delivery> ND_FN void nd_deliver_when_due(unsigned warp, unsigned warps, long long row, int which)
{
    unsigned long long *const heads = Delivery::heads(), *const before = heads + 2;
    const unsigned long long oldest = __ldcg(before + Delivery::turn(row + 2));
    const unsigned long long fresh = __ldcg(before + Delivery::turn(row));
    const unsigned long long head = which == ND_OLD_SPIKES ? fresh : __ldcg(heads);
    const unsigned long long tail = which == ND_NEW_SPIKES ? fresh : oldest;
    const unsigned long long number = head - tail;
    if (which != ND_OLD_SPIKES && warp == 0 && nd_lane() == 0) {
        __stcg(before + Delivery::turn(row + 1), head);
        if (head - oldest > __ldcg(heads + 1)) __stcg(heads + 1, head - oldest);
    }
    const unsigned now = Delivery::now_at(row);
    const unsigned side = which == ND_NEW_SPIKES ? 1 : ND_SIDE;
    const unsigned own = nd_lane() / side * side * warps + warp * side + nd_lane() % side;
    unsigned *const places = nd_places + threadIdx.x / 32 * ND_FOUND;
    unsigned long long next = own;
    unsigned found = 0, done = 0;
    for (bool more = true; more;) {
        for (; found - done < 32 && next - own < number; next += 32ull * ND_LOOKS * warps) {
            unsigned place[ND_LOOKS];
            int when[ND_LOOKS];
            ND_UNROLL
            for (int j = 0; j < ND_LOOKS; ++j) {
                const unsigned long long i = next + 32ull * warps * j;
                place[j] = Delivery::place(tail + i);
                when[j] = i < number ? __ldcg(Delivery::due() + place[j]) : (int)row - 1;
            }
            ND_UNROLL
            for (int j = 0; j < ND_LOOKS; ++j) {
                const unsigned some = nd_ballot(when[j] == (int)row);
                if (when[j] == (int)row) places[(found + nd_lower(some)) % ND_FOUND] = place[j];
                found += (unsigned)nd_bits_in(some);
            }
        }
        nd_together();
        nd_outgoing out = {0, 0, 0, 0, 0};
        if (done + nd_lane() < found) out = nd_take_due<Delivery>(places[(done + nd_lane()) % ND_FOUND], (int)row);
        done = found - done < 32 ? found : done + 32;
        nd_deliver_shared<Delivery>(now, out);
        more = nd_share_any(found > done || next - own < number);
    }
}
#endif
