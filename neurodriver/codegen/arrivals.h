/* Arrivals of spikes at synapses that learn: what is known of their sources, and which synapses they
 * reach. */
#include "source_spikes.h"

#define ND_QUEUE 128        /* arrivals that wait for what is prefetched, */
#define ND_SOURCES_AHEAD 8  /* those whose synapses are prefetched meanwhile */

template <class Rule, typename Code, typename Slot, int depth>
struct nd_arrivals : nd_learning<Rule, Code, Slot, depth> {
    typedef nd_learning<Rule, Code, Slot, depth> Batches;
    using Batches::rule, Batches::parts, Batches::stride, Batches::apart, Batches::code, Batches::own, Batches::OWN;
    using Batches::arrivals, Batches::pre, Batches::PRE, Batches::swept, Batches::back, Batches::forward;
    using Batches::now, Batches::width, Batches::end, Batches::b;
    typedef typename Batches::Source Source;
    const long long *block;     /* of rows with equal a, f and b (`plan/spikes/learning_rows.py`), */
    const long long *first_of;  /* (blocks, 2): the first source of each, and which row of it */
    int blocks, thread, threads, each;  /* rows of a source at most */
    int least, most;            /* steps from a source to its synapses; */
    int lag;                    /* those of the present block, */
    long long first, size, row_0;   /* its first source, their number, and the first row; */
    const long long *part_0;    /* share of that row: those of a source lie side by side, and so do their
                                 * synapses, as spikes that reach one row reach the next one soon */
    nd_source_spikes<Rule> listed;
    struct { const long long *part; long long spike; int lag, forward, back; } queue[ND_QUEUE];
    int queued = 0;

    void enter(int of)
    {
        const long long *const one = block + 6 * of;
        lag = (int)one[0];
        first = first_of[2 * of];
        part_0 = parts + (first * each + first_of[2 * of + 1]) * stride;
        size = one[2] - one[1];
        row_0 = one[3];
        forward = (int)one[4];
        back = (int)one[5];
    }

    const long long *part_of(long long i) const { return part_0 + i * each * stride; }

    /* Whether a thread has synapses of source i in the present block. */
    bool reaches(long long i) const
    {
        const long long *one = part_of(i) - thread * apart;
        for (int t = 0; t < threads; ++t, one += apart)
            if (one[0] < one[1]) return true;
        return false;
    }

    /* What is known of source i of the present block, as `listed.before` has it. */
    Source source(long long i) const { return source(i, listed.before, listed.traces_before); }
    Source source(long long i, const int *rows, const real *traces) const
    {
        Source s;
        const long long j = first + i;
        listed.fill(s, rows + 2 * j, traces + 2 * PRE * j, lag);
        set(s, 0);
        return s;
    }

    void set(Source &s, int count) const
    {
        s.from = nd_order<Rule>::pending_from(s.last, (int)swept[0]);
        s.back = back;
        s.count = count;
        s.slots = now + (unsigned)forward * width;
        s.slots -= s.slots >= end ? end : 0;
    }

    /* Before step n nothing is known of sources but what is stored of each row. */
    void begin(int n)
    {
        listed.forget(n > most ? n - most : 0, n);
        for (int of = 0; of < blocks; ++of) {
            enter(of);
            for (long long i = 0; i < size; ++i) {
                const long long row = row_0 + i, j = first + i;
                if (!reaches(i) || !listed.knows_less(j, lag)) continue;
                for (int e = 0; e < 2; ++e) {
                    const int last = arrivals[2 * row];
                    listed.known[2 * j + e] = last == ND_NEVER ? last : last - lag;
                    for (int v = 0; v < PRE; ++v) listed.traces[2 * (PRE * j + v) + e] = pre[v][2 * row];
                }
            }
        }
    }

    /* Store what each row knows before step n. */
    void store(int n)
    {
        for (int of = 0; of < blocks; ++of) {
            enter(of);
            listed.go_back(lag, n);
            for (long long i = 0; i < size; ++i) {
                const Source s = source(i);
                const long long row = row_0 + i;
                arrivals[2 * row] = s.last;
                arrivals[2 * row + 1] = s.earlier;
                for (int v = 0; v < PRE; ++v) {
                    pre[v][2 * row] = s.x[v];
                    pre[v][2 * row + 1] = s.x_earlier[v];
                }
            }
        }
    }

    /* Let all spikes arrive that are due in step n. */
    void arrive(int n)
    {
        for (int of = 0; of < blocks; ++of) {
            enter(of);
            if (n < lag) continue;
            const long long begin = listed.of_row(n - lag), past = begin + listed.count[(n - lag) % listed.lists];
            for (long long spike = begin; spike < past; ++spike) {
                const long long i = listed.spike[4 * spike] - first;
                if (i >= 0 && i < size) expect(part_of(i), spike, n);
            }
        }
        take_queue(n);
        this->template advance<ND_ARRIVAL>(n);
    }

    /* A listed spike arrives in step n: where its synapses lie is prefetched first. */
    void expect(const long long *part, long long spike, int n)
    {
        if (queued == ND_QUEUE) take_queue(n);
        __builtin_prefetch(part);
        queue[queued++] = {part, spike, lag, forward, back};
    }

    /* Let the spikes of the queue arrive, while the synapses of the next ones are prefetched. */
    void take_queue(int n)
    {
        const int forward_next = forward, back_next = back;
        for (int i = 0; i < queued + ND_SOURCES_AHEAD; ++i) {
            if (i < queued) {
                const long long p = queue[i].part[0], last = queue[i].part[1] - 1;
                __builtin_prefetch(code + p);
                for (int v = 0; v < OWN; ++v) {
                    __builtin_prefetch(own[v] + p, 1);
                    __builtin_prefetch(own[v] + last, 1);   /* a short row may reach into the next line */
                }
            }
            if (i < ND_SOURCES_AHEAD) continue;
            const auto &q = queue[i - ND_SOURCES_AHEAD];
            const int *const spike = listed.spike + 4 * q.spike;
            forward = q.forward;
            back = q.back;
            Source s;
            listed.fill(s, spike + 2, listed.spike_traces + 2 * PRE * q.spike, q.lag);
            set(s, spike[1]);
            add<ND_ARRIVAL>(q.part, s, n);
        }
        queued = 0;
        forward = forward_next;
        back = back_next;
    }

    /* Put the synapses of a row into the batch; advance it whenever it is full. */
    template <nd_reason why> void add(const long long *part, const Source &s, int n)
    {
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
