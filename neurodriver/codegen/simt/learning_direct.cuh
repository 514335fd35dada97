/* Direct turns of synapses that learn, on a GPU: turns of one step that have no scan.
 *
 * Each warp looks for spikes of the sources whose synapses it has, so there is no list, and no barrier
 * after it. An arrival in step n needs spikes of its target from rows before n alone. So the spikes of row
 * n enter the histories after the arrivals, while components are advanced. Where all synapses are to be
 * visited, because there are doses or a history is nearly full, they are so instead: up to step n, and
 * then come the doses and the arrivals of this step. */
template <class Synapses, class Intervals, typename Code, typename Slot>
struct nd_learning_direct : nd_learning_pieces<Synapses, Intervals, Code, Slot> {
    typedef nd_learning_pieces<Synapses, Intervals, Code, Slot> Pieces;
    using Pieces::MODULATORS, Pieces::PIECE, Pieces::synapses, Pieces::rows, Pieces::row_of, Pieces::longest;
    using Pieces::warp, Pieces::warps, Pieces::from, Pieces::swept, Pieces::released, Pieces::releasing, Pieces::now;

    int4 *looked;               /* (2, threads of a warp) in shared memory: the piece of each thread */
    int *looked_doses;          /* (modulators, threads of a warp): an element whose spikes are doses, or -1 */

    /* How many pieces a source row may have, and all have together. */
    ND_MEMBER int each() const { return (longest + PIECE - 1) / PIECE; }

    /* Remember which piece each thread looks at, and which doses. */
    ND_MEMBER void remember() const
    {
        const int i = warp() + nd_lane() * warps;
        const bool some = i < rows * each();
        const int row = some ? i / each() : 0, at = (i - row * each()) * PIECE;
        const nd_source_row r = row_of(row);
        const int left = r.length - at, length = left < PIECE ? left : (int)PIECE;
        looked[nd_lane()] = make_int4(r.element, r.a, r.f, r.back);
        looked[ND_WARP + nd_lane()] = make_int4((int)r.begin + at, some && left > 0 ? length : 0, row, at);
        for (int v = 0; v < MODULATORS; ++v)
            looked_doses[v * ND_WARP + nd_lane()] = nd_lane() < releasing[v] ? __ldg(released[v] + nd_lane()) : -1;
        nd_together();
    }

    /* A launch begins with step n. */
    ND_MEMBER void begin(int n)
    {
        remember();
        if (!keeps()) return;
        this->take_modulators(false);
        this->keep_levels(n, n);
        if (nd_lane() == 0) this->mark(false, n);
    }

    /* The piece of a thread, at which `count` spikes arrive. */
    ND_MEMBER nd_piece_of piece_of(int lane, int count) const
    {
        const int4 r = looked[lane], p = looked[ND_WARP + lane];
        return {p.x, p.y, p.z, count, r.x, r.y, r.z, r.w, p.w == 0};
    }

    /* Spikes of step n that arrive at the piece of this thread; -1 for each thread of each warp where all
     * synapses are to be visited instead. It needs few registers, and most warps find nothing. */
    ND_MEMBER int look(int n) const
    {
        if (!ND_WINDOW) remember();     /* launches of their own: nothing stays in shared memory */
        const int4 mine = looked[nd_lane()];
        const int full = (int)swept[ND_FULL];
        const real x = from.at(n - mine.y, mine.x);
        bool visits = full == n;
        for (int v = 0; v < MODULATORS; ++v) visits |= dose_of(v, n) != 0;
        const int count = looked[ND_WARP + nd_lane()].y > 0 ? nd_spikes(x) : 0;
        return nd_ballot(visits) ? -1 : count;
    }

    /* The arrivals of step n at the pieces of this warp: `count` at that of this thread. */
    ND_MEMBER void deliver_found(int n, int count)
    {
        const int done = (int)swept[ND_SWEPT], texts_run = (int)swept[ND_TEXTS_RUN];
        this->take_kept();
        this->take_modulators(false);
        ND_ROLLED
        for (unsigned some = nd_ballot(count > 0); some; some &= some - 1) {
            const int lane = __ffs((int)some) - 1;
            this->deliver_piece(piece_of(lane, nd_from(count, lane)), n, done, texts_run);
        }
    }

    /* Whether this warp has something to do when the arrivals are done. */
    ND_MEMBER bool after() const { return keeps() || warp() * ND_TOGETHER < this->targets; }

    /* Doses of step n by the element of this thread. */
    ND_MEMBER int dose_of(int v, int n) const
    {
        const int element = looked_doses[v * ND_WARP + nd_lane()];
        const int count = nd_spikes(from.at(n, element < 0 ? 0 : element));
        return element < 0 ? 0 : count;
    }

    ND_MEMBER void count_all_doses(int n)
    {
        if (!ND_WINDOW) remember();
        for (int v = 0; v < MODULATORS; ++v) now[v] = (int)nd_total(dose_of(v, n));
    }

    /* Whether this warp keeps the books. It has no components in most circuits. */
    ND_MEMBER bool keeps() const { return warp() == warps / 2; }

    /* Add the doses of step n to the modulators, by a warp, when all have seen them. Note what has been
     * swept: it is loaded first, so that all loads are in flight at once. */
    ND_MEMBER void settle_doses(int n)
    {
        const long long done = swept[ND_SWEPT_BEFORE], texts_run = swept[ND_TEXTS_RUN_BEFORE];
        this->take_modulators(false);
        count_all_doses(n);
        for (int v = 0; v < MODULATORS; ++v) {
            if (!now[v]) continue;
            this->take_dose(v, n);
            if (nd_lane() != 0) continue;
            this->level[v] = synapses.level[v];
            this->dosed[v] = synapses.dosed[v];
        }
        this->keep_levels(n + 1, n + 1);
        if (nd_lane() == 0) swept[ND_SWEPT] = done, swept[ND_TEXTS_RUN] = texts_run;
    }
};
