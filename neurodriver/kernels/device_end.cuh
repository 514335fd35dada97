
/* Advance steps first .. last - 1 of a chunk that ends before step `end`. */
extern "C" __global__ void __launch_bounds__(ND_THREADS, ND_RESIDENT)
nd_advance(const nd_item *items, const int *offsets, long long first, long long last, long long end,
           int parts, int width, unsigned arrivals)
{
    const int warp = (int)(blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
    const int begin = offsets[warp];
    nd_loop loop = {items + begin, offsets[warp + 1] - begin, width, first, last, end, arrivals};
    loop.timer.start();
    if (parts & ND_BEFORE) {
        for (int i = 0; i < loop.count; ++i)
            if (loop.item(i).what == ND_INJECT) nd_inject(loop.item(i), first);
        loop.timer.lap(ND_INPUTS);
        for (; loop.count && loop.item(loop.count - 1).what == ND_NOTED; --loop.count)
            nd_do_other(loop.item(loop.count - 1), first, end);     /* the last ones, done with */
        loop.timer.lap(ND_RECORDING);
        loop.meet();
    }
    if (parts & ND_STEPS) {
#if ND_HOLDS
        if (loop.count && loop.item(0).what >= 0) {
            nd_hold_unit(loop);
        } else {
            loop.keep(0);
            for (long long k = first; k < last; k = loop.until(k)) {
                if (nd_given.fuzz) nd_dawdle(k);
                loop.finish(k, loop.until(k));
            }
        }
#else
        if (ND_WINDOW) loop.keep(loop.components());
        for (long long k = first; k < last;) {
            const long long until = loop.until(k);
            const unsigned turn = nd_given.fuzz && loop.count ? nd_mixed(k) % loop.count : 0;
            if (nd_given.fuzz) nd_dawdle(k);
            for (int i = 0; i < loop.count; ++i) {
                const int at = i + turn < loop.count ? i + turn : i + turn - loop.count;
                const nd_item item = loop.item(at);
                if (item.what >= 0) nd_do_unit(item, k, until);
                else if (!ND_WINDOW) nd_do_other(item, k, end);
                loop.timer.lap(item);
            }
            if (ND_WINDOW) loop.finish(k, until);
            else loop.meet();
            k = until;
        }
#endif
#if ND_LISTS && ND_WINDOW
        if (blockIdx.x + threadIdx.x == 0 && last % ND_WINDOW)  /* the next launch goes on with it */
            __stcg(nd_mail.number + (nd_turn(last) & 3), 0u);
#endif
    }
    if (parts & ND_AFTER) {
        for (int i = 0; i < loop.count; ++i)
            if (loop.item(i).what == ND_EXPORT) nd_publish(loop.item(i), last);
        loop.timer.lap(ND_RECORDING);
    }
}

/* What is done once, before step 0: `what` 0 computes the constants, 1 publishes row 0. */
extern "C" __global__ void nd_once(void *const *tables, int what)
{
    nd_do_once(tables, what);
}
