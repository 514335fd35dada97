/* The order of events at a synapse that learns: which ones come before another, for a rule. One text
 * for C++ and CUDA C++. */
#include "event.h"

/* What is counted for the user: values that were clamped when they were sent, those that are not a
 * number, and sums of intervals that are too large; of the last one its number, its value and the
 * range, as bits. */
enum { ND_CLAMPED, ND_UNDEFINED, ND_OVERFLOWN, ND_WHICH_SUM, ND_VALUE_OF_SUM, ND_RANGE_OF_SUM };

template <class Rule> struct nd_order {
    static const int MODULATORS = Rule::MODULATORS;

    /* The first step whose target spikes synapses have not applied yet, after an arrival in step
     * `last`, where those before step `swept` are done with. */
    ND_METHOD static int pending_from(int last, int swept)
    {
        const int next = last + (Rule::SPIKE_FIRST ? 1 : 0);
        return next > swept ? next : swept;
    }

    /* The first step whose target spikes are not applied before an arrival in step n. */
    ND_METHOD static int pending_to(int n) { return n + (Rule::SPIKE_FIRST ? 1 : 0); }

    /* Whether a spike that a synapse sees in step t knows nothing of an arrival in step `last`. */
    ND_METHOD static bool apart(int t, int last) { return !Rule::SPIKE_FIRST && !Rule::PAIR && t == last; }

    /* Whether an arrival in step n knows nothing of a spike that the synapse sees in step `latest`. */
    ND_METHOD static bool skips(int n, int latest) { return Rule::SPIKE_FIRST && !Rule::PAIR && latest == n; }

    /* Steps from the last event of any kind to step t: an arrival, a spike, a dose, or a text of an
     * interval, which comes first in its step; `before` is the last step in which there was one. */
    ND_METHOD static int elapsed(const Rule &rule, int t, int arrival, int spike, const int *dosed, int before)
    {
        int last = arrival > spike ? arrival : spike;
        for (int v = 0; v < MODULATORS; ++v) last = dosed[v] > last ? dosed[v] : last;
        if (Rule::DRIFTS_TO_INTERVALS) {
            const int interval = rule.last_interval(before);
            last = interval > last ? interval : last;
        }
        return t - last;
    }

    /* Add what a text knows of modulators, after their last doses, in step t. */
    template <class Before> ND_METHOD static void modulate(Before &b, int t, const real *level, const int *dosed)
    {
        for (int v = 0; v < MODULATORS; ++v) {
            b.level[v] = level[v];
            b.dosed[v] = t - dosed[v];
        }
    }

    /* `doses` of modulator v come in step n. */
    ND_METHOD static void dose(const Rule &rule, int v, real doses, int n, real *level, int *dosed)
    {
        level[v] = rule.dosed(v, level[v], n - dosed[v], doses);
        dosed[v] = n;
    }
};
