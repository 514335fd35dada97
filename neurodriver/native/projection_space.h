/* Rules of place: who is connected follows from positions, and so do weights and delays. */
enum { ND_GRID = 7, ND_POINTS, ND_LISTED, ND_OFFSETS };   /* rules, after those of projections.h */

/* One axis of both ends. The targets of source index i are low[k] to high[k], for k from begin[i]
 * to begin[i + 1] - 1; runs ascend. `from` and `to` are positions where distances count, else null.
 * A period of 0 means: open. For offsets, jump[i * kinds + kind] is the target index or -1. */
struct nd_space_axis {
    integer sources, targets, kinds;
    const integer *begin;
    const int *low, *high;
    const double *from, *to;
    double period;
    const int *jump;
    const integer *first;    /* of each target: the source index from which places count */
    integer at_source;       /* whether the source's index is meant, as the target has no such axis */
};

/* Cell `first_source` is source 0, cell `first_target` target 0. `point` is the grid point of each
 * source cell, `cell` the target cell of each grid point or -1; null where they are equal.
 * `squared` bounds squared distances. Of points: `from` and `to` are positions, dims a cell;
 * targets are sorted into bins. Of lists: `begin` and `listed`. Of offsets: `which`, the kind of
 * each along each axis. Formulas take squared distances and the distances along the axes; those
 * that are `indexed` also indices and places along the axes, and last `count` fields. */
struct nd_space {
    integer dims, first_source, first_target, autapses;
    const nd_space_axis *axes;
    const int *point, *cell;
    double squared;
    const double *from, *to, *period, *origin, *width;
    const integer *bins, *begin;
    const int *listed, *which;
    const double *factor;
    integer offsets;
    void (*formula[2])(integer, const double *const *, double *);
    integer indexed[2];
    const double *const *fields[2];
    integer count[2];
};

/* What is known of the connections of a row, beside their targets. */
struct nd_places {
    std::vector<double> squared;
    std::vector<std::vector<double>> along;
    std::vector<std::vector<double>> index;   /* indices, then places; none where not wanted */
};

/* From a to b, the shorter way round where there is a period. */
static inline double nd_way(double a, double b, double period)
{
    double way = b - a;
    if (period == 0) return way;
    const double size = nd_fabs(way), rest = size - period * nd_floor(size / period);
    const double shorter = nd_fmin(rest, period - rest);
    return (way < 0) != (rest > period - rest) ? -shorter : shorter;
}

struct nd_search {
    const nd_rule *rule;
    const nd_space *space;
    integer self;            /* target that is not wanted, or -1 */
    nd_scratch *own;
    nd_places *places;       /* or null */
    integer index[16];       /* of the source along each axis */
    double along[16];
    integer target[16];      /* index of the target along each axis */

    /* Index and place along an axis; on a closed one places count on beyond its end. */
    void place_on(integer d)
    {
        const nd_space_axis &a = space->axes[d];
        integer place = index[d] - a.first[target[d]];
        if (a.period != 0) place = (place % a.sources + a.sources) % a.sources;
        places->index[d].push_back((double)(a.at_source ? index[d] : target[d]));
        places->index[space->dims + d].push_back((double)place);
    }

    void found(integer cell, double squared)
    {
        const integer t = cell - space->first_target;
        if (t < 0 || t >= rule->targets || t == self) return;
        own->target.push_back((int)t);
        if (!places) return;
        places->squared.push_back(squared);
        for (integer d = 0; d < space->dims; ++d) places->along[d].push_back(along[d]);
        if (!places->index.empty())
            for (integer d = 0; d < space->dims; ++d) place_on(d);
    }

    void grid(integer d, integer point, double squared)
    {
        if (d == space->dims) {
            const integer cell = space->cell ? space->cell[point] : point;
            if (cell >= 0) found(cell, squared);
            return;
        }
        const nd_space_axis &a = space->axes[d];
        const integer i = index[d];
        for (integer k = a.begin[i]; k < a.begin[i + 1]; ++k) {
            for (integer j = a.low[k]; j <= a.high[k]; ++j) {
                double sum = squared;
                along[d] = 0;
                target[d] = j;
                if (a.from) {
                    along[d] = nd_way(a.from[i], a.to[j], a.period);
                    sum += along[d] * along[d];
                    if (sum > space->squared) continue;
                }
                grid(d + 1, point * a.targets + j, sum);
            }
        }
    }

    void near_point(integer t, const double *from)
    {
        double sum = 0;
        for (integer d = 0; d < space->dims; ++d) {
            along[d] = nd_way(from[d], space->to[t * space->dims + d], space->period[d]);
            sum += along[d] * along[d];
        }
        if (sum <= space->squared) found(t, sum);
    }

