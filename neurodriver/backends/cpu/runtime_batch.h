/* Copies of one circuit. Each of them is advanced by one thread at a time, for all steps of a call:
 * no thread waits for another one within a call, and the state of a copy stays in its cache. */
namespace {

struct Batch {
    std::vector<Simulation *> copies;
    alignas(64) std::atomic<size_t> next{0};    /* copy that the next free thread takes */
    std::atomic<bool> interrupted{false};
    Workers<Batch> workers;

    Batch(Simulation *const *given, integer count, integer threads)
        : copies(given, given + count), workers(threads, this)
    {
    }

    void advance(integer thread)
    {
        const NoSubnormals mode;
        for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < copies.size();)
            if (copies[i]->done < copies[i]->steps && !interrupted.load(std::memory_order_relaxed))
                if (copies[i]->advance(0); copies[i]->places[0].fault) interrupted.store(true);
        workers.team.barrier(thread);
    }

    /* Advance all copies; return how many have steps left, since their buffers are full, or -1 if
     * interrupted. */
    integer run()
    {
        for (Simulation *one : copies) one->make_room();
        next.store(0, std::memory_order_relaxed);
        workers.call();
        advance(0);
        if (interrupted.load()) return -1;
        integer left = 0;
        for (const Simulation *one : copies) left += one->done < one->steps;
        return left;
    }
};

}  // namespace

/* Null where the threads cannot be started. */
extern "C" Batch *nd_create_batch(Simulation *const *copies, integer count, integer threads)
{
    try {
        return new Batch(copies, count, threads);
    } catch (...) {
        return nullptr;
    }
}

/* Let another thread's call return, in about `seconds` at most; return whether there was one. */
extern "C" integer nd_interrupt_batch(Batch *batch, double seconds)
{
    std::vector<Place *> places;
    for (Simulation *one : batch->copies) places.push_back(&one->places[0]);
    batch->interrupted.store(true);
    return let_leave(places, seconds);
}

extern "C" void nd_destroy_batch(Batch *batch) { delete batch; }

/* Advance all copies by `steps` steps from step `first`; return how many copies have steps left. */
extern "C" integer nd_run_batch(Batch *batch, integer first, integer steps)
{
    batch->interrupted.store(false);
    for (Simulation *one : batch->copies) one->begin(first, steps);
    return batch->run();
}

/* Go on with the copies that have steps left. */
extern "C" integer nd_go_on_with_batch(Batch *batch) { return batch->run(); }
