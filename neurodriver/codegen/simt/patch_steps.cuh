/* The steps of patches of columns, pasted after the step loop. */

ND_FN void nd_bring_unit(const nd_item &item, long long k, bool back);

/* A population of a patch of columns; or, before the first one, what all of them read. `which` says
 * where its cells are kept. */
template <class Unit> ND_FN void nd_patch(const nd_item &item, long long k, long long until, bool lost)
{
    nd_become(item.what);
    if (item.which < 0) {
        Unit::stage(k, item.first);
        return;
    }
#if ND_KEEPS_CELLS
    Unit unit;
    const long long begin = k;
    unit.take(k, item.which, item.end);
    nd_steps(unit, k, until, lost);
    unit.record(begin);
    unit.keep(item.which, false);
#else
    nd_stream<Unit>(item, k, until, lost);
#endif
}

/* Brings the cells of a population of a patch from memory, or back. */
template <class Unit> ND_FN void nd_bring_cells(const nd_item &item, long long k, bool back)
{
    Unit unit;
    nd_become(item.what);
    if (back) {
        unit.take(k, item.which, item.end);
        unit.save(k);
    } else {
        unit.load(k, item.first, item.end);
        unit.keep(item.which, true);
    }
}

/* Brings all cells that are kept in shared memory from there to memory, or back. */
ND_FN void nd_bring_patches(nd_loop &loop, long long k, bool back)
{
    for (int i = 0; ND_KEEPS_CELLS && i < loop.count; ++i) {
        const nd_item item = loop.item(i);
        if (item.what >= 0 && item.which > 0) nd_bring_unit(item, k, back);
    }
}

/* What patches need from the beginning of a launch. */
ND_FN void nd_open_patches(nd_loop &loop, long long k)
{
    if (ND_PATCHES) nd_open_offsets();
    nd_bring_patches(loop, k, false);
}
