/* The rows of projections on a GPU: who is connected, and the numbers of single connections.
 *
 * A warp draws a row.  Of its targets those from the first to the last one that is wanted stand in
 * shared memory, ascending.  How many others are lower says which rank they have in the row: weight
 * and delay of a connection are functions of that.  So a part of a circuit sorts its own targets
 * alone.  Pasted after math.h, philox.h, projection_rule.h and the words of a GPU.
 */

/* What is asked of a projection: the connections of some of its sources into some of its targets. */
struct nd_piece {
    integer rule;
    integer first, last;            /* all wanted targets are among these, */
    integer solid;                  /* and whether all of these are wanted */
    integer room, buckets;          /* of a warp's shared memory: targets, and counters behind them */
    word scale;                     /* (target - first) * scale >> 32 is below `buckets` */
    const int *source, *target;     /* number of each, negative where it is not wanted */
    const int *length;              /* of each row */
    const integer *begin;           /* ND_INTO: where the row stands in `listed`, else null */
    const int *listed;
};

ND_FN word nd_bits_at(word key, integer row, int stream, integer draw)
{
    const nd_block b = nd_draw(key, (word)row, draw >> 1, 0, stream);
    return draw & 1 ? (word)b.w2 << 32 | b.w3 : (word)b.w0 << 32 | b.w1;
}

