/* What happens to all synapses of a set: sweeps, doses of modulators, texts of intervals. */
#define ND_PARTS 16384      /* parts of a unit that sums over the synapses of a target count */
#define ND_SWEPT_SOURCES 64 /* sources whose synapses are swept together */

template <class Rule, typename Code, typename Slot, int depth>
struct nd_all_synapses : nd_arrivals<Rule, Code, Slot, depth> {
    typedef nd_arrivals<Rule, Code, Slot, depth> Each;
    using Each::rule, Each::code, Each::own, Each::level, Each::dosed;
    using Each::counts, Each::width, Each::source, Each::units_in, Each::OWN, Each::MODULATORS;
    using Each::PRE, Each::POST, Each::back, Each::seen, Each::spikes, Each::post, Each::shared, Each::entry;
    typedef nd_values<Rule::PRE_VALUES, Rule::POST_VALUES, Rule::SHARED> Values;
    nd_rows_of_values before[Rule::PRE_VALUES + 1];     /* of the sources, which texts read at steps, */
    const int *source_of[Rule::PRE_VALUES + 1];         /* and where those of each row stand there; */
    nd_rows_of_values behind[Rule::POST_VALUES + 1];    /* of the targets */

    /* Apply the spikes that all synapses saw before step n; for a dose, go on to it. Sources without a
     * spike in flight come first, as their synapses lie together; the others block by block. */
    template <nd_reason why> void sweep(int n)
    {
        const auto &listed = this->listed;
        for (long long begin = 0; begin < listed.sources; begin += ND_SWEPT_SOURCES)
            for (int of = 0; of < this->blocks; ++of) {
                this->enter(of);
                const long long low = begin > this->first ? begin - this->first : 0;
                const long long high = begin + ND_SWEPT_SOURCES - this->first;
                for (long long i = low; i < high && i < this->size; ++i)
                    if (listed.has_arrived(this->first + i, this->most, n))
                        add<why>(i, listed.known, listed.traces, n);
            }
        for (int of = 0; of < this->blocks; ++of) {
            this->enter(of);
            this->listed.go_back(this->lag, n);
            for (long long i = 0; i < this->size; ++i)
                if (!listed.has_arrived(this->first + i, this->most, n))
                    add<why>(i, listed.before, listed.traces_before, n);
        }
        this->template advance<why>(n);
    }

    /* Put the synapses of source i of a block into the batch, of which it is known when it spiked. */
    template <nd_reason why> void add(long long i, const int *rows, const real *traces, int n)
    {
        Each::template add<why>(this->part_of(i), this->source(i, rows, traces), n);
    }

    /* `doses` of a modulator come in step n. */
    void dose(int v, real doses, int n)
    {
        nd_order<Rule>::dose(rule, v, doses, n, level, dosed);
    }

    /* Add a term of the synapses of a block to the sums of their targets, in whole parts of units: a sum
     * of thousands of weights is exact, whatever its order. */
    template <int which> void add_up(int of, int v, long long *sums)
    {
        this->enter(of);
        for (long long i = 0; i < this->size; ++i) {
            const long long *part = this->part_of(i);
            for (long long p = part[0]; p < part[1]; ++p) {
                real state[OWN];
                for (int o = 0; o < OWN; ++o) state[o] = own[o][p];
                const real term = rule.template summed<which>(v, state);
                const real parts = term * units_in(code[p]) * ND_PARTS;
                long long *const sum = sums + code[p], before_ = *sum;
                const bool fits = parts >= -0x1p63 && parts < 0x1p63;
                if (!fits || __builtin_add_overflow(before_, __builtin_llrint(parts), sum))
                    overflown(which, v, (double)before_ + parts, (double)units_in(code[p]) * ND_PARTS);
            }
        }
    }

    /* A sum has more parts than it can count. */
    __attribute__((noinline, cold)) void overflown(int text, int v, double parts, double of_one)
    {
        const double value = parts / of_one, range = 0x1p63 / of_one;
        ++counts[ND_OVERFLOWN];
        counts[ND_WHICH_SUM] = text << 8 | v;
        __builtin_memcpy(counts + ND_VALUE_OF_SUM, &value, sizeof value);
        __builtin_memcpy(counts + ND_RANGE_OF_SUM, &range, sizeof range);
    }

    /* What texts read of a row's source and of components in step n. */
    Values values_before(long long row, int n) const
    {
        Values values;
        for (int v = 0; v < Rule::SHARED; ++v) values.shared[v] = shared[v].at(n, this->element[v]);
        for (int v = 0; v < Rule::PRE_VALUES; ++v)
            values.pre[v] = before[v].at(n - this->lag, source_of[v][row]);
        return values;
    }

    /* Run the text of each step for the synapses of a block, which have seen the events of step n. */
    void run_step(int of, int n)
    {
        this->enter(of);
        this->listed.go_back(this->lag, n + 1);
        for (long long i = 0; i < this->size; ++i) {
            const long long row = this->row_0 + i, *part = this->part_of(i);
            const auto s = source(i);
            nd_before<PRE, POST, MODULATORS> e;
            Values values = values_before(row, n);
            e.arrival = n - s.last;
            for (int v = 0; v < PRE; ++v) e.x[v] = s.x[v];
            for (int v = 0; v < MODULATORS; ++v) e.level[v] = level[v], e.dosed[v] = n - dosed[v];
            for (long long p = part[0]; p < part[1]; ++p) {
                const int j = code[p];
                int since, latest;
                seen(j, n + 1 - back, n + 1 - back, since, latest);
                e.spike = n - back - spikes[entry(j, latest)];
                for (int v = 0; v < POST; ++v) e.y[v] = post[v][entry(j, latest)];
                for (int v = 0; v < Rule::POST_VALUES; ++v) values.post[v] = behind[v].at(n - back, j);
                real state[OWN];
                for (int v = 0; v < OWN; ++v) state[v] = own[v][p];
                rule.on_step(state, e, values);
                for (int v = 0; Rule::CHANGES && v < OWN; ++v) own[v][p] = state[v];
            }
        }
    }

    /* Run the text of an interval for the synapses of a block, in step n. */
    template <int which, int SUMS> void run_every(int of, int n, const long long *sums)
    {
        this->enter(of);
        real now_[MODULATORS + 1];
        for (int v = 0; v < MODULATORS; ++v) now_[v] = rule.dosed(v, level[v], n - dosed[v], 0);
        for (long long i = 0; i < this->size; ++i) {
            const long long row = this->row_0 + i, *part = this->part_of(i);
            const Values of_row = values_before(row, n);
            ND_SIMD
            for (long long p = part[0]; p < part[1]; ++p) {
                real state[OWN];
                for (int v = 0; v < OWN; ++v) state[v] = own[v][p];
                real total[SUMS + 1];
                for (int v = 0; v < SUMS; ++v)
                    total[v] = (real)sums[v * width + code[p]] / (units_in(code[p]) * ND_PARTS);
                Values values = of_row;
                for (int v = 0; v < Rule::POST_VALUES; ++v) values.post[v] = behind[v].at(n - back, code[p]);
                rule.template every<which>(state, now_, total, values);
                for (int v = 0; Rule::CHANGES && v < OWN; ++v) own[v][p] = state[v];
            }
        }
    }
};
