/* STREAM-like triad a = b + s c (McCalpin 1995), with threads that live as long as a simulation's. */
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

/* Best seconds of one pass over `n` elements by `threads` threads, of `passes` passes or of those
 * that begin within `limit` seconds. */
template <typename T>
static double best(T *a, const T *b, const T *c, long long n, int threads, int passes, double limit)
{
    using clock = std::chrono::steady_clock;
    std::atomic<int> arrived{0}, round{0};
    std::atomic<bool> over{false};
    double shortest = 1e300;
    const auto first = clock::now();
    auto meet = [&] {
        const int now = round.load();
        if (arrived.fetch_add(1) + 1 == threads) { arrived = 0; round.fetch_add(1); }
        else while (round.load() == now) {}
    };
    auto work = [&](int t) {
        const long long begin = n * t / threads, end = n * (t + 1) / threads;
        for (int p = 0; p < passes && !over; ++p) {
            meet();
            const auto start = clock::now();
            for (long long i = begin; i < end; ++i) a[i] = b[i] + (T)3 * c[i];
            if (t == 0) over = std::chrono::duration<double>(clock::now() - first).count() > limit;
            meet();  /* all read `over` after it, before it may change again */
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

extern "C" double triad_float(float *a, const float *b, const float *c, long long n, int t, int p,
                              double limit)
{
    return best(a, b, c, n, t, p, limit);
}

extern "C" double triad_double(double *a, const double *b, const double *c, long long n, int t,
                               int p, double limit)
{
    return best(a, b, c, n, t, p, limit);
}
