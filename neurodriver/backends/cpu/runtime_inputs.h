/* Writes what inputs inject into the rows of rings: values of all slots of an input, or events at some
 * of them. Each thread writes the slots in its own cache lines. */
namespace {

const integer UNKNOWN = -1;     /* content of a row into which nothing was written */
const integer OTHERS = -2;      /* values that are not compared with others */
const integer SOME = -3;        /* events */

/* What one thread has written into a row of an input. */
struct Content {
    integer what = UNKNOWN;     /* or 0: zeros, or the number of a row of a version */
    std::vector<int32_t> set;   /* of events: columns that are not zero */
};

/* What was written into the share of a thread. */
struct Entered {
    bool some = false;          /* an event */
    bool others = false;        /* another number than 1 */
};

/* The slots of an input in one row, and a thread's share of them. */
struct Slots {
    real *row;
    uint16_t *dirty;            /* of the row, or null */
    integer first;              /* element of column 0 */
    Share mine;                 /* columns */

    /* Set only the bits of `mask` in the dirty marks of 16 elements, which may belong to others, too. */
    void write(integer line, unsigned mask, unsigned bits) const
    {
        const integer b = first + mine.begin, e = first + mine.end;
        if (line * 16 >= b && line * 16 + 16 <= e) {
            dirty[line] = (uint16_t)((dirty[line] & ~mask) | bits);
            return;
        }
        __atomic_fetch_and(&dirty[line], (uint16_t)~(mask & ~bits), __ATOMIC_RELAXED);
        if (bits) __atomic_fetch_or(&dirty[line], (uint16_t)bits, __ATOMIC_RELAXED);
    }

    void put(int32_t column, real value) const
    {
        const integer at = first + column;
        row[at] = value;
        const unsigned bit = 1u << at % 16;
        if (dirty) write(at / 16, bit, value != 0 ? bit : 0);
    }

    /* Put values, or zeros for null, into all columns. */
    Entered put_all(const real *values) const
    {
        const integer b = first + mine.begin, e = first + mine.end;
        const size_t bytes = (size_t)(e - b) * sizeof(real);
        if (values) std::memcpy(row + b, values + mine.begin, bytes);
        else std::memset(row + b, 0, bytes);
        if (!dirty) return {};
        Entered all;
        for (integer at = b; values && at < e; ++at) all.others |= (row[at] != 0) & (row[at] != 1);
        for (integer at = b; at < e;) {
            const integer line = at / 16, end = line * 16 + 16 < e ? line * 16 + 16 : e;
            unsigned mask = 0, bits = 0;
            if (end - at == 16) {
                mask = 0xffff;
                bits = values ? nonzero(row + at) : 0;
            } else {
                for (integer i = at; i < end; ++i) {
                    mask |= 1u << i % 16;
                    bits |= (unsigned)(row[i] != 0) << i % 16;
                }
            }
            write(line, mask, bits);
            all.some |= bits != 0;
            at = end;
        }
        return all;
    }
};

/* The events of an input for kernels, in a call from step `first` on. */
inline nd_list listed(const nd_input &in, integer first)
{
    return {in.begin ? in.begin - first : nullptr, in.column, in.value, in.first, in.count};
}

/* What a row shall hold of an input at a step, counted from the first one of the call. Kernels read no
 * row of events that are `lists`. */
inline integer wanted(const nd_input &in, integer step, bool lists)
{
    if (in.begin && lists) return 0;
    if (in.begin) return in.begin[step] < in.begin[step + 1] ? SOME : 0;
    const integer from = in.row_of_step[step];
    return from < 0 ? 0 : in.version ? (in.version << 32) + from + 1 : OTHERS;
}

/* Whether all slots of an input have one value at a step. */
inline bool is_level(const nd_input &in, integer step)
{
    if (in.begin) return false;
    const integer row = in.row_of_step[step];
    return row < 0 || (in.level && in.level[row]);
}

/* Put a thread's share of what enters at a step into a row. */
Entered enter(const nd_input &in, integer step, bool lists, const Slots &to, Content &held)
{
    const integer before = held.what;
    held.what = wanted(in, step, lists);
    if (held.what != SOME && before != SOME) {
        const integer from = held.what ? in.row_of_step[step] : -1;
        return to.put_all(from < 0 ? nullptr : in.table + from * in.count);
    }
    if (before != SOME && before != 0) to.put_all(nullptr);
    for (int32_t c : held.set) to.put(c, 0);
    held.set.clear();
    if (held.what == 0) return {};
    if (held.what != SOME) return to.put_all(in.table + in.row_of_step[step] * in.count);
    const int32_t *end = in.column + in.begin[step + 1];
    const int32_t *c = std::lower_bound(in.column + in.begin[step], end, (int32_t)to.mine.begin);
    Entered all;
    for (; c < end && *c < to.mine.end; ++c) {
        const real value = in.value[c - in.column];
        to.put(*c, value);
        held.set.push_back(*c);
        all.some = true;
        all.others |= value != 1;
    }
    return all;
}

/* Puts what inputs inject into the rows of rings. */
struct Injection {
    const nd_plan plan;
    std::vector<std::vector<Content>> written;  /* [thread][input * depth + row] */
    std::vector<integer> offset;                /* of each input in `written` */
    std::vector<std::vector<integer>> of_ring;  /* [ring]: its inputs */
    std::vector<std::vector<integer>> latest;   /* [thread][ring]: row of the last injected step */

