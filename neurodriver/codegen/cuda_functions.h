/* The functions of CUDA C++ that kernel templates call, for components of one thread.
 *
 * Elementary functions are those of math.h, so the bits are the same in every lane and on every
 * machine; those that math.h does not have are the compiler's own, ND_LIBRARY.  Pasted into a
 * namespace, whose names hide those of the compiler, after the words of a language.
 */
/* double for double and integers, float for float; the name with f for float alone */
#define ND_ONE(name, of_double, of_float)                                        \
    ND_FN double name(double x) { return of_double(x); }                         \
    ND_FN float name(float x) { return of_float(x); }                            \
    template <class T> ND_FN double name(T x) { return of_double((double)x); }   \
    ND_FN float name##f(float x) { return of_float(x); }
#define ND_TWO(name, of_double, of_float)                                        \
    ND_FN double name(double x, double y) { return of_double(x, y); }            \
    ND_FN float name(float x, float y) { return of_float(x, y); }                \
    template <class S, class T> ND_FN double name(S x, T y)                      \
    { return of_double((double)x, (double)y); }                                  \
    ND_FN float name##f(float x, float y) { return of_float(x, y); }

ND_ONE(exp, nd_exp, nd_exp)
ND_ONE(expm1, nd_expm1, nd_expm1)
ND_ONE(log, nd_log, nd_log)
ND_ONE(log1p, nd_log1p, nd_log1p)
ND_ONE(tanh, nd_tanh, nd_tanh)
ND_ONE(cosh, nd_cosh, nd_cosh)
ND_ONE(sinh, nd_sinh, nd_sinh)
ND_ONE(sin, nd_sin, nd_sin)
ND_ONE(cos, nd_cos, nd_cos)
ND_ONE(sqrt, nd_sqrt, nd_sqrt)
ND_ONE(rsqrt, 1.0 / nd_sqrt, 1.0f / nd_sqrt)
ND_ONE(fabs, nd_fabs, nd_fabs)
ND_ONE(floor, nd_floor, nd_floor)
ND_ONE(ceil, ND_LIBRARY(ceil), ND_LIBRARY(ceilf))
ND_ONE(trunc, ND_LIBRARY(trunc), ND_LIBRARY(truncf))
ND_ONE(round, ND_LIBRARY(round), ND_LIBRARY(roundf))
ND_ONE(rint, ND_LIBRARY(rint), ND_LIBRARY(rintf))
ND_ONE(exp2, ND_LIBRARY(exp2), ND_LIBRARY(exp2f))
ND_ONE(log2, ND_LIBRARY(log2), ND_LIBRARY(log2f))
ND_ONE(log10, ND_LIBRARY(log10), ND_LIBRARY(log10f))
ND_ONE(cbrt, ND_LIBRARY(cbrt), ND_LIBRARY(cbrtf))
ND_ONE(tan, ND_LIBRARY(tan), ND_LIBRARY(tanf))
ND_ONE(asin, ND_LIBRARY(asin), ND_LIBRARY(asinf))
ND_ONE(acos, ND_LIBRARY(acos), ND_LIBRARY(acosf))
ND_ONE(atan, ND_LIBRARY(atan), ND_LIBRARY(atanf))
ND_ONE(asinh, ND_LIBRARY(asinh), ND_LIBRARY(asinhf))
ND_ONE(acosh, ND_LIBRARY(acosh), ND_LIBRARY(acoshf))
ND_ONE(atanh, ND_LIBRARY(atanh), ND_LIBRARY(atanhf))
ND_ONE(erf, ND_LIBRARY(erf), ND_LIBRARY(erff))
ND_ONE(erfc, ND_LIBRARY(erfc), ND_LIBRARY(erfcf))
ND_ONE(lgamma, ND_LIBRARY(lgamma), ND_LIBRARY(lgammaf))
ND_ONE(tgamma, ND_LIBRARY(tgamma), ND_LIBRARY(tgammaf))
ND_TWO(pow, nd_pow, nd_pow)
ND_TWO(fmin, nd_fmin, nd_fmin)
ND_TWO(fmax, nd_fmax, nd_fmax)
ND_TWO(fmod, ND_LIBRARY(fmod), ND_LIBRARY(fmodf))
ND_TWO(hypot, ND_LIBRARY(hypot), ND_LIBRARY(hypotf))
ND_TWO(atan2, ND_LIBRARY(atan2), ND_LIBRARY(atan2f))
ND_TWO(copysign, ND_LIBRARY(copysign), ND_LIBRARY(copysignf))
#undef ND_ONE
#undef ND_TWO

ND_FN double exp10(double x) { return nd_pow(10.0, x); }
ND_FN float exp10f(float x) { return nd_pow(10.0f, x); }
ND_FN double fma(double x, double y, double z) { return nd_fma(x, y, z); }
ND_FN float fma(float x, float y, float z) { return nd_fma(x, y, z); }
ND_FN float fmaf(float x, float y, float z) { return nd_fma(x, y, z); }
ND_FN float __expf(float x) { return nd_exp(x); }
ND_FN float __logf(float x) { return nd_log(x); }
ND_FN float __sinf(float x) { return nd_sin(x); }
ND_FN float __cosf(float x) { return nd_cos(x); }
ND_FN float __powf(float x, float y) { return nd_pow(x, y); }
ND_FN float __fdividef(float x, float y) { return x / y; }

ND_FN double nd_greater(double x, double y) { return nd_fmax(x, y); }
ND_FN float nd_greater(float x, float y) { return nd_fmax(x, y); }
ND_FN double nd_less(double x, double y) { return nd_fmin(x, y); }
ND_FN float nd_less(float x, float y) { return nd_fmin(x, y); }
template <class T> ND_FN T nd_greater(T x, T y) { return x < y ? y : x; }
template <class T> ND_FN T nd_less(T x, T y) { return y < x ? y : x; }
template <class S, class T> ND_FN auto max(S x, T y)
{ typedef decltype(x + y) both; return nd_greater((both)x, (both)y); }
template <class S, class T> ND_FN auto min(S x, T y)
{ typedef decltype(x + y) both; return nd_less((both)x, (both)y); }

ND_FN double abs(double x) { return nd_fabs(x); }
ND_FN float abs(float x) { return nd_fabs(x); }
ND_FN int abs(int x) { return x < 0 ? -x : x; }
ND_FN long long abs(long long x) { return x < 0 ? -x : x; }
template <class T> ND_FN bool isnan(T x) { return x != x; }
template <class T> ND_FN bool isinf(T x) { return nd_fabs((double)x) == ND_INF_D; }
template <class T> ND_FN bool isfinite(T x) { return nd_fabs((double)x) < ND_INF_D; }
template <class T> ND_FN bool signbit(T x) { return nd_bits((double)x) >> 63; }
#undef ND_LIBRARY
