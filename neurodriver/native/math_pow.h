/* Powers: pow, made of a logarithm and an exponential. Methods and bounds: see math.h. */
/* log(x) to about 2^-65 relative, for x >= 0 or NaN. */
ND_FN nd_pair_d nd_log_pair(double x) {
    nd_log_parts_d p = nd_log_split(x);
    double f = p.m - 1.0;
    /* s = f / g as a pair, g = m + 1 as a pair */
    double g = p.m + 1.0;
    double gl = p.m - (g - 1.0);
    double inv = nd_div(1.0, g);
    double s = nd_mul(f, inv);
    double sl = nd_mul(nd_fma(-s, gl, nd_fma(-s, g, f)), inv);
    /* z = s^2 as a pair */
    double z = nd_mul(s, s);
    double zl = nd_fma(2.0 * s, sl, nd_fma(s, s, -z));
    /* c = 2/3 + z (2/5 + ...) as a pair; the second term is 1/60 of the first, so it may
     * round in double */
    double w = nd_mul(z, z);
    double even = nd_fma(w, 0.11706004250300112, 0.15384594802856283);
    double odd = nd_fma(w, 0.11725603260192677, 0.13334813369111848);
    even = nd_fma(w, even, 0.22222222221649282);
    odd = nd_fma(w, odd, 0.18181818336888536);
    even = nd_fma(w, even, 0.40000000000000002);
    odd = nd_fma(w, odd, 0.28571428571429375);
    double more = nd_mul(z, nd_fma(z, odd, even));
    double c = 0x1.5555555555555p-1 + more;
    double cl = ((0x1.5555555555555p-1 - c) + more) + 0x1.5555555555555p-55;
    /* log m = s (2 + z c) */
    double v = nd_mul(z, c);
    double vl = nd_fma(z, cl, nd_fma(zl, c, nd_fma(z, c, -v)));
    double e = 2.0 + v;
    double el = ((2.0 - e) + v) + vl;
    double a = nd_mul(s, e);
    double al = nd_fma(s, el, nd_fma(sl, e, nd_fma(s, e, -a)));
    /* + k ln2 */
    double kl = nd_mul(p.k, 0x1.62e42fefa4000p-1);        /* exact */
    double h = kl + a;
    double l = ((kl - h) + a) + nd_fma(p.k, -0x1.8432a1b0e2634p-43, al);
    nd_pair_d r;
    r.hi = h + l;
    r.lo = (h - r.hi) + l;
    r.hi = x < ND_INF_D ? r.hi : x;
    r.hi = x == 0.0 ? -ND_INF_D : r.hi;
    return r;
}

/* The cases of C99 Annex F.  mag = |x|^|..|, both as double in either precision:
 *   |x| = 1 and y = 0 give 1 (also for an infinite or NaN partner, but not (-1)^NaN);
 *   a negative base keeps its sign for odd y, and gives NaN for finite fractional y;
 *   y = 1 returns x itself. */
ND_FN double nd_pow_cases(double x, double y, double mag) {
    double ax = nd_fabs(x);
    mag = ax == 1.0 ? 1.0 : mag;
    mag = y == 0.0 ? 1.0 : mag;
    double half = nd_floor(y) == y ? 0.5 * y : 0.0;
    double r = nd_floor(half) == half ? mag : nd_with_sign(mag, x);
    double must_be_integer = x < 0.0 ? y : 0.0;
    must_be_integer = ax < ND_INF_D ? must_be_integer : 0.0;
    r = nd_floor(must_be_integer) == must_be_integer ? r : ND_NAN_D;
    return y == 1.0 ? x : r;
}

ND_FN double nd_pow(double x, double y) {
    nd_pair_d l = nd_log_pair(nd_fabs(x));
    double p = nd_mul(y, l.hi);
    double pl = nd_fma(y, l.lo, nd_fma(y, l.hi, -p));
    return nd_pow_cases(x, y, nd_exp_scaled(p, pl));
}

/* Double arithmetic with shorter polynomials: 2^-40 relative, rounded once to float. */
ND_FN float nd_pow(float xf, float yf) {
    double x = (double)xf;
    double y = (double)yf;
    double ax = nd_fabs(x);
    nd_log_parts_d q = nd_log_split(ax);
    double f = q.m - 1.0;
    double s = nd_div(f, 2.0 + f);
    double z = nd_mul(s, s);
    double poly = nd_fma(z, 0.19365116363462445, 0.22191273957130947);
    poly = nd_fma(z, poly, 0.28571756536232323);
    poly = nd_fma(z, poly, 0.39999998787530699);
    poly = nd_fma(z, poly, 0.66666666667382291);
    double sz = nd_mul(s, z);
    double l = nd_fma(q.k, 0.69314718055994529, nd_fma(sz, poly, 2.0 * s));
    l = ax < ND_INF_D ? l : ax;
    l = ax == 0.0 ? -ND_INF_D : l;
    double p = nd_mul(y, l);
    double t = nd_fma(p, 1.4426950408889634, ND_ROUND_D);
    double n = t - ND_ROUND_D;
    double r = nd_fma(-n, 0.69314718055994529, p);
    double e = nd_fma(r, 2.7617806265585058e-06, 2.4868135909824048e-05);
    e = nd_fma(r, e, 0.00019841224236382754);
    e = nd_fma(r, e, 0.0013888838710820095);
    e = nd_fma(r, e, 0.0083333333443341359);
    e = nd_fma(r, e, 0.041666666787708986);
    e = nd_fma(r, e, 0.16666666666662522);
    e = nd_fma(r, e, 0.49999999999954381);
    e = nd_fma(r, nd_fma(r, e, 1.0), 1.0);
    e = e * nd_pow2(nd_bits(t));
    e = p > 110.0 ? ND_INF_D : e;                         /* beyond the range of float */
    e = p < -110.0 ? 0.0 : e;
    return (float)nd_pow_cases(x, y, e);
}
