
/* Sums over connections that are not stored: see plan/sums/by_place.py. */

/* Entries of a component's row, and its index along the last axis. */
struct nd_row_of {
    int begin, end, index;
};

ND_FN nd_row_of nd_find_row(const nd_fixed<int> &slice, const nd_fixed<int> &segment,
                            const nd_fixed<int> &begin, int segments, int component)
{
    for (int i = slice[component / ND_LANES]; i < segments; ++i) {
        const int4 s = __ldg((const int4 *)segment.at + i);   /* first, end, its index, row */
        if (component < s.x) break;
        if (component < s.y) return {begin[s.w], begin[s.w + 1], component - s.x + s.z};
    }
    return {0, 0, 0};
}

ND_FN int4 nd_entry_at(const nd_fixed<int> &entry, int i)
{
    return __ldg((const int4 *)entry.at + i);
}

/* Whether an index lies between the ends of an entry. */
ND_FN bool nd_within(const int4 &e, int index) { return index >= e.y && index < e.z; }

/* Passes to `take` all elements that the component with index `j` reads of an entry: in order. */
template <class Take>
ND_FN void nd_kind_by_place(const int4 &e, int j, const int *kind, const int *table, Take take)
{
    const int *v = kind + 6 * e.w;
    if (j >= __ldg(v + 1) && j < __ldg(v + 2)) {
        const int most = __ldg(v + 3);
        for (int k = 0; k < most; ++k)
            if (j + k >= e.y && j + k < e.z) take(e.x + j + k);
        return;
    }
    const int shift = __ldg(v), low = e.y + shift, high = e.z + shift;
    const int4 runs = __ldg((const int4 *)table + __ldg(v + 5) + j);
    for (int part = 0; part < 2; ++part) {
        const int first = part ? runs.z : runs.x, beyond = first + (part ? runs.w : runs.y);
        for (int i = first > low ? first : low; i < (beyond < high ? beyond : high); ++i)
            take(e.x - shift + i);
    }
}
