/* The step loop on a device, pasted after the units of a circuit.
 *
 * Work is cut into items: 32 * ND_OWN components of a unit, or a piece of what is injected,
 * recorded or exported. A warp does the items of its own list, at every step the same ones. In
 * step k all items read rows <= k and write row k + 1 (an injection writes row k + 1 of the
 * inputs), so their order means nothing, and one barrier a step is enough. With several stages,
 * components of a later one also read what earlier ones have written into row k + 1; all other
 * items belong to the last stage.
 *
 * `nd_do_unit(item, k)` and, where components stay in registers, `nd_hold_unit(item, loop)` are
 * written by the generator.
 */

struct nd_item { int what, first, end, which; };   /* which: table, and step of a window << 16 */

enum {
    ND_INJECT = -1, ND_SAMPLE = -2, ND_EVENTS = -3, ND_EXPORT = -4, ND_DELIVER = -5,
    ND_SEND = -8,          /* spikes of an input */
    ND_BRING = -7,         /* what the warps of other GPUs send as they compute it (peers.cuh) */
    ND_RECORDED = -6       /* scan of a chunk's first row: later rows are recorded by the warps that compute them */
};
enum { ND_BEFORE = 1, ND_STEPS = 2, ND_AFTER = 4,          /* parts of a launch; or a part of a turn */
       ND_LEARN = 8, ND_LEARN_PHASE = 4,                    /* of learning, ND_LEARN | phase << 4; */
       ND_OPEN = 128, ND_OPEN_PHASE = 8 };                  /* pools that members add to, ND_OPEN | phase << 8 */
#ifndef ND_STAGES
#define ND_STAGES 1     /* parts of a step, with a barrier between them */
ND_FN int nd_stage_of(int) { return 0; }
#endif

enum { ND_ALONE = 0, ND_BLOCK = 1, ND_CLUSTER = 2, ND_GRID = 3 };  /* warps that the barrier synchronises */

#if ND_COPIES
ND_FN unsigned *nd_arrivals() { return nd_copies.arrived + nd_copy_number(); }
#else
extern "C" { __device__ unsigned nd_arrived; }
ND_FN unsigned *nd_arrivals() { return &nd_arrived; }
#endif

/* The upper half of `which` is the step of the window at which an item is done. */
ND_FN int nd_table_of(const nd_item &item) { return item.which & 0xffff; }
ND_FN int nd_late(const nd_item &item) { return item.which >> 16; }

#include "chunk_items.cuh"

#if ND_LISTS
/* Delivers the spikes of a turn; this warp is one of `end` delivering warps. */
static __device__ void nd_deliver_list(const nd_item &item, long long turn)
{
    const uint4 *list = nd_spike_list.pieces + (turn & 1) * nd_spike_list.capacity;
    uint4 piece = nd_ask_for(list + item.first);    /* before the number of pieces is known */
    const unsigned number = __ldcg(nd_spike_list.number + (turn & 3));
    for (unsigned i = (unsigned)item.first; i < number;) {
        i += (unsigned)item.end;
        const uint4 next = i < number ? __ldcg(list + i) : piece;
        const long long begin = (long long)(piece.y & 0xffu) << 32 | piece.x;
        nd_deliver_piece((int)(piece.y >> 16), begin, (int)(piece.y >> 8 & 0xffu), piece.z, (int)piece.w);
        piece = next;
    }
    if (item.first == 0 && nd_lane() == 0) __stcg(nd_spike_list.number + ((turn + 2) & 3), 0u);
}
#else
ND_FN void nd_deliver_list(const nd_item &, long long) {}
#endif

/* An item that is not components, in step k. */
static __device__ __noinline__ void nd_do_other(const nd_item item, long long k, long long last, long long window_end)
{
    if (item.what == ND_DELIVER) {
        if (!ND_WINDOW) {   /* then what is due has a launch of its own, after all spikes */
            nd_deliver_list(item, ND_LOOKAHEAD ? k : k - 1);
            nd_deliver_due((unsigned)item.first, (unsigned)item.end, k + 1, ND_ALL_DUE, 2 * (k + 1));
        }
        return;
    }
    if (item.what == ND_SAMPLE) nd_sample(item, k);
    else if (item.what == ND_EVENTS) nd_scan(item, k);
    else if (item.what == ND_RECORDED) { if (k == nd_chunk.first) nd_scan(item, k); }
    else if (item.what == ND_EXPORT) nd_publish(item, k, false);
    else if (ND_WINDOW <= 1 && k + 1 < last) nd_enter(item, k + 1, window_end);
}

#include "dawdle.cuh"

