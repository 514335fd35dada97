/* Spikes on their way to the slots of their targets.
 *
 * A `Fan` holds the connections of one access by their sources (see mail.py): `letter(source)`
 * tells where those of a source lie, those at whose targets a spike is due at once before the
 * others; `code(p)` how far ahead of a row of slots a connection's slot lies; `multiple(p)` what a
 * spike adds to it.
 *
 * The other connections go by a list of pieces, written by whoever computes the spikes of a turn,
 * and read by all warps that deal. A turn is a step, or a window of ND_WINDOW steps. Two lists take
 * turns, and four numbers of pieces: one is written, one is read, one is set to zero.
 */

/* The turn in which a row is written: row k + 1 in step k. */
ND_FN long long nd_turn(long long row)
{
    return ND_WINDOW ? (row - 1) / (ND_WINDOW + !ND_WINDOW) : row - 1;
}

#if ND_MAIL
struct nd_letter {
    long long begin;        /* first connection */
    int near, far;          /* how many are due at once, how many are not */
    int more;               /* the source's own multiple; then times its spikes */
};
static_assert(sizeof(nd_letter) == ND_LETTER, "the shelf is cut by the bytes of a letter");

struct nd_mailbox {
    uint4 *pieces;          /* (2, capacity) */
    unsigned *number;       /* (4,) */
    long long capacity;
};

extern "C" { __constant__ nd_mailbox nd_mail; }

/* Connections that a warp asks for at once in fours, from any place on; times that it asks for
 * single ones, 32 at a time, where there are registers for them; pieces that a thread lists. */
enum { ND_FOURS = 2 * ND_PIECE - 4, ND_ROUNDS = ND_PIECE / (ND_ROOMY ? 16 : 32), ND_FEW_PIECES = 3 };

#if ND_SHELF
/* Where the connections of the threads' components are, in shared memory: letter j of each thread,
 * whichever unit its components are of. */
__shared__ nd_letter nd_shelf[ND_SHELF];
ND_FN int nd_on_shelf(int j) { return j * ND_THREADS + (int)threadIdx.x; }
#endif

/* Four numbers of an array that begins at 16 bytes, from a multiple of four on. */
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

/* Slots are reached again and again, connections once in a long time: these are to leave the L2
 * cache first. Asked for once, not at each addition: that would be six instructions. */
