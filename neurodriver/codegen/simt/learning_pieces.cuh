/* The synapses of a piece, which the threads of a warp advance together, on a GPU. */
enum { ND_SWEPT_BESIDE = 4 };                   /* synapses that a thread sweeps side by side */
enum { ND_CHUNK = 8 * ND_SWEPT_BESIDE * ND_WARP };      /* those that a warp sweeps one after the other */

/* A piece: its connections, its source row, spikes of the only arrival, or 0; what is known of the row;
 * and whether it is the first piece of the row. */
struct nd_piece_of {
    long long begin;
    int length, row, only, element, a, f, back;
    bool first;
};

template <class Synapses, class Intervals, typename Code, typename Slot>
struct nd_learning_pieces : nd_learning_catch_up<Synapses, Intervals, Code, Slot> {
    typedef nd_learning_catch_up<Synapses, Intervals, Code, Slot> Rows;
    typedef typename Rows::Rule Rule;
    typedef typename Rows::Source Source;
    static const int BESIDE = Synapses::BESIDE;
    template <int N> using Held = nd_held<Rows::OWN, Synapses::POST, N>;
    using Rows::PRE, Rows::OWN, Rows::synapses, Rows::row_of, Rows::warp, Rows::warps, Rows::code, Rows::own, Rows::from;
    using Rows::advance, Rows::put_source, Rows::found, Rows::pieces, Rows::most_pieces, Rows::swept, Rows::counts;
    using Rows::learns, Rows::slots, Rows::turns, Rows::width, Rows::per_unit, Rows::one_per_unit;
    using Rows::largest, Rows::source, Rows::rows, Rows::longest;

    /* The number of pieces, the step up to which all are swept, and the first piece of this warp, if it
     * has one: all are loaded at once. */
    struct Work { int number, done, texts_run; uint4 piece; };

    ND_MEMBER Work first_work() const
    {
        const uint4 piece = warp() < most_pieces ? __ldcg(pieces + warp()) : make_uint4(0, 0, 0, 0);
        return {(int)swept[ND_LISTED], (int)swept[ND_SWEPT], (int)swept[ND_TEXTS_RUN], piece};
    }

    ND_MEMBER void deliver(int lo, const Work &first)
    {
        uint4 piece = first.piece;
        ND_ROLLED
        for (int i = warp(); i < first.number;) {
            i += warps;
            const uint4 next = i < first.number ? __ldcg(pieces + i) : piece;
            deliver_piece(listed(piece), lo, first.done, first.texts_run);
            piece = next;
        }
    }

    /* A piece of the list. */
    ND_MEMBER nd_piece_of listed(const uint4 &piece) const
    {
        const nd_source_row r = row_of((int)piece.z);
        const long long begin = (long long)(piece.y & 0xffffu) << 32 | piece.x;
        return {begin, (int)(piece.y >> 16), (int)piece.z, (int)piece.w, r.element, r.a, r.f, r.back, begin == r.begin};
    }

    /* The arrivals of a piece; what was seen before step `done`, and texts that were due before `texts_run`,
     * are done with. */
    ND_MEMBER void deliver_piece(const nd_piece_of &p, int lo, int done, int texts_run)
    {
        const unsigned arrivals_of_row = ND_DIRECT ? 1u : found[p.row];
        Held<BESIDE> h;
        load(h, p.begin, p.length);
        Source s = source(p.row, lo, false);
        synapses.back = p.back;
        ND_ROLLED
        for (unsigned bits = arrivals_of_row; bits; bits &= bits - 1) {
            const int n = lo + __ffs((int)bits) - 1;
            const int count = p.only ? p.only : nd_spikes(from.at(n - p.a, p.element));
            const unsigned now = (unsigned)(n + p.f) % turns * width;
            advance(h, s, {Synapses::Order::pending_from(s.last, done), Synapses::Order::pending_to(n), due_from(s, texts_run), n + 1});
            arrive(h, p.length, s, n, count, now);
            s = synapses.after(s, count, n);
        }
        if (Rule::CHANGES && learns) store(h, p.begin, p.length, ~0u);
        if (p.first && nd_lane() == 0) put_source(p.row, s, lo);
    }

    /* The first step whose texts of intervals the synapses of a source may wait for. */
    static ND_MEMBER int due_from(const Source &s, int texts_run) { return s.last + 1 > texts_run ? s.last + 1 : texts_run; }

