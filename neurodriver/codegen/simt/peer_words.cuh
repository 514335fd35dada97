/* Words that kernels of several GPUs write into each other's memory: see peers.cuh. */
#if ND_GATES
enum { ND_WORDS = ND_WORD / 4 };        /* of a value */

/* The first step that cannot be done, as another process has failed. */
extern "C" { __device__ long long nd_shut = 0x7fffffffffffffffll; }

/* Whether step k cannot be done; the same for all threads after a barrier that follows the exchange. */
ND_FN bool nd_is_shut(long long k)
{
    long long shut;
    asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(shut) : "l"(&nd_shut) : "memory");
    return shut <= k;
}

ND_FN unsigned nd_number_of(long long row) { return (unsigned)row + nd_records.numbered; }
ND_FN unsigned nd_place_of(unsigned number) { return number & (nd_records.kept - 1); }

ND_FN void nd_store_word(nd_peer_word *to, unsigned high, unsigned low)
{
    const nd_peer_word word = (nd_peer_word)high << 32 | low;
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" :: "l"(to), "l"(word) : "memory");
}

ND_FN nd_peer_word nd_load_word(const nd_peer_word *from)
{
    nd_peer_word word;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}

ND_FN void nd_send_value(nd_peer_word *to, real value, unsigned number)
{
    unsigned part[ND_WORDS];
    memcpy(part, &value, sizeof value);
    ND_UNROLL
    for (int i = 0; i < ND_WORDS; ++i) nd_store_word(to + i, number, part[i]);
}

/* Sends the spikes of a warp in the row that it writes, N components a thread: `bits` says which threads
 * have one. Component i of a thread is element `start` + at[i], and there if live[i]. Component i of all
 * threads gives one word, which thread i stores. A spike whose value is not 1 also goes as a value. */
template <int N> ND_FN void nd_send_spikes(const real *ring, long long row, const unsigned (&bits)[N],
                                           const real (&value)[N], const int (&at)[N], const bool (&live)[N], int start)
{
    const unsigned number = nd_number_of(row), place = nd_place_of(number);
    const int element = start + nd_from(at[0], 0) + 32 * nd_lane();     /* where the word of this thread begins */
    unsigned word = 0;
    bool there = false;
    ND_UNROLL
    for (int i = 0; i < N; ++i) {
        const bool some = nd_ballot(live[i]) != 0;
        if (nd_lane() == i) word = bits[i], there = some;
    }
    for (int i = 0; i < nd_records.sending; ++i) {
        const nd_sender &s = nd_records.senders[i];
        if (s.ring != ring) continue;
        unsigned odd = 0;
        ND_UNROLL
        for (int j = 0; j < N; ++j) {
            const bool mine = bits[j] >> nd_lane() & 1;
            if (!bits[j] || !nd_ballot(mine && value[j] != 1)) continue;
            if (mine) nd_send_value(s.values + (place * s.size + start + at[j]) * ND_WORDS, value[j], number);
            odd |= 1u << j;
        }
        if (there) nd_store_word(s.words + (place * s.slots + element / 16), number << 1 | (odd >> nd_lane() & 1), word);
    }
}

/* Sends a value of the row that a thread writes. */
ND_FN void nd_send_values(const real *ring, long long row, bool mine, real value, int element)
{
    const unsigned number = nd_number_of(row), place = nd_place_of(number);
    for (int i = 0; i < nd_records.sending; ++i) {
        const nd_sender &s = nd_records.senders[i];
        if (s.ring == ring && mine) nd_send_value(s.values + (place * s.size + element) * ND_WORDS, value, number);
    }
}
#else
ND_FN bool nd_is_shut(long long) { return false; }
#endif
