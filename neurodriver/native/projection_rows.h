/* Rules: which targets a source is connected with. */
static void nd_by_chance(const nd_rule *r, integer s, integer n, nd_scratch &own)
{
    double at = -1;
    for (integer draw = 0;;) {
        const double hits = (n - 1 - at) * r->chance;   /* to be expected */
        const integer few = (integer)nd_fmin(hits + nd_sqrt(hits) + 8, 4096) / 2 * 2;
        nd_bits_of(r->key, s, ND_ENDS, draw, few, own.bits);
        own.real.resize((size_t)few);
        const word *bits = own.bits.data();
        double *gap = own.real.data();
        const double per_log = r->per_log;
        _Pragma("omp simd")
        for (integer i = 0; i < few; ++i) gap[i] = nd_gap(bits[i], per_log);
        for (integer i = 0; i < few; ++i) {
            at += gap[i] + 1;
            if (at >= (double)n) return;
            own.target.push_back((int)at);
        }
        draw += few;
    }
}

static void nd_filtered(const nd_rule *r, integer s, nd_scratch &own)
{
    const nd_lattice &l = r->lattice;
    const integer *end = l.code + r->targets, *cell = l.cell + s * l.dims;
    std::vector<word> &found = own.bits;   /* (target, offset) */
    found.clear();
    for (integer f = 0; f < l.offsets; ++f) {
        integer code = 0;
        bool inside = true;
        for (integer d = 0; d < l.dims; ++d) {
            const integer x = cell[d] + l.offset[f * l.dims + d] - l.low[d];
            inside &= x >= 0 && x < l.extent[d];
            code = code * l.extent[d] + x;
        }
        if (!inside) continue;
        for (const integer *at = std::lower_bound(l.code, end, code); at < end && *at == code; ++at)
            found.push_back((word)l.order[at - l.code] << 32 | (word)f);
    }
    std::sort(found.begin(), found.end());
    own.filter.clear();
    for (const word pair : found) {
        own.target.push_back((int)(pair >> 32));
        own.filter.push_back((int)pair);
    }
}

/* The targets of a source, ascending: every rule but ND_INTO, whose rows are drawn by target. */
static void nd_row(const nd_rule *r, integer s, integer length, nd_scratch &own)
{
    const integer hole = nd_hole(r, s + r->shift, r->targets), n = r->targets - (hole < r->targets);
    own.target.clear();
    if (r->kind >= ND_GRID) {
        nd_space_row(r, s, own, nullptr);
    } else if (r->kind == ND_ALL) {
        own.target.resize((size_t)n);
        for (integer i = 0; i < n; ++i) own.target[i] = (int)i;
    } else if (r->kind == ND_CHANCE) {
        nd_by_chance(r, s, n, own);
    } else if (r->kind == ND_ONE) {
        own.target.push_back((int)s);
    } else if (r->kind == ND_LATTICE) {
        nd_filtered(r, s, own);
    } else {   /* ND_OUT_OF, ND_TOTAL */
        nd_bits_of(r->key, s, ND_ENDS, 0, length, own.bits);
        if (r->multapses) {
            own.target.resize((size_t)length);
            for (integer i = 0; i < length; ++i)
                own.target[i] = (int)nd_below(own.bits[i], (word)n);
        } else {
            nd_different(own, n, length);
            nd_forget(own);
        }
        nd_ascend(own, n);
    }
    if (hole < r->targets)
        for (int &t : own.target) t += t >= hole;
}

/* The sources of a target, in the order in which they are drawn. */
static void nd_into(const nd_rule *r, integer t, nd_scratch &own)
{
    const integer hole = nd_hole(r, t - r->shift, r->sources), n = r->sources - (hole < r->sources);
    own.target.resize((size_t)r->number);
    nd_bits_of(r->key, t, ND_ENDS, 0, r->number, own.bits);
    if (r->multapses) {
        for (integer i = 0; i < r->number; ++i)
            own.target[i] = (int)nd_below(own.bits[i], (word)n);
    } else {
        nd_different(own, n, r->number);
        nd_forget(own);
    }
    if (hole < r->sources)
        for (int &s : own.target) s += s >= hole;
}

/* As many threads as have more connections to draw than sources to count for. */
static integer nd_counters(integer threads, integer edges, integer sources)
{
    return std::max<integer>(1, std::min(threads, edges / (sources + 1)));
}

