/* Elementary functions for generated simulation kernels.
 *
 * One text for C++17 (g++, clang) and CUDA C++ (nvcc, NVRTC).  It includes nothing.  The
 * text that pastes it in must first define ND_FN, the prefix of every function:
 *     CPU    static inline __attribute__((always_inline))
 *     CUDA   static __device__ __forceinline__
 *
 * Greatest error, in units in the last place (ulp) of the exact result.  The same numbers are
 * asserted by tests/unit/test_math.py; the two tables are compared there.
 *
 *     function      double   float
 *     nd_exp           1.0     1.0
 *     nd_expm1         1.0     1.0
 *     nd_log           1.0     1.0
 *     nd_log1p         1.0     1.0
 *     nd_tanh          1.0     1.0
 *     nd_cosh          1.0     1.0
 *     nd_sinh          1.0     1.0
 *     nd_pow           1.0     0.51
 *     nd_sin           1.0     1.0
 *     nd_cos           1.0     1.0
 *
 * nd_sqrt, nd_fma, nd_floor, nd_fabs and division are those of IEEE 754 (exact rounding).
 *
 * Rules the code keeps
 *   - No branches, tables or calls: special cases are selects between two values, so that a
 *     loop over neurons vectorises (g++ -O3 -fopenmp-simd -fno-math-errno
 *     -fno-trapping-math, on a machine with fused multiply-add).
 *   - The same bits from vector, scalar and GPU code.  Each function is a fixed sequence of
 *     IEEE operations with explicit fused multiply-adds.  A product that later meets a sum
 *     is exact or goes through nd_mul, which CUDA never contracts.  On the CPU compile with
 *     -ffp-contract=off; everywhere without fast-math.  The sign and payload of a NaN are
 *     not part of this promise.
 *   - NaN in, NaN out (the exceptions are those of C99: pow(x, 0) and pow(1, y) are 1).
 *     Overflow gives infinity, underflow is gradual: results below the least normal number
 *     are rounded to the nearest subnormal one, within one unit of it.  Where a processor
 *     takes subnormal numbers for zero, as step loops tell it to, such results are zero.
 *
 * Methods
 *   exp, expm1, tanh, cosh, sinh
 *       x = n ln2 + r with |r| <= ln2 / 2; ln2 is held in two pieces, the first short enough
 *       that n times it is exact, and what r loses in rounding is kept.  Then
 *       e^r = 1 + r + r^2 q(r), q a polynomial.  The sums are done so that only the last one
 *       rounds visibly.  tanh(x) = -e / (2 + e) with e = expm1(-2|x|), where no term cancels;
 *       cosh and sinh are made of e^|x| / 4, so they overflow only where they should.
 *   log, log1p
 *       x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).  With s = f / (2 + f),
 *       log(1 + f) = 2 atanh(s) = f - f^2/2 + s (f^2/2 + s^2 L(s^2)): the exact f leads and
 *       everything that rounds is small beside it.
 *   pow
 *       |x|^y = exp(y log|x|), the logarithm and the product as unevaluated sums of two
 *       doubles (about 2^-65 relative), as the exponent may reach 745.  In float the same in
 *       plain double arithmetic, rounded once at the end.
 *   sin, cos
 *       x = n pi/2 + r with pi/2 in three pieces, for |x| <= 2^30 (double) or 2^17 (float);
 *       beyond that the result is NaN instead of a wrong number.
 *   The polynomials interpolate the exact functions at Chebyshev nodes of the reduced range
 *   (300-bit arithmetic), their coefficients rounded to the type; the error they leave is
 *   at most 2^-56 (double) or 2^-26 (float) of the result.
 */
#ifndef ND_MATH_H
#define ND_MATH_H

/* ---- bits and single operations ----------------------------------------------------- */

