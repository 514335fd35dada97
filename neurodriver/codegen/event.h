/* An event at a synapse that learns. One text for C++ and CUDA C++. */
#ifndef ND_NEVER
#define ND_NEVER (-(1 << 30))       /* step of an event that has not been */

/* What a text of a rule knows of the events before: traces as they were after them, and the steps
 * since: since an arrival, a spike and a dose that come before in the order of the rule, and since the
 * last event of any kind, which may be of the same step. */
template <int PRE, int POST, int MODULATORS, int VALUES = 0> struct nd_before {
    real x[PRE + 1], y[POST + 1], level[MODULATORS + 1], value[VALUES + 1];
    int arrival, spike, elapsed, dosed[MODULATORS + 1];
};

/* Values of the neurons at both ends of a synapse, and those that all synapses share, in one step. */
template <int PRE, int POST, int SHARED = 0> struct nd_values {
    real pre[PRE + 1], post[POST + 1], shared[SHARED + 1];
};
#endif
