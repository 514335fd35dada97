/* Numbers of components by a law, each by its place. Pasted after math.h and philox.h. It is kept short
 * so that it compiles fast: where a GPU draws the connections, the host needs no more than this. */
#include "projection_rule.h"

template <int kind> static void nd_numbers_of(const nd_law &law, word key, integer count, double *out)
{
    const double a = law.a, b = law.b;
    _Pragma("omp simd")
    for (integer i = 0; i < count; ++i) out[i] = nd_of<kind>(a, b, key, i, 0, 0, ND_WEIGHT);
    for (integer i = 0; i < count; ++i)
        out[i] = nd_kept<kind>(law, key, i, 0, ND_WEIGHT, out[i]);
}

/* The numbers of `count` components, those of a connection with its own row and rank 0. */
extern "C" void nd_numbers(const nd_law *law, word key, integer count, double *out)
{
    switch (law->kind) {
    case ND_NORMAL: nd_numbers_of<ND_NORMAL>(*law, key, count, out); break;
    case ND_UNIFORM: nd_numbers_of<ND_UNIFORM>(*law, key, count, out); break;
    case ND_LOG_NORMAL: nd_numbers_of<ND_LOG_NORMAL>(*law, key, count, out); break;
    case ND_EXPONENTIAL: nd_numbers_of<ND_EXPONENTIAL>(*law, key, count, out); break;
    default: for (integer i = 0; i < count; ++i) out[i] = law->a;
    }
}
