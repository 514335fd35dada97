/* Delivery of what inputs inject, from lists of events: no row of a ring holds them. */
#define ND_SLOTS_AHEAD 8    /* events of a list whose slots are prefetched, */
#define ND_CODE_AHEAD 32    /* and whose connections are */

#include "singles.h"
#include "event_list.h"

/* Deliver the events `first` to `last` of a list through connections that follow each other, of which
 * `p` is that of column 0. */
template <typename Delivery>
inline void nd_add_singles(Delivery &to, const nd_list &list, long long first, long long last, long long p,
                           long long begin, long long end)
{
    for (long long i = first; i <= last; ++i) {
        const int later = list.column[i + ND_CODE_AHEAD < last ? i + ND_CODE_AHEAD : last];
        const int next = list.column[i + ND_SLOTS_AHEAD < last ? i + ND_SLOTS_AHEAD : last];
        __builtin_prefetch(to.code + p + later);
        __builtin_prefetch(to.slots + to.slot_of(p + next), 1);
        if (const int count = nd_spikes(list.value[i])) nd_add_single(to, p + list.column[i], count, begin, end);
    }
}

/* Deliver the events of lists at step k to targets `begin` .. `end` - 1, in blocks without lag. */
template <bool singles, typename Delivery>
void nd_add_listed(Delivery &to, const nd_list *list, const long long *blocks, int count, long long k,
                   long long begin, long long end)
{
    for (; list->count; ++list)
        for (int b = 0; list->begin && b < count; ++b) {
            const long long *of = blocks + 4 * b, n = list->begin[k], past = list->begin[k + 1];
            if (of[0] || n == past) continue;
            const long long low = of[1] - list->first, first = nd_not_below(list->column, n, past, low);
            const long long last = nd_not_below(list->column, first, past, of[2] - list->first) - 1;
            if constexpr (singles)
                if (of[3] < 0) {
                    nd_add_singles(to, *list, first, last, of[3] + ND_SINGLE - low, begin, end);
                    continue;
                }
            for (long long i = first; i <= last; ++i)
                if (const int count = nd_spikes(list->value[i])) to.add(of[3] - low + list->column[i], count);
        }
}
