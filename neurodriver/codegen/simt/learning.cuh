/* Synapses that learn, on a GPU.
 *
 * Connections are stored by their source, as `nd_learning` says. A synapse is brought up to date when
 * a spike of its source arrives: it applies the spikes of its target that it has seen since the
 * arrival before (synapse.cuh). So few synapses are touched in a step.
 *
 * A turn is what happens between two steps at which targets read slots. It brings the rows
 * lo .. hi, of which hi is the newest, and has four phases with barriers between them:
 *
 *   scan     A thread puts the spikes of a target into its history. A thread finds the arrivals of a
 *            source in steps lo .. hi, notes them as bits, and lists its connections in pieces.
 *   before   At the beginning of a launch: the texts of intervals that are due in step hi.
 *   arrive   A warp takes a piece. Its synapses learn and send to the slots of their targets.
 *   after    Where a history would overflow, all synapses are brought up to date. No one else
 *            touches synapses then, so the components are advanced at the same time.
 *
 * All pieces of a source need to know its arrivals before. So `arrive` writes what is known after
 * them elsewhere (`next_arrivals`, `next_pre`), and the next scan takes it over. */
#define ND_METHOD ND_MEMBER
#include "synapse.cuh"

enum { ND_SYNAPSES = ND_PIECE / ND_WARP };      /* of a thread, which it advances side by side */
enum { ND_CHUNK = 8 * ND_PIECE };               /* synapses that a warp sweeps one after the other */
enum { ND_LOOK = 8 };                           /* rows that are looked at together */
enum { ND_RECENT = 8 };                         /* spikes of a target that are looked at together */

/* Phases of a turn; and what is done between launches: to settle the arrivals, to sweep. */
enum { ND_LEARN_SCAN, ND_LEARN_BEFORE, ND_LEARN_ARRIVE, ND_LEARN_AFTER, ND_LEARN_SETTLE, ND_LEARN_SWEEP };

/* Words of `swept`: synapses have applied what they saw before a step; the same, as it was before a
 * sweep that is going on; a sweep to this step is asked for; pieces in the list. */
enum { ND_SWEPT = 0, ND_SWEPT_BEFORE = 2, ND_FULL = 3, ND_LISTED = 4 };

struct nd_events_of {       /* the rows of a variable of events */
    const real *ring;
    const long long *active;
    long long depth, width;

    ND_MEMBER real at(int row, int element) const
    {
        const long long place = nd_row_index(row, depth);
        const bool silent = row < 0 || (row > 0 && active[place] != row);
        return silent ? (real)0 : ring[place * width + element];
    }
};

/* The latest spikes of a target, side by side in memory. */
ND_FN void nd_take_recent(const int *at, int *recent)
{
    const int4 a = *(const int4 *)at, b = *(const int4 *)(at + 4);
    recent[0] = a.x, recent[1] = a.y, recent[2] = a.z, recent[3] = a.w;
    recent[4] = b.x, recent[5] = b.y, recent[6] = b.z, recent[7] = b.w;
}

/* Synapses of a piece that have spikes to apply, in shared memory: from spike `next` - 1 of their
 * targets down to spike `past`. `list` says which they are. */
template <int OWN> struct nd_waiting {
    real own[OWN][ND_PIECE];
    int place[ND_PIECE], next[ND_PIECE], past[ND_PIECE];
    unsigned char list[ND_PIECE];
};

ND_FN int nd_warp() { return (int)(nd_first_of_all() / ND_WARP); }
ND_FN int nd_warps() { return (int)(nd_number_of_all() / ND_WARP); }

