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
 *            source in steps lo .. hi, writes them down as bits, and lists its connections in pieces.
 *   before   At the beginning of a launch: the texts of intervals that are due in step hi.
 *   arrive   A warp takes a piece. Its synapses learn and send to the slots of their targets.
 *   after    Where a history would overflow, all synapses are brought up to date. No one else
 *            touches synapses then, so the components are advanced at the same time.
 *
 * All pieces of a source need to know its arrivals before. So `arrive` writes what is known after
 * them elsewhere (`next_arrivals`, `next_pre`), and the next scan takes it over. */
#include "synapse.cuh"

enum { ND_SYNAPSES = ND_PIECE / ND_WARP };      /* of a thread, which it advances side by side */
enum { ND_CHUNK = 8 * ND_PIECE };               /* synapses that a warp sweeps one after the other */
enum { ND_RECENT = 8 };                         /* spikes of a target that are looked at together */

/* Phases of a turn; and what is done between launches: to settle the arrivals, to sweep. */
enum { ND_LEARN_SCAN, ND_LEARN_BEFORE, ND_LEARN_ARRIVE, ND_LEARN_AFTER, ND_LEARN_SETTLE, ND_LEARN_SWEEP };
#include "learning_rows.cuh"

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

template <class Synapses, class Intervals, typename Code, typename Slot>
struct nd_learning : nd_learning_rows<Synapses, Code, Slot> {
    typedef nd_learning_rows<Synapses, Code, Slot> Rows;
    typedef typename Rows::Rule Rule;
    typedef typename Rows::Source Source;
    using Rows::PRE, Rows::OWN, Rows::synapses, Rows::block, Rows::begin, Rows::rows, Rows::longest;
    using Rows::code, Rows::own, Rows::from, Rows::next_arrivals, Rows::next_pre, Rows::found;
    using Rows::pieces, Rows::swept, Rows::clamped, Rows::learns, Rows::slots, Rows::turns, Rows::width;
    using Rows::per_unit, Rows::one_per_unit, Rows::largest, Rows::source, Rows::settle, Rows::block_of;
    using Rows::element_of, Rows::find_spikes, Rows::find_arrivals;

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

    /* -- arrive ------------------------------------------------------------------------------ */

    ND_MEMBER void deliver(int lo)
    {
        const int number = (int)swept[ND_LISTED], done = (int)swept[ND_SWEPT];
        for (int i = nd_warp(); i < number; i += nd_warps()) deliver_piece(__ldcg(pieces + i), lo, done);
    }

    /* The arrivals of a piece. */
    ND_MEMBER void deliver_piece(const uint4 &piece, int lo, int done)
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
