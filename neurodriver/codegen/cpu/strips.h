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
