/* Kernels by which GPUs add up the counts of synapses: see packed_counts.cuh. A warp has a row. */
ND_FN long long nd_row() { return ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32; }

/* Pack the counts of all rows for other GPUs. */
extern "C" __global__ void nd_pack_counts(const nd_packed *own, const long long *first, long long rows,
                                          const long long *counts, const int *marks)
{
    if (nd_row() < rows) nd_pack_row(*own, nd_row(), first, counts, marks);
}

/* Add what other GPUs have packed. */
extern "C" __global__ void nd_add_counts(const nd_packed *others, long long gpus, const long long *first,
                                         long long rows, long long *counts, int *marks)
{
    if (nd_row() >= rows) return;
    for (long long gpu = 0; gpu < gpus; ++gpu) nd_add_row(others[gpu], nd_row(), first, counts, marks);
}

/* Signal other GPUs that earlier kernels of this stream are done: thread i writes into the memory of GPU i. */
extern "C" __global__ void nd_signal(unsigned long long *const *words, unsigned long long number)
{
    __threadfence_system();
    unsigned long long *word = words[threadIdx.x];
    asm volatile("st.release.sys.global.u64 [%0], %1;" :: "l"(word), "l"(number) : "memory");
}

/* Wait for the signals of other GPUs, a thread for each; after `most` ns it gives up. */
extern "C" __global__ void nd_wait_for(const unsigned long long *words, unsigned long long number,
                                       unsigned long long most, volatile long long *missing)
{
    const unsigned long long *word = words + threadIdx.x;
    unsigned long long signalled, now, begin;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    for (;;) {
        asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(signalled) : "l"(word) : "memory");
        if (signalled >= number) return;
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
        if (now - begin > most) {
            missing[threadIdx.x] = (long long)number;
            return;
        }
    }
}
