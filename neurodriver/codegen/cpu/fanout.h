/* Delivery of spikes to the slots of their targets, on a CPU.
 *
 * Spikes are delivered in batches. While the connections of one spike are read, those of the next
 * spikes are prefetched: their addresses are irregular, so the hardware cannot predict them. */
#define ND_SPIKES 64        /* largest batch */
#define ND_AHEAD 6          /* largest number of cache lines of a spike that are prefetched */
#define ND_LINES 16         /* cache lines of all spikes that are prefetched; at least of four spikes */
#define ND_FIRST 64         /* slots that are prefetched, if they do not fit into a near cache */
#define ND_LINE 64          /* bytes */
#define ND_WORDS 64         /* words of the dirty bitmap that are tested together */
#define ND_SOON 64          /* prefetch distance for reading a page of a calendar, */
#define ND_FURTHER 24       /* and for writing one */

/* The words of 64 bits of the dirty bitmap that are not zero, for elements begin .. end - 1 (multiples
 * of ND_LANES), and the first element of each. Other threads wrote the bitmap, so reading it is slow:
 * no branch depends on a word before all are loaded. */
struct nd_events {
    int count;
    int at[ND_WORDS];
    unsigned long long bits[ND_WORDS];

    /* Returns the first element that was not tested. */
    long long find(const unsigned short *marks, long long begin, long long end)
    {
        const long long whole = (end - begin) / 64;
        const int most = (int)(whole < ND_WORDS ? whole : ND_WORDS);
        int n = 0;
        marks += begin / ND_LANES;
        for (int w = 0; w < most; ++w) {
            unsigned long long word;
            __builtin_memcpy(&word, marks + 4 * w, 8);
            bits[n] = word;
            at[n] = (int)begin + 64 * w;
            n += word != 0;
        }
        begin += 64 * most;
        if (most < ND_WORDS && begin < end) {
            bits[n] = 0;
            at[n] = (int)begin;
            for (int s = 0; begin < end; begin += ND_LANES, ++s)
                bits[n] |= (unsigned long long)marks[4 * most + s] << s * ND_LANES;
            n += bits[n] != 0;
        }
        count = n;
        return begin;
    }
};

/* Whether there is one weight for all connections, for each source, or for each connection. */
enum nd_weights { ND_TO_ALL, ND_TO_SOURCE, ND_TO_EDGE };

/* Dirty byte of ND_LANES slots: whether a spike reached one of them. The type is no character type,
 * because those may alias everything: the compiler would reload all values after each store. */
enum nd_dirty_byte : unsigned char { ND_CLEAN, ND_DIRTY };

/* A calendar queue: weights of one thread that arrive in later steps, sorted by pages of slots. Adding
 * to slots outside the caches would wait for each of them. Here an arrival is appended to its page,
 * which is sequential; when the page is due, its slots fit into a near cache. What does not fit into
 * the calendar is added to its slot directly. */
template <int bits> struct nd_calendar {     /* of a slot's number within its page */
    struct arrival { unsigned slot; int more; };
    long long *filled;          /* arrivals of each page */
    arrival *arrivals;          /* (pages, room) */
    long long room;             /* 0 where there is no memory for a calendar */

    /* Take the share of one thread of the memory for `size` arrivals at slots 0 .. end - 1. */
    void open(void *memory, long long size, long long threads, long long thread, long long end)
    {
        const long long pages = ((end - 1) >> bits) + 1;
        const long long line = ND_LINE / sizeof(arrival), share = size / threads / line * line;
        const long long head = (pages + line - 1) / line * line;
        filled = (long long *)memory + thread * share;
        arrivals = (arrival *)filled + head;
        room = share > head ? (share - head) / pages : 0;
    }

    /* Returns whether there was room. */
    __attribute__((always_inline)) bool put(unsigned slot, long long more)
    {
        const unsigned page = slot >> bits;
        const long long n = filled[page];
        if (n >= room || (int)more != more) return false;
        arrival *const to = arrivals + page * room + n;
        __builtin_prefetch(to + ND_FURTHER, 1);
        *to = {slot, (int)more};
        filled[page] = n + 1;
        return true;
    }
};

