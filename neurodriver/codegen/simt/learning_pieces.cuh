/* The synapses of a piece, which the threads of a warp advance together, on a GPU. */
/* Why synapses are advanced: to be up to date, for a dose of a modulator, for an arrival. */
enum nd_reason { ND_SWEEP, ND_DOSE, ND_ARRIVAL };

/* The latest spikes of a target, side by side in memory. */
ND_FN void nd_take_recent(const int *at, int *recent)
{
    const int4 a = *(const int4 *)at, b = *(const int4 *)(at + 4);
    recent[0] = a.x, recent[1] = a.y, recent[2] = a.z, recent[3] = a.w;
    recent[4] = b.x, recent[5] = b.y, recent[6] = b.z, recent[7] = b.w;
}

/* Synapses of a piece that have spikes to apply, in shared memory: from spike `next` - 1 of their
 * targets down to spike `past`. `list` says which they are. */
template <int OWN, int LENGTH> struct nd_waiting {
    real own[OWN][LENGTH];
    int place[LENGTH], next[LENGTH], past[LENGTH];
    unsigned char list[LENGTH];
};

/* What a thread holds of a piece: every ND_WARP-th synapse, N of them. */
template <int OWN, int N> struct nd_held {
    int place[N], past[N], waiting[N];
    real state[N][OWN];
};

template <class Synapses, typename Code, typename Slot>
struct nd_learning_pieces : nd_learning_rows<Synapses, Code, Slot> {
    typedef nd_learning_rows<Synapses, Code, Slot> Rows;
    typedef typename Rows::Rule Rule;
    typedef typename Rows::Source Source;
    static const int BESIDE = Synapses::BESIDE;
    using Rows::PRE, Rows::OWN, Rows::synapses, Rows::row_of, Rows::warp, Rows::warps, Rows::code, Rows::own, Rows::from;
    using Rows::next_arrivals, Rows::next_pre, Rows::found, Rows::pieces, Rows::most_pieces, Rows::swept, Rows::clamped;
    using Rows::learns, Rows::slots, Rows::turns, Rows::width, Rows::per_unit, Rows::one_per_unit;
    using Rows::largest, Rows::source;

    /* The number of pieces, the step up to which all are swept, and the first piece of this warp, if it
     * has one: all are loaded at once. */
    struct Work { int number, done; uint4 piece; };

    ND_MEMBER Work first_work() const
    {
        const uint4 piece = warp() < most_pieces ? __ldcg(pieces + warp()) : make_uint4(0, 0, 0, 0);
        return {(int)swept[ND_LISTED], (int)swept[ND_SWEPT], piece};
    }

    ND_MEMBER void deliver(int lo, const Work &first)
    {
        uint4 piece = first.piece;
        ND_ROLLED
        for (int i = warp(); i < first.number;) {
            i += warps;
            const uint4 next = i < first.number ? __ldcg(pieces + i) : piece;
            deliver_piece(piece, lo, first.done);
            piece = next;
        }
    }

    /* The arrivals of a piece. */
    ND_MEMBER void deliver_piece(const uint4 &piece, int lo, int done)
    {
        const long long first = (long long)(piece.y & 0xffffu) << 32 | piece.x;
        const int length = (int)(piece.y >> 16), row = (int)piece.z, only = (int)piece.w;
        const unsigned arrivals_of_row = found[row];
        const nd_source_row r = row_of(row);
        nd_held<OWN, BESIDE> h;
        load(h, first, length);
        Source s = source(row, false);
        synapses.back = r.back;
        ND_ROLLED
        for (unsigned bits = arrivals_of_row; bits; bits &= bits - 1) {
            const int n = lo + __ffs((int)bits) - 1;
            const int count = only ? only : nd_spikes(from.at(n - r.a, r.element));
            const unsigned now = (unsigned)(n + r.f) % turns * width;
            advance(h, s, Synapses::Order::pending_from(s.last, done), Synapses::Order::pending_to(n));
            arrive(h, length, s, n, count, now);
            s = synapses.after(s, count, n);
        }
        if (Rule::CHANGES && learns) store(h, first, length, ~0u);
        if (first != r.begin || nd_lane() != 0) return;
        next_arrivals[2 * row] = s.last;
        next_arrivals[2 * row + 1] = s.earlier;
        for (int v = 0; v < PRE; ++v) {
            next_pre[v][2 * row] = s.x[v];
            next_pre[v][2 * row + 1] = s.x_earlier[v];
        }
    }

