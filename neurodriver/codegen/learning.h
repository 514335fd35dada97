/* Synapses that learn, on a CPU.
 *
 * A synapse is brought up to date when a spike of its source arrives: it applies the spikes of its
 * target that it has seen since the arrival before. These wait in the history of the target. A sweep
 * brings all synapses up to date. Each thread has its own targets, and its own copy of what is known
 * of the sources, so no thread waits for another one.
 *
 * The rule (`codegen/rules.py`) says what happens at one synapse. `ND_BATCH` of them are advanced
 * together. */
#define ND_BATCH 256        /* synapses of a source that are advanced together, */
#define ND_BATCH_LANES 16   /* and by one vector loop */
#define ND_TARGETS_AHEAD 16 /* synapses ahead whose targets are prefetched */

/* Why synapses are advanced: to be up to date, for a dose of a modulator, for an arrival. */
enum nd_reason { ND_SWEEP, ND_DOSE, ND_ARRIVAL };

/* Events at some synapses, side by side. */
template <int PRE, int POST, int OWN, int MODULATORS> struct nd_event_lanes {
    typedef nd_before<PRE, POST, MODULATORS> Before;
    int at[ND_BATCH_LANES], arrival[ND_BATCH_LANES], spike[ND_BATCH_LANES], elapsed[ND_BATCH_LANES];
    real own[OWN][ND_BATCH_LANES], x[PRE + 1][ND_BATCH_LANES], y[POST + 1][ND_BATCH_LANES];

    ND_METHOD Before before(int i) const
    {
        Before b;
        b.arrival = arrival[i];
        b.spike = spike[i];
        b.elapsed = elapsed[i];
        for (int v = 0; v < PRE; ++v) b.x[v] = x[v][i];
        for (int v = 0; v < POST; ++v) b.y[v] = y[v][i];
        return b;
    }

    void clear(int i)
    {
        at[i] = arrival[i] = spike[i] = elapsed[i] = 0;
        for (int v = 0; v < PRE; ++v) x[v][i] = 0;
        for (int v = 0; v < POST; ++v) y[v][i] = 0;
        for (int v = 0; v < OWN; ++v) own[v][i] = 0;
    }
};

/* Synapses of one source: their targets, their variables, and which of the spikes in the histories of
 * the targets they apply next. `lane` lists those that have one. */
template <int OWN> struct nd_synapse_batch {
    int place[ND_BATCH], next[ND_BATCH], past[ND_BATCH], lane[ND_BATCH + 1], waiting;
    real own[OWN][ND_BATCH];
};

/* The arrivals of one source: the last two, and the traces after them. */
template <int PRE> struct nd_source {
    int last, earlier;
    real x[PRE + 1], x_earlier[PRE + 1];
};

template <class Rule, typename Code, typename Slot, int depth>
struct nd_learning : nd_histories<Rule, depth> {
    typedef nd_histories<Rule, depth> Histories;
    using Histories::rule, Histories::spikes, Histories::post, Histories::swept, Histories::back;
    using Histories::POST, Histories::seen, Histories::load_trace;
    static const int PRE = Rule::PRE, OWN = Rule::OWN;
    typedef nd_source<PRE> Source;
    typedef nd_synapse_batch<OWN> Batch;
    static const int MODULATORS = Rule::MODULATORS;
    typedef nd_event_lanes<PRE, POST, OWN, MODULATORS> Lanes;
    const long long *parts;     /* of each row, `stride` apart: begin and end of its connections */
    int stride;
    const Code *code;           /* the place of each target */
    real *own[OWN];             /* weight, then the variables of each synapse */
    int *arrivals;              /* (rows, 2) */
    real *pre[PRE + 1];         /* (rows, 2) */
    long long *clamped;
    real *level;                /* modulators after their last doses, */
    int *dosed;                 /* and the steps of these */
    bool learns;
    Slot *slots;
    nd_dirty_byte *dirty;       /* null where no bitmap says which slots are dirty */
    unsigned now, end, width;   /* first slot of this step, slots of the ring, slots of a step */
    const real *per_unit;       /* of each target, or null */
    real one_per_unit, largest;
    int forward;

    /* -- arrivals ---------------------------------------------------------------------------- */

