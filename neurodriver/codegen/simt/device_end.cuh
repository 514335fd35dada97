
/* The items of a warp in step k, stage by stage, where no warp holds its components. The list of a warp
 * has this order. The next item is loaded while one is done. With `fuzz` the list begins at any item,
 * where the order means nothing; then each stage looks at all items. */
ND_FN void nd_do_items(nd_loop &loop, long long k, long long until, bool lost)
{
    const bool sends = ND_GATES && nd_chunk.sending;     /* then it sends before it waits for others */
    const int count = ND_WINDOW ? loop.from : loop.count;
    const bool any_order = nd_chunk.fuzz && count && !ND_PATCHES && !sends;
    const int turn = any_order ? (int)(nd_mixed(k) % (unsigned)count) : 0;
    nd_item next = count ? loop.item(turn) : nd_item{};
    for (int stage = 0, done = 0; stage < ND_STAGES; ++stage) {
        if (stage) loop.barrier();
        for (int i = any_order ? 0 : done; i < count; ++i) {
            const nd_item item = next;
            if (ND_STAGES > 1 && !any_order && nd_stage_of(item.what) > stage) break;
            done = i + 1;
            const int then = done + turn < count ? done + turn : done + turn - count;
            if (any_order || done < count) next = loop.item(then);
            if (ND_STAGES > 1 && nd_stage_of(item.what) != stage) continue;
            if (item.what >= 0) nd_do_unit(item, k, until, lost);
            else if (!ND_WINDOW) nd_do_other(item, k, loop.end, loop.window_end);
            loop.timer.add(item);
        }
    }
    nd_empty_queue(k + 1);
    loop.timer.add(ND_SPIKES);
}

/* The steps of a launch, from `first` to `last` - 1; `last` becomes the step reached. */
ND_FN void nd_do_steps(nd_loop &loop)
{
    nd_none none;
#if ND_HOLDS
    if (loop.count && loop.item(0).what >= 0) {
        nd_hold_unit(loop);
    } else {
        loop.keep(0);
        nd_open_lists(loop);
        for (long long k = loop.first; k < loop.last;) {
            const long long begin = k;
            k = loop.until(k);
            const bool lost = nd_is_shut(k - 1);
            if (nd_chunk.fuzz) nd_dawdle(begin);
            loop.deliver_listed(k, true);
            loop.pass(0, ND_STAGES - 1);
            loop.deliver_listed(k, false);
            loop.finish(begin, k, none);
            if (lost || !loop.exchange(k)) loop.last = k;
        }
    }
#else
    if (ND_WINDOW) loop.keep(loop.components());
    for (long long k = loop.first; k < loop.last;) {
        const long long until = loop.until(k);
        const bool lost = nd_is_shut(until - 1);
        if (nd_chunk.fuzz) nd_dawdle(k);
        loop.deliver_listed(until, true);
        nd_do_items(loop, k, until, lost);
        loop.deliver_listed(until, false);
        if (ND_WINDOW) loop.finish(k, until, none);
        else loop.barrier();
        k = until;
        if (lost || !loop.exchange(k)) loop.last = k;
    }
#endif
}

/* Lets inputs enter that are those of the first window of a launch, or of its first step. */
ND_FN void nd_enter_first(nd_loop &loop)
{
    const long long left = ND_WINDOW ? ND_WINDOW - loop.first % (ND_WINDOW + !ND_WINDOW) : 1;
    const long long next = loop.first + left < loop.end ? loop.first + left : loop.end;
    for (int i = 0; i < loop.count; ++i) {
        const nd_item one = loop.item(i);
        const long long k = loop.first + nd_late(one);
        if (nd_enters(one) && k < next) nd_enter_late(one, k, -1);
    }
    nd_empty_queue(loop.first);
    loop.timer.add(ND_INPUTS);
}

