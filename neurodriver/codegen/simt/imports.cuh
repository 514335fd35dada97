/* Spikes of sources that no kernel here computes: inputs, and sources in other parts, the imports. */
#if ND_IMPORTS
/* Sends the spikes of a row of the values that an item has brought; `any`: whether this thread
 * brought one. What comes late, as windows have several steps, is delivered at once. */
ND_FN void nd_send_brought(const nd_input &in, const nd_item &item, long long row, const real *values, bool any)
{
    if (in.sender < 0 || !nd_ballot(any)) return;
    for (int base = item.first; base < item.end; base += 32) {
        const int i = base + nd_lane();
        const bool mine = i < item.end;
        const real value = mine ? values[i] : (real)0;      /* this thread has stored it */
        if (nd_ballot(value != 0))
            nd_send_imported((int)in.sender, row, mine, (int)in.place + i, value, in.back > 0);
    }
}

/* Sends the spikes of an input that enter in step k; this warp is one of `end`. They come as a list,
 * or as a row of values. */
static __device__ void nd_send_entering(const nd_item &item, long long k)
{
    const nd_input &in = nd_chunk.input[nd_table_of(item)];
    const long long late = k - nd_chunk.first;
    const int sender = (int)in.sender, place = (int)in.place;
    if (in.begin) {
        const int end = in.begin[late + 1];
        for (int i = in.begin[late] + 32 * item.first; i < end; i += 32 * item.end) {
            const int mine = i + nd_lane() < end ? i + nd_lane() : i;
            const real value = in.value ? in.value[mine] : (real)1;
            nd_send_imported(sender, k, i + nd_lane() < end, place + in.column[mine], value, true);
        }
        return;
    }
    const int action = in.action[late], count = (int)in.count;
    const real *from = in.table + action * in.count;
    for (int base = 32 * ND_BATCH * item.first; action >= 0 && base < count; base += 32 * ND_BATCH * item.end) {
        real x[ND_BATCH];
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j) {
            const int i = base + 32 * j + nd_lane();
            x[j] = i < count ? from[i] : (real)0;
        }
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j)
            if (nd_ballot(x[j] != 0))
                nd_send_imported(sender, k, x[j] != 0, place + base + 32 * j + nd_lane(), x[j], true);
    }
}
#else
ND_FN void nd_send_entering(const nd_item &, long long) {}
ND_FN void nd_send_brought(const nd_input &, const nd_item &, long long, const real *, bool) {}
#endif
