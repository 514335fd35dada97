/* Sums over connections that follow from places: see plan/sums/by_place.py. */

/* The tables of a plan, and the part of them for some neighbours of a row of targets. */
struct nd_place_tables {
    const int *__restrict segment;
    const long long *__restrict listed, *__restrict projection;
    const int *__restrict entry;
    const long long *__restrict begin;
    const int *__restrict shift, *__restrict table;
    const real *ring;
    long long segments, now, depth, width;
};

/* Sum for ND_LANES * blocks neighbours with indices from j0 to before j1. take(lane, x, entry, live)
 * takes x where it is live; other lanes read values within ND_LANES of one that is. */
template <int blocks, typename Take>
static inline __attribute__((always_inline)) void nd_row_by_place(
    const nd_place_tables &n, const int *s, int j0, int j1, long long &back, const real *&past,
    Take take)
{
    static_assert(ND_LANES * blocks <= 64);
    const auto vectors = [&](const real *y, int low, int high, long long at)
        __attribute__((always_inline)) {
        if (low >= high) return;
        const unsigned long long live = ~0ull << low & ~0ull >> (64 - high);
        for (int b = 0; b < blocks; ++b) {
            const int bits = (int)(live >> b * ND_LANES) & ((1 << ND_LANES) - 1);
            if (!bits) continue;
            const real *x = y + b * ND_LANES;
            ND_SIMD
            for (int l = 0; l < ND_LANES; ++l)
                take(b * ND_LANES + l, x[l], at, bits >> l & 1);
        }
    };
    for (long long q = n.listed[s[4]]; q < n.listed[s[4] + 1]; ++q) {
        const long long *p = n.projection + 7 * q;
        if (p[6] != back) {
            back = p[6];
            past = n.ring + nd_row_index(n.now - back, n.depth) * n.width;
        }
        const long long *rows = n.begin + p[3] + s[3], end = p[0] + rows[1];
        if (p[2]) {   /* plain: one source for each target, all of them in vectors */
            for (long long at = p[0] + rows[0]; at < end; ++at) {
                const int *e = n.entry + 4 * at;
                const int a = e[1] > j0 ? e[1] : j0, b = e[2] < j1 ? e[2] : j1;
                vectors(past + e[0] + j0, a - j0, b - j0, at);
            }
            continue;
        }
        for (long long at = p[0] + rows[0]; at < end; ++at) {
            const int *e = n.entry + 4 * at, *v = n.shift + 5 * (p[1] + e[3]);
            const int a = j0 > v[1] ? j0 : v[1], b = j1 < v[2] ? j1 : v[2];
            const int first = e[1] + v[0], behind = e[2] + v[0];
            const auto alone = [&](int j, int to) {
                const int *runs = n.table + 4 * (p[4] + e[3] * p[5]);
                const real *x = past + e[0] - v[0];
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
                const int c = a > e[1] - k ? a : e[1] - k, d = b < e[2] - k ? b : e[2] - k;
                vectors(past + e[0] + k + j0, c - j0, d - j0, at);
            }
            if (v[4] && b < j1) alone(b > j0 && b > a ? b : (a < j1 ? a : j1), j1);
        }
    }
}

/* begin() clears the sums of 4 * ND_LANES lanes; end(t, n) stores n of them, from component t of
 * the tile on. */
template <typename Begin, typename Take, typename End>
static inline __attribute__((always_inline)) void nd_by_place(
    const nd_place_tables &n, long long tile, int count, Begin begin, Take take, End end)
{
    const long long behind_tile = tile + count;
    long long low = 0, high = n.segments, back = ~(1ll << 62);   /* no number of rows */
    const real *past = n.ring;
    while (low < high) {   /* the first segment that ends behind the beginning of the tile */
        const long long middle = (low + high) / 2;
        if (n.segment[5 * middle] + n.segment[5 * middle + 1] > tile) high = middle;
        else low = middle + 1;
    }
    for (; low < n.segments && n.segment[5 * low] < behind_tile; ++low) {
        const int *s = n.segment + 5 * low;
        const long long from = s[0] > tile ? s[0] : tile;
        const long long last = s[0] + s[1] < behind_tile ? s[0] + s[1] : behind_tile;
        const long long to_tile = s[0] - s[2] - tile;   /* component of the tile less index */
        const int stop = (int)(last - s[0] + s[2]);
        for (int j0 = (int)(from - s[0] + s[2]), j1; j0 < stop; j0 = j1) {
            j1 = j0 + 4 * ND_LANES < stop ? j0 + 4 * ND_LANES : stop;
            begin();
            if (j1 - j0 <= ND_LANES) nd_row_by_place<1>(n, s, j0, j1, back, past, take);
            else if (j1 - j0 <= 2 * ND_LANES) nd_row_by_place<2>(n, s, j0, j1, back, past, take);
            else nd_row_by_place<4>(n, s, j0, j1, back, past, take);
            end(j0 + to_tile, j1 - j0);
        }
    }
}
