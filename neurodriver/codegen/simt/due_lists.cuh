/* Lists of what is due in a row, where spikes are delivered when they are due.
 *
 * An entry is a range of connections that are due. The list of a row is written during one step, and
 * read during the next one. So there are two lists, for even and for odd rows. A warp reserves space by one
 * atomic addition to a word of 64 bits. It has the number of connections so far, and above it that of entries.
 */
#if ND_DUE
/* ND_ENTRY: an entry is as much work as so many connections. */
enum { ND_ENTRY = 8 };

/* Writes what is due as an entry of the lists. */
template <class Delivery> ND_FN void nd_write_entry(long long place, const nd_outgoing &out)
{
    const unsigned high = (unsigned)((unsigned long long)out.begin >> 32);
    __stcg(Delivery::listed() + place, make_uint4((unsigned)out.begin, high, (unsigned)out.near, (unsigned)out.more));
    if (Delivery::shared) __stcg(Delivery::homes() + place, out.home);
}
template <class Delivery> ND_FN nd_outgoing nd_read_entry(long long place)
{
    const uint4 x = __ldcg(Delivery::listed() + place);
    const int home = Delivery::shared ? __ldcg(Delivery::homes() + place) : 0;
    return {(long long)((unsigned long long)x.y << 32 | x.x), (int)x.z, 0, (int)x.w, home};
}

/* Says that the run is wrong, as a list had no room (`Histories` in backends/cuda/history.py). */
template <class Delivery> ND_FN void nd_no_room() { atomicMax(Delivery::most(), Delivery::room() + 1); }

/* Space in the list of a row that a warp reserves for what is due of its threads; `upto`: their
 * connections up to here. Thread 31 gets it. */
template <class Delivery> ND_FN unsigned long long nd_reserve_entries(long long row, unsigned some, int upto)
{
    const unsigned long long number = (unsigned long long)nd_bits_in(some) << Delivery::connection_bits;
    return nd_lane() == 31 && some ? atomicAdd(Delivery::reserved(row), number + (unsigned)upto) : 0;
}
template <class Delivery>
ND_FN void nd_list(long long row, unsigned some, int upto, unsigned long long at, const nd_outgoing &out)
{
    const unsigned long long number = (at >> Delivery::connection_bits) + nd_lower(some);
    const unsigned long long offset = (at & ((1ull << Delivery::connection_bits) - 1)) + (unsigned)(upto - out.near);
    if (!out.near) return;
    if (number >= Delivery::entries() || offset >> 32) return nd_no_room<Delivery>();
    const long long place = (row & 1) * (long long)Delivery::entries() + (long long)number;
    nd_write_entry<Delivery>(place, out);
    __stcg(Delivery::offsets() + place, (unsigned)offset);
}

/* Where the work of an entry begins: that of the entries before it, in connections. */
ND_FN unsigned long long nd_work_before(const unsigned *offsets, unsigned i)
{
    return __ldcg(offsets + i) + (unsigned long long)ND_ENTRY * i;
}

/* The last entry of a list whose work begins at `low` or before. A warp tries 128 entries at a time. */
ND_FN unsigned nd_entry_of(const unsigned *offsets, unsigned number, unsigned long long low)
{
    unsigned first = 0;
    while (number > 32) {
        const unsigned each = (number + 127) / 128;
        unsigned before = 0;
        bool mine[4];
        ND_UNROLL
        for (unsigned j = 0; j < 4; ++j) {
            const unsigned i = each * (32 * j + nd_lane());
            mine[j] = i < number && nd_work_before(offsets, first + i) <= low;
        }
        ND_UNROLL
        for (int j = 0; j < 4; ++j) before += (unsigned)nd_bits_in(nd_ballot(mine[j]));
        const unsigned skipped = before ? each * (before - 1) : 0;  /* 0 in a run that is wrong */
        first += skipped, number -= skipped;
        number = number < each ? number : each;
    }
    const bool mine = (unsigned)nd_lane() < number && nd_work_before(offsets, first + nd_lane()) <= low;
    const unsigned before = (unsigned)nd_bits_in(nd_ballot(mine));
    return before ? first + before - 1 : first;
}

/* Delivers the list of a row; called by each of `warps` warps. Each takes as much work as the others. */
template <class Delivery> ND_FN void nd_deliver_listed(unsigned warp, unsigned warps, long long row)
{
    const unsigned long long both = __ldcg(Delivery::reserved(row));
    if (warp == 0 && nd_lane() == 0) __stcg(Delivery::reserved(row + 2), 0ull);
    const unsigned long long had = both >> Delivery::connection_bits;
    const unsigned number = (unsigned)(had < Delivery::entries() ? had : Delivery::entries());
    const unsigned long long all = (both & ((1ull << Delivery::connection_bits) - 1)) + (unsigned long long)ND_ENTRY * number;
    const unsigned long long low = all * warp / warps, high = all * (warp + 1) / warps;
    if (low >= high) return;
    const long long list = (row & 1) * (long long)Delivery::entries();
    const unsigned *const offsets = Delivery::offsets() + list;
    const unsigned now = Delivery::now_at(row);
    unsigned i = nd_entry_of(offsets, number, low) + nd_lane();
    nd_outgoing next = nd_read_entry<Delivery>(list + (i < number ? i : 0));
    unsigned long long begins = i < number ? nd_work_before(offsets, i) : high;
    for (bool more = true; more;) {
        nd_outgoing one = next;
        const unsigned long long begin = begins + ND_ENTRY, end = begin + (unsigned)one.near;
        const unsigned long long from = begin > low ? begin : low, to = end < high ? end : high;
        more = nd_from(end, 31) < high;
        i += 32;    /* the next entries are loaded while these are delivered */
        next = nd_read_entry<Delivery>(list + (i < number ? i : 0));
        begins = i < number ? nd_work_before(offsets, i) : high;
        one.begin += (long long)(from - begin);
        one.near = to > from ? (int)(to - from) : 0;
        nd_send_near<Delivery>(now, one);
    }
}
#endif
