/* Tables that describe the inputs and outputs of a chunk of steps. The host fills them. Every field
 * is 8 bytes wide. */

typedef unsigned long long nd_peer_word;

struct nd_taker {           /* of an input: what the warps of another GPU send as they compute it (peers.cuh) */
    real *ring;             /* row 0 */
    long long *active;      /* or null */
    long long width, depth, first, back;
    long long sender, place;        /* as in nd_input */
    long long input;        /* number of the input */
    const nd_peer_word *words;      /* of spikes, as bits: (rows, slots); or null */
    const nd_peer_word *values;     /* of values, and of spikes that are not 1: (rows, size) */
    const int4 *places;     /* of each word: its number in a row, bits that are read, values before */
    const int *elements;    /* of each value, in a row of the sender; or null: they follow each other */
    unsigned *held;         /* (depth, number): which values of the ring are not 0 */
    long long number, slots, size;  /* words that are read; words and elements of a row of the sender */
};

struct nd_sender {          /* the same, where it is sent from */
    const real *ring;
    nd_peer_word *words, *values;
    long long slots, size;
};

struct nd_input {           /* values of one variable for slots first .. first + count */
    real *ring;             /* row 0 */
    const real *table;      /* (rows, count) */
    const int *action;      /* of each step of the chunk: row of the table, -1: zeros, -2: nothing */
    long long *active;      /* or null */
    long long width, depth, first, count, back;
    const nd_peer_word *words;   /* what the kernel of another GPU has written (peers.cuh), or null */
    long long sender, place;     /* number of what delivers its spikes, or -1; source of the first value */
    const int *begin, *column;   /* its events as a list, or null: where those of each step begin, their */
    const real *value;           /* columns and values; null where all are 1 */
};

struct nd_probe {           /* rows of one variable, every interval-th step */
    const real *ring;
    const int *elements;    /* or null: from `start` on */
    real *rows;             /* (samples of the chunk, count) */
    long long width, depth, start, count;
    long long offset;       /* first step of the chunk that is recorded - first step */
    long long interval;
    nd_peer_word *words;         /* in the memory of another GPU (peers.cuh), or null */
};

struct nd_events {          /* which elements of one variable are not zero, as bits */
    const real *ring;
    const int *elements;    /* or null */
    unsigned *bits;         /* (steps of the chunk, words) */
    const long long *active;
    long long width, depth, start, count, words;
    const int *columns;     /* of each element, -1: not recorded; or null: as the elements */
};

#ifndef ND_MOST_SENDERS
#define ND_MOST_SENDERS 16  /* variables that cross, for each GPU that they go to or come from */
#endif

struct nd_run {
    const nd_input *input;
    const nd_probe *probe;
    const nd_events *event;
    const nd_probe *exported;
    long long first;        /* step of the chunk */
    long long fuzz;         /* not 0: random delays and orders of items, for tests */
    long long events;       /* number of tables in `recorded` */
    long long end;          /* step after the last one of the chunk */
    long long window;       /* steps between gates (device_end.cuh), where a text has any */
    long long *gate;        /* in memory of the host: [0] steps done, [16] steps that may be done, */
                            /* -1: no more */
    long long gated;        /* the step from which on windows are counted */
    long long sent;         /* rows that kernels have sent before that step; -1: the host exchanges rows */
    long long kept;         /* rows that there is memory for, a power of 2 */
    const nd_sender *senders;       /* what warps send as they compute it */
    const nd_taker *takers;         /* and what those of others do */
    long long sending, taking;      /* how many there are */
    long long copied;       /* whether something is exchanged between barriers at the end of a window */
    nd_events recorded[4];  /* events that are recorded by the warps that compute them */
};

/* Arguments of a kernel: pointers, integers, numbers. */
template <int P, int N, int U, typename Number> struct nd_table {
    void *p[P];
    long long n[N];
    Number u[U];
    typedef nd_table<P, N, U, real> of_copy;
};

/* A number of a table, and a pointer, that are read each time they are used. */
struct nd_late_number {
    const volatile real *at;
    ND_MEMBER operator real() const { return *at; }
};
struct nd_late_array {
    void *const volatile *at;
    ND_MEMBER real &operator[](int i) const { return ((real *)*at)[i]; }
};
#if ND_COPIES && !ND_HOLDS
#define ND_LATE_NUMBER(name, from) const nd_late_number name{&(from)}
#define ND_LATE_ARRAY(name, from) const nd_late_array name{&(from)}
#else
#define ND_LATE_NUMBER(name, from) const real name = (real)(from)
#define ND_LATE_ARRAY(name, from) real *const name = (real *)(from)
#endif
/* A state that rests in memory: where a warp holds its components, the thread keeps it. */
#if ND_HOLDS
#define ND_RESTS(name, place) nd_v_##name[nd_i]
#else
#define ND_RESTS(name, place) nd_s_##name[place]
#endif

