/* Trains of rare events, drawn by blocks of ND_BLOCK steps: how many a block holds, and at which steps.
 * Pasted after draws.h.
 *
 * Each thread draws some of the columns and puts their events into bins, one for each step. Then the
 * bins of all threads are copied one after the other.
 */
#include <cstring>
#include <memory>

/* Numbers of an event train within its block. */
enum { ND_BLOCK = 256, ND_HOW_MANY = 1, ND_WHICH_STEP = 2 };

enum {
    ND_STEPS_DRAWN = 16,    /* steps in one draw: a step is a byte */
    ND_FEW = 8,             /* events that most columns do not have in a block */
    ND_WORTH = 1 << 15,     /* events that are worth a thread that copies them */
    ND_MOST_BINS = 1 << 22  /* columns for which the bins of blocks drawn together have room, about */
};

/* Of each column: its number in the result, mean number of events in a block, exp(-mean), and a bound of
 * the number. */
struct nd_means { const int *name; const double *mean, *none; const integer *most; };

/* How many events each column of a piece has in a block, by inversion of the distribution function:
 * the columns go side by side through the counts. Returns their sum. */
static integer nd_how_many(const nd_rows *r, const nd_means &of, integer block, integer b,
                           integer n, integer *count)
{
    const word *key = r->key + b;
    const double *mean = of.mean + b;
    const integer *most = of.most + b;
    double u[ND_PIECE], chance[ND_PIECE], below[ND_PIECE];
    int more = 0;
    _Pragma("omp simd reduction(|:more)")
    for (integer i = 0; i < n; ++i) {
        u[i] = nd_uniform(key[i], r->seed, block, 0, ND_HOW_MANY, 0.0);
        chance[i] = below[i] = of.none[b + i];
        count[i] = below[i] <= u[i];
        more |= below[i] <= u[i];
    }
    for (integer k = 1; more; ++k) {
        const double part = 1.0 / (double)k;
        more = 0;
        _Pragma("omp simd reduction(|:more)")
        for (integer i = 0; i < n; ++i) {
            chance[i] = chance[i] * (mean[i] * part);
            below[i] += chance[i];
            const int next = (below[i] <= u[i]) & (k < most[i]);
            count[i] += next;
            more |= next;
        }
    }
    integer sum = 0;
    for (integer i = 0; i < n; ++i) sum += count[i];
    return sum;
}

/* The events of a piece of columns in one block, by columns: step and column of each. */
struct nd_piece {
    std::vector<unsigned char> step;
    std::vector<int> column;
    integer size = 0;

    void draw(const nd_rows *r, const nd_means &of, integer block, integer b, integer n)
    {
        integer count[ND_PIECE];
        const integer more = nd_how_many(r, of, block, b, n, count);
        size = 0;
        if (!more) return;
        if ((size_t)(more + ND_STEPS_DRAWN) > step.size()) {
            step.resize(2 * more + ND_STEPS_DRAWN);
            column.resize(2 * more + ND_STEPS_DRAWN);
        }
        if (more > n / 4) draw_all(r, of, block, b, n, count);
        else
            for (integer i = 0; i < n; ++i) add(r, of, block, b + i, 0, count[i]);
    }

    /* Draw the first steps of all columns side by side. */
    void draw_all(const nd_rows *r, const nd_means &of, integer block, integer b, integer n,
                  const integer *count)
    {
        const word *key = r->key + b;
        unsigned w[4][ND_PIECE];
        _Pragma("omp simd")
        for (integer i = 0; i < n; ++i) {
            const nd_block drawn = nd_draw(key[i], r->seed, block, 0, ND_WHICH_STEP);
            w[0][i] = drawn.w0;
            w[1][i] = drawn.w1;
            w[2][i] = drawn.w2;
            w[3][i] = drawn.w3;
        }
        for (integer i = 0; i < n; ++i) {
            put({w[0][i], w[1][i], w[2][i], w[3][i]}, of.name[b + i], count[i]);
            if (count[i] > ND_STEPS_DRAWN) add(r, of, block, b + i, ND_STEPS_DRAWN, count[i]);
        }
    }

    /* Add the events from number `from` on of one column. */
    void add(const nd_rows *r, const nd_means &of, integer block, integer i, integer from, integer count)
    {
        for (; from < count; from += ND_STEPS_DRAWN)
            put(nd_draw(r->key[i], r->seed, block, (int)(from / ND_STEPS_DRAWN), ND_WHICH_STEP),
                of.name[i], count - from);
    }

    /* Put the events of a draw: its words one after the other, their low bytes first. More is written
     * than there are events, so that their number need not be predicted. */
    void put(const nd_block &drawn, int name, integer count)
    {
        unsigned char *s = step.data() + size;
        int *c = column.data() + size;
        const unsigned w[4] = {drawn.w0, drawn.w1, drawn.w2, drawn.w3};
        for (int e = 0; e < ND_STEPS_DRAWN; ++e) s[e] = (unsigned char)(w[e >> 2] >> 8 * (e & 3));
        for (int e = 0; e < ND_FEW; ++e) c[e] = name;
        if (count > ND_FEW)
            for (int e = ND_FEW; e < ND_STEPS_DRAWN; ++e) c[e] = name;
        size += std::min<integer>(count, ND_STEPS_DRAWN);
    }
};

/* The events of some columns in one block: a bin with the columns of each step. */
struct nd_bins {
    struct Again { int step, place; };

    int *column;                    /* [step][room] */
    integer room;
    int size[ND_BLOCK], last[ND_BLOCK];
    std::vector<Again> again;       /* events of a column and step that has one already */
    std::unique_ptr<int[]> larger;  /* bins that did not suffice were copied here */

