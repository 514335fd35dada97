/* Weights and delays of connections whose targets are drawn already. */
template <int kind> static void nd_drawn(const nd_law &law, word key, integer row, int stream,
                                         const int *rank, integer count, nd_scratch &own, double *out)
{
    const double a = law.a, b = law.b, low = law.low, high = law.high;
    _Pragma("omp simd")
    for (integer i = 0; i < count; ++i) out[i] = nd_of<kind>(a, b, key, row, rank[i], 0, stream);
    own.again.clear();
    for (integer i = 0; !law.clip && i < count; ++i)
        if (!(out[i] >= low && out[i] <= high)) own.again.push_back((int)i);
    for (int n = 1; n < ND_ATTEMPTS && !own.again.empty(); ++n) {
        const integer left = (integer)own.again.size();
        const int *at = own.again.data();
        own.drawn.resize((size_t)left);
        double *x = own.drawn.data();
        _Pragma("omp simd")
        for (integer i = 0; i < left; ++i)
            x[i] = nd_of<kind>(a, b, key, row, rank[at[i]], n, stream);
        integer still = 0;
        for (integer i = 0; i < left; ++i) {
            out[at[i]] = x[i];
            if (!(x[i] >= low && x[i] <= high)) own.again[still++] = at[i];
        }
        own.again.resize((size_t)still);
    }
    for (integer i = 0; i < count; ++i) out[i] = nd_bounded(law, out[i]);
}

/* Ranks of connections of a row: `first`, first + 1, ..., or those that are listed, if not null. */
struct nd_ranks { integer first; const int *listed; };

/* Those of the connections of a row that are asked for, from number `from` of them on. */
static nd_ranks nd_ranks_of(const nd_rows *rows, integer row, integer from = 0)
{
    return {rows->skip[row] + from, rows->rank ? rows->rank + rows->listed[row] + from : nullptr};
}

/* Values of `count` connections of a row; ranks of rules of place follow each other. */
static void nd_values_of(const nd_rule *r, int stream, integer row, nd_ranks ranks, integer count,
                         nd_scratch &own, std::vector<double> &out)
{
    const nd_law &law = stream == ND_WEIGHT ? r->weight : r->delay;
    const word key = r->key;
    out.resize((size_t)count);
    double *to = out.data();
    if (!ranks.listed) {
        own.rank.resize((size_t)count);
        std::iota(own.rank.begin(), own.rank.end(), (int)ranks.first);
    }
    const int *rank = ranks.listed ? ranks.listed : own.rank.data();
    switch (law.kind) {
    case ND_NORMAL: nd_drawn<ND_NORMAL>(law, key, row, stream, rank, count, own, to); break;
    case ND_UNIFORM: nd_drawn<ND_UNIFORM>(law, key, row, stream, rank, count, own, to); break;
    case ND_LOG_NORMAL: nd_drawn<ND_LOG_NORMAL>(law, key, row, stream, rank, count, own, to); break;
    case ND_EXPONENTIAL: nd_drawn<ND_EXPONENTIAL>(law, key, row, stream, rank, count, own, to); break;
    default: std::fill(out.begin(), out.end(), law.a);
    }
    if (stream == ND_WEIGHT && r->kind == ND_LATTICE) {
        own.target.clear();
        nd_filtered(r, row, own);
        for (integer i = 0; i < count; ++i) to[i] *= r->lattice.factor[own.filter[rank[i]]];
    }
    if (r->kind >= ND_GRID) nd_space_values(r, stream, row, ranks.first, count, own, to);
}
