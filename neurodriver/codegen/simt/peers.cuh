/* Rows that the kernels of several GPUs write into each other's memory.
 *
 * The receiver has memory for `kept` rows of each sender. A row has words of 32 bits of a value and
 * the number of the row. So a receiver waits for each word alone, and no flag and no fence is needed:
 * a word is stored at once. A sender has the words of a window for a place before it overwrites those
 * of the window before there, because it waits for as many rows as it sends. With ND_LOOKAHEAD it sends
 * spikes one row ahead, for which there is room.
 *
 * Warps send what they compute at once. Then a word of spikes has a bit for each of 32 components.
 */
/* ND_SHARED_CODE: a function that is called in several places, and compiled once if there are gates. Without
 * gates some texts would have too few registers then. */
#if ND_GATES
#define ND_SHARED_CODE ND_APART
#else
#define ND_SHARED_CODE static __device__
#endif

ND_SHARED_CODE void nd_inject(const nd_item item, long long k);

#if ND_GATES
enum { ND_POLLS = 1 << 12 };            /* polls between two looks at the host */

/* Takes the words of a value that have come; returns whether all have. */
ND_FN bool nd_take_value(const nd_peer_word *from, unsigned number, real &value)
{
    unsigned part[ND_WORDS];
    bool all = true;
    ND_UNROLL
    for (int i = 0; i < ND_WORDS; ++i) {
        const nd_peer_word word = nd_load_word(from + i);
        part[i] = (unsigned)word;
        all &= (unsigned)(word >> 32) == number;
    }
    memcpy(&value, part, sizeof value);
    return all;
}

/* Whether to wait no longer for what step k needs, as the host ends the launch. */
ND_FN bool nd_gives_up(unsigned polls, long long k)
{
    if (polls % ND_POLLS || *(volatile long long *)(nd_chunk.gate + 16) >= 0) return false;
    atomicMin(&nd_shut, k);
    return true;
}

/* Waits for a value that step k needs. */
ND_APART void nd_await_value(const nd_peer_word *from, unsigned number, long long k, real &value)
{
    for (unsigned polls = 1; !nd_take_value(from, number, value); ++polls)
        if (nd_gives_up(polls, k)) return;
}

/* Sends row k of what others read; not where step k - 1 could not be done. */
static __device__ void nd_send_row(const nd_probe &p, const nd_item &item, long long k)
{
    const unsigned number = nd_number_of(k);
    const real *from = p.ring + nd_row_index(k, p.depth) * p.width + p.start;
    nd_peer_word *to = p.words + (long long)nd_place_of(number) * p.count * ND_WORDS;
    const bool shut = nd_is_shut(k - 1);
    nd_each_batch(item, [&](int i) { return from[p.elements ? p.elements[i] : i]; },
                  [&](int i, real x) { if (!shut) nd_send_value(to + i * ND_WORDS, x, number); });
}

/* The row of its source that an input needs in step k. */
ND_FN long long nd_source_row(long long k) { return k + 1 - nd_chunk.window; }

/* Whether the kernels of other GPUs bring what step k needs. */
ND_FN bool nd_comes(long long k) { return nd_source_row(k) > nd_chunk.gated; }

/* Takes the values of an item that others send, into a row; returns whether some value is not 0. */
ND_FN bool nd_take_values(const nd_item &item, const nd_peer_word *from, const int *elements, unsigned number,
                          long long k, real *to)
{
    bool any = false;
    for (int i = item.first + nd_lane(); i < item.end; i += 32 * ND_BATCH) {
        real x[ND_BATCH];
        const nd_peer_word *word[ND_BATCH];
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j) {
            const int mine = i + 32 * j < item.end ? i + 32 * j : i;
            word[j] = from + (elements ? __ldg(elements + mine) : mine) * ND_WORDS;
        }
        for (unsigned polls = 1;; ++polls) {    /* all loads are in flight together, each time */
            bool all = true;
            ND_UNROLL
            for (int j = 0; j < ND_BATCH; ++j) all &= nd_take_value(word[j], number, x[j]);
            if (all || nd_gives_up(polls, k)) break;
        }
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j) {
            if (i + 32 * j >= item.end) continue;
            if (to) to[i + 32 * j] = x[j];
            any |= x[j] != 0;
        }
    }
    return any;
}

/* Takes the row that step k needs of what others have; returns whether it came from a message. */
ND_APART bool nd_take_row(const nd_input &in, const nd_item &item, long long k)
{
    if (!in.words || !nd_comes(k)) return false;
    const unsigned number = nd_number_of(nd_source_row(k));
    const nd_peer_word *from = in.words + (long long)nd_place_of(number) * in.count * ND_WORDS;
    const long long row = k - in.back;
    real *to = in.ring ? in.ring + nd_row_index(row, in.depth) * in.width + in.first : nullptr;
    const bool any = nd_take_values(item, from, nullptr, number, k, to);
    if (in.active && any) nd_mark(in.active, row, in.depth);
    nd_send_brought(in, item, row, to, any);
    return true;
}

/* Waits until the word of a row has come that says which components have spikes. */
ND_FN nd_peer_word nd_await_bits(const nd_peer_word *from, unsigned number, long long k)
{
    nd_peer_word word = nd_load_word(from);
    for (unsigned polls = 1; ((unsigned)(word >> 32) >> 1) != (number & 0x7fffffffu); ++polls) {
        if (nd_gives_up(polls, k)) return 0;
        word = nd_load_word(from);
    }
    return word;
}

