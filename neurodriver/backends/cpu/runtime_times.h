/* The times of a profiled run. */
namespace {

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

}  // namespace
