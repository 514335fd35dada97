/* What the synapses of a piece have seen and not applied yet, on a GPU: spikes of their targets, and texts
 * of intervals. The threads of a warp apply it together. */
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
template <int OWN, int POST, int N> struct nd_held {
    int place[N], past[N], waiting[N];
    real state[N][OWN];
    real latest[POST + 1];      /* where N is 1: traces after the last spike of the target */
};

/* What synapses have not applied before an event: spikes of their targets that they saw from step
 * `begins` on, before `ends`; texts of intervals from step `due` on, before `until`. */
struct nd_pending { int begins, ends, due, until; };

template <class Synapses, class Intervals, typename Code, typename Slot>
struct nd_learning_catch_up : nd_learning_modulators<Synapses, Intervals, Code, Slot> {
    typedef nd_learning_modulators<Synapses, Intervals, Code, Slot> Rows;
    typedef typename Rows::Rule Rule;
    typedef typename Rows::Source Source;
    using Rows::OWN, Rows::MODULATORS, Rows::synapses, Rows::learns;
    static const int POST = Synapses::POST;
    template <int N> using Held = nd_held<OWN, POST, N>;

    /* The step in which the last spike of target j is seen. In a sweep most targets have not spiked. */
    ND_MEMBER int latest(int j) const { return synapses.spikes[synapses.entry(j, 0)] + synapses.back; }

    /* Apply what is pending; returns whether texts of intervals have been run. */
    template <int N> ND_MEMBER bool advance(Held<N> &h, const Source &s, const nd_pending &p) const
    {
        for (int v = 0; N == 1 && v < POST; ++v) h.latest[v] = synapses.post[v][synapses.entry(h.place[0], 0)];
        ND_UNROLL
        for (int i = 0; i < N; ++i) h.waiting[i] = Rule::LOOKS && (N == 1 || latest(h.place[i]) >= p.begins);
        ND_UNROLL
        for (int i = 0; i < N; ++i) {
            h.past[i] = 0;
            if (h.waiting[i]) find(h.place[i], p.begins, p.ends, h.waiting[i], h.past[i]);
        }
        if (Intervals::WAIT && learns) return run_texts(h, s, p.due, p.until);
        if (Rule::LOOKS && learns) catch_up(h, s);
        return false;
    }

    /* Run texts of intervals that have waited, from step `due` on, before `until`; before each one
     * apply the spikes that the synapses saw before, and at last the others. */
    template <int N> ND_MEMBER bool run_texts(Held<N> &h, const Source &s, int due, int until) const
    {
        const int first = (due > 1 ? due + Intervals::EACH - 1 : Intervals::EACH) / Intervals::EACH;
        const typename Synapses::Values none = {};
        this->share_kept();
        ND_UNROLL
        for (int i = 0; i < N; ++i) {
            int next = h.past[i] + h.waiting[i], when = seen_in(h, i, next), place = first;
            ND_ROLLED
            for (;;) {
                ND_ROLLED
                for (int n = place * Intervals::EACH; n < until && n <= when; n += Intervals::EACH, ++place) {
                    real now[MODULATORS + 1];
                    for (int v = 0; v < MODULATORS; ++v) now[v] = this->kept_in(v, place);
                    for (int j = 0; j < Intervals::TEXTS; ++j)
                        if (Intervals::waits_in(j, n)) Intervals::run(synapses.rule, j, h.state[i], now, nullptr, none);
                }
                if (next <= h.past[i]) break;
                synapses.see(h.state[i], h.place[i], --next, s);
                when = seen_in(h, i, next);
            }
        }
        nd_together();
        return first * Intervals::EACH < until;
    }

    /* The step in which synapse i saw the next spike that waits for it. */
    template <int N> ND_MEMBER int seen_in(const Held<N> &h, int i, int next) const
    {
        return next > h.past[i] ? synapses.spikes[synapses.entry(h.place[i], next - 1)] + synapses.back : -ND_NEVER;
    }

    /* Apply the spikes that wait. The threads of a warp share them: in each round each synapse that
     * waits applies its next one, whichever thread that falls to. When there is a thread for each of
     * those that still wait, it applies all of one. */
    template <int N> ND_MEMBER void catch_up(Held<N> &h, const Source &s) const
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
    ND_MEMBER void catch_up(Held<1> &h, const Source &s) const
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
};
