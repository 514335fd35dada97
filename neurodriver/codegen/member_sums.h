/* Sums of integers that the members of a pool add to, see `plan/member_sums.py`.
 *
 * Row k of a pool's integers belongs to row k of its members. There are four such rows. */
ND_FN long long *nd_sums_of(long long *sums, long long k, long long groups) { return sums + (k & 3) * groups; }

/* A value in whole multiples. One that is no number counts as the least one. */
ND_FN long long nd_in_multiples(real x, real per)
{
    const real most = (real)0x1p38;
    const real n = nd_rint(x * per), least = n > -most ? n : -most;
    return (long long)(least < most ? least : most);
}

#ifdef __CUDACC__
ND_FN long long nd_load_sum(const long long *at) { return __ldcg(at); }     /* others have added to it */
#else
ND_FN long long nd_load_sum(const long long *at) { return *at; }
ND_FN void nd_add_to_sum(long long *at, long long units)
{
    if (units) __atomic_fetch_add(at, units, __ATOMIC_RELAXED);
}
#endif

ND_FN real nd_sum_of(long long units, real multiple) { return (real)units * multiple; }
ND_FN real nd_mean_of(long long units, real multiple, int members)
{
    return members ? nd_sum_of(units, multiple) / (real)members : 0;
}
