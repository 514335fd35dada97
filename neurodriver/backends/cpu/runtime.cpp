/* Step loop of the CPU backend: threads that live for a whole run and one barrier a step.
 *
 * In phase k every thread reads rows <= k and writes row k + 1: its share of each kernel's
 * components, of the inputs of step k + 1, and of the recorded rows of step k. Nothing that is
 * written in a phase is read in the same phase, so the result does not depend on the threads.
 *
 * Where components reach each other by spikes of long delays alone, a window of several steps takes
 * the place of one: a thread deals out what is due in all of them, and then advances a tile by all
 * of them before the next, so that its states stay in the nearest cache.
 *
 * Compiled with -DREAL=float or -DREAL=double.
 */
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>
#ifdef __linux__
#include <sched.h>
#endif

typedef REAL real;
typedef long long integer;

struct nd_args { void **p; const integer *n; const double *u; };
typedef void (*nd_update)(const nd_args *, integer, integer, integer);

extern "C" {

struct nd_kernel {
    nd_update update;
    nd_update deal;                 /* before each update, or null */
    nd_args args;
    const integer *cuts;            /* (threads + 1) first component of each thread */
};

struct nd_ring {
    real *data;
    integer depth, width;
    integer *active;                /* last step at which a row was not all zero, or null */
    const uint16_t *noted;          /* which of 16 elements of a row may hold an event, or null */
    integer *where;                 /* inputs only: which of two rows holds an even, an odd step */
};

struct nd_input {                   /* values of one (variable, uids) for a chunk of steps */
    integer ring, first, count;     /* slots first .. first + count of the ring's rows */
    const real *table;              /* (rows, count) */
    const int32_t *row_of_step;     /* row of the table at each step of the chunk, -1: zero */
    integer version;                /* changes with the table; 0: compare nothing */
    integer back;                   /* at step k the values are put into row k - back */
};

struct nd_probe {                   /* rows of one variable, every interval-th step */
    integer ring, count;
    const int32_t *elements;        /* recorded elements, in the order asked for */
    integer contiguous;             /* the elements are elements[0], elements[0] + 1, ... */
    integer interval;
    real *rows;                     /* (capacity, count) */
    integer capacity;
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
    integer *spent;                 /* (threads, stride): what each part of the steps took, summed */
    integer *stamps;                /* (threads, stride): one step of the last call: where its parts
                                       begin, since the call began, and the end; 0: not done */
    integer ticks, nanoseconds;     /* of all calls, by this clock and by another */
};

struct nd_plan {
    integer threads, kernels, rings, inputs, probes, events, exports;
    integer window;                 /* steps between two barriers at most */
    const nd_kernel *kernel;
    const nd_ring *ring;
    nd_input *input;
    nd_probe *probe;
    nd_events *event;
    nd_probe *exported;             /* rows k + 1 of step k, for other processes; interval 1 */
    nd_times *times;                /* or null */
};
}

namespace {

const integer TILE = 4096 / sizeof(real);  /* components that take the steps of a window together: their
                                              states fit into the nearest cache */
const auto PATIENCE = std::chrono::microseconds(20);    /* of a spinning thread; then it yields */
const auto LEISURE = std::chrono::milliseconds(1);      /* of a yielding one; then it sleeps */
const auto CROWD = std::chrono::milliseconds(100);      /* in which it does not yield to others again */

inline void relax()
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/* While it lives, this thread takes numbers below the least normal one for zero, as a GPU does in
 * single precision. What decays would come to stay among them, and an operation on one of them
 * takes a hundred times as long: a silent network would be ten times as slow as a busy one. */
class NoSubnormals {
#if defined(__x86_64__)
    unsigned before = __builtin_ia32_stmxcsr();
    static constexpr unsigned FLUSHED = 0x8040;     /* results, operands */

public:
    NoSubnormals() { __builtin_ia32_ldmxcsr(before | FLUSHED); }
    ~NoSubnormals() { __builtin_ia32_ldmxcsr(before); }
#elif defined(__aarch64__)
    uint64_t before;
    static constexpr uint64_t FLUSHED = 1 << 24;    /* both */

public:
    NoSubnormals()
    {
        asm volatile("mrs %0, fpcr" : "=r"(before));
        asm volatile("msr fpcr, %0" : : "r"(before | FLUSHED));
    }
    ~NoSubnormals() { asm volatile("msr fpcr, %0" : : "r"(before)); }
#else
public:
    NoSubnormals() {}
    ~NoSubnormals() {}
#endif
    NoSubnormals(const NoSubnormals &) = delete;
};

/* Returns whether others may have run on this thread's processor meanwhile. Another of its team
 * gives it back at once; who keeps it for long is somebody else, from whom a sleeper gets it sooner. */
inline bool wait_while(std::atomic<uint32_t> &word, uint32_t old)
{
    using clock = std::chrono::steady_clock;
    static thread_local clock::time_point crowded;
    const auto begin = clock::now();
    do {
        for (int i = 0; i < 32; ++i) {
            if (word.load(std::memory_order_acquire) != old) return false;
            relax();
        }
    } while (clock::now() - begin < PATIENCE);
    for (auto now = clock::now(); now >= crowded && now - begin < LEISURE;) {
        const auto before = now;
        std::this_thread::yield();
        now = clock::now();
        if (now - before >= LEISURE) crowded = now + CROWD;
        if (word.load(std::memory_order_acquire) != old) return true;
    }
    while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
    return true;
}

/* Threads that meet, each on a processor of its own where there are as many. A system wakes a thread
 * on the processor of the one that wakes it, which then spins there for a thread that cannot run;
 * left alone, it parts them after 20 ms, a thousand steps of a small circuit. */
class Team {
    alignas(64) std::atomic<uint32_t> arrived{0};
    alignas(64) std::atomic<uint32_t> phase{0};
    std::vector<std::atomic<int>> processor;    /* of each thread, when it had last waited long */

public:
    explicit Team(integer members) : processor((size_t)members)
    {
        for (auto &one : processor) one.store(-1, std::memory_order_relaxed);
    }

