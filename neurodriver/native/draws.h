/* Random inputs: rows of values for consecutive steps, one column per uid.
 *
 * A value is a function of (key of the uid, seed, step), so it is the same in whatever pieces the
 * rows are asked for.  Pasted after math.h and philox.h; compiled with -DREAL=float or double.
 * Both precisions draw the same numbers: normal ones have the digits of single precision, all
 * others those of double precision, rounded.  So many `threads` share the work.
 */
#include <algorithm>
#include <thread>
#include <vector>

typedef REAL real;
typedef long long integer;
typedef unsigned long long word;

struct nd_rows { const word *key; word seed; integer count, first, steps; real *out; integer threads; };

enum { ND_PIECE = 256 };

/* body(part, begin, end) for `parts` parts of 0 .. size - 1, each in a thread of its own. */
template <typename Body> static void nd_in_parts(integer parts, integer size, Body body)
{
    std::vector<std::thread> team;
    for (integer t = 1; t < parts; ++t)
        team.emplace_back(body, t, size * t / parts, size * (t + 1) / parts);
    body(0, 0, size / parts);
    for (auto &one : team) one.join();
}

static inline integer nd_parts(const nd_rows *r, integer size)
{
    return std::max<integer>(1, std::min(r->threads, size));
}

/* body(step, first column, columns, out) for pieces of all rows; a thread has some of the steps. */
template <typename Body> static inline void nd_pieces(const nd_rows *r, Body body)
{
    nd_in_parts(nd_parts(r, r->steps), r->steps, [=](integer, integer begin, integer end) {
        for (integer s = begin; s < end; ++s)
            for (integer b = 0; b < r->count; b += ND_PIECE)
                body(s, b, std::min<integer>(r->count - b, ND_PIECE), r->out + s * r->count + b);
    });
}

/* 1 with probability p, else 0; `some` says for each step whether any value is not 0. */
extern "C" void nd_bernoulli(const nd_rows *r, const double *p, unsigned char *some)
{
    std::fill(some, some + r->steps, 0);
    nd_pieces(r, [=](integer s, integer b, integer n, real *out) {
        const word *key = r->key + b;
        int any = 0;
        _Pragma("omp simd reduction(|:any)")
        for (integer i = 0; i < n; ++i) {
            const int hit = nd_uniform(key[i], r->seed, r->first + s, 0, 0, 0.0) < p[b + i];
            out[i] = (real)hit;
            any |= hit;
        }
        some[s] |= (unsigned char)any;
    });
}

/* Counts of a Poisson distribution by inversion.  `at[i]` is where the cumulative probabilities of
 * column i begin in `cumulative`: P(0), P(0) + P(1), ..., then 2.  0 or 1 alone where `single`.
 * `guide[guided[i] + j]` is the least count whose cumulative probability is above j / ND_GUIDE. */
enum { ND_GUIDE = 64 };

extern "C" void nd_poisson(const nd_rows *r, const integer *at, const double *none,
                           const double *cumulative, const integer *guided,
                           const unsigned short *guide, integer single, unsigned char *some)
{
    std::fill(some, some + r->steps, 0);
    nd_pieces(r, [=](integer s, integer b, integer n, real *out) {
        const word *key = r->key + b;
        double u[ND_PIECE];
        int any = 0;
        _Pragma("omp simd reduction(|:any)")
        for (integer i = 0; i < n; ++i) {
            u[i] = nd_uniform(key[i], r->seed, r->first + s, 0, 0, 0.0);
            const int hit = u[i] >= none[b + i];
            out[i] = (real)hit;
            any |= hit;
        }
        some[s] |= (unsigned char)any;
        if (!any || single) return;
        for (integer i = 0; i < n; ++i) {
            const double *c = cumulative + at[b + i];
            integer k = guide[guided[b + i] + (integer)(u[i] * ND_GUIDE)];
            while (c[k] <= u[i]) ++k;
            out[i] = (real)k;
        }
    });
}

/* Numbers of an event train within its block of steps: how many events, and the steps of these. */
enum { ND_BLOCK = 256, ND_HOW_MANY = 1, ND_WHICH_STEP = 2 };

/* Of each column: key, mean number of events in a block, exp(-mean), and a bound of the number. */
struct nd_means { const double *mean, *none; const integer *most; };

/* How many events each column of a piece has in a block, by inversion of the distribution function:
 * the columns go side by side through the counts. Returns their sum. */
