/* Elementary functions for generated simulation kernels.
 *
 * One text for C++17 (g++, clang) and CUDA C++ (nvcc, NVRTC).  It is put together from
 * the files that it includes.  The text that pastes it in must first define ND_FN, the prefix of
 * every function:
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
 *     nd_asin          1.0     0.51
 *     nd_acos          1.0     0.51
 *     nd_atan          1.0     0.51
 *     nd_atan2         1.0     0.51
 *
 * nd_sqrt, nd_fma, nd_floor, nd_fabs and division are those of IEEE 754 (exact rounding).
 * nd_ceil, nd_round and nd_fmod are exact.
 *
 * Rules the code keeps
 *   - No branches, tables or calls: special cases are selects between two values, so that a
 *     loop over neurons vectorises (g++ -O3 -fopenmp-simd -fno-math-errno
 *     -fno-trapping-math, on a machine with fused multiply-add).
 *   - The same bits from vector, scalar and GPU code.  Each function is a fixed sequence of
 *     IEEE operations with explicit fused multiply-adds.  A product that is later added to a sum
 *     is exact or goes through nd_mul, which CUDA never contracts.  On the CPU compile with
 *     -ffp-contract=off; everywhere without fast-math.  The sign and payload of a NaN are
 *     not part of this promise.
 *   - NaN in, NaN out (the exceptions are those of C99: pow(x, 0) and pow(1, y) are 1).
 *     Overflow gives infinity, underflow is gradual: results below the least normal number
 *     are rounded to the nearest subnormal one, within one unit of it.  Where a processor
 *     takes subnormal numbers for zero, as step loops set it to, such results are zero.
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
 *   asin, acos, atan, atan2
 *       All are the angle of a point, asin(x) that of (sqrt(1 - x^2), x).  With the smaller
 *       coordinate over the larger one, and (a - b) / (a + b) beyond tan(pi/8), the quotient
 *       u is at most tan(pi/8), and atan(u) = u + u^3 p(u^2).  What quotient, root and
 *       multiples of pi/4 lose in rounding is kept.  In float the same in plain double
 *       arithmetic, rounded once at the end.
 *   The polynomials interpolate the exact functions at Chebyshev nodes of the reduced range
 *   (300-bit arithmetic), their coefficients rounded to the type; the error they leave is
 *   at most 2^-56 (double) or 2^-26 (float) of the result.
 */
#ifndef ND_MATH_H
#define ND_MATH_H

#include "math_bits.h"
#include "math_arc.h"
#include "math_exp.h"
#include "math_log.h"
#include "math_pow.h"
#include "math_round.h"
#include "math_sin.h"

#endif
