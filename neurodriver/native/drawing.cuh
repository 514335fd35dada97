/* Connections of projections, drawn on a GPU where they will lie, with the bits of projections.h.
 *
 * A warp draws a row: its targets stand in shared memory and are sorted there, and each thread draws
 * weight and delay of some of them.  Nothing of a row is kept: first all rows are looked through
 * (nd_survey), and when it is known where they begin they are drawn again (nd_write).  Pasted after
 * math.h, philox.h, projection_rule.h and the words of a GPU.
 */

/* What is asked of a projection: the connections of some of its sources into some of its targets. */
struct nd_piece {
    integer rule;
    integer whole;                  /* whether all targets are wanted, */
    integer packed;                 /* or others are left out of a row before anything is drawn */
    integer room;                   /* connections that a warp has shared memory for */
    const int *source, *target;     /* number of each, negative where it is not wanted */
    const int *length;              /* of each row */
    const integer *begin;           /* ND_INTO: where the row stands in `listed`, else null */
    const int *listed;
};

/* What is found out: of each source (number, how many are due in the next step, least and greatest
 * delay in steps), of each projection (greatest delay in steps), of each target (number, least |weight| above 0
 * and greatest as bits, their sum in whole 1 / scale, and, where all are multiples of `grid`, the
 * greatest common divisor of the multiples). */
struct nd_found {
    int *count, *near, *low, *high, *longest, *degree;
    word *least, *greatest, *total, *divisor;
    double scale, grid;
};

ND_FN word nd_bits_at(word key, integer row, int stream, integer draw)
{
    const nd_block b = nd_draw(key, (word)row, draw >> 1, 0, stream);
    return draw & 1 ? (word)b.w2 << 32 | b.w3 : (word)b.w0 << 32 | b.w1;
}

template <int kind> ND_FN double nd_drawn(const nd_law &law, word key, integer row, integer rank,
                                          int stream)
{
    double x = nd_of<kind>(law.a, law.b, key, row, rank, 0, stream);
    for (int n = 1; !law.clip && !(x >= law.low && x <= law.high) && n < ND_ATTEMPTS; ++n)
        x = nd_of<kind>(law.a, law.b, key, row, rank, n, stream);
    return nd_bounded(law, x);
}

ND_FN double nd_value(const nd_law &law, word key, integer row, integer rank, int stream)
{
    if (law.kind == ND_NORMAL) return nd_drawn<ND_NORMAL>(law, key, row, rank, stream);
    if (law.kind == ND_UNIFORM) return nd_drawn<ND_UNIFORM>(law, key, row, rank, stream);
    if (law.kind == ND_LOG_NORMAL) return nd_drawn<ND_LOG_NORMAL>(law, key, row, rank, stream);
    if (law.kind == ND_EXPONENTIAL) return nd_drawn<ND_EXPONENTIAL>(law, key, row, rank, stream);
    return law.a;
}

/* body(rank, place) for the connections of a row of ND_CHANCE; returns how many there are. */
template <class Body> ND_FN int nd_by_chance(const nd_rule *r, integer s, integer n, Body body)
{
    double at = -1;
    int found = 0;
    for (integer draw = nd_lane();; draw += ND_WARP) {
        double sum = nd_gap(nd_bits_at(r->key, s, ND_ENDS, draw), r->per_log) + 1;
        for (int by = 1; by < ND_WARP; by *= 2) {
            const double before = nd_up(sum, by);
            if (nd_lane() >= by) sum += before;   /* whole numbers: exact in any order */
        }
        const bool inside = at + sum < (double)n;
        if (inside) body(found + nd_lane(), (int)(at + sum));
        const int here = nd_bits_in(nd_ballot(inside));
        found += here;
        if (here < ND_WARP) return found;
        at += nd_from(sum, ND_WARP - 1);
    }
}

/* Steps of a bitonic sort within N * 32 numbers from `base` on, in registers: those of runs of `first`
 * to `last` numbers. There are numbers before `known`, and room before `room`. */
template <int N> ND_FN void nd_ascend_held(int *to, int base, int first, int last, int known, int room)
{
    int held[N];
    ND_UNROLL
    for (int j = 0; j < N; ++j) {
        const int i = base + j * ND_WARP + nd_lane();
        held[j] = i < known ? to[i] : 0x7fffffff;
    }
    for (int run = first; run <= last; run *= 2) {
        ND_UNROLL
        for (int by = N / 2; by; by /= 2) {
            if (by * ND_WARP >= run) continue;
            ND_UNROLL
            for (int j = 0; j < N; ++j) {
                if (j & by) continue;
                const int x = held[j], y = held[j + by];
                const bool swap = (x > y) == !((base + j * ND_WARP + nd_lane()) & run);
                held[j] = swap ? y : x, held[j + by] = swap ? x : y;
            }
        }
        for (int by = (run < ND_WARP ? run : ND_WARP) / 2; by; by /= 2) {
            ND_UNROLL
            for (int j = 0; j < N; ++j) {
                const bool low = !(nd_lane() & by) == !((base + j * ND_WARP + nd_lane()) & run);
                const int other = (int)nd_across((unsigned)held[j], by);
                if ((other < held[j]) == low) held[j] = other;
            }
        }
    }
    ND_UNROLL
    for (int j = 0; j < N; ++j) {
        const int i = base + j * ND_WARP + nd_lane();
        if (i < room) to[i] = held[j];
    }
    nd_together();
}

