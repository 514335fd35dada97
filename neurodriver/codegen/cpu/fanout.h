/* Deals spikes out to the slots of their targets, some spikes at a time: while connections of one
 * are dealt out, those of the next ones are on their way from memory. They lie anywhere, so that a
 * processor cannot foresee where. */
#define ND_SPIKES 64        /* that wait together at most */
#define ND_AHEAD 6          /* cache lines of a spike's connections that are under way at most; */
#define ND_LINES 16         /* of so many spikes that there are as many lines, but of four at least */
#define ND_FIRST 64         /* connections whose slots are under way, where these lie far */
#define ND_LINE 64          /* bytes */
#define ND_WORDS 64         /* words of notes that are looked at together */
#define ND_SOON 64          /* arrivals of a page whose slots are under way, */
#define ND_FURTHER 24       /* and places of a page that are, to be written */

/* Elements of `begin` to `end`, multiples of ND_LANES, that are noted: their words of 64 bits that
 * are not zero, and where these begin. The notes of other threads come from their caches, so no
 * branch depends on one before all are on their way. */
struct nd_events {
    int count;
    int at[ND_WORDS];
    unsigned long long bits[ND_WORDS];

    /* Returns where those begin that were not looked at. */
    long long find(const unsigned short *notes, long long begin, long long end)
    {
        const long long whole = (end - begin) / 64;
        const int most = (int)(whole < ND_WORDS ? whole : ND_WORDS);
        int n = 0;
        notes += begin / ND_LANES;
        for (int w = 0; w < most; ++w) {
            unsigned long long word;
            __builtin_memcpy(&word, notes + 4 * w, 8);
            bits[n] = word;
            at[n] = (int)begin + 64 * w;
            n += word != 0;
        }
        begin += 64 * most;
        if (most < ND_WORDS && begin < end) {
            bits[n] = 0;
            at[n] = (int)begin;
            for (int s = 0; begin < end; begin += ND_LANES, ++s)
                bits[n] |= (unsigned long long)notes[4 * most + s] << s * ND_LANES;
            n += bits[n] != 0;
        }
        count = n;
        return begin;
    }
};

/* What a weight belongs to. */
enum nd_weights { ND_TO_ALL, ND_TO_SOURCE, ND_TO_EDGE };

/* Whether something reached 16 slots. Not a character, which might be a part of anything else, so
 * that all of it is read again after each note. */
enum nd_touch : unsigned char { ND_UNTOUCHED, ND_TOUCHED };

/* Arrivals by one thread that wait until their slots are read, most of them some steps: those of a
 * page of slots side by side, in the order in which they came. They are written and read in a row,
 * where slots that lie in no near cache would each be waited for; when a page is due, its slots are
 * in one. What does not fit is added at once. */