/* count[thread][source] of the targets first, ..., last - 1, shared in that order. */
static std::vector<std::vector<integer>> nd_into_counts(const nd_rule *r, integer threads,
                                                        integer first, integer last)
{
    std::vector<std::vector<integer>> count((size_t)threads);
    nd_shared(threads, threads, [&](integer part, integer) {
        nd_scratch own;
        std::vector<integer> here((size_t)r->sources);
        const integer from = first + (last - first) * part / threads;
        for (integer t = from; t < first + (last - first) * (part + 1) / threads; ++t) {
            nd_into(r, t, own);
            for (const int s : own.target) ++here[s];
        }
        count[part] = std::move(here);
    });
    return count;
}

static void nd_sum(const std::vector<std::vector<integer>> &parts, integer *total, integer n)
{
    std::fill(total, total + n, 0);
    for (const auto &one : parts)
        for (integer i = 0; i < n; ++i) total[i] += one[i];
}

/* Of `number` connections with both ends drawn: how many begin at each source. */
static void nd_shares(const nd_rule *r, integer threads, integer *length)
{
    const integer each = 1 << 14;
    std::vector<std::vector<integer>> count((size_t)threads,
                                            std::vector<integer>((size_t)r->sources));
    std::vector<nd_scratch> own(threads);
    nd_shared(threads, (r->number + each - 1) / each, [&](integer part, integer me) {
        const integer n = std::min(each, r->number - part * each);
        nd_bits_of(r->key, 0, ND_SHARE, part * each, n, own[me].bits);
        for (integer i = 0; i < n; ++i)
            ++count[me][nd_below(own[me].bits[i], (word)r->sources)];
    });
    nd_sum(count, length, r->sources);
}

/* Connections of each source. */
extern "C" void nd_lengths(const nd_rule *r, integer threads, integer *length)
{
    if (r->kind == ND_INTO) {
        threads = nd_counters(threads, r->number * r->targets, r->sources);
        nd_sum(nd_into_counts(r, threads, 0, r->targets), length, r->sources);
    } else if (r->kind == ND_TOTAL) {
        nd_shares(r, nd_counters(threads, r->number, r->sources), length);
    } else {
        nd_each_row(threads, r->sources, [=](integer s, nd_scratch &own) {
            if (r->kind == ND_OUT_OF) {
                length[s] = r->number;
            } else {
                nd_row(r, s, 0, own);
                length[s] = (integer)own.target.size();
            }
        });
    }
}

/* Of each row: connections before target `first`, and from there to before `last`. */
extern "C" void nd_window(const nd_rule *r, integer threads, const integer *length, integer first,
                          integer last, integer *skip, integer *count)
{
    if (r->kind == ND_INTO) {
        threads = nd_counters(threads, r->number * r->targets, r->sources);
        nd_sum(nd_into_counts(r, threads, 0, first), skip, r->sources);
        nd_sum(nd_into_counts(r, threads, first, last), count, r->sources);
        return;
    }
    nd_each_row(threads, r->sources, [=](integer s, nd_scratch &own) {
        nd_row(r, s, length[s], own);
        const auto from = own.target.begin(), to = own.target.end();
        skip[s] = std::lower_bound(from, to, (int)first) - from;
        count[s] = std::lower_bound(from, to, (int)last) - from - skip[s];
    });
}

/* Write the targets first, ..., last - 1 of each row, plus `origin`, from begin[row] on. */
extern "C" void nd_place(const nd_rule *r, const nd_rows *rows, const integer *length, integer first,
                         integer last, integer origin, int *target)
{
    if (r->kind == ND_INTO) {
        /* Threads have their targets in order, so rows ascend without being sorted. */
        const integer threads = nd_counters(rows->threads, r->number * r->targets, r->sources);
        auto next = nd_into_counts(r, threads, first, last);
        for (integer s = 0; s < r->sources; ++s) {
            integer at = rows->begin[s];
            for (auto &one : next) {
                const integer here = one[s];
                one[s] = at;
                at += here;
            }
        }
        nd_shared(threads, threads, [&](integer part, integer) {
            nd_scratch own;
            integer *to = next[part].data();
            const integer from = first + (last - first) * part / threads;
            for (integer t = from; t < first + (last - first) * (part + 1) / threads; ++t) {
                nd_into(r, t, own);
                for (const int s : own.target) target[to[s]++] = (int)(origin + t);
            }
        });
        return;
    }
    nd_each_row(rows->threads, r->sources, [=](integer s, nd_scratch &own) {
        nd_row(r, s, length[s], own);
        const int *from = own.target.data() + rows->skip[s];
        int *to = target + rows->begin[s];
        for (integer i = 0; i < rows->count[s]; ++i) to[i] = (int)(origin + from[i]);
    });
}
