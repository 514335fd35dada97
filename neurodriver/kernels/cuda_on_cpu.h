/* The words of CUDA C++ that kernels in the old style use, for a C++ compiler.
 *
 * The grid has one block of one thread for each component or, for kernels with a grid-stride
 * loop, one block that begins at the first component of a tile.  Elementary functions are those of
 * math.h, so the bits are the same in every lane and on every machine; those that math.h does not
 * have are the compiler's own.  The text that pastes this in puts it inside a namespace.
 */
#define __global__ inline __attribute__((always_inline))
#define __device__
#define __host__
#define __constant__ static
#define __shared__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __syncthreads() ((void)0)
#define __syncwarp(...) ((void)0)
#define __threadfence() ((void)0)
#define __ldg(pointer) (*(pointer))
#ifndef NAN
#define NAN __builtin_nanf("")
#endif
#ifndef INFINITY
#define INFINITY __builtin_inff()
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif

struct nd_place { unsigned int x = 0, y = 0, z = 0; };
struct nd_extent { unsigned int x = 1, y = 1, z = 1; };
static constexpr nd_place threadIdx{};
static constexpr nd_extent blockDim{};
static thread_local nd_place blockIdx;
static const int warpSize = 1;
using size_t = decltype(sizeof 0);
typedef unsigned int uint;

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
ND_ONE(ceil, __builtin_ceil, __builtin_ceilf)
ND_ONE(trunc, __builtin_trunc, __builtin_truncf)
ND_ONE(round, __builtin_round, __builtin_roundf)
ND_ONE(rint, __builtin_rint, __builtin_rintf)
ND_ONE(exp2, __builtin_exp2, __builtin_exp2f)
ND_ONE(log2, __builtin_log2, __builtin_log2f)
ND_ONE(log10, __builtin_log10, __builtin_log10f)
ND_ONE(cbrt, __builtin_cbrt, __builtin_cbrtf)
ND_ONE(tan, __builtin_tan, __builtin_tanf)
ND_ONE(asin, __builtin_asin, __builtin_asinf)
ND_ONE(acos, __builtin_acos, __builtin_acosf)
ND_ONE(atan, __builtin_atan, __builtin_atanf)
ND_ONE(asinh, __builtin_asinh, __builtin_asinhf)
ND_ONE(acosh, __builtin_acosh, __builtin_acoshf)
ND_ONE(atanh, __builtin_atanh, __builtin_atanhf)
ND_ONE(erf, __builtin_erf, __builtin_erff)
ND_ONE(erfc, __builtin_erfc, __builtin_erfcf)
ND_ONE(lgamma, __builtin_lgamma, __builtin_lgammaf)
ND_ONE(tgamma, __builtin_tgamma, __builtin_tgammaf)
ND_TWO(pow, nd_pow, nd_pow)
ND_TWO(fmin, nd_fmin, nd_fmin)
ND_TWO(fmax, nd_fmax, nd_fmax)
ND_TWO(fmod, __builtin_fmod, __builtin_fmodf)
ND_TWO(hypot, __builtin_hypot, __builtin_hypotf)
ND_TWO(atan2, __builtin_atan2, __builtin_atan2f)
ND_TWO(copysign, __builtin_copysign, __builtin_copysignf)
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
template <class T> ND_FN bool isnan(T x) { return __builtin_isnan(x); }
template <class T> ND_FN bool isinf(T x) { return __builtin_isinf(x); }
template <class T> ND_FN bool isfinite(T x) { return __builtin_isfinite(x); }
template <class T> ND_FN bool signbit(T x) { return __builtin_signbit(x); }
