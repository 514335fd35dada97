/* The first value that is not finite: its step, its component, which variable, and both values.
 *
 * Many threads may find one at once. A lock guards the record; the earliest step wins, and among its
 * components the first one. So the record depends neither on threads nor on the length of calls. */
enum {
    ND_LOCK, ND_FAULT_STEP, ND_FAULT_COMPONENT, ND_FAULT_WHICH, ND_FAULT_KNOWN, ND_FAULT_BEFORE,
    ND_FAULT_NOW
};

#ifdef __CUDACC__
#define ND_RARE static __device__ __noinline__
ND_FN long long nd_seen(const long long *word) { return *(const volatile long long *)word; }
ND_FN void nd_show(long long *word, long long value) { *(volatile long long *)word = value; }
ND_FN void nd_fence() { __threadfence(); }
ND_FN bool nd_try(long long *lock)
{
    return atomicCAS((unsigned long long *)lock, 0ull, 1ull) == 0;
}
ND_FN void nd_free(long long *lock)
{
    __threadfence();
    atomicExch((unsigned long long *)lock, 0ull);
}
#else
#define ND_RARE static __attribute__((noinline, cold, unused))
ND_FN long long nd_seen(const long long *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
ND_FN void nd_show(long long *word, long long value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}
ND_FN void nd_fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
ND_FN bool nd_try(long long *lock) { return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); }
ND_FN void nd_free(long long *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }

/* Whether arithmetic of this thread has made an infinity or NaN since the last call, by the flags of
 * the processor (invalid, division by zero, overflow); clears them. Where they are unknown: true. */
ND_FN bool nd_flag_set()
{
#if defined(__x86_64__)
    unsigned flags;
    asm volatile("stmxcsr %0" : "=m"(flags) : : "memory");  /* after all that is stored */
    if (!(flags & 13u)) return false;
    flags &= ~13u;
    asm volatile("ldmxcsr %0" : : "m"(flags) : "memory");
    return true;
#elif defined(__aarch64__)
    unsigned long flags;
    asm volatile("mrs %0, fpsr" : "=r"(flags) : : "memory");
    if (!(flags & 7u)) return false;
    flags &= ~7ul;
    asm volatile("msr fpsr, %0" : : "r"(flags) : "memory");
    return true;
#else
    return true;
#endif
}
#endif

/* 0 for a finite number, NaN for others. */
ND_FN real nd_not_finite(real x) { return x - x; }

/* A number of single precision that is not finite where x is not. */
ND_FN float nd_upper(float x) { return x; }
ND_FN float nd_upper(double x) { return nd_from_bits((unsigned)(nd_bits(x) >> 32)); }
ND_FN bool nd_is_odd(float x) { return !(nd_fabs(x) < nd_from_bits(0x7f800000u)); }

#ifndef __CUDACC__
ND_FN bool nd_any_not_finite(const real *x, long long begin, long long end)
{
    real sum = 0;
    _Pragma("omp simd reduction(+:sum)")
    for (long long i = begin; i < end; ++i) sum += nd_not_finite(x[i]);
    return !(sum == 0);
}
#endif

/* Number of a component in the circuit, -1 for a place of the memory that none has. */
ND_FN long long nd_component(long long first, int order) { return order < 0 ? -1 : first + order; }

/* Whether a component's fault comes before the one on record. The step is read first and written
 * last, so a wrong "no" cannot come from two words that do not belong together. */
ND_FN bool nd_comes_first(const long long *fault, long long k, long long component)
{
    const long long step = nd_seen(fault + ND_FAULT_STEP);
    nd_fence();
    return k < step || (k == step && component < nd_seen(fault + ND_FAULT_COMPONENT));
}

/* Record a value of a component in row k + 1 if it is not finite; a component below 0 is none. `known`
 * says whether `before` is the value in row k. */
ND_RARE void nd_record_first(long long *fault, long long k, long long component, int which, int known,
                     double before, double now)
{
    if (now - now == 0 || component < 0) return;
    for (bool done = !nd_comes_first(fault, k, component); !done;) {
        if (!nd_try(fault + ND_LOCK)) continue;
        if (nd_comes_first(fault, k, component)) {
            volatile long long *to = fault;
            to[ND_FAULT_WHICH] = which;
            to[ND_FAULT_KNOWN] = known;
            ((volatile double *)to)[ND_FAULT_BEFORE] = before;
            ((volatile double *)to)[ND_FAULT_NOW] = now;
            nd_show(fault + ND_FAULT_COMPONENT, component);
            nd_fence();
            nd_show(fault + ND_FAULT_STEP, k);
        }
        done = true;
        nd_free(fault + ND_LOCK);
    }
}