/* Sends the spikes of some words, each with the `bits` of a thread: one for each thread at a time. */
ND_FN void nd_send_bits(const nd_taker &t, long long row, int4 where, unsigned bits, bool odd, unsigned number,
                        long long k, const real *table)
{
#if ND_IMPORTS
    const nd_peer_word *const values = t.values + nd_place_of(number) * t.size * ND_WORDS;
    const int end = nd_sum_up_to_here(nd_bits_in(bits)), total = nd_from(end, 31);
    for (int first = 0; first < total; first += 32) {
        const bool own = first + nd_lane() < total;
        const int n = own ? first + nd_lane() : total - 1;
        int from = 0;   /* first thread whose spikes end after n */
        ND_UNROLL
        for (int d = 16; d; d /= 2) from += nd_from(end, from + d - 1) <= n ? d : 0;
        unsigned left = nd_from(bits, from);
        for (int skip = n - (nd_from(end, from) - nd_bits_in(left)); skip; --skip) left &= left - 1;
        const int bit = __ffs((int)left) - 1, element = 16 * nd_from(where.x, from) + bit;
        const unsigned before = (unsigned)nd_from(where.y, from) & ((1u << bit) - 1);
        const int at = nd_from(where.z, from) + nd_bits_in(before);
        real value = table ? __ldcv(table + at) : (real)1;
        if (nd_from(odd, from)) nd_await_value(values + element * ND_WORDS, number, k, value);
#if ND_QUEUES && !ND_WINDOW
        if (t.back == 0)    /* they come in time, so they wait together with this part's own spikes */
            nd_put(nd_who_imports((int)t.sender), row, nd_ballot(own && value != 0), value, (int)t.place + at);
        else
#endif
            nd_send_imported((int)t.sender, row, own, (int)t.place + at, value, t.back > 0);
    }
#endif
}

/* Brings the spikes that step k needs: words `first` to `end` of a taker. */
static __device__ void nd_bring_spikes(const nd_taker &t, const nd_item &item, long long k)
{
    const bool comes = nd_comes(k);
    const long long row = k - t.back;
    const nd_input &in = nd_chunk.input[t.input];   /* before others send */
    const int action = comes ? 0 : in.action[k - nd_chunk.first];
    if (!comes && (action == -2 || row < 0)) return;
    const unsigned number = nd_number_of(nd_source_row(k)), place = nd_place_of(number);
    real *const to = t.ring + nd_row_index(row, t.depth) * t.width + t.first;
    const real *const table = comes || action < 0 ? nullptr : in.table + action * in.count;
    for (int base = item.first; base < item.end; base += 32) {
        const bool mine = base + nd_lane() < item.end;
        const int i = mine ? base + nd_lane() : base;
        const int4 where = __ldg(t.places + i);
        unsigned *const held = t.held + nd_row_index(row, t.depth) * t.number + i;
        const unsigned had = *held;
        const nd_peer_word word = comes ? nd_await_bits(t.words + (place * t.slots + where.x), number, k) : 0;
        unsigned bits = mine ? (unsigned)word & (unsigned)where.y : 0;
        const bool odd = word >> 32 & 1;
        nd_together();
        for (unsigned some = table ? nd_ballot(mine) : 0; some; some &= some - 1) {
            const int from = __ffs((int)some) - 1;
            const unsigned read = (unsigned)nd_from(where.y, from);
            const int at = nd_from(where.z, from) + nd_lower(read);
            const unsigned now = nd_ballot((read >> nd_lane() & 1) && __ldcv(table + at) != 0);
            if (nd_lane() == from) bits = now;
        }
        if (t.sender >= 0) nd_send_bits(t, row, where, bits, odd, number, k, table);
        for (unsigned some = nd_ballot(mine && (bits | had)); some; some &= some - 1) {
            const int from = __ffs((int)some) - 1;
            const unsigned read = (unsigned)nd_from(where.y, from);
            const int at = nd_from(where.z, from) + nd_lower(read);
            const long long element = place * t.size + 16 * nd_from(where.x, from) + nd_lane();
            const bool there = nd_from(bits, from) >> nd_lane() & 1;
            real value = there ? (real)1 : (real)0;
            if (there && table) value = __ldcv(table + at);
            if (nd_from(odd, from) && there)
                nd_await_value(t.values + element * ND_WORDS, number, k, value);
            if (read >> nd_lane() & 1) to[at] = value;
        }
        if (mine && bits != had) *held = bits;
        if (t.active && bits) nd_mark(t.active, row, t.depth);
    }
}

/* Brings what step k needs of what the warps of other GPUs send. */
ND_APART void nd_bring(const nd_item item, long long k)
{
    const nd_taker &t = nd_records.takers[nd_table_of(item)];
    if (t.words) {
        nd_bring_spikes(t, item, k);
    } else if (!nd_comes(k)) {
        nd_inject({item.what, item.first, item.end, (int)t.input}, k);
    } else {
        const nd_input &in = nd_chunk.input[t.input];
        const unsigned number = nd_number_of(nd_source_row(k));
        const long long row = k - t.back;
        real *const to = t.ring + nd_row_index(row, t.depth) * t.width + t.first;
        const nd_peer_word *const from = t.values + nd_place_of(number) * t.size * ND_WORDS;
        const bool any = nd_take_values(item, from, t.elements, number, k, to);
        if (t.active && any) nd_mark(t.active, row, t.depth);
        if (t.sender >= 0) nd_send_brought(in, item, row, to, any);
    }
}
#else
ND_FN bool nd_take_row(const nd_input &, const nd_item &, long long) { return false; }
ND_FN void nd_bring(const nd_item &, long long) {}
#endif
