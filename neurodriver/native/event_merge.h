/* Events of the parts of a circuit, put into one order: by step, and by column within a step. */
#include <math.h>

typedef unsigned long long nd_key;

/* Return the keys of one part's events: the step above 32 bits, the column of the whole below. */
extern "C" void nd_event_keys(const double *time, const int *index, const long long *place,
                              double dt, long long count, nd_key *key)
{
    for (long long i = 0; i < count; ++i)
        key[i] = (nd_key)nearbyint(time[i] / dt) << 32 | (nd_key)place[index[i]];
}

/* Merge two ascending lists. The branch that ends the loop is the only one that is taken often. */
extern "C" void nd_merge_keys(const nd_key *a, long long m, const nd_key *b, long long n,
                              nd_key *out)
{
    const nd_key *const a_end = a + m, *const b_end = b + n;
    while (a < a_end && b < b_end) {
        const int second = *b < *a;
        *out++ = second ? *b : *a;
        a += !second;
        b += second;
    }
    while (a < a_end) *out++ = *a++;
    while (b < b_end) *out++ = *b++;
}

/* Return the time and the column of each key. */
extern "C" void nd_events_of_keys(const nd_key *key, double dt, long long count, double *time,
                                  int *index)
{
    for (long long i = 0; i < count; ++i) {
        time[i] = (double)(long long)(key[i] >> 32) * dt;
        index[i] = (int)(key[i] & 0xffffffff);
    }
}
