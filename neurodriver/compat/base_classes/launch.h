/* Runs a kernel on the CPU: block after block, thread after thread.
 *
 * Pasted after the kernels of a text, which lie in the namespace nd_user with their grid.
 */
#include <cstddef>
#include <utility>

template <class... A, std::size_t... I>
static void nd_call(void (*kernel)(A...), void **a, std::index_sequence<I...>)
{
    kernel(*(A *)a[I]...);
}

template <class... A> static void nd_block(void (*kernel)(A...), void **a, const unsigned *b)
{
    for (unsigned z = 0; z < b[2]; ++z)
        for (unsigned y = 0; y < b[1]; ++y)
            for (unsigned x = 0; x < b[0]; ++x) {
                nd_user::threadIdx = {x, y, z};
                nd_call(kernel, a, std::index_sequence_for<A...>());
            }
}

template <class... A>
static void nd_grid(void (*kernel)(A...), void **a, const unsigned *g, const unsigned *b)
{
    nd_user::gridDim = {g[0], g[1], g[2]};
    nd_user::blockDim = {b[0], b[1], b[2]};
    for (unsigned z = 0; z < g[2]; ++z)
        for (unsigned y = 0; y < g[1]; ++y)
            for (unsigned x = 0; x < g[0]; ++x) {
                nd_user::blockIdx = {x, y, z};
                nd_block(kernel, a, b);
            }
}
