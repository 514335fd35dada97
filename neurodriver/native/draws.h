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
