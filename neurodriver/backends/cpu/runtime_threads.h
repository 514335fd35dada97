/* Threads that wait for each other at a barrier, and how they compute. */
namespace {

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

/* Sleeping until another thread has changed a word. A thread may be made to jump out of it, so no lock is
 * held. Where a system call does the same, headers of C++17 suffice, which take half the time to compile. */
#if __cplusplus < 202002L
alignas(64) std::atomic<uint32_t> asleep{0};    /* threads */

inline void sleep_while(std::atomic<uint32_t> &word, uint32_t old)
{
    asleep.fetch_add(1);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    while (word.load() == old) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
    asleep.fetch_sub(1);
}

inline void wake_all(std::atomic<uint32_t> &word)
{
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (asleep.load()) syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}
#else
inline void sleep_while(std::atomic<uint32_t> &word, uint32_t old)
{
    while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

inline void wake_all(std::atomic<uint32_t> &word) { word.notify_all(); }
#endif

/* Waits while `word` is `old`: spins, then yields, then sleeps. Returns true if another thread may have
 * run on this processor meanwhile. A thread of the same team gives it back at once; if it is taken for
 * long, another program runs, and a sleeping thread gets the processor back sooner. */
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
    sleep_while(word, old);
    return true;
}

/* A team of threads with a barrier, each on a processor of its own if there are enough. An operating
 * system may wake a thread on the processor of the thread that wakes it. That one spins, so the new
 * thread cannot run. Left alone, the system separates them after 20 ms: a thousand steps of a small
 * circuit. */
class Team {
    alignas(64) std::atomic<uint32_t> arrived{0};
    alignas(64) std::atomic<uint32_t> phase{0};
    std::vector<std::atomic<int>> processor;    /* of each thread, when it had last waited long */

public:
    explicit Team(integer members) : processor((size_t)members)
    {
        for (auto &one : processor) one.store(-1, std::memory_order_relaxed);
    }

    void barrier(integer thread)
    {
        const uint32_t members = (uint32_t)processor.size();
        if (members == 1) return;
        const uint32_t now = phase.load(std::memory_order_relaxed);
        if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
            arrived.store(0, std::memory_order_relaxed);
            phase.store(now + 1, std::memory_order_release);
            wake_all(phase);
        } else if (wait_while(phase, now)) {
            settle(thread);
        }
    }

    /* Move away from the processors of the threads before this one, if others are free. The affinity of
     * the thread stays as it was. */
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
        if (!sched_getaffinity(0, sizeof now, &now) && CPU_EQUAL(&now, &free))  /* unless another program changed it */
            sched_setaffinity(0, sizeof allowed, &allowed);
#else
        (void)thread;
#endif
    }
};

/* The threads 1, 2, ... of a team. At each call they advance their owner once. Their caller is thread 0. */
template <typename Owner> class Workers {
    Owner *const owner;
    std::vector<std::thread> threads;
    alignas(64) std::atomic<uint32_t> order{0};
    bool quit = false;

    void dismiss()
    {
        quit = true;
        order.fetch_add(1);
        wake_all(order);
        for (auto &one : threads) one.join();
    }

    void serve(integer thread)
    {
        const NoSubnormals mode;
        uint32_t seen = 0;
        for (;;) {
            if (wait_while(order, seen)) team.settle(thread);
            seen = order.load(std::memory_order_acquire);
            if (quit) return;
            owner->advance(thread);
        }
    }

public:
    Team team;

    Workers(integer members, Owner *given) : owner(given), team(members)
    {
        try {
            for (integer t = 1; t < members; ++t) threads.emplace_back([this, t] { serve(t); });
        } catch (...) {
            dismiss();
            throw;
        }
    }

    ~Workers() { dismiss(); }

    void call()
    {
        team.settle(0);
        order.fetch_add(1, std::memory_order_release);
        wake_all(order);
    }
};

}  // namespace