/* Advance steps first .. last - 1 of a chunk that ends before step `end`; returns the step reached. */
ND_FN long long nd_go(const nd_item *items, const int *offsets, long long first, long long last,
                      long long end, int parts, int width, unsigned &arrivals)
{
    const int warp = nd_own_block() * (int)(blockDim.x / 32) + (int)(threadIdx.x / 32);
    const int begin = offsets[warp];
    nd_loop loop = {items + begin, offsets[warp + 1] - begin, width, first, last, end, arrivals};
    loop.expect();
    loop.timer.start();
    nd_open_queue();
    if (parts & ND_BEFORE) {
        nd_enter_first(loop);
        for (; loop.count && loop.item(loop.count - 1).what == ND_RECORDED; --loop.count)
            nd_do_other(loop.item(loop.count - 1), first, end, -1);     /* the last ones, done with */
        loop.timer.add(ND_RECORDING);
        loop.barrier();
        if (ND_LOOKS_AGAIN) loop.look_again(first);
    }
    if (nd_is_shut(first)) parts = 0, loop.last = first;
    if (parts & ND_STEPS) {
        nd_open_patches(loop, first);
        loop.learn_first();
        nd_do_steps(loop);
        nd_bring_patches(loop, loop.last, true);
#if ND_LISTS && ND_WINDOW
        if (nd_own_block() + threadIdx.x == 0 && loop.last % ND_WINDOW)  /* the next launch goes on with it */
            __stcg(nd_spike_list.number + (nd_turn(loop.last) & 3), 0u);
#endif
    }
    if (parts & ND_AFTER && loop.last == last) {
        for (int i = 0; i < loop.count; ++i)
            if (loop.item(i).what == ND_EXPORT) nd_publish(loop.item(i), last, true);
        loop.timer.add(ND_RECORDING);
    }
    arrivals = loop.arrivals;
    return loop.last;
}

#if ND_ADDS
ND_FN void nd_open(const nd_item *items, const int *offsets, long long k, int phase)
{
    const int warp = nd_own_block() * (int)(blockDim.x / 32) + (int)(threadIdx.x / 32);
    const nd_loop loop = {items + offsets[warp], offsets[warp + 1] - offsets[warp]};
    for (int i = 0; i < loop.count; ++i)
        if (loop.item(i).what >= 0) nd_open_unit(loop.item(i), k, phase);
}
#endif

#if ND_GATES
static __device__ unsigned nd_settled;     /* arrivals when the last launch had ended */
#endif

#if ND_LEARNS
/* A part of a turn of learning that is a launch of its own. */
struct nd_part_alone {
    int lo, hi;
    long long last;
    template <int phase> ND_MEMBER void run() const { nd_learn<phase>(lo, hi, last); }
};
#endif

/* Advance steps first .. last - 1 of a chunk that ends before step `end`. */
extern "C" __global__ void __launch_bounds__(ND_THREADS, ND_RESIDENT)
nd_advance(const nd_item *items, const int *offsets, long long first, long long last, long long end,
           int parts, int width, unsigned arrivals)
{
#if ND_COPIES
    nd_bring_copy(nd_copy_number());
#endif
    nd_bring_tables();
#if ND_COUNTS
    nd_no_mean_yet();
#endif
#if ND_ADDS
    if (parts & ND_OPEN) {
        nd_open(items, offsets, first, parts >> ND_OPEN_PHASE);
        return;
    }
#endif
#if ND_LEARNS
    if (parts & ND_LEARN) {
        nd_do_part(parts >> ND_LEARN_PHASE, nd_part_alone{(int)first, (int)last - 1, last});
        return;
    }
#endif
#if ND_GATES
    arrivals = __ldcg(&nd_settled);     /* how often launches exchange, or whether they leave, no host knows before */
    for (;;) {
        const long long window = nd_chunk.window;
        const long long next = ND_LEARNS && window ? first + window - (first - nd_chunk.gated) % window : last;
        const long long stop = next < last ? next : last;   /* synapses learn at the end of a launch, too */
        first = nd_go(items, offsets, first, stop, next < last ? stop : end, parts, width, arrivals);
        if (first < stop || stop == last) break;
        if (nd_chunk.sent >= 0) continue;
        nd_loop loop = {nullptr, 0, width, first, first, first, arrivals};
        loop.timer.start();
        loop.wait_for_host(first);
        arrivals = loop.arrivals;
        if (nd_is_shut(first)) break;
    }
    if (blockIdx.x + threadIdx.x == 0) {
        if (nd_chunk.window && nd_chunk.sent >= 0) nd_chunk.gate[0] = nd_is_shut(first) ? nd_shut : first;
        __stcg(&nd_settled, arrivals);
    }
#else
    nd_go(items, offsets, first, last, end, parts, width, arrivals);
#endif
}

/* What is done once, before step 0: `what` 0 computes the constants, 1 publishes row 0. */
extern "C" __global__ void nd_once(void *const *tables, int what)
{
    nd_do_once(tables, what);
}
