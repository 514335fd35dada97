/* Kernels by which GPUs signal each other that they have packed and added: see packed_counts.cuh. */
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
