/* Event trains of an input, drawn on a device: the events that `native/trains.h` draws on a host.
 *
 * A train has a number of events in each block of ND_TRAIN_BLOCK steps, and each event has a step within the
 * block. `nd_draw_trains` counts the events of each step of some blocks, `nd_place_trains` turns the counts
 * into places, and `nd_draw_trains` writes the columns. The order within a step means nothing, as weights
 * are added as integers.
 */

enum { ND_TRAIN_BLOCK = 256, ND_HOW_MANY = 1, ND_WHICH_STEP = 2 };    /* ND_BLOCK etc. of native/trains.h */

struct nd_trains {
    const unsigned long long *key;
    const double *mean, *none;      /* events in a block, and exp(-mean) */
    const long long *most;          /* bound of their number */
    long long count, single;        /* columns; whether several events of a step count as one */
    unsigned long long seed;
};

/* How many events a column has in a block: inversion of the distribution function. */
ND_FN int nd_how_many(const nd_trains &t, long long i, long long block)
{
    const double u = nd_uniform(t.key[i], t.seed, block, 0, ND_HOW_MANY, 0.0), mean = t.mean[i];
    const long long most = t.most[i];
    double chance = t.none[i], below = chance;
    int count = below <= u;
    for (int k = 1; below <= u && k <= most; ++k) {
        chance = chance * (mean * (1.0 / (double)k));
        below += chance;
        count += below <= u && k < most;
    }
    return count;
}

/* Adds the events of blocks low, low + 1, ... to the counts of their steps, `at`; where there is a list of
 * columns with `room`, `at` holds the places of the next events. */
extern "C" __global__ void __launch_bounds__(ND_LISTING)
nd_draw_trains(const nd_trains *given, long long low, long long blocks, unsigned *at, int *column, unsigned room)
{
    const nd_trains t = *given;
    const long long all = t.count * blocks, threads = (long long)gridDim.x * ND_LISTING;
    for (long long n = (long long)blockIdx.x * ND_LISTING + threadIdx.x; n < all; n += threads) {
        const long long block = n / t.count, i = n - block * t.count;
        const int count = nd_how_many(t, i, low + block);
        unsigned *const steps = at + block * ND_TRAIN_BLOCK;
        unsigned seen[ND_TRAIN_BLOCK / 32];
        for (int w = 0; w < ND_TRAIN_BLOCK / 32; ++w) seen[w] = 0;
        nd_block drawn = {0, 0, 0, 0};
        for (int e = 0; e < count; ++e) {
            if (e % 16 == 0) drawn = nd_draw(t.key[i], t.seed, low + block, e >> 4, ND_WHICH_STEP);
            const unsigned half = e & 4 ? (e & 8 ? drawn.w3 : drawn.w1) : (e & 8 ? drawn.w2 : drawn.w0);
            const unsigned step = half >> 8 * (e & 3) & 255u;
            if (t.single) {
                if (seen[step / 32] >> step % 32 & 1u) continue;
                seen[step / 32] |= 1u << step % 32;
            }
            const unsigned place = atomicAdd(steps + step, 1u);
            if (column && place < room) column[place] = (int)i;
        }
    }
}

/* Turns the counts of `size` steps into places, also for `nd_draw_trains` to go on from; at most `room`.
 * One block of threads. */
extern "C" __global__ void __launch_bounds__(ND_LISTING)
nd_place_trains(unsigned *at, unsigned size, unsigned room, int *places)
{
    unsigned base = 0, all;
    for (unsigned s = threadIdx.x; s < size + ND_LISTING; s += ND_LISTING) {    /* of all threads equally often */
        const unsigned before = base + nd_sum_before(s < size ? at[s] : 0u, all);
        if (s < size) at[s] = before;
        if (s <= size) places[s] = (int)(before < room ? before : room);
        base += all;
    }
}

/* Where the events of a chunk of steps begin, without those before step `from` and from `to` on. */
extern "C" __global__ void __launch_bounds__(ND_LISTING)
nd_limit_trains(const int *places, unsigned steps, unsigned from, unsigned to, int *begin)
{
    for (unsigned s = blockIdx.x * ND_LISTING + threadIdx.x; s <= steps; s += gridDim.x * ND_LISTING)
        begin[s] = places[s < from ? from : s < to ? s : to];
}
