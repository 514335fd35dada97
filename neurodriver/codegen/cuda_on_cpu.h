/* The words of CUDA C++ that kernel templates use, for a C++ compiler.
 *
 * The grid has one block of one thread for each component or, for kernels with a grid-stride
 * loop, one block that begins at the first component of a tile.  The functions follow in
 * cuda_functions.h.  The text that pastes this in puts it inside a namespace.
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

struct nd_row_index { unsigned int x = 0, y = 0, z = 0; };
struct nd_extent { unsigned int x = 1, y = 1, z = 1; };
#ifdef ND_WHOLE_GRID    /* blocks of any size, whose threads run one after the other */
static thread_local nd_row_index threadIdx;
static thread_local nd_extent blockDim, gridDim;
#else
static constexpr nd_row_index threadIdx{};
static constexpr nd_extent blockDim{};
#endif
static thread_local nd_row_index blockIdx;
static const int warpSize = 1;
using size_t = decltype(sizeof 0);
typedef unsigned int uint;
#define ND_LIBRARY(name) __builtin_##name
