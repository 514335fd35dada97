/* A projection as compiled code knows it, and the single draws of its connections.
 *
 * One text for C++ and CUDA: a connection has the same bits on the host and on a GPU.  Each number
 * is a function of (key of the projection, row, draw, attempt, stream).  Pasted after math.h and
 * philox.h.
 */
typedef long long integer;
typedef unsigned long long word;

enum { ND_ALL, ND_CHANCE, ND_INTO, ND_OUT_OF, ND_TOTAL, ND_ONE, ND_LATTICE };   /* rules */
enum { ND_SAME, ND_NORMAL, ND_UNIFORM, ND_LOG_NORMAL, ND_EXPONENTIAL };         /* laws */
enum { ND_ENDS, ND_WEIGHT, ND_DELAY, ND_SHARE };                                /* streams */
enum { ND_ATTEMPTS = 65536 };

/* factor * x, with x of the law and in [low, high]; then a multiple of `grid` where that is not 0. */
struct nd_law { integer kind, clip; double a, b, low, high, factor, grid; };

/* Cells at whole coordinates, `dims` of them a cell.  `code` holds the targets' places in the box
 * low, low + extent, ascending; `order` the targets that stand there. */
struct nd_lattice {
    integer dims, offsets;
    const integer *cell, *offset, *low, *extent, *code;
    const int *order;
    const double *factor;
};

/* `shift` + source is the same component as that target; `number` is k or the total. */
struct nd_rule {
    word key;
    integer kind, sources, targets, shift, number, autapses, multapses;
    double chance, per_log;   /* per_log is 1 / log(1 - chance) */
    nd_law weight, delay;
    nd_lattice lattice;
    const struct nd_space *space;   /* rules of place */
};

/* The place of a row's own component among those it may be connected with, or what is too high. */
ND_FN integer nd_hole(const nd_rule *r, integer place, integer count)
{
    return !r->autapses && place >= 0 && place < count ? place : 1ll << 40;
}

/* A number below n < 2^31: the upper half of bits * n, so that none is likelier by more than 2^-33. */
ND_FN integer nd_below(word bits, word n)
{
    return (integer)(((bits >> 32) * n + ((bits & 0xffffffffu) * n >> 32)) >> 32);
}

/* How many pairs lie between two connections, where each pair is one with the rule's chance. */
ND_FN double nd_gap(word bits, double per_log)
{
    const double u = nd_unit_53((unsigned int)(bits >> 32), (unsigned int)bits);
    return nd_fmin(nd_floor(nd_log(u) * per_log), 0x1p40);
}

template <int kind> ND_FN double nd_of(double a, double b, word key, integer row, integer draw,
                                       int attempt, int stream)
{
    if (kind == ND_UNIFORM || kind == ND_EXPONENTIAL) {
        const double u = nd_uniform(key, (word)row, draw, attempt, stream, 0.0);
        return kind == ND_UNIFORM ? a + (b - a) * u : -a * nd_log(u);
    }
    const double x = a + b * nd_normal(key, (word)row, draw, attempt, stream, 0.0);
    return kind == ND_LOG_NORMAL ? nd_exp(x) : x;
}

/* What a law gives from a number that it has drawn last. */
ND_FN double nd_bounded(const nd_law &law, double x)
{
    const double inside = nd_fmin(nd_fmax(x, law.low), law.high);
    return law.factor * (law.grid > 0 ? law.grid * nd_rint(inside / law.grid) : inside);
}

/* The number of a connection whose first draw is `x`: while it is not within the bounds, another
 * one is drawn. */
template <int kind> ND_FN double nd_kept(const nd_law &law, word key, integer row, integer rank,
                                         int stream, double x)
{
    for (int n = 1; !law.clip && !(x >= law.low && x <= law.high) && n < ND_ATTEMPTS; ++n)
        x = nd_of<kind>(law.a, law.b, key, row, rank, n, stream);
    return nd_bounded(law, x);
}

ND_FN integer nd_steps(double delay, double dt)
{
    const double steps = nd_rint(nd_fmin(delay / dt, 0x1p53));
    return steps > 1 ? (integer)steps : 1;
}
