/* What the synapses of a GPU have counted, packed for other GPUs: rows without counts take a word, and
 * of other rows the numbers that are not 0 lie one after the other, in 4 bytes each where all fit. */
struct nd_packed {
    int *bytes;                 /* (rows,): of each number of a row, 4 or 8; 0 without numbers */
    unsigned *masks;            /* which synapses have a number, 32 in a word */
    long long *numbers;         /* (synapses,): those of a row begin where the row does */
};

enum { ND_TOGETHER = 4 };       /* loads that a thread waits for together */

/* Where the masks of a row begin: each row begins a new word, so those of two rows never overlap. */
ND_FN unsigned *nd_masks_of(nd_packed s, long long row, long long begin) { return s.masks + (begin / 32 + row); }

/* The threads of a warp pack the numbers of a row that are not 0: in 8 bytes each if they are `large`, else
 * in 4. Returns how many there are, or -1 if some number needs more than 4 bytes. */
ND_FN long long nd_pack_numbers(nd_packed to, long long row, long long begin, long long end, const long long *counts,
                                bool large)
{
    unsigned *masks = nd_masks_of(to, row, begin);
    long long number = 0;
    bool fits = true;
    for (long long p = begin + nd_lane(); p - nd_lane() < end; p += 32 * ND_TOGETHER) {
        long long n[ND_TOGETHER];
        ND_UNROLL
        for (int i = 0; i < ND_TOGETHER; ++i) n[i] = p + 32 * i < end ? counts[p + 32 * i] : 0;
        ND_UNROLL
        for (int i = 0; i < ND_TOGETHER; ++i) {
            const unsigned mask = nd_ballot(n[i] != 0);
            const long long place = number + nd_lower(mask);
            if (nd_lane() == 0 && p + 32 * i < end) *masks = mask;
            if (n[i] && large) to.numbers[begin + place] = n[i];
            if (n[i] && !large) ((int *)(to.numbers + begin))[place] = (int)n[i];
            fits &= large || n[i] == (int)n[i];
            number += nd_bits_in(mask);
            ++masks;
        }
    }
    return nd_ballot(!fits) ? -1 : number;
}

/* The threads of a warp pack a row. */
ND_FN void nd_pack_row(nd_packed to, long long row, const long long *first, const long long *counts, const int *marks)
{
    const long long begin = first[row], end = first[row + 1];
    long long number = marks[row] ? nd_pack_numbers(to, row, begin, end, counts, false) : 0;
    const bool large = number < 0;
    nd_together();      /* what is stored now comes behind what was stored before */
    if (large) number = nd_pack_numbers(to, row, begin, end, counts, true);
    if (nd_lane() == 0) to.bytes[row] = number ? (large ? 8 : 4) : 0;
}

/* The threads of a warp add what another GPU has packed of a row. */
ND_FN void nd_add_row(nd_packed from, long long row, const long long *first, long long *counts, int *marks)
{
    const int bytes = from.bytes[row];
    if (!bytes) return;
    const long long begin = first[row], end = first[row + 1];
    const unsigned *masks = nd_masks_of(from, row, begin);
    long long number = 0;
    for (long long p = begin + nd_lane(); p - nd_lane() < end; p += 32 * ND_TOGETHER) {
        unsigned mask[ND_TOGETHER];
        long long n[ND_TOGETHER];
        ND_UNROLL
        for (int i = 0; i < ND_TOGETHER; ++i) mask[i] = p - nd_lane() + 32 * i < end ? *masks++ : 0;
        ND_UNROLL
        for (int i = 0; i < ND_TOGETHER; ++i) {
            const long long place = number + nd_lower(mask[i]);
            const bool has = mask[i] >> nd_lane() & 1;
            n[i] = !has ? 0 : bytes == 8 ? from.numbers[begin + place] : ((const int *)(from.numbers + begin))[place];
            number += nd_bits_in(mask[i]);
        }
        ND_UNROLL
        for (int i = 0; i < ND_TOGETHER; ++i)
            if (n[i]) counts[p + 32 * i] += n[i];
    }
    if (nd_lane() == 0) marks[row] = 1;
}
