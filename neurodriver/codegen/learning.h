/* Synapses that learn, on a CPU.
 *
 * A synapse is brought up to date when a spike of its source arrives: it applies the spikes of its
 * target that it has seen since the arrival before. These wait in the history of the target. A sweep
 * brings all synapses up to date. Each thread has its own targets, and its own copy of what is known
 * of the sources, so no thread waits for another one.
 *
 * The rule (`codegen/rules.py`) says what happens at one synapse. `ND_BATCH` of them are advanced
 * together. */
#define ND_BATCH 512        /* synapses that are advanced together, */
#define ND_TARGETS_AHEAD 16 /* those whose targets are prefetched meanwhile */
#define ND_BATCH_ROUND 8    /* written together at the end of a batch: no short loop */
#define ND_BATCH_LANES 32   /* events that a vector loop advances together */

/* Why synapses are advanced: to be up to date, for a dose of a modulator, for a text of an interval, for
 * an arrival. */
enum nd_reason { ND_SWEEP, ND_DOSE, ND_INTERVAL, ND_ARRIVAL };

/* The rows of a variable of neurons, which synapses see `late` steps later. */
struct nd_rows_of_values {
    real *ring;
    long long depth, width, late;

    ND_METHOD real at(int row, long long element) const
    {
        return nd_row(ring, row - late, depth, width)[element];
    }
};

/* Events at some synapses, side by side. */
template <int PRE, int POST, int OWN, int MODULATORS, int VALUES> struct nd_event_lanes {
    typedef nd_before<PRE, POST, MODULATORS, VALUES> Before;
    int count[ND_BATCH_LANES], at[ND_BATCH_LANES], elapsed[ND_BATCH_LANES];
    int arrival[ND_BATCH_LANES], spike[ND_BATCH_LANES];
    real own[OWN][ND_BATCH_LANES], x[PRE + 1][ND_BATCH_LANES], y[POST + 1][ND_BATCH_LANES];
    real value[VALUES + 1][ND_BATCH_LANES];

    ND_METHOD Before before(int i) const
    {
        Before b;
        b.arrival = arrival[i];
        b.spike = spike[i];
        b.elapsed = elapsed[i];
        for (int v = 0; v < PRE; ++v) b.x[v] = x[v][i];
        for (int v = 0; v < POST; ++v) b.y[v] = y[v][i];
        for (int v = 0; v < VALUES; ++v) b.value[v] = value[v][i];
        return b;
    }

    ND_METHOD void clear(int i)
    {
        count[i] = at[i] = arrival[i] = spike[i] = elapsed[i] = 0;
        for (int v = 0; v < PRE; ++v) x[v][i] = 0;
        for (int v = 0; v < POST; ++v) y[v][i] = 0;
        for (int v = 0; v < VALUES; ++v) value[v][i] = 0;
        for (int v = 0; v < OWN; ++v) own[v][i] = 0;
    }
};

/* A source whose synapses are advanced: its last two arrivals, the traces after them, and the first
 * step whose spikes its synapses have not applied yet. */
template <int PRE> struct nd_source {
    int last, earlier, from, back, count;
    unsigned slots;             /* where slots begin that its synapses send to */
    real x[PRE + 1], x_earlier[PRE + 1];
};

/* Synapses that are advanced together, of one source or of several: their sources and targets, their
 * variables, and which of the spikes in the histories of the targets they apply next. `lane` lists
 * those that have one. */
template <int PRE, int OWN> struct nd_synapse_batch {
    int count = 0, sources = 0, waiting;
    nd_source<PRE> source[ND_BATCH];
    long long synapse[ND_BATCH + ND_BATCH_ROUND];
    int of[ND_BATCH + ND_BATCH_ROUND], place[ND_BATCH + ND_TARGETS_AHEAD] = {}, from[ND_BATCH], back[ND_BATCH];
    int next[ND_BATCH], past[ND_BATCH], lane[ND_BATCH + 1];
    unsigned slot[ND_BATCH + ND_TARGETS_AHEAD] = {};
    real own[OWN][ND_BATCH];
};

