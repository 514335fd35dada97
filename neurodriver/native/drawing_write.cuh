/* Connections of projections, written on a GPU where they will lie, with the bits of projections.h.
 * Pasted after drawing_rows.cuh.
 */

/* Write a weight as a whole number of `bytes` bytes (0: not wanted). */
ND_FN void nd_put(void *multiple, integer bytes, integer at, int whole)
{
    if (bytes == 1) ((signed char *)multiple)[at] = (signed char)whole;
    if (bytes == 2) ((short *)multiple)[at] = (short)whole;
    if (bytes == 4) ((int *)multiple)[at] = whole;
}

/* Write the rows of a piece: codes (steps - 1) * width + target, and weights as whole units, of
 * `bytes` bytes (0: not wanted).  A source's connections that are due in the next step go on at
 * near_at, the others at far_at; both are moved on. */
ND_KERNEL void nd_write(const nd_rule *rules, const nd_piece *pieces, integer which, double dt,
                        integer width, integer *near_at, integer *far_at, const double *unit,
                        integer bytes, int *code, void *multiple)
{
    const nd_piece &p = pieces[which];
    const nd_rule *r = rules + p.rule;
    const int *to = nd_memory_of(p);
    for (integer s = nd_warp_of_all(); s < r->sources; s += nd_number_of_all() / ND_WARP) {
        const integer source = p.source[s];
        if (source < 0) continue;
        const nd_some row = nd_row(r, p, s);
        integer near = near_at[source], far = far_at[source];
        for (int n = nd_lane(); n - nd_lane() < row.count; n += ND_WARP) {
            const integer t = n < row.count ? p.target[to[n]] : -1, i = row.before + n;
            const bool wanted = t >= 0;
            integer ahead = 0;
            if (wanted) ahead = nd_steps(nd_value(r->delay, r->key, s, i, ND_DELAY), dt) - 1;
            const unsigned first = nd_ballot(wanted && !ahead), later = nd_ballot(wanted && ahead);
            if (wanted) {
                const integer at = ahead ? far + nd_lower(later) : near + nd_lower(first);
                code[at] = (int)(ahead * width + t);
                if (bytes) {
                    const double weight = nd_value(r->weight, r->key, s, i, ND_WEIGHT);
                    nd_put(multiple, bytes, at, (int)nd_rint(weight / unit[t]));
                }
            }
            near += nd_bits_in(first), far += nd_bits_in(later);
        }
        nd_together();
        if (nd_lane() == 0) near_at[source] = near, far_at[source] = far;
    }
}

/* The connections of a source are sorted by delay: those of one delay form a bin. `low` is the least
 * delay of each source, less one, and `bins` holds where its bins begin. */
struct nd_binned {
    const int *low;
    const integer *bins, *first;    /* of each source: first bin, first connection */
    int *ends;                      /* of each bin */
};

/* How many connections of a piece each bin has; `ends` is clear before the first piece. Where all
 * targets from the first to the last wanted one are wanted, ranks are enough. */
ND_KERNEL void nd_count_bins(const nd_rule *rules, const nd_piece *pieces, integer which, double dt,
                             const nd_binned *given)
{
    const nd_binned to_bins = *given;
    const nd_piece &p = pieces[which];
    const nd_rule *r = rules + p.rule;
    const int *to = nd_memory_of(p);
    for (integer s = nd_warp_of_all(); s < r->sources; s += nd_number_of_all() / ND_WARP) {
        const integer source = p.source[s];
        if (source < 0) continue;
        const nd_some row = p.solid ? nd_ranks(r, p, s) : nd_row(r, p, s);
        int *ends = to_bins.ends + to_bins.bins[source] - to_bins.low[source] - 1;
        for (int n = nd_lane(); n < row.count; n += ND_WARP) {
            if (!p.solid && p.target[to[n]] < 0) continue;
            const double delay = nd_value(r->delay, r->key, s, row.before + n, ND_DELAY);
            nd_add(ends + nd_steps(delay, dt), 1);
        }
        nd_together();
    }
}

/* Numbers of connections -> where each bin begins, counted from the first connection of its source. */
ND_KERNEL void nd_begin_bins(const nd_binned *given, integer sources)
{
    const nd_binned to_bins = *given;
    for (integer s = nd_first_of_all() / ND_WARP; s < sources; s += nd_number_of_all() / ND_WARP) {
        nd_sums(to_bins.ends + to_bins.bins[s], to_bins.bins[s + 1] - to_bins.bins[s]);
    }
}

/* Write the rows of a piece: targets, and weights as in nd_write, or above `shift` bits of their
 * targets where that is not 0. A bin goes on where it ends, and its end is moved on. Connections of a
 * bin are in the order of their targets. */
ND_KERNEL void nd_write_bins(const nd_rule *rules, const nd_piece *pieces, integer which, double dt,
                             const nd_binned *given, const double *unit, integer bytes,
                             integer shift, int *code, void *multiple)
{
    const nd_binned to_bins = *given;
    const nd_piece &p = pieces[which];
    const nd_rule *r = rules + p.rule;
    const int *to = nd_memory_of(p);
    for (integer s = nd_warp_of_all(); s < r->sources; s += nd_number_of_all() / ND_WARP) {
        const integer source = p.source[s];
        if (source < 0) continue;
        const nd_some row = nd_row(r, p, s);
        const integer begin = to_bins.first[source];
        int *ends = to_bins.ends + to_bins.bins[source] - to_bins.low[source] - 1;
        for (int n = nd_lane(); n - nd_lane() < row.count; n += ND_WARP) {
            const integer t = n < row.count ? p.target[to[n]] : -1, i = row.before + n;
            const bool wanted = t >= 0;
            int steps = 0;
            if (wanted) steps = (int)nd_steps(nd_value(r->delay, r->key, s, i, ND_DELAY), dt);
            const unsigned alike = nd_alike(steps);     /* threads with connections of this bin */
            const int before = wanted ? ends[steps] : 0;
            nd_together();
            if (wanted) {
                const integer at = begin + before + nd_lower(alike);
                if (nd_lower(alike) == 0) ends[steps] = before + nd_bits_in(alike);
                int whole = 0;
                if (bytes || shift)
                    whole = (int)nd_rint(nd_value(r->weight, r->key, s, i, ND_WEIGHT) / unit[t]);
                code[at] = (int)((unsigned)t | (shift ? (unsigned)whole << shift : 0u));
                nd_put(multiple, bytes, at, whole);
            }
            nd_together();
        }
    }
}
