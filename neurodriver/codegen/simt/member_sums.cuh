/* The threads of a warp add values, in whole multiples, to the integers of their groups; -1: of none. */
ND_FN void nd_add_members(long long *sums, int group, long long units)
{
    if (!nd_ballot(units != 0)) return;
    if (nd_ballot(group != nd_from(group, 0)) == 0) {
        units = nd_total(units);
        if (nd_lane()) return;
    }
    if (group >= 0 && units) atomicAdd((unsigned long long *)sums + group, (unsigned long long)units);
}
