/* Step loop of the CPU backend: persistent threads and one barrier a step.
 *
 * In step k each thread reads rows <= k and writes row k + 1: its share of the components of each
 * kernel, of the inputs of step k + 1, and of the recorded rows of step k. No thread reads what another
 * one writes in the same step, so results do not depend on the number of threads.
 *
 * Kernels of later phases read what earlier phases have written into row k + 1. Then a barrier comes
 * before the first kernel that does, and again nobody reads what is written meanwhile.
 *
 * Where spikes with long delays are all that connects components, several steps form a window with one
 * barrier. A thread delivers the spikes of all steps of the window first. Then it advances one tile of
 * components by the whole window before the next tile, so that the states stay in a near cache.
 *
 * Compiled with -DREAL=float or -DREAL=double.
 */
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>
#include <vector>
#ifdef __linux__
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "runtime_plan.h"
#include "runtime_threads.h"
#include "runtime_times.h"
#include "runtime_rows.h"
#include "runtime_inputs.h"
#include "runtime_interrupts.h"
#include "runtime_lists.h"
#include "runtime_messages.h"

namespace {

const integer TILE = 32768 / sizeof(real); /* components of a tile: their states fit into a near
                                              cache, and calls of kernels cost little */

inline void advance_kernel(const nd_kernel &kernel, Place &place, integer k, integer steps, integer b,
                           integer e)
{
    place.step = k;
    if (kernel.deliver)
        for (integer s = k; s < k + steps; ++s) kernel.deliver(&kernel.args, s, b, e);
    if (steps == 1) return kernel.update(&kernel.args, k, b, e);
    for (integer t = b; t < e; t += TILE)
        for (integer s = k; s < k + steps; ++s) {
            place.step = s;
            kernel.update(&kernel.args, s, t, t + TILE < e ? t + TILE : e);
        }
}

const double LEAVE_SECONDS = 5.0;           /* most that the other threads take to leave */
const integer ALL_PHASES = std::numeric_limits<integer>::max();

struct Simulation {
    nd_plan plan;
    nd_gate gate = {0, nullptr, 0};
    nd_messages *messages = nullptr;            /* what is exchanged at gates without the host, or null */
    bool passed = true;                         /* whether the last gate let the call go on */
    alignas(64) std::atomic<uint32_t> full[2] = {0, 0};  /* an event buffer is full, by parity of the
                                                   phase: set in one, read before the next but one */
    integer first = 0, steps = 0, done = 0, began = 0;   /* of a call; steps done of it */
    integer from_phase = 0, to_phase = ALL_PHASES;       /* of each step: a part of them in one step */
    Injection injection;
    std::vector<integer> worked;                /* [thread * 8]: components advanced */
    std::vector<Place> places;                  /* [thread] */
    Workers<Simulation> workers;

    explicit Simulation(const nd_plan &given)
        : plan(given), injection(given), worked((size_t)given.threads * 8), places((size_t)given.threads),
          workers(given.threads, this)
    {
    }

    void begin(integer step, integer number, integer low = 0, integer high = ALL_PHASES)
    {
        from_phase = low;
        to_phase = high;
        first = step;
        steps = number;
        done = 0;
        for (integer i = 0; i < plan.inputs; ++i)
            if (nd_list *list = plan.list[i]) *list = listed(plan.input[i], step);
    }

    /* The host has emptied the buffers of events. */
    void make_room()
    {
        full[0].store(0);
        full[1].store(0);
    }

    /* Go on with the steps of a call that are left. */
    void advance(integer thread)
    {
        interruptible(places[thread], [&] {
            if (plan.times) advance_by<PartTimer>(thread);
            else advance_by<NoTimer>(thread);
        });
        if (places[thread].fault) let_leave(each_of(places), LEAVE_SECONDS);
    }

    /* Wait for the other threads. */
    void barrier(integer thread)
    {
        places[thread].at(AT_BARRIER);
        workers.team.barrier(thread);
        places[thread].at(NOWHERE);
    }

    /* The step after the window that begins with step k. */
    integer window_end(integer k) const
    {
        const integer window = k + plan.window, last = first + steps, end = window < last ? window : last;
        const integer next = gate.every ? k + gate.every - (k - gate.from) % gate.every : end;
        return next < end ? next : end;
    }