/* Ways to deliver: add to the slot; add and mark it dirty; or append to the calendar. */
enum nd_way { ND_ADDED, ND_ADDED_MARKED, ND_POSTPONED };

/* Delivers the spikes of one thread to the slots of its targets. `multiple` holds the integer weights,
 * unless one weight belongs to all. With `turns`, slots are a ring. With `marks`, the bitmap `dirty`
 * says which slots were reached: it is set for each arrival, for all slots where many arrive, or for a
 * page of the calendar when it is due. `far`: the slots do not fit into a near cache. `page`: bits of
 * a page of the calendar, 0 without a calendar. Functions that only prefetch are always inlined, as
 * compilers may drop calls of them. */
template <typename Slot, typename Code, typename Multiple, nd_weights weights, bool turns, bool marks,
          bool far, int page>
struct nd_fanout {
    Slot *slots;
    nd_dirty_byte *dirty;
    const long long *parts;     /* of each source, `stride` apart: begin and end of its connections */
    const Code *code;
    const Multiple *multiple;
    Slot all;
    unsigned now, end;          /* first slot of this step, slots of the ring */
    int stride;
    int lines_ahead, spikes_ahead;      /* prefetch distances: cache lines of a spike, and spikes */
    static const int run = ND_LINE / sizeof(Code);      /* connections of a cache line */
    nd_calendar<page> calendar;
    nd_way way = marks ? ND_ADDED_MARKED : ND_ADDED;
    long long arrivals = 0;       /* connections delivered */
    int waiting = 0;
    int source[ND_SPIKES], count[ND_SPIKES];

    void add(long long s, int c)
    {
        if (waiting == ND_SPIKES) deliver();
        __builtin_prefetch(parts + s * stride);
        source[waiting] = (int)s;
        count[waiting++] = c;
    }

    /* Choose prefetch distances where a spike has `mean` connections, shared by `threads` threads. */
    void foresee(long long mean, long long threads)
    {
        const long long lines = mean / (run * threads) + 1;
        lines_ahead = (int)(lines < 2 ? 2 : lines > ND_AHEAD ? ND_AHEAD : lines);
        spikes_ahead = ND_LINES / lines_ahead > 4 ? ND_LINES / lines_ahead : 4;
    }

    /* Prefetch the cache line of a connection, or of the last one. No branch: rows have any length. */
    __attribute__((always_inline)) void fetch(long long p, long long last) const
    {
        p = p < last ? p : last;
        __builtin_prefetch(code + p);
        if (weights == ND_TO_EDGE) __builtin_prefetch(multiple + p);
    }

    /* Prefetch the first connections of a spike. */
    __attribute__((always_inline)) void begin(int i) const
    {
        const long long *part = parts + (long long)source[i < waiting ? i : waiting - 1] * stride;
        for (int l = 0; l < lines_ahead; ++l) fetch(part[0] + l * run, part[1]);
    }

    /* Return the slot of a connection. */
    __attribute__((always_inline)) unsigned slot_of(long long p) const
    {
        unsigned q = code[p];
        if (turns) {
            q += now;
            q -= q >= end ? end : 0;
        }
        return q;
    }

    /* Prefetch the slots of some connections. */
    __attribute__((always_inline)) void reach(long long p, long long past) const
    {
        for (; p < past; ++p) __builtin_prefetch(slots + slot_of(p));
    }

    /* Prefetch the slots of the first connections of a spike. */
    __attribute__((always_inline)) void reach(int i) const
    {
        if (i >= waiting) return;
        const long long *part = parts + (long long)source[i] * stride;
        reach(part[0], part[1] < part[0] + ND_FIRST ? part[1] : part[0] + ND_FIRST);
    }

    /* Mark slots `from` to `past` as dirty. */
    void mark(long long from, long long past)
    {
        const long long slices = (past - from + ND_LANES - 1) / ND_LANES;
        __builtin_memset(dirty + from / ND_LANES, ND_DIRTY, (unsigned long)slices);
    }

