/* What `PRINT` and `ERROR` in the mathematics of a model write: records in memory, which the host
 * reads after each call. The words of `to` are described in plan/diagnostics.py. */
enum { ND_HEAD = 16, ND_RECORD = 12 };

#ifdef __CUDACC__
ND_FN long long nd_take_place(long long *count)
{
    return (long long)atomicAdd((unsigned long long *)count, 1ull);
}
#else
ND_FN long long nd_take_place(long long *count)
{
    return __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}
#endif

ND_FN void nd_fill(long long *at, int) { (void)at; }

template <class... More> ND_FN void nd_fill(long long *at, int i, double value, More... more)
{
    ((volatile double *)at)[i] = value;
    nd_fill(at, i + 1, more...);
}

/* One more record of a step's component; there may be no room for it. */
template <class... Values>
ND_RARE void nd_print(long long *to, long long room, long long k, long long component, int substep,
                      int number, Values... values)
{
    if (component < 0) return;
    const long long place = nd_take_place(to);
    if (place >= room) return;
    long long *at = to + ND_HEAD + place * ND_RECORD;
    at[0] = k, at[1] = component, at[2] = substep, at[3] = number;
    nd_fill(at, 4, values...);
}

/* The first `ERROR`, by step and component. */
template <class... Values>
ND_RARE void nd_error(long long *to, long long, long long k, long long component, int substep,
                      int number, Values... values)
{
    if (component < 0) return;
    for (bool done = !nd_comes_first(to + 1, k, component); !done;) {
        if (!nd_try(to + 1)) continue;
        if (nd_comes_first(to + 1, k, component)) {
            volatile long long *at = to;
            at[4] = substep, at[5] = number;
            nd_fill(to, 6, values...);
            at[3] = component;
            nd_fence();
            at[2] = k;
        }
        done = true;
        nd_free(to + 1);
    }
}
