/* Spikes of sources in other parts, the imports: the warp that brings a row of them sends them. */
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
#else
ND_FN void nd_send_brought(const nd_input &, const nd_item &, long long, const real *, bool) {}
#endif
