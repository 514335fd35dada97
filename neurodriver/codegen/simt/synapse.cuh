/* One synapse that learns, on a GPU: what it has seen, and what it does at an event. */
#include "../event_order.h"
#include "../history_entry.h"

/* Why synapses are advanced: to be up to date, for a dose of a modulator, for a text of an interval, for
 * an arrival. */
enum nd_reason { ND_SWEEP, ND_DOSE, ND_INTERVAL, ND_ARRIVAL };

/* The arrivals of one source: the last two, and the traces after them. */
template <int PRE> struct nd_source {
    int last, earlier;
    real x[PRE + 1], x_earlier[PRE + 1];
};

/* The rows of a variable of neurons, which synapses see `late` steps later. */
struct nd_values_of {
    const real *ring;
    const long long *active;    /* of a variable of events, or null */
    long long depth, width;
    int late, first;            /* element that is number 0 here */

    ND_METHOD real at(int row, int element) const
    {
        const int seen = row - late;
        const long long place = nd_row_index(seen, depth);
        const real x = ring[place * width + first + element];
        return active && seen > 0 && active[place] != seen ? (real)0 : x;
    }
};

/* The synapses of one source, which see each spike of their targets `back` steps later. A thread has
 * BESIDE of them side by side, of those to which a spike arrives. */
template <class R, int depth, int beside> struct nd_synapses {
    typedef R Rule;
    static const int DEPTH = depth, BESIDE = beside, PRE = Rule::PRE, POST = Rule::POST, OWN = Rule::OWN;
    static const int MODULATORS = Rule::MODULATORS;
    typedef nd_before<PRE, POST, MODULATORS, Rule::VALUES> Before;
    typedef nd_values<Rule::PRE_VALUES, Rule::POST_VALUES, Rule::SHARED> Values;
    typedef nd_order<Rule> Order;
    typedef nd_source<PRE> Source;
    Rule rule;
    long long places;           /* of targets */
    int *spikes;                /* rows of the last spikes of each, the latest one first, */
    real *post[POST + 1];       /* and traces after them (history_entry.h) */
    int back;
    real level[MODULATORS + 1]; /* modulators after their last doses, */
    int dosed[MODULATORS + 1];  /* and the steps of these */
    nd_values_of value[Rule::VALUES + 1];           /* of the targets, which arrivals read, */
    nd_values_of behind[Rule::POST_VALUES + 1];     /* and those that texts read at steps */

    ND_METHOD long long entry(int j, int q) const { return nd_history_entry(places, j, q); }

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

    /* `doses` of a modulator come in step n. */
    ND_METHOD void dose(int v, long long doses, int n)
    {
        Order::dose(rule, v, (real)doses, n, level, dosed);
    }

    /* The synapse sees spike q of its target j, counted from the latest one. */
    ND_METHOD void see(real *own, int j, int q, const Source &s) const
    {
        const long long last = entry(j, q + 1);
        const int row = spikes[entry(j, q)], t = row + back;
        const bool same = Order::apart(t, s.last);
        Before b;
        b.arrival = t - (same ? s.earlier : s.last);
        b.spike = row - spikes[last];
        for (int v = 0; v < PRE; ++v) b.x[v] = same ? s.x_earlier[v] : s.x[v];
        for (int v = 0; v < POST; ++v) b.y[v] = post[v][last];
        if (Rule::ELAPSES) b.elapsed = Order::elapsed(rule, t, s.last <= t ? s.last : s.earlier, t - b.spike, dosed, t);
        Order::modulate(b, t, level, dosed);
        if (Rule::DRIFTS) rule.between(own, b);
        rule.on_spike(own, b);
    }

    /* What an event of step n finds at a synapse, after spike q of its target j; `newest`: traces after
     * the last spike, or null. */
    template <nd_reason why = ND_ARRIVAL>
    ND_METHOD Before at_synapse(int j, int q, const Source &s, int n, const real *newest = nullptr) const
    {
        const int latest = spikes[entry(j, q)] + back;
        q += Order::skips(n, latest);
        const long long last = entry(j, q);
        Before b;
        b.arrival = n - s.last;
        b.spike = n - back - spikes[last];
        for (int v = 0; v < PRE; ++v) b.x[v] = s.x[v];
        for (int v = 0; v < POST; ++v) b.y[v] = newest && q == 0 ? newest[v] : post[v][last];
        for (int v = 0; v < Rule::VALUES; ++v) b.value[v] = value[v].at(n - back, j);
        if (Rule::ELAPSES) b.elapsed = Order::elapsed(rule, n, s.last, latest, dosed, n - (why == ND_INTERVAL));
        Order::modulate(b, n, level, dosed);
        return b;
    }

    /* `count` spikes arrive in step n, after spike q of target j; returns what one carries. */
    ND_METHOD real arrive(real *own, int j, int q, const Source &s, int n, int count, const real *newest) const
    {
        const Before b = at_synapse(j, q, s, n, newest);
        if (Rule::DRIFTS) rule.between(own, b);
        return rule.on_arrival(own, b, (real)count);
    }

    /* `count` doses of modulator v come in step n, after spike q of target j. */
    ND_METHOD void act_at_doses(real *own, int v, int j, int q, const Source &s, int n, int count) const
    {
        rule.on_dose(v, own, at_synapse(j, q, s, n), (real)count);
    }

    /* A dose or a text of an interval comes in step n. */
    template <nd_reason why> ND_METHOD void drift(real *own, int j, int q, const Source &s, int n) const
    {
        if (Rule::DRIFTS) rule.between(own, at_synapse<why>(j, q, s, n));
    }

    /* The text of step n, after the events of this step; spike q of target j is the last one seen.
     * `values` has those of the source. */
    ND_METHOD void step(real *own, int j, int q, const Source &s, int n, Values values) const
    {
        const long long last = entry(j, q);
        Before b;
        b.arrival = n - s.last;
        b.spike = n - back - spikes[last];
        for (int v = 0; v < PRE; ++v) b.x[v] = s.x[v];
        for (int v = 0; v < POST; ++v) b.y[v] = post[v][last];
        for (int v = 0; v < Rule::POST_VALUES; ++v) values.post[v] = behind[v].at(n - back, j);
        Order::modulate(b, n, level, dosed);
        rule.on_step(own, b, values);
    }
};
