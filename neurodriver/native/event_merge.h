/* Events of parts of a circuit, put into one order: by step, and by column within a step. */

/* Events by step and column. Columns that follow one another in the whole are a run: `first` has the
 * first column of each run and one that is never reached, `shift` what leads from there to the column of
 * the whole. Many runs are worse than `place`, the column of the whole for each column; else it is null. */
struct nd_part_events {
    const double *time;
    const int *index;
    const int *place, *first, *shift;
    long long count;
};

/* Return how many of the first events of a list have the time of its first one. */
static long long nd_events_of_step(const nd_part_events &list)
{
    const double *time = list.time;
    long long low = 0, high = 1;
    while (high < list.count && time[high] == *time) low = high, high *= 2;
    if (high > list.count) high = list.count;
    while (high - low > 1) {                /* time[low] is the same, time[high] is later */
        const long long middle = low + (high - low) / 2;
        (time[middle] == *time ? low : high) = middle;
    }
    return high;
}

/* Take the first events of a list, which are of one step: write their columns. */
static void nd_take_events(nd_part_events &list, long long count, int *column)
{
    const int *index = list.index, *place = list.place, *first = list.first;
    if (place) {
        for (long long i = 0; i < count; ++i) column[i] = place[index[i]];
    } else {
        for (long long i = 0, run = 0; i < count; ++i) {
            while (index[i] >= first[run + 1]) ++run;
            column[i] = index[i] + list.shift[run];
        }
    }
    list.time += count;
    list.index += count;
    list.count -= count;
}

/* Merge two ascending lists, from both ends at once: one comparison waits for the one before, not for
 * that of the other end. As many as half of the shorter list cannot reach beyond it. */
static void nd_merge_columns(const int *a, long long m, const int *b, long long n, int *out)
{
    const int *a_end = a + m, *b_end = b + n;
    int *end = out + m + n;
    for (long long half; (half = (a_end - a < b_end - b ? a_end - a : b_end - b) / 2) > 0;)
        while (half--) {
            const int low_a = *a, low_b = *b, high_a = a_end[-1], high_b = b_end[-1];
            const int first = low_b < low_a, last = high_b > high_a;
            *out++ = first ? low_b : low_a;
            *--end = last ? high_b : high_a;
            a += !first, b += first, a_end -= !last, b_end -= last;
        }
    while (a < a_end && b < b_end) *out++ = *b < *a ? *b++ : *a++;
    while (a < a_end) *out++ = *a++;
    while (b < b_end) *out++ = *b++;
}

/* Merge the events of two lists. `room` is for those of a step. */
extern "C" void nd_merge_events(nd_part_events a, nd_part_events b, double *time, int *index,
                                int *room)
{
    while (a.count || b.count) {
        const double now = !b.count || (a.count && *a.time < *b.time) ? *a.time : *b.time;
        const long long m = a.count && *a.time == now ? nd_events_of_step(a) : 0;
        const long long n = b.count && *b.time == now ? nd_events_of_step(b) : 0;
        if (m && n) {
            nd_take_events(a, m, room);
            nd_take_events(b, n, room + m);
            nd_merge_columns(room, m, room + m, n, index);
        } else {
            nd_take_events(m ? a : b, m + n, index);
        }
        for (long long i = 0; i < m + n; ++i) time[i] = now;
        time += m + n;
        index += m + n;
    }
}