    explicit Injection(const nd_plan &given) : plan(given)
    {
        integer total = 0;
        of_ring.resize(plan.rings);
        for (integer i = 0; i < plan.inputs; ++i) {
            of_ring[plan.input[i].ring].push_back(i);
            offset.push_back(total);
            total += plan.ring[plan.input[i].ring].depth;
        }
        written.assign(plan.threads, std::vector<Content>(total));
        latest.assign(plan.threads, std::vector<integer>(plan.rings, 0));
    }

    bool holds(integer thread, integer i, integer row, integer step) const
    {
        const integer what = wanted(plan.input[i], step, plan.list[i]);
        return what >= 0 && written[thread][offset[i] + row].what == what;
    }

    /* A ring that holds inputs alone keeps its row while the values do not change: a constant input
     * costs nothing, and the other rows stay out of the cache. All threads choose the same row. Rows
     * take turns, as those of the window before may still be read. */
    void choose_rows(integer thread, integer k, integer step)
    {
        for (integer r = 0; r < plan.rings; ++r) {
            const nd_ring &ring = plan.ring[r];
            if (!ring.where) continue;
            integer &now = latest[thread][r];
            bool same = true;
            for (integer i : of_ring[r]) same &= holds(thread, i, now, step);
            if (!same) now = now + 1 == ring.depth ? 0 : now + 1;
            if (thread) continue;
            ring.where[k % ring.depth] = now;
            integer *level = ring.level + k % ring.depth * (integer)of_ring[r].size();
            for (integer i : of_ring[r]) *level++ = is_level(plan.input[i], step);
        }
    }

    /* A thread's share of what enters at step k, which is `step` counted from the first of the call. */
    void inject(integer thread, integer k, integer step)
    {
        choose_rows(thread, k, step);
        for (integer i = 0; i < plan.inputs; ++i) {
            const nd_input &in = plan.input[i];
            const nd_ring &ring = plan.ring[in.ring];
            const integer row = k - in.back;
            if (row < 0) continue;
            const integer at = ring.where ? latest[thread][in.ring] : row % ring.depth;
            if (holds(thread, i, at, step)) {
                if (ring.active && wanted(in, step, plan.list[i])) {
                    mark(ring.active, ring, row);
                    mark(ring.counted, ring, row);
                }
                continue;
            }
            uint16_t *dirty = ring.dirty ? ring.dirty + at * (ring.width / 16) : nullptr;
            const Share mine = share_from(in.first, in.count, thread, plan.threads);
            const Slots to = {ring.data + at * ring.width, dirty, in.first, mine};
            const Entered all = enter(in, step, plan.list[i], to, written[thread][offset[i] + at]);
            if (ring.active && all.some) mark(ring.active, ring, row);
            if (ring.counted && all.others) mark(ring.counted, ring, row);
        }
    }
};

}  // namespace