    void meet(integer thread)
    {
        const uint32_t members = (uint32_t)processor.size();
        if (members == 1) return;
        const uint32_t now = phase.load(std::memory_order_relaxed);
        if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
            arrived.store(0, std::memory_order_relaxed);
            phase.store(now + 1, std::memory_order_release);
            phase.notify_all();
        } else if (wait_while(phase, now)) {
            settle(thread);
        }
    }

    /* Leave the processors of the threads before this one, if there are others. That is a question
     * of this moment: the thread may run wherever it might before. */
    void settle(integer thread)
    {
#ifdef __linux__
        if (processor.size() == 1) return;
        const int here = sched_getcpu();
        processor[thread].store(here, std::memory_order_relaxed);
        cpu_set_t allowed, free, now;
        bool shared = false;
        for (integer t = 0; t < thread; ++t)
            shared |= processor[t].load(std::memory_order_relaxed) == here;
        if (!shared || sched_getaffinity(0, sizeof allowed, &allowed)) return;
        free = allowed;
        for (integer t = 0; t < thread; ++t) {
            const int taken = processor[t].load(std::memory_order_relaxed);
            if (0 <= taken && taken < CPU_SETSIZE) CPU_CLR(taken, &free);
        }
        if (CPU_COUNT(&free) == 0 || sched_setaffinity(0, sizeof free, &free)) return;
        processor[thread].store(sched_getcpu(), std::memory_order_relaxed);
        if (!sched_getaffinity(0, sizeof now, &now) && CPU_EQUAL(&now, &free))  /* nobody else's */
            sched_setaffinity(0, sizeof allowed, &allowed);
#else
        (void)thread;
#endif
    }
};

