/* The last spikes of the targets of synapses that learn.
 *
 * A synapse applies a spike of its target later than it sees it (`learning.h`). Until then the spike
 * stays in the history of the target, with the traces after it. */
#define ND_RECENT 8         /* spikes of a target that are looked at together */
#include "event_order.h"

template <class Rule, int depth> struct nd_histories {
    static const int POST = Rule::POST;
    Rule rule;
    int *spikes;                /* (targets, depth): rows of the last spikes, the latest one first */
    real *post[POST + 1];       /* (targets, depth): traces after them */
    int *unswept;               /* spikes of each target since the last sweep */
    long long *swept;           /* step of the last sweep; the most spikes of a target since */
    int back, longest_back;     /* steps from a row to the step in which the synapses see it */

    /* A target has spiked in a row. A rule that never looks at it has no history. */
    void spike(int j, int row)
    {
        if (!Rule::LOOKS) return;
        int *const at = spikes + (long long)j * depth;
        for (int v = 0; v < POST; ++v) {
            real *const y = post[v] + (long long)j * depth;
            const real now_ = rule.post_after(v, y[0], row - at[0]);
            __builtin_memmove(y + 1, y, (depth - 1) * sizeof(real));
            y[0] = now_;
        }
        __builtin_memmove(at + 1, at, (depth - 1) * sizeof(int));
        at[0] = row;
        if (++unswept[j] > swept[1]) swept[1] = unswept[j];
    }

    bool full() const { return swept[1] >= depth - 2; }

    /* How many of a target's spikes stand in row `from` or later, and in row `to` or later. */
    ND_METHOD void seen(int j, int from, int to, int &since, int &past) const
    {
        const int *const at = spikes + (long long)j * depth;
        since = past = 0;
        for (int q = 0; q < ND_RECENT; ++q) {
            since += at[q] >= from;
            past += at[q] >= to;
        }
        while (since >= ND_RECENT && since < depth - 1 && at[since] >= from) ++since;
        while (past >= ND_RECENT && past < since && at[past] >= to) ++past;
    }

    /* The traces of target j after its spike q, as an event in a later row finds them. */
    template <class Lanes> ND_METHOD void load_trace(Lanes &e, int i, int j, int q, int row) const
    {
        const long long last = (long long)j * depth + q;
        e.spike[i] = row - spikes[last];
        for (int v = 0; v < POST; ++v) e.y[v][i] = post[v][last];
    }

    /* Note that all synapses with targets from `begin` to `past` are up to date before step n. */
    void swept_before(long long begin, long long past, int n)
    {
        long long most = 0;
        for (long long j = begin; j < past; ++j) {
            int c = 0;
            while (c < unswept[j] && spikes[j * depth + c] + longest_back >= n) ++c;
            unswept[j] = c;
            if (c > most) most = c;
        }
        swept[0] = n;
        swept[1] = most;
    }
};