template <class Rule, typename Code, typename Slot, int depth>
struct nd_learning : nd_histories<Rule, depth> {
    typedef nd_histories<Rule, depth> Histories;
    using Histories::rule, Histories::spikes, Histories::post, Histories::swept, Histories::back;
    using Histories::POST, Histories::seen, Histories::load_trace, Histories::entry;
    static const int PRE = Rule::PRE, OWN = Rule::OWN;
    typedef nd_source<PRE> Source;
    typedef nd_order<Rule> Order;
    typedef nd_synapse_batch<PRE, OWN> Batch;
    static const int MODULATORS = Rule::MODULATORS;
    typedef nd_event_lanes<PRE, POST, OWN, MODULATORS, Rule::VALUES> Lanes;
    nd_rows_of_values value[Rule::VALUES + 1];  /* of the targets, which arrivals read */
    nd_rows_of_values shared[Rule::SHARED + 1]; /* modulators that are values, */
    long long element[Rule::SHARED + 1];        /* and where they stand in their rows */
    const long long *parts;     /* of each row, `stride` apart: begin and end of its connections; those of */
    long long stride, apart;    /* the next thread stand `apart` from them */
    const Code *code;           /* the place of each target */
    real *own[OWN];             /* weight, then the variables of each synapse */
    int *arrivals;              /* (rows, 2) */
    real *pre[PRE + 1];         /* (rows, 2) */
    long long *counts;          /* for messages to the user: `event_order.h` */
    real *level;                /* modulators after their last doses, */
    int *dosed;                 /* and the steps of these */
    int doses_of = -1;          /* the modulator whose text runs at a dose, */
    long long doses = 0;        /* and how many come */
    bool learns;
    Slot *slots;
    nd_dirty_byte *dirty;       /* null where no bitmap says which slots are dirty */
    unsigned now, end, width;   /* first slot of this step, slots of the ring, slots of a step */
    const real *per_unit;       /* of each target, or null */
    real one_per_unit, largest;
    int forward;
    Batch b;

    /* Apply to the synapses of the batch the spikes that they saw up to step n; then the arrival or the
     * dose of this step. */
    template <nd_reason why> void advance(int n)
    {
        find<why>(why == ND_ARRIVAL ? Order::pending_to(n) : n);
        if (why != ND_SWEEP || b.waiting) {
            for (int v = 0; v < OWN; ++v)
                for (int l = 0; l < b.count; ++l) b.own[v][l] = own[v][b.synapse[l]];
            while (learns && b.waiting) apply();
            real sent[ND_BATCH];
            if (why != ND_SWEEP && learns) take<why>(n, sent);
            for (int v = 0; Rule::CHANGES && learns && v < OWN; ++v)
                for (int l = 0; l < b.count; ++l) own[v][b.synapse[l]] = b.own[v][l];
            if (why == ND_ARRIVAL) send(learns ? sent : b.own[0]);
        }
        b.count = b.sources = 0;
    }

    /* Find the spikes before step `to` that the synapses of the batch have not applied yet. */
    template <nd_reason why> void find(int to)
    {
        int waiting = b.waiting = 0;
        for (int l = 0; l < b.count; ++l) {
            const Source &s = b.source[b.of[l]];
            b.from[l] = s.from - s.back;
            b.back[l] = s.back;
            b.place[l] = code[b.synapse[l]];
            b.slot[l] = s.slots + (unsigned)b.place[l];
        }
        if (!Rule::LOOKS) return;
        for (int l = 0; l < b.count; ++l) {
            const int ahead = l + ND_TARGETS_AHEAD, soon = b.place[ahead];  /* beyond the last: of before */
            __builtin_prefetch(spikes + entry(soon, 0));
            if (POST) __builtin_prefetch(post[0] + entry(soon, 0));
            if (why == ND_ARRIVAL) __builtin_prefetch(slots + b.slot[ahead], 1);
            int since, past;
            seen(b.place[l], b.from[l], to - b.back[l], since, past);
            b.next[l] = since - 1;
            b.past[l] = past;
            b.lane[waiting] = l;
            waiting += since > past;
        }
        b.waiting = waiting;
    }

