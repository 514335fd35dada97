/* STREAM-like triad a = b + s c (McCalpin 1995), with threads that live as long as a simulation's. */
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

/* Best seconds of one pass over `n` elements by `threads` threads, of `passes` passes. */
template <typename T>
static double best(T *a, const T *b, const T *c, long long n, int threads, int passes)
{
    std::atomic<int> arrived{0}, round{0};
    double shortest = 1e300;
    auto meet = [&] {
        const int now = round.load();
        if (arrived.fetch_add(1) + 1 == threads) { arrived = 0; round.fetch_add(1); }
        else while (round.load() == now) {}
    };
    auto work = [&](int t) {
        const long long begin = n * t / threads, end = n * (t + 1) / threads;
        for (int p = 0; p < passes; ++p) {
            meet();
            const auto start = std::chrono::steady_clock::now();
            for (long long i = begin; i < end; ++i) a[i] = b[i] + (T)3 * c[i];
            meet();
            const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
            if (t == 0 && spent.count() < shortest) shortest = spent.count();
        }
    };
    std::vector<std::thread> team;
    for (int t = 1; t < threads; ++t) team.emplace_back(work, t);
    work(0);
    for (auto &w : team) w.join();
    return shortest;
}

extern "C" double triad_float(float *a, const float *b, const float *c, long long n, int t, int p)
{
    return best(a, b, c, n, t, p);
}

extern "C" double triad_double(double *a, const double *b, const double *c, long long n, int t, int p)
{
    return best(a, b, c, n, t, p);
}
