/* Tables that the step loop reads: kernels, rings of rows, inputs, and what is recorded. */
typedef REAL real;
typedef long long integer;

#include "../../codegen/cpu/event_list.h"


struct nd_args { void **p; const integer *n; const double *u; };
typedef void (*nd_update)(const nd_args *, integer, integer, integer);

extern "C" {

struct nd_kernel {
    nd_update update;
    nd_update deliver;                 /* before each update, or null */
    nd_args args;
    const integer *cuts;            /* (threads + 1) first component of each thread */
    integer phase;                  /* kernels ascend by their phase */
    integer waits;                  /* whether a barrier comes before it */
    void (*open)(const nd_args *, integer);     /* before the first step of a call, or null */
};

struct nd_ring {
    real *data;
    integer depth, width;
    integer *active;                /* last step at which a row was not all zero, or null */
    uint16_t *dirty;                /* which of 16 elements of a row may hold an event, or null */
    integer *counted;               /* last step at which an event of a row may have been another
                                       number than 1, or null */
    integer *where;                 /* inputs only: which row holds each of `depth` steps, or null */
    integer *level;                 /* (depth, inputs) whether all values of an input in it are equal */
};

struct nd_input {                   /* values of one (variable, uids) for a chunk of steps: rows of a
                                       table, or events */
    integer ring, first, count;     /* slots first .. first + count of the ring's rows */
    const real *table;              /* (rows, count) */
    const int32_t *row_of_step;     /* row of the table at each step of the chunk, -1: zero */
    integer version;                /* changes with the table; 0: compare nothing */
    integer back;                   /* at step k the values are put into row k - back */
    const integer *begin;           /* (steps + 1) where the events of each step begin; null: rows */
    const int32_t *column;          /* ascending within a step */
    const real *value;
    const uint8_t *level;           /* (rows) whether all values of a row of the table are equal, or null */
};

struct nd_probe {                   /* rows of one variable, every interval-th step */
    integer ring, count;
    const int32_t *elements;        /* recorded elements, in the order asked for */
    integer contiguous;             /* the elements are elements[0], elements[0] + 1, ... */
    integer interval;
    real *rows;                     /* (capacity, stride) */
    integer capacity, stride;
};

struct nd_events {                  /* non-zero elements of one variable at every step */
    integer ring, count;
    const int32_t *elements;
    integer contiguous;
    integer capacity;               /* of each thread */
    int32_t *step, *index;          /* (threads, capacity) */
    integer *found;                 /* (threads) */
    integer ascending;              /* whether the elements are in order */
};

struct nd_times {                   /* of a profiled run, in ticks (see `tick`) */
    integer stride;                 /* of the rows of the threads: whole cache lines */
    integer *elapsed;                 /* (threads, stride): what each part of the steps took, summed */
    integer *stamps;                /* (threads, stride): one step of the last call: where its parts
                                       begin, since the call began, and the end; 0: not done */
    integer ticks, nanoseconds;     /* of all calls, by this clock and by another */
};

struct nd_plan {
    integer threads, kernels, rings, inputs, probes, events, exports;
    integer window;                 /* steps between two barriers at most */
    integer copy;                   /* number of the copy in a batch: its columns of recorded rows */
    const nd_kernel *kernel;
    const nd_ring *ring;
    nd_input *input;
    nd_list *const *list;              /* of each input, or null: its events enter by the row */
    nd_probe *probe;
    nd_events *event;
    nd_probe *exported;             /* rows k + 1 of step k, for other processes; interval 1 */
    nd_times *times;                /* or null */
};

struct nd_gate {                    /* where a call waits for other processes */
    integer every;                  /* after each so many steps; 0: nowhere */
    int (*serve)(integer);          /* given the steps done, returns whether the call goes on */
    integer from;                   /* the step from which on they are counted */
};
}
