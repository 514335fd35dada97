/* Ends a call whose kernels do not return, such as an endless loop in a model's code, or whose kernels
 * cannot go on, as after a division of integers by zero.
 *
 * A thread writes down which kernel it runs, or that it waits for others. There it may be sent a signal
 * whose handler jumps out of the call. No object with a destructor lives in the frames that are left.
 * Elsewhere the handler does nothing, so the signal is sent until all threads have left. */
#ifndef _WIN32
#include <csetjmp>
#include <csignal>
#include <pthread.h>
#endif

namespace {

const integer NOWHERE = -2, AT_BARRIER = -1;

struct alignas(64) Place {
    volatile integer kernel = NOWHERE;      /* that runs, by its number */
    volatile integer step = 0;
    std::atomic<bool> inside{false};        /* whether the thread is in a call */
    bool left = false;                      /* whether it has jumped out of one */
    volatile int fault = 0;                 /* the signal of a kernel that could not go on */
#ifndef _WIN32
    pthread_t thread{};
    sigjmp_buf out;
#endif

    void at(integer number) { kernel = number; }
};

inline std::vector<Place *> each_of(std::vector<Place> &places)
{
    std::vector<Place *> out;
    for (Place &one : places) out.push_back(&one);
    return out;
}

/* Return a thread whose kernel could not go on, else one that has left a kernel, else one that was to
 * wait; null: none has left. */
inline const Place *who_left(const std::vector<Place> &places)
{
    const Place *found = nullptr;
    const auto rank = [](const Place &one) { return one.fault ? 2 : one.kernel >= 0; };
    for (const Place &one : places)
        if (one.left && (!found || rank(*found) < rank(one))) found = &one;
    return found;
}

#ifdef _WIN32
template <typename Work> void interruptible(Place &, const Work &work) { work(); }
inline bool let_leave(const std::vector<Place *> &, double) { return false; }
inline void watch_faults() {}
#else
thread_local Place *place_of_thread = nullptr;

void leave_call(int)
{
    Place *place = place_of_thread;
    if (place && place->kernel != NOWHERE) siglongjmp(place->out, 1);
}

const int FAULTS[] = {SIGFPE, SIGSEGV, SIGBUS, SIGILL};
const int FAULT_COUNT = sizeof FAULTS / sizeof *FAULTS;
struct sigaction before_faults[FAULT_COUNT];

/* Leave a kernel that cannot go on; elsewhere the handler that was there before is called. */
void leave_kernel(int number)
{
    Place *place = place_of_thread;
    if (place && place->kernel >= 0) {
        place->fault = number;
        siglongjmp(place->out, 1);
    }
    for (int i = 0; i < FAULT_COUNT; ++i)
        if (FAULTS[i] == number) sigaction(number, &before_faults[i], nullptr);
    raise(number);
}

/* Let kernels that cannot go on be left, from now on. */
inline void watch_faults()
{
    static const bool once = [] {
        struct sigaction ours = {};
        ours.sa_handler = leave_kernel;
        ours.sa_flags = SA_NODEFER;         /* the handler does not return */
        sigemptyset(&ours.sa_mask);
        for (int i = 0; i < FAULT_COUNT; ++i) sigaction(FAULTS[i], &ours, &before_faults[i]);
        return true;
    }();
    (void)once;
}

/* Do something that a signal may end. */
template <typename Work> void interruptible(Place &place, const Work &work)
{
    place.thread = pthread_self();
    place_of_thread = &place;
    if (sigsetjmp(place.out, 0) == 0) {
        place.inside.store(true, std::memory_order_release);
        work();
    } else {
        place.left = true;                  /* the kernel and the step stay on record */
    }
    place_of_thread = nullptr;
    place.inside.store(false, std::memory_order_release);
}

/* Let threads leave their calls, in about `seconds` at most; return whether any was in one. */
inline bool let_leave(const std::vector<Place *> &places, double seconds)
{
    const auto inside = [](const Place *one) { return one->inside.load(std::memory_order_acquire); };
    const auto any_inside = [&] {
        for (const Place *one : places)
            if (inside(one)) return true;
        return false;
    };
    if (!any_inside()) return false;
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_at_a_time);
    struct sigaction ours = {}, before;
    ours.sa_handler = leave_call;
    ours.sa_flags = SA_NODEFER;             /* the handler does not return */
    sigemptyset(&ours.sa_mask);
    const bool set = !sigaction(SIGURG, &ours, &before);
    const auto pause = std::chrono::milliseconds(2);
    bool gone = !set;
    for (double waited = 0; !gone && waited < seconds; waited += 2e-3) {
        for (const Place *one : places)
            if (inside(one)) pthread_kill(one->thread, SIGURG);
        std::this_thread::sleep_for(pause);
        gone = !any_inside();
    }
    if (set && gone) sigaction(SIGURG, &before, nullptr);   /* else a signal may still come */
    pthread_mutex_unlock(&one_at_a_time);
    return set;
}
#endif

}  // namespace