#if ND_COPIES
/* Copies of a circuit: the blocks of a launch form groups of `blocks`, one for each copy. What
 * constant memory holds of a lone circuit, each block brings into shared memory for its copy. */
struct nd_places_of_copies {
    const void *const *tables;      /* (copies, parts) arguments of each part */
    const nd_run *chunks;           /* (copies,) */
    const long long *lists;         /* (copies, 3) lists of pieces */
    unsigned *arrived;              /* (copies,) arrivals at the barrier of a copy's blocks */
    long long blocks;
};

extern "C" { __constant__ nd_places_of_copies nd_copies; }
__shared__ nd_run nd_chunk;

ND_FN int nd_copy_number() { return (int)blockIdx.x / (int)nd_copies.blocks; }
ND_FN int nd_own_block() { return (int)blockIdx.x % (int)nd_copies.blocks; }
ND_FN unsigned nd_own_blocks() { return (unsigned)nd_copies.blocks; }

/* Copies words into shared memory; called by all threads of a block. */
ND_FN void nd_into_shared(void *to, const void *from, int bytes)
{
    for (int i = threadIdx.x; i < bytes / 8; i += ND_THREADS)
        ((long long *)to)[i] = ((const long long *)from)[i];
}

/* Copies a table of arguments into shared memory. Each step reads its numbers, so they are converted
 * here. */
template <int P, int N, int U> ND_FN void nd_bring_arguments(nd_table<P, N, U, real> &to, const void *from)
{
    const nd_table<P, N, U, double> &all = *(const nd_table<P, N, U, double> *)from;
    nd_into_shared(to.p, all.p, sizeof to.p);
    nd_into_shared(to.n, all.n, sizeof to.n);
    for (int i = threadIdx.x; i < U; i += ND_THREADS) to.u[i] = (real)all.u[i];
}
#else
extern "C" { __constant__ nd_run nd_chunk; }
ND_FN int nd_own_block() { return (int)blockIdx.x; }
ND_FN unsigned nd_own_blocks() { return gridDim.x; }
#endif

/* The number of this warp among those of a circuit, or of a copy. Warps with numbers in a row belong to
 * different multiprocessors. The last ones of a block, which seldom have components, come first. */
ND_FN int nd_own_warp()
{
    return (int)nd_own_blocks() * (ND_THREADS / 32 - 1 - (int)threadIdx.x / 32) + nd_own_block();
}

/* Spikes of the threads of a warp, N components a thread. */
template <int N, class Outgoing> struct nd_sent {
    unsigned bits[N];       /* which threads have one */
    Outgoing outgoing[N];     /* where the component's connections lie, if cached */
    int at[N];              /* the thread's component */
    real value[N];
};

ND_FN unsigned nd_dirty_at(long long row, long long depth, long long slices, int at)
{
    return (unsigned)nd_row_index(row, depth) * (unsigned)slices + (unsigned)at / ND_LANES;
}

/* Which rows of a ring hold events of a warp's components, N components a thread: one bit for each
 * row, in registers. For rings of more than 64 rows, or where this cache is off, the dirty byte of
 * one row, loaded one step ahead. */
template <int N> struct nd_dirty_rows {
    unsigned long long rows[N], any;
    unsigned was[N];

    static ND_MEMBER bool apart(long long depth) { return depth > 64 || !ND_CACHES_DIRTY; }

    ND_MEMBER void load(int i, const unsigned char *dirty, long long depth, long long row, long long slices, int at, bool live)
    {
        if (apart(depth)) {
            was[i] = dirty[nd_dirty_at(row, depth, slices, at)];
            return;
        }
        const unsigned lives = nd_ballot(live);
        const int first = nd_from(at, 0);
        rows[i] = 0;
        ND_UNROLL
        for (int half = 0; half < 2; ++half) {      /* a row for each thread */
            const int mine = nd_lane() + 32 * half;
            bool some = false;
            if (mine < depth) {
                const unsigned char *slice = dirty + nd_dirty_at(mine, depth, slices, first);
                if (lives & 1) some = slice[0] != 0;
                if (lives >> ND_LANES & 1) some |= slice[1] != 0;
            }
            rows[i] |= (unsigned long long)nd_ballot(some) << 32 * half;
        }
        any = i ? any | rows[i] : rows[i];
    }

    /* Whether the row that is overwritten holds an event of any component, if rows are cached. */
    ND_MEMBER bool some(long long depth, long long row) const
    {
        return !apart(depth) && (any >> nd_row_index(row, depth) & 1);
    }

    /* Whether it holds one of component i; loads the byte of the next row if rows are not cached. */
    ND_MEMBER unsigned take(int i, const unsigned char *dirty, long long depth, long long row, long long slices, int at)
    {
        if (!apart(depth)) return (unsigned)(rows[i] >> nd_row_index(row, depth)) & 1u;
        const unsigned now = was[i];
        was[i] = dirty[nd_dirty_at(row + 1, depth, slices, at)];
        return now;
    }

    ND_MEMBER void mark(int i, bool here, long long depth, long long row)
    {
        if (apart(depth)) return;
        const unsigned long long bit = 1ull << nd_row_index(row, depth);
        rows[i] = here ? rows[i] | bit : rows[i] & ~bit;
        any = i ? any | rows[i] : rows[i];
    }
};

