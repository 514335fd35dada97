/* Warps that dawdle at random, in tests: results do not depend on which warp is first. */

/* Pseudo-random numbers for `fuzz`. */
ND_FN unsigned nd_mixed(long long k)
{
    unsigned x = (unsigned)(nd_chunk.fuzz * 0x9e3779b9u + k * 0x85ebca6bu)
               ^ (blockIdx.x * 0xc2b2ae35u + threadIdx.x / 32 * 0x27d4eb2fu);
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

ND_FN void nd_dawdle(long long k)
{
    const unsigned wait = nd_mixed(k);
    if (wait & 3) return;
    const long long until = clock64() + (wait >> 4) % 8192;
    while (clock64() < until) {}
}