static integer nd_how_many(const nd_rows *r, const nd_means &of, integer block, integer b,
                           integer n, integer *count)
{
    const word *key = r->key + b;
    const double *mean = of.mean + b;
    const integer *most = of.most + b;
    double u[ND_PIECE], chance[ND_PIECE], below[ND_PIECE];
    int more = 0;
    _Pragma("omp simd reduction(|:more)")
    for (integer i = 0; i < n; ++i) {
        u[i] = nd_uniform(key[i], r->seed, block, 0, ND_HOW_MANY, 0.0);
        chance[i] = below[i] = of.none[b + i];
        count[i] = below[i] <= u[i];
        more |= below[i] <= u[i];
    }
    for (integer k = 1; more; ++k) {
        const double part = 1.0 / (double)k;
        more = 0;
        _Pragma("omp simd reduction(|:more)")
        for (integer i = 0; i < n; ++i) {
            chance[i] = chance[i] * (mean[i] * part);
            below[i] += chance[i];
            const int next = (below[i] <= u[i]) & (k < most[i]);
            count[i] += next;
            more |= next;
        }
    }
    integer sum = 0;
    for (integer i = 0; i < n; ++i) sum += count[i];
    return sum;
}

/* Events of one block, by columns: the step within it and the column of each. */
struct nd_found {
    std::vector<unsigned char> step;
    std::vector<int> column;
    integer size = 0;

    void draw(const nd_rows *r, const nd_means &of, integer block)
    {
        size = 0;
        for (integer b = 0; b < r->count; b += ND_PIECE) {
            const integer n = std::min<integer>(r->count - b, ND_PIECE);
            integer count[ND_PIECE];
            const integer more = nd_how_many(r, of, block, b, n, count);
            if (!more) continue;
            if ((size_t)(size + more) > step.size()) {
                step.resize(2 * (size + more));
                column.resize(2 * (size + more));
            }
            place(r, block, b, n, count, more > n / 4);
        }
    }

    /* A step is a byte of a draw: its words one after the other, their low bytes first. */
    void place(const nd_rows *r, integer block, integer b, integer n, const integer *count, bool many)
    {
        const word *key = r->key + b;
        unsigned w[4][ND_PIECE];
        _Pragma("omp simd")
        for (integer i = 0; i < (many ? n : 0); ++i) {
            const nd_block drawn = nd_draw(key[i], r->seed, block, 0, ND_WHICH_STEP);
            w[0][i] = drawn.w0;
            w[1][i] = drawn.w1;
            w[2][i] = drawn.w2;
            w[3][i] = drawn.w3;
        }
        for (integer i = 0; i < n; ++i)
            for (integer j = 0; j < count[i]; j += 16) {
                if (!many || j) {
                    const nd_block drawn = nd_draw(key[i], r->seed, block, (int)(j >> 4), ND_WHICH_STEP);
                    w[0][i] = drawn.w0;
                    w[1][i] = drawn.w1;
                    w[2][i] = drawn.w2;
                    w[3][i] = drawn.w3;
                }
                const integer end = std::min<integer>(count[i] - j, 16);
                for (integer e = 0; e < end; ++e, ++size) {
                    step[size] = (unsigned char)(w[e >> 2][i] >> 8 * (e & 3));
                    column[size] = (int)(b + i);
                }
            }
    }
};

/* Where events are put: arrays with room for some, or arrays that grow. */
struct nd_room {
    int *column;
    real *value;
    integer room;
    bool grows;
    std::vector<int> columns;
    std::vector<real> values;

    /* Returns whether there is room for `n` events. */
    bool reserve(integer n)
    {
        if (n <= room) return true;
        if (!grows) return false;
        columns.resize(room = 2 * n);
        values.resize(room);
        column = columns.data();
        value = values.data();
        return true;
    }
};

/* Put the events of some blocks; returns how many there are, -1 where there is no room. */
static integer nd_put_trains(const nd_rows *r, integer low, integer high, const int *name,
                             const nd_means &of, integer single, integer *begin, nd_room &to)
{
    nd_found drawn;
    std::vector<int> sorted;
    integer found = 0;
    for (integer block = low; block < high; ++block) {
        drawn.draw(r, of, r->first + block);
        if (!to.reserve(found + drawn.size)) return -1;
        integer at[ND_BLOCK + 1] = {0}, next[ND_BLOCK];
        for (integer i = 0; i < drawn.size; ++i) ++at[drawn.step[i] + 1];
        for (int s = 0; s < ND_BLOCK; ++s) at[s + 1] += next[s] = at[s];
        sorted.resize(std::max((size_t)drawn.size, sorted.size()));
        for (integer i = 0; i < drawn.size; ++i) sorted[next[drawn.step[i]]++] = drawn.column[i];
        for (int s = 0; s < ND_BLOCK; ++s) {
            begin[block * ND_BLOCK + s] = found;
            for (integer i = at[s]; i < at[s + 1]; ++found) {
                integer same = 1;
                while (i + same < at[s + 1] && sorted[i + same] == sorted[i]) ++same;
                to.column[found] = name[sorted[i]];
                to.value[found] = (real)(single ? 1 : same);
                i += same;
            }
        }
    }
    return found;
}

