/* Delivery of spikes to the slots of their targets.
 *
 * `Delivery` is a struct that the generator writes for one access (codegen/simt/spike_delivery.py).
 * It stores the connections by their sources, or computes them where it is `computed`.
 * `outgoing(source)` returns where the connections of a source lie; those that are due in the next
 * step come first. `code(p)` is the slot of connection p, relative to the first slot of a row.
 * `multiple(p, q)` is its integer weight into slot q; 0 where a computed p is no connection. `codes`
 * and `multiples` are four of them, of stored connections. Where sources share connections, the
 * slots of each are `home` slots further on.
 *
 * Connections that are due later pass through a list of pieces; with ND_LOOKAHEAD all do, a step early.
 * The warps that compute spikes write the list, and the delivering warps read it after the barrier. One
 * list belongs to one turn: a step, or a window of ND_WINDOW steps. Two lists alternate. Four counters of pieces alternate, too:
 * one is written, one is read, and one is set to zero. What is delivered when due: due_delivery.cuh.
 */

/* The turn in which a row is written: row k + 1 in step k. */
ND_FN long long nd_turn(long long row)
{
    return ND_WINDOW ? (row - 1) / (ND_WINDOW + !ND_WINDOW) : row - 1;
}

/* The number of the list that gets the pieces of a row's spikes. With ND_LOOKAHEAD list n is delivered in
 * step n, else in step n + 1. A spike that is not sent `early` goes into the next list then. */
ND_FN long long nd_list_of(long long row, bool early) { return nd_turn(row) + (ND_LOOKAHEAD && !early); }

/* The L2 policy of slots: evict them last. Slots are used in every step, connections rarely. The
 * policy is created once for many additions, because it costs six instructions. */
ND_FN unsigned long long nd_slots_stay()
{
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/* Loads a piece here: a compiler would move a plain load to where its value is used. */
ND_FN uint4 nd_ask_for(const uint4 *p)
{
    uint4 x;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(p));
    return x;
}

/* Adds `times` * `more` to a slot if i < end, without reading the old value. A predicate takes the
 * place of a branch: few warps deliver at a time, so latency counts. */
ND_FN void nd_add(unsigned i, unsigned end, int *to, int more, int times, unsigned long long policy)
{
    asm volatile("{ .reg .pred on; setp.lt.u32 on, %0, %1;"
                 " @on red.relaxed.gpu.global.add.L2::cache_hint.s32 [%2], %3, %4; }"
                 :: "r"(i), "r"(end), "l"(to), "r"(more * times), "l"(policy) : "memory");
}
ND_FN void nd_add(unsigned i, unsigned end, long long *to, int more, int times, unsigned long long policy)
{
    asm volatile("{ .reg .pred on; .reg .b64 all; setp.lt.u32 on, %0, %1; mul.wide.s32 all, %3, %4;"
                 " @on red.relaxed.gpu.global.add.L2::cache_hint.u64 [%2], all, %5; }"
                 :: "r"(i), "r"(end), "l"(to), "r"(more), "r"(times), "l"(policy) : "memory");
}

ND_FN int nd_sum_up_to_here(int x)
{
    ND_UNROLL
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(0xffffffffu, x, d);
        x += nd_lane() >= d ? other : 0;
    }
    return x;
}

#if ND_DELIVERS
struct nd_outgoing {
    long long begin;        /* first connection of the source */
    int near, far;          /* connections that are due in the next step, and later */
    int more;               /* integer weight of the source, then times its number of spikes */
    int home;               /* added to slots where `Delivery::shared` */
};
static_assert(sizeof(nd_outgoing) == ND_OUTGOING_BYTES, "the cache in shared memory counts on this size");

struct nd_spike_lists {
    uint4 *pieces;          /* (2, capacity) */
    unsigned *number;       /* (4,) */
    long long capacity;
};

#if ND_COPIES
__shared__ nd_spike_lists nd_spike_list;
#else
extern "C" { __constant__ nd_spike_lists nd_spike_list; }
#endif