/* Now, by the clock that is cheapest to read: a step may take a microsecond. */
inline integer tick()
{
#if defined(__x86_64__) || defined(__i386__)
    return (integer)__builtin_ia32_rdtsc();
#else
    return (integer)std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

/* The time of one thread, part by part without a gap: recording, the kernels, inputs, barrier. */
struct Laps {
    integer *spent, *stamps;
    integer origin, last;

    Laps(const nd_times *times, integer thread, integer began)
        : spent(times->spent + thread * times->stride), stamps(times->stamps + thread * times->stride),
          origin(began), last(tick())
    {
        std::memset(stamps, 0, (size_t)times->stride * sizeof(integer));
    }

    void part(integer number, bool shown = false)
    {
        const integer now = tick();
        spent[number] += now - last;
        if (shown) {
            stamps[number] = last - origin;
            stamps[number + 1] = now - origin;
        }
        last = now;
    }
};

struct NoLaps {
    NoLaps(const nd_times *, integer, integer) {}
    void part(integer, bool = false) {}
};

struct Share { integer begin, end; };

Share share(integer count, integer thread, integer threads)
{
    const integer lines = (count + 15) / 16;    /* whole cache lines: no two threads share one */
    const integer b = lines * thread / threads * 16, e = lines * (thread + 1) / threads * 16;
    return {b < count ? b : count, e < count ? e : count};
}

/* Which of 16 values are not zero, as bits. Without a branch for each: where spikes are is as
 * good as random. */
inline uint32_t nonzero(const real *x)
{
    bool any = false;
    for (int j = 0; j < 16; ++j) any |= x[j] != 0;
    if (!any) return 0;
    uint32_t set = 0;
    for (int j = 0; j < 16; ++j) set |= (uint32_t)(x[j] != 0) << j;
    return set;
}

struct Simulation {
    nd_plan plan;
    std::vector<std::thread> workers;
    Team team;
    alignas(64) std::atomic<uint32_t> order{0};
    std::atomic<uint32_t> full[2] = {0, 0};     /* an event buffer is full, by parity of the phase:
                                                   set in one, read before the next but one */
    bool quit = false;
    integer first = 0, steps = 0, done = 0, began = 0;
    std::vector<std::vector<integer>> written;  /* [thread][input * depth + row]: its content */
    std::vector<integer> offset;                /* of each input in `written` */
    std::vector<std::vector<integer>> latest;   /* [thread][ring]: row of the last injected step */
    std::vector<integer> worked;                /* [thread * 8]: components advanced */

    explicit Simulation(const nd_plan &given) : plan(given), team(given.threads)
    {
        integer total = 0;
        for (integer i = 0; i < plan.inputs; ++i) {
            offset.push_back(total);
            total += plan.ring[plan.input[i].ring].depth;
        }
        written.assign(plan.threads, std::vector<integer>(total, -1));
        latest.assign(plan.threads, std::vector<integer>(plan.rings, 0));
        worked.assign(plan.threads * 8, 0);
        try {
            for (integer t = 1; t < plan.threads; ++t)
                workers.emplace_back([this, t] { serve(t); });
        } catch (...) {
            dismiss();
            throw;
        }
    }

    ~Simulation() { dismiss(); }

    void dismiss()
    {
        quit = true;
        order.fetch_add(1);
        order.notify_all();
        for (auto &w : workers) w.join();
    }

    real *row(integer ring, integer k) const
    {
        const nd_ring &r = plan.ring[ring];
        return r.data + (k % r.depth) * r.width;
    }

    void serve(integer thread)
    {
        const NoSubnormals mode;
        uint32_t seen = 0;
        for (;;) {
            if (wait_while(order, seen)) team.settle(thread);
            seen = order.load(std::memory_order_acquire);
            if (quit) return;
            advance(thread);
        }
    }

    void advance(integer thread)
    {
        if (plan.times) advance_by<Laps>(thread);
        else advance_by<NoLaps>(thread);
    }

    /* What a row shall hold of an input at a step; -2 is equal to nothing. */
    integer content(const nd_input &in, integer k) const
    {
        const integer from = in.row_of_step[k - first];
        return from < 0 ? 0 : in.version ? (in.version << 32) + from + 1 : -2;
    }

    bool holds(integer thread, integer i, integer row, integer k) const
    {
        const integer wanted = content(plan.input[i], k);
        return wanted != -2 && written[thread][offset[i] + row] == wanted;
    }

    /* A ring of inputs alone keeps its row while nothing changes: a constant input costs nothing,
     * and its second row does not even enter the cache. Every thread comes to the same choice. */
    void choose_rows(integer thread, integer k)
    {
        for (integer r = 0; r < plan.rings; ++r) {
            if (!plan.ring[r].where) continue;
            integer &now = latest[thread][r];
            bool same = true;
            for (integer i = 0; i < plan.inputs; ++i)
                if (plan.input[i].ring == r) same &= holds(thread, i, now, k);
            if (!same) now = 1 - now;
            if (thread == 0) plan.ring[r].where[k & 1] = now;
        }
    }

    void inject(integer thread, integer k)
    {
        choose_rows(thread, k);
        for (integer i = 0; i < plan.inputs; ++i) {
            const nd_input &in = plan.input[i];
            const nd_ring &ring = plan.ring[in.ring];
            const integer row = k - in.back;
            if (row < 0) continue;
            const integer at = ring.where ? latest[thread][in.ring] : row % ring.depth;
            const integer from = in.row_of_step[k - first];
            const bool told = holds(thread, i, at, k);
            if (told && ring.active && from >= 0) mark(ring, row);
            if (told) continue;
            written[thread][offset[i] + at] = content(in, k);
            const Share mine = share(in.count, thread, plan.threads);
            real *to = ring.data + at * ring.width + in.first + mine.begin;
            const size_t bytes = (size_t)(mine.end - mine.begin) * sizeof(real);
            if (from < 0) std::memset(to, 0, bytes);
            else std::memcpy(to, in.table + from * in.count + mine.begin, bytes);
            if (ring.active && from >= 0 && any(to, mine.end - mine.begin)) mark(ring, row);
        }
    }

    static void mark(const nd_ring &ring, integer row)
    {
        __atomic_store_n(&ring.active[row % ring.depth], row, __ATOMIC_RELAXED);
    }

    static bool any(const real *x, integer n)
    {
        bool found = false;
        for (integer j = 0; j < n; ++j) found |= x[j] != 0;
        return found;
    }

    void copy(integer thread, const nd_probe &p, integer k, integer slot) const
    {
        const Share mine = share(p.count, thread, plan.threads);
        const real *from = row(p.ring, k);
        real *to = p.rows + slot * p.count;
        if (p.contiguous) {
            std::memcpy(to + mine.begin, from + p.elements[0] + mine.begin,
                        (size_t)(mine.end - mine.begin) * sizeof(real));
        } else {
            for (integer c = mine.begin; c < mine.end; ++c) to[c] = from[p.elements[c]];
        }
    }

    void sample(integer thread, integer k) const
    {
        for (integer i = 0; i < plan.probes; ++i) {
            const nd_probe &p = plan.probe[i];
            if ((k + 1) % p.interval == 0)
                copy(thread, p, k, (k + 1) / p.interval - 1 - first / p.interval);
        }
    }

    /* Row k for others; the steps of a call give the rows first + 1 to first + done. */
    void publish(integer thread, integer k) const
    {
        if (k == first) return;
        for (integer i = 0; i < plan.exports; ++i) copy(thread, plan.exported[i], k, k - first - 1);
    }

    /* Whether some columns lie side by side where nothing is noted. */
    bool silent(const nd_events &e, integer k, integer c, integer size) const
    {
        const nd_ring &ring = plan.ring[e.ring];
        const integer b = e.contiguous ? e.elements[0] + c : e.elements[c];
        const integer l = e.contiguous ? b + size - 1 : e.elements[c + size - 1];
        if (!ring.noted || l - b != size - 1) return false;
        const uint16_t *note = ring.noted + k % ring.depth * (ring.width / 16);
        return !note[b / 16] && !note[l / 16];
    }

    /* First column from `c` on that something may be noted of; 64 are passed at a time. */
    integer next(const nd_events &e, integer k, integer c, integer end) const
    {
        const nd_ring &ring = plan.ring[e.ring];
        if (!e.contiguous || !ring.noted) return c;
        const uint16_t *note = ring.noted + k % ring.depth * (ring.width / 16);
        for (; c + 64 <= end; c += 64) {
            const integer b = e.elements[0] + c;
            uint64_t four;
            std::memcpy(&four, note + b / 16, sizeof four);
            if (four || (b % 16 && note[b / 16 + 4])) break;
        }
        return c;
    }

    void scan(integer thread, integer k, integer phase)
    {
        for (integer i = 0; i < plan.events; ++i) {
            const nd_events &e = plan.event[i];
            const Share mine = share(e.count, thread, plan.threads);
            const real *from = row(e.ring, k);
            int32_t *step = e.step + thread * e.capacity, *index = e.index + thread * e.capacity;
            integer n = e.found[thread];
            for (integer c = mine.begin; (c = next(e, k, c, mine.end)) < mine.end; c += 16) {
                const integer size = c + 16 < mine.end ? 16 : mine.end - c;
                if (e.ascending && silent(e, k, c, size)) continue;
                uint32_t set = 0;
                if (e.contiguous) {
                    const real *x = from + e.elements[0] + c;
                    if (size == 16) set = nonzero(x);
                    else for (integer j = 0; j < size; ++j) set |= (uint32_t)(x[j] != 0) << j;
                } else {
                    const int32_t *at = e.elements + c;
                    for (integer j = 0; j < size; ++j) set |= (uint32_t)(from[at[j]] != 0) << j;
                }
                for (; set; set &= set - 1) {
                    step[n] = (int32_t)(k - first);
                    index[n++] = (int32_t)c + __builtin_ctz(set);
                }
            }
            e.found[thread] = n;
            /* rows of this window and of the one under way may still follow */
            if (e.capacity - n < (mine.end - mine.begin) * (2 * plan.window - 1))
                full[phase & 1].store(1, std::memory_order_relaxed);
        }
    }

    /* Hand row k on to whoever asked for it. */
    void take(integer thread, integer k, integer phase)
    {
        sample(thread, k);
        publish(thread, k);
        scan(thread, k, phase);
    }

    static void advance_kernel(const nd_kernel &kernel, integer k, integer steps, integer b, integer e)
    {
        if (kernel.deal)
            for (integer s = k; s < k + steps; ++s) kernel.deal(&kernel.args, s, b, e);
        if (steps == 1) return kernel.update(&kernel.args, k, b, e);
        for (integer t = b; t < e; t += TILE)
            for (integer s = k; s < k + steps; ++s)
                kernel.update(&kernel.args, s, t, t + TILE < e ? t + TILE : e);
    }

    template <typename Clock> void advance_by(integer thread)
    {
        const integer last = first + steps, shown = first + steps / 2;
        const integer inputs = 1 + plan.kernels, waiting = inputs + 1;
        Clock clock(plan.times, thread, began);
        inject(thread, first);
        clock.part(inputs);
        team.meet(thread);
        clock.part(waiting);
        integer k = first, count = 0;
        for (integer before = 1, phase = 0; k < last; ++phase) {
            const integer more = last - k < plan.window ? last - k : plan.window;
            const bool show = k <= shown && shown < k + more;
            for (integer past = k + 1 - before; past <= k; ++past) take(thread, past, phase);
            clock.part(0, show);
            for (integer i = 0; i < plan.kernels; ++i) {
                const nd_kernel &kernel = plan.kernel[i];
                const integer b = kernel.cuts[thread], e = kernel.cuts[thread + 1];
                if (b < e) advance_kernel(kernel, k, more, b, e);
                count += (e - b) * more;
                clock.part(1 + i, show);
            }
            k += more;
            before = more;
            if (k < last) inject(thread, k);
            clock.part(inputs, show);
            team.meet(thread);
            clock.part(waiting, show);
            if (full[phase & 1].load(std::memory_order_relaxed) || k == last) {
                for (integer past = k + 1 - before; past < k; ++past) take(thread, past, phase);
                break;
            }
        }
        publish(thread, k);
        clock.part(0);  // nothing is noted after the last barrier: the caller reads it then
        worked[thread * 8] += count;
        if (thread == 0) done = k - first;
        team.meet(thread);
    }
};

}  // namespace

