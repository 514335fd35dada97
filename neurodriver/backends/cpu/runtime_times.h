/* Timers of a profiled run. */
namespace {

/* The cheapest clock: a step may take a microsecond. */
inline integer tick()
{
#if defined(__x86_64__) || defined(__i386__)
    return (integer)__builtin_ia32_rdtsc();
#else
    return (integer)std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

/* Times the parts of the steps of one thread: recording, each kernel, inputs, barrier. */
struct PartTimer {
    integer *elapsed, *stamps;
    integer origin, last;

    PartTimer(const nd_times *times, integer thread, integer began)
        : elapsed(times->elapsed + thread * times->stride), stamps(times->stamps + thread * times->stride),
          origin(began), last(tick())
    {
        std::memset(stamps, 0, (size_t)times->stride * sizeof(integer));
    }

    void part(integer number, bool shown = false)
    {
        const integer now = tick();
        elapsed[number] += now - last;
        if (shown) {
            stamps[number] = last - origin;
            stamps[number + 1] = now - origin;
        }
        last = now;
    }
};

struct NoTimer {
    NoTimer(const nd_times *, integer, integer) {}
    void part(integer, bool = false) {}
};

}  // namespace