/* ND_FOURS: connections that a warp loads together in vectors of four, whatever the alignment.
 * ND_LISTED_PIECE: connections of a piece. Where all are listed, fewer and longer pieces are faster.
 * ND_ROUNDS: loads of 32 single stored connections that are in flight together.
 * ND_FEW_PIECES: largest number of pieces that one thread appends alone. */
enum { ND_FOURS = 2 * ND_PIECE - 4, ND_LISTED_PIECE = ND_LOOKAHEAD ? ND_FOURS : ND_PIECE,
        ND_ROUNDS = ND_PIECE / (ND_ROOMY ? 16 : 32), ND_FEW_PIECES = 3 };

#if ND_CACHED
/* Cache in shared memory: entry j of each thread, for components of any unit. */
__shared__ nd_outgoing nd_outgoing_cache[ND_CACHED];
ND_FN int nd_cache_index(int j) { return j * ND_THREADS + (int)threadIdx.x; }
#endif

/* Loads four numbers. The array is aligned to 16 bytes, the index is a multiple of four. */
ND_FN int4 nd_take_four(const int *p) { return __ldg((const int4 *)p); }
ND_FN int4 nd_take_four(const short *p)
{
    const short4 x = __ldg((const short4 *)p);
    return make_int4(x.x, x.y, x.z, x.w);
}
ND_FN int4 nd_take_four(const signed char *p)
{
    const char4 x = __ldg((const char4 *)p);
    return make_int4(x.x, x.y, x.z, x.w);
}

/* The lower and the upper bits of four numbers. */
ND_FN int4 nd_below(int4 x, int bits)
{
    const int mask = (1 << bits) - 1;
    return make_int4(x.x & mask, x.y & mask, x.z & mask, x.w & mask);
}
ND_FN int4 nd_above(int4 x, int bits)
{
    return make_int4(x.x >> bits, x.y >> bits, x.z >> bits, x.w >> bits);
}

/* The first slot of a row, for connections of a source. */
template <class Delivery> ND_FN unsigned nd_now_of(unsigned now, const nd_outgoing &outgoing)
{
    return Delivery::shared ? now + (unsigned)outgoing.home : now;
}

/* A weight as a multiple of the unit of slot q's target. */
ND_FN int nd_in_units(const double *exact, const double *per_unit, unsigned width, unsigned q)
{
    return (int)rint(__ldg(exact) * __ldg(per_unit + q % width));
}
ND_FN int4 nd_four_in_units(const double *exact, const double *per_unit, unsigned width, unsigned now, int4 code)
{
    const int4 all = make_int4(nd_in_units(exact, per_unit, width, now + (unsigned)code.x),
                               nd_in_units(exact + 1, per_unit, width, now + (unsigned)code.y),
                               nd_in_units(exact + 2, per_unit, width, now + (unsigned)code.z),
                               nd_in_units(exact + 3, per_unit, width, now + (unsigned)code.w));
    return all;
}

/* What a warp does while it waits for connections: nothing. */
struct nd_idle { ND_MEMBER void operator()() const {} };

/* A warp delivers along connections begin .. begin + length - 1 that are stored, at most ND_FOURS of
 * them. It loads all of them first, in vectors of four; elements outside the range are ignored.
 * `meanwhile` is called while it waits for them. */
template <class Delivery, class Meanwhile>
ND_FN void nd_deliver_stored(long long begin, int length, unsigned now, int more, Meanwhile &meanwhile)
{
    const unsigned long long policy = nd_slots_stay();
    const int before = (int)begin & 3;
    int4 code[2], multiple[2];
    ND_UNROLL
    for (int j = 0; j < 2; ++j) {
        const int i = j * ND_PIECE + 4 * nd_lane(), mine = i < before + length ? i : 0;
        code[j] = Delivery::codes(begin - before + mine);
        multiple[j] = Delivery::multiples(begin - before + mine, now, code[j]);
    }
    meanwhile();
    ND_UNROLL
    for (int j = 0; j < 2; ++j) {
        const unsigned i = (unsigned)(j * ND_PIECE + 4 * nd_lane() - before);   /* may be before 0 */
        const int q[4] = {code[j].x, code[j].y, code[j].z, code[j].w};
        const int m[4] = {multiple[j].x, multiple[j].y, multiple[j].z, multiple[j].w};
        ND_UNROLL
        for (unsigned l = 0; l < 4; ++l)
            nd_add(i + l, (unsigned)length, Delivery::at(now + (unsigned)q[l]), m[l], more, policy);
    }
}