    /* What enters in the window that begins with step k. */
    void inject(integer thread, integer k)
    {
        for (const integer end = window_end(k); k < end; ++k) injection.inject(thread, k, k - first);
    }

    void copy_share(integer thread, const nd_probe &p, integer k, integer slot) const
    {
        real *to = p.rows + slot * p.stride + plan.copy * p.count;
        copy(p, row_of(plan.ring[p.ring], k), share(p.count, thread, plan.threads), to);
    }

    void sample(integer thread, integer k) const
    {
        for (integer i = 0; i < plan.probes; ++i) {
            const nd_probe &p = plan.probe[i];
            if ((k + 1) % p.interval == 0)
                copy_share(thread, p, k, (k + 1) / p.interval - 1 - first / p.interval);
        }
    }

    /* Row k for others; the steps of a call, or those between two gates, give a row each. */
    void publish(integer thread, integer k) const
    {
        if (k == first) return;
        const integer slot = gate.every ? (k - 1 - gate.from) % gate.every : k - first - 1;
        for (integer i = 0; i < plan.exports; ++i) copy_share(thread, plan.exported[i], k, slot);
    }

    /* Let other processes exchange values when k steps are done; return whether the call goes on. */
    bool pass_gate(integer thread, integer k)
    {
        barrier(thread);
        if (thread == 0)
            passed = (messages && exchange(*messages, plan.input, k, k - first)) || gate.serve(k) != 0;
        barrier(thread);
        if (!passed) return false;
        inject(thread, k);
        barrier(thread);
        return true;
    }

