/* Source rows, on a GPU: their arrays, and how a scan finds spikes.
 *
 * `rows` and `row` are source rows, see learning.cuh. The rows of a ring are numbered as steps are, and
 * lo .. hi are such numbers. A scan, which is the first part of a turn, puts the spikes of targets into
 * their histories, and lists the connections of the source rows at which spikes arrive. */
enum { ND_STEPS_OF_TURN = ND_WINDOW ? ND_WINDOW : 1 };
enum { ND_LOOK = ND_STEPS_OF_TURN < 8 ? ND_STEPS_OF_TURN : 8 };     /* rows that are looked at together */

/* Words of `swept`: synapses have applied what they saw before a step; the same, as it was before a
 * sweep that is going on; a sweep to this step is asked for; pieces in the list; texts of intervals that
 * were due before a step have been run; the same, before a sweep. */
enum { ND_SWEPT = 0, ND_SWEPT_BEFORE = 2, ND_FULL = 3, ND_LISTED = 4, ND_TEXTS_RUN = 5, ND_TEXTS_RUN_BEFORE = 6 };

struct nd_events_of {       /* the rows of a variable of events */
    const real *ring;
    const long long *active;
    long long depth, width;

    ND_MEMBER real at(int row, int element) const
    {
        const long long place = nd_row_index(row, depth);
        const real x = ring[place * width + element];   /* not after `active`: both loads at once */
        return row < 0 || (row > 0 && active[place] != row) ? (real)0 : x;
    }
};

/* The numbers of a source row, in the order in which `row_of` loads them. */
struct nd_source_row {
    int element, a, f, back;    /* of the source; steps of the delay (plan/spikes/learning.py) */
    long long begin;            /* its first connection */
    int length;
};

/* Targets at which a warp looks together; its threads share the steps. */
enum { ND_TOGETHER = ND_STEPS_OF_TURN == 1 ? ND_WARP : ND_WARP < 4 ? 1 : ND_WARP / 4 };

