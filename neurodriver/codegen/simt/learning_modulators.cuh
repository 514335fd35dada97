/* Modulators of synapses that learn, on a GPU: their doses, and the levels that texts of intervals know.
 *
 * A text of an interval that reads nothing but its synapse and the levels of modulators waits, as a spike
 * does, until the synapse is visited: `Intervals::WAIT`. The levels that it knows are kept. */
enum { ND_LEVELS = 32 };    /* steps of the past whose levels are kept; as many as a warp has threads */
#ifndef ND_MOST_LEVELS
#define ND_MOST_LEVELS 7    /* so many may wait before all synapses are visited */
#endif

template <class Synapses, class Intervals, typename Code, typename Slot>
struct nd_learning_modulators : nd_learning_rows<Synapses, Code, Slot> {
    typedef nd_learning_rows<Synapses, Code, Slot> Rows;
    typedef typename Rows::Rule Rule;
    using Rows::synapses, Rows::warp, Rows::warps, Rows::from, Rows::swept;
    static const int MODULATORS = Rule::MODULATORS;
    const int *released[MODULATORS + 1];        /* elements whose spikes are doses, */
    int releasing[MODULATORS + 1];              /* and how many */
    real *level;                /* modulators after the last doses before this step, */
    int *dosed;                 /* and the steps of these */
    long long *doses;           /* (modulators, 2): doses of this step, and the step */
    real *levels;               /* (ND_LEVELS, modulators) when the last texts of intervals were due */
    real kept[MODULATORS + 1];  /* of them those of step number `nd_lane()` */
    int now[MODULATORS + 1];    /* doses of this step, which this warp has counted: in direct turns */

    /* Count the doses of step n, after those before have been added to the modulators. */
    ND_MEMBER void find_doses(int n)
    {
        if (warp() != warps / 2) return;
        add_doses();
        keep_levels(n, n + 1);
        for (int v = 0; v < MODULATORS; ++v) {
            const int count = count_doses(v, n);
            if (nd_lane() == 0) {
                doses[2 * v] = count;
                doses[2 * v + 1] = n;
            }
        }
    }

    ND_MEMBER int count_doses(int v, int n) const
    {
        long long count = 0;
        for (int i = nd_lane(); i < releasing[v]; i += ND_WARP) count += nd_spikes(from.at(n, __ldg(released[v] + i)));
        return (int)nd_total(count);
    }

    ND_MEMBER void add_doses()
    {
        take_modulators(true);
        for (int v = 0; v < MODULATORS; ++v) {
            if (nd_lane() != 0) continue;
            level[v] = synapses.level[v];
            dosed[v] = synapses.dosed[v];
            doses[2 * v] = 0;
        }
    }

    /* What synapses know of modulators, before or after the doses of this step. */
    ND_MEMBER void take_modulators(bool after)
    {
        for (int v = 0; v < MODULATORS; ++v) {
            synapses.level[v] = level[v];
            synapses.dosed[v] = dosed[v];
            if (!ND_DIRECT && after && doses[2 * v]) synapses.dose(v, doses[2 * v], (int)doses[2 * v + 1]);
        }
    }

    /* Doses of step n. */
    ND_MEMBER int came(int v) const { return ND_DIRECT ? now[v] : (int)doses[2 * v]; }
    ND_MEMBER void take_dose(int v, int n) { synapses.dose(v, came(v), n); }
    ND_MEMBER bool doses_came() const
    {
        bool any = false;
        for (int v = 0; v < MODULATORS; ++v) any |= came(v) != 0;
        return any;
    }

    /* The level of a modulator in step n. */
    ND_MEMBER real level_in(int v, int n) const
    {
        return synapses.rule.dosed(v, synapses.level[v], n - synapses.dosed[v], 0);
    }

    /* Keep the levels of step n if a text of an interval is due then, by a warp; where no other step
     * fits in, ask for a sweep to step `sweep`. */
    ND_MEMBER void keep_levels(int n, int sweep)
    {
        const int place = n / Intervals::EACH, due = Intervals::WAIT && nd_lane() == 0 && Intervals::due(n);
        for (int v = 0; due && v < MODULATORS; ++v) levels[place % ND_LEVELS * MODULATORS + v] = level_in(v, n);
        if (due && place - (int)swept[ND_TEXTS_RUN] / Intervals::EACH >= ND_MOST_LEVELS - 2) swept[ND_FULL] = sweep;
    }

    /* Load the levels that are kept: of a step each thread. */
    ND_MEMBER void take_kept()
    {
        for (int v = 0; v < MODULATORS && Intervals::WAIT; ++v) kept[v] = levels[nd_lane() * MODULATORS + v];
    }

    /* Put them into the shared memory of this warp, where each thread finds all of them. */
    ND_MEMBER void share_kept() const
    {
        real *const all = (real *)nd_waiting_room();
        for (int v = 0; v < MODULATORS; ++v)
            for (int i = nd_lane(); i < ND_LEVELS; i += ND_WARP)
                all[i * MODULATORS + v] = ND_WARP < ND_LEVELS ? levels[i * MODULATORS + v] : kept[v];
        nd_together();
    }

    /* The kept level of a step in which a text is due: number `place` of such steps. */
    ND_MEMBER real kept_in(int v, int place) const
    {
        return ((const real *)nd_waiting_room())[place % ND_LEVELS * MODULATORS + v];
    }
};