    /* Bring synapses p to p + length - 1 to step n: the spikes that they saw from step `begins` on;
     * then, for a dose, to this step. At last call `text` for what belongs to each of them, with its
     * target and the number of spikes that it has not seen, where it `runs`. */
    template <nd_reason why, class Text>
    ND_MEMBER void bring_piece(long long p, int length, const Source &s, int begins, int n, bool runs, Text text)
    {
        nd_held<OWN, ND_SWEPT_BESIDE> h;
        load(h, p, length);
        advance(h, s, begins, n);
        unsigned changed = 0;
        ND_UNROLL
        for (int i = 0; i < ND_SWEPT_BESIDE; ++i) {
            if (why == ND_DOSE) synapses.drift(h.state[i], h.place[i], h.past[i], s, n);
            changed |= (unsigned)(h.waiting[i] > 0 || runs || why == ND_DOSE) << i;
            if (runs) text(h.state[i], h.place[i], h.past[i]);
        }
        store(h, p, length, changed);
    }

    template <int N> ND_MEMBER void load(nd_held<OWN, N> &h, long long p, int length) const
    {
        ND_UNROLL
        for (int i = 0; i < N; ++i) {
            const int at = i * ND_WARP + nd_lane();
            h.place[i] = __ldg(code + p + (at < length ? at : 0));
            for (int v = 0; v < OWN; ++v) h.state[i][v] = own[v][p + (at < length ? at : 0)];
        }
    }

    /* Store what a thread holds: of those of its synapses that a bit stands for. */
    template <int N> ND_MEMBER void store(const nd_held<OWN, N> &h, long long p, int length, unsigned which)
    {
        ND_UNROLL
        for (int i = 0; i < N; ++i) {
            const int at = i * ND_WARP + nd_lane();
            if (at < length && which >> i & 1)
                for (int v = 0; v < OWN; ++v) own[v][p + at] = h.state[i][v];
        }
    }

    /* Apply the spikes that the synapses saw from step `begins` on, before `ends`. */
    template <int N> ND_MEMBER void advance(nd_held<OWN, N> &h, const Source &s, int begins, int ends) const
    {
        ND_UNROLL
        for (int i = 0; i < N; ++i) {
            h.waiting[i] = h.past[i] = 0;
            if (Rule::LOOKS) find(h.place[i], begins, ends, h.waiting[i], h.past[i]);
        }
        if (Rule::LOOKS && learns) catch_up(h, s);
    }

    /* `count` spikes arrive in step n; what they carry goes to the slots from `now` on. */
    ND_MEMBER void arrive(nd_held<OWN, BESIDE> &h, int length, const Source &s, int n, int count, unsigned now)
    {
        real sent[BESIDE];
        ND_UNROLL
        for (int i = 0; i < BESIDE; ++i)
            sent[i] = learns ? synapses.arrive(h.state[i], h.place[i], h.past[i], s, n, count) : h.state[i][0];
        send(h.place, sent, length, count, now);
    }

