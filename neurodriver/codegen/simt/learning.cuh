/* Synapses that learn, on a GPU.
 *
 * Connections are stored by source row: the connections of one source with equal a, f and b (see
 * docs/design/gpu-learning.md). A synapse is brought up to date when a spike of its source arrives: it
 * applies the spikes of its target that it has seen since the arrival before (synapse.cuh). So few
 * synapses are touched in a step.
 *
 * A turn handles the spikes of steps lo .. hi, of which hi is the newest. Targets read their slots
 * between two turns. A turn has four parts with barriers between them. Here `phase` is such a part;
 * the phases of a circuit's order are something else.
 *
 *   scan     A thread puts the spikes of a target into its history. A thread finds the arrivals of a
 *            source row in steps lo .. hi, stores them as bits, and lists its connections in pieces.
 *   before   At the beginning of a launch: the texts of intervals that are due in step hi.
 *   arrive   A warp takes a piece. Its synapses learn and send to the slots of their targets. In a step
 *            with a dose of a modulator, warps take the synapses of all source rows instead, and bring
 *            them up to date before the dose.
 *   after    If a history would overflow, all synapses are brought up to date. Where a rule has a text
 *            of each step, they are in each turn, and the text is run. No one else touches synapses
 *            then, so the components are advanced at the same time.
 *
 * If texts of intervals read sums, the synapses are summed and the texts run before `arrive`, each
 * with a barrier. So they do if they read variables of neurons or of other components. Other texts of
 * intervals wait until a synapse is visited (learning_modulators.cuh). Rules with intervals, modulators,
 * texts of each step or values of neurons have turns of one step. Direct turns have no scan
 * (learning_direct.cuh).
 *
 * All pieces of a source row need its arrivals from before the turn. So `arrive` writes the new ones
 * elsewhere (`next_arrivals`, `next_pre`), and the next scan copies them. */
#include "synapse.cuh"

enum { ND_SUM_PARTS = 16384 };                  /* parts of a unit that sums over synapses count, */
#define ND_MOST_PARTS 9223372036854775808.0     /* and how many at most */

/* Parts of a turn; then what is done between launches: to settle the arrivals, and to sweep; then, for
 * the texts of intervals that read sums, to sum over the synapses of each target, and to run the text;
 * at last, to visit all synapses, because there are doses or, in a direct turn, because much waits. */
enum { ND_LEARN_SCAN, ND_LEARN_BEFORE, ND_LEARN_ARRIVE, ND_LEARN_AFTER, ND_LEARN_SETTLE, ND_LEARN_SWEEP,
       ND_LEARN_SUM, ND_LEARN_TEXT, ND_LEARN_VISIT };
#include "learning_rows.cuh"
#include "learning_modulators.cuh"
#include "learning_catch_up.cuh"
#include "learning_pieces.cuh"
#include "learning_direct.cuh"


template <class Synapses, class Intervals, typename Code, typename Slot>
struct nd_learning : nd_learning_direct<Synapses, Intervals, Code, Slot> {
    typedef nd_learning_direct<Synapses, Intervals, Code, Slot> Pieces;
    typedef typename Pieces::Source Source;
    typedef typename Pieces::Rule Rule;
    using Pieces::OWN, Pieces::PIECE, Pieces::MODULATORS, Pieces::synapses, Pieces::row_of, Pieces::rows;
    using Pieces::from, Pieces::level_in, Pieces::came, Pieces::mark, Pieces::mark_after;
    using Pieces::warp, Pieces::warps, Pieces::thread, Pieces::threads;
    using Pieces::each_chunk, Pieces::code, Pieces::own, Pieces::found, Pieces::swept, Pieces::learns;
    using Pieces::width, Pieces::source, Pieces::settle, Pieces::counts;
    using Pieces::find_spikes, Pieces::find_arrivals, Pieces::find_doses, Pieces::add_doses;
    using Pieces::take_modulators, Pieces::take_dose, Pieces::doses_came, Pieces::deliver;
    using Pieces::deliver_piece, Pieces::units_in;
    const long long *dosing;    /* whether a sweep comes before a dose, or null */
    long long *sums;            /* (sums, targets) over the synapses of each target */
    nd_values_of before[Rule::PRE_VALUES + 1];      /* of the sources, which texts read at steps */
    const int *seen[Rule::PRE_VALUES + 1];          /* where the sources of each row stand there */
    nd_values_of shared[Rule::SHARED + 1];          /* modulators that are values */

