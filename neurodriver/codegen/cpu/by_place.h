/* Sums over connections that are not stored: see plan/sums/by_place.py. */

enum { ND_TOGETHER = 4 * ND_LANES };    /* neighbours that are computed together at most */

/* The tables of a plan; `late` is null where all connections have the delay of `back` rows. */
struct nd_place_tables {
    const int *__restrict segment, *__restrict slice, *__restrict begin, *__restrict entry;
    const int *__restrict late, *__restrict kind, *__restrict table, *__restrict list;
    const real *ring;
    long long segments, now, back, depth, width;
};

/* What the neighbours with indices j0 .. j1 - 1 read of an entry that has a list or a kind. */
template <int blocks, typename Take>
static inline __attribute__((always_inline)) void nd_kind_by_place(
    const nd_place_tables &n, const real *past, const int *e, int j0, int j1, int at, Take take)
{
    if (e[3] < -1) {   /* one source at most for each target, anywhere */
        const int *sources = n.list - 2 - e[3] + j0;
        const real *x = past + e[0];
        alignas(64) real seen[blocks * ND_LANES];
        for (int l = 0; l < blocks * ND_LANES; ++l) {
            const int i = sources[l];
            seen[l] = x[i >= e[1] && i < e[2] ? i : e[1]];
        }
        const unsigned some = (unsigned)(e[2] - e[1]);
        ND_SIMD
        for (int l = 0; l < blocks * ND_LANES; ++l)
            take(l, seen[l], at, (unsigned)(sources[l] - e[1]) < some);
        return;
    }
    const int *v = n.kind + 6 * e[3];
    const int a = j0 > v[1] ? j0 : v[1], b = j1 < v[2] ? j1 : v[2];
    const auto alone = [&](int j, int to) {
        const int *runs = n.table + 4 * v[5];
        const real *x = past + e[0] - v[0];
        const int first = e[1] + v[0], behind = e[2] + v[0];
        for (; j < to; ++j)
            for (int part = 0; part < 4; part += 2) {
                int i = runs[4 * j + part], beyond = i + runs[4 * j + part + 1];
                i = i > first ? i : first;
                beyond = beyond < behind ? beyond : behind;
                for (; i < beyond; ++i) take(j - j0, x[i], at, true);
            }
    };
    if (v[4] && a > j0) alone(j0, a < j1 ? a : j1);
    for (int k = 0; k < v[3]; ++k) {
        const int low = a > e[1] - k ? a : e[1] - k, high = b < e[2] - k ? b : e[2] - k;
        const real *x = past + e[0] + k + j0;
        if (low >= high) continue;
        ND_SIMD
        for (int l = 0; l < blocks * ND_LANES; ++l)
            take(l, x[l], at, (unsigned)(j0 + l - low) < (unsigned)(high - low));
    }
    if (v[4] && b < j1) alone(b > j0 && b > a ? b : (a < j1 ? a : j1), j1);
}

/* The sums of the neighbours with indices j0 .. j1 - 1, at most `blocks` times ND_LANES of them. */
template <bool kinds, int blocks, typename Take>
static inline __attribute__((always_inline)) void nd_row_by_place(
    const nd_place_tables &n, const int *s, int j0, int j1, int &late, const real *&past, Take take)
{
    const int behind = n.begin[s[3] + 1];
    for (int at = n.begin[s[3]]; at < behind; ++at) {
        const int *e = n.entry + 4 * at;
        if (n.late && n.late[at] != late) {
            late = n.late[at];
            past = n.ring + nd_row_index(n.now - late, n.depth) * n.width;
        }
        if (kinds && e[3] != -1) {
            nd_kind_by_place<blocks>(n, past, e, j0, j1, at, take);
            continue;
        }
        for (;;) {   /* entries of one delay and without a kind: sums stay in registers */
            const int low = e[1] - j0;
            const unsigned some = (unsigned)(e[2] - e[1]);
            const real *x = past + e[0] + j0;
            if (low < blocks * ND_LANES && low + (int)some > 0) {
                ND_SIMD
                for (int l = 0; l < blocks * ND_LANES; ++l)
                    take(l, x[l], at, (unsigned)(l - low) < some);
            }
            e += 4;
            if (at + 1 == behind || (kinds && e[3] != -1)) break;
            if (n.late && n.late[at + 1] != late) break;
            ++at;
        }
    }
}

/* begin() clears the sums of ND_TOGETHER neighbours, take(lane, x, entry, live) takes x
 * where it is live, end(t, n) stores n of them, from component t of the tile on. Lanes that are not
 * live read values within so many of one that is: branches for them would cost more. */
template <bool kinds, typename Begin, typename Take, typename End>
static inline __attribute__((always_inline)) void nd_by_place(
    const nd_place_tables &n, long long tile, int count, Begin begin, Take take, End end)
{
    const long long behind_tile = tile + count;
    int late = (int)n.back;
    const real *past = n.ring + nd_row_index(n.now - late, n.depth) * n.width;
    for (long long i = n.slice[tile / ND_LANES]; i < n.segments; ++i) {
        const int *s = n.segment + 4 * i;
        if (s[0] >= behind_tile) break;
        const long long from = s[0] > tile ? s[0] : tile;
        const long long last = s[1] < behind_tile ? s[1] : behind_tile;
        const long long to_tile = s[0] - s[2] - tile;   /* component of the tile less index */
        const int stop = (int)(last - s[0] + s[2]);
        for (int j0 = (int)(from - s[0] + s[2]), j1; j0 < stop; j0 = j1) {
            j1 = j0 + ND_TOGETHER < stop ? j0 + ND_TOGETHER : stop;
            begin();
            switch ((j1 - j0 - 1) / ND_LANES) {
            case 0: nd_row_by_place<kinds, 1>(n, s, j0, j1, late, past, take); break;
            case 1: nd_row_by_place<kinds, 2>(n, s, j0, j1, late, past, take); break;
            case 2: nd_row_by_place<kinds, 3>(n, s, j0, j1, late, past, take); break;
            default: nd_row_by_place<kinds, 4>(n, s, j0, j1, late, past, take);
            }
            end(j0 + to_tile, j1 - j0);
        }
    }
}
