/* Random inputs: rows of values for consecutive steps, one column per uid.
 *
 * A value is a function of (key of the uid, seed, step), so it is the same in whatever pieces the
 * rows are asked for.  Pasted after math.h and philox.h; compiled with -DREAL=float or double.
 * Both precisions draw the same numbers: normal ones have the digits of single precision, all
 * others those of double precision, rounded.
 */
#include <algorithm>

typedef REAL real;
typedef long long integer;
typedef unsigned long long word;

struct nd_rows { const word *key; word seed; integer count, first, steps; real *out; };

enum { ND_PIECE = 256 };

template <typename Body> static inline void nd_pieces(const nd_rows *r, Body body)
{
    for (integer s = 0; s < r->steps; ++s)
        for (integer b = 0; b < r->count; b += ND_PIECE)
            body(s, b, std::min<integer>(r->count - b, ND_PIECE), r->out + s * r->count + b);
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
 * column i begin in `cumulative`: P(0), P(0) + P(1), ..., then 2.  0 or 1 alone where `single`. */
extern "C" void nd_poisson(const nd_rows *r, const integer *at, const double *none,
                           const double *cumulative, integer single, unsigned char *some)
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
            if (out[i] == 0) continue;
            const double *c = cumulative + at[b + i];
            integer k = 1;
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
 * step `begin`.  `x` holds the state of the step before the first one and is advanced. */
extern "C" void nd_walk(const nd_rows *r, const double *mean, const double *sigma, integer begin,
                        double decay, double fresh, double *x, integer store)
{
    nd_pieces(r, [=](integer s, integer b, integer n, real *out) {
        const word *key = r->key + b;
        const integer step = r->first + s;
        const double keep = step == begin ? 0.0 : decay, add = step == begin ? 1.0 : fresh;
        _Pragma("omp simd")
        for (integer i = 0; i < n; ++i)
            x[b + i] = keep * x[b + i] + add * nd_normal(key[i], r->seed, step, 0, 0, 0.0);
        if (!store) return;
        _Pragma("omp simd")
        for (integer i = 0; i < n; ++i) out[i] = (real)(mean[b + i] + sigma[b + i] * x[b + i]);
    });
}
