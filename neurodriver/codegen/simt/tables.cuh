/* What enters and leaves a device in a chunk of steps, as the host tells it: all fields of the
 * tables are 8 bytes wide. */

struct nd_input {           /* values of one variable for slots first .. first + count */
    real *ring;             /* row 0 */
    const real *table;      /* (rows, count) */
    const int *action;      /* of each step of the chunk: row of the table, -1: zeros, -2: nothing */
    long long *active;      /* or null */
    long long width, depth, first, count, back;
};

struct nd_probe {           /* rows of one variable, every interval-th step */
    const real *ring;
    const int *elements;    /* or null: from `start` on */
    real *rows;             /* (samples of the chunk, count) */
    long long width, depth, start, count;
    long long offset;       /* first step of the chunk that is recorded - first step */
    long long interval;
};

struct nd_events {          /* which elements of one variable are not zero, as bits */
    const real *ring;
    const int *elements;    /* or null */
    unsigned *bits;         /* (steps of the chunk, words) */
    const long long *active;
    long long width, depth, start, count, words;
    const int *columns;     /* of each element, -1: not recorded; or null: as the elements */
};

struct nd_run {
    const nd_input *input;
    const nd_probe *probe;
    const nd_events *event;
    const nd_probe *exported;
    long long first;        /* step of the chunk */
    long long fuzz;         /* not 0: warps dawdle and take their items in changing orders */
    long long events;       /* tables of events whose rows need not be looked through */
    long long end;          /* step after the last one of the chunk */
    long long window;       /* steps between gates (device_end.cuh), where a text has any */
    long long *gate;        /* in memory of the host: [0] steps done, [16] steps that may be done, */
                            /* -1: no more; [32] arrivals at the barrier at the end of a launch */
    nd_events noted[4];     /* these tables */
};

extern "C" { __constant__ nd_run nd_given; }

/* Events of the threads of a warp, of N components each. */
template <int N, class Letters> struct nd_sent {
    unsigned bits[N];       /* which threads have one */
    Letters letters[N];     /* where the connections of the thread's component are, if it is kept */
    int at[N];              /* the thread's component */
    real value[N];
};

ND_FN unsigned nd_note_at(long long row, long long depth, long long slices, int at)
{
    return (unsigned)nd_place(row, depth) * (unsigned)slices + (unsigned)at / ND_LANES;
}

/* Which rows of a ring hold events of the components of a warp, N a thread: a bit for each row. Of a
 * longer ring, or where that is slower: the note on the row that is written now, asked for a step
 * ahead. */
template <int N> struct nd_past {
    unsigned long long rows[N], any;
    unsigned was[N];

    static ND_MEMBER bool apart(long long depth) { return depth > 64 || !ND_RECALLS; }

    ND_MEMBER void load(int i, const unsigned char *notes, long long depth, long long row, long long slices, int at, bool live)
    {
        if (apart(depth)) {
            was[i] = notes[nd_note_at(row, depth, slices, at)];
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
                const unsigned char *note = notes + nd_note_at(mine, depth, slices, first);
                if (lives & 1) some = note[0] != 0;
                if (lives >> ND_LANES & 1) some |= note[1] != 0;
            }
            rows[i] |= (unsigned long long)nd_ballot(some) << 32 * half;
        }
        any = i ? any | rows[i] : rows[i];
    }

    /* Whether the row that is written now holds any, as far as that is known of all at once. */
    ND_MEMBER bool some(long long depth, long long row) const
    {
        return !apart(depth) && (any >> nd_place(row, depth) & 1);
    }

    /* The same of component i. */
    ND_MEMBER unsigned take(int i, const unsigned char *notes, long long depth, long long row, long long slices, int at)
    {
        if (!apart(depth)) return (unsigned)(rows[i] >> nd_place(row, depth)) & 1u;
        const unsigned now = was[i];
        was[i] = notes[nd_note_at(row + 1, depth, slices, at)];
        return now;
    }

    ND_MEMBER void note(int i, bool here, long long depth, long long row)
    {
        if (apart(depth)) return;
        const unsigned long long bit = 1ull << nd_place(row, depth);
        rows[i] = here ? rows[i] | bit : rows[i] & ~bit;
        any = i ? any | rows[i] : rows[i];
    }
};

/* What events are recorded by, near at hand: constants that are read once in a long time are not. */
struct nd_recording {
    long long first, end, events;
    nd_events noted[4];
};
__shared__ nd_recording nd_records;

/* At the beginning of a launch, by all threads of a block. */
ND_FN void nd_bring_tables()
{
    enum { WORDS = sizeof(nd_records.noted) / 8 };
    for (int i = threadIdx.x; i < WORDS; i += ND_THREADS)
        ((long long *)nd_records.noted)[i] = ((const long long *)nd_given.noted)[i];
    if (threadIdx.x == 0) {
        nd_records.first = nd_given.first;
        nd_records.end = nd_given.end;
        nd_records.events = nd_given.events;
    }
    __syncthreads();
}

/* Record the events of a warp in the row that it writes. */
static __device__ __noinline__ void nd_note(const real *ring, long long row, bool mine, int element)
{
    if (row >= nd_records.end) return;  /* the next chunk looks for them */
    for (int i = 0; i < (int)nd_records.events; ++i) {
        const nd_events &e = nd_records.noted[i];
        if (e.ring != ring || !mine) continue;
        int column = element - (int)e.start;
        if (e.columns) column = __ldg(e.columns + element);
        else if (column >= (int)e.count) column = -1;
        if (column >= 0) atomicOr(e.bits + (row - nd_records.first) * e.words + column / 32, 1u << column % 32);
    }
}