template <int bits> struct nd_calendar {     /* of a slot's number within its page */
    struct arrival { unsigned slot; int more; };
    long long *filled;          /* arrivals of each page */
    arrival *arrivals;          /* (pages, room) */
    long long room;             /* 0 where there is no memory for a calendar */

    /* Take a thread's share of memory for `size` arrivals, at slots 0 .. end - 1. */
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

/* How connections are dealt out: added, added and noted, or put into a calendar. */
enum nd_way { ND_ADDED, ND_ADDED_NOTED, ND_POSTPONED };

/* `multiple` holds the weights, but for one that belongs to all. With `turns`, slots are a ring;
 * with `notes`, it is noted in `touched` which slots something reached: of each arrival, of all where
 * many arrive, of a page of the calendar when it is due; `far` ones fit into no near cache; `page`
 * are the bits of a calendar, 0 without one. Functions that do nothing but ask for memory are
 * inlined: a compiler may drop the call. */
template <typename Slot, typename Code, typename Multiple, nd_weights weights, bool turns, bool notes,
          bool far, int page>
struct nd_fanout {
    Slot *slots;
    nd_touch *touched;
    const long long *parts;     /* of each source, `stride` apart: begin and end of its connections */
    const Code *code;
    const Multiple *multiple;
    Slot all;
    unsigned now, end;          /* first slot of this step, slots of the ring */
    int stride;
    int lines_ahead, spikes_ahead;      /* that are under way: cache lines of a spike, and spikes */
    static const int run = ND_LINE / sizeof(Code);      /* connections of a cache line */
    nd_calendar<page> calendar;
    nd_way way = notes ? ND_ADDED_NOTED : ND_ADDED;
    long long arrivals = 0;       /* dealt out */
    int found = 0;
    int source[ND_SPIKES], count[ND_SPIKES];

    void add(long long s, int c)
    {
        if (found == ND_SPIKES) deal();
        __builtin_prefetch(parts + s * stride);
        source[found] = (int)s;
        count[found++] = c;
    }

    /* Choose what is under way where a spike has `mean` connections, which so many threads share. */
    void foresee(long long mean, long long threads)
    {
        const long long lines = mean / (run * threads) + 1;
        lines_ahead = (int)(lines < 2 ? 2 : lines > ND_AHEAD ? ND_AHEAD : lines);
        spikes_ahead = ND_LINES / lines_ahead > 4 ? ND_LINES / lines_ahead : 4;
    }

    /* Ask for the cache line of a connection, or of the `last` one. Without a branch: these rows
     * are of any length. */
    __attribute__((always_inline)) void fetch(long long p, long long last) const
    {
        p = p < last ? p : last;
        __builtin_prefetch(code + p);
        if (weights == ND_TO_EDGE) __builtin_prefetch(multiple + p);
    }

    /* Ask for the first connections of a spike. */
    __attribute__((always_inline)) void begin(int i) const
    {
        const long long *part = parts + (long long)source[i < found ? i : found - 1] * stride;
        for (int l = 0; l < lines_ahead; ++l) fetch(part[0] + l * run, part[1]);
    }

    /* Where the slot of a connection lies. */
    __attribute__((always_inline)) unsigned place(long long p) const
    {
        unsigned q = code[p];
        if (turns) {
            q += now;
            q -= q >= end ? end : 0;
        }
        return q;
    }

    /* Ask for the slots of some connections. */
    __attribute__((always_inline)) void reach(long long p, long long past) const
    {
        for (; p < past; ++p) __builtin_prefetch(slots + place(p));
    }

    /* Ask for the slots of a spike's first connections. */
    __attribute__((always_inline)) void reach(int i) const
    {
        if (i >= found) return;
        const long long *part = parts + (long long)source[i] * stride;
        reach(part[0], part[1] < part[0] + ND_FIRST ? part[1] : part[0] + ND_FIRST);
    }

    /* Note slots `from` to `past`. */
    void note(long long from, long long past)
    {
        const long long slices = (past - from + ND_LANES - 1) / ND_LANES;
        __builtin_memset(touched + from / ND_LANES, ND_TOUCHED, (unsigned long)slices);
    }

    /* Choose how to deal out, as many arrived `before` in a step, to the components `begin` to `end`,
     * of `ahead` in a row. Where there are so many that each cache line of a row is reached, they are
     * postponed. Where they are more than it costs, all slots are noted: 64 notes side by side take
     * as long as one of an arrival. */
    void expect(long long before, long long begin, long long end, int ahead)
    {
        const long long slices = (end - begin + ND_LANES - 1) / ND_LANES;
        const long long rows = turns ? this->end / ahead : 1;
        const bool many = before * ND_LINE >= (end - begin) * (long long)sizeof(Slot);
        if (page && many && calendar.room) way = ND_POSTPONED;
        else if (before < slices || before * 64 < slices * rows) way = ND_ADDED_NOTED;
        else {
            way = ND_ADDED;
            for (long long r = 0; r < rows; ++r) note(r * ahead + begin, r * ahead + end);
        }
    }

    /* Add what was postponed to the slots of this step, those of the components `begin` to `end`; what
     * is on their pages beside them comes early. */
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
                if (from < to) note(from, to);
            }
        }
    }

    template <nd_way how> __attribute__((always_inline)) void put(long long p, int i, Slot each)
    {
        const unsigned q = place(p);
        const Slot more = weights == ND_TO_EDGE ? (Slot)multiple[p] * count[i] : each;
        if (how == ND_POSTPONED && calendar.put(q, more)) return;
        slots[q] += more;
        if (how != ND_ADDED) touched[q / ND_LANES] = ND_TOUCHED;
    }

    void deal()
    {
        if (page && way == ND_POSTPONED) deal_out<ND_POSTPONED>();
        else if (notes && way == ND_ADDED_NOTED) deal_out<ND_ADDED_NOTED>();
        else deal_out<ND_ADDED>();
        found = 0;
    }

    template <nd_way how> void deal_out()
    {
        const bool reaches = far && how != ND_POSTPONED;
        for (int i = 0; i < (found < spikes_ahead ? found : spikes_ahead); ++i) begin(i);
        if (reaches) reach(0);
        for (int i = 0; i < found; ++i) {
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
            if (notes) arrivals += past - part[0];
        }
    }
};