ND_FN unsigned long long nd_slots_stay()
{
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/* Add `times` times `more` without an answer, if `i` is less than `end`. There is no branch: what
 * is behind a spike runs rarely and alone, and each instruction of it is waited for. */
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

/* Connections begin .. begin + length - 1, by a warp; ND_FOURS of them at most. They are asked for
 * all at once, in fours; those before the first and after the last one are let go. */
template <class Fan> ND_FN void nd_deal(long long begin, int length, unsigned now, int more)
{
    const unsigned long long policy = nd_slots_stay();
    const int before = (int)begin & 3;
    int4 code[2], multiple[2];
    ND_UNROLL
    for (int j = 0; j < 2; ++j) {
        const int i = j * ND_PIECE + 4 * nd_lane(), mine = i < before + length ? i : 0;
        code[j] = Fan::codes(begin - before + mine);
        multiple[j] = Fan::multiples(begin - before + mine);
    }
    ND_UNROLL
    for (int j = 0; j < 2; ++j) {
        const unsigned i = (unsigned)(j * ND_PIECE + 4 * nd_lane() - before);   /* may be before 0 */
        const int q[4] = {code[j].x, code[j].y, code[j].z, code[j].w};
        const int m[4] = {multiple[j].x, multiple[j].y, multiple[j].z, multiple[j].w};
        ND_UNROLL
        for (unsigned l = 0; l < 4; ++l)
            nd_add(i + l, (unsigned)length, Fan::at(now + (unsigned)q[l]), m[l], more, policy);
    }
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

/* What is due at once: the connections of all letters of a warp one after the other. */
template <class Fan> ND_FN void nd_send_near(unsigned now, const nd_letter &letter)
{
    const unsigned have = nd_ballot(letter.near > 0);
    if (have == 0) return;
    if ((have & (have - 1)) == 0) {
        const int from = __ffs((int)have) - 1;
        const long long begin = nd_from(letter.begin, from);
        const int count = nd_from(letter.near, from), more = nd_from(letter.more, from);
        for (int i = 0; i < count; i += ND_FOURS)
            nd_deal<Fan>(begin + i, count - i < ND_FOURS ? count - i : ND_FOURS, now, more);
        return;
    }
    const int end = nd_sum_up_to_here(letter.near), total = nd_from(end, 31);
    const long long begin = letter.begin - (end - letter.near);
    const unsigned long long policy = nd_slots_stay();
    for (int base = 0; base < total; base += 32 * ND_ROUNDS) {
        unsigned q[ND_ROUNDS];
        int m[ND_ROUNDS], more[ND_ROUNDS];
        ND_UNROLL
        for (int j = 0; j < ND_ROUNDS; ++j) {
            const int mine = base + j * 32 + nd_lane(), i = mine < total ? mine : total - 1;
            int from = 0;   /* first letter that ends after connection i */
            ND_UNROLL
            for (int d = 16; d; d /= 2) from += nd_from(end, from + d - 1) <= i ? d : 0;
            const long long p = nd_from(begin, from) + i;
            q[j] = now + Fan::code(p);
            m[j] = Fan::multiple(p);
            more[j] = nd_from(letter.more, from);
        }
        ND_UNROLL
        for (int j = 0; j < ND_ROUNDS; ++j)
            nd_add((unsigned)(base + j * 32 + nd_lane()), (unsigned)total, Fan::at(q[j]), m[j], more[j], policy);
    }
}

ND_FN uint4 nd_piece(int fan, long long begin, long long end, unsigned now, int more)
{
    const unsigned length = end - begin < ND_PIECE ? (unsigned)(end - begin) : ND_PIECE;
    const unsigned high = (unsigned)(begin >> 32) | length << 8 | (unsigned)fan << 16;
    return make_uint4((unsigned)begin, high, now, (unsigned)more);
}

ND_FN int nd_pieces(const nd_letter &letter) { return (letter.far + ND_PIECE - 1) / ND_PIECE; }

/* Where the pieces of a thread are to be listed, `count` of them; by a warp. */
ND_FN uint4 *nd_room(long long row, int count)
{
    const int end = nd_sum_up_to_here(count), total = nd_from(end, 31);
    const long long turn = nd_turn(row);
    unsigned at = 0;
    if (nd_lane() == 0 && total) at = atomicAdd(nd_mail.number + (turn & 3), (unsigned)total);
    return nd_mail.pieces + (turn & 1) * nd_mail.capacity + nd_from(at, 0) + end - count;
}

/* List what is due later: a few pieces by their thread, many by the warp. Returns what follows. */
template <class Fan> ND_FN uint4 *nd_send_far(uint4 *to, unsigned now, const nd_letter &letter)
{
    const int count = nd_pieces(letter);
    const long long begin = letter.begin + letter.near, end = begin + letter.far;
    for (unsigned many = nd_ballot(count > ND_FEW_PIECES); many; many &= many - 1) {
        const int from = __ffs((int)many) - 1, pieces = nd_from(count, from);
        const long long first = nd_from(begin, from), last = nd_from(end, from);
        const int more = nd_from(letter.more, from);
        uint4 *place = (uint4 *)nd_from((unsigned long long)to, from);
        for (int i = nd_lane(); i < pieces; i += 32)
            __stcg(place + i, nd_piece(Fan::number, first + (long long)i * ND_PIECE, last, now, more));
    }
    if (count <= ND_FEW_PIECES)
        for (int i = 0; i < count; ++i)
            __stcg(to + i, nd_piece(Fan::number, begin + (long long)i * ND_PIECE, end, now, letter.more));
    return to + count;
}

/* All connections of a source, by a thread of its own. */
template <class Fan> ND_FN void nd_send_own(unsigned now, const nd_letter &letter)
{
    const long long end = letter.begin + letter.near + letter.far;
    const unsigned long long policy = nd_slots_stay();
    for (long long p = letter.begin; p < end; ++p)
        nd_add(0, 1, Fan::at(now + Fan::code(p)), Fan::multiple(p), letter.more, policy);
}
#endif