template <class Synapses, typename Code, typename Slot> struct nd_learning_rows {
    typedef typename Synapses::Rule Rule;
    typedef typename Synapses::Source Source;
    static const int PRE = Rule::PRE, OWN = Rule::OWN;
    static const int PIECE = Synapses::BESIDE * ND_WARP;        /* connections that a warp takes at once */
    Synapses synapses;
    const int2 *scanned;        /* (rows,): element and a */
    const int4 *about;          /* (rows, 2): element, a, f, back; begin, length */
    int rows, longest;          /* connections of a row at most */
    int first_warp, warps;      /* that work for this set of connections */
    const Code *code;           /* the place of each target */
    real *own[OWN];             /* weight, then the variables of each synapse */
    nd_events_of from, to;      /* spikes of the sources, of the targets */
    int targets, first_place, first_target, longest_back;   /* targets between those that have synapses */
    int *unswept;               /* spikes of each target since the last sweep */
    int *arrivals, *next_arrivals;              /* (rows, 2) */
    real *pre[PRE + 1], *next_pre[PRE + 1];     /* (rows, 2) */
    unsigned *found;            /* of each row: bit i is an arrival in step lo + i */
    uint4 *pieces;
    int most_pieces;
    long long *swept;
    unsigned long long *counts;         /* for messages to the user: `event_order.h` */
    bool learns;
    Slot *slots;
    unsigned turns, width;      /* rows of slots, slots of a row */
    const real *per_unit;       /* of each target, or null */
    real one_per_unit, largest;

    ND_MEMBER int warp() const { return nd_own_warp() - first_warp; }
    ND_MEMBER int thread() const { return warp() * ND_WARP + nd_lane(); }
    ND_MEMBER int threads() const { return warps * ND_WARP; }

    ND_MEMBER nd_source_row row_of(int row) const
    {
        const int4 x = __ldg(about + 2 * row), y = __ldg(about + 2 * row + 1);
        return {x.x, x.y, x.z, x.w, (long long)y.y << 32 | (unsigned)y.x, y.z};
    }

    /* Put the spikes of steps lo .. hi into the histories of the targets. */
    ND_MEMBER void find_spikes(int lo, int hi)
    {
        if (!to.ring) return;
        const int part = nd_lane() / ND_TOGETHER, parts = ND_WARP / ND_TOGETHER;
        ND_ROLLED
        for (int base = warp() * ND_TOGETHER; base < targets; base += warps * ND_TOGETHER) {
            const int mine = base + nd_lane() % ND_TOGETHER, j = first_place + mine;
            unsigned bits = 0;
            for (int row = lo + part; row <= hi; row += ND_LOOK * parts) {
                real x[ND_LOOK];
                for (int i = 0; i < ND_LOOK; ++i)
                    x[i] = row + i * parts <= hi && mine < targets ? to.at(row + i * parts, first_target + j) : (real)0;
                for (int i = 0; i < ND_LOOK; ++i) bits |= (unsigned)(x[i] != 0) << (row + i * parts - lo & 31);
            }
            for (int d = ND_TOGETHER; d < ND_WARP; d *= 2) bits |= nd_across(bits, d);
            for (unsigned some = nd_ballot(bits != 0 && part == 0); some; some &= some - 1) {
                const int lane = __ffs((int)some) - 1;
                add_spikes(first_place + base + lane, lo, nd_from(bits, lane), hi);
            }
        }
    }

    /* Put spikes of one target into its history, by a warp: bit i of `bits` is a spike in step lo + i. */
    ND_MEMBER void add_spikes(int j, int lo, unsigned bits, int hi)
    {
        ND_ROLLED
        for (; bits; bits &= bits - 1) add_spike(j, lo + __ffs((int)bits) - 1, hi);
    }

    /* Put a spike before those of a history. Of the spikes that have been swept only the last one is
     * still needed: the others do not move. */
    ND_MEMBER void add_spike(int j, int row, int hi)
    {
        int *const spikes = synapses.spikes;
        const int kept = unswept[j] + 1;    /* that move on */
        ND_ROLLED
        for (int base = Synapses::DEPTH <= ND_WARP ? 0 : (kept - 1) / ND_WARP * ND_WARP; base >= 0; base -= ND_WARP) {
            const int i = base + nd_lane();
            const bool here = i < Synapses::DEPTH, moves = i < kept && i + 1 < Synapses::DEPTH;
            const long long at = synapses.entry(j, i), next = synapses.entry(j, i + 1);
            const int old = here ? spikes[at] : 0;
            real y[Synapses::POST + 1];
            for (int v = 0; v < Synapses::POST; ++v) y[v] = here ? synapses.post[v][at] : (real)0;
            nd_together();
            if (moves) spikes[next] = old;
            for (int v = 0; v < Synapses::POST; ++v) {
                if (moves) synapses.post[v][next] = y[v];
                if (i == 0) synapses.post[v][at] = synapses.rule.post_after(v, y[v], row - old);
            }
            if (i == 0) spikes[at] = row;
            nd_together();
        }
        if (nd_lane() == 0) note_count(j, hi);
        nd_together();
    }

    /* A target has had one more spike; ask for a sweep where one more window is too many. */
    ND_MEMBER void note_count(int j, int hi)
    {
        const int most = Synapses::DEPTH - 2 - ND_STEPS_OF_TURN;
        int left = unswept[j] + 1;
        if (left > most) {
            int n = 0;
            while (n < left && synapses.spikes[synapses.entry(j, n)] + longest_back >= swept[ND_SWEPT]) ++n;
            left = n;
            if (n > most) swept[ND_FULL] = hi + 1;
        }
        unswept[j] = left;
    }

    /* Note up to which step all synapses have been brought in this part of a turn, for the next part. */
    ND_MEMBER void mark(bool visited, int n) const
    {
        swept[ND_SWEPT_BEFORE] = visited ? n : swept[ND_SWEPT];
        swept[ND_TEXTS_RUN_BEFORE] = visited ? n + 1 : swept[ND_TEXTS_RUN];
    }
    ND_MEMBER void mark_after(bool visited, int n) const
    {
        swept[ND_SWEPT] = visited ? n + 1 : swept[ND_SWEPT_BEFORE];
        swept[ND_TEXTS_RUN] = visited ? n + 1 : swept[ND_TEXTS_RUN_BEFORE];
    }

    /* Copy the state that the last arrivals of a source row have left. */
    ND_MEMBER void settle(int row)
    {
        if (ND_DIRECT && next_arrivals[2 * row] <= arrivals[2 * row]) return;
        for (int i = 2 * row; i < 2 * row + 2; ++i) {
            arrivals[i] = next_arrivals[i];
            for (int v = 0; v < PRE; ++v) pre[v][i] = next_pre[v][i];
        }
        if (ND_DIRECT) next_arrivals[2 * row] = ND_NEVER;
        else found[row] = 0;
    }

    ND_MEMBER int2 scan_of(int row, bool one_each) const
    {
        return one_each || row >= rows ? make_int2(0, 0) : __ldg(scanned + row);
    }

    ND_MEMBER void find_arrivals(int lo, int hi)
    {
        const int mine = warps - 1 - warp();       /* the others have the targets */
        const bool one_each = rows <= threads();   /* then the numbers of its source row are always loaded */
        int2 next = scan_of(mine * ND_WARP + nd_lane(), one_each);
        ND_ROLLED
        for (int base = mine * ND_WARP; base < rows; base += warps * ND_WARP) {
            const int row = base + nd_lane();
            const int2 scan = next;
            next = scan_of(row + warps * ND_WARP, one_each);    /* while spikes are looked for */
            unsigned bits = 0;
            int spikes = 0, length = 0;
            long long first = 0;
            if (row < rows) {
                const bool arrived = found[row] != 0;
                nd_source_row r = {};
                if (one_each) r = row_of(row);
                const int element = one_each ? r.element : scan.x, a = one_each ? r.a : scan.y;
                for (int n = lo; n <= hi; n += ND_LOOK) {
                    real x[ND_LOOK];
                    for (int i = 0; i < ND_LOOK; ++i) x[i] = n + i <= hi ? from.at(n + i - a, element) : (real)0;
                    for (int i = 0; i < ND_LOOK; ++i) {
                        const int count = nd_spikes(x[i]);
                        if (count <= 0) continue;
                        bits |= 1u << (n + i - lo);
                        spikes = count;
                    }
                }
                if (arrived) settle(row);
                if (bits) {
                    if (!one_each) r = row_of(row);
                    first = r.begin;
                    length = r.length;
                    found[row] = bits;
                }
            }
            if (nd_ballot(length > 0)) list(row, bits & (bits - 1) ? 0 : spikes, first, length);
        }
    }

    /* List the connections of a warp's source rows; `count`: spikes of the only arrival, or 0. */
    ND_MEMBER void list(int row, int count, long long first, int length)
    {
        const int number = (length + PIECE - 1) / PIECE;
        const int end = nd_sum_up_to_here(number), total = nd_from(end, ND_WARP - 1);
        unsigned at = 0;
        if (nd_lane() == 0) at = (unsigned)atomicAdd((unsigned long long *)(swept + ND_LISTED), (unsigned long long)total);
        const unsigned mine = nd_from(at, 0) + (unsigned)(end - number);
        ND_ROLLED
        for (unsigned some = nd_ballot(number > 0); some; some &= some - 1) {
            const int lane = __ffs((int)some) - 1, many = nd_from(number, lane);
            const long long p = nd_from(first, lane);
            const int all = nd_from(length, lane);
            const unsigned where = nd_from(mine, lane), what = (unsigned)nd_from(count, lane);
            const unsigned of = (unsigned)nd_from(row, lane);
            for (int i = nd_lane(); i < many; i += ND_WARP) {
                const long long start = p + i * PIECE;
                const int left = all - i * PIECE;
                const unsigned here = left < PIECE ? (unsigned)left : PIECE;
                __stcg(pieces + where + i, make_uint4((unsigned)start, (unsigned)(start >> 32) | here << 16, of, what));
            }
        }
    }

    /* The last arrivals of a source row and its traces, before or after the arrivals of this turn. In
     * direct turns: before those of step n. Then the other one of the two states may be written now. */
    ND_MEMBER Source source(int row, int n, bool after) const
    {
        if (!ND_DIRECT) return after && found[row] ? state(next_arrivals, next_pre, row) : state(arrivals, pre, row);
        const Source s = state(arrivals, pre, row), t = state(next_arrivals, next_pre, row);
        return next_is_newer(s.last, t.last, n) ? t : s;
    }

    ND_MEMBER Source state(const int *at, real *const *x, int row) const
    {
        Source s;
        s.last = at[2 * row];
        s.earlier = at[2 * row + 1];
        for (int v = 0; v < PRE; ++v) {
            s.x[v] = x[v][2 * row];
            s.x_earlier[v] = x[v][2 * row + 1];
        }
        return s;
    }

    static ND_MEMBER bool next_is_newer(int last, int next, int n) { return last >= n || (next < n && next > last); }

    /* Store the state of a source row after its arrivals in this turn, of which the first is not before
     * step n: beside the one before. */
    ND_MEMBER void put_source(int row, const Source &s, int n)
    {
        const bool here = ND_DIRECT && next_is_newer(arrivals[2 * row], next_arrivals[2 * row], n);
        int *const at = here ? arrivals : next_arrivals;
        real *const *const x = here ? pre : next_pre;
        at[2 * row] = s.last;
        at[2 * row + 1] = s.earlier;
        for (int v = 0; v < PRE; ++v) {
            x[v][2 * row] = s.x[v];
            x[v][2 * row + 1] = s.x_earlier[v];
        }
    }
};
