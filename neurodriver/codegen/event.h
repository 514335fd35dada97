/* An event at a synapse that learns. One text for C++ and CUDA C++. */
#define ND_NEVER (-(1 << 30))       /* step of an event that has not been */

/* What a text of a rule knows of the events before: traces as they were after them, and the steps
 * since: since an arrival, a spike and a dose that come before in the order of the rule, and since the
 * last event of any kind, which may be of the same step. */
template <int PRE, int POST, int MODULATORS> struct nd_before {
    real x[PRE + 1], y[POST + 1], level[MODULATORS + 1];
    int arrival, spike, elapsed, dosed[MODULATORS + 1];
};
