/* Texts over the synapses of a path, for C++ and CUDA C++. `model/synapse_texts.py` says what they are.
 *
 * The synapses of a target are one after the other, as a row is. On a CPU one thread computes a row. On a
 * GPU the threads of a warp share a row. All that is summed is a multiple of 2^-40, as an integer. So no
 * order of additions changes a bit. The text that pastes this in first defines ND_FN and `nd_whole`, a real
 * number in multiples of 2^-40, rounded; `nd_total`, the sum over the threads that share a row; and
 * `nd_greatest_of`, the greatest number of these threads. */
typedef double real;

struct nd_synapses {
    const long long *first;             /* (targets + 1,): where the synapses of each target begin */
    const int *source;                  /* of each synapse */
    real *const *own;                   /* numbers of each synapse */
    real *const *kept;                  /* (copies, names): the same, in each copy */
    long long *counts;                  /* what texts have added to each synapse */
    int *marks;                         /* of each target: whether a count may be another number than 0 */
    const nd_state *const *states;      /* (copies, 2, elements): of the sources, then of the targets */
    const real *const *given;           /* (copies, names): numbers of each target */
    const real *numbers;
    nd_state *const *sent;              /* (copies,): what a spike carries, in the order of the circuit; */
    const int *place;                   /* where each synapse stands there, or null */
    long long copies;
    long long copies_sent;
    long long text;                     /* which of the texts runs */
    long long row, synapse;             /* numbers of its first target and synapse among those of all sets */
};

ND_FN real nd_counted(long long n) { return (real)n * 0x1p-40; }

ND_FN void nd_store_sent(const nd_synapses &s, long long p, real value)
{
    if (!s.place) return;
    const int at = s.place[p];
    for (long long i = 0; i < s.copies_sent; ++i) s.sent[i][at] = (nd_state)value;
}

/* Units of a population in a copy, and where the greatest value of a state is kept. */
struct nd_units {
    const nd_state *values;
    long long count;
    real *greatest;
};

enum { ND_VALUES = 8 };         /* that a thread loads before it compares them */

/* Find the greatest value of some units, which `lanes` threads share. */
ND_FN void nd_find_greatest(const nd_units &units, int lane, int lanes)
{
    real most = (real)units.values[0];
    for (long long i = lane; i < units.count; i += ND_VALUES * lanes) {
        nd_state value[ND_VALUES];
        ND_UNROLL
        for (int k = 0; k < ND_VALUES; ++k) {
            const long long at = i + k * lanes;
            value[k] = units.values[at < units.count ? at : 0];
        }
        ND_UNROLL
        for (int k = 0; k < ND_VALUES; ++k)
            if (most < (real)value[k] || value[k] != value[k]) most = (real)value[k];   /* NaN stays */
    }
    most = nd_greatest_of(most);
    if (lane == 0) *units.greatest = most;
}