    void scan(integer thread, integer k, integer phase)
    {
        for (integer i = 0; i < plan.events; ++i) {
            const nd_events &e = plan.event[i];
            const Share mine = share(e.count, thread, plan.threads);
            const nd_ring &ring = plan.ring[e.ring];
            const real *from = row_of(ring, k);
            int32_t *step = e.step + thread * e.capacity, *index = e.index + thread * e.capacity;
            integer n = e.found[thread];
            for (integer c = mine.begin; (c = next(ring, e, k, c, mine.end)) < mine.end; c += 16) {
                const integer size = c + 16 < mine.end ? 16 : mine.end - c;
                if (e.ascending && silent(ring, e, k, c, size)) continue;
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
            /* rows of this window and of the next one may still follow */
            if (e.capacity - n < (mine.end - mine.begin) * (2 * plan.window - 1))
                full[phase & 1].store(1, std::memory_order_relaxed);
        }
    }

    /* Copy row k to the recorders and exports. */
    void take(integer thread, integer k, integer phase)
    {
        sample(thread, k);
        if (!gate.every) publish(thread, k);
        scan(thread, k, phase);
    }

    /* Advance a thread's share of the kernels of the phases; return how many components. */
    template <typename Clock> integer advance_kernels(integer thread, integer k, integer more, Clock &clock, bool show)
    {
        integer count = 0;
        for (integer i = 0; i < plan.kernels; ++i) {
            const nd_kernel &kernel = plan.kernel[i];
            if (kernel.phase < from_phase || kernel.phase >= to_phase) continue;
            if (kernel.waits) {
                barrier(thread);
                clock.part(2 + plan.kernels);
            }
            const integer b = kernel.cuts[thread], e = kernel.cuts[thread + 1];
            places[thread].at(i);
            if (b < e) advance_kernel(kernel, places[thread], k, more, b, e);
            places[thread].at(NOWHERE);
            count += (e - b) * more;
            clock.part(1 + i, show);
        }
        return count;
    }

    template <typename Clock> void advance_by(integer thread)
    {
        const bool opens = from_phase == 0, ends = to_phase == ALL_PHASES;
        const integer last = first + steps, shown = first + steps / 2, from = first + done;
        const integer inputs = 1 + plan.kernels, waiting = inputs + 1;
        Clock clock(plan.times, thread, began);
        if (opens) inject(thread, from);
        for (integer i = 0; opens && thread == 0 && i < plan.kernels; ++i)
            if (plan.kernel[i].open) plan.kernel[i].open(&plan.kernel[i].args, from);
        clock.part(inputs);
        barrier(thread);
        clock.part(waiting);
        integer k = from, count = 0;
        for (integer before = 1, phase = 0; k < last; ++phase) {
            const integer more = window_end(k) - k;
            const bool show = k <= shown && shown < k + more;
            for (integer past = k + 1 - before; ends && past <= k; ++past) take(thread, past, phase);
            clock.part(0, show);
            count += advance_kernels(thread, k, more, clock, show);
            k += more;
            before = more;
            const bool at_gate = gate.every && (k - gate.from) % gate.every == 0 && k < last;
            if (!at_gate) inject(thread, k);
            clock.part(inputs, show);
            barrier(thread);
            for (integer row = k + 1 - more; gate.every && row <= k; ++row) publish(thread, row);
            const bool room = !full[phase & 1].load(std::memory_order_relaxed);
            const bool on = room && k < last && (!at_gate || pass_gate(thread, k));
            clock.part(waiting, show);
            if (!on) {
                for (integer past = k + 1 - before; past < k; ++past) take(thread, past, phase);
                break;
            }
        }
        if (ends && !gate.every) publish(thread, k);
        clock.part(0);  // no timer is written after the last barrier: the caller reads them then
        worked[thread * 8] += count;
        if (thread == 0) done = k - first;
        barrier(thread);
    }
};

}  // namespace

#include "runtime_batch.h"

/* Null where the threads cannot be started. */
extern "C" Simulation *nd_create(const nd_plan *plan)
{
    watch_faults();
    try {
        return new Simulation(*plan);
    } catch (...) {
        return nullptr;
    }
}

/* Let another thread's call return, in about `seconds` at most; return whether there was one. */
extern "C" integer nd_interrupt(Simulation *s, double seconds)
{
    return let_leave(each_of(s->places), seconds);
}

extern "C" void nd_destroy(Simulation *s) { delete s; }

namespace {

integer run(Simulation *s)
{
    const NoSubnormals mode;
    const auto begin = std::chrono::steady_clock::now();
    s->began = tick();
    s->workers.call();
    s->advance(0);
    if (nd_times *times = s->plan.times) {
        const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - begin;
        times->ticks += tick() - s->began;
        times->nanoseconds += elapsed.count();
    }
    return who_left(s->places) ? -1 : s->done;
}

}  // namespace

/* Advance up to `steps` steps from step `first`; return how many were done, -1 if interrupted. */
extern "C" integer nd_run(Simulation *s, integer first, integer steps)
{
    s->begin(first, steps);
    s->make_room();
    return run(s);
}

/* Wait at gates from now on. */
extern "C" void nd_set_gate(Simulation *s, const nd_gate *gate) { s->gate = *gate; }

/* Exchange these messages at gates from now on; null: let the host do so. */
extern "C" void nd_set_messages(Simulation *s, nd_messages *messages) { s->messages = messages; }

/* Advance the phases from `low` to `high` - 1 of step `k`; `last`: none comes after them. */
extern "C" integer nd_run_phases(Simulation *s, integer k, integer low, integer high, integer last)
{
    s->begin(k, 1, low, last ? ALL_PHASES : high);
    if (low == 0) s->make_room();
    return run(s);
}

/* Advance the components from `begin` to `end` of one kernel by step `k`. */
extern "C" void nd_launch(const nd_kernel *kernel, integer k, integer begin, integer end)
{
    const NoSubnormals mode;
    kernel->update(&kernel->args, k, begin, end);
}

/* Write which kernel an interrupted call was in, -1 for none, at which step, and the signal if it could
 * not go on, else 0; return whether there was such a call. */
extern "C" integer nd_interrupted(const Simulation *s, integer *kernel, integer *step, integer *fault)
{
    const Place *place = who_left(s->places);
    if (!place) return 0;
    *kernel = place->kernel;
    *step = place->step;
    *fault = place->fault;
    return 1;
}

/* Components advanced by a thread so far. */
extern "C" integer nd_worked(const Simulation *s, integer thread) { return s->worked[thread * 8]; }

/* Seconds of one barrier, from `rounds` of them by all threads of a fresh team. */
extern "C" double nd_barrier_seconds(integer threads, integer rounds)
{
    Team team(threads);
    std::vector<std::thread> others;
    auto body = [&](integer thread) {
        for (integer i = 0; i < rounds; ++i) team.barrier(thread);
    };
    for (integer t = 1; t < threads; ++t) others.emplace_back(body, t);
    const auto begin = std::chrono::steady_clock::now();
    body(0);
    const auto end = std::chrono::steady_clock::now();
    for (auto &t : others) t.join();
    return std::chrono::duration<double>(end - begin).count() / (double)rounds;
}