    Source source(long long row) const
    {
        Source s;
        s.last = arrivals[2 * row];
        s.earlier = arrivals[2 * row + 1];
        for (int v = 0; v < PRE; ++v) {
            s.x[v] = pre[v][2 * row];
            s.x_earlier[v] = pre[v][2 * row + 1];
        }
        return s;
    }

    /* The first step whose spikes a row's synapses have not applied yet. */
    int from(const Source &s) const
    {
        const int next = s.last + (Rule::SPIKE_FIRST ? 1 : 0);
        return next > swept[0] ? next : (int)swept[0];
    }

    /* `count` spikes of a source arrive at its synapses in step n. */
    void arrive(long long row, int count, int n)
    {
        if (count <= 0) return;
        const Source s = source(row);
        const int begin = from(s), past = n + (Rule::SPIKE_FIRST ? 1 : 0);
        const long long *part = parts + row * stride;
        for (long long p = part[0]; p < part[1]; p += ND_BATCH) {
            const int m = part[1] - p < ND_BATCH ? (int)(part[1] - p) : ND_BATCH;
            advance<ND_ARRIVAL>(p, m, s, begin, past, n, count);
        }
        for (int v = 0; v < PRE; ++v) {
            pre[v][2 * row + 1] = s.x[v];
            pre[v][2 * row] = rule.pre_after(v, s.x[v], n - s.last, count);
        }
        arrivals[2 * row + 1] = s.last;
        arrivals[2 * row] = n;
    }

    /* Apply to synapses p to p + m - 1 the spikes that they saw from step `from` on, before `to`; then
     * the arrival or the dose of step n. */
    template <nd_reason why>
    void advance(long long p, int m, const Source &s, int from, int to, int n, int count)
    {
        Batch b;
        find(b, p, m, from, to);
        if (why == ND_SWEEP && !b.waiting) return;
        for (int v = 0; v < OWN; ++v) __builtin_memcpy(b.own[v], own[v] + p, m * sizeof(real));
        while (learns && b.waiting) apply(b, s);
        real sent[ND_BATCH];
        if (why != ND_SWEEP && learns) take<why>(b, m, s, n, count, sent);
        if (learns)
            for (int v = 0; v < OWN; ++v) __builtin_memcpy(own[v] + p, b.own[v], m * sizeof(real));
        if (why == ND_ARRIVAL) send(b.place, learns ? sent : b.own[0], m, count);
    }

    /* Find the spikes that some synapses have not applied yet. */
    void find(Batch &b, long long p, int m, int from, int to) const
    {
        b.waiting = 0;
        for (int l = 0; l < m; ++l) {
            const int j = b.place[l] = code[p + l];
            const int soon = code[p + (l + ND_TARGETS_AHEAD < m ? l + ND_TARGETS_AHEAD : m - 1)];
            __builtin_prefetch(spikes + (long long)soon * depth);
            if (POST) __builtin_prefetch(post[0] + (long long)soon * depth);
            int since, past;
            seen(j, from, to, since, past);
            b.next[l] = since - 1;
            b.past[l] = past;
            b.lane[b.waiting] = l;
            b.waiting += since > past;
        }
    }

    /* Apply one spike to each synapse that waits for one: the next of its target. Together they fill
     * the lanes of a vector, whichever synapses they belong to. */
    void apply(Batch &b, const Source &s) const
    {
        const int waiting = b.waiting;
        b.waiting = 0;
        for (int first = 0; first < waiting; first += ND_BATCH_LANES) {
            const int m = waiting - first < ND_BATCH_LANES ? waiting - first : ND_BATCH_LANES;
            const int *lane = b.lane + first;
            Lanes e;
            for (int i = 0; i < m; ++i) {
                const int l = lane[i], j = b.place[l], q = b.next[l];
                const int t = spikes[(long long)j * depth + q] + back;
                const bool same = !Rule::SPIKE_FIRST && !Rule::PAIR && t == s.last;
                e.arrival[i] = t - (same ? s.earlier : s.last);
                e.at[i] = t;
                load_trace(e, i, j, q + 1, t);
                if (Rule::ELAPSES)
                    e.elapsed[i] = elapsed(t, s.last <= t ? s.last : s.earlier, t - e.spike[i]);
                for (int v = 0; v < PRE; ++v) e.x[v][i] = same ? s.x_earlier[v] : s.x[v];
                for (int v = 0; v < OWN; ++v) e.own[v][i] = b.own[v][l];
            }
            for (int i = m; i < ND_BATCH_LANES; ++i) e.clear(i);
            ND_SIMD
            for (int i = 0; i < ND_BATCH_LANES; ++i) {
                real state[OWN];
                for (int v = 0; v < OWN; ++v) state[v] = e.own[v][i];
                auto before = e.before(i);
                modulate(before, e.at[i]);
                if (Rule::DRIFTS) rule.between(state, before);
                rule.on_spike(state, before);
                for (int v = 0; v < OWN; ++v) e.own[v][i] = state[v];
            }
            for (int i = 0; i < m; ++i) {
                const int l = lane[i];
                for (int v = 0; v < OWN; ++v) b.own[v][l] = e.own[v][i];
                b.lane[b.waiting] = l;
                b.waiting += --b.next[l] >= b.past[l];
            }
        }
    }

