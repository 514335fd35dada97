/* Events on a device: from bits to lists, and from lists to rows.
 *
 * The events that are recorded in a chunk of steps stand as bits, a row of words for each step. Two
 * kernels list them by step, then by column: `nd_count_events` counts those of each block's part of
 * the words, `nd_list_events` adds up the counts of the parts before and writes the lists.
 *
 * The events of an input come as lists; `nd_enter_events` writes them into rows of zeros.
 */

enum { ND_LISTING = 256, ND_EACH = 16 };    /* threads of a block; words of a thread at once */

/* Returns the sum of x over the threads before this one, and over all threads. */
static __device__ unsigned nd_sum_before(unsigned x, unsigned &all)
{
    __shared__ unsigned sums[2][ND_LISTING];
    const unsigned me = threadIdx.x;
    int now = 0;
    sums[0][me] = x;
    __syncthreads();
    for (unsigned d = 1; d < ND_LISTING; d *= 2) {
        sums[!now][me] = sums[now][me] + (me >= d ? sums[now][me - d] : 0u);
        now = !now;
        __syncthreads();
    }
    const unsigned before = sums[now][me] - x;
    all = sums[now][ND_LISTING - 1];
    __syncthreads();
    return before;
}

/* The words of a block: whole rounds of all its threads. */
struct nd_words_of_block {
    unsigned first, end;

    ND_MEMBER nd_words_of_block(unsigned words)
    {
        const unsigned round = ND_LISTING * ND_EACH;
        const unsigned part = ((words + gridDim.x - 1) / gridDim.x + round - 1) / round * round;
        first = words / part < blockIdx.x ? words : blockIdx.x * part;
        end = words - first < part ? words : first + part;
    }
};

/* Loads four words; those beyond the end are zero. They begin at a multiple of 16 bytes. */
ND_FN void nd_load_words(const unsigned *bits, unsigned at, unsigned end, unsigned *to)
{
    if (at + 4 <= end) {
        const uint4 x = *(const uint4 *)(bits + at);
        to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
        return;
    }
    for (unsigned i = 0; i < 4; ++i) to[i] = at + i < end ? bits[at + i] : 0u;
}

extern "C" __global__ void __launch_bounds__(ND_LISTING)
nd_count_events(const unsigned *bits, unsigned words, unsigned *counts)
{
    const nd_words_of_block mine(words);
    unsigned count = 0, all;
    for (unsigned at = mine.first + 4 * threadIdx.x; at < mine.end; at += 4 * ND_LISTING) {
        unsigned x[4];
        nd_load_words(bits, at, mine.end, x);
        for (int i = 0; i < 4; ++i) count += (unsigned)__popc(x[i]);
    }
    nd_sum_before(count, all);
    if (threadIdx.x == 0) counts[blockIdx.x] = all;
}

/* Lists events as far as there is `room`; `number` gets how many there are. A row has `row` words;
 * the grid is that of the kernel before. */
extern "C" __global__ void __launch_bounds__(ND_LISTING)
nd_list_events(const unsigned *bits, unsigned words, unsigned row, const unsigned *counts, unsigned room,
               int *step, int *column, long long *number)
{
    const nd_words_of_block mine(words);
    const unsigned here = counts[blockIdx.x];
    unsigned count = 0, all;
    for (unsigned i = threadIdx.x; i < blockIdx.x; i += ND_LISTING) count += counts[i];
    nd_sum_before(count, all);
    if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 0) *number = (long long)all + here;
    unsigned base = all;
    for (unsigned first = mine.first; here && first < mine.end; first += ND_LISTING * ND_EACH) {
        const unsigned at = first + ND_EACH * threadIdx.x;
        unsigned x[ND_EACH];
        count = 0;
        for (unsigned i = 0; i < ND_EACH; i += 4) nd_load_words(bits, at + i, mine.end, x + i);
        for (unsigned i = 0; i < ND_EACH; ++i) count += (unsigned)__popc(x[i]);
        unsigned to = base + nd_sum_before(count, all);
        base += all;
        if (!count) continue;
        for (unsigned i = 0; i < ND_EACH; ++i) {
            if (!x[i]) continue;
            const unsigned k = (at + i) / row, from = 32 * (at + i - k * row);
            for (unsigned left = x[i]; left && to < room; left &= left - 1, ++to) {
                step[to] = (int)k;
                column[to] = (int)from + __ffs((int)left) - 1;
            }
        }
    }
}

/* Enters the events of steps into rows of `count` values, which are zero; a step without events has
 * row -1. The events of a step are those from its number in `begin` to the next one. */
extern "C" __global__ void __launch_bounds__(ND_LISTING)
nd_enter_events(const int *begin, const int *column, const real *value, const int *rows, real *table,
                long long count, long long steps)
{
    for (long long s = blockIdx.x; s < steps; s += gridDim.x)
        for (int i = begin[s] + (int)threadIdx.x; i < begin[s + 1]; i += ND_LISTING)
            table[rows[s] * count + column[i]] = value[i];
}