template <class Synapses, class Intervals, typename Code, typename Slot> struct nd_learning {
    typedef typename Synapses::Rule Rule;
    typedef typename Synapses::Source Source;
    static const int PRE = Rule::PRE, OWN = Rule::OWN;
    Synapses synapses;
    const long long *block;     /* (blocks, 7): a, elements, first row, listed, f, b */
    const int *listed;
    const long long *begin;     /* (rows + 1,) */
    int blocks, rows, longest;  /* connections of a row at most */
    const Code *code;           /* the place of each target */
    real *own[OWN];             /* weight, then the variables of each synapse */
    nd_events_of from, to;      /* spikes of the sources, of the targets */
    int targets, first_target, longest_back;
    int *unswept;               /* spikes of each target since the last sweep */
    int *arrivals, *next_arrivals;              /* (rows, 2) */
    real *pre[PRE + 1], *next_pre[PRE + 1];     /* (rows, 2) */
    unsigned *found;            /* of each row: bit i is an arrival in step lo + i */
    uint4 *pieces;
    long long *swept;
    unsigned long long *clamped;
    bool learns;
    Slot *slots;
    unsigned turns, width;      /* rows of slots, slots of a row */
    const real *per_unit;       /* of each target, or null */
    real one_per_unit, largest;

    template <int phase> ND_MEMBER void run(int lo, int hi, long long last)
    {
        if (phase == ND_LEARN_SCAN) {
            find_spikes(lo, hi);
            find_arrivals(lo, hi);
            if (nd_first_of_all() == 0) swept[ND_SWEPT_BEFORE] = swept[ND_SWEPT];
        } else if (phase == ND_LEARN_BEFORE) {
            if (Intervals::due(hi)) sweep(hi, true, false);
        } else if (phase == ND_LEARN_ARRIVE) {
            deliver(lo);
            if (nd_first_of_all() == 0) swept[ND_SWEPT_BEFORE] = swept[ND_SWEPT];
        } else if (phase == ND_LEARN_AFTER) {
            const bool due = hi + 1 < last && Intervals::due(hi + 1);
            if (due || swept[ND_FULL] == hi + 1) sweep(hi + 1, due, true);
            if (nd_first_of_all() == 0) swept[ND_LISTED] = 0;
        } else if (phase == ND_LEARN_SETTLE) {
            for (int row = (int)nd_first_of_all(); row < rows; row += (int)nd_number_of_all()) settle(row);
            if (nd_first_of_all() == 0) swept[ND_SWEPT_BEFORE] = swept[ND_SWEPT];
        } else {
            sweep(hi, false, false);
        }
    }

    /* -- scan -------------------------------------------------------------------------------- */

    /* Put the spikes of rows lo .. hi into the histories of the targets. */
    ND_MEMBER void find_spikes(int lo, int hi)
    {
        if (!to.ring) return;
        for (int base = nd_warp() * ND_WARP; base < targets; base += nd_warps() * ND_WARP) {
            const int j = base + nd_lane();
            unsigned bits = 0;
            for (int row = lo; row <= hi; row += ND_LOOK) {
                real x[ND_LOOK];
                for (int i = 0; i < ND_LOOK; ++i)
                    x[i] = row + i <= hi && j < targets ? to.at(row + i, first_target + j) : (real)0;
                for (int i = 0; i < ND_LOOK; ++i) bits |= (unsigned)(x[i] != 0) << (row + i - lo & 31);
            }
            for (unsigned some = nd_ballot(bits != 0); some; some &= some - 1) {
                const int lane = __ffs((int)some) - 1;
                add_spikes(base + lane, lo, nd_from(bits, lane), hi);
            }
        }
    }

    /* Spikes of one target, by the threads of a warp: bit i of `bits` is one in row lo + i. */
    ND_MEMBER void add_spikes(int j, int lo, unsigned bits, int hi)
    {
        for (; bits; bits &= bits - 1) add_spike(j, lo + __ffs((int)bits) - 1, hi);
    }

    /* Put a spike before those of a history. The spikes that have been swept, but for the last one,
     * are of no more use: they stay where they are. */
    ND_MEMBER void add_spike(int j, int row, int hi)
    {
        int *const at = synapses.spikes + synapses.entry(j, 0);
        const int kept = unswept[j] + 1;    /* that move on */
        for (int base = (kept - 1) / ND_WARP * ND_WARP; base >= 0; base -= ND_WARP) {
            const int i = base + nd_lane();
            const bool moves = i < kept && i + 1 < Synapses::DEPTH;
            const int old = i < Synapses::DEPTH ? at[i] : 0;
            real y[Synapses::POST + 1];
            for (int v = 0; v < Synapses::POST; ++v)
                y[v] = i < Synapses::DEPTH ? synapses.post[v][synapses.entry(j, i)] : (real)0;
            nd_together();
            if (moves) at[i + 1] = old;
            for (int v = 0; v < Synapses::POST; ++v) {
                real *const of = synapses.post[v] + synapses.entry(j, 0);
                if (moves) of[i + 1] = y[v];
                if (i == 0) of[0] = synapses.rule.post_after(v, y[v], row - old);
            }
            if (i == 0) at[0] = row;
            nd_together();
        }
        if (nd_lane() == 0) note_count(j, at, hi);
        nd_together();
    }

    /* A target has had one more spike; ask for a sweep where one more window is too many. */
    ND_MEMBER void note_count(int j, const int *at, int hi)
    {
        const int most = Synapses::DEPTH - 2 - (ND_WINDOW ? ND_WINDOW : 1);
        int left = unswept[j] + 1;
        if (left > most) {
            int n = 0;
            while (n < left && at[n] + longest_back >= swept[ND_SWEPT]) ++n;
            left = n;
            if (n > most) swept[ND_FULL] = hi + 1;
        }
        unswept[j] = left;
    }

    /* Take over what the last arrivals of a row have left. */
    ND_MEMBER void settle(int row)
    {
        if (!found[row]) return;
        for (int i = 2 * row; i < 2 * row + 2; ++i) {
            arrivals[i] = next_arrivals[i];
            for (int v = 0; v < PRE; ++v) pre[v][i] = next_pre[v][i];
        }
        found[row] = 0;
    }

    /* The block of a row. */
    ND_MEMBER int block_of(int row) const
    {
        int low = 0, high = blocks;
        while (high - low > 1) {
            const int middle = (low + high) / 2;
            if (block[7 * middle + 3] <= row) low = middle;
            else high = middle;
        }
        return low;
    }

    /* The element of the sources' rows that belongs to a row of connections. */
    ND_MEMBER int element_of(const long long *of, int row) const
    {
        const int i = (int)of[1] + row - (int)of[3];
        return of[4] ? listed[i] : i;
    }

    ND_MEMBER void find_arrivals(int lo, int hi)
    {
        const int warp = nd_warps() - 1 - nd_warp();    /* the others have the targets */
        for (int base = warp * ND_WARP; base < rows; base += nd_warps() * ND_WARP) {
            const int row = base + nd_lane();
            unsigned bits = 0;
            int b = 0, spikes = 0;
            long long first = 0, past = 0;
            if (row < rows) {
                settle(row);
                b = block_of(row);
                const long long *of = block + 7 * b;
                const int element = element_of(of, row), a = (int)of[0];
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
                if (bits) first = begin[row], past = begin[row + 1];
                if (past > first) found[row] = bits;
            }
            if (nd_ballot(past > first)) list(row, b, bits & (bits - 1) ? 0 : spikes, first, past);
        }
    }

    /* List the connections of a warp's rows; `count`: spikes of the only arrival, or 0. */
    ND_MEMBER void list(int row, int b, int count, long long first, long long past)
    {
        const int number = (int)((past - first + ND_PIECE - 1) / ND_PIECE);
        const int end = nd_sum_up_to_here(number), total = nd_from(end, ND_WARP - 1);
        unsigned at = 0;
        if (nd_lane() == 0) at = (unsigned)atomicAdd((unsigned long long *)(swept + ND_LISTED), (unsigned long long)total);
        const unsigned mine = nd_from(at, 0) + (unsigned)(end - number);
        for (unsigned some = nd_ballot(number > 0); some; some &= some - 1) {
            const int lane = __ffs((int)some) - 1, many = nd_from(number, lane);
            const long long p = nd_from(first, lane), q = nd_from(past, lane);
            const unsigned where = nd_from(mine, lane), what = (unsigned)nd_from(b | count << 20, lane);
            const unsigned of = (unsigned)nd_from(row, lane);
            for (int i = nd_lane(); i < many; i += ND_WARP) {
                const long long start = p + (long long)i * ND_PIECE;
                const unsigned length = q - start < ND_PIECE ? (unsigned)(q - start) : ND_PIECE;
                __stcg(pieces + where + i, make_uint4((unsigned)start, (unsigned)(start >> 32) | length << 16, of, what));
            }
        }
    }

    /* -- arrive ------------------------------------------------------------------------------ */

    /* What is known of the source of a row, before or after the arrivals of this turn. */
    ND_MEMBER Source source(int row, bool after) const
    {
        const bool next = after && found[row];
        const int *const at = next ? next_arrivals : arrivals;
        Source s;
        s.last = at[2 * row];
        s.earlier = at[2 * row + 1];
        for (int v = 0; v < PRE; ++v) {
            const real *const x = next ? next_pre[v] : pre[v];
            s.x[v] = x[2 * row];
            s.x_earlier[v] = x[2 * row + 1];
        }
        return s;
    }

    ND_MEMBER void deliver(int lo)
    {
        const int number = (int)swept[ND_LISTED], done = (int)swept[ND_SWEPT];
        for (int i = nd_warp(); i < number; i += nd_warps()) deal(__ldcg(pieces + i), lo, done);
    }

    /* The arrivals of a piece. */
    ND_MEMBER void deal(const uint4 &piece, int lo, int done)
    {
        const long long first = (long long)(piece.y & 0xffffu) << 32 | piece.x;
        const int length = (int)(piece.y >> 16), row = (int)piece.z, only = (int)(piece.w >> 20);
        const long long *of = block + 7 * (piece.w & 0xfffffu);
        const int a = (int)of[0], f = (int)of[5];
        synapses.back = (int)of[6];
        Source s = source(row, false);
        for (unsigned bits = found[row]; bits; bits &= bits - 1) {
            const int n = lo + __ffs((int)bits) - 1;
            const int count = only ? only : nd_spikes(from.at(n - a, element_of(of, row)));
            const unsigned now = (unsigned)((unsigned long long)(n + f) % turns) * width;
            const int begins = Synapses::pending_from(s, done), ends = Synapses::pending_to(n);
            advance<true>(first, length, s, begins, ends, n, count, now);
            s = synapses.after(s, count, n);
        }
        if (first != begin[row] || nd_lane() != 0) return;
        next_arrivals[2 * row] = s.last;
        next_arrivals[2 * row + 1] = s.earlier;
        for (int v = 0; v < PRE; ++v) {
            next_pre[v][2 * row] = s.x[v];
            next_pre[v][2 * row + 1] = s.x_earlier[v];
        }
    }

    /* Apply to synapses p to p + length - 1 the spikes that they saw from step `begins` on, before
     * `ends`; then the arrival of step n. */
    template <bool arrives>
    ND_MEMBER void advance(long long p, int length, const Source &s, int begins, int ends, int n, int count, unsigned now)
    {
        int place[ND_SYNAPSES], past[ND_SYNAPSES], waiting[ND_SYNAPSES];
        real state[ND_SYNAPSES][OWN];
        ND_UNROLL
        for (int i = 0; i < ND_SYNAPSES; ++i) {
            const int at = i * ND_WARP + nd_lane();
            place[i] = code[p + (at < length ? at : 0)];
        }
        if (arrives || learns) {
            ND_UNROLL
            for (int i = 0; i < ND_SYNAPSES; ++i) {
                const int at = i * ND_WARP + nd_lane();
                for (int v = 0; v < OWN; ++v) state[i][v] = own[v][p + (at < length ? at : 0)];
            }
        }
        ND_UNROLL
        for (int i = 0; i < ND_SYNAPSES; ++i) find(place[i], begins, ends, waiting[i], past[i]);
        if (learns) catch_up(state, place, past, waiting, s);
        real sent[ND_SYNAPSES];
        ND_UNROLL
        for (int i = 0; i < ND_SYNAPSES; ++i) {
            if (arrives && learns) sent[i] = synapses.arrive(state[i], place[i], past[i], s, n, count);
            else if (arrives) sent[i] = state[i][0];
        }
        ND_UNROLL
        for (int i = 0; i < ND_SYNAPSES; ++i) {
            const int at = i * ND_WARP + nd_lane();
            if (learns && at < length && (arrives || waiting[i] > 0))
                for (int v = 0; v < OWN; ++v) own[v][p + at] = state[i][v];
        }
        if (arrives) send(place, sent, length, count, now);
    }

    /* Apply the spikes that wait. The threads of a warp share them: in each round each synapse that
     * waits applies its next one, whichever thread that falls to. */
    ND_MEMBER void catch_up(real (*state)[OWN], const int *place, const int *past, const int *waiting, const Source &s) const
    {
        typedef nd_waiting<OWN> Waiting;
        static_assert(sizeof(Waiting) <= ND_WAITING_BYTES, "the room that a warp has for it");
        Waiting &all = *(Waiting *)nd_waiting_room();
        int number = 0;
        nd_together();
        ND_UNROLL
        for (int i = 0; i < ND_SYNAPSES; ++i) {
            const int at = i * ND_WARP + nd_lane();
            const unsigned some = nd_ballot(waiting[i] > 0);
            if (waiting[i] > 0) {
                all.list[number + nd_lower(some)] = (unsigned char)at;
                all.place[at] = place[i];
                all.next[at] = past[i] + waiting[i];
                all.past[at] = past[i];
                for (int v = 0; v < OWN; ++v) all.own[v][at] = state[i][v];
            }
            number += nd_bits_in(some);
        }
        while (number) {
            int left = 0;
            for (int base = 0; base < number; base += ND_WARP) {
                nd_together();
                const bool mine = base + nd_lane() < number;
                const int at = mine ? all.list[base + nd_lane()] : 0;
                bool more = false;
                if (mine) {
                    real own_[OWN];
                    for (int v = 0; v < OWN; ++v) own_[v] = all.own[v][at];
                    const int q = all.next[at] - 1;
                    synapses.see(own_, all.place[at], q, s);
                    for (int v = 0; v < OWN; ++v) all.own[v][at] = own_[v];
                    all.next[at] = q;
                    more = q > all.past[at];
                }
                nd_together();
                const unsigned some = nd_ballot(more);
                if (more) all.list[left + nd_lower(some)] = (unsigned char)at;
                left += nd_bits_in(some);
            }
            number = left;
        }
        nd_together();
        ND_UNROLL
        for (int i = 0; i < ND_SYNAPSES; ++i) {
            const int at = i * ND_WARP + nd_lane();
            if (waiting[i] > 0)
                for (int v = 0; v < OWN; ++v) state[i][v] = all.own[v][at];
        }
    }

    /* The spikes that a synapse of target j saw from step `begins` on, before `ends`: how many wait,
     * and how many came after them. */
    ND_MEMBER void find(int j, int begins, int ends, int &waiting, int &past) const
    {
        const int *const at = synapses.spikes + synapses.entry(j, 0), back = synapses.back;
        int recent[ND_RECENT];
        nd_take_recent(at, recent);
        int next = 0;
        past = 0;
        ND_UNROLL
        for (int q = 0; q < ND_RECENT; ++q) {
            next += recent[q] + back >= begins;
            past += recent[q] + back >= ends;
        }
        while (next >= ND_RECENT && next < Synapses::DEPTH - 1 && at[next] + back >= begins) ++next;
        while (past >= ND_RECENT && past < next && at[past] + back >= ends) ++past;
        waiting = next > past ? next - past : 0;
    }

    ND_MEMBER void send(const int *place, const real *sent, int length, int count, unsigned now)
    {
        const unsigned long long policy = nd_slots_stay();
        int beyond = 0;
        ND_UNROLL
        for (int i = 0; i < ND_SYNAPSES; ++i) {
            const int at = i * ND_WARP + nd_lane();
            const real value = sent[i] > largest ? largest : sent[i] < -largest ? -largest : sent[i];
            beyond += at < length && value != sent[i];
            const real units = nd_rint(value * (per_unit ? per_unit[place[i]] : one_per_unit));
            nd_add((unsigned)at, (unsigned)length, slots + (now + (unsigned)place[i]), (int)units, count, policy);
        }
        if (beyond) atomicAdd(clamped, (unsigned long long)beyond);
    }

    /* -- all synapses ------------------------------------------------------------------------ */

    /* Apply the spikes that all synapses saw before step n, all of whose arrivals before are known,
     * `after` those of this turn or not; then run the texts of intervals. */
    ND_MEMBER void sweep(int n, bool runs, bool after)
    {
        const int done = (int)swept[ND_SWEPT_BEFORE], chunks = (longest + ND_CHUNK - 1) / ND_CHUNK;
        for (long long i = nd_warp(); i < (long long)rows * chunks; i += nd_warps()) {
            const int row = (int)(i / chunks);
            const long long first = begin[row] + (i % chunks) * ND_CHUNK, last = begin[row + 1];
            if (first >= last) continue;
            synapses.back = (int)block[7 * block_of(row) + 6];
            const Source s = source(row, after);
            const int begins = Synapses::pending_from(s, done);
            for (long long p = first; p < last && p < first + ND_CHUNK; p += ND_PIECE) {
                const int length = last - p < ND_PIECE ? (int)(last - p) : ND_PIECE;
                advance<false>(p, length, s, begins, n, n, 0, 0);
                if (runs && learns) run_intervals(p, length, n);
            }
        }
        if (nd_first_of_all() == 0) swept[ND_SWEPT] = n;
    }

    ND_MEMBER void run_intervals(long long p, int length, int n)
    {
        for (int at = nd_lane(); at < length; at += ND_WARP) {
            real state[OWN];
            for (int v = 0; v < OWN; ++v) state[v] = own[v][p + at];
            Intervals::run(synapses.rule, state, n);
            for (int v = 0; v < OWN; ++v) own[v][p + at] = state[v];
        }
    }
};

/* A phase is a function of its own: what it keeps in registers takes none from components. */
template <class Learning, int phase> ND_APART void nd_learn_in(int lo, int hi, long long last)
{
    auto own = Learning::made();
    own.template run<phase>(lo, hi, last);
}
template <class Learning> ND_FN void nd_learn_of(int phase, int lo, int hi, long long last)
{
    switch (phase) {
    case ND_LEARN_SCAN: nd_learn_in<Learning, ND_LEARN_SCAN>(lo, hi, last); break;
    case ND_LEARN_BEFORE: nd_learn_in<Learning, ND_LEARN_BEFORE>(lo, hi, last); break;
    case ND_LEARN_ARRIVE: nd_learn_in<Learning, ND_LEARN_ARRIVE>(lo, hi, last); break;
    case ND_LEARN_AFTER: nd_learn_in<Learning, ND_LEARN_AFTER>(lo, hi, last); break;
    case ND_LEARN_SETTLE: nd_learn_in<Learning, ND_LEARN_SETTLE>(lo, hi, last); break;
    default: nd_learn_in<Learning, ND_LEARN_SWEEP>(lo, hi, last);
    }
}
