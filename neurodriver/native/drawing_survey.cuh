/* Passes over the connections of projections on a GPU that store none: lengths of rows, and what has to
 * be known before connections are written.
 *
 * Each thread of a warp draws weight and delay of some connections of a row.  Nothing of a row is kept:
 * when it is known where rows begin they are drawn again.  Pasted after drawing_rows.cuh.
 */

/* What is found out: of each source (number, how many are due in the next step, least and greatest
 * delay in steps), of each projection (greatest delay in steps), of each target (number, least |weight| above 0
 * and greatest as bits, their sum in whole 1 / scale, and, where all are multiples of `grid`, the
 * greatest common divisor of the multiples). */
struct nd_found {
    int *count, *near, *low, *high, *longest, *degree;
    word *least, *greatest, *total, *divisor;
    double scale, grid;
};

/* Connections of each row; `length` is clear before. Those of ND_INTO and ND_TOTAL are drawn one by
 * one. Where `listed` is not null, the targets of ND_INTO go there, each row in any order. */
ND_KERNEL void nd_lengths(const nd_rule *rules, integer number, int *length, const integer *begin,
                          int *listed)
{
    const nd_rule *r = rules + number;
    if (r->kind == ND_TOTAL) {
        const word n = (unsigned)r->sources, key = r->key;
        for (integer i = 2 * nd_first_of_all(); i < r->number; i += 2 * nd_number_of_all()) {
            const nd_block b = nd_draw(key, 0, i >> 1, 0, ND_SHARE);
            nd_add(length + nd_below((word)b.w0 << 32 | b.w1, n), 1);
            if (i + 1 < r->number) nd_add(length + nd_below((word)b.w2 << 32 | b.w3, n), 1);
        }
    } else if (r->kind == ND_INTO) {
        for (integer i = nd_first_of_all(); i < r->number * r->targets; i += nd_number_of_all()) {
            const integer t = i / r->number, hole = nd_hole(r, t - r->shift, r->sources);
            const word bits = nd_bits_at(r->key, t, ND_ENDS, i % r->number);
            integer s = nd_below(bits, (word)(r->sources - (hole < r->sources)));
            s += s >= hole;
            const int place = nd_add(length + s, 1);
            if (listed) listed[begin[s] + place] = (int)t;
        }
    } else if (r->kind == ND_CHANCE) {
        for (integer s = nd_first_of_all() / ND_WARP; s < r->sources;
             s += nd_number_of_all() / ND_WARP) {
            const bool own = nd_hole(r, s + r->shift, r->targets) < r->targets;
            const int found = nd_by_chance(r, s, r->targets - own, [](int, int) {});
            if (nd_lane() == 0) length[s] = found;
        }
    } else {
        for (integer s = nd_first_of_all(); s < r->sources; s += nd_number_of_all()) {
            const bool own = nd_hole(r, s + r->shift, r->targets) < r->targets;
            length[s] = r->kind == ND_ALL ? (int)(r->targets - own)
                                          : r->kind == ND_ONE ? 1 : (int)r->number;
        }
    }
}

/* longest[2 * which]: the most connections of a row of a piece; behind it, the most of them from the
 * first to the last wanted target. */
ND_KERNEL void nd_longest(const nd_rule *rules, const nd_piece *pieces, integer which, int *longest)
{
    const nd_piece &p = pieces[which];
    const nd_rule *r = rules + p.rule;
    int most = 0, wanted = 0;
    for (integer s = nd_warp_of_all(); s < r->sources; s += nd_number_of_all() / ND_WARP) {
        const int length = p.length[s];
        most = length > most ? length : most;
        if (p.source[s] < 0) continue;
        const int count = nd_ranks(r, p, s).count;
        wanted = count > wanted ? count : wanted;
    }
    if (nd_lane()) return;
    nd_raise_to(longest + 2 * which, most);
    nd_raise_to(longest + 2 * which + 1, wanted);
}

/* Let a number be the greatest common divisor of itself and n; 0 has all divisors. */
ND_FN void nd_divide_to(word *to, word n)
{
    for (word had = *(volatile word *)to; had != 1;) {
        word a = had, b = n;
        while (b) { const word rest = a % b; a = b, b = rest; }
        if (a == had) return;
        const word seen = nd_swap(to, had, a);
        if (seen == had) return;
        had = seen;
    }
}

/* Look through the rows of a piece. */
ND_KERNEL void nd_survey(const nd_rule *rules, const nd_piece *pieces, integer which, double dt,
                         const nd_found *given)
{
    const nd_found found = *given;
    const nd_piece &p = pieces[which];
    const nd_rule *r = rules + p.rule;
    const int *to = nd_memory_of(p);
    int longest = 0;
    for (integer s = nd_warp_of_all(); s < r->sources; s += nd_number_of_all() / ND_WARP) {
        const integer source = p.source[s];
        if (source < 0) continue;
        const nd_some row = nd_row(r, p, s);
        int count = 0, near = 0, least = 0x7fffffff, most = 0;
        for (int n = nd_lane(); n < row.count; n += ND_WARP) {
            const integer t = p.target[to[n]], i = row.before + n;
            if (t < 0) continue;
            const int steps = (int)nd_fmin((double)nd_steps(
                nd_value(r->delay, r->key, s, i, ND_DELAY), dt), 2147483647.0);
            least = steps < least ? steps : least, most = steps > most ? steps : most;
            ++count, near += steps == 1;
            const double size = nd_fabs(nd_value(r->weight, r->key, s, i, ND_WEIGHT));
            nd_add(found.degree + t, 1);
            if (size > 0) nd_lower_to(found.least + t, nd_bits(size));
            nd_raise_to(found.greatest + t, nd_bits(size));
            nd_add(found.total + t, (word)nd_rint(size * found.scale));
            if (found.grid > 0) nd_divide_to(found.divisor + t, (word)nd_rint(size / found.grid));
        }
        count = (int)nd_total(count), near = (int)nd_total(near);
        if (most) {
            nd_lower_to(found.low + source, least);
            nd_raise_to(found.high + source, most);
        }
        longest = most > longest ? most : longest;
        if (nd_lane() == 0) {
            found.count[source] += count;
            found.near[source] += near;
        }
        nd_together();   /* before the next row takes the memory */
    }
    if (longest) nd_raise_to(found.longest + p.rule, longest);
}

/* How far |weights| are from whole units, as nd_remainders in projection_values.h; `rest` and `most` hold
 * the bits of numbers that are not negative. */
ND_KERNEL void nd_survey_units(const nd_rule *rules, const nd_piece *pieces, integer which,
                               const double *unit, double alike, word *rest, word *most)
{
    const nd_piece &p = pieces[which];
    const nd_rule *r = rules + p.rule;
    const int *to = nd_memory_of(p);
    for (integer s = nd_warp_of_all(); s < r->sources; s += nd_number_of_all() / ND_WARP) {
        const integer source = p.source[s];
        if (source < 0) continue;
        const nd_some row = nd_row(r, p, s);
        for (int n = nd_lane(); n < row.count; n += ND_WARP) {
            const integer t = p.target[to[n]], i = row.before + n;
            if (t < 0 || !(unit[t] == unit[t])) continue;
            const double size = nd_fabs(nd_value(r->weight, r->key, s, i, ND_WEIGHT));
            const double ratio = nd_fmin(size / unit[t], 0x1p60);
            const double whole = nd_rint(ratio), apart = nd_fabs(ratio - whole);
            if (apart > alike * whole) nd_lower_to(rest + t, nd_bits(apart));
            nd_raise_to(most + t, nd_bits(whole));
        }
        nd_together();
    }
}
