/* Functions made of e^x: exp, expm1, tanh, cosh, sinh. Methods and bounds: see math.h. */
/* e^(x + tail) = 2^n (1 + r + c); r leads c.  The low bits of n hold the exponent. */
struct nd_exp_parts_d { double r, c; unsigned long long n; };
struct nd_exp_parts_f { float r, c; unsigned int n; };

ND_FN nd_exp_parts_d nd_exp_parts(double x, double tail) {
    nd_exp_parts_d p;
    double t = nd_fma(x, 1.4426950408889634, ND_ROUND_D);
    double n = t - ND_ROUND_D;
    double a = nd_fma(-n, 0x1.62e42fefa4000p-1, x);       /* exact */
    double b = nd_fma(-n, -0x1.8432a1b0e2634p-43, tail);
    double r = a + b;
    double lost = (a - r) + b;
    double z = nd_mul(r, r);
    double even = nd_fma(z, 2.091483135138041e-09, 2.7557273295539724e-07);
    double odd = nd_fma(z, 2.5105419192016337e-08, 2.7557254913486701e-06);
    even = nd_fma(z, even, 2.4801587325822283e-05);
    odd = nd_fma(z, odd, 0.00019841269875205077);
    even = nd_fma(z, even, 0.001388888888888367);
    odd = nd_fma(z, odd, 0.0083333333333260248);
    even = nd_fma(z, even, 0.041666666666666671);
    odd = nd_fma(z, odd, 0.16666666666666671);
    p.r = r;
    lost = nd_fma(0.5, nd_fma(r, r, -z), lost);           /* what z lost counts too */
    p.c = nd_fma(0.5, z, nd_fma(z, nd_fma(r, odd, nd_mul(z, even)), lost));
    p.n = nd_bits(t);
    return p;
}

ND_FN nd_exp_parts_f nd_exp_parts(float x, float tail) {
    nd_exp_parts_f p;
    float t = nd_fma(x, 1.44269504f, ND_ROUND_F);
    float n = t - ND_ROUND_F;
    float a = nd_fma(-n, 0x1.62e8p-1f, x);                /* exact */
    float b = nd_fma(-n, -0x1.e8082ep-16f, tail);
    float r = a + b;
    float lost = (a - r) + b;
    float z = nd_mul(r, r);
    float even = nd_fma(z, 0.00139338209f, 0.041666463f);
    float odd = nd_fma(z, 0.000198911803f, 0.00833331048f);
    odd = nd_fma(z, odd, 0.166666672f);
    p.r = r;
    lost = nd_fma(0.5f, nd_fma(r, r, -z), lost);          /* what z lost counts too */
    p.c = nd_fma(0.5f, z, nd_fma(z, nd_fma(r, odd, nd_mul(z, even)), lost));
    p.n = nd_bits(t);
    return p;
}

/* e^(x + tail).  Two factors let the result run through the subnormal numbers down to 0 and
 * up to infinity.  Where even their exponents fail, the last two selects know the result; at
 * the end they are off the critical path, and a NaN passes them.  All functions below treat
 * large arguments so. */
ND_FN double nd_exp_scaled(double x, double tail) {
    nd_exp_parts_d p = nd_exp_parts(x, tail);
    double h = 1.0 + p.r;
    double e = h + (((1.0 - h) + p.r) + p.c);
    unsigned long long half = p.n >> 1;
    double y = e * nd_pow2(half) * nd_pow2(p.n - half);
    y = x > 720.0 ? x * 0x1.6c16c16c16c18p1014 : y;            /* infinity, and the processor's flag */
    return x < -750.0 ? 0.0 : y;
}
ND_FN float nd_exp_scaled(float x, float tail) {
    nd_exp_parts_f p = nd_exp_parts(x, tail);
    float h = 1.0f + p.r;
    float e = h + (((1.0f - h) + p.r) + p.c);
    unsigned int half = p.n >> 1;
    float y = e * nd_pow2(half) * nd_pow2(p.n - half);
    y = x > 100.0f ? x * 0x1.47ae16p121f : y;
    return x < -110.0f ? 0.0f : y;
}

ND_FN double nd_exp(double x) { return nd_exp_scaled(x, 0.0); }
ND_FN float nd_exp(float x) { return nd_exp_scaled(x, 0.0f); }

/* unit * (e^x - 1), unit = 2^-shift: room for results whose 2^n alone would overflow. */
ND_FN nd_pair_d nd_expm1_pair(double x, double unit, unsigned long long shift) {
    nd_pair_d e;
    nd_exp_parts_d p = nd_exp_parts(x, 0.0);
    double s = nd_pow2(p.n - shift);
    double base = s - unit;
    double part = s - base;
    double lost = (s - (base + part)) + (part - unit);
    double h = nd_fma(s, p.r, base);
    double l = nd_fma(s, p.c, nd_fma(s, p.r, base - h) + lost);
    e.hi = h + l;
    e.lo = (h - e.hi) + l;
    return e;
}
ND_FN nd_pair_f nd_expm1_pair(float x, float unit, unsigned int shift) {
    nd_pair_f e;
    nd_exp_parts_f p = nd_exp_parts(x, 0.0f);
    float s = nd_pow2(p.n - shift);
    float base = s - unit;
    float part = s - base;
    float lost = (s - (base + part)) + (part - unit);
    float h = nd_fma(s, p.r, base);
    float l = nd_fma(s, p.c, nd_fma(s, p.r, base - h) + lost);
    e.hi = h + l;
    e.lo = (h - e.hi) + l;
    return e;
}

