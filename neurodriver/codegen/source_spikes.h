/* The spikes of sources, as synapses that learn know them, on a CPU.
 *
 * A spike arrives in several steps where synapses stand at several places behind their source. It is
 * listed once, with the two spikes of its source before it and the traces after these: each of its
 * arrivals finds there what came before. A list holds the spikes of one row. */

template <class Rule> struct nd_source_spikes {
    static const int PRE = Rule::PRE;
    long long sources;
    int *known, *before;        /* (sources, 2): rows of the last two spikes; those before some step, */
    real *traces, *traces_before; /* (sources, PRE, 2): and traces after them */
    int *spike;                 /* (lists, sources, 4): source, number, rows of the two spikes before, */
    real *spike_traces;         /* (lists, sources, PRE, 2): and traces after them */
    long long *count;           /* spikes of each list */
    long long *next;            /* 1 + the row that is listed next; 0: nothing is known */
    int lists;
    int step_before = -1, lag_before = -1;
    long long undone = 0;       /* `before` knows the rows before this one */
    int since = ND_NEVER;       /* at the beginning: spikes that arrive before this step are known */

    long long of_row(long long row) const { return row % lists * sources; }

    /* What synapses know that stand `lag` steps behind a source with spikes in two rows. */
    template <class Source> static void fill(Source &s, const int *rows, const real *x, int lag)
    {
        s.last = rows[0] == ND_NEVER ? ND_NEVER : rows[0] + lag;
        s.earlier = rows[1] == ND_NEVER ? ND_NEVER : rows[1] + lag;
        for (int v = 0; v < PRE; ++v) {
            s.x[v] = x[2 * v];
            s.x_earlier[v] = x[2 * v + 1];
        }
    }

    void open(long long row)
    {
        count[row % lists] = 0;
        *next = row + 2;
    }

    /* Source j has `number` spikes in a row, which is open. */
    void add(const Rule &rule, long long j, int number, int row)
    {
        int *const last = known + 2 * j;
        if (number <= 0 || (since != ND_NEVER && row + before[2 * j] < since)) return;
        const long long i = of_row(row) + count[row % lists]++;
        int *const to = spike + 4 * i;
        real *const x = traces + 2 * PRE * j, *const x_to = spike_traces + 2 * PRE * i;
        to[0] = (int)j, to[1] = number, to[2] = last[0], to[3] = last[1];
        for (int v = 0; v < 2 * PRE; v += 2) {
            const real after = rule.pre_after(v / 2, x[v], row - last[0], (real)number);
            x_to[v] = x[v], x_to[v + 1] = x[v + 1];
            x[v + 1] = x[v], x[v] = after;
        }
        last[1] = last[0], last[0] = row;
    }

    /* Whether the last spike of source j has been seen before step n, where synapses stand `most` steps behind
     * their sources or fewer. */
    bool has_arrived(long long j, int most, int n) const { return known[2 * j] + most < n; }

    /* Let `before` be what synapses know before step n that stand `lag` steps behind their sources. */
    void go_back(int lag, int n)
    {
        if (n != step_before || lag < lag_before) {
            __builtin_memcpy(before, known, 2 * sources * sizeof(int));
            __builtin_memcpy(traces_before, traces, 2 * PRE * sources * sizeof(real));
            undone = *next - 1;
        }
        step_before = n, lag_before = lag;
        for (; undone > 0 && undone - 1 + lag >= n; --undone) {
            const long long first = of_row(undone - 1);
            for (long long i = first; i < first + count[(undone - 1) % lists]; ++i) {
                const long long j = spike[4 * i];
                __builtin_memcpy(before + 2 * j, spike + 4 * i + 2, 2 * sizeof(int));
                __builtin_memcpy(traces_before + 2 * PRE * j, spike_traces + 2 * PRE * i, 2 * PRE * sizeof(real));
            }
        }
    }

    /* Know nothing of any source yet; `before` holds the lag of the row that it is known from. */
    void forget(long long row, int n)
    {
        for (long long j = 0; j < 2 * sources; ++j) known[j] = ND_NEVER, before[j] = -1;
        for (long long j = 0; j < 2 * PRE * sources; ++j) traces[j] = 0;
        *next = row + 1;
        since = n;
    }

    /* Source j is known from a row of synapses that stand `lag` steps behind it, if from none with a larger
     * lag: nobody asks for the arrival before the last one. */
    bool knows_less(long long j, int lag)
    {
        if (lag <= before[2 * j]) return false;
        before[2 * j] = lag;
        return true;
    }
};
