/* Spikes on their way to the slots of their targets: a list of pieces of connections, written by
 * whoever computes the spikes of a turn, and read by all warps that deal. A turn is a step, or a
 * window of ND_WINDOW steps. Two lists take turns, and four numbers of pieces: one is written, one
 * is read, one is set to zero. */

/* The turn in which a row is written: row k + 1 in step k. */
ND_FN long long nd_turn(long long row)
{
    return ND_WINDOW ? (row - 1) / (ND_WINDOW + !ND_WINDOW) : row - 1;
}

#if ND_MAIL
struct nd_mailbox {
    uint4 *pieces;          /* (2, capacity) */
    unsigned *number;       /* (4,) */
    long long capacity;
};

extern "C" { __constant__ nd_mailbox nd_mail; }

/* List connections begin .. end - 1 of a fan, by a warp. */
ND_FN void nd_list_pieces(long long row, int fan, long long begin, long long end, unsigned now, int more)
{
    const long long turn = nd_turn(row);
    const int number = (int)((end - begin + ND_PIECE - 1) / ND_PIECE);
    if (number <= 0) return;
    unsigned at = 0;
    if (nd_lane() == 0) at = atomicAdd(nd_mail.number + (turn & 3), (unsigned)number);
    at = __shfl_sync(0xffffffffu, at, 0);
    uint4 *to = nd_mail.pieces + (turn & 1) * nd_mail.capacity + at;
    for (int i = nd_lane(); i < number; i += 32) {
        const long long p = begin + (long long)i * ND_PIECE;
        const unsigned length = end - p < ND_PIECE ? (unsigned)(end - p) : ND_PIECE;
        const unsigned high = (unsigned)(p >> 32) | length << 8 | (unsigned)fan << 16;
        __stcg(to + i, make_uint4((unsigned)p, high, now, (unsigned)more));
    }
}
#endif
