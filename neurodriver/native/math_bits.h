/* Bits of numbers and operations that are rounded once. */
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
ND_FN double nd_rint(double x) { return rint(x); }
ND_FN float nd_rint(float x) { return rintf(x); }
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
ND_FN double nd_rint(double x) { return __builtin_rint(x); }
ND_FN float nd_rint(float x) { return __builtin_rintf(x); }
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
