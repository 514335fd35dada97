/* Messages to other processes at gates, without the host's language: two functions of MPI are called by
 * their addresses, with persistent requests. What takes long, or goes wrong, is left to the host. */
extern "C" {

struct nd_listed_block {            /* sources whose events go out as lists */
    nd_ring ring;
    const int32_t *column;          /* number of each element in the list, or -1 */
    integer low, high;              /* as nd_list_events takes them */
};

struct nd_outbox {                  /* lists to one process */
    char *message;
    real *values;                   /* room for those of a block */
    integer blocks;
    const nd_listed_block *block;
    integer sizes;                  /* there is a request for each size of a message; they ascend */
    const integer *size;
    const char *request;
};

struct nd_inbox {                   /* a block of lists from one process */
    const char *message;
    integer follows;                /* whether the block before it lies in the same message */
    integer inputs;
    const integer *input;           /* numbers of the inputs that read it */
};

struct nd_messages {
    int (*start)(int, void *);                      /* MPI_Startall */
    int (*test)(int, void *, int *, void *);        /* MPI_Testall */
    integer window;
    integer handle;                 /* bytes of a request */
    integer requests;               /* of an exchange; the last ones send lists, one for each outbox */
    integer period;                 /* after so many exchanges the same requests are used again */
    char *request;                  /* (period, requests) */
    void *statuses;
    integer heads;
    const real *const *head;        /* first value of each message that comes: 0 where all is well */
    integer outboxes, inboxes;
    const nd_outbox *outbox;
    const nd_inbox *inbox;
    integer spin, patience;         /* nanoseconds of testing: without a pause, and at all */
    integer number;                 /* exchanges that have begun */
    integer pending;                /* whether one has begun here, and the host has to finish it */
    integer error;                  /* of MPI */
    integer nanoseconds;            /* of all exchanges */
    integer bytes;                  /* of the lists that have come */
    integer done;                   /* exchanges that the host had nothing to do with */
};
}

namespace {

inline integer filled_up(integer bytes) { return (bytes + 7) / 8 * 8; }

/* The requests of an exchange. */
inline char *requests_of(const nd_messages &m, integer number)
{
    return m.request + number % m.period * m.requests * m.handle;
}

/* Write the lists of the window that ends with row k; choose requests that send enough bytes. */
inline void write_lists(const nd_messages &m, integer k, char *requests)
{
    for (integer o = 0; o < m.outboxes; ++o) {
        const nd_outbox &out = m.outbox[o];
        integer at = 0;
        for (integer b = 0; b < out.blocks; ++b) {
            const nd_listed_block &block = out.block[b];
            integer *begin = (integer *)(out.message + at);
            at += 8 * (m.window + 1);
            const integer n = nd_list_events(&block.ring, block.column, block.low, block.high,
                                             k - m.window + 1, m.window, begin,
                                             (int32_t *)(out.message + at), out.values);
            at += filled_up(4 * n);
            std::memcpy(out.message + at, out.values, (size_t)n * sizeof(real));
            at += filled_up(n * (integer)sizeof(real));
        }
        integer s = 0;
        while (s + 1 < out.sizes && out.size[s] < at) ++s;
        std::memcpy(requests + (m.requests - m.outboxes + o) * m.handle,
                    out.request + s * m.handle, (size_t)m.handle);
    }
}

/* Let inputs read the lists that have come; `before` steps of the call are done. */
inline integer read_lists(const nd_messages &m, nd_input *inputs, integer before)
{
    integer at = 0, bytes = 0;
    for (integer i = 0; i < m.inboxes; ++i) {
        const nd_inbox &in = m.inbox[i];
        if (!in.follows) at = 0;
        const integer *begin = (const integer *)(in.message + at), n = begin[m.window], from = at;
        at += 8 * (m.window + 1);
        const int32_t *column = (const int32_t *)(in.message + at);
        at += filled_up(4 * n);
        const real *value = (const real *)(in.message + at);
        at += filled_up(n * (integer)sizeof(real));
        for (integer j = 0; j < in.inputs; ++j) {
            nd_input &input = inputs[in.input[j]];
            input.begin = begin - before;
            input.column = column;
            input.value = value;
        }
        bytes += at - from;
    }
    return bytes;
}

/* Whether the messages of the exchange that has begun are there. */
inline bool arrived(nd_messages &m)
{
    int flag = 0;
    m.error = m.test((int)m.requests, requests_of(m, m.number - 1), &flag, m.statuses);
    return flag && !m.error;
}

/* Test without pause, then give way to other programs. */
inline bool arrives(nd_messages &m, std::chrono::steady_clock::time_point begin)
{
    for (;;) {
        if (arrived(m)) return true;
        const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - begin;
        if (m.error || waited.count() > m.patience) return false;
        if (waited.count() > m.spin) std::this_thread::yield();
    }
}

/* Exchange when k steps are done, `before` of them in this call. False: the host has to go on. */
inline bool exchange(nd_messages &m, nd_input *inputs, integer k, integer before)
{
    const auto begin = std::chrono::steady_clock::now();
    char *requests = requests_of(m, m.number);
    write_lists(m, k, requests);
    m.error = m.start((int)m.requests, requests);
    ++m.number;
    m.pending = 1;
    bool well = !m.error && arrives(m, begin);
    for (integer i = 0; well && i < m.heads; ++i) well = *m.head[i] == 0;
    if (well) {
        m.bytes += read_lists(m, inputs, before);
        m.pending = 0;
        ++m.done;
    }
    const std::chrono::nanoseconds spent = std::chrono::steady_clock::now() - begin;
    m.nanoseconds += spent.count();
    return well;
}

}  // namespace

/* Whether the messages of the exchange that has begun are there; `error` is that of MPI. */
extern "C" int nd_arrived(nd_messages *m) { return arrived(*m); }