/* Which rows that a turn overwrites hold events of a warp's components, where other components follow
 * after the turn: one bit for each step. */
template <int N> struct nd_dirty_turn {
    long long first;
    unsigned any;

    static ND_MEMBER bool apart(long long) { return false; }

    ND_MEMBER void load(int i, const unsigned char *dirty, long long depth, long long row, long long slices, int at, bool)
    {
        if (i) return;
        first = row;
        const int slice = nd_from(at, 0) / ND_LANES;
        unsigned some = 0;
        if (nd_lane() < ND_WINDOW) {    /* a row for each thread */
            const unsigned char *bytes = dirty + nd_row_index(row + nd_lane(), depth) * slices;
            ND_UNROLL
            for (int j = 0; j < 2 * N; ++j)
                some |= bytes[slice + j < slices ? slice + j : slices - 1];
        }
        any = nd_ballot(some != 0);
    }

    ND_MEMBER bool some(long long, long long row) const { return any >> (int)(row - first) & 1; }
    ND_MEMBER unsigned take(int, const unsigned char *, long long, long long, long long, int) { return 0; }
    ND_MEMBER void mark(int, bool, long long, long long) {}
};

/* Asks the L2 cache for elements `first` to `end` of the rows of a window. The first row begins at
 * `at`, and all rows have `all` elements. Called by a warp. */
template <class T> ND_FN void nd_prefetch_rows(
    const T *p, unsigned at, unsigned all, unsigned width, int first, int end)
{
    const int line = 128 / sizeof(T), lines = (end - first + line - 1) / line + 1;
    for (int i = nd_lane(); i < ND_WINDOW * lines; i += 32) {
        const unsigned row = at + i / lines * width;
        const int element = first + i % lines * line;
        const T *const where = p + umin(row, row - all) + (element < end ? element : end - 1);
        asm volatile("prefetch.global.L2 [%0];" :: "l"(where));
    }
}

#if ND_HOLDS
#define ND_DIRTY_ROWS nd_dirty_rows
#else
#define ND_DIRTY_ROWS nd_dirty_turn
#endif

/* Copy of the tables in shared memory: constant memory is slow if it is read rarely. */
struct nd_recording {
    long long first, end, events;
    nd_events recorded[4];
#if ND_GATES
    int sending;
    unsigned numbered, kept;    /* number of a row - row */
    nd_sender senders[ND_MOST_SENDERS];
    nd_taker takers[ND_MOST_SENDERS];
#endif
};
__shared__ nd_recording nd_records;

/* Fills the copy at the beginning of a launch. Called by all threads of a block. */
ND_FN void nd_bring_tables()
{
    enum { WORDS = sizeof(nd_records.recorded) / 8 };
    for (int i = threadIdx.x; i < WORDS; i += ND_THREADS)
        ((long long *)nd_records.recorded)[i] = ((const long long *)nd_chunk.recorded)[i];
    if (threadIdx.x == 0) {
        nd_records.first = nd_chunk.first;
        nd_records.end = nd_chunk.end;
        nd_records.events = nd_chunk.events;
#if ND_GATES
        nd_records.sending = (int)nd_chunk.sending;
        nd_records.numbered = (unsigned)(nd_chunk.sent - nd_chunk.gated), nd_records.kept = (unsigned)nd_chunk.kept;
        for (int i = 0; i < nd_records.sending; ++i) nd_records.senders[i] = nd_chunk.senders[i];
        for (int i = 0; i < (int)nd_chunk.taking; ++i) nd_records.takers[i] = nd_chunk.takers[i];
#endif
    }
    __syncthreads();
}

/* Records the events of a warp in the row that it writes: sets bits of the tables. */
static __device__ __noinline__ void nd_record_event(const real *ring, long long row, bool mine, int element)
{
    if (row >= nd_records.end) return;  /* the next chunk scans its first row */
    for (int i = 0; i < (int)nd_records.events; ++i) {
        const nd_events &e = nd_records.recorded[i];
        if (e.ring != ring || !mine) continue;
        int column = element - (int)e.start;
        if (e.columns) column = __ldg(e.columns + element);
        else if (column >= (int)e.count) column = -1;
        if (column >= 0) atomicOr(e.bits + (row - nd_records.first) * e.words + column / 32, 1u << column % 32);
    }
}