/* Null where the threads cannot be started. */
extern "C" Simulation *nd_create(const nd_plan *plan)
{
    try {
        return new Simulation(*plan);
    } catch (...) {
        return nullptr;
    }
}

extern "C" void nd_destroy(Simulation *s) { delete s; }

/* Advance up to `steps` steps from step `first`; return how many were done. */
extern "C" integer nd_run(Simulation *s, integer first, integer steps)
{
    const NoSubnormals mode;
    s->first = first;
    s->steps = steps;
    s->full[0].store(0);
    s->full[1].store(0);
    const auto begin = std::chrono::steady_clock::now();
    s->began = tick();
    s->team.settle(0);
    s->order.fetch_add(1, std::memory_order_release);
    s->order.notify_all();
    s->advance(0);
    if (nd_times *times = s->plan.times) {
        const std::chrono::nanoseconds spent = std::chrono::steady_clock::now() - begin;
        times->ticks += tick() - s->began;
        times->nanoseconds += spent.count();
    }
    return s->done;
}

/* Advance the components from `begin` to `end` of one kernel by step `k`. */
extern "C" void nd_launch(const nd_kernel *kernel, integer k, integer begin, integer end)
{
    const NoSubnormals mode;
    kernel->update(&kernel->args, k, begin, end);
}

/* Components advanced by a thread so far. */
extern "C" integer nd_worked(const Simulation *s, integer thread) { return s->worked[thread * 8]; }

/* Seconds of one barrier, from `rounds` of them by all threads of a fresh team. */
extern "C" double nd_barrier_seconds(integer threads, integer rounds)
{
    Team team(threads);
    std::vector<std::thread> others;
    auto body = [&](integer thread) {
        for (integer i = 0; i < rounds; ++i) team.meet(thread);
    };
    for (integer t = 1; t < threads; ++t) others.emplace_back(body, t);
    const auto begin = std::chrono::steady_clock::now();
    body(0);
    const auto end = std::chrono::steady_clock::now();
    for (auto &t : others) t.join();
    return std::chrono::duration<double>(end - begin).count() / (double)rounds;
}
