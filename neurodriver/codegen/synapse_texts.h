/* Texts over the synapses of a path, for C++ and CUDA C++. `model/synapse_texts.py` says what they are.
 *
 * The synapses of a target are one after the other, as a row is. On a CPU one thread computes a row. On a
 * GPU the threads of a warp share a row. All that is summed is a multiple of 2^-40, as an integer. So no
 * order of additions changes a bit. The text that pastes this in first defines ND_FN and `nd_whole`, a real
 * number in multiples of 2^-40, rounded; and `nd_total`, the sum over the threads that share a row. */
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
};

ND_FN real nd_counted(long long n) { return (real)n * 0x1p-40; }

ND_FN void nd_store_sent(const nd_synapses &s, long long p, real value)
{
    if (!s.place) return;
    const int at = s.place[p];
    for (long long i = 0; i < s.copies_sent; ++i) s.sent[i][at] = (nd_state)value;
}
