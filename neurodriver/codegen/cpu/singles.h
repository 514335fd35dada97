/* Spikes of sources that have one connection each, which acts at once: what inputs inject, for instance.
 * The connections of such sources follow each other, so neither the place of a connection nor a calendar
 * has to be looked up. Blocks of these sources hold, instead of the first source, the connection of the
 * first element less ND_SINGLE. */
#define ND_SINGLE (1LL << 40)

/* Deliver a spike through connection `p`, if its target is one of `begin` .. `end` - 1. */
template <typename Slot, typename Code, typename Multiple, nd_weights weights, bool turns, bool marks,
          bool far, int page>
inline void nd_add_single(nd_fanout<Slot, Code, Multiple, weights, turns, marks, far, page> &to, long long p,
                          int count, long long begin, long long end)
{
    static_assert(weights != ND_TO_SOURCE);
    const long long target = to.code[p];
    if (target < begin || target >= end) return;
    const unsigned slot = to.slot_of(p);
    to.slots[slot] += (weights == ND_TO_EDGE ? (Slot)to.multiple[p] : to.all) * count;
    if (!marks) return;
    to.dirty[slot / ND_LANES] = ND_DIRTY;
    ++to.arrivals;
}