enum { ND_HELD = 16, ND_CHUNK = ND_HELD * ND_WARP };

/* Let numbers ascend; there is room for the next power of two. */
ND_CALLED void nd_ascend(int *to, int count)
{
    if (count <= 4 * ND_WARP) return nd_ascend_held<4>(to, 0, 2, 4 * ND_WARP, count, count);
    if (count <= ND_CHUNK) return nd_ascend_held<ND_HELD>(to, 0, 2, ND_CHUNK, count, count);
    int size = ND_CHUNK;
    while (size < count) size *= 2;
    for (int base = 0; base < size; base += ND_CHUNK)
        nd_ascend_held<ND_HELD>(to, base, 2, ND_CHUNK, count, size);
    for (int run = 2 * ND_CHUNK; run <= size; run *= 2) {
        for (int by = run / 2; by >= ND_CHUNK; by /= 2) {
            for (int i = nd_lane(); i < size / 2; i += ND_WARP) {
                const int a = 2 * i - (i & (by - 1)), b = a + by, x = to[a], y = to[b];
                if ((x > y) == ((a & run) == 0)) to[a] = y, to[b] = x;
            }
            nd_together();
        }
        for (int base = 0; base < size; base += ND_CHUNK)
            nd_ascend_held<ND_HELD>(to, base, run, run, size, size);
    }
}

/* Write the targets of a row, ascending; returns how many there are. */
ND_FN int nd_row(const nd_rule *r, const nd_piece &p, integer s, int *to)
{
    const integer hole = nd_hole(r, s + r->shift, r->targets), n = r->targets - (hole < r->targets);
    const int count = p.length[s];
    if (r->kind == ND_CHANCE) {
        nd_by_chance(r, s, n, [=](int rank, int target) { to[rank] = target; });
    } else {
        for (int i = nd_lane(); i < count; i += ND_WARP) {
            if (r->kind == ND_ALL) to[i] = i;
            else if (r->kind == ND_ONE) to[i] = (int)s;
            else if (r->kind == ND_INTO) to[i] = p.listed[p.begin[s] + i];
            else to[i] = (int)nd_below(nd_bits_at(r->key, s, ND_ENDS, i), (word)n);
        }
    }
    if (r->kind == ND_INTO || r->kind == ND_OUT_OF || r->kind == ND_TOTAL) nd_ascend(to, count);
    else nd_together();
    if (hole < r->targets && r->kind != ND_INTO) {
        for (int i = nd_lane(); i < count; i += ND_WARP) to[i] += to[i] >= hole;
        nd_together();
    }
    return count;
}

/* A connection of a row: its target, and its rank in the row. */
struct nd_place {
    integer target, rank;
};

enum { ND_PACKED = 16 };    /* bits of a target, where its rank stands above them */

/* Leave out the connections of a row that are not wanted, if ranks can stand beside targets. Returns
 * how many are left. */
ND_FN int nd_left(const nd_piece &p, int *to, int count)
{
    if (!p.packed) return count;
    int found = 0;
    for (int i = nd_lane(); i - nd_lane() < count; i += ND_WARP) {
        const int target = i < count ? to[i] : 0;
        const bool wanted = i < count && p.target[target] >= 0;
        const unsigned all = nd_ballot(wanted);     /* then all have read what is overwritten */
        if (wanted) to[found + nd_lower(all)] = i << ND_PACKED | target;
        found += nd_bits_in(all);
    }
    nd_together();
    return found;
}

ND_FN nd_place nd_place_of(const nd_piece &p, const int *to, int n)
{
    if (!p.packed) return {p.target[to[n]], n};
    return {p.target[to[n] & ((1 << ND_PACKED) - 1)], to[n] >> ND_PACKED};
}

/* Connections of each row; `length` is clear before. Those of ND_INTO and ND_TOTAL are drawn one by
 * one. Where `listed` is not null, the targets of ND_INTO go there, each row in any order. */