    /* Spikes arrive at synapses in step n, and `sent` is what they carry on; or a dose comes. */
    template <nd_reason why> void take(Batch &b, int m, const Source &s, int n, int count, real *sent) const
    {
        for (int first = 0; first < m; first += ND_BATCH_LANES) {
            const int some = m - first < ND_BATCH_LANES ? m - first : ND_BATCH_LANES;
            Lanes e;
            for (int i = 0; i < some; ++i) {
                const int j = b.place[first + i];
                int q = b.past[first + i];
                if (Rule::SPIKE_FIRST && !Rule::PAIR)
                    q += spikes[(long long)j * depth + q] + back == n;
                load_trace(e, i, j, q, n);
                if (Rule::ELAPSES) {
                    const int latest = spikes[(long long)j * depth + b.past[first + i]] + back;
                    e.elapsed[i] = elapsed(n, s.last, latest);
                }
            }
            for (int i = some; i < ND_BATCH_LANES; ++i) e.clear(i);
            ND_SIMD
            for (int i = 0; i < ND_BATCH_LANES; ++i) {
                e.arrival[i] = n - s.last;
                for (int v = 0; v < PRE; ++v) e.x[v][i] = s.x[v];
                real state[OWN];
                for (int v = 0; v < OWN; ++v) state[v] = b.own[v][first + i];
                auto before = e.before(i);
                modulate(before, n);
                if (Rule::DRIFTS) rule.between(state, before);
                if (why == ND_ARRIVAL) sent[first + i] = rule.on_arrival(state, before, (real)count);
                for (int v = 0; v < OWN; ++v) b.own[v][first + i] = state[v];
            }
        }
    }

    ND_METHOD real units_in(int j) const { return per_unit ? per_unit[j] : one_per_unit; }

    /* Steps since the last event of a synapse, of any kind. */
    ND_METHOD int elapsed(int t, int arrival, int spike) const
    {
        int last = arrival > spike ? arrival : spike;
        for (int v = 0; v < MODULATORS; ++v) last = dosed[v] > last ? dosed[v] : last;
        return t - last;
    }

    /* Add what a text knows of modulators to what it knows of other events, in step t. */
    ND_METHOD void modulate(typename Lanes::Before &b, int t) const
    {
        for (int v = 0; v < MODULATORS; ++v) {
            b.level[v] = level[v];
            b.dosed[v] = t - dosed[v];
        }
    }

    /* Add what arrives to the slots of the targets. */
    void send(const int *place, const real *sent, int m, int count)
    {
        real units[ND_BATCH];
        int beyond = 0;
        for (int l = 0; l < m; ++l) {
            const real value = sent[l] > largest ? largest : sent[l] < -largest ? -largest : sent[l];
            beyond += value != sent[l];
            units[l] = value * units_in(place[l]);
        }
        *clamped += beyond;
        const unsigned row = now + (unsigned)forward * width, first = row >= end ? row - end : row;
        for (int l = 0; l < m; ++l) {
            const unsigned q = first + (unsigned)place[l];
            slots[q] += (Slot)__builtin_llrint(units[l]) * count;
            if (dirty) dirty[q / ND_LANES] = ND_DIRTY;
        }
    }
};
