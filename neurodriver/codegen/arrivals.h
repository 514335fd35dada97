/* Arrivals of spikes at synapses that learn: what is known of their sources, and which synapses they
 * reach. */
#define ND_QUEUE 128        /* arrivals that wait for what is prefetched, */
#define ND_SOURCES_AHEAD 8  /* those whose synapses are prefetched meanwhile */

template <class Rule, typename Code, typename Slot, int depth>
struct nd_arrivals : nd_learning<Rule, Code, Slot, depth> {
    typedef nd_learning<Rule, Code, Slot, depth> Batches;
    using Batches::rule, Batches::parts, Batches::stride, Batches::code, Batches::own, Batches::OWN;
    using Batches::arrivals, Batches::pre, Batches::PRE, Batches::swept, Batches::back, Batches::forward;
    using Batches::now, Batches::width, Batches::end, Batches::b;
    typedef typename Batches::Source Source;
    struct { long long row; int count, forward, back; } queue[ND_QUEUE];
    int queued = 0;

    Source source(long long row, int count) const
    {
        Source s;
        s.last = arrivals[2 * row];
        s.earlier = arrivals[2 * row + 1];
        s.from = nd_order<Rule>::pending_from(s.last, (int)swept[0]);
        s.back = back;
        s.count = count;
        s.slots = now + (unsigned)forward * width;
        s.slots -= s.slots >= end ? end : 0;
        for (int v = 0; v < PRE; ++v) {
            s.x[v] = pre[v][2 * row];
            s.x_earlier[v] = pre[v][2 * row + 1];
        }
        return s;
    }

    /* `count` spikes of a source arrive in step n: what is known of it is prefetched first. */
    void expect(long long row, int count, int n)
    {
        if (count <= 0) return;
        if (queued == ND_QUEUE) take_queue(n);
        __builtin_prefetch(parts + row * stride);
        __builtin_prefetch(arrivals + 2 * row, 1);
        for (int v = 0; v < PRE; ++v) __builtin_prefetch(pre[v] + 2 * row, 1);
        queue[queued].row = row;
        queue[queued].count = count;
        queue[queued].forward = forward;
        queue[queued++].back = back;
    }

    /* Let the spikes of the queue arrive, while the synapses of the next ones are prefetched. */
    void take_queue(int n)
    {
        const int forward_next = forward, back_next = back;
        for (int i = 0; i < queued + ND_SOURCES_AHEAD; ++i) {
            if (i < queued) {
                const long long p = parts[queue[i].row * stride];
                __builtin_prefetch(code + p);
                for (int v = 0; v < OWN; ++v) __builtin_prefetch(own[v] + p, 1);
            }
            if (i < ND_SOURCES_AHEAD) continue;
            const auto &q = queue[i - ND_SOURCES_AHEAD];
            forward = q.forward;
            back = q.back;
            add<ND_ARRIVAL>(q.row, source(q.row, q.count), n);
        }
        for (int first = 0; first < queued; first += ND_BATCH_LANES) note_arrivals(first, n);
        queued = 0;
        forward = forward_next;
        back = back_next;
    }

    /* Some sources of the queue have spikes that arrive in step n: what is known of them then. Their
     * traces are advanced side by side. */
    void note_arrivals(int first, int n)
    {
        const int left = queued - first, m = left < ND_BATCH_LANES ? left : ND_BATCH_LANES;
        int steps[ND_BATCH_LANES] = {};
        real count[ND_BATCH_LANES] = {};
        for (int i = 0; i < m; ++i) {
            int *const at = arrivals + 2 * queue[first + i].row;
            steps[i] = n - at[0];
            count[i] = (real)queue[first + i].count;
            at[1] = at[0];
            at[0] = n;
        }
        for (int v = 0; v < PRE; ++v) {
            real x[ND_BATCH_LANES] = {}, next[ND_BATCH_LANES];
            for (int i = 0; i < m; ++i) x[i] = pre[v][2 * queue[first + i].row];
            ND_SIMD
            for (int i = 0; i < ND_BATCH_LANES; ++i) next[i] = rule.pre_after(v, x[i], steps[i], count[i]);
            for (int i = 0; i < m; ++i) {
                real *const at = pre[v] + 2 * queue[first + i].row;
                at[1] = x[i];
                at[0] = next[i];
            }
        }
    }

    /* Put the synapses of a source into the batch; advance it whenever it is full. */
    template <nd_reason why> void add(long long row, const Source &s, int n)
    {
        const long long *part = parts + row * stride;
        for (long long p = part[0]; p < part[1];) {
            if (b.count == ND_BATCH) this->template advance<why>(n);
            const long long room = ND_BATCH - b.count, left = part[1] - p;
            const int m = (int)(left < room ? left : room);
            for (int i = 0; i < m; i += ND_BATCH_ROUND)
                for (int k = 0; k < ND_BATCH_ROUND; ++k) {
                    b.of[b.count + i + k] = b.sources;
                    b.synapse[b.count + i + k] = p + i + k;
                }
            b.source[b.sources++] = s;
            b.count += m;
            p += m;
        }
    }
};