    /* Choose the way to deliver from the number of arrivals in the step before, for components `begin` to
     * `end` of rows of `ahead` slots. With so many arrivals that each cache line of a row is reached,
     * use the calendar. Mark all slots at once where that is cheaper than marking each arrival: marking
     * 64 slices in a row takes as long as marking one arrival. */
    void expect(long long before, long long begin, long long end, int ahead)
    {
        const long long slices = (end - begin + ND_LANES - 1) / ND_LANES;
        const long long rows = turns ? this->end / ahead : 1;
        const bool many = before * ND_LINE >= (end - begin) * (long long)sizeof(Slot);
        if (page && many && calendar.room) way = ND_POSTPONED;
        else if (before < slices || before * 64 < slices * rows) way = ND_ADDED_MARKED;
        else {
            way = ND_ADDED;
            for (long long r = 0; r < rows; ++r) mark(r * ahead + begin, r * ahead + end);
        }
    }

    /* Add the arrivals of the calendar that are due in this step. A page may hold slots beside those of
     * components `begin` to `end` of this step; what is due there is added early. */
    void arrive(long long begin, long long end, int ahead)
    {
        if (begin == end || !calendar.room) return;
        const long long last = (now + end - 1) >> page;
        for (long long due = (now + begin) >> page; due <= last; ++due) {
            const long long n = calendar.filled[due], first = due << page, next = first + (1 << page);
            const long long past = next < this->end ? next : this->end;
            if (n == 0) continue;
            calendar.filled[due] = 0;
            const auto *const list = calendar.arrivals + due * calendar.room;
            for (long long i = 0; i < n; ++i) {
                __builtin_prefetch(slots + list[i + ND_SOON < n ? i + ND_SOON : n - 1].slot);
                slots[list[i].slot] += list[i].more;
            }
            for (long long row = first / ahead * ahead; row < past; row += ahead) {
                const long long from = row + begin > first ? row + begin : first;
                const long long to = row + end < past ? row + end : past;
                if (from < to) mark(from, to);
            }
        }
    }

    template <nd_way how> __attribute__((always_inline)) void put(long long p, int i, Slot each)
    {
        const unsigned q = slot_of(p);
        const Slot more = weights == ND_TO_EDGE ? (Slot)multiple[p] * count[i] : each;
        if (how == ND_POSTPONED && calendar.put(q, more)) return;
        slots[q] += more;
        if (how != ND_ADDED) dirty[q / ND_LANES] = ND_DIRTY;
    }

    void deliver()
    {
        if (page && way == ND_POSTPONED) deliver_all<ND_POSTPONED>();
        else if (marks && way == ND_ADDED_MARKED) deliver_all<ND_ADDED_MARKED>();
        else deliver_all<ND_ADDED>();
        waiting = 0;
    }

    template <nd_way how> void deliver_all()
    {
        const bool reaches = far && how != ND_POSTPONED;
        for (int i = 0; i < (waiting < spikes_ahead ? waiting : spikes_ahead); ++i) begin(i);
        if (reaches) reach(0);
        for (int i = 0; i < waiting; ++i) {
            begin(i + spikes_ahead);
            if (reaches) reach(i + 1);
            const long long *part = parts + (long long)source[i] * stride;
            const Slot each = (weights == ND_TO_SOURCE ? (Slot)multiple[source[i]] : all) * count[i];
            long long p = part[0];
            const long long past = part[1];
            for (; p + run <= past; p += run) {
                fetch(p + lines_ahead * run, past);
                if (reaches && p + ND_FIRST + run <= past) reach(p + ND_FIRST, p + ND_FIRST + run);
#pragma GCC unroll 32
                for (int j = 0; j < run; ++j) put<how>(p + j, i, each);
            }
            for (; p < past; ++p) put<how>(p, i, each);
            if (marks) arrivals += past - part[0];
        }
    }
};
