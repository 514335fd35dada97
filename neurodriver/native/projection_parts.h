/* Connections into some of the targets, which need not be neighbours: those of a part of a circuit.
 * Pasted after projection_place.h.
 * `number` of a target is what its connections are written with, or negative where it is not wanted. */

/* body(source, target, rank of the connection in its row) for all connections. */
template <typename Body> static void nd_each_connection(const nd_rule *r, integer threads,
                                                        const integer *length, Body body)
{
    if (r->kind == ND_INTO) {
        threads = nd_counters(threads, r->number * r->targets, r->sources);
        auto next = nd_into_counts(r, threads, 0, r->targets);
        for (integer s = 0; s < r->sources; ++s) {
            integer before = 0;
            for (auto &one : next) {
                const integer here = one[s];
                one[s] = before;
                before += here;
            }
        }
        nd_shared(threads, threads, [&](integer part, integer) {
            nd_scratch own;
            const integer last = r->targets * (part + 1) / threads;
            for (integer t = r->targets * part / threads; t < last; ++t) {
                nd_into(r, t, own);
                for (const int s : own.target) body(s, t, next[part][s]++);
            }
        });
        return;
    }
    nd_each_row(threads, r->sources, [=](integer s, nd_scratch &own) {
        nd_row(r, s, length[s], own);
        for (size_t i = 0; i < own.target.size(); ++i) body(s, own.target[i], (integer)i);
    });
}

/* Which parts each source reaches: reaches[source * parts + part]; `part` is that of each target. */
extern "C" void nd_reaches(const nd_rule *r, integer threads, const integer *length,
                           const int *part, integer parts, unsigned char *reaches)
{
    nd_each_connection(r, threads, length, [=](integer s, integer t, integer) {
        __atomic_store_n(reaches + s * parts + part[t], (unsigned char)1, __ATOMIC_RELAXED);
    });
}

/* Wanted connections of each source; at first 0. */
extern "C" void nd_count_some(const nd_rule *r, integer threads, const integer *length,
                              const int *number, integer *count)
{
    if (r->kind == ND_INTO) threads = 1;  /* else a row has one thread */
    nd_each_connection(r, threads, length, [=](integer s, integer t, integer) {
        count[s] += number[t] >= 0;
    });
}

/* Write the numbers of the wanted targets, and the ranks of their connections. */
extern "C" void nd_place_some(const nd_rule *r, const nd_rows *rows, const integer *length,
                              const int *number, int *target, int *rank)
{
    if (r->kind == ND_INTO) {
        /* one thread: where a row goes on depends on the targets before */
        std::vector<integer> done((size_t)r->sources);
        nd_each_connection(r, 1, length, [&](integer s, integer t, integer place) {
            if (number[t] < 0) return;
            target[rows->begin[s] + done[s]] = number[t];
            rank[rows->listed[s] + done[s]++] = (int)place;
        });
        return;
    }
    nd_each_row(rows->threads, r->sources, [=](integer s, nd_scratch &own) {
        nd_row(r, s, length[s], own);
        integer begin = rows->begin[s], listed = rows->listed[s];
        for (size_t i = 0; i < own.target.size(); ++i) {
            const int t = number[own.target[i]];
            if (t < 0) continue;
            target[begin++] = t;
            rank[listed++] = (int)i;
        }
    });
}
