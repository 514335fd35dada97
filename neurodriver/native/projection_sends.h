/* Connections that are stored nowhere: those of a source are computed when it spikes. */

/* Ways along an axis: the runs of source index i are begin[i] to begin[i + 1] - 1. Run k has the
 * targets low[k], low[k] + 1, ...; their ways are way[at[k]] to way[at[k + 1] - 1]. `ascending`:
 * those of each run ascend. `share` has for each term of a sum of exponentials the axis' factor of each
 * way, `size` numbers a term. */
struct nd_ways {
    const integer *begin, *at;
    const int *low;
    const double *way, *share;
    integer ascending, size;
};

enum { ND_SUMMANDS = 4, ND_BEYOND = 8 };
static const double ND_SHIFT = 0x1.8p52;    /* a number plus this one ends with its nearest whole number */
typedef double nd_reals __attribute__((vector_size(64), aligned(8), may_alias));
typedef int nd_numbers __attribute__((vector_size(32), aligned(4), may_alias));
typedef long long nd_words __attribute__((vector_size(64)));

/* `unit` is that of each slot of a step, `first` the slot of the first target, and `shortest` the
 * least latency. Slots of `ahead` targets follow each other, up to slot `end`. `powers`: all units are
 * powers of two, and `unit` has 1 over each, `finest` the greatest; `alike`: all are equal. `ways` is null unless the rule is
 * one along axes without masks, whose formulas read distances alone. `direct`: its numbers are not
 * drawn, and read no more than distances; `apart`: they read those along the axes, too. The weight is a
 * sum of `terms` exponentials, 0: it is none; `error` bounds what their products lack. */
struct nd_sends {
    const nd_rule *rule;
    const double *unit;
    const nd_ways *ways;
    double dt;
    integer first, shortest, ahead, end, lanes, powers, alike, apart, direct, terms;
    double error, finest;
};

/* Targets along axes, run by run. */
struct nd_runs {
    std::vector<double> squared, along[16];
    std::vector<int> target, multiple;
    integer index[16], inner[17];
    double way[16], share[17][ND_SUMMANDS];
    integer count;
    nd_words open;  /* not 0: a sum of products leaves open which multiple a weight is */
    bool rough;     /* multiples are those of sums of products along axes */

    /* Makes room for `more` connections. */
    void room(integer dims, integer more)
    {
        const size_t size = (size_t)(count + more);
        if (squared.size() < size) squared.resize(2 * size);
        if (target.size() < size) target.resize(2 * size);
        if (multiple.size() < size) multiple.resize(2 * size);
        for (integer d = 0; d < dims; ++d)
            if (along[d].size() < size) along[d].resize(2 * size);
    }

    /* The targets from `low` to `high` - 1, but for `self`, from axis d on. */
    void find(const nd_sends &p, integer d, integer point, double sum, integer low, integer high, integer self)
    {
        const nd_space &g = *p.rule->space;
        const nd_ways &a = p.ways[d];
        const integer base = point * g.axes[d].targets;
        for (integer k = a.begin[index[d]]; k < a.begin[index[d] + 1]; ++k) {
            const double *const ways = a.way + a.at[k];
            const integer size = a.at[k + 1] - a.at[k], first = base + a.low[k];
            if (d + 1 == g.dims) {
                run(p, d, first - g.first_target, ways, size, sum, low, high, self);
                continue;
            }
            for (integer e = 0; e < size; ++e) {
                const integer here = first + e, begin = here * inner[d + 1] - g.first_target;
                if (begin + inner[d + 1] <= low || begin >= high) continue;
                const double next = sum + ways[e] * ways[e];
                way[d] = ways[e];
                for (integer t = 0; rough && t < p.terms; ++t)
                    share[d + 1][t] = share[d][t] * a.share[t * a.size + a.at[k] + e];
                if (next <= g.squared) find(p, d + 1, here, next, low, high, self);
            }
        }
    }

    /* Those of a run along the last axis; the first of its `size` targets is `first`. */
    void run(const nd_sends &p, integer d, integer first, const double *ways, integer size, double sum,
             integer low, integer high, integer self)
    {
        const double most = p.rule->space->squared;
        integer from = std::max(low - first, 0ll), to = std::min(high - first, size);
        if (!p.ways[d].ascending) {
            for (; from < to; ++from)
                if (sum + ways[from] * ways[from] <= most) some(p, d, first, ways, from, from + 1, sum, self);
            return;
        }
        if (from >= to) return;
        from += beyond<1>(ways + from, to - from, sum, most);
        to -= beyond<-1>(ways + to - 1, to - from, sum, most);
        some(p, d, first, ways, from, to, sum, self);
    }