    /* All bins that a cell within reach may be in; those of a closed axis once each. */
    void points(integer d, integer bin, const double *from)
    {
        if (d == space->dims) {
            for (integer k = space->begin[bin]; k < space->begin[bin + 1]; ++k)
                near_point(space->listed[k], from);
            return;
        }
        const integer n = space->bins[d];
        const double at = nd_floor((from[d] - space->origin[d]) / space->width[d]);
        if (space->period[d] != 0 && n <= 3) {
            for (integer i = 0; i < n; ++i) points(d + 1, bin * n + i, from);
            return;
        }
        for (int step = -1; step <= 1; ++step) {
            double i = at + step;
            if (space->period[d] != 0) i -= n * nd_floor(i / n);
            if (i >= 0 && i < n) points(d + 1, bin * n + (integer)i, from);
        }
    }
};

static void nd_offset_row(const nd_rule *r, const nd_space &g, nd_search &search, nd_scratch &own)
{
    std::vector<word> &found = own.bits;   /* (target, offset) */
    found.clear();
    for (integer f = 0; f < g.offsets; ++f) {
        integer point = 0;
        for (integer d = 0; d < g.dims && point >= 0; ++d) {
            const nd_space_axis &a = g.axes[d];
            const int j = a.jump[search.index[d] * a.kinds + g.which[f * g.dims + d]];
            point = j < 0 ? -1 : point * a.targets + j;
        }
        if (point < 0) continue;
        const integer cell = g.cell ? g.cell[point] : point, t = cell - g.first_target;
        if (cell >= 0 && t >= 0 && t < r->targets && t != search.self)
            found.push_back((word)t << 32 | (word)f);
    }
    std::sort(found.begin(), found.end());
    own.filter.clear();
    for (const word pair : found) {
        own.target.push_back((int)(pair >> 32));
        own.filter.push_back((int)pair);
    }
}

/* The targets of a source, ascending, and where they are, if that is wanted. */
static void nd_space_row(const nd_rule *r, integer s, nd_scratch &own, nd_places *places)
{
    const nd_space &g = *r->space;
    nd_search search{r, &g, g.autapses ? -1 : s + r->shift, &own, places, {}, {}, {}};
    own.target.clear();
    if (places) {
        places->squared.clear();
        places->along.resize((size_t)g.dims);
        for (auto &one : places->along) one.clear();
        for (auto &one : places->index) one.clear();
    }
    const integer cell = g.first_source + s;
    if (r->kind == ND_LISTED) {
        const double *from = g.from + cell * g.dims;
        for (integer k = g.begin[cell]; k < g.begin[cell + 1]; ++k)
            search.near_point(g.listed[k], from);
        return;
    }
    if (r->kind == ND_POINTS) {
        search.points(0, 0, g.from + cell * g.dims);
        std::vector<word> &order = own.bits;   /* (target, place) */
        order.clear();
        for (size_t i = 0; i < own.target.size(); ++i)
            order.push_back((word)own.target[i] << 32 | (word)i);
        std::sort(order.begin(), order.end());
        const auto sorted = [&](std::vector<double> &one) {
            own.drawn.resize(order.size());
            for (size_t i = 0; i < order.size(); ++i) own.drawn[i] = one[(unsigned int)order[i]];
            one.swap(own.drawn);
        };
        for (size_t i = 0; i < order.size(); ++i) own.target[i] = (int)(order[i] >> 32);
        if (!places) return;
        sorted(places->squared);
        for (auto &one : places->along) sorted(one);
        return;
    }
    integer point = g.point ? g.point[cell] : cell;
    for (integer d = g.dims; d-- > 0;) {
        search.index[d] = point % g.axes[d].sources;
        point /= g.axes[d].sources;
    }
    if (r->kind == ND_OFFSETS) nd_offset_row(r, g, search, own);
    else search.grid(0, 0, 0.0);
}

/* Values of connections first, first + 1, ... of a row, by formula or with a factor for each. */
static void nd_space_values(const nd_rule *r, int stream, integer row, integer first, integer count,
                            nd_scratch &own, double *out)
{
    const nd_space &g = *r->space;
    const auto formula = stream > ND_DELAY ? nullptr : g.formula[stream == ND_WEIGHT ? 0 : 1];
    if (formula) {
        const int which = stream == ND_WEIGHT ? 0 : 1;
        nd_places places;
        if (g.indexed[which] && r->kind == ND_GRID) places.index.resize(2 * (size_t)g.dims);
        nd_space_row(r, row, own, &places);
        std::vector<const double *> at{places.squared.data() + first};
        for (auto &one : places.along) at.push_back(one.data() + first);
        for (auto &one : places.index) at.push_back(one.data() + first);
        for (integer f = 0; f < g.count[which]; ++f) at.push_back(g.fields[which][f]);
        formula(count, at.data(), out);
    } else if (stream == ND_WEIGHT && r->kind == ND_OFFSETS) {
        nd_space_row(r, row, own, nullptr);
        for (integer i = 0; i < count; ++i) out[i] *= g.factor[own.filter[first + i]];
    }
}
