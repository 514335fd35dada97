/* Patches of columns in shared memory: see plan/sums/patches.py. */

template <class T> ND_FN T *nd_patch_memory(int byte)
{
    return (T *)(nd_scratch + ND_PATCHES_AT + byte);
}

/* Before it all threads of a block have read a patch. */
ND_FN void nd_patch_barrier() { __syncthreads(); }

/* After it they all may read the next one. */
ND_FN void nd_patch_arrived()
{
    nd_asked();
    nd_await<0>();
    __syncthreads();
}

template <class T> ND_FN void nd_patch_copy(T *to, const T *from, int number)
{
    for (int i = threadIdx.x; i < number; i += ND_THREADS) to[i] = from[i];
}

#define ND_KEEPS_SOURCES (ND_SOURCES_AT >= 0)

/* Where the sources of a plane stand in shared memory, whose values come after `before` others. */
ND_FN int *nd_kept_sources(int before) { return nd_patch_memory<int>(ND_SOURCES_AT + 4 * before); }

/* Keeps them, where each block has one patch at most. */
ND_FN void nd_keep_sources(int patches, int before, const int *source, int slots)
{
    if (ND_KEEPS_SOURCES && nd_own_block() < patches)
        nd_patch_copy(nd_kept_sources(before), source + nd_own_block() * slots, slots);
}

/* Asks for the values of a patch, and clears places without a source (-1). */
template <int SLOTS, int BEFORE> ND_FN void nd_patch_values(real *to, const real *row, const int *source)
{
    const int *const kept = nd_kept_sources(BEFORE);
    enum { TURN = 8 };      /* loads of a thread in flight */
    for (int first = threadIdx.x; first < SLOTS; first += TURN * ND_THREADS) {
        int from[TURN];
        ND_UNROLL
        for (int j = 0; j < TURN; ++j) {
            const int slot = first + j * ND_THREADS;
            from[j] = slot >= SLOTS ? -2 : ND_KEEPS_SOURCES ? kept[slot] : __ldg(source + slot);
        }
        ND_UNROLL
        for (int j = 0; j < TURN; ++j) {
            const int slot = first + j * ND_THREADS;
            if (from[j] >= 0) nd_ask(to + slot, row + from[j]);
            else if (from[j] == -1) to[slot] = 0;
        }
    }
}