    /* How many of `size` ways are too far before the first that is not. */
    template <int step> static integer beyond(const double *ways, integer size, double sum, double most)
    {
        integer n = 0;
        while (n < size && sum + ways[step * n] * ways[step * n] > most) ++n;
        return n;
    }

    /* All from number `from` of a run to before number `to`, but for `self`. */
    void some(const nd_sends &p, integer d, integer first, const double *ways, integer from, integer to,
              double sum, integer self)
    {
        const integer place = self - first, n = to - from;
        if (self >= 0 && place >= from && place < to) {
            some(p, d, first, ways, from, place, sum, -1);
            some(p, d, first, ways, place + 1, to, sum, -1);
            return;
        }
        if (n <= 0) return;
        room(p.rule->space->dims, n + ND_BEYOND);
        const double *const way_at = ways + from;
        const int begin = (int)(first + from);
        switch (rough ? p.terms : 0) {
            case 1: write<1>(p, d, begin, way_at, n, sum); break;
            case 2: write<2>(p, d, begin, way_at, n, sum); break;
            case 3: write<3>(p, d, begin, way_at, n, sum); break;
            case 4: write<4>(p, d, begin, way_at, n, sum); break;
            default: write<0>(p, d, begin, way_at, n, sum);
        }
        for (integer o = 0; p.apart && o < d; ++o) std::fill_n(along[o].begin() + count, n, way[o]);
        if (p.apart) std::copy_n(way_at, n, along[d].begin() + count);
        count += n;
    }

    /* Targets from `begin` on, squared distances, and multiples of a sum of `terms`, as whole vectors: what
     * follows the n targets is written over. */
    template <integer terms>
    void write(const nd_sends &p, integer d, int begin, const double *way_at, integer n, double sum)
    {
        const nd_ways &a = p.ways[d];
        const double *const share_at = a.share + (way_at - a.way), *const unit = p.unit + p.first + begin;
        const double clear = 0.5 - p.error * p.finest;
        int *const to = target.data() + count, *const m = multiple.data() + count;
        double *const far = squared.data() + count;
        const integer size = a.size;
        double before[ND_SUMMANDS];
        std::copy_n(share[d], ND_SUMMANDS, before);
        nd_words doubtful = {};
        for (integer i = 0; i < n; i += ND_BEYOND) {
            const nd_reals it = *(const nd_reals *)(way_at + i);
            *(nd_numbers *)(to + i) = (begin + (int)i) + nd_numbers{0, 1, 2, 3, 4, 5, 6, 7};
            *(nd_reals *)(far + i) = sum + it * it;
            if (!terms) continue;
            nd_reals total = before[0] * *(const nd_reals *)(share_at + i);
            for (integer t = 1; t < terms; ++t)
                total += before[t] * *(const nd_reals *)(share_at + t * size + i);
            const nd_reals units = total * *(const nd_reals *)(unit + i), shifted = units + ND_SHIFT;
            const nd_reals rest = units - (shifted - ND_SHIFT);
            *(nd_numbers *)(m + i) = __builtin_convertvector((nd_words)shifted, nd_numbers);
            doubtful |= (nd_words)(rest > clear) | (nd_words)(rest < -clear);
        }
        if (terms) open |= doubtful;
    }
};

/* The connections of a source. */
struct nd_sent : nd_runs {
    nd_scratch own;
    nd_places places;
    std::vector<double> weight, delay;

    void along_axes(const nd_sends &p, integer s, integer low, integer high)
    {
        const nd_rule &r = *p.rule;
        const nd_space &g = *r.space;
        const integer cell = g.first_source + s;
        integer point = g.point ? g.point[cell] : cell;
        inner[g.dims] = 1;
        for (integer d = g.dims; d-- > 0;) {
            index[d] = point % g.axes[d].sources;
            point /= g.axes[d].sources;
            inner[d] = inner[d + 1] * g.axes[d].targets;
        }
        count = 0;
        open = nd_words{};
        std::fill_n(share[0], ND_SUMMANDS, 1.0);
        find(p, 0, 0, 0.0, low, high, g.autapses ? -1 : s + r.shift);
        by_formula(r, rough);
    }

