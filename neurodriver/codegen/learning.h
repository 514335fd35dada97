/* Synapses that learn, on a CPU.
 *
 * A synapse is brought up to date when a spike of its source arrives: it applies the spikes of its
 * target that it has seen since the arrival before. These wait in the history of the target. A sweep
 * brings all synapses up to date. Each thread has its own targets, and its own copy of what is known
 * of the sources, so no thread waits for another one.
 *
 * The rule (`codegen/rules.py`) says what happens at one synapse. `ND_BATCH` of them are advanced
 * together. */
#define ND_BATCH 16
#define ND_NEVER (-(1 << 30))       /* step of an event that has not been */
#define ND_METHOD inline __attribute__((always_inline))

/* What a text of a rule knows of the events before: traces as they were after them, and the steps
 * since. */
template <int PRE, int POST> struct nd_before {
    real x[PRE + 1], y[POST + 1];
    int arrival, spike;
};

/* The arrivals of one source: the last two, and the traces after them. */
template <int PRE> struct nd_source {
    int last, earlier;
    real x[PRE + 1], x_earlier[PRE + 1];
};

template <class Rule, typename Code, typename Slot, int depth> struct nd_learning {
    static const int PRE = Rule::PRE, POST = Rule::POST, OWN = Rule::OWN;
    typedef nd_before<PRE, POST> Before;
    typedef nd_source<PRE> Source;
    Rule rule;
    const long long *parts;     /* of each row, `stride` apart: begin and end of its connections */
    int stride;
    const Code *code;           /* the place of each target */
    real *own[OWN];             /* weight, then the variables of each synapse */
    int *spikes;                /* (targets, depth): rows of the last spikes */
    real *post[POST + 1];       /* (targets, depth): traces after them */
    int *spike_count, *swept_count;
    int *arrivals;              /* (rows, 2) */
    real *pre[PRE + 1];         /* (rows, 2) */
    long long *swept;           /* step of the last sweep; the most spikes of a target since */
    long long *clamped;
    bool learns;
    Slot *slots;
    nd_dirty_byte *dirty;       /* null where no bitmap says which slots are dirty */
    unsigned now, end, width;   /* first slot of this step, slots of the ring, slots of a step */
    const real *per_unit;       /* of each target, or null */
    real one_per_unit, largest;
    int forward, back, longest_back;

    /* -- spikes of targets ------------------------------------------------------------------- */

    ND_METHOD int entry(int j, int n) const { return j * depth + (n & (depth - 1)); }

    /* A target has spiked in a row. */
    void spike(int j, int row)
    {
        const int n = spike_count[j], to = entry(j, n), from = entry(j, n - 1);
        const int since = n ? row - spikes[from] : row - ND_NEVER;
        for (int v = 0; v < POST; ++v)
            post[v][to] = rule.post_after(v, n ? post[v][from] : 0, since);
        spikes[to] = row;
        spike_count[j] = n + 1;
        if (n + 1 - swept_count[j] > swept[1]) swept[1] = n + 1 - swept_count[j];
    }

    bool full() const { return swept[1] >= depth - 2; }

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
            if (m == ND_BATCH) advance<true>(p, ND_BATCH, s, begin, past, n, count);
            else advance<true>(p, m, s, begin, past, n, count);
        }
        for (int v = 0; v < PRE; ++v) {
            pre[v][2 * row + 1] = s.x[v];
            pre[v][2 * row] = rule.pre_after(v, s.x[v], n - s.last, count);
        }
        arrivals[2 * row + 1] = s.last;
        arrivals[2 * row] = n;
    }

    /* Apply to synapses p to p + m - 1 the spikes that they saw from step `from` on, before `to`; then
     * the arrival of step n. */
    template <bool arrives>
    ND_METHOD void advance(long long p, int m, const Source &s, int from, int to, int n, int count)
    {
        int place[ND_BATCH], first[ND_BATCH], some[ND_BATCH], most = 0;
        for (int l = 0; l < m; ++l) {
            const int j = place[l] = code[p + l], c = spike_count[j], low = c > depth ? c - depth + 1 : 0;
            int past = c;
            while (past > low && spikes[entry(j, past - 1)] + back >= to) --past;
            int q = past;
            while (q > low && spikes[entry(j, q - 1)] + back >= from) --q;
            first[l] = q;
            some[l] = past - q;
            most = some[l] > most ? some[l] : most;
        }
        if (!learns) most = 0;
        if (!arrives && !most) return;
        real now_[OWN][ND_BATCH];
        for (int v = 0; v < OWN; ++v)
            for (int l = 0; l < m; ++l) now_[v][l] = own[v][p + l];
        for (int i = 0; i < most; ++i) {
            ND_SIMD
            for (int l = 0; l < m; ++l) {
                const int at = entry(place[l], first[l] + i), last = entry(place[l], first[l] + i - 1);
                const bool has = first[l] + i > 0;
                const int t = spikes[at] + back;
                const bool same = !Rule::SPIKE_FIRST && !Rule::PAIR && t == s.last;
                Before b;
                b.arrival = t - (same ? s.earlier : s.last);
                b.spike = has ? t - back - spikes[last] : t - ND_NEVER;
                for (int v = 0; v < PRE; ++v) b.x[v] = same ? s.x_earlier[v] : s.x[v];
                for (int v = 0; v < POST; ++v) b.y[v] = has ? post[v][last] : 0;
                real state[OWN];
                for (int v = 0; v < OWN; ++v) state[v] = now_[v][l];
                rule.on_spike(state, b);
                for (int v = 0; v < OWN; ++v) now_[v][l] = i < some[l] ? state[v] : now_[v][l];
            }
        }
        real sent[ND_BATCH];
        if (arrives && learns) {
            ND_SIMD
            for (int l = 0; l < m; ++l) {
                int q = first[l] + some[l];
                if (Rule::SPIKE_FIRST && !Rule::PAIR)
                    q -= q > 0 && spikes[entry(place[l], q - 1)] + back == n;
                const int last = entry(place[l], q - 1);
                Before b;
                b.arrival = n - s.last;
                b.spike = q > 0 ? n - back - spikes[last] : n - ND_NEVER;
                for (int v = 0; v < PRE; ++v) b.x[v] = s.x[v];
                for (int v = 0; v < POST; ++v) b.y[v] = q > 0 ? post[v][last] : 0;
                real state[OWN];
                for (int v = 0; v < OWN; ++v) state[v] = now_[v][l];
                sent[l] = rule.on_arrival(state, b, (real)count);
                for (int v = 0; v < OWN; ++v) now_[v][l] = state[v];
            }
        } else if (arrives) {
            for (int l = 0; l < m; ++l) sent[l] = now_[0][l];
        }
        if (learns)
            for (int v = 0; v < OWN; ++v)
                for (int l = 0; l < m; ++l) own[v][p + l] = now_[v][l];
        if (arrives) send(place, sent, m, count);
    }

    ND_METHOD void send(const int *place, const real *sent, int m, int count)
    {
        real units[ND_BATCH];
        int beyond = 0;
        for (int l = 0; l < m; ++l) {
            const real value = sent[l] > largest ? largest : sent[l] < -largest ? -largest : sent[l];
            beyond += value != sent[l];
            units[l] = __builtin_rint(value * (per_unit ? per_unit[place[l]] : one_per_unit));
        }
        *clamped += beyond;
        const unsigned row = now + (unsigned)forward * width, first = row >= end ? row - end : row;
        for (int l = 0; l < m; ++l) {
            const unsigned q = first + (unsigned)place[l];
            slots[q] += (Slot)units[l] * count;
            if (dirty) dirty[q / ND_LANES] = ND_DIRTY;
        }
    }

    /* -- all synapses ------------------------------------------------------------------------ */

    /* Apply the spikes that the synapses of some rows saw before step n. */
    void sweep(long long first, long long past, int n)
    {
        for (long long row = first; row < past; ++row) {
            const long long *part = parts + row * stride;
            if (part[0] == part[1]) continue;
            const Source s = source(row);
            const int begin = from(s);
            for (long long p = part[0]; p < part[1]; p += ND_BATCH)
                advance<false>(p, part[1] - p < ND_BATCH ? (int)(part[1] - p) : ND_BATCH, s, begin, n, n, 0);
        }
    }

    /* Note that all synapses with targets from `begin` to `past` are up to date before step n. */
    void swept_before(long long begin, long long past, int n)
    {
        long long most = 0;
        for (long long j = begin; j < past; ++j) {
            int c = spike_count[j];
            while (c > swept_count[j] && spikes[entry((int)j, c - 1)] + longest_back >= n) --c;
            swept_count[j] = c;
            if (spike_count[j] - c > most) most = spike_count[j] - c;
        }
        swept[0] = n;
        swept[1] = most;
    }

    /* Run the text of an interval for the synapses of some rows. */
    template <int which> void run_every(long long first, long long past)
    {
        for (long long row = first; row < past; ++row) {
            const long long *part = parts + row * stride;
            ND_SIMD
            for (long long p = part[0]; p < part[1]; ++p) {
                real state[OWN];
                for (int v = 0; v < OWN; ++v) state[v] = own[v][p];
                rule.template every<which>(state);
                for (int v = 0; v < OWN; ++v) own[v][p] = state[v];
            }
        }
    }
};