ND_KERNEL void nd_lengths(const nd_rule *rules, integer number, int *length, const integer *begin,
                          int *listed)
{
    const nd_rule *r = rules + number;
    if (r->kind == ND_TOTAL) {
        for (integer i = nd_first_of_all(); i < r->number; i += nd_number_of_all())
            nd_add(length + nd_below(nd_bits_at(r->key, 0, ND_SHARE, i), (word)r->sources), 1);
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
    const nd_piece p = pieces[which];
    const nd_rule *r = rules + p.rule;
    int *to = nd_row_memory(p.room), longest = 0;
    for (integer s = nd_warp_of_all(); s < r->sources; s += nd_number_of_all() / ND_WARP) {
        const integer source = p.source[s];
        if (source < 0) continue;
        const int length = nd_left(p, to, nd_row(r, p, s, to));
        int count = 0, near = 0, least = 0x7fffffff, most = 0;
        for (int n = nd_lane(); n < length; n += ND_WARP) {
            const nd_place one = nd_place_of(p, to, n);
            const integer t = one.target, i = one.rank;
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

/* How far |weights| are from whole units, as nd_remainders in projections.h; `rest` and `most` hold
 * the bits of numbers that are not negative. */
ND_KERNEL void nd_survey_units(const nd_rule *rules, const nd_piece *pieces, integer which,
                               const double *unit, double alike, word *rest, word *most)
{
    const nd_piece p = pieces[which];
    const nd_rule *r = rules + p.rule;
    int *to = nd_row_memory(p.room);
    for (integer s = nd_warp_of_all(); s < r->sources; s += nd_number_of_all() / ND_WARP) {
        const integer source = p.source[s];
        if (source < 0) continue;
        const int length = nd_left(p, to, nd_row(r, p, s, to));
        for (int n = nd_lane(); n < length; n += ND_WARP) {
            const nd_place one = nd_place_of(p, to, n);
            const integer t = one.target, i = one.rank;
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
    const nd_piece p = pieces[which];
    const nd_rule *r = rules + p.rule;
    int *to = nd_row_memory(p.room);
    for (integer s = nd_warp_of_all(); s < r->sources; s += nd_number_of_all() / ND_WARP) {
        const integer source = p.source[s];
        if (source < 0) continue;
        const int length = nd_left(p, to, nd_row(r, p, s, to));
        integer near = near_at[source], far = far_at[source];
        for (int n = nd_lane(); n - nd_lane() < length; n += ND_WARP) {
            const nd_place one = n < length ? nd_place_of(p, to, n) : nd_place{-1, 0};
            const integer t = one.target, i = one.rank;
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
 * targets are wanted they are not drawn. */
ND_KERNEL void nd_count_bins(const nd_rule *rules, const nd_piece *pieces, integer which, double dt,
                             const nd_binned *given)
{
    const nd_binned to_bins = *given;
    const nd_piece p = pieces[which];
    const nd_rule *r = rules + p.rule;
    int *to = nd_row_memory(p.room);
    for (integer s = nd_warp_of_all(); s < r->sources; s += nd_number_of_all() / ND_WARP) {
        const integer source = p.source[s];
        if (source < 0) continue;
        const int length = p.whole ? p.length[s] : nd_left(p, to, nd_row(r, p, s, to));
        int *ends = to_bins.ends + to_bins.bins[source] - to_bins.low[source] - 1;
        for (int n = nd_lane(); n < length; n += ND_WARP) {
            const nd_place one = p.whole ? nd_place{0, n} : nd_place_of(p, to, n);
            if (one.target >= 0)
                nd_add(ends + nd_steps(nd_value(r->delay, r->key, s, one.rank, ND_DELAY), dt), 1);
        }
        nd_together();
    }
}

/* Numbers of connections -> where each bin begins, counted from the first connection of its source. */
ND_KERNEL void nd_begin_bins(const nd_binned *given, integer sources)
{
    const nd_binned to_bins = *given;
    for (integer s = nd_first_of_all() / ND_WARP; s < sources; s += nd_number_of_all() / ND_WARP) {
        const integer first = to_bins.bins[s], last = to_bins.bins[s + 1];
        int before = 0;
        for (integer base = first; base < last; base += ND_WARP) {
            const integer at = base + nd_lane();
            const int own = at < last ? to_bins.ends[at] : 0, up_to = nd_sum_up_to_here(own);
            if (at < last) to_bins.ends[at] = before + up_to - own;
            before += (int)nd_total(own);
        }
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
    const nd_piece p = pieces[which];
    const nd_rule *r = rules + p.rule;
    int *to = nd_row_memory(p.room);
    for (integer s = nd_warp_of_all(); s < r->sources; s += nd_number_of_all() / ND_WARP) {
        const integer source = p.source[s];
        if (source < 0) continue;
        const int length = nd_left(p, to, nd_row(r, p, s, to));
        const integer begin = to_bins.first[source];
        int *ends = to_bins.ends + to_bins.bins[source] - to_bins.low[source] - 1;
        for (int n = nd_lane(); n - nd_lane() < length; n += ND_WARP) {
            const nd_place one = n < length ? nd_place_of(p, to, n) : nd_place{-1, 0};
            const integer t = one.target, i = one.rank;
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
