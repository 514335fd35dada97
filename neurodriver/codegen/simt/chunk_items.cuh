/* Items that bring rows of inputs, and take rows for recorders and for other processes. */

enum { ND_BATCH = 4 };      /* loads of a thread in flight */

/* Loads the values i of an item by `load(i)`, some at a time, and gives them to `use(i, value)`. */
template <class Load, class Use> ND_FN void nd_each_batch(const nd_item &item, Load load, Use use)
{
    for (int i = item.first + nd_lane(); i < item.end; i += 32 * ND_BATCH) {
        real x[ND_BATCH];
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j) x[j] = load(i + 32 * j < item.end ? i + 32 * j : i);
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j)
            if (i + 32 * j < item.end) use(i + 32 * j, x[j]);
    }
}

#include "imports.cuh"
#include "peers.cuh"

ND_SHARED_CODE void nd_inject(const nd_item item, long long k)
{
    const nd_input &in = nd_chunk.input[nd_table_of(item)];
    if (nd_take_row(in, item, k)) return;
    const int action = in.action[k - nd_chunk.first];
    const long long row = k - in.back;
    if (action == -2 || row < 0 || !in.ring) return;
    real *to = in.ring + nd_row_index(row, in.depth) * in.width + in.first;
    const real *from = in.table + (action < 0 ? 0 : action) * in.count;
    bool any = false;
    int i = item.first + nd_lane();
    const real *const row_of_values = to;
    from += i, to += i;
    for (int left = item.end - i; left > 0; left -= 32 * ND_BATCH) {
        real x[ND_BATCH];
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j)
            x[j] = action < 0 || 32 * j >= left ? (real)0 : ND_GATES ? __ldcv(from + 32 * j) : from[32 * j];
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j) {
            if (32 * j < left) to[32 * j] = x[j];
            any |= x[j] != 0;
        }
        from += 32 * ND_BATCH, to += 32 * ND_BATCH;
    }
    if (in.active && any) nd_mark(in.active, row, in.depth);
    nd_send_brought(in, item, row, row_of_values, any);
}

static __device__ void nd_copy(const nd_probe &p, const nd_item &item, long long k, int slot)
{
    const real *from = p.ring + nd_row_index(k, p.depth) * p.width + p.start;
    real *to = p.rows + slot * p.count;
    nd_each_batch(item, [&](int i) { return from[p.elements ? p.elements[i] : i]; },
                  [&](int i, real x) { to[i] = x; });
}

static __device__ void nd_sample(const nd_item &item, long long k)
{
    const nd_probe &p = nd_chunk.probe[nd_table_of(item)];
    const int late = (int)(k - nd_chunk.first - p.offset), interval = (int)p.interval;
    if (late >= 0 && late % interval == 0) nd_copy(p, item, k, late / interval);
}

/* Copies row k for other processes; a chunk exports rows first + 1, first + 2, ... With gates, the
 * buffer holds the rows of one window, and its last row is copied before the gate. Where a turn has
 * several steps, its last row is (`last`), and its first one has been copied as that of the turn before. */
ND_SHARED_CODE void nd_publish(const nd_item item, long long k, bool last)
{
#if ND_GATES
    if (nd_chunk.window) {
        const int slot = (int)((k - 1 - nd_chunk.gated) % nd_chunk.window);
        const bool first_of_turn = nd_late(item) == 0;
        if (ND_WINDOW > 1 ? last != first_of_turn : !last && slot + 1 == nd_chunk.window) return;
        if (k <= nd_chunk.first) return;
        const nd_probe &p = nd_chunk.exported[nd_table_of(item)];
        if (p.words) nd_send_row(p, item, k);
        else nd_copy(p, item, k, slot);
        return;
    }
#endif
    if (k > nd_chunk.first)
        nd_copy(nd_chunk.exported[nd_table_of(item)], item, k, (int)(k - nd_chunk.first) - 1);
}

static __device__ void nd_scan(const nd_item &item, long long k)
{
    const nd_events &e = nd_chunk.event[nd_table_of(item)];
    const real *from = e.ring + nd_row_index(k, e.depth) * e.width + e.start;
    unsigned *to = e.bits + (k - nd_chunk.first) * e.words;
    const bool silent = ND_MARKS && nd_silent(e.active, k, e.depth);
    for (int i = item.first; i < item.end; i += 32 * ND_BATCH) {
        real x[ND_BATCH];   /* loaded before the test whether the row is silent */
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j) {
            const int at = i + 32 * j + nd_lane(), mine = at < item.end ? at : item.first;
            x[j] = from[e.elements ? e.elements[mine] : mine];
        }
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j) {
            const int at = i + 32 * j;
            const unsigned bits = nd_ballot(!silent && at + nd_lane() < item.end && x[j] != 0);
            if (nd_lane() == 0 && at < item.end) to[at / 32] = bits;
        }
    }
}

/* Whether inputs enter before the first barrier of a window, not after it. */
enum { ND_ENTER_EARLY = ND_LEARNS || ND_IMPORTS || ND_WINDOW > 1 };

/* Whether an item lets values enter. */
ND_FN bool nd_enters(const nd_item &item)
{
    return item.what == ND_INJECT || item.what == ND_BRING || item.what == ND_SEND;
}

/* Lets those of step k enter; from step `window_end` on, an exchange between barriers does so. */
ND_FN void nd_enter(const nd_item &item, long long k, long long window_end)
{
    if (item.what == ND_SEND) nd_send_entering(item, k);
    else if (item.what == ND_BRING) nd_bring(item, k);
    else if (window_end < 0 || k < window_end) nd_inject(item, k);
}

static __device__ __noinline__ void nd_enter_late(const nd_item item, long long k, long long window_end)
{
    nd_enter(item, k, window_end);
}