/* Timers of a profiled run: cycles of each unit and of the parts below. Each row of the table is
 * shared by some of the warps; sums of integers do not depend on the order. */
enum { ND_SPIKES = ND_UNITS, ND_RECORDING, ND_INPUTS, ND_BARRIER, ND_PARTS };
#if ND_TIMERS
extern "C" { __device__ unsigned long long nd_timers[ND_TIMERS][ND_PARTS]; }
#endif

struct nd_timer {
#if ND_TIMERS
    long long since;

    ND_MEMBER void start() { since = clock64(); }

    /* Adds the cycles since the last call to a part. */
    ND_MEMBER void add(int part)
    {
        __syncwarp();
        const long long now = clock64();
        const unsigned warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
        if (nd_lane() == 0) atomicAdd(&nd_timers[warp % ND_TIMERS][part], (unsigned long long)(now - since));
        since = now;
    }
#else
    ND_MEMBER void start() {}
    ND_MEMBER void add(int) {}
#endif
    ND_MEMBER void add(const nd_item &item)
    {
        const int rest = item.what == ND_DELIVER ? ND_SPIKES : nd_enters(item) ? ND_INPUTS : ND_RECORDING;
        add(item.what >= 0 ? item.what : rest);
    }
};

/* The barrier of a block. Its warps come from different places of the code, but equally often. */
ND_FN void nd_block_barrier() { __syncthreads(); }