/* Events of blocks r->first .. r->first + r->steps, ordered by step, then by column: `begin` of
 * each step, `column` and, into r->out, how many are at once, or 1 where `single`. Columns are
 * numbered by `name`. The last of `begin` is -1 where there is no `room` for all. The first thread
 * writes in place; the events of the others are copied behind. */
extern "C" void nd_trains(const nd_rows *r, const int *name, const double *mean,
                          const double *none, const integer *most, integer single, integer room,
                          integer *begin, int *column)
{
    const integer parts = nd_parts(r, r->steps);
    std::vector<nd_room> to(parts, {nullptr, nullptr, 0, true, {}, {}});
    std::vector<integer> found(parts);
    to[0] = {column, r->out, room, false, {}, {}};
    nd_in_parts(parts, r->steps, [&](integer t, integer low, integer high) {
        found[t] = nd_put_trains(r, low, high, name, {mean, none, most}, single, begin, to[t]);
    });
    integer all = found[0];
    for (integer t = 1; t < parts; ++t) {
        if (all < 0 || all + found[t] > room) {
            begin[r->steps * ND_BLOCK] = -1;
            return;
        }
        std::copy_n(to[t].column, found[t], column + all);
        std::copy_n(to[t].value, found[t], r->out + all);
        integer *const last = begin + r->steps * (t + 1) / parts * ND_BLOCK;
        for (integer *b = begin + r->steps * t / parts * ND_BLOCK; b < last; ++b) *b += all;
        all += found[t];
    }
    begin[r->steps * ND_BLOCK] = all;
}

/* mean + sigma * x with x normal, or uniform with variance 1. */
extern "C" void nd_noise(const nd_rows *r, const double *mean, const double *sigma, integer uniform)
{
    nd_pieces(r, [=](integer s, integer b, integer n, real *out) {
        const word *key = r->key + b;
        const integer step = r->first + s;
        if (uniform) {
            _Pragma("omp simd")
            for (integer i = 0; i < n; ++i) {
                const double u = nd_uniform(key[i], r->seed, step, 0, 0, 0.0);
                out[i] = (real)(mean[b + i] + sigma[b + i] * (1.7320508075688772 * (2.0 * u - 1.0)));
            }
        } else {
            _Pragma("omp simd")
            for (integer i = 0; i < n; ++i) {
                const double x = nd_normal(key[i], r->seed, step, 0, 0, 0.0);
                out[i] = (real)(mean[b + i] + sigma[b + i] * x);
            }
        }
    });
}

/* An Ornstein-Uhlenbeck process: x = decay * x + fresh * normal, which begins with x = normal at
 * step `begin`.  `x` holds the state of the step before the first one and is advanced. A thread has
 * some of the columns. */
extern "C" void nd_walk(const nd_rows *r, const double *mean, const double *sigma, integer begin,
                        double decay, double fresh, double *x, integer store)
{
    const integer pieces = (r->count + ND_PIECE - 1) / ND_PIECE;
    nd_in_parts(nd_parts(r, pieces), pieces, [=](integer, integer low, integer high) {
        for (integer s = 0; s < r->steps; ++s) {
            const integer step = r->first + s, end = std::min(high * ND_PIECE, r->count);
            const double keep = step == begin ? 0.0 : decay, add = step == begin ? 1.0 : fresh;
            real *const out = r->out + s * r->count;
            _Pragma("omp simd")
            for (integer i = low * ND_PIECE; i < end; ++i)
                x[i] = keep * x[i] + add * nd_normal(r->key[i], r->seed, step, 0, 0, 0.0);
            if (!store) continue;
            _Pragma("omp simd")
            for (integer i = low * ND_PIECE; i < end; ++i) out[i] = (real)(mean[i] + sigma[i] * x[i]);
        }
    });
}
