/* A grid for kernel templates that a thread of another grid runs for one component.
 *
 * The user's text sees one block of one thread for each component, so what blocks share is the
 * thread's own, and a loop over the grid has one pass.  Words that would mean the real grid are
 * replaced in the text by these functions.  Its inputs are written by the kernel that reads them:
 * no memory is fixed, whatever the text says of it.
 */
struct nd_row_index { unsigned int x, y, z; };

/* Where each thread of a block stores its component while it runs the user's text. */
ND_FN unsigned int &nd_component()
{
    static __shared__ unsigned int all[ND_THREADS];
    return all[threadIdx.x];
}

ND_FN nd_row_index nd_thread() { return {0, 0, 0}; }
ND_FN nd_row_index nd_extent() { return {1, 1, 1}; }
ND_FN nd_row_index nd_here() { return {nd_component(), 0, 0}; }
template <class T> ND_FN T __ldg(const T *pointer) { return *pointer; }

#ifndef NAN
#define NAN ND_NAN_F
#endif
#ifndef INFINITY
#define INFINITY ND_INF_F
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
#define ND_LIBRARY(name) ::name
using size_t = decltype(sizeof 0);
typedef unsigned int uint;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
