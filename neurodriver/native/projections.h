/* Connections given by a rule: who is connected, with what weight and delay.
 *
 * Rows are sources; the targets of a row ascend.  Each number is a function of (key of the
 * projection, row, draw, attempt, stream), so threads, windows and the order of calls change
 * nothing.  In the streams of weights and delays the draw is the rank of the connection in its
 * row.  Pasted after math.h and philox.h, and before the files with the functions that Python calls
 * (circuit/drawing.py, circuit/computed.py).
 *
 * Calls in their order: nd_lengths, nd_window where only some of the targets are wanted, nd_place,
 * and then whatever is asked of the connections that stand there.
 */
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "projection_rule.h"

enum { ND_ROWS = 16 };

/* What is asked for: `count` connections of each row, which stand from `begin` on. Their ranks in the
 * row are `skip`, ..., or listed from rank[listed] on, where `rank` is not null. */
struct nd_rows {
    const integer *begin, *skip, *count, *listed;
    const int *rank;
    integer threads;
};

struct nd_scratch {
    std::vector<int> target;
    std::vector<word> bits, taken;
    std::vector<double> real, drawn;
    std::vector<int> filter;   /* lattice: the offset of each connection */
    std::vector<int> again;    /* draws outside their bounds; other half of a sort */
    std::vector<int> rank;     /* of connections in a row */
};

/* body(part, thread) for all parts, each thread taking the next one. */
template <typename Body> static void nd_shared(integer threads, integer parts, Body body)
{
    std::atomic<integer> next{0};
    auto work = [&](integer me) {
        for (integer part; (part = next.fetch_add(1)) < parts;) body(part, me);
    };
    std::vector<std::thread> team;
    for (integer i = 1; i < std::min(threads, parts); ++i) team.emplace_back(work, i);
    work(0);
    for (auto &one : team) one.join();
}

/* body(row, scratch of the thread) for all rows. */
template <typename Body> static void nd_each_row(integer threads, integer rows, Body body)
{
    std::vector<nd_scratch> own(threads);
    nd_shared(threads, (rows + ND_ROWS - 1) / ND_ROWS, [&](integer part, integer me) {
        for (integer s = part * ND_ROWS; s < std::min(rows, (part + 1) * ND_ROWS); ++s)
            body(s, own[me]);
    });
}

#include "projection_draws.h"
#include "projection_space.h"
#include "projection_rows.h"