#ifdef __CUDACC__
ND_FN unsigned long long nd_bits(double x) { return (unsigned long long)__double_as_longlong(x); }
ND_FN unsigned int nd_bits(float x) { return __float_as_uint(x); }
ND_FN double nd_from_bits(unsigned long long b) { return __longlong_as_double((long long)b); }
ND_FN float nd_from_bits(unsigned int b) { return __uint_as_float(b); }
ND_FN double nd_fma(double a, double b, double c) { return __fma_rn(a, b, c); }
ND_FN float nd_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
ND_FN double nd_mul(double a, double b) { return __dmul_rn(a, b); }
ND_FN float nd_mul(float a, float b) { return __fmul_rn(a, b); }
/* a / b.  nvcc's division branches to a subroutine for extreme numbers, and so keeps the compiler
 * from working on several of them at once.  nd_div is its other branch, rounded correctly as long
 * as neither 1 / b nor the quotient is near the ends of the range: for what is below.  The last
 * bit of the first guess makes 1 / b round correctly where the digits of b are ones. */
ND_FN double nd_reciprocal(double b) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
    return r;
}
ND_FN float nd_reciprocal(float b) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
    return r;
}
ND_FN double nd_div(double a, double b) {
    double r = __hiloint2double(__double2hiint(nd_reciprocal(b)), 1);
    double e = __fma_rn(-b, r, 1.0);
    r = __fma_rn(r, __fma_rn(e, e, e), r);
    r = __fma_rn(r, __fma_rn(-b, r, 1.0), r);
    double q = __dmul_rn(a, r);
    return __fma_rn(r, __fma_rn(-b, q, a), q);
}
ND_FN float nd_div(float a, float b) {
    float r = nd_reciprocal(b);
    r = __fmaf_rn(r, __fmaf_rn(-b, r, 1.0f), r);
    float q = __fmul_rn(a, r);
    q = __fmaf_rn(r, __fmaf_rn(-b, q, a), q);
    return __fmaf_rn(r, __fmaf_rn(-b, q, a), q);
}
ND_FN double nd_sqrt(double x) { return __dsqrt_rn(x); }
ND_FN float nd_sqrt(float x) { return __fsqrt_rn(x); }
ND_FN double nd_floor(double x) { return floor(x); }
ND_FN float nd_floor(float x) { return floorf(x); }
#else
ND_FN unsigned long long nd_bits(double x) {
    unsigned long long b;
    __builtin_memcpy(&b, &x, sizeof b);
    return b;
}
ND_FN unsigned int nd_bits(float x) {
    unsigned int b;
    __builtin_memcpy(&b, &x, sizeof b);
    return b;
}
ND_FN double nd_from_bits(unsigned long long b) {
    double x;
    __builtin_memcpy(&x, &b, sizeof x);
    return x;
}
ND_FN float nd_from_bits(unsigned int b) {
    float x;
    __builtin_memcpy(&x, &b, sizeof x);
    return x;
}
ND_FN double nd_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
ND_FN float nd_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
ND_FN double nd_mul(double a, double b) { return a * b; }
ND_FN float nd_mul(float a, float b) { return a * b; }
ND_FN double nd_div(double a, double b) { return a / b; }
ND_FN float nd_div(float a, float b) { return a / b; }
ND_FN double nd_sqrt(double x) { return __builtin_sqrt(x); }
ND_FN float nd_sqrt(float x) { return __builtin_sqrtf(x); }
ND_FN double nd_floor(double x) { return __builtin_floor(x); }
ND_FN float nd_floor(float x) { return __builtin_floorf(x); }
#endif

#define ND_SIGN_D 0x8000000000000000ull
#define ND_SIGN_F 0x80000000u
#define ND_INF_D nd_from_bits(0x7ff0000000000000ull)
#define ND_INF_F nd_from_bits(0x7f800000u)
#define ND_NAN_D nd_from_bits(0x7ff8000000000000ull)
#define ND_NAN_F nd_from_bits(0x7fc00000u)

/* Adding 1.5 * 2^52 (1.5 * 2^23) rounds to an integer and leaves it in the low bits. */
#define ND_ROUND_D 6755399441055744.0
#define ND_ROUND_F 12582912.0f

ND_FN double nd_fabs(double x) { return nd_from_bits(nd_bits(x) & ~ND_SIGN_D); }
ND_FN float nd_fabs(float x) { return nd_from_bits(nd_bits(x) & ~ND_SIGN_F); }

