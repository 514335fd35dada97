/* Weights and delays, and what is asked of them. Pasted after projection_laws.h. */

/* The weights (stream 1) or the delays (2), in the places of the connections. */
extern "C" void nd_values(const nd_rule *r, const nd_rows *rows, integer stream, double *out)
{
    nd_each_row(rows->threads, r->sources, [=](integer s, nd_scratch &own) {
        nd_values_of(r, (int)stream, s, nd_ranks_of(rows, s), rows->count[s], own, own.real);
        std::copy(own.real.begin(), own.real.end(), out + rows->begin[s]);
    });
}

/* Least and greatest value of each row, at first inf and -inf, of values that are finite and at
 * least `floor`; and the first target whose value is not, or -1, with that value. */
extern "C" void nd_extremes(const nd_rule *r, integer threads, integer stream, double floor,
                            double *least, double *most, int *target, double *value)
{
    nd_each_row(threads, r->sources, [=](integer s, nd_scratch &own) {
        nd_row(r, s, 0, own);
        const std::vector<int> row = own.target;
        nd_values_of(r, (int)stream, s, {0, nullptr}, (integer)row.size(), own, own.real);
        for (size_t i = row.size(); i-- > 0;) {
            const double x = own.real[i];
            if (x - x == 0 && x >= floor) {
                least[s] = nd_fmin(least[s], x);
                most[s] = nd_fmax(most[s], x);
            } else {
                target[s] = row[i];
                value[s] = x;
            }
        }
    });
}

/* Least and greatest delay of each row in steps; 0 where it has no connection. */
extern "C" void nd_span(const nd_rule *r, const nd_rows *rows, double dt, integer *least,
                        integer *most)
{
    nd_each_row(rows->threads, r->sources, [=](integer s, nd_scratch &own) {
        nd_values_of(r, ND_DELAY, s, nd_ranks_of(rows, s), rows->count[s], own, own.real);
        const auto [low, high] = std::minmax_element(own.real.begin(), own.real.end());
        least[s] = own.real.empty() ? 0 : nd_steps(*low, dt);
        most[s] = own.real.empty() ? 0 : nd_steps(*high, dt);
    });
}

static const integer ND_UNLIMITED = (integer)1 << 62;

/* body(target, weight) for the connections of all targets that are asked for: a target has one
 * thread, and its sources in order. From one of them on, so many are drawn at once. */
template <typename Asked, typename Body>
static void nd_each_weight(const nd_rule *r, const nd_rows *rows, const int *target, integer first,
                           integer last, integer piece, Asked asked, Body body)
{
    std::vector<nd_scratch> owns(rows->threads);
    nd_shared(rows->threads, rows->threads, [&](integer part, integer me) {
        const integer from = first + (last - first) * part / rows->threads;
        const integer to = first + (last - first) * (part + 1) / rows->threads;
        for (integer s = 0; s < r->sources; ++s) {
            const int *row = target + rows->begin[s], *end = row + rows->count[s];
            const int *a = std::lower_bound(row, end, (int)from);
            const int *b = std::lower_bound(a, end, (int)to);
            while ((a = std::find_if(a, b, asked)) != b) {
                const integer count = std::min<integer>(b - a, piece);
                nd_values_of(r, ND_WEIGHT, s, nd_ranks_of(rows, s, a - row), count, owns[me],
                             owns[me].real);
                for (integer i = 0; i < count; ++i)
                    if (asked(a[i])) body(a[i], owns[me].real[i]);
                a += count;
            }
        }
    });
}

/* Per target, for what stands there already and the connections here: their number, least
 * |weight| above 0, greatest and summed |weight|. */
extern "C" void nd_bounds(const nd_rule *r, const nd_rows *rows, const int *target, integer first,
                          integer last, integer *degree, double *least, double *greatest,
                          double *sum)
{
    const auto all = [](int) { return true; };
    nd_each_weight(r, rows, target, first, last, ND_UNLIMITED, all, [=](int t, double weight) {
        const double size = nd_fabs(weight);
        ++degree[t];
        if (size > 0) least[t] = nd_fmin(least[t], size);
        greatest[t] = nd_fmax(greatest[t], size);
        sum[t] += size;
    });
}

/* Per target, where its unit is a number: the least distance of a |weight| / unit from a whole
 * number among those that are not `alike` (relative to it), and the greatest such number. */
extern "C" void nd_remainders(const nd_rule *r, const nd_rows *rows, const int *target,
                              integer first, integer last, const double *unit, double alike,
                              double *rest, double *most)
{
    const auto asked = [=](int t) { return unit[t] == unit[t]; };
    /* factors and formulas come by rows */
    const bool by_row = r->kind == ND_LATTICE || r->kind >= ND_GRID;
    const integer piece = by_row ? ND_UNLIMITED : 64;
    nd_each_weight(r, rows, target, first, last, piece, asked, [=](int t, double weight) {
        const double ratio = nd_fmin(nd_fabs(weight) / unit[t], 0x1p60);
        const double whole = __builtin_rint(ratio), apart = nd_fabs(ratio - whole);
        if (apart > alike * whole) rest[t] = nd_fmin(rest[t], apart);
        most[t] = nd_fmax(most[t], whole);
    });
}

/* Targets become codes (steps - 1 - lag of the row) * width + target; weights whole numbers of
 * `unit`, one for each target, of `bytes` bytes (0: not wanted). */
extern "C" void nd_encode(const nd_rule *r, const nd_rows *rows, double dt, integer width,
                          const integer *lag, const double *unit, integer bytes, int *code,
                          void *weight)
{
    nd_each_row(rows->threads, r->sources, [=](integer s, nd_scratch &own) {
        const integer count = rows->count[s], begin = rows->begin[s];
        const nd_ranks ranks = nd_ranks_of(rows, s);
        int *row = code + begin;
        if (bytes) {
            nd_values_of(r, ND_WEIGHT, s, ranks, count, own, own.real);
            double *n = own.real.data();
            for (integer i = 0; i < count; ++i) n[i] = __builtin_rint(n[i] / unit[row[i]]);
            if (bytes == 1) std::copy(n, n + count, (signed char *)weight + begin);
            if (bytes == 2) std::copy(n, n + count, (short *)weight + begin);
            if (bytes == 4) std::copy(n, n + count, (int *)weight + begin);
        }
        nd_values_of(r, ND_DELAY, s, ranks, count, own, own.real);
        for (integer i = 0; i < count; ++i)
            row[i] += (int)((nd_steps(own.real[i], dt) - 1 - lag[s]) * width);
    });
}