/* The same along connections that are computed. A thread computes one after the other: with four side
 * by side registers spill. */
template <class Delivery> ND_FN void nd_deliver_computed(long long begin, int length, unsigned now, int more)
{
    const unsigned long long policy = nd_slots_stay();
    for (int i = nd_lane(); i < length; i += 32) {
        const unsigned q = now + Delivery::code(begin + i);
        const int multiple = Delivery::multiple(begin + i, q);
        nd_add(0, multiple != 0, Delivery::at(q), multiple, more, policy);
    }
}

template <class Delivery, class Meanwhile = nd_idle>
ND_FN void nd_deliver(long long begin, int length, unsigned now, int more, Meanwhile &&meanwhile = Meanwhile())
{
    if constexpr (Delivery::computed) nd_deliver_computed<Delivery>(begin, length, now, more);
    else nd_deliver_stored<Delivery>(begin, length, now, more, meanwhile);
}

/* Delivers what is due in the next step: along the connections of all threads of a warp, packed.
 * `meanwhile` may be called several times, or not at all. */
template <class Delivery, class Meanwhile = nd_idle>
ND_FN void nd_send_near(unsigned now, const nd_outgoing &outgoing, Meanwhile &&meanwhile = Meanwhile())
{
    const unsigned have = nd_ballot(outgoing.near > 0);
    if (have == 0) return;
    if ((have & (have - 1)) == 0) {
        const int from = __ffs((int)have) - 1;
        const long long begin = nd_from(outgoing.begin, from);
        const int count = nd_from(outgoing.near, from), more = nd_from(outgoing.more, from);
        if (Delivery::shared) now = nd_from(nd_now_of<Delivery>(now, outgoing), from);
        for (int i = 0; i < count; i += ND_FOURS)
            nd_deliver<Delivery>(begin + i, count - i < ND_FOURS ? count - i : ND_FOURS, now, more, meanwhile);
        return;
    }
    const int end = nd_sum_up_to_here(outgoing.near), total = nd_from(end, 31);
    const long long begin = outgoing.begin - (end - outgoing.near);
    const unsigned long long policy = nd_slots_stay();
    constexpr int rounds = Delivery::computed ? 1 : ND_ROUNDS;
    for (int base = 0; base < total; base += 32 * rounds) {
        unsigned q[rounds];
        int m[rounds], more[rounds];
        ND_UNROLL
        for (int j = 0; j < rounds; ++j) {
            const int mine = base + j * 32 + nd_lane(), i = mine < total ? mine : total - 1;
            int from = 0;   /* first thread whose connections end after i */
            ND_UNROLL
            for (int d = 16; d; d /= 2) from += nd_from(end, from + d - 1) <= i ? d : 0;
            const long long p = nd_from(begin, from) + i;
            q[j] = now + Delivery::code(p);
            if (Delivery::shared) q[j] += (unsigned)nd_from(outgoing.home, from);
            m[j] = Delivery::multiple(p, q[j]);
            more[j] = nd_from(outgoing.more, from);
        }
        meanwhile();
        ND_UNROLL
        for (int j = 0; j < rounds; ++j)
            nd_add((unsigned)(base + j * 32 + nd_lane()), (unsigned)total, Delivery::at(q[j]), m[j], more[j], policy);
    }
}