/* mag with the sign of x; mag must not be negative. */
ND_FN double nd_with_sign(double mag, double x) {
    return nd_from_bits(nd_bits(mag) | (nd_bits(x) & ND_SIGN_D));
}
ND_FN float nd_with_sign(float mag, float x) {
    return nd_from_bits(nd_bits(mag) | (nd_bits(x) & ND_SIGN_F));
}

/* Unlike fmin and fmax of C, these keep a NaN: a kernel must not hide a failed state. */
ND_FN double nd_fmin(double a, double b) { return a < b ? a : (a != a ? a : b); }
ND_FN float nd_fmin(float a, float b) { return a < b ? a : (a != a ? a : b); }
ND_FN double nd_fmax(double a, double b) { return a > b ? a : (a != a ? a : b); }
ND_FN float nd_fmax(float a, float b) { return a > b ? a : (a != a ? a : b); }

/* 2^n for n in the low bits; the shift drops the rest, so a rounding sum may be passed. */
ND_FN double nd_pow2(unsigned long long n) { return nd_from_bits((n + 1023ull) << 52); }
ND_FN float nd_pow2(unsigned int n) { return nd_from_bits((n + 127u) << 23); }

/* A number held as hi + lo, lo far smaller than hi. */
struct nd_pair_d { double hi, lo; };
struct nd_pair_f { float hi, lo; };