    void open(int *given, integer its_room)
    {
        column = given;
        room = its_room;
        again.clear();
        std::fill_n(size, (int)ND_BLOCK, 0);
        std::fill_n(last, (int)ND_BLOCK, -1);
    }

    void add(const nd_piece &piece)
    {
        for (integer i = 0; i < piece.size; ++i) {
            const int s = piece.step[i], name = piece.column[i];
            if (last[s] == name) {
                again.push_back({s, size[s] - 1});
                continue;
            }
            if (size[s] == room) grow();
            last[s] = name;
            column[s * room + size[s]++] = name;
        }
    }

    void grow()
    {
        std::unique_ptr<int[]> more(new int[ND_BLOCK * 2 * room]);
        for (int s = 0; s < ND_BLOCK; ++s)
            std::copy_n(column + s * room, size[s], more.get() + s * 2 * room);
        larger = std::move(more);
        column = larger.get();
        room *= 2;
    }
};

/* Memory that stays for the next call: fresh pages would cost as much as the draws. */
struct nd_scratch {
    std::unique_ptr<int[]> some;
    integer size = 0;

    int *reserve(integer wanted)
    {
        if (wanted > size) {
            some.reset();
            some.reset(new int[wanted]);
            size = wanted;
        }
        return some.get();
    }
};

/* Bins of several blocks and of several threads, which have some of the columns each. */
struct nd_binned {
    integer parts, room = 0, blocks;
    std::vector<nd_bins> bins;      /* [part][block] */
    int *columns;                   /* of all bins */

    nd_binned(const nd_rows *r, const nd_means &of, nd_scratch &scratch) : parts(nd_parts(r, r->count))
    {
        for (integer t = 0; t < parts; ++t) {
            double mean = 0.0;
            for (integer i = r->count * t / parts; i < r->count * (t + 1) / parts; ++i) mean += of.mean[i];
            mean /= ND_BLOCK;
            room = std::max(room, (integer)(mean + 8.0 * nd_sqrt(mean)) + 16);
        }
        const integer size = parts * ND_BLOCK * room;
        blocks = std::max<integer>(1, std::min(r->steps, ND_MOST_BINS / size));
        bins.resize(parts * blocks);
        columns = scratch.reserve(blocks * size);
    }

    /* Draw the blocks from r->first on. */
    void draw(const nd_rows *r, const nd_means &of)
    {
        nd_in_parts(parts, r->count, [&](integer t, integer low, integer high) {
            nd_piece piece;
            for (integer k = 0; k < r->steps; ++k) {
                nd_bins &to = bins[t * blocks + k];
                to.open(columns + (t * blocks + k) * ND_BLOCK * room, room);
                for (integer b = low; b < high; b += ND_PIECE) {
                    piece.draw(r, of, r->first + k, b, std::min<integer>(high - b, ND_PIECE));
                    to.add(piece);
                }
            }
        });
    }

    /* Write where the events of `steps` steps begin, the first ones at `found`; return where the last
     * ones end. */
    integer count(integer steps, integer found, integer *begin) const
    {
        for (integer s = 0; s < steps; ++s) {
            begin[s] = found;
            for (integer t = 0; t < parts; ++t) found += bins[t * blocks + s / ND_BLOCK].size[s % ND_BLOCK];
        }
        return found;
    }

    /* Copy the events of the steps from `low` to `high` - 1; those at once are one, or are counted. */
    void copy(integer low, integer high, bool single, const integer *begin, int *column, real *value) const
    {
        for (integer s = low; s < high; ++s) {
            integer at = begin[s];
            for (integer t = 0; t < parts; ++t) {
                const nd_bins &from = bins[t * blocks + s / ND_BLOCK];
                const integer size = from.size[s % ND_BLOCK];
                std::memcpy(column + at, from.column + s % ND_BLOCK * from.room, (size_t)size * sizeof(int));
                std::fill_n(value + at, size, (real)1);
                at += size;
            }
        }
        for (integer k = low / ND_BLOCK; !single && k * ND_BLOCK < high; ++k)
            for (integer t = 0; t < parts; ++t)
                for (const nd_bins::Again &one : bins[t * blocks + k].again) {
                    const integer s = k * ND_BLOCK + one.step;
                    if (s < low || s >= high) continue;
                    integer at = begin[s] + one.place;
                    for (integer u = 0; u < t; ++u) at += bins[u * blocks + k].size[one.step];
                    value[at] += 1;
                }
    }
};

/* Events of blocks r->first .. r->first + r->steps, ordered by step, then by column: `begin` of
 * each step, `column` and, into r->out, how many are at once, or 1 where `single`. Columns are
 * numbered by `name`. The last of `begin` is -1 where there is no `room` for all. */
extern "C" void nd_trains(const nd_rows *r, const int *name, const double *mean,
                          const double *none, const integer *most, integer single, integer room,
                          integer *begin, int *column)
{
    const nd_means of = {name, mean, none, most};
    static thread_local nd_scratch scratch;
    nd_binned binned(r, of, scratch);
    integer found = 0;
    for (integer low = 0; low < r->steps; low += binned.blocks) {
        nd_rows some = *r;
        some.first += low;
        some.steps = std::min(binned.blocks, r->steps - low);
        binned.draw(&some, of);
        const integer steps = some.steps * ND_BLOCK, before = found;
        integer *const its = begin + low * ND_BLOCK;
        found = binned.count(steps, found, its);
        if (found > room) {
            begin[r->steps * ND_BLOCK] = -1;
            return;
        }
        const integer parts = std::min(binned.parts, 1 + (found - before) / ND_WORTH);
        nd_in_parts(parts, steps, [&](integer, integer first, integer last) {
            binned.copy(first, last, single != 0, its, column, r->out);
        });
    }
    begin[r->steps * ND_BLOCK] = found;
}
