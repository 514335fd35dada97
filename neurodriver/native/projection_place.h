/* Where the connections of rows begin, and the targets that are written there. */

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