ND_FN double nd_expm1(double x) {
    double y = 2.0 * nd_expm1_pair(x, 0.5, 1ull).hi;
    y = x > 710.0 ? ND_INF_D : y;
    y = x < -50.0 ? -1.0 : y;
    return nd_fabs(x) < 0x1p-54 ? x : y;
}
ND_FN float nd_expm1(float x) {
    float y = 2.0f * nd_expm1_pair(x, 0.5f, 1u).hi;
    y = x > 89.0f ? ND_INF_F : y;
    y = x < -30.0f ? -1.0f : y;
    return nd_fabs(x) < 0x1p-25f ? x : y;
}

/* One division: 1/d, then the quotient's remainder corrects both roundings. */
ND_FN double nd_tanh(double x) {
    double a = nd_fabs(x);
    nd_pair_d e = nd_expm1_pair(-2.0 * a, 1.0, 0ull);
    double d = 2.0 + e.hi;
    double dl = ((2.0 - d) + e.hi) + e.lo;
    double inv = nd_div(1.0, d);
    double q = nd_mul(e.hi, inv);
    double rem = nd_fma(-q, dl, nd_fma(-q, d, e.hi) + e.lo);
    double y = nd_fabs(nd_fma(rem, inv, q));
    y = a > 22.0 ? 1.0 : y;
    return a < 0x1p-28 ? x : nd_with_sign(y, x);
}
ND_FN float nd_tanh(float x) {
    float a = nd_fabs(x);
    nd_pair_f e = nd_expm1_pair(-2.0f * a, 1.0f, 0u);
    float d = 2.0f + e.hi;
    float dl = ((2.0f - d) + e.hi) + e.lo;
    float inv = nd_div(1.0f, d);
    float q = nd_mul(e.hi, inv);
    float rem = nd_fma(-q, dl, nd_fma(-q, d, e.hi) + e.lo);
    float y = nd_fabs(nd_fma(rem, inv, q));
    y = a > 10.0f ? 1.0f : y;
    return a < 0x1p-13f ? x : nd_with_sign(y, x);
}

/* In quarters: h = e^|x| / 4 and 1/(16 h) = e^-|x| / 4; their sum is half of cosh. */
ND_FN double nd_cosh(double x) {
    double a = nd_fabs(x);
    nd_exp_parts_d p = nd_exp_parts(a, 0.0);
    double s = nd_pow2(p.n - 2ull);
    double h = nd_fma(s, p.r, s);
    double l = nd_fma(s, p.c, nd_fma(s, p.r, s - h));
    double g = nd_div(0.0625, h + l);
    double y = h + g;
    y = 2.0 * (y + (((h - y) + g) + l));
    return a > 710.6 ? ND_INF_D : y;
}
ND_FN float nd_cosh(float x) {
    float a = nd_fabs(x);
    nd_exp_parts_f p = nd_exp_parts(a, 0.0f);
    float s = nd_pow2(p.n - 2u);
    float h = nd_fma(s, p.r, s);
    float l = nd_fma(s, p.c, nd_fma(s, p.r, s - h));
    float g = nd_div(0.0625f, h + l);
    float y = h + g;
    y = 2.0f * (y + (((h - y) + g) + l));
    return a > 89.5f ? ND_INF_F : y;
}

/* With e = e^|x| - 1: sinh = (e + e / (1 + e)) / 2, two positive terms; in quarters too. */
ND_FN double nd_sinh(double x) {
    double a = nd_fabs(x);
    nd_pair_d e = nd_expm1_pair(a, 0.25, 2ull);
    double d = 0.25 + e.hi;
    double part = d - e.hi;
    double dl = ((e.hi - (d - part)) + (0.25 - part)) + e.lo;
    double inv = nd_div(1.0, d);
    double q = nd_mul(e.hi, inv);
    double ql = nd_mul(nd_fma(-q, dl, nd_fma(-q, d, e.hi) + e.lo), inv);
    double h = nd_fma(0.25, q, e.hi);
    double l = nd_fma(0.25, q, e.hi - h) + nd_fma(0.25, ql, e.lo);
    double y = 2.0 * (h + l);
    y = a > 710.6 ? ND_INF_D : y;
    return a < 0x1p-28 ? x : nd_with_sign(y, x);
}
ND_FN float nd_sinh(float x) {
    float a = nd_fabs(x);
    nd_pair_f e = nd_expm1_pair(a, 0.25f, 2u);
    float d = 0.25f + e.hi;
    float part = d - e.hi;
    float dl = ((e.hi - (d - part)) + (0.25f - part)) + e.lo;
    float inv = nd_div(1.0f, d);
    float q = nd_mul(e.hi, inv);
    float ql = nd_mul(nd_fma(-q, dl, nd_fma(-q, d, e.hi) + e.lo), inv);
    float h = nd_fma(0.25f, q, e.hi);
    float l = nd_fma(0.25f, q, e.hi - h) + nd_fma(0.25f, ql, e.lo);
    float y = 2.0f * (h + l);
    y = a > 89.5f ? ND_INF_F : y;
    return a < 0x1p-13f ? x : nd_with_sign(y, x);
}