    /* Apply one spike to each synapse that waits for one: the next of its target. Together they fill
     * the lanes of a vector, whichever synapses they belong to. */
    void apply()
    {
        const int waiting = b.waiting;
        int left = 0;
        for (int first = 0; first < waiting; first += ND_BATCH_LANES) {
            const int m = waiting - first < ND_BATCH_LANES ? waiting - first : ND_BATCH_LANES;
            const int *lane = b.lane + first;
            Lanes e;
            for (int i = 0; i < m; ++i) {
                const int l = lane[i], j = b.place[l], q = b.next[l];
                const Source &s = b.source[b.of[l]];
                const int t = spikes[entry(j, q)] + s.back;
                const bool same = Order::apart(t, s.last);
                e.arrival[i] = t - (same ? s.earlier : s.last);
                e.at[i] = t;
                load_trace(e, i, j, q + 1, t - s.back);
                if (Rule::ELAPSES)
                    e.elapsed[i] = Order::elapsed(rule, t, s.last <= t ? s.last : s.earlier, t - e.spike[i], dosed, t);
                for (int v = 0; v < PRE; ++v) e.x[v][i] = same ? s.x_earlier[v] : s.x[v];
                for (int v = 0; v < OWN; ++v) e.own[v][i] = b.own[v][l];
            }
            for (int i = m; i < ND_BATCH_LANES; ++i) e.clear(i);
            ND_SIMD
            for (int i = 0; i < ND_BATCH_LANES; ++i) {
                real state[OWN];
                for (int v = 0; v < OWN; ++v) state[v] = e.own[v][i];
                auto before = e.before(i);
                Order::modulate(before, e.at[i], level, dosed);
                if (Rule::DRIFTS) rule.between(state, before);
                rule.on_spike(state, before);
                for (int v = 0; v < OWN; ++v) e.own[v][i] = state[v];
            }
            for (int i = 0; i < m; ++i) {
                const int l = lane[i];
                for (int v = 0; v < OWN; ++v) b.own[v][l] = e.own[v][i];
                b.lane[left] = l;
                left += --b.next[l] >= b.past[l];
            }
        }
        b.waiting = left;
    }

    /* Spikes arrive at the synapses in step n, and `sent` is what they carry on; or a dose comes. */
    template <nd_reason why> void take(int n, real *sent)
    {
        for (int first = 0; first < b.count; first += ND_BATCH_LANES) {
            const int m = b.count - first < ND_BATCH_LANES ? b.count - first : ND_BATCH_LANES;
            Lanes e;
            for (int i = 0; i < m; ++i) {
                const int j = b.place[first + i], q = Rule::LOOKS ? b.past[first + i] : 0;
                const Source &s = b.source[b.of[first + i]];
                const int latest = spikes[entry(j, q)] + s.back;
                const bool skip = Order::skips(n, latest);
                e.arrival[i] = n - s.last;
                load_trace(e, i, j, q + skip, n - s.back);
                if (Rule::ELAPSES)
                    e.elapsed[i] = Order::elapsed(rule, n, s.last, latest, dosed, why == ND_INTERVAL ? n - 1 : n);
                for (int v = 0; v < PRE; ++v) e.x[v][i] = s.x[v];
                for (int v = 0; v < OWN; ++v) e.own[v][i] = b.own[v][first + i];
                for (int v = 0; v < Rule::VALUES; ++v) e.value[v][i] = value[v].at(n - s.back, j);
                e.count[i] = s.count;
            }
            for (int i = m; i < ND_BATCH_LANES; ++i) e.clear(i);
            ND_SIMD
            for (int i = 0; i < ND_BATCH_LANES; ++i) {
                real state[OWN];
                for (int v = 0; v < OWN; ++v) state[v] = e.own[v][i];
                auto before = e.before(i);
                Order::modulate(before, n, level, dosed);
                if (Rule::DRIFTS) rule.between(state, before);
                if (why == ND_ARRIVAL)
                    sent[first + i] = rule.on_arrival(state, before, (real)e.count[i]);
                else if (Rule::ACTS_AT_DOSES && why == ND_DOSE)
                    rule.on_dose(doses_of, state, before, (real)doses);
                for (int v = 0; v < OWN; ++v) b.own[v][first + i] = state[v];
            }
        }
    }

    /* Add what arrives to the slots of the targets. */
    void send(const real *sent)
    {
        real units[ND_BATCH];
        int beyond = 0;
        for (int l = 0; l < b.count; ++l) {
            const real value = sent[l] > largest ? largest : sent[l] < -largest ? -largest : sent[l];
            beyond += value != sent[l];
            units[l] = value * units_in(b.place[l]);
        }
        if (__builtin_expect(beyond, 0)) count(sent, units, beyond);
        for (int l = 0; l < b.count; ++l) {
            const unsigned q = b.slot[l];
            slots[q] += (Slot)__builtin_llrint(units[l]) * b.source[b.of[l]].count;
            if (dirty) dirty[q / ND_LANES] = ND_DIRTY;
        }
    }

    /* Count the values that were clamped, and those that are not a number: of these nothing arrives. */
    __attribute__((noinline, cold)) void count(const real *sent, real *units, int beyond)
    {
        for (int l = 0; l < b.count; ++l)
            if (sent[l] != sent[l]) units[l] = 0, --beyond, ++counts[ND_UNDEFINED];
        counts[ND_CLAMPED] += beyond;
    }

    ND_METHOD real units_in(int j) const { return per_unit ? per_unit[j] : one_per_unit; }
};
