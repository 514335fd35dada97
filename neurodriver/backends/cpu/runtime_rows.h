/* Rows of rings: the share of a thread, tests for events, and copies. */
namespace {

struct Share { integer begin, end; };

Share share(integer count, integer thread, integer threads)
{
    const integer lines = (count + 15) / 16;    /* whole cache lines: no two threads share one */
    const integer b = lines * thread / threads * 16, e = lines * (thread + 1) / threads * 16;
    return {b < count ? b : count, e < count ? e : count};
}

/* The same of slots from element `first` on, whose cache lines begin at multiples of 16 elements. */
Share share_from(integer first, integer count, integer thread, integer threads)
{
    const integer skip = first % 16;
    const Share all = share(count + skip, thread, threads);
    return {all.begin > skip ? all.begin - skip : 0, all.end > skip ? all.end - skip : 0};
}

/* Which of 16 values are not zero, as bits. Without a branch for each: where spikes are is as
 * good as random. */
inline uint32_t nonzero(const real *x)
{
    bool any = false;
    for (int j = 0; j < 16; ++j) any |= x[j] != 0;
    if (!any) return 0;
    uint32_t set = 0;
    for (int j = 0; j < 16; ++j) set |= (uint32_t)(x[j] != 0) << j;
    return set;
}

/* The row of step k. */
inline real *row_of(const nd_ring &ring, integer k)
{
    return ring.data + (k % ring.depth) * ring.width;
}

/* Note a step as the last one of its row, unless a later one is; all threads note the same one. */
inline void mark(integer *last, const nd_ring &ring, integer row)
{
    integer *at = last + row % ring.depth;
    if (__atomic_load_n(at, __ATOMIC_RELAXED) < row) __atomic_store_n(at, row, __ATOMIC_RELAXED);
}

/* Copy some of the elements of a row that are asked for. */
inline void copy(const nd_probe &p, const real *from, Share mine, real *to)
{
    if (p.contiguous) {
        std::memcpy(to + mine.begin, from + p.elements[0] + mine.begin,
                    (size_t)(mine.end - mine.begin) * sizeof(real));
    } else {
        for (integer c = mine.begin; c < mine.end; ++c) to[c] = from[p.elements[c]];
    }
}

/* Whether some columns are adjacent and none of them is dirty. */
inline bool silent(const nd_ring &ring, const nd_events &e, integer k, integer c, integer size)
{
    const integer b = e.contiguous ? e.elements[0] + c : e.elements[c];
    const integer l = e.contiguous ? b + size - 1 : e.elements[c + size - 1];
    if (!ring.dirty || l - b != size - 1) return false;
    const uint16_t *dirty = ring.dirty + k % ring.depth * (ring.width / 16);
    return !dirty[b / 16] && !dirty[l / 16];
}

/* First column from `c` on that may be dirty; tests 64 columns at a time. */
inline integer next(const nd_ring &ring, const nd_events &e, integer k, integer c, integer end)
{
    if (!e.contiguous || !ring.dirty) return c;
    const uint16_t *dirty = ring.dirty + k % ring.depth * (ring.width / 16);
    for (; c + 64 <= end; c += 64) {
        const integer b = e.elements[0] + c;
        uint64_t four;
        std::memcpy(&four, dirty + b / 16, sizeof four);
        if (four || (b % 16 && dirty[b / 16 + 4])) break;
    }
    return c;
}

}  // namespace