/* The barrier of a cluster of blocks. */
ND_FN void nd_cluster_barrier()
{
#if __CUDA_ARCH__ >= 900
    nd_block_barrier();    /* then one thread's fence orders the whole block */
    if (threadIdx.x == 0) asm volatile("fence.acq_rel.cluster;" ::: "memory");
    asm volatile("barrier.cluster.arrive.relaxed;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
#endif
}

/* The components of a warp that holds none. */
struct nd_none {
    ND_MEMBER void record(long long) {}
};

struct nd_loop {
    const nd_item *list;    /* of this warp */
    int count, width;
    long long first, last, end;     /* steps of this launch; last step of the chunk */
    unsigned arrivals;      /* at the grid's barrier when the next barrier is complete */
    nd_timer timer;
    int from;               /* first item that is not a component, */
    nd_item kept;           /* and its copy in registers: after a barrier memory is slow */
    bool injects;           /* whether some item is an input */
#if ND_GATES
    long long window_end;   /* the next step before which rows are exchanged between barriers */
#else
    static constexpr long long window_end = -1;
#endif

    ND_MEMBER void barrier()
    {
        if (width == ND_BLOCK) {
            nd_block_barrier();
        } else if (width == ND_CLUSTER) {
            nd_cluster_barrier();
        } else if (width == ND_GRID) {
            nd_block_barrier();
            arrivals += nd_own_blocks();
            if (threadIdx.x == 0) {
                unsigned now;
                asm volatile("red.release.gpu.global.add.u32 [%0], 1;" :: "l"(nd_arrivals()) : "memory");
                do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(nd_arrivals()) : "memory");
                while ((int)(now - arrivals) < 0);
            }
            nd_block_barrier();
        }
        timer.add(ND_BARRIER);
    }

    ND_MEMBER nd_item item(int i) const
    {
        const int4 x = __ldg((const int4 *)list + i);   /* no launch changes them */
        return {x.x, x.y, x.z, x.w};
    }

    ND_MEMBER void keep(int number)
    {
        from = number;
        if (from < count) kept = item(from);
        injects = false;
        for (int i = from; i < count; ++i) injects |= nd_enters(item(i));
    }

    ND_MEMBER nd_item other(int i) const { return i == from ? kept : item(i); }

    ND_MEMBER void others(long long k)
    {
        for (int i = from; i < count; ++i) {
            const nd_item one = other(i);
            nd_do_other(one, k, end, window_end);
            timer.add(one);
        }
    }

    /* How many items are components; they come first. */
    ND_MEMBER int components() const
    {
        int i = 0;
        while (i < count && item(i).what >= 0) ++i;
        return i;
    }

    /* The barriers between two stages of a step. */
    ND_MEMBER void pass(int from, int to)
    {
        for (; ND_STAGES > 1 && from < to; ++from) barrier();
    }

    /* Where the turn of step k ends, in this launch. */
    ND_MEMBER long long until(long long k) const
    {
        const long long next = ND_WINDOW ? (k / (ND_WINDOW + !ND_WINDOW) + 1) * ND_WINDOW : k + 1;
        return next < last ? next : last;
    }

    /* Inputs of the window that begins with step k, while others may compute the one before. */
    ND_MEMBER void inject(long long k)
    {
        for (int i = from; injects && i < count; ++i) {
            const nd_item one = other(i);
            if (nd_enters(one) && k + nd_late(one) < end) nd_enter_late(one, k + nd_late(one), window_end);
        }
        timer.add(ND_INPUTS);
    }

    /* Delivers what some spikes bring in a row, in a window. `again`: for the second time in a row. */
    ND_MEMBER void deliver_due(long long row, int which, bool again = false)
    {
        const unsigned blocks = nd_own_blocks(), warp = threadIdx.x / 32 * blocks + nd_own_block();
        nd_deliver_due(warp, ND_THREADS / 32 * blocks, row, which, 2 * row + again);
        timer.add(ND_SPIKES);
    }

    /* Delivers what is listed, and lists what is due next: one half of the warps does so before its
     * components, the other one after. */
    ND_MEMBER void deliver_listed(long long row, bool first)
    {
        if (ND_DUE && ND_WINDOW && (nd_half() == 0) == first) deliver_due(row, ND_LISTED_DUE);
    }

    /* Delivers what is due in the first step, of spikes that have come at the begin of a window. */
    ND_MEMBER void look_again(long long k)
    {
        deliver_due(k, ND_FRESH_DUE, true);
        barrier();
    }

#if ND_GATES
    /* Finds the next step before which rows are exchanged between barriers, the end of a longer turn. */
    ND_MEMBER void expect()
    {
        const long long window = nd_chunk.window;
        window_end = -1;
        if (window && nd_chunk.copied)
            window_end = ND_WINDOW > 1 ? until(first) : first + window - (first - nd_chunk.gated) % window;
    }

    /* Reports to the host that k steps are done, and waits until the rows of the others are there. */
    ND_MEMBER void wait_for_host(long long k)
    {
        __threadfence_system();     /* the rows for others are in the memory of the host */
        barrier();
        if (blockIdx.x + threadIdx.x == 0) {
            long long open;
            asm volatile("st.release.sys.global.s64 [%0], %1;" :: "l"(nd_chunk.gate), "l"(k) : "memory");
            do asm volatile("ld.acquire.sys.global.s64 %0, [%1];" : "=l"(open) : "l"(nd_chunk.gate + 16) : "memory");
            while (open >= 0 && open < k);
            if (open < 0) __stcg(&nd_shut, k);
        }
        barrier();
    }

    /* Exchanges rows where a window has ended before step k. Returns whether the step can be done. */
    ND_MEMBER bool exchange(long long k)
    {
        if (k != window_end || k >= last) return true;
        window_end = ND_WINDOW > 1 ? until(k) : window_end + nd_chunk.window;
        for (int i = 0; i < count; ++i)     /* all that this warp sends, before it waits for others */
            if (item(i).what == ND_EXPORT) nd_publish(item(i), k, true);
        timer.add(ND_RECORDING);
        if (nd_chunk.sent < 0) {
            wait_for_host(k);
            if (nd_is_shut(k)) return false;
        }
        for (int i = 0; i < count; ++i)
            if (item(i).what == ND_INJECT && k + nd_late(item(i)) < end)
                nd_enter_late(item(i), k + nd_late(item(i)), -1);
        timer.add(ND_INPUTS);
        barrier();
        if (ND_LOOKS_AGAIN) look_again(k);
        return !nd_is_shut(k);
    }
#else
    ND_MEMBER void expect() {}
    ND_MEMBER bool exchange(long long) { return true; }
#endif

#if ND_LEARNS
    /* One part of a turn of learning (`phase`, see learning.cuh). Rows lo .. hi are new. */
    template <int phase> ND_MEMBER void learn(long long lo, long long hi)
    {
        if (nd_chunk.fuzz) nd_dawdle(hi + phase);
        nd_learn<phase>((int)lo, (int)hi, last);
        timer.add(ND_SPIKES);
    }

    /* The texts of intervals that read sums, in step n. */
    ND_MEMBER void learn_from_sums(long long n)
    {
        const int texts = nd_sums_due(n) ? ND_SUMS : 0;
        for (int i = 0; i < texts; ++i) {
            learn<ND_LEARN_SUM>(i, n);
            barrier();
            learn<ND_LEARN_TEXT>(i, n);
            barrier();
        }
    }

    /* The arrivals of steps lo .. hi, whose rows are new. */
    ND_MEMBER void learn_arrivals(long long lo, long long hi)
    {
        if (!ND_DIRECT) learn<ND_LEARN_SCAN>(lo, hi), barrier();
        learn_from_sums(hi);
        learn<ND_LEARN_ARRIVE>(lo, hi);
    }

    /* Those of the first step of a launch. */
    ND_MEMBER void learn_first()
    {
        if (!ND_WINDOW) return;     /* launches of their own do that */
        if (!ND_DIRECT) learn<ND_LEARN_SCAN>(first, first), barrier();
        if (ND_EVERY || ND_DIRECT) {
            learn<ND_LEARN_BEFORE>(first, first);
            barrier();
            learn_from_sums(first);
        }
        learn<ND_LEARN_ARRIVE>(first, first);
        barrier();
        learn<ND_LEARN_AFTER>(first, first);
    }
#else
    ND_MEMBER void learn_first() {}
#endif

    /* What follows when the components, those of `unit`, have done steps k .. until - 1. */
    template <class Unit> ND_MEMBER void finish(long long k, long long until, Unit &unit)
    {
        if (ND_WINDOW) {
#if ND_LEARNS
            const long long newest = until < last ? until : last - 1;   /* the next launch begins with row `last` */
#endif
            if (ND_ENTER_EARLY) inject(until);
            barrier();
#if ND_LEARNS
            if (newest > k) learn_arrivals(k + 1, newest);
#endif
            unit.record(k);
            timer.add(ND_RECORDING);
            if (ND_DUE && (!ND_LOOKS_AGAIN || until != window_end || until >= last)) deliver_due(until, ND_FRESH_DUE);
            for (int i = from; i < count; ++i) {
                const nd_item one = other(i);
                const long long step = k + nd_late(one);
                if (one.what == ND_DELIVER) nd_deliver_list(one, nd_turn(until));
                else if (step < until && !(ND_ENTER_EARLY && nd_enters(one)))
                    nd_do_other(one, step, end, window_end);
                timer.add(one);
            }
#if ND_LEARNS
            if (newest > k) {
                barrier();
                learn<ND_LEARN_AFTER>(k + 1, newest);
                return;
            }
#endif
        } else {
            others(k);
        }
        barrier();
    }
};