    /* Bring synapses p to p + length - 1 to step n, by what is pending; then, for a dose, to this step.
     * At last call `text` for what belongs to each of them, with its target and the number of spikes
     * that it has not seen, where it `runs`. */
    template <nd_reason why, class Text>
    ND_MEMBER void bring_piece(long long p, int length, const Source &s, const nd_pending &pending,
                                                         int n, bool runs, Text text)
    {
        Held<ND_SWEPT_BESIDE> h;
        load(h, p, length);
        const bool texts = advance(h, s, pending);
        unsigned changed = 0;
        ND_UNROLL
        for (int i = 0; i < ND_SWEPT_BESIDE; ++i) {
            if (why == ND_DOSE) synapses.template drift<why>(h.state[i], h.place[i], h.past[i], s, n);
            changed |= (unsigned)(h.waiting[i] > 0 || texts || runs || why == ND_DOSE) << i;
            if (runs) text(h.state[i], h.place[i], h.past[i]);
        }
        store(h, p, length, changed);
    }

    template <int N> ND_MEMBER void load(Held<N> &h, long long p, int length) const
    {
        ND_UNROLL
        for (int i = 0; i < N; ++i) {
            const int at = i * ND_WARP + nd_lane();
            h.place[i] = __ldg(code + p + (at < length ? at : 0));
            for (int v = 0; v < OWN; ++v) h.state[i][v] = own[v][p + (at < length ? at : 0)];
        }
    }

    /* Store what a thread holds: of those of its synapses that a bit stands for. */
    template <int N> ND_MEMBER void store(const Held<N> &h, long long p, int length, unsigned which)
    {
        ND_UNROLL
        for (int i = 0; i < N; ++i) {
            const int at = i * ND_WARP + nd_lane();
            if (at < length && which >> i & 1)
                for (int v = 0; v < OWN; ++v) own[v][p + at] = h.state[i][v];
        }
    }

    /* `count` spikes arrive in step n; what they carry goes to the slots from `now` on. */
    ND_MEMBER void arrive(Held<BESIDE> &h, int length, const Source &s, int n, int count, unsigned now)
    {
        real sent[BESIDE];
        ND_UNROLL
        for (int i = 0; i < BESIDE; ++i)
            sent[i] = learns ? synapses.arrive(h.state[i], h.place[i], h.past[i], s, n, count, BESIDE == 1 ? h.latest : nullptr) : h.state[i][0];
        send(h.place, sent, length, count, now);
    }

    ND_MEMBER void send(const int *place, const real *sent, int length, int count, unsigned now)
    {
        const unsigned long long policy = nd_slots_stay();
        int beyond = 0;
        ND_UNROLL
        for (int i = 0; i < BESIDE; ++i) {
            const int at = i * ND_WARP + nd_lane();
            const real value = sent[i] > largest ? largest : sent[i] < -largest ? -largest : sent[i];
            beyond += at < length && value != sent[i];
            const real units = nd_rint(value * units_in(place[i]));
            nd_add((unsigned)at, (unsigned)length, slots + (now + (unsigned)place[i]), (int)units, count, policy);
        }
        if (beyond) count_beyond(sent, length, beyond);
    }

    /* Count the values that were clamped, and those that are not a number: of these nothing arrives. */
    ND_MEMBER void count_beyond(const real *sent, int length, int beyond)
    {
        int undefined = 0;
        for (int i = 0; i < BESIDE; ++i) undefined += i * ND_WARP + nd_lane() < length && sent[i] != sent[i];
        if (undefined) atomicAdd(counts + ND_UNDEFINED, (unsigned long long)undefined);
        if (beyond > undefined) atomicAdd(counts + ND_CLAMPED, (unsigned long long)(beyond - undefined));
    }

    /* Call a function for each chunk of synapses of each row: it gets row, back, first and past. */
    template <class Function> ND_MEMBER void each_chunk(Function of_chunk)
    {
        const int chunks = (longest + ND_CHUNK - 1) / ND_CHUNK;
        const long long all = (long long)rows * chunks;
        nd_source_row next = {};
        if (warp() < all) next = row_of(row_of_chunk(warp(), chunks));
        ND_ROLLED
        for (long long i = warp(); i < all;) {
            const int row = row_of_chunk(i, chunks);
            const nd_source_row r = next;
            const long long first = r.begin + (i - (long long)row * chunks) * ND_CHUNK, last = r.begin + r.length;
            i += warps;
            if (i < all) next = row_of(row_of_chunk(i, chunks));
            if (first < last) of_chunk(row, r.back, first, last < first + ND_CHUNK ? last : first + ND_CHUNK);
        }
    }

    static ND_MEMBER int row_of_chunk(long long i, int chunks) { return chunks == 1 ? (int)i : (int)(i / chunks); }

    ND_MEMBER real units_in(int j) const { return per_unit ? per_unit[j] : one_per_unit; }
};
