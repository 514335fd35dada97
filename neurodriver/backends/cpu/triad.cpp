/* STREAM-like triad a = b + s c (McCalpin 1995), with threads that live as long as a simulation's. */
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

/* Best seconds of one of `blocks` equal blocks of `n` elements by `threads` threads, in `passes`
 * passes over all or in what begins within `limit` seconds. */
template <typename T>
static double best(T *a, const T *b, const T *c, long long n, int threads, int passes, int blocks,
                   double limit)
{
    const long long size = n / blocks;
    using clock = std::chrono::steady_clock;
    std::atomic<int> arrived{0}, round{0};
    std::atomic<bool> over{false};
    double shortest = 1e300;
    const auto first = clock::now();
    auto barrier = [&] {
        const int now = round.load();
        if (arrived.fetch_add(1) + 1 == threads) { arrived = 0; round.fetch_add(1); }
        else while (round.load() == now) std::this_thread::yield();
    };
    auto work = [&](int t) {
        for (int p = 0; p < passes * blocks && !over; ++p) {
            const long long from = p % blocks * size;
            const long long begin = from + size * t / threads, end = from + size * (t + 1) / threads;
            barrier();
            const auto start = clock::now();
            for (long long i = begin; i < end; ++i) a[i] = b[i] + (T)3 * c[i];
            if (t == 0) over = std::chrono::duration<double>(clock::now() - first).count() > limit;
            barrier();  /* all read `over` after it, before it may change again */
            const std::chrono::duration<double> spent = clock::now() - start;
            if (t == 0 && spent.count() < shortest) shortest = spent.count();
        }
    };
    std::vector<std::thread> team;
    for (int t = 1; t < threads; ++t) team.emplace_back(work, t);
    work(0);
    for (auto &w : team) w.join();
    return shortest;
}

extern "C" double triad_float(float *a, const float *b, const float *c, long long n, int threads,
                              int passes, int blocks, double limit)
{
    return best(a, b, c, n, threads, passes, blocks, limit);
}

extern "C" double triad_double(double *a, const double *b, const double *c, long long n,
                               int threads, int passes, int blocks, double limit)
{
    return best(a, b, c, n, threads, passes, blocks, limit);
}
