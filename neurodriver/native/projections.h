/* Connections given by a rule: who is connected, with what weight and delay.
 *
 * Rows are sources; the targets of a row ascend.  Each number is a function of (key of the
 * projection, row, draw, attempt, stream), so threads, windows and the order of calls change
 * nothing.  In the streams of weights and delays the draw is the rank of the connection in its
 * row.  Pasted after math.h and philox.h.
 *
 * Calls in their order: nd_lengths, nd_window where only some of the targets are wanted, nd_place,
 * and then whatever is asked of the connections that stand there.
 */
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

typedef long long integer;
typedef unsigned long long word;

enum { ND_ALL, ND_CHANCE, ND_INTO, ND_OUT_OF, ND_TOTAL, ND_ONE, ND_LATTICE };   /* rules */
enum { ND_SAME, ND_NORMAL, ND_UNIFORM, ND_LOG_NORMAL, ND_EXPONENTIAL };         /* laws */
enum { ND_ENDS, ND_WEIGHT, ND_DELAY, ND_SHARE };                                /* streams */
enum { ND_ATTEMPTS = 65536, ND_ROWS = 16 };

/* factor * x, with x of the law and in [low, high]. */
struct nd_law { integer kind, clip; double a, b, low, high, factor; };

/* Cells at whole coordinates, `dims` of them a cell.  `code` holds the targets' places in the box
 * low, low + extent, ascending; `order` the targets that stand there. */
struct nd_lattice {
    integer dims, offsets;
    const integer *cell, *offset, *low, *extent, *code;
    const int *order;
    const double *factor;
};

/* `shift` + source is the same component as that target; `number` is k or the total. */
struct nd_rule {
    word key;
    integer kind, sources, targets, shift, number, autapses, multapses;
    double chance, per_log;   /* per_log is 1 / log(1 - chance) */
    nd_law weight, delay;
    nd_lattice lattice;
};

/* What is asked for: connections `skip`, ... of each row, `count` of them, from `begin` on. */
struct nd_rows { const integer *begin, *skip, *count; integer threads; };

struct nd_scratch {
    std::vector<int> target;
    std::vector<word> bits, taken;
    std::vector<double> real, drawn;
    std::vector<int> filter;   /* lattice: the offset of each connection */
    std::vector<int> again;    /* draws outside their bounds; other half of a sort */
};

