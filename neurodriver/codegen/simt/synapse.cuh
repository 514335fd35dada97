/* One synapse that learns, on a GPU: what it has seen, and what it does at an event. */
#include "../event.h"

/* The arrivals of one source: the last two, and the traces after them. */
template <int PRE> struct nd_source {
    int last, earlier;
    real x[PRE + 1], x_earlier[PRE + 1];
};

/* The synapses of one source, which see each spike of their targets `back` steps later. */
template <class R, int depth> struct nd_synapses {
    typedef R Rule;
    static const int DEPTH = depth, PRE = Rule::PRE, POST = Rule::POST, OWN = Rule::OWN;
    static const int MODULATORS = Rule::MODULATORS;
    typedef nd_before<PRE, POST, MODULATORS> Before;
    typedef nd_source<PRE> Source;
    Rule rule;
    int *spikes;                /* (targets, depth): rows of the last spikes, the latest one first */
    real *post[POST + 1];       /* (targets, depth): traces after them */
    int back;
    real level[MODULATORS + 1]; /* modulators after their last doses, */
    int dosed[MODULATORS + 1];  /* and the steps of these */

    ND_METHOD long long entry(int j, int q) const { return (long long)j * depth + q; }

    /* What is known of a source after `count` spikes that arrive in step n. */
    ND_METHOD Source after(const Source &s, int count, int n) const
    {
        Source next;
        next.last = n;
        next.earlier = s.last;
        for (int v = 0; v < PRE; ++v) {
            next.x_earlier[v] = s.x[v];
            next.x[v] = rule.pre_after(v, s.x[v], n - s.last, count);
        }
        return next;
    }

    /* The first step whose target spikes a source's synapses have not applied yet, where those
     * before step `swept` are done with. */
    ND_METHOD static int pending_from(const Source &s, int swept)
    {
        const int next = s.last + (Rule::SPIKE_FIRST ? 1 : 0);
        return next > swept ? next : swept;
    }

    /* The first step whose target spikes are not applied before an arrival in step n. */
    ND_METHOD static int pending_to(int n) { return n + (Rule::SPIKE_FIRST ? 1 : 0); }

    /* Steps since the last event of a synapse, of any kind. */
    ND_METHOD int elapsed(int t, int arrival, int spike) const
    {
        int last = arrival > spike ? arrival : spike;
        for (int v = 0; v < MODULATORS; ++v) last = dosed[v] > last ? dosed[v] : last;
        return t - last;
    }

    /* Add what a text knows of modulators to what it knows of other events, in step t. */
    ND_METHOD void modulate(Before &b, int t) const
    {
        for (int v = 0; v < MODULATORS; ++v) {
            b.level[v] = level[v];
            b.dosed[v] = t - dosed[v];
        }
    }

    /* `doses` of a modulator come in step n. */
    ND_METHOD void dose(int v, long long doses, int n)
    {
        level[v] = rule.dosed(v, level[v], n - dosed[v], (real)doses);
        dosed[v] = n;
    }

    /* The synapse sees spike q of its target j, counted from the latest one. */
    ND_METHOD void see(real *own, int j, int q, const Source &s) const
    {
        const long long last = entry(j, q + 1);
        const int row = spikes[entry(j, q)], t = row + back;
        const bool same = !Rule::SPIKE_FIRST && !Rule::PAIR && t == s.last;
        Before b;
        b.arrival = t - (same ? s.earlier : s.last);
        b.spike = row - spikes[last];
        for (int v = 0; v < PRE; ++v) b.x[v] = same ? s.x_earlier[v] : s.x[v];
        for (int v = 0; v < POST; ++v) b.y[v] = post[v][last];
        if (Rule::ELAPSES) b.elapsed = elapsed(t, s.last <= t ? s.last : s.earlier, t - b.spike);
        modulate(b, t);
        if (Rule::DRIFTS) rule.between(own, b);
        rule.on_spike(own, b);
    }

    /* What an event of step n finds at a synapse, after spike q of its target j. */
    ND_METHOD Before at_synapse(int j, int q, const Source &s, int n) const
    {
        const int latest = spikes[entry(j, q)] + back;
        if (Rule::SPIKE_FIRST && !Rule::PAIR) q += latest == n;
        const long long last = entry(j, q);
        Before b;
        b.arrival = n - s.last;
        b.spike = n - back - spikes[last];
        for (int v = 0; v < PRE; ++v) b.x[v] = s.x[v];
        for (int v = 0; v < POST; ++v) b.y[v] = post[v][last];
        if (Rule::ELAPSES) b.elapsed = elapsed(n, s.last, latest);
        modulate(b, n);
        return b;
    }

    /* `count` spikes arrive in step n, after spike q of target j; returns what one carries. */
    ND_METHOD real arrive(real *own, int j, int q, const Source &s, int n, int count) const
    {
        const Before b = at_synapse(j, q, s, n);
        if (Rule::DRIFTS) rule.between(own, b);
        return rule.on_arrival(own, b, (real)count);
    }

    /* A dose comes in step n. */
    ND_METHOD void drift(real *own, int j, int q, const Source &s, int n) const
    {
        if (Rule::DRIFTS) rule.between(own, at_synapse(j, q, s, n));
    }
};