    /* Apply the spikes that wait. The threads of a warp share them: in each round each synapse that
     * waits applies its next one, whichever thread that falls to. When there is a thread for each of
     * those that still wait, it applies all of one. */
    template <int N> ND_MEMBER void catch_up(nd_held<OWN, N> &h, const Source &s) const
    {
        typedef nd_waiting<OWN, N * ND_WARP> Waiting;
        static_assert(sizeof(Waiting) <= ND_WAITING_BYTES, "the room that a warp has for it");
        Waiting &all = *(Waiting *)nd_waiting_room();
        int number = 0;
        nd_together();
        ND_UNROLL
        for (int i = 0; i < N; ++i) {
            const int at = i * ND_WARP + nd_lane();
            const unsigned some = nd_ballot(h.waiting[i] > 0);
            if (h.waiting[i] > 0) {
                all.list[number + nd_lower(some)] = (unsigned char)at;
                all.place[at] = h.place[i];
                all.next[at] = h.past[i] + h.waiting[i];
                all.past[at] = h.past[i];
                for (int v = 0; v < OWN; ++v) all.own[v][at] = h.state[i][v];
            }
            number += nd_bits_in(some);
        }
        while (number > ND_WARP) {
            int left = 0;
            for (int base = 0; base < number; base += ND_WARP) {
                nd_together();
                const bool mine = base + nd_lane() < number;
                const int at = mine ? all.list[base + nd_lane()] : 0;
                const bool more = mine && apply(all, at, s, 1);
                nd_together();
                const unsigned some = nd_ballot(more);
                if (more) all.list[left + nd_lower(some)] = (unsigned char)at;
                left += nd_bits_in(some);
            }
            number = left;
        }
        nd_together();
        if (nd_lane() < number) apply(all, all.list[nd_lane()], s, Synapses::DEPTH);
        nd_together();
        ND_UNROLL
        for (int i = 0; i < N; ++i) {
            const int at = i * ND_WARP + nd_lane();
            if (h.waiting[i] > 0)
                for (int v = 0; v < OWN; ++v) h.state[i][v] = all.own[v][at];
        }
    }

    /* A synapse of each thread: all that waits at once. */
    ND_MEMBER void catch_up(nd_held<OWN, 1> &h, const Source &s) const
    {
        for (int q = h.past[0] + h.waiting[0]; q > h.past[0];) synapses.see(h.state[0], h.place[0], --q, s);
        nd_together();
    }

    /* Apply the next spikes of a synapse, `most` at most; returns whether others wait. */
    template <class Waiting> ND_MEMBER bool apply(Waiting &all, int at, const Source &s, int most) const
    {
        real own_[OWN];
        for (int v = 0; v < OWN; ++v) own_[v] = all.own[v][at];
        const int j = all.place[at], past = all.past[at];
        int q = all.next[at];
        do synapses.see(own_, j, --q, s);
        while (q > past && --most > 0);
        for (int v = 0; v < OWN; ++v) all.own[v][at] = own_[v];
        all.next[at] = q;
        return q > past;
    }

    /* The spikes that a synapse of target j saw from step `begins` on, before `ends`: how many wait,
     * and how many came after them. */
    ND_MEMBER void find(int j, int begins, int ends, int &waiting, int &past) const
    {
        const int *const spikes = synapses.spikes, back = synapses.back;
        int recent[ND_RECENT];
        nd_take_recent(spikes + synapses.entry(j, 0), recent);
        int next = 0;
        past = 0;
        ND_UNROLL
        for (int q = 0; q < ND_RECENT; ++q) {
            next += recent[q] + back >= begins;
            past += recent[q] + back >= ends;
        }
        while (next >= ND_RECENT && next < Synapses::DEPTH - 1 && spikes[synapses.entry(j, next)] + back >= begins) ++next;
        while (past >= ND_RECENT && past < next && spikes[synapses.entry(j, past)] + back >= ends) ++past;
        waiting = next > past ? next - past : 0;
    }

    ND_MEMBER void send(const int *place, const real *sent, int length, int count, unsigned now)
    {
        const unsigned long long policy = nd_slots_stay();
        int beyond = 0;
        ND_UNROLL
        for (int i = 0; i < BESIDE; ++i) {
            const int at = i * ND_WARP + nd_lane();
            const real value = sent[i] > largest ? largest : sent[i] < -largest ? -largest : sent[i];
            beyond += at < length && value != sent[i];
            const real units = nd_rint(value * units_in(place[i]));
            nd_add((unsigned)at, (unsigned)length, slots + (now + (unsigned)place[i]), (int)units, count, policy);
        }
        if (beyond) atomicAdd(clamped, (unsigned long long)beyond);
    }

    ND_MEMBER real units_in(int j) const { return per_unit ? per_unit[j] : one_per_unit; }
};
