/* What the synapses of a GPU have counted, packed in the memory of other GPUs: rows without counts take a
 * word, and of other rows the numbers that are not 0 lie one after the other, in 4 bytes each where all fit.
 * A warp packs a row when it has counted it. Before it applies the counts of a row, it adds what others have
 * packed. */
struct nd_packed {
    int *bytes;                 /* (rows,): of each number of a row, 4 or 8; 0 without numbers */
    unsigned *masks;            /* which synapses have a number, 32 in a word */
    long long *numbers;         /* (synapses,): those of a row begin where the row does */
};

enum { ND_ALONE, ND_PACKS, ND_ADDS };   /* how a run takes part: not at all, or it packs or adds counts */

enum { ND_TOGETHER = 4 };       /* loads that a thread waits for together */

/* A row among those of all sets, and its synapses `begin` to `end` among all synapses. */
struct nd_row_place {
    long long row, begin, end;
    ND_MEMBER nd_row_place(const nd_synapses &s, int j)
        : row(s.row + j), begin(s.synapse + s.first[j]), end(s.synapse + s.first[j + 1]) {}
};

/* Where the masks of a row begin: each row begins a new word, so those of two rows never overlap. */
ND_FN unsigned *nd_masks_of(nd_packed s, const nd_row_place &at) { return s.masks + (at.begin / 32 + at.row); }

/* The threads of a warp pack the numbers of a row that are not 0, for some GPUs: in 8 bytes each if they are
 * `large`, else in 4. `counts` are those of all sets. Returns how many there are, or -1 if some number needs
 * more than 4 bytes. */
ND_FN long long nd_pack_numbers(const nd_packed *to, int gpus, const nd_row_place &at, const long long *counts,
                                bool large)
{
    long long number = 0, words = 0;
    bool fits = true;
    for (long long p = at.begin + nd_lane(); p - nd_lane() < at.end; p += 32 * ND_TOGETHER) {
        long long n[ND_TOGETHER];
        ND_UNROLL
        for (int i = 0; i < ND_TOGETHER; ++i) n[i] = p + 32 * i < at.end ? counts[p + 32 * i] : 0;
        ND_UNROLL
        for (int i = 0; i < ND_TOGETHER; ++i) {
            const unsigned mask = nd_ballot(n[i] != 0);
            const long long place = number + nd_lower(mask);
            for (int gpu = 0; gpu < gpus; ++gpu) {
                const nd_packed s = to[gpu];
                if (nd_lane() == 0 && p + 32 * i < at.end) nd_masks_of(s, at)[words] = mask;
                if (n[i] && large) s.numbers[at.begin + place] = n[i];
                if (n[i] && !large) ((int *)(s.numbers + at.begin))[place] = (int)n[i];
            }
            fits &= large || n[i] == (int)n[i];
            number += nd_bits_in(mask);
            ++words;
        }
    }
    return nd_ballot(!fits) ? -1 : number;
}

/* The threads of a warp pack the counts of row j of a set for other GPUs. */
ND_FN void nd_pack_row(const nd_packed *to, int gpus, const nd_synapses &s, int j)
{
    nd_together();      /* thread 0 has set the mark */
    const nd_row_place at(s, j);
    const long long *const counts = s.counts - s.synapse;
    long long number = s.marks[j] ? nd_pack_numbers(to, gpus, at, counts, false) : 0;
    const bool large = number < 0;
    nd_together();      /* what is stored now comes behind what was stored before */
    if (large) number = nd_pack_numbers(to, gpus, at, counts, true);
    for (int gpu = nd_lane(); gpu < gpus; gpu += 32) to[gpu].bytes[at.row] = number ? (large ? 8 : 4) : 0;
}

/* The threads of a warp add what another GPU has packed of a row; returns whether it has. */
ND_FN bool nd_add_packed(nd_packed from, const nd_row_place &at, long long *counts)
{
    const int bytes = from.bytes[at.row];
    if (!bytes) return false;
    const unsigned *masks = nd_masks_of(from, at);
    long long number = 0;
    for (long long p = at.begin + nd_lane(); p - nd_lane() < at.end; p += 32 * ND_TOGETHER) {
        unsigned mask[ND_TOGETHER];
        long long n[ND_TOGETHER];
        ND_UNROLL
        for (int i = 0; i < ND_TOGETHER; ++i) mask[i] = p - nd_lane() + 32 * i < at.end ? *masks++ : 0;
        ND_UNROLL
        for (int i = 0; i < ND_TOGETHER; ++i) {
            const long long place = number + nd_lower(mask[i]);
            const bool has = mask[i] >> nd_lane() & 1;
            n[i] = !has ? 0
                 : bytes == 8 ? from.numbers[at.begin + place] : ((const int *)(from.numbers + at.begin))[place];
            number += nd_bits_in(mask[i]);
        }
        ND_UNROLL
        for (int i = 0; i < ND_TOGETHER; ++i)
            if (n[i]) counts[p + 32 * i] += n[i];
    }
    return true;
}

/* The threads of a warp add what other GPUs have packed of row j of a set. */
ND_FN void nd_add_row(const nd_packed *from, int gpus, const nd_synapses &s, int j)
{
    const nd_row_place at(s, j);
    bool some = false;
    for (int gpu = 0; gpu < gpus; ++gpu) some |= nd_add_packed(from[gpu], at, s.counts - s.synapse);
    if (some && nd_lane() == 0) s.marks[j] = 1;
    nd_together();      /* the others read the mark */
}
