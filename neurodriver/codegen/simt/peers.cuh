/* Rows that the kernels of several GPUs write into each other's memory.
 *
 * A message holds the rows of one window. Two messages of a sender alternate in the memory of the
 * receiver. Each word holds 32 bits of a value, and the number of its message. So a receiver waits
 * for each word alone, and no flag and no fence is needed: a word is stored at once. A sender has
 * the words of message n for a place before it overwrites those of message n - 1 there, because it
 * waits for as many messages as it sends.
 */
#if ND_GATES
enum { ND_WORDS = ND_WORD / 4 };        /* of a value */
enum { ND_POLLS = 1 << 12 };            /* polls between two looks at the host */

/* The first step that cannot be done, as another process has failed. */
extern "C" { __device__ long long nd_shut = 0x7fffffffffffffffll; }

/* Whether step k cannot be done; the same for all threads after a barrier that follows the exchange. */
ND_FN bool nd_is_shut(long long k) { return __ldcg(&nd_shut) <= k; }

ND_FN void nd_send_value(nd_peer_word *to, real value, unsigned number)
{
    unsigned part[ND_WORDS];
    memcpy(part, &value, sizeof value);
    ND_UNROLL
    for (int i = 0; i < ND_WORDS; ++i) {
        const nd_peer_word word = (nd_peer_word)number << 32 | part[i];
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" :: "l"(to + i), "l"(word) : "memory");
    }
}

/* Takes the words of a value that have come; returns whether all have. */
ND_FN bool nd_take_value(const nd_peer_word *from, unsigned number, real &value)
{
    unsigned part[ND_WORDS];
    bool all = true;
    ND_UNROLL
    for (int i = 0; i < ND_WORDS; ++i) {
        nd_peer_word word;
        asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(from + i) : "memory");
        part[i] = (unsigned)word;
        all &= (unsigned)(word >> 32) == number;
    }
    memcpy(&value, part, sizeof value);
    return all;
}

/* Waits for a value that step k needs, or until the host ends the launch. */
static __device__ __noinline__ void nd_await_value(const nd_peer_word *from, unsigned number, long long k, real &value)
{
    for (unsigned polls = 1; !nd_take_value(from, number, value); ++polls)
        if (polls % ND_POLLS == 0 && *(volatile long long *)(nd_chunk.gate + 16) < 0) {
            atomicMin(&nd_shut, k);
            return;
        }
}

/* Message n of a table, whose rows have `count` values. */
ND_FN long long nd_message(long long number, long long count)
{
    return (number & 1) * nd_chunk.window * count * ND_WORDS;
}

/* Sends row k of what others read. */
static __device__ void nd_send_row(const nd_probe &p, const nd_item &item, long long k)
{
    const long long window = (k - 1 - nd_chunk.gated) / nd_chunk.window;
    const long long place = k - 1 - nd_chunk.gated - window * nd_chunk.window;
    const long long number = nd_chunk.sent + window + 1;
    const real *from = p.ring + nd_row_index(k, p.depth) * p.width + p.start;
    nd_peer_word *to = p.words + nd_message(number, p.count) + place * p.count * ND_WORDS;
    for (int i = item.first + nd_lane(); i < item.end; i += 32 * ND_BATCH) {
        real x[ND_BATCH];
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j) {
            const int mine = i + 32 * j < item.end ? i + 32 * j : i;
            x[j] = from[p.elements ? p.elements[mine] : mine];
        }
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j)
            if (i + 32 * j < item.end) nd_send_value(to + (i + 32 * j) * ND_WORDS, x[j], (unsigned)number);
    }
}

/* Takes the row that step k needs of what others have; returns whether it came from a message. */
static __device__ bool nd_take_row(const nd_input &in, const nd_item &item, long long k)
{
    if (!in.words || k - nd_chunk.gated < nd_chunk.window) return false;
    const long long window = (k - nd_chunk.gated) / nd_chunk.window;
    const long long place = k - nd_chunk.gated - window * nd_chunk.window;
    const long long number = nd_chunk.sent + window;
    const nd_peer_word *from = in.words + nd_message(number, in.count) + place * in.count * ND_WORDS;
    const long long row = k - in.back;
    real *to = in.ring + nd_row_index(row, in.depth) * in.width + in.first;
    bool any = false;
    for (int i = item.first + nd_lane(); i < item.end; i += 32 * ND_BATCH) {
        real x[ND_BATCH];
        bool here[ND_BATCH];
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j) {    /* all loads, before the wait for the first value */
            const int mine = i + 32 * j < item.end ? i + 32 * j : i;
            here[j] = nd_take_value(from + mine * ND_WORDS, (unsigned)number, x[j]);
        }
        ND_UNROLL
        for (int j = 0; j < ND_BATCH; ++j) {
            if (i + 32 * j >= item.end) continue;
            if (!here[j]) nd_await_value(from + (i + 32 * j) * ND_WORDS, (unsigned)number, k, x[j]);
            if (in.ring) to[i + 32 * j] = x[j];
            any |= x[j] != 0;
        }
    }
    if (in.active && any) nd_mark(in.active, row, in.depth);
    nd_send_brought(in, item, row, to, any);
    return true;
}
#else
ND_FN bool nd_take_row(const nd_input &, const nd_item &, long long) { return false; }
#endif