/* body(part, thread) for all parts, each thread taking the next one. */
template <typename Body> static void nd_shared(integer threads, integer parts, Body body)
{
    std::atomic<integer> next{0};
    auto work = [&](integer me) {
        for (integer part; (part = next.fetch_add(1)) < parts;) body(part, me);
    };
    std::vector<std::thread> team;
    for (integer i = 1; i < threads; ++i) team.emplace_back(work, i);
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

/* ---- ends ---------------------------------------------------------------------------------- */

/* Draws first, first + 1, ... of 64 bits each, two from a block; first is even. */
static void nd_bits_of(word key, integer row, int stream, integer first, integer count,
                       std::vector<word> &out)
{
    out.resize((size_t)(count + 1) / 2 * 2);
    word *to = out.data();
    _Pragma("omp simd")
    for (integer i = 0; i < (count + 1) / 2; ++i) {
        const nd_block b = nd_draw(key, (word)row, first / 2 + i, 0, stream);
        to[2 * i] = (word)b.w0 << 32 | b.w1;
        to[2 * i + 1] = (word)b.w2 << 32 | b.w3;
    }
}

/* A number below n < 2^31: the upper half of bits * n, so that none is likelier by more than 2^-33. */
static inline integer nd_below(word bits, word n)
{
    return (integer)(((bits >> 32) * n + ((bits & 0xffffffffu) * n >> 32)) >> 32);
}

/* k different numbers below n, each set as likely as any (Floyd: Bentley and Floyd 1987,
 * doi 10.1145/30401.315746); what is taken is marked in `taken`, which is clear before. */
static void nd_different(nd_scratch &own, integer n, integer k)
{
    own.taken.resize((size_t)(n + 63) / 64);
    own.target.resize((size_t)k);
    for (integer i = 0; i < k; ++i) {
        const integer last = n - k + i;
        integer x = nd_below(own.bits[i], (word)last + 1);
        if (own.taken[x >> 6] >> (x & 63) & 1) x = last;
        own.taken[x >> 6] |= 1ull << (x & 63);
        own.target[i] = (int)x;
    }
}

static void nd_forget(nd_scratch &own)
{
    for (const int x : own.target) own.taken[x >> 6] = 0;
}

/* Sort numbers below n: by digits where a row is long enough for it. */
static void nd_ascend(nd_scratch &own, integer n)
{
    int bits = 1;
    while (n > 1ll << bits) ++bits;
    const int passes = (bits + 10) / 11, digit = (bits + passes - 1) / passes, size = 1 << digit;
    const integer count = (integer)own.target.size();
    if (count < 64 || count < size / 4) {
        std::sort(own.target.begin(), own.target.end());
        return;
    }
    own.again.resize((size_t)count);
    for (int pass = 0, shift = 0; pass < passes; ++pass, shift += digit) {
        const int *from = own.target.data();
        int *to = own.again.data(), begin[2048] = {0}, at = 0;
        for (integer i = 0; i < count; ++i) ++begin[from[i] >> shift & (size - 1)];
        for (int d = 0; d < size; ++d) {
            const int here = begin[d];
            begin[d] = at;
            at += here;
        }
        for (integer i = 0; i < count; ++i) to[begin[from[i] >> shift & (size - 1)]++] = from[i];
        own.target.swap(own.again);
    }
}

/* The place of a row's own component among those it may be connected with, or what is too high. */
static inline integer nd_hole(const nd_rule *r, integer place, integer count)
{
    return !r->autapses && place >= 0 && place < count ? place : 1ll << 40;
}

static void nd_by_chance(const nd_rule *r, integer s, integer n, nd_scratch &own)
{
    double at = -1;
    for (integer draw = 0;;) {
        const double hits = (n - 1 - at) * r->chance;   /* to be expected */
        const integer few = (integer)nd_fmin(hits + nd_sqrt(hits) + 8, 4096) / 2 * 2;
        nd_bits_of(r->key, s, ND_ENDS, draw, few, own.bits);
        own.real.resize((size_t)few);
        const word *bits = own.bits.data();
        double *gap = own.real.data();
        const double per_log = r->per_log;
        _Pragma("omp simd")
        for (integer i = 0; i < few; ++i) {
            const double u = nd_unit_53((unsigned int)(bits[i] >> 32), (unsigned int)bits[i]);
            gap[i] = nd_fmin(nd_floor(nd_log(u) * per_log), 0x1p40);
        }
        for (integer i = 0; i < few; ++i) {
            at += gap[i] + 1;
            if (at >= (double)n) return;
            own.target.push_back((int)at);
        }
        draw += few;
    }
}

static void nd_filtered(const nd_rule *r, integer s, nd_scratch &own)
{
    const nd_lattice &l = r->lattice;
    const integer *end = l.code + r->targets, *cell = l.cell + s * l.dims;
    std::vector<word> &found = own.bits;   /* (target, offset) */
    found.clear();
    for (integer f = 0; f < l.offsets; ++f) {
        integer code = 0;
        bool inside = true;
        for (integer d = 0; d < l.dims; ++d) {
            const integer x = cell[d] + l.offset[f * l.dims + d] - l.low[d];
            inside &= x >= 0 && x < l.extent[d];
            code = code * l.extent[d] + x;
        }
        if (!inside) continue;
        for (const integer *at = std::lower_bound(l.code, end, code); at < end && *at == code; ++at)
            found.push_back((word)l.order[at - l.code] << 32 | (word)f);
    }
    std::sort(found.begin(), found.end());
    own.filter.clear();
    for (const word pair : found) {
        own.target.push_back((int)(pair >> 32));
        own.filter.push_back((int)pair);
    }
}

/* The targets of a source, ascending: every rule but ND_INTO, whose rows are drawn by target. */
static void nd_row(const nd_rule *r, integer s, integer length, nd_scratch &own)
{
    const integer hole = nd_hole(r, s + r->shift, r->targets), n = r->targets - (hole < r->targets);
    own.target.clear();
    if (r->kind == ND_ALL) {
        own.target.resize((size_t)n);
        for (integer i = 0; i < n; ++i) own.target[i] = (int)i;
    } else if (r->kind == ND_CHANCE) {
        nd_by_chance(r, s, n, own);
    } else if (r->kind == ND_ONE) {
        own.target.push_back((int)s);
    } else if (r->kind == ND_LATTICE) {
        nd_filtered(r, s, own);
    } else {   /* ND_OUT_OF, ND_TOTAL */
        nd_bits_of(r->key, s, ND_ENDS, 0, length, own.bits);
        if (r->multapses) {
            own.target.resize((size_t)length);
            for (integer i = 0; i < length; ++i)
                own.target[i] = (int)nd_below(own.bits[i], (word)n);
        } else {
            nd_different(own, n, length);
            nd_forget(own);
        }
        nd_ascend(own, n);
    }
    if (hole < r->targets)
        for (int &t : own.target) t += t >= hole;
}

/* The sources of a target, in the order in which they are drawn. */
static void nd_into(const nd_rule *r, integer t, nd_scratch &own)
{
    const integer hole = nd_hole(r, t - r->shift, r->sources), n = r->sources - (hole < r->sources);
    own.target.resize((size_t)r->number);
    nd_bits_of(r->key, t, ND_ENDS, 0, r->number, own.bits);
    if (r->multapses) {
        for (integer i = 0; i < r->number; ++i)
            own.target[i] = (int)nd_below(own.bits[i], (word)n);
    } else {
        nd_different(own, n, r->number);
        nd_forget(own);
    }
    if (hole < r->sources)
        for (int &s : own.target) s += s >= hole;
}

/* As many threads as have more connections to draw than sources to count for. */
static integer nd_counters(integer threads, integer edges, integer sources)
{
    return std::max<integer>(1, std::min(threads, edges / (sources + 1)));
}

/* count[thread][source] of the targets first, ..., last - 1, shared in that order. */
static std::vector<std::vector<integer>> nd_into_counts(const nd_rule *r, integer threads,
                                                        integer first, integer last)
{
    std::vector<std::vector<integer>> count((size_t)threads);
    nd_shared(threads, threads, [&](integer part, integer) {
        nd_scratch own;
        std::vector<integer> here((size_t)r->sources);
        const integer from = first + (last - first) * part / threads;
        for (integer t = from; t < first + (last - first) * (part + 1) / threads; ++t) {
            nd_into(r, t, own);
            for (const int s : own.target) ++here[s];
        }
        count[part] = std::move(here);
    });
    return count;
}

static void nd_sum(const std::vector<std::vector<integer>> &parts, integer *total, integer n)
{
    std::fill(total, total + n, 0);
    for (const auto &one : parts)
        for (integer i = 0; i < n; ++i) total[i] += one[i];
}

/* Of `number` connections with both ends drawn: how many begin at each source. */
static void nd_shares(const nd_rule *r, integer threads, integer *length)
{
    const integer each = 1 << 14;
    std::vector<std::vector<integer>> count((size_t)threads,
                                            std::vector<integer>((size_t)r->sources));
    std::vector<nd_scratch> own(threads);
    nd_shared(threads, (r->number + each - 1) / each, [&](integer part, integer me) {
        const integer n = std::min(each, r->number - part * each);
        nd_bits_of(r->key, 0, ND_SHARE, part * each, n, own[me].bits);
        for (integer i = 0; i < n; ++i)
            ++count[me][nd_below(own[me].bits[i], (word)r->sources)];
    });
    nd_sum(count, length, r->sources);
}

/* Connections of each source. */
extern "C" void nd_lengths(const nd_rule *r, integer threads, integer *length)
{
    if (r->kind == ND_INTO) {
        threads = nd_counters(threads, r->number * r->targets, r->sources);
        nd_sum(nd_into_counts(r, threads, 0, r->targets), length, r->sources);
    } else if (r->kind == ND_TOTAL) {
        nd_shares(r, nd_counters(threads, r->number, r->sources), length);
    } else {
        nd_each_row(threads, r->sources, [=](integer s, nd_scratch &own) {
            if (r->kind == ND_OUT_OF) {
                length[s] = r->number;
            } else {
                nd_row(r, s, 0, own);
                length[s] = (integer)own.target.size();
            }
        });
    }
}

/* Of each row: connections before target `first`, and from there to before `last`. */
extern "C" void nd_window(const nd_rule *r, integer threads, const integer *length, integer first,
                          integer last, integer *skip, integer *count)
{
    if (r->kind == ND_INTO) {
        threads = nd_counters(threads, r->number * r->targets, r->sources);
        nd_sum(nd_into_counts(r, threads, 0, first), skip, r->sources);
        nd_sum(nd_into_counts(r, threads, first, last), count, r->sources);
        return;
    }
    nd_each_row(threads, r->sources, [=](integer s, nd_scratch &own) {
        nd_row(r, s, length[s], own);
        const auto from = own.target.begin(), to = own.target.end();
        skip[s] = std::lower_bound(from, to, (int)first) - from;
        count[s] = std::lower_bound(from, to, (int)last) - from - skip[s];
    });
}

/* Write the targets first, ..., last - 1 of each row, plus `origin`, from begin[row] on. */
extern "C" void nd_place(const nd_rule *r, const nd_rows *rows, const integer *length, integer first,
                         integer last, integer origin, int *target)
{
    if (r->kind == ND_INTO) {
        /* Threads have their targets in order, so rows ascend without being sorted. */
        const integer threads = nd_counters(rows->threads, r->number * r->targets, r->sources);
        auto next = nd_into_counts(r, threads, first, last);
        for (integer s = 0; s < r->sources; ++s) {
            integer at = rows->begin[s];
            for (auto &one : next) {
                const integer here = one[s];
                one[s] = at;
                at += here;
            }
        }
        nd_shared(threads, threads, [&](integer part, integer) {
            nd_scratch own;
            integer *to = next[part].data();
            const integer from = first + (last - first) * part / threads;
            for (integer t = from; t < first + (last - first) * (part + 1) / threads; ++t) {
                nd_into(r, t, own);
                for (const int s : own.target) target[to[s]++] = (int)(origin + t);
            }
        });
        return;
    }
    nd_each_row(rows->threads, r->sources, [=](integer s, nd_scratch &own) {
        nd_row(r, s, length[s], own);
        const int *from = own.target.data() + rows->skip[s];
        int *to = target + rows->begin[s];
        for (integer i = 0; i < rows->count[s]; ++i) to[i] = (int)(origin + from[i]);
    });
}

/* ---- weights and delays -------------------------------------------------------------------- */

template <int kind> ND_FN double nd_of(double a, double b, word key, integer row, integer draw,
                                       int attempt, int stream)
{
    if (kind == ND_UNIFORM || kind == ND_EXPONENTIAL) {
        const double u = nd_uniform(key, (word)row, draw, attempt, stream, 0.0);
        return kind == ND_UNIFORM ? a + (b - a) * u : -a * nd_log(u);
    }
    const double x = a + b * nd_normal(key, (word)row, draw, attempt, stream, 0.0);
    return kind == ND_LOG_NORMAL ? nd_exp(x) : x;
}

template <int kind> static void nd_drawn(const nd_law &law, word key, integer row, int stream,
                                         integer first, integer count, nd_scratch &own, double *out)
{
    const double a = law.a, b = law.b, low = law.low, high = law.high, factor = law.factor;
    _Pragma("omp simd")
    for (integer i = 0; i < count; ++i) out[i] = nd_of<kind>(a, b, key, row, first + i, 0, stream);
    own.again.clear();
    for (integer i = 0; !law.clip && i < count; ++i)
        if (!(out[i] >= low && out[i] <= high)) own.again.push_back((int)i);
    for (int n = 1; n < ND_ATTEMPTS && !own.again.empty(); ++n) {
        const integer left = (integer)own.again.size();
        const int *at = own.again.data();
        own.drawn.resize((size_t)left);
        double *x = own.drawn.data();
        _Pragma("omp simd")
        for (integer i = 0; i < left; ++i)
            x[i] = nd_of<kind>(a, b, key, row, first + at[i], n, stream);
        integer still = 0;
        for (integer i = 0; i < left; ++i) {
            out[at[i]] = x[i];
            if (!(x[i] >= low && x[i] <= high)) own.again[still++] = at[i];
        }
        own.again.resize((size_t)still);
    }
    for (integer i = 0; i < count; ++i) out[i] = factor * nd_fmin(nd_fmax(out[i], low), high);
}

/* Values of connections first, first + 1, ... of a row. */
static void nd_values_of(const nd_rule *r, int stream, integer row, integer first, integer count,
                         nd_scratch &own, std::vector<double> &out)
{
    const nd_law &law = stream == ND_WEIGHT ? r->weight : r->delay;
    const word key = r->key;
    out.resize((size_t)count);
    double *to = out.data();
    switch (law.kind) {
    case ND_NORMAL: nd_drawn<ND_NORMAL>(law, key, row, stream, first, count, own, to); break;
    case ND_UNIFORM: nd_drawn<ND_UNIFORM>(law, key, row, stream, first, count, own, to); break;
    case ND_LOG_NORMAL: nd_drawn<ND_LOG_NORMAL>(law, key, row, stream, first, count, own, to); break;
    case ND_EXPONENTIAL: nd_drawn<ND_EXPONENTIAL>(law, key, row, stream, first, count, own, to); break;
    default: std::fill(out.begin(), out.end(), law.a);
    }
    if (stream == ND_WEIGHT && r->kind == ND_LATTICE) {
        own.target.clear();
        nd_filtered(r, row, own);
        for (integer i = 0; i < count; ++i) to[i] *= r->lattice.factor[own.filter[first + i]];
    }
}

ND_FN integer nd_steps(double delay, double dt)
{
    const double steps = __builtin_rint(nd_fmin(delay / dt, 0x1p53));
    return steps > 1 ? (integer)steps : 1;
}

/* The weights (stream 1) or the delays (2), in the places of the connections. */
extern "C" void nd_values(const nd_rule *r, const nd_rows *rows, integer stream, double *out)
{
    nd_each_row(rows->threads, r->sources, [=](integer s, nd_scratch &own) {
        const integer skip = rows->skip[s], count = rows->count[s];
        nd_values_of(r, (int)stream, s, skip, count, own, own.real);
        std::copy(own.real.begin(), own.real.end(), out + rows->begin[s]);
    });
}

/* Least and greatest delay of each row in steps; 0 where it has no connection. */
extern "C" void nd_span(const nd_rule *r, const nd_rows *rows, double dt, integer *least,
                        integer *most)
{
    nd_each_row(rows->threads, r->sources, [=](integer s, nd_scratch &own) {
        nd_values_of(r, ND_DELAY, s, rows->skip[s], rows->count[s], own, own.real);
        const auto [low, high] = std::minmax_element(own.real.begin(), own.real.end());
        least[s] = own.real.empty() ? 0 : nd_steps(*low, dt);
        most[s] = own.real.empty() ? 0 : nd_steps(*high, dt);
    });
}

static const integer ND_WHOLE = (integer)1 << 62;

/* body(target, weight) for the connections of all targets that are asked for: a target has one
 * thread, and its sources in order. From one of them on, so many are drawn at once. */
template <typename Asked, typename Body>
static void nd_each_weight(const nd_rule *r, const nd_rows *rows, const int *target, integer first,
                           integer last, integer piece, Asked asked, Body body)
{
    std::vector<nd_scratch> owns(rows->threads);
    nd_shared(rows->threads, rows->threads, [&](integer part, integer me) {
        const integer from = first + (last - first) * part / rows->threads;
        const integer to = first + (last - first) * (part + 1) / rows->threads;
        for (integer s = 0; s < r->sources; ++s) {
            const int *row = target + rows->begin[s], *end = row + rows->count[s];
            const int *a = std::lower_bound(row, end, (int)from);
            const int *b = std::lower_bound(a, end, (int)to);
            while ((a = std::find_if(a, b, asked)) != b) {
                const integer count = std::min<integer>(b - a, piece);
                nd_values_of(r, ND_WEIGHT, s, rows->skip[s] + (a - row), count, owns[me],
                             owns[me].real);
                for (integer i = 0; i < count; ++i)
                    if (asked(a[i])) body(a[i], owns[me].real[i]);
                a += count;
            }
        }
    });
}

/* Per target, for what stands there already and the connections here: their number, least
 * |weight| above 0, greatest and summed |weight|. */
extern "C" void nd_bounds(const nd_rule *r, const nd_rows *rows, const int *target, integer first,
                          integer last, integer *degree, double *least, double *greatest,
                          double *sum)
{
    const auto all = [](int) { return true; };
    nd_each_weight(r, rows, target, first, last, ND_WHOLE, all, [=](int t, double weight) {
        const double size = nd_fabs(weight);
        ++degree[t];
        if (size > 0) least[t] = nd_fmin(least[t], size);
        greatest[t] = nd_fmax(greatest[t], size);
        sum[t] += size;
    });
}

/* Per target, where its unit is a number: the least distance of a |weight| / unit from a whole
 * number among those that are not `alike` (relative to it), and the greatest such number. */
extern "C" void nd_remainders(const nd_rule *r, const nd_rows *rows, const int *target,
                              integer first, integer last, const double *unit, double alike,
                              double *rest, double *most)
{
    const auto asked = [=](int t) { return unit[t] == unit[t]; };
    const integer piece = r->kind == ND_LATTICE ? ND_WHOLE : 64;    /* factors come by rows */
    nd_each_weight(r, rows, target, first, last, piece, asked, [=](int t, double weight) {
        const double ratio = nd_fmin(nd_fabs(weight) / unit[t], 0x1p60);
        const double whole = __builtin_rint(ratio), apart = nd_fabs(ratio - whole);
        if (apart > alike * whole) rest[t] = nd_fmin(rest[t], apart);
        most[t] = nd_fmax(most[t], whole);
    });
}

/* Targets become codes (steps - 1 - lag of the row) * width + target; weights whole numbers of
 * `unit`, one for each target, of `bytes` bytes (0: not wanted). */
extern "C" void nd_encode(const nd_rule *r, const nd_rows *rows, double dt, integer width,
                          const integer *lag, const double *unit, integer bytes, int *code,
                          void *weight)
{
    nd_each_row(rows->threads, r->sources, [=](integer s, nd_scratch &own) {
        const integer skip = rows->skip[s], count = rows->count[s], begin = rows->begin[s];
        int *row = code + begin;
        if (bytes) {
            nd_values_of(r, ND_WEIGHT, s, skip, count, own, own.real);
            double *n = own.real.data();
            for (integer i = 0; i < count; ++i) n[i] = __builtin_rint(n[i] / unit[row[i]]);
            if (bytes == 1) std::copy(n, n + count, (signed char *)weight + begin);
            if (bytes == 2) std::copy(n, n + count, (short *)weight + begin);
            if (bytes == 4) std::copy(n, n + count, (int *)weight + begin);
        }
        nd_values_of(r, ND_DELAY, s, skip, count, own, own.real);
        for (integer i = 0; i < count; ++i)
            row[i] += (int)((nd_steps(own.real[i], dt) - 1 - lag[s]) * width);
    });
}

/* The codes below `width` of a row, and what belongs to them, before the others; else in order. */
template <typename T> static void nd_part(const int *code, integer count, integer width, T *values,
                                          std::vector<T> &kept)
{
    kept.clear();
    T *to = values;
    for (integer i = 0; i < count; ++i)
        if (code[i] < width) *to++ = values[i];
        else kept.push_back(values[i]);
    std::copy(kept.begin(), kept.end(), to);
}

/* For each row; `number` of it gets how many come first. */
extern "C" void nd_near_first(integer threads, integer rows, integer width, integer bytes,
                              const integer *first, int *code, void *multiple, integer *number)
{
    nd_shared(threads, (rows + ND_ROWS - 1) / ND_ROWS, [&](integer part, integer) {
        std::vector<signed char> one;
        std::vector<short> two;
        std::vector<int> four;
        for (integer s = part * ND_ROWS; s < std::min(rows, (part + 1) * ND_ROWS); ++s) {
            const integer begin = first[s], count = first[s + 1] - begin;
            int *row = code + begin;
            number[s] = std::count_if(row, row + count, [=](int c) { return c < width; });
            if (number[s] == 0 || number[s] == count) continue;
            if (bytes == 1) nd_part(row, count, width, (signed char *)multiple + begin, one);
            if (bytes == 2) nd_part(row, count, width, (short *)multiple + begin, two);
            if (bytes == 4) nd_part(row, count, width, (int *)multiple + begin, four);
            nd_part(row, count, width, row, four);
        }
    });
}