    /* Do a part of a turn; returns false where `arrive` leaves all to a visit of all synapses. */
    template <int phase> ND_MEMBER bool run(int lo, int hi, long long last)
    {
        const bool first_of_all = thread() == 0;
        if (phase == ND_LEARN_SCAN) {
            if (ND_DIRECT) return true;
            find_spikes(lo, hi);
            find_arrivals(lo, hi);
            find_doses(hi);
            if (first_of_all) mark(false, hi);
        } else if (phase == ND_LEARN_BEFORE) {
            if (ND_DIRECT) this->begin(hi);
            if (Intervals::WAIT || !Intervals::due(hi)) return true;
            take_modulators(false);
            sweep(hi, true, false);
            if (first_of_all) swept[ND_SWEPT] = hi;
        } else if (phase == ND_LEARN_ARRIVE) {
            const bool visits = !deliver_listed(lo);
            if (first_of_all) mark(visits, hi);
            return !visits;
        } else if (phase == ND_LEARN_VISIT) {
            if (ND_DIRECT) this->count_all_doses(hi);
            this->take_kept();
            take_doses(hi);
            if (ND_DIRECT && first_of_all) mark(true, hi);
        } else if (phase == ND_LEARN_AFTER && ND_DIRECT) {
            find_spikes(hi, hi);
            if (this->keeps()) this->settle_doses(hi);
        } else if (phase == ND_LEARN_AFTER) {
            const bool due = !Intervals::WAIT && hi + 1 < last && Intervals::due(hi + 1);
            const bool sweeps = due || Rule::STEPS || swept[ND_FULL] == hi + 1;
            if (sweeps) {
                this->take_kept();
                take_modulators(true);
                sweep(hi + 1, due, true);
            }
            if (first_of_all) {
                mark_after(sweeps, hi);
                swept[ND_LISTED] = 0;
            }
        } else if (phase == ND_LEARN_SETTLE) {
            for (int row = thread(); row < rows; row += threads())
                if (ND_DIRECT || found[row]) settle(row);
            if (warp() == 0 && !ND_DIRECT) add_doses();
            if (first_of_all) mark(false, hi);
        } else if (phase == ND_LEARN_SUM) {
            if (Intervals::due_in(lo, hi)) add_up(lo);
        } else if (phase == ND_LEARN_TEXT) {
            take_modulators(false);
            if (Intervals::due_in(lo, hi)) run_text(lo, hi);
        } else {
            this->take_kept();
            take_modulators(false);
            if (dosing && dosing[0]) bring_to_dose(hi);
            else sweep(hi, false, false);
            if (first_of_all) swept[ND_SWEPT] = swept[ND_TEXTS_RUN] = hi;
        }
        return true;
    }

    /* The arrivals of a turn that begins with step lo; returns false where there are doses. */
    ND_MEMBER bool deliver_listed(int lo)
    {
        const auto first = this->first_work();
        this->take_kept();
        take_modulators(true);
        if (doses_came()) return false;
        deliver(lo, first);
        return true;
    }

    /* -- all synapses ------------------------------------------------------------------------ */

    /* Apply the spikes that all synapses saw before step n. All arrivals before it are known: with
     * `after` those of this turn are included, and then the text of each step is run for step n - 1.
     * At last run the texts of intervals, or clear their sums. */
    ND_MEMBER void sweep(int n, bool runs, bool after)
    {
        const nd_pending before = {(int)swept[ND_SWEPT_BEFORE], n, (int)swept[ND_TEXTS_RUN_BEFORE], n};
        const bool texts = runs && !Intervals::APART;
        real now_[MODULATORS + 1];
        for (int v = 0; v < MODULATORS; ++v) now_[v] = level_in(v, n);
        const bool steps = Rule::STEPS && after, drifts = runs && Rule::DRIFTS_TO_INTERVALS;
        each_chunk([&](int row, int back, long long first, long long past) {
            synapses.back = back;
            const Source s = source(row, n, after);
            const auto values = values_before(row, n - 1);
            bring<ND_SWEEP>(first, past, s, before, n, texts || steps || drifts, [&](real *state, int j, int q) {
                if (steps) synapses.step(state, j, q, s, n - 1, values);
                if (drifts) synapses.template drift<ND_INTERVAL>(state, j, q, s, n);
                for (int i = 0; texts && i < Intervals::TEXTS; ++i)     /* they read no values */
                    if (Intervals::due_in(i, n)) Intervals::run(synapses.rule, i, state, now_, nullptr, values);
            });
        });
        const long long sums_of_all = (long long)Intervals::SUMS * width;
        if (runs)
            for (long long i = thread(); i < sums_of_all; i += threads()) sums[i] = 0;
    }

