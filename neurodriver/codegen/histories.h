/* The last spikes of the targets of synapses that learn.
 *
 * A synapse applies a spike of its target later than it sees it (`learning.h`). Until then the spike
 * stays in the history of the target, with the traces after it. */
#include "event_order.h"
#include "history_entry.h"

template <class Rule, int depth> struct nd_histories {
    static const int POST = Rule::POST;
    Rule rule;
    long long places;           /* of targets */
    int *spikes;                /* rows of the last spikes of each, the latest one first, */
    real *post[POST + 1];       /* and traces after them (history_entry.h) */
    int *unswept;               /* spikes of each target since the last sweep */
    long long *swept;           /* step of the last sweep; the most spikes of a target since */
    int back, longest_back;     /* steps from a row to the step in which the synapses see it */

    ND_METHOD long long entry(int j, int q) const
    {
        return __builtin_expect(q < ND_RECENT, 1) ? (long long)j * ND_RECENT + q : nd_history_entry(places, j, q);
    }

    /* A target has spiked in a row. A rule that never looks at it has no history. */
    void spike(int j, int row)
    {
        if (!Rule::LOOKS) return;
        for (int v = 0; v < POST; ++v) {
            real *const y = post[v];
            const real now_ = rule.post_after(v, y[entry(j, 0)], row - spikes[entry(j, 0)]);
            put_first(y, j, now_);
        }
        put_first(spikes, j, row);
        if (++unswept[j] > swept[1]) swept[1] = unswept[j];
    }

    /* Put a number before those of a history. Those that nobody needs any more do not move. */
    template <class T> void put_first(T *history, int j, T first)
    {
        for (int q = 0; q < depth && q <= unswept[j] + ND_ANCHORS; q += ND_RECENT) {
            T *const at = history + entry(j, q), last = at[ND_RECENT - 1];
            __builtin_memmove(at + 1, at, (ND_RECENT - 1) * sizeof(T));
            at[0] = first;
            first = last;
        }
    }

    bool full() const { return swept[1] >= depth - 2; }

    /* How many of a target's spikes stand in row `from` or later, and in row `to` or later. */
    ND_METHOD void seen(int j, int from, int to, int &since, int &past) const
    {
        const int *const at = spikes + entry(j, 0);
        int both = 0;       /* counted together: one sum over the lanes of a vector */
        for (int q = 0; q < ND_RECENT; ++q) both += (at[q] >= from) + ((at[q] >= to) << 8);
        since = both & 255;
        past = both >> 8;
        while (since >= ND_RECENT && since < depth - 1 && spikes[entry(j, since)] >= from) ++since;
        while (past >= ND_RECENT && past < since && spikes[entry(j, past)] >= to) ++past;
    }

    /* The traces of target j after its spike q, as an event in a later row finds them. */
    template <class Lanes> ND_METHOD void load_trace(Lanes &e, int i, int j, int q, int row) const
    {
        const long long last = entry(j, q);
        e.spike[i] = row - spikes[last];
        for (int v = 0; v < POST; ++v) e.y[v][i] = post[v][last];
    }

    /* Note that all synapses with targets from `begin` to `past` are up to date before step n. */
    void swept_before(long long begin, long long past, int n)
    {
        long long most = 0;
        for (long long j = begin; j < past; ++j) {
            int c = 0;
            while (c < unswept[j] && spikes[entry((int)j, c)] + longest_back >= n) ++c;
            unswept[j] = c;
            if (c > most) most = c;
        }
        swept[0] = n;
        swept[1] = most;
    }
};
