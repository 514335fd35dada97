/* Events of the parts of a circuit, put into one order: by step, and by column within a step. */
#include <string.h>

typedef unsigned long long nd_key;

/* A double from 2**52 on has an integer in its lowest bits. Loops that use this have vectors. */
static const double ND_WHOLE = 4503599627370496.0;

/* Return the keys of events of a part: the step above 32 bits, the column of the whole below. */
extern "C" void nd_event_keys(const double *time, const int *index, const long long *place,
                              double dt, long long count, nd_key *key)
{
    for (long long i = 0; i < count; ++i) {
        const double step = time[i] / dt + ND_WHOLE;    /* rounded */
        nd_key bits;
        memcpy(&bits, &step, sizeof bits);
        key[i] = bits << 32 | (nd_key)place[index[i]];
    }
}

/* Merge two ascending lists, from both ends at once: one comparison waits for the one before, not for
 * that of the other end. As many as half of the shorter list cannot reach beyond it. */
extern "C" void nd_merge_keys(const nd_key *a, long long m, const nd_key *b, long long n,
                              nd_key *out)
{
    const nd_key *a_end = a + m, *b_end = b + n;
    nd_key *end = out + m + n;
    for (long long half; (half = (a_end - a < b_end - b ? a_end - a : b_end - b) / 2) > 0;)
        while (half--) {
            const nd_key low_a = *a, low_b = *b, high_a = a_end[-1], high_b = b_end[-1];
            const int first = low_b < low_a, last = high_b > high_a;
            *out++ = first ? low_b : low_a;
            *--end = last ? high_b : high_a;
            a += !first, b += first, a_end -= !last, b_end -= last;
        }
    while (a < a_end && b < b_end) *out++ = *b < *a ? *b++ : *a++;
    while (a < a_end) *out++ = *a++;
    while (b < b_end) *out++ = *b++;
}

/* Return the time and the column of each key. */
extern "C" void nd_events_of_keys(const nd_key *key, double dt, long long count, double *time,
                                  int *index)
{
    nd_key whole;
    memcpy(&whole, &ND_WHOLE, sizeof whole);
    for (long long i = 0; i < count; ++i) {
        const nd_key bits = key[i] >> 32 | whole;
        double step;
        memcpy(&step, &bits, sizeof step);
        time[i] = (step - ND_WHOLE) * dt;
        index[i] = (int)(key[i] & 0xffffffff);
    }
}