    /* Values of the source of a row, as its synapses see them in step n, and those of modulators. */
    ND_MEMBER typename Synapses::Values values_before(int row, int n) const
    {
        typename Synapses::Values values;
        for (int v = 0; v < Rule::SHARED; ++v) values.shared[v] = shared[v].at(n, 0);
        if (Rule::PRE_VALUES) {
            const int a = row_of(row).a;
            for (int v = 0; v < Rule::PRE_VALUES; ++v) values.pre[v] = before[v].at(n - a, __ldg(seen[v] + row));
        }
        return values;
    }

    /* Bring all synapses to a dose that Python gives before step n. */
    ND_MEMBER void bring_to_dose(int n)
    {
        const nd_pending before = {(int)swept[ND_SWEPT_BEFORE], n, (int)swept[ND_TEXTS_RUN_BEFORE], n};
        each_chunk([&](int row, int back, long long first, long long past) {
            synapses.back = back;
            bring<Synapses::Rule::DRIFTS ? ND_DOSE : ND_SWEEP>(first, past, source(row, n, false), before, n);
        });
    }

    /* Doses come in step n, after the spikes that all synapses saw before; then the arrivals. In a
     * direct turn there may be no dose. */
    ND_MEMBER void take_doses(int n)
    {
        const nd_pending all = {(int)swept[ND_SWEPT], n, (int)swept[ND_TEXTS_RUN], n + 1};
        each_chunk([&](int row, int back, long long first, long long past) {
            synapses.back = back;
            const Source s = source(row, n, false);
            nd_pending left = all;
            take_modulators(false);
            if (ND_DIRECT) {
                bring<ND_SWEEP>(first, past, s, left, n);
                left = {n, n, n + 1, n + 1};
            }
            for (int v = 0; v < MODULATORS; ++v) {
                const int count = (int)came(v);
                if (!count) continue;
                const auto act = [&](real *state, int j, int q) { synapses.act_at_doses(state, v, j, q, s, n, count); };
                bring<Rule::DRIFTS ? ND_DOSE : ND_SWEEP>(first, past, s, left, n, Rule::ACTS_AT_DOSES, act);
                take_dose(v, n);
                left = {n, n, n + 1, n + 1};
            }
            const nd_source_row r = row_of(row);
            const int spikes = ND_DIRECT ? nd_spikes(from.at(n - r.a, r.element)) : (int)found[row];
            if (spikes <= 0) return;
            for (long long p = first; p < past; p += PIECE)
                deliver_piece({p, past - p < PIECE ? (int)(past - p) : PIECE, row, ND_DIRECT ? spikes : 0, r.element, r.a, r.f,
                               r.back, p == r.begin}, n, n, n + 1);
        });
    }

    /* Bring the synapses of a chunk to step n; `all` says what is pending of synapses without arrivals. */
    template <nd_reason why> ND_MEMBER void bring(long long first, long long past, const Source &s, const nd_pending &all, int n)
    {
        bring<why>(first, past, s, all, n, false, [](real *, int, int) {});
    }

    /* The same, and call `text` for each of them where it `runs`. */
    template <nd_reason why, class Text>
    ND_MEMBER void bring(long long first, long long past, const Source &s, const nd_pending &all, int n, bool runs, Text text)
    {
        const int most = ND_SWEPT_BESIDE * ND_WARP;
        const nd_pending mine = {Synapses::Order::pending_from(s.last, all.begins), all.ends, this->due_from(s, all.due), all.until};
        ND_ROLLED
        for (long long p = first; p < past && learns; p += most)
            this->template bring_piece<why>(p, past - p < most ? (int)(past - p) : most, s, mine, n, runs, text);
    }

    /* -- texts of intervals ------------------------------------------------------------------ */

    ND_MEMBER void run_text(int i, int n)
    {
        if (!learns) return;
        each_chunk([&](int row, int back, long long first, long long past) {
            run_text(i, first, past, n, back, values_before(row, n));
        });
    }

    ND_MEMBER void run_text(int i, long long first, long long past, int n, int back, typename Synapses::Values values)
    {
        real now_[MODULATORS + 1];
        for (int v = 0; v < MODULATORS; ++v) now_[v] = level_in(v, n);
        for (long long p = first + nd_lane(); p < past; p += ND_WARP) {
            real state[OWN], total[Intervals::SUMS + 1];
            for (int v = 0; v < OWN; ++v) state[v] = own[v][p];
            for (int v = 0; v < Intervals::SUMS; ++v)
                if (Intervals::text_of(v) == i)
                    total[v - Intervals::first_sum(i)] = (real)sums[(long long)v * width + code[p]] / (units_in(code[p]) * ND_SUM_PARTS);
            for (int v = 0; v < Rule::POST_VALUES; ++v) values.post[v] = synapses.behind[v].at(n - back, code[p]);
            Intervals::run(synapses.rule, i, state, now_, total, values);
            for (int v = 0; v < OWN; ++v) own[v][p] = state[v];
        }
    }

