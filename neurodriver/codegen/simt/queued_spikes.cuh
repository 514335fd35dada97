/* Spikes of a warp that has several items of components in turn (not ND_TURNS), and those that it brings
 * from other parts. They wait in a queue until the warp has done all of its items. So it waits for the
 * connections of all of them once, and not once for each item.
 */
#if ND_QUEUES
/* A spike: its sender (nd_who), the component there, and how many spikes it stands for. */
struct nd_queued { int who, at, spikes; };

struct nd_queue { int number, who[32], at[32], spikes[32]; };
static_assert(sizeof(nd_queue) == ND_QUEUE_BYTES, "plans of shared memory count on this size");
__shared__ nd_queue nd_queues[ND_THREADS / 32];

ND_FN nd_queue &nd_own_queue() { return nd_queues[threadIdx.x / 32]; }

/* The number of a sender (12 bits), and that of the unit among those that share its text. */
ND_FN int nd_who(int sender) { return sender | nd_member() << 12; }
ND_FN int nd_sender(int who) { return who & 4095; }
ND_FN int nd_member(int who) { return who >> 12; }

/* Sends the spikes in the queue of a warp, as spikes of a row. */
static __device__ __noinline__ void nd_send_queued(long long row);

ND_FN void nd_open_queue()
{
    if (nd_lane() == 0) nd_own_queue().number = 0;
    nd_together();
}

/* Puts spikes of a row into the queue of the warp: `bits` says which threads have one. */
ND_FN void nd_put(int who, long long row, unsigned bits, real value, int at)
{
    nd_queue &queue = nd_own_queue();
    if (queue.number + nd_bits_in(bits) > 32) nd_send_queued(row);
    const int number = queue.number;
    nd_together();
    if (bits >> nd_lane() & 1) {
        const int place = number + nd_lower(bits);
        queue.who[place] = who, queue.at[place] = at, queue.spikes[place] = nd_spikes(value);
    }
    if (nd_lane() == 0) queue.number = number + nd_bits_in(bits);
    nd_together();
}

/* Takes all spikes out of the queue, one for each thread. */
ND_FN nd_queued nd_take_queued()
{
    nd_queue &queue = nd_own_queue();
    nd_queued mine = {-1, 0, 0};
    if (nd_lane() < queue.number) mine = {queue.who[nd_lane()], queue.at[nd_lane()], queue.spikes[nd_lane()]};
    nd_together();
    nd_open_queue();
    return mine;
}

/* Sends them before a barrier, if there are any. */
ND_FN void nd_empty_queue(long long row)
{
    if (nd_own_queue().number) nd_send_queued(row);
}
#else
ND_FN int nd_who(int) { return 0; }
ND_FN void nd_open_queue() {}
ND_FN void nd_put(int, long long, unsigned, real, int) {}
ND_FN void nd_empty_queue(long long) {}
#endif