    /* Values of places that are known. */
    void by_formula(const nd_rule &r, bool delays_alone)
    {
        const double *at[17] = {squared.data()};
        for (integer d = 0; d < r.space->dims; ++d) at[d + 1] = along[d].data();
        if (!delays_alone) values(r.weight, r.space->formula[0], at, weight);
        values(r.delay, r.space->formula[1], at, delay);
    }

    /* The same for points, in any order. */
    void among_points(const nd_sends &p, integer s, integer low, integer high)
    {
        const nd_rule &r = *p.rule;
        const nd_space &g = *r.space;
        own.target.clear();
        places.squared.clear();
        places.along.resize((size_t)g.dims);
        for (auto &one : places.along) one.clear();
        nd_search search{&r, &g, g.autapses ? -1 : s + r.shift, &own, &places, {}, {}, {}};
        search.points(0, 0, g.from + (g.first_source + s) * g.dims);
        take_targets();
        const double *at[17] = {places.squared.data()};
        for (integer d = 0; d < g.dims; ++d) at[d + 1] = places.along[d].data();
        values(r.weight, r.space->formula[0], at, weight);
        values(r.delay, r.space->formula[1], at, delay);
        within(low, high);
    }

    void take_targets()
    {
        count = (integer)own.target.size();
        if (target.size() < own.target.size()) target.resize(2 * own.target.size());
        std::copy(own.target.begin(), own.target.end(), target.begin());
    }

    /* Leaves targets from `low` to `high` - 1. */
    void within(integer low, integer high)
    {
        integer n = 0;
        for (integer i = 0; i < count; ++i) {
            if (target[i] < low || target[i] >= high) continue;
            target[n] = target[i], weight[n] = weight[i], delay[n++] = delay[i];
        }
        count = n;
    }

    void values(const nd_law &law, void (*formula)(integer, const double *const *, double *),
                const double *const *at, std::vector<double> &out)
    {
        if ((integer)out.size() < count) out.resize(2 * (size_t)count);
        if (formula) formula(count, at, out.data());
        else std::fill(out.begin(), out.begin() + count, law.a);
    }

    /* Targets, weights and delays of a source, of targets from `low` to `high` - 1. With `in_sums` there may
     * be multiples in the place of weights. */
    void row(const nd_sends &p, integer s, integer low, integer high, bool in_sums = false)
    {
        const nd_rule *r = p.rule;
        rough = in_sums && p.terms;
        if (p.ways) return along_axes(p, s, low, high);
        if (p.direct && r->kind == ND_POINTS) return among_points(p, s, low, high);
        nd_space_row(r, s, own, nullptr);
        take_targets();
        nd_values_of(r, ND_WEIGHT, s, {0, nullptr}, count, own, weight);
        nd_values_of(r, ND_DELAY, s, {0, nullptr}, count, own, delay);
        within(low, high);
    }

    /* Weights become multiples of the targets' units. */
    void to_multiples(const nd_sends &p)
    {
        const double *unit = p.unit + p.first;
        if ((integer)multiple.size() < count) multiple.resize(2 * (size_t)count);
        int *m = multiple.data();
        const int *to = target.data();
        const double *w = weight.data();
        const integer n = count;
        if (p.powers && p.alike) {
            const double each = unit[0];
            _Pragma("omp simd")
            for (integer i = 0; i < n; ++i) m[i] = (int)nd_rint(w[i] * each);
        } else if (p.powers) {     /* the product is exact */
            _Pragma("omp simd")
            for (integer i = 0; i < n; ++i) m[i] = (int)nd_rint(w[i] * unit[to[i]]);
        } else {
            _Pragma("omp simd")
            for (integer i = 0; i < n; ++i) m[i] = (int)nd_rint(w[i] / unit[to[i]]);
        }
    }

    /* Whether all multiples are those of the weights by their formula. */
    bool settled() const
    {
        long long any = 0;
        for (int i = 0; i < 8; ++i) any |= open[i];
        return any == 0;
    }