template <int kind> ND_FN double nd_drawn(const nd_law &law, word key, integer row, integer rank,
                                          int stream)
{
    const double first = nd_of<kind>(law.a, law.b, key, row, rank, 0, stream);
    return nd_kept<kind>(law, key, row, rank, stream, first);
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

/* Let the numbers that the threads of a warp have ascend from thread to thread. */
ND_FN int nd_ascend(int x)
{
    ND_UNROLL
    for (int run = 2; run <= ND_WARP; run *= 2) {
        ND_UNROLL
        for (int by = run / 2; by; by /= 2) {
            const bool low = !(nd_lane() & by) == !(nd_lane() & run);
            const int other = (int)nd_across((unsigned)x, by);
            if ((other < x) == low) x = other;
        }
    }
    return x;
}

/* Numbers -> the sums of those before each; returns the sum of all. */
ND_FN int nd_sums(int *of, integer count)
{
    int before = 0;
    for (integer base = 0; base < count; base += ND_WARP) {
        const integer i = base + nd_lane();
        const int own = i < count ? of[i] : 0, up_to = nd_sum_up_to_here(own);
        if (i < count) of[i] = before + up_to - own;
        before += (int)nd_total(own);
    }
    return before;
}

/* Connections of a row whose targets ascend; `before` of the row have lower targets. */
struct nd_some {
    int before, count;
};

ND_FN int *nd_memory_of(const nd_piece &p) { return nd_row_memory(p.room + p.buckets); }

/* A target from random bits; n is the number of those that the source may have. */
ND_FN int nd_end(word bits, unsigned n, integer hole)
{
    const int at = (int)nd_below(bits, n);
    return at + (at >= hole);
}

/* body(target) for the connections of a row of ND_INTO, ND_OUT_OF or ND_TOTAL, in any order. A block
 * of random numbers gives two targets. */
template <class Body> ND_FN void nd_each_end(const nd_rule *r, const nd_piece &p, integer s, Body body)
{
    const int count = p.length[s];
    if (r->kind == ND_INTO) {
        const int *listed = p.listed + p.begin[s];
        for (int i = nd_lane(); i < count; i += ND_WARP) body(listed[i]);
        return;
    }
    const integer hole = nd_hole(r, s + r->shift, r->targets);
    const unsigned n = (unsigned)(r->targets - (hole < r->targets));
    const word key = r->key;
    for (int i = 2 * nd_lane(); i < count; i += 2 * ND_WARP) {
        const nd_block b = nd_draw(key, (word)s, i >> 1, 0, ND_ENDS);
        body(nd_end((word)b.w0 << 32 | b.w1, n, hole));
        if (i + 1 < count) body(nd_end((word)b.w2 << 32 | b.w3, n, hole));
    }
}

/* The connections of a row from the first to the last wanted target, which are not sorted for that. */
ND_FN nd_some nd_ranks(const nd_rule *r, const nd_piece &p, integer s)
{
    const integer first = p.first, last = p.last, hole = nd_hole(r, s + r->shift, r->targets);
    if (first == 0 && last == r->targets) return {0, p.length[s]};
    if (r->kind == ND_ONE) return {0, s >= first && s < last};
    if (r->kind == ND_ALL) {
        const integer before = first - (hole < first);
        return {(int)before, (int)(last - (hole < last) - before)};
    }
    int before = 0, count = 0;
    auto look = [&](int target) {
        before += target < first, count += target >= first && target < last;
    };
    if (r->kind == ND_CHANCE)
        nd_by_chance(r, s, r->targets - (hole < r->targets),
                     [&](int, int target) { look(target + (target >= hole)); });
    else nd_each_end(r, p, s, look);
    return {(int)nd_total(before), (int)nd_total(count)};
}

/* The same of a row that has a connection for each thread of a warp at most; write the targets. */
ND_FN nd_some nd_sort_few(const nd_rule *r, const nd_piece &p, integer s, int *to)
{
    const integer hole = nd_hole(r, s + r->shift, r->targets);
    int own = 0x7fffffff;
    if (nd_lane() < p.length[s]) {
        if (r->kind == ND_INTO) own = p.listed[p.begin[s] + nd_lane()];
        else own = nd_end(nd_bits_at(r->key, s, ND_ENDS, nd_lane()),
                          (unsigned)(r->targets - (hole < r->targets)), hole);
    }
    const int before = nd_bits_in(nd_ballot(own < p.first));
    const bool wanted = own >= p.first && own < p.last;
    const int count = nd_bits_in(nd_ballot(wanted));
    own = nd_ascend(wanted ? own : 0x7fffffff);
    if (nd_lane() < count) to[nd_lane()] = own;
    nd_together();
    return {before, count};
}

/* The same of any row. Targets go to buckets of neighbours: first these are counted, then the targets
 * are drawn again. A bucket has few, which a thread sorts. */
ND_CALLED nd_some nd_sort(const nd_rule *r, const nd_piece &p, integer s)
{
    int *to = nd_memory_of(p), *end = to + p.room, before = 0;
    if (p.length[s] <= ND_WARP) return nd_sort_few(r, p, s, to);
    const integer buckets = p.buckets;
    const int first = (int)p.first;
    const unsigned wanted = (unsigned)(p.last - first);
    const word scale = p.scale;
    for (integer i = nd_lane(); i < buckets; i += ND_WARP) end[i] = 0;
    nd_together();
    nd_each_end(r, p, s, [&](int target) {
        const unsigned at = (unsigned)(target - first);     /* a lower one is a high number */
        before += target < first;
        if (at < wanted) nd_add(end + (at * scale >> 32), 1);
    });
    nd_together();
    const int count = nd_sums(end, buckets);
    nd_together();
    nd_each_end(r, p, s, [&](int target) {
        const unsigned at = (unsigned)(target - first);
        if (at < wanted) to[nd_add(end + (at * scale >> 32), 1)] = target;
    });
    nd_together();
    for (integer i = nd_lane(); i < buckets; i += ND_WARP) {
        const int begin = i ? end[i - 1] : 0, stop = end[i];
        for (int n = begin + 1; n < stop; ++n) {
            const int own = to[n];
            int place = n;
            for (; place > begin && to[place - 1] > own; --place) to[place] = to[place - 1];
            to[place] = own;
        }
    }
    nd_together();
    return {(int)nd_total(before), count};
}

/* The connections of a row from the first to the last wanted target; write the targets, ascending. */
ND_FN nd_some nd_row(const nd_rule *r, const nd_piece &p, integer s)
{
    if (r->kind == ND_INTO || r->kind == ND_OUT_OF || r->kind == ND_TOTAL) return nd_sort(r, p, s);
    const nd_some some = nd_ranks(r, p, s);
    const integer hole = nd_hole(r, s + r->shift, r->targets);
    int *to = nd_memory_of(p);
    auto put = [=](int rank, int target) {
        const int at = rank - some.before;
        if (at >= 0 && at < some.count) to[at] = target + (target >= hole);
    };
    if (r->kind == ND_CHANCE) nd_by_chance(r, s, r->targets - (hole < r->targets), put);
    else
        for (int at = nd_lane(); at < some.count; at += ND_WARP)
            put(some.before + at, r->kind == ND_ONE ? (int)s : some.before + at);
    nd_together();
    return some;
}
