/* A piece of memory that moves, from one place to another: of the device, or page-locked on the host. */
struct nd_moved {
    unsigned long long to, from, bytes;     /* all are multiples of 4 */
};

/* Move pieces, each by a block of its own. `to` and `from` are added to the addresses of all pieces. */
extern "C" __global__ void nd_move(const nd_moved *pieces, unsigned long long to, unsigned long long from)
{
    const nd_moved piece = pieces[blockIdx.x];
    unsigned *const there = (unsigned *)(to + piece.to);
    const unsigned *const here = (const unsigned *)(from + piece.from);
    for (unsigned i = threadIdx.x; i < piece.bytes / 4; i += blockDim.x) there[i] = here[i];
}