/* The steps of a turn. Without windows, or in windows of one step, this is one step. `lost`: another
 * process has failed, so the results of these steps are not sent to other GPUs. */
template <class Unit> ND_FN void nd_steps(Unit &unit, long long &k, long long until, bool lost)
{
#if ND_GATES
    unit.nd_lost = lost;
#endif
    unit.turn(k);
    const int steps = ND_WINDOW > 1 ? (int)(until - k) : 1;
    for (int t = 0; t < steps; ++t) unit.step(k + t, t + 1 == steps);
    k += steps;
}

template <class Unit> ND_FN void nd_stream(const nd_item &item, long long k, long long until, bool lost)
{
    Unit unit;
    const long long begin = k;
    nd_become(item.what);
    unit.load(k, item.first, item.end);
    nd_steps(unit, k, until, lost);
    unit.record(begin);
    unit.save(k);
}

/* What members of pools do before the first step: clear the sums (phase 0), and add row k (phase 1). */
template <class Unit> ND_FN void nd_open_of(const nd_item &item, long long k, int phase)
{
    Unit unit;
    nd_become(item.what);
    unit.open(k, item.first, item.end, phase);
}

/* Waits until the pieces are listed that are delivered in the first step. */
ND_FN void nd_open_lists(nd_loop &loop)
{
    if (ND_LOOKAHEAD && loop.first < loop.last) loop.barrier();
}

template <class Unit> ND_FN void nd_hold(nd_loop &loop)
{
    Unit unit;
    const nd_item item = loop.item(0);
    long long k = loop.first;
    loop.keep(1), nd_become(item.what);
    unit.load(k, item.first, item.end);
#if ND_GATES
    unit.nd_lost = false;
#endif
    if (ND_LOOKAHEAD && k < loop.last) unit.look_ahead(k);
    nd_open_lists(loop);
    while (k < loop.last) {
        const long long begin = k, until = loop.until(k);
        if (nd_chunk.fuzz) nd_dawdle(k);
        loop.deliver_listed(until, true);
        loop.pass(0, nd_stage_of(item.what));
        const bool lost = nd_is_shut(until - 1);
        nd_steps(unit, k, until, lost);
        if (ND_LOOKAHEAD && k < loop.last) unit.look_ahead(k);     /* the spikes of the step that follows */
        loop.timer.add(item);
        loop.pass(nd_stage_of(item.what), ND_STAGES - 1);
        loop.deliver_listed(until, false);
        loop.finish(begin, until, unit);
        /* The step that was reached. Its list is left: no run goes on after another process has failed. */
        if (lost || !loop.exchange(k)) loop.last = k;
    }
    unit.save(loop.last);
    loop.timer.add(item);
}