    /* Add what the synapses give to the sums that text i reads, in whole parts of units: a sum of
     * thousands of weights is exact, whatever its order. */
    ND_MEMBER void add_up(int i)
    {
        each_chunk([&](int, int, long long first, long long past) {
            for (long long p = first + nd_lane(); p < past; p += ND_WARP) {
                real state[OWN];
                for (int v = 0; v < OWN; ++v) state[v] = own[v][p];
                for (int v = 0; v < Intervals::SUMS; ++v) {
                    if (Intervals::text_of(v) != i) continue;
                    const real term = Intervals::term(synapses.rule, v, state);
                    const real parts = nd_rint(term * units_in(code[p]) * ND_SUM_PARTS);
                    const bool fits = parts >= -ND_MOST_PARTS && parts < ND_MOST_PARTS;
                    const unsigned long long more = (unsigned long long)(fits ? (long long)parts : 0);
                    const unsigned long long was = atomicAdd((unsigned long long *)sums + (long long)v * width + code[p], more);
                    if (!fits || (long long)((was ^ (was + more)) & (more ^ (was + more))) < 0)
                        overflown(i, v - Intervals::first_sum(i), (double)(long long)was + parts, (double)units_in(code[p]) * ND_SUM_PARTS);
                }
            }
        });
    }

    /* A sum has more parts than it can count. */
    ND_MEMBER void overflown(int text, int v, double parts, double of_one)
    {
        const double value = parts / of_one, range = ND_MOST_PARTS / of_one;
        atomicAdd(counts + ND_OVERFLOWN, 1ull);
        counts[ND_WHICH_SUM] = (unsigned long long)(text << 8 | v);
        memcpy(counts + ND_VALUE_OF_SUM, &value, sizeof value);
        memcpy(counts + ND_RANGE_OF_SUM, &range, sizeof range);
    }
};

/* Each part of a turn is a function of its own, so its registers are not those of components. */
template <class Learning, int phase> ND_APART bool nd_learn_in(int lo, int hi, long long last)
{
    auto own = Learning::made();
    return own.template run<phase>(lo, hi, last);
}
template <class Learning> ND_APART void nd_deliver_found(int n, int count)
{
    auto own = Learning::made();
    own.deliver_found(n, count);
}
template <class Learning> ND_FN void nd_arrive_directly(int n)
{
    const int count = Learning::made().look(n);
    if (count < 0) nd_learn_in<Learning, ND_LEARN_VISIT>(n, n, n);
    else if (nd_ballot(count > 0)) nd_deliver_found<Learning>(n, count);
}
/* A part of a turn, by the warps of a set of connections. The part is a template parameter: as an
 * argument, it would be kept in local memory. */
template <class Learning, int phase> ND_FN void nd_learn_of(int lo, int hi, long long last)
{
    const int warp = nd_own_warp() - Learning::first_warp();
    if (warp < 0 || warp >= Learning::warps()) return;
    if constexpr (phase == ND_LEARN_ARRIVE) {
        if (ND_DIRECT) nd_arrive_directly<Learning>(hi);
        else if (!nd_learn_in<Learning, ND_LEARN_ARRIVE>(lo, hi, last)) nd_learn_in<Learning, ND_LEARN_VISIT>(lo, hi, last);
    } else if constexpr (phase == ND_LEARN_AFTER) {
        if (!ND_DIRECT || Learning::made().after()) nd_learn_in<Learning, ND_LEARN_AFTER>(lo, hi, last);
    } else
        nd_learn_in<Learning, phase>(lo, hi, last);
}

/* Calls a part of a turn by its number. */
template <class Each> ND_FN void nd_do_part(int part, const Each &each)
{
    switch (part) {
    case ND_LEARN_SCAN: each.template run<ND_LEARN_SCAN>(); break;
    case ND_LEARN_BEFORE: each.template run<ND_LEARN_BEFORE>(); break;
    case ND_LEARN_ARRIVE: each.template run<ND_LEARN_ARRIVE>(); break;
    case ND_LEARN_AFTER: each.template run<ND_LEARN_AFTER>(); break;
    case ND_LEARN_SETTLE: each.template run<ND_LEARN_SETTLE>(); break;
    case ND_LEARN_SUM: each.template run<ND_LEARN_SUM>(); break;
    case ND_LEARN_TEXT: each.template run<ND_LEARN_TEXT>(); break;
    default: each.template run<ND_LEARN_SWEEP>();
    }
}