ND_FN uint4 nd_piece(int delivery, long long begin, long long end, unsigned now, int more)
{
    const unsigned length = end - begin < ND_LISTED_PIECE ? (unsigned)(end - begin) : ND_LISTED_PIECE;
    const unsigned high = (unsigned)(begin >> 32) | length << 8 | (unsigned)delivery << 16;
    return make_uint4((unsigned)begin, high, now, (unsigned)more);
}

/* Lets all connections be due later: they are listed, none is delivered at once. */
ND_FN void nd_all_later(nd_outgoing &outgoing) { outgoing.far += outgoing.near, outgoing.near = 0; }

ND_FN int nd_pieces(const nd_outgoing &outgoing)
{
    return (outgoing.far + ND_LISTED_PIECE - 1) / ND_LISTED_PIECE;
}

/* Space in the list for pieces: of thread 0's warp from piece `at` on, of this thread `before` later. */
struct nd_space { unsigned at; int before; };

/* Called by a warp: reserves space in the list for `count` pieces of each thread. The answer takes as
 * long as a load. */
ND_FN nd_space nd_reserve(long long turn, int count)
{
    const int end = nd_sum_up_to_here(count), total = nd_from(end, 31);
    unsigned at = 0;
    if (nd_lane() == 0 && total) at = atomicAdd(nd_spike_list.number + (turn & 3), (unsigned)total);
    return {at, end - count};
}

/* Space that a warp reserves once, while it waits for connections: its answer and they come together.
 * A load that follows it waits for the answer, as the processor has few scoreboards. */
struct nd_reservation {
    long long turn;
    int count;
    bool some;              /* whether any thread has pieces */
    bool asked;
    nd_space space;

    ND_MEMBER void operator()()
    {
        if (some && !asked) space = nd_reserve(turn, count), asked = true;
    }

    /* Where the space begins for this thread. */
    ND_MEMBER uint4 *room() const
    {
        return nd_spike_list.pieces + (turn & 1) * nd_spike_list.capacity + nd_from(space.at, 0) + space.before;
    }
};

/* Appends the pieces of what is due later. A thread appends few pieces alone, the warp appends many
 * together. Returns the address behind them. */
template <class Delivery> ND_FN uint4 *nd_send_far(uint4 *to, unsigned now, const nd_outgoing &outgoing)
{
    const int count = nd_pieces(outgoing);
    const unsigned mine = nd_now_of<Delivery>(now, outgoing);
    const long long begin = outgoing.begin + outgoing.near, end = begin + outgoing.far;
    for (unsigned many = nd_ballot(count > ND_FEW_PIECES); many; many &= many - 1) {
        const int from = __ffs((int)many) - 1, pieces = nd_from(count, from);
        const long long first = nd_from(begin, from), last = nd_from(end, from);
        const int more = nd_from(outgoing.more, from);
        if (Delivery::shared) now = nd_from(mine, from);
        uint4 *first_piece = (uint4 *)nd_from((unsigned long long)to, from);
        for (int i = nd_lane(); i < pieces; i += 32)
            __stcg(first_piece + i, nd_piece(Delivery::number, first + (long long)i * ND_LISTED_PIECE, last, now, more));
    }
    if (count <= ND_FEW_PIECES)
        for (int i = 0; i < count; ++i)
            __stcg(to + i, nd_piece(Delivery::number, begin + (long long)i * ND_LISTED_PIECE, end, mine, outgoing.more));
    return to + count;
}

/* One thread delivers along all connections of a source. */
template <class Delivery> ND_FN void nd_send_own(unsigned now, const nd_outgoing &outgoing)
{
    const long long end = outgoing.begin + outgoing.near + outgoing.far;
    const unsigned long long policy = nd_slots_stay();
    now = nd_now_of<Delivery>(now, outgoing);
    for (long long p = outgoing.begin; p < end; ++p) {
        const unsigned q = now + Delivery::code(p);
        nd_add(0, 1, Delivery::at(q), Delivery::multiple(p, q), outgoing.more, policy);
    }
}

#endif
