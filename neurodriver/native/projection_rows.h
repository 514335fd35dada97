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
