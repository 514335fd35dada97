/* Vectors of neighbouring cells of one row, and what is done to them: the same operations as to the
 * numbers of one cell. */

#define ND_VECTOR (64 / (int)sizeof(real))

typedef real nd_v __attribute__((vector_size(64)));
typedef real nd_v_anywhere __attribute__((vector_size(64), aligned(sizeof(real)), may_alias));

ND_FN nd_v nd_load(const real *p) { return *(const nd_v_anywhere *)p; }
ND_FN void nd_store(real *p, nd_v x) { *(nd_v_anywhere *)p = x; }
ND_FN nd_v nd_all(real x) { return x - (nd_v){}; }
ND_FN nd_v nd_all(nd_v x) { return x; }

ND_FN nd_v nd_fmin(nd_v a, nd_v b) { return a < b ? a : (a != a ? a : b); }
ND_FN nd_v nd_fmax(nd_v a, nd_v b) { return a > b ? a : (a != a ? a : b); }

/* What a function gives for each lane from the first one on. */
template <class F> ND_FN nd_v nd_each_lane(F f, int first)
{
    real out[ND_VECTOR];
    ND_SIMD
    for (int l = 0; l < ND_VECTOR; ++l) out[l] = f(first + l);
    return nd_load(out);
}

/* A function of one number, for each number of a vector. */
template <class F> ND_FN nd_v nd_each_of(F f, nd_v x)
{
    real out[ND_VECTOR];
    nd_store(out, x);
    ND_SIMD
    for (int l = 0; l < ND_VECTOR; ++l) out[l] = f(out[l]);
    return nd_load(out);
}

/* Lanes whose run of cells, from `low` to `high`, still holds one after `turn` cells. */
ND_FN auto nd_within_runs(const int *low, const int *high, int turn, int first)
{
    real in[ND_VECTOR];
    ND_SIMD
    for (int l = 0; l < ND_VECTOR; ++l) in[l] = low[first + l] + turn <= high[first + l];
    return nd_load(in) != (nd_v){};
}

/* Every S-th number from `p` on, for vector `c` of a strip. It reads a little more than it takes;
 * where that would lie behind `end`, a function gives the lanes. */
template <int S, class F> ND_FN nd_v nd_every(const real *p, int c, const real *end, F f)
{
#if !defined(__clang__)
    p += c * S * ND_VECTOR;
    if (p + S * ND_VECTOR <= end) {
        typedef decltype((nd_v){} < (nd_v){}) picks;
        nd_v out = nd_load(p);
        for (int k = 0; k < S; ++k) {
            picks pick;
            for (int l = 0; l < ND_VECTOR; ++l) {
                const int at = S * l - k * ND_VECTOR;
                const bool here = at >= 0 && at < ND_VECTOR;
                pick[l] = here ? (k ? ND_VECTOR + at : at) : l;
            }
            out = __builtin_shuffle(out, nd_load(p + k * ND_VECTOR), pick);
        }
        return out;
    }
#endif
    return nd_each_lane(f, c * ND_VECTOR);
}