/* ---- exponential family ------------------------------------------------------------- */

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
    y = x > 720.0 ? ND_INF_D : y;
    return x < -750.0 ? 0.0 : y;
}
ND_FN float nd_exp_scaled(float x, float tail) {
    nd_exp_parts_f p = nd_exp_parts(x, tail);
    float h = 1.0f + p.r;
    float e = h + (((1.0f - h) + p.r) + p.c);
    unsigned int half = p.n >> 1;
    float y = e * nd_pow2(half) * nd_pow2(p.n - half);
    y = x > 100.0f ? ND_INF_F : y;
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

/* ---- logarithms --------------------------------------------------------------------- */

/* x = 2^k m with m in [sqrt(1/2), sqrt(2)), for positive finite x; subnormal x is first
 * scaled up.  Other x give some finite k and m, which the callers replace. */
struct nd_log_parts_d { double k, m; };
struct nd_log_parts_f { float k, m; };

ND_FN nd_log_parts_d nd_log_split(double x) {
    nd_log_parts_d p;
    double k0 = x < 0x1p-1022 ? 1077.0 : 1023.0;
    double xs = x < 0x1p-1022 ? x * 0x1p54 : x;
    /* the offset moves the cut between binades from 1 to sqrt(1/2) */
    unsigned long long u = nd_bits(xs) + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
    double biased = nd_from_bits(0x4330000000000000ull | (u >> 52)) - 0x1p52;
    p.k = biased - k0;
    p.m = nd_from_bits((u & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
    return p;
}
ND_FN nd_log_parts_f nd_log_split(float x) {
    nd_log_parts_f p;
    float k0 = x < 0x1p-126f ? 151.0f : 127.0f;
    float xs = x < 0x1p-126f ? x * 0x1p24f : x;
    unsigned int u = nd_bits(xs) + (0x3f800000u - 0x3f3504f3u);
    float biased = nd_from_bits(0x4b000000u | (u >> 23)) - 0x1p23f;
    p.k = biased - k0;
    p.m = nd_from_bits((u & 0x007fffffu) + 0x3f3504f3u);
    return p;
}

/* log(2^k m) + tail */
ND_FN double nd_log_join(nd_log_parts_d p, double tail) {
    double f = p.m - 1.0;
    double s = nd_div(f, 2.0 + f);
    double z = nd_mul(s, s);
    double half_ff = nd_mul(0.5 * f, f);
    double w = nd_mul(z, z);
    double even = nd_fma(w, 0.14619164777186419, 0.18182895746801428);
    double odd = nd_fma(w, 0.15331501721207419, 0.22222211043822487);
    even = nd_fma(w, even, 0.28571428626533335);
    odd = nd_fma(w, odd, 0.39999999999898272);
    even = nd_fma(w, even, 0.66666666666666696);
    double poly = nd_fma(z, odd, even);
    double less = nd_fma(-s, nd_fma(z, poly, half_ff), half_ff);
    double kl = nd_mul(p.k, 0x1.62e42fefa4000p-1);        /* exact */
    double h = kl + f;
    double l = (kl - h) + f;
    return h + ((nd_fma(p.k, -0x1.8432a1b0e2634p-43, l) + tail) - less);
}
ND_FN float nd_log_join(nd_log_parts_f p, float tail) {
    float f = p.m - 1.0f;
    float s = nd_div(f, 2.0f + f);
    float z = nd_mul(s, s);
    float half_ff = nd_mul(0.5f * f, f);
    float poly = nd_fma(z, nd_fma(z, 0.295820236f, 0.399887353f), 0.666666865f);
    float less = nd_fma(-s, nd_fma(z, poly, half_ff), half_ff);
    float kl = nd_mul(p.k, 0x1.62e8p-1f);                 /* exact */
    float h = kl + f;
    float l = (kl - h) + f;
    return h + ((nd_fma(p.k, -0x1.e8082ep-16f, l) + tail) - less);
}

ND_FN double nd_log(double x) {
    double y = nd_log_join(nd_log_split(x), 0.0);
    y = x < ND_INF_D ? y : x;
    double edge = x == 0.0 ? -ND_INF_D : ND_NAN_D;
    return x > 0.0 ? y : edge;
}
ND_FN float nd_log(float x) {
    float y = nd_log_join(nd_log_split(x), 0.0f);
    y = x < ND_INF_F ? y : x;
    float edge = x == 0.0f ? -ND_INF_F : ND_NAN_F;
    return x > 0.0f ? y : edge;
}

/* u = 1 + x rounds; what it lost, over u, is added to log(u). */
ND_FN double nd_log1p(double x) {
    double u = 1.0 + x;
    double part = u - 1.0;
    double lost = (1.0 - (u - part)) + (x - part);
    lost = u < 0x1p1000 ? lost : 0.0;                     /* no matter, and 1 / u may be too small */
    double y = nd_log_join(nd_log_split(u), nd_div(lost, u));
    y = x < ND_INF_D ? y : x;
    double edge = x == -1.0 ? -ND_INF_D : ND_NAN_D;
    y = x > -1.0 ? y : edge;
    return nd_fabs(x) < 0x1p-54 ? x : y;
}
ND_FN float nd_log1p(float x) {
    float u = 1.0f + x;
    float part = u - 1.0f;
    float lost = (1.0f - (u - part)) + (x - part);
    lost = u < 0x1p100f ? lost : 0.0f;                    /* no matter, and 1 / u may be too small */
    float y = nd_log_join(nd_log_split(u), nd_div(lost, u));
    y = x < ND_INF_F ? y : x;
    float edge = x == -1.0f ? -ND_INF_F : ND_NAN_F;
    y = x > -1.0f ? y : edge;
    return nd_fabs(x) < 0x1p-25f ? x : y;
}

/* ---- power -------------------------------------------------------------------------- */

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
    double must_be_whole = x < 0.0 ? y : 0.0;
    must_be_whole = ax < ND_INF_D ? must_be_whole : 0.0;
    r = nd_floor(must_be_whole) == must_be_whole ? r : ND_NAN_D;
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

/* ---- sine and cosine ---------------------------------------------------------------- */

/* sin(x + turn pi/2).  The first piece of pi/2 leaves an exact remainder (a multiple of the
 * last place of 1/2, below 1); the other two carry it on past the cancellation. */
ND_FN double nd_sin_quarter(double x, unsigned long long turn) {
    double t = nd_fma(x, 0.63661977236758138, ND_ROUND_D);
    double n = t - ND_ROUND_D;
    double a = nd_fma(-n, 0x1.921fb54442d18p+0, x);
    double b = nd_mul(n, 0x1.1a62633145c07p-54);
    double bl = nd_fma(n, -0x1.f1976b7ed8fbcp-110, nd_fma(n, 0x1.1a62633145c07p-54, -b));
    double r = a - b;
    double part = r - a;
    double rl = ((a - (r - part)) - (b + part)) - bl;
    double z = nd_mul(r, r);
    double w = nd_mul(z, z);

    double even = nd_fma(w, -7.5865765881710725e-13, -2.5052106219521895e-08);
    double odd = nd_fma(w, 1.6058529572267877e-10, 2.7557319219301919e-06);
    even = nd_fma(w, even, -0.00019841269841265017);
    odd = nd_fma(w, odd, 0.0083333333333333315);
    even = nd_fma(w, even, -0.16666666666666666);
    double half_z = 0.5 * z;
    double s = r + nd_fma(nd_mul(r, z), nd_fma(z, odd, even), nd_fma(-half_z, rl, rl));

    even = nd_fma(w, 2.0876143827993133e-09, 2.480158729874307e-05);
    odd = nd_fma(w, -1.1382456778061306e-11, -2.7557317260008837e-07);
    even = nd_fma(w, even, 0.041666666666666664);
    odd = nd_fma(w, odd, -0.0013888888888887382);
    double h = 1.0 - half_z;
    double l = (1.0 - h) - half_z;
    double c = h + (l + nd_fma(w, nd_fma(z, odd, even), -nd_mul(r, rl)));

    unsigned long long k = nd_bits(t) + turn;
    double y = (k & 1ull) != 0ull ? c : s;
    return nd_from_bits(nd_bits(y) ^ ((k & 2ull) << 62));
}
ND_FN float nd_sin_quarter(float x, unsigned int turn) {
    float t = nd_fma(x, 0.636619772f, ND_ROUND_F);
    float n = t - ND_ROUND_F;
    float a = nd_fma(-n, 0x1.921fb6p+0f, x);
    float b = nd_mul(n, -0x1.777a5cp-25f);
    float bl = nd_fma(n, -0x1.ee59dap-50f, nd_fma(n, -0x1.777a5cp-25f, -b));
    float r = a - b;
    float part = r - a;
    float rl = ((a - (r - part)) - (b + part)) - bl;
    float z = nd_mul(r, r);

    float poly = nd_fma(z, 2.72437819e-06f, -0.00019840039f);
    poly = nd_fma(z, nd_fma(z, poly, 0.00833333191f), -0.166666672f);
    float half_z = 0.5f * z;
    float s = r + nd_fma(nd_mul(r, z), poly, nd_fma(-half_z, rl, rl));

    poly = nd_fma(z, -2.72958317e-07f, 2.48005599e-05f);
    poly = nd_fma(z, nd_fma(z, poly, -0.00138888881f), 0.0416666679f);
    float h = 1.0f - half_z;
    float l = (1.0f - h) - half_z;
    float c = h + (l + nd_fma(nd_mul(z, z), poly, -nd_mul(r, rl)));

    unsigned int k = nd_bits(t) + turn;
    float y = (k & 1u) != 0u ? c : s;
    return nd_from_bits(nd_bits(y) ^ ((k & 2u) << 30));
}

ND_FN double nd_sin(double x) {
    double y = nd_fabs(x) <= 0x1p30 ? nd_sin_quarter(x, 0ull) : ND_NAN_D;
    return nd_fabs(x) < 0x1p-27 ? x : y;
}
ND_FN float nd_sin(float x) {
    float y = nd_fabs(x) <= 0x1p17f ? nd_sin_quarter(x, 0u) : ND_NAN_F;
    return nd_fabs(x) < 0x1p-13f ? x : y;
}
ND_FN double nd_cos(double x) {
    return nd_fabs(x) <= 0x1p30 ? nd_sin_quarter(x, 1ull) : ND_NAN_D;
}
ND_FN float nd_cos(float x) {
    return nd_fabs(x) <= 0x1p17f ? nd_sin_quarter(x, 1u) : ND_NAN_F;
}

#endif