    /* Weights become multiples of the targets' units, targets slots behind slot `now`. */
    void in_units(const nd_sends &p, integer now)
    {
        if (rough && !settled()) {
            rough = false;
            by_formula(*p.rule, false);
        }
        if (!rough) to_multiples(p);
        const double dt = p.dt, least = (double)p.shortest;
        const int first = (int)p.first, end = (int)p.end, begin = (int)now, ahead = (int)p.ahead;
        int *to = target.data();
        const double *d = delay.data();
        const integer n = count;
        _Pragma("omp simd")
        for (integer i = 0; i < n; ++i) {
            const double steps = nd_rint(nd_fmin(d[i] / dt, 0x1p53));
            const int at = begin + (int)(nd_fmax(steps, 1.0) - least) * ahead;
            to[i] += first + (at < end ? at : at - end);
        }
    }

    template <typename Slot> void add(const nd_sends &p, integer times, Slot *slots, unsigned char *dirty)
    {
        const int *to = target.data(), *m = multiple.data();
        const integer n = count, lanes = p.lanes;
        for (integer i = 0; i < n; ++i) slots[to[i]] += (Slot)m[i] * (Slot)times;
        for (integer i = 0; dirty && i < n; ++i) dirty[to[i] / lanes] = 1;
    }
};

static nd_sent &nd_own_sent()
{
    static thread_local nd_sent own;
    nd_sent *at = &own;
    asm("" : "+r"(at));     /* else each element of a loop asks anew where it is */
    return *at;
}

/* `times` spikes of a source reach targets whose slots in a step are `low` to `high` - 1. What is due
 * first goes to slot `now` and those behind it. `size`: bytes of a slot. */
extern "C" void nd_send(const nd_sends *p, integer s, integer times, integer low, integer high, integer now,
                        integer size, void *slots, unsigned char *dirty)
{
    if (s < 0 || s >= p->rule->sources) return;
    nd_sent &my = nd_own_sent();
    my.row(*p, s, std::max(low - p->first, 0ll), std::min(high - p->first, p->rule->targets), true);
    my.in_units(*p, now);
    if (size == 4) my.add(*p, times, (int *)slots, dirty);
    else my.add(*p, times, (integer *)slots, dirty);
}

/* The connections of a source: their number; slots, multiples and steps beyond the least latency. */
extern "C" integer nd_sent_by(const nd_sends *p, integer s, integer room, int *slot, integer *multiple,
                              integer *later)
{
    nd_sent &my = nd_own_sent();
    my.row(*p, s, 0, p->rule->targets);
    if (my.count > room) return my.count;
    my.in_units(*p, 0);
    for (integer i = 0; i < my.count; ++i) {
        slot[i] = (int)(my.target[i] % p->ahead), later[i] = my.target[i] / p->ahead;
        multiple[i] = my.multiple[i];
    }
    return my.count;
}

/* Accounts for |weights| of each target, in the order of the sources: number, least above 0, greatest,
 * sum. With units, NaN where nothing is asked: the least distance from a whole number of units, and
 * the greatest such number; up to `alike`, relative to the number, distances are none. */
extern "C" void nd_sends_bounds(const nd_sends *p, integer threads, const double *unit, double alike,
                                integer *degree, double *least, double *greatest, double *total)
{
    const integer targets = p->rule->targets, parts = 4 * threads;
    nd_shared(threads, parts, [=](integer part, integer) {
        nd_sent &my = nd_own_sent();
        const integer low = targets * part / parts, high = targets * (part + 1) / parts;
        for (integer s = 0; low < high && s < p->rule->sources; ++s) {
            my.row(*p, s, low, high);
            for (integer i = 0; i < my.count; ++i) {
                const integer t = my.target[i];
                const double size = nd_fabs(my.weight[i]);
                if (unit) {
                    if (unit[t] != unit[t]) continue;
                    const double ratio = nd_fmin(size / unit[t], 0x1p60), whole = nd_rint(ratio);
                    const double apart = nd_fabs(ratio - whole);
                    if (apart > alike * whole) least[t] = nd_fmin(least[t], apart);
                    greatest[t] = nd_fmax(greatest[t], whole);
                    continue;
                }
                ++degree[t];
                if (size > 0) least[t] = nd_fmin(least[t], size);
                greatest[t] = nd_fmax(greatest[t], size);
                total[t] += size;
            }
        }
    });
}
