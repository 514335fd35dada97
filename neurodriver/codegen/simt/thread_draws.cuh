/* Random numbers of the components that a thread keeps: a block of Philox serves several steps, and
 * of a Poisson number whose mean does not change it is known what a word must be above. `keeps`:
 * whether a thread has registers for that; the numbers are the same. */

/* The words of 2^shift steps. */
template <bool keeps, int shift> struct nd_words {
    nd_block block;

    ND_MEMBER void fetch(unsigned long long key, unsigned long long seed, long long k, int stream)
    {
        block = nd_draw(key, seed, k >> shift, 0, stream);
    }

    ND_MEMBER static bool begins(long long k) { return (k & ((1 << shift) - 1)) == 0; }

    ND_MEMBER void load(unsigned long long key, unsigned long long seed, long long k, int stream)
    {
        if (keeps && !begins(k)) fetch(key, seed, k, stream);
    }

    ND_MEMBER void next(unsigned long long key, unsigned long long seed, long long k, int stream)
    {
        if (!keeps || begins(k)) fetch(key, seed, k, stream);
    }

    /* The one word of a step, or the two. */
    ND_MEMBER unsigned word(long long k) const
    {
        const unsigned even = k & 2 ? block.w2 : block.w0, odd = k & 2 ? block.w3 : block.w1;
        return k & 1 ? odd : even;
    }
    ND_MEMBER unsigned high(long long k) const { return k & 1 ? block.w2 : block.w0; }
    ND_MEMBER unsigned low(long long k) const { return k & 1 ? block.w3 : block.w1; }
};

/* What a word must be above for a count of more than j, where `below` is P(count <= j) by the sums of
 * nd_poisson_inverted: word + 1/2 and 2^32 P are exact, and so is their difference where it matters.
 * P(0) is 483 words at least. */
ND_FN unsigned nd_most(double below)
{
    const double least = -nd_floor(0.5 - below * 0x1p32);
    return least > 4294967295.0 ? 0xffffffffu : (unsigned)least - 1u;
}

/* Poisson numbers of one mean for a thread that keeps what its words are compared with. What is rare,
 * or of a mean that is too large, is not `known`. */
template <bool keeps> struct nd_counts {
    static const int TERMS = 8;
    unsigned most[TERMS];
    bool small;

    ND_MEMBER void load(double mean)
    {
        mean = mean > 0.0 ? mean : 0.0;
        small = mean <= ND_INVERTED;
        double p = nd_exp(-mean), below = p;
        ND_UNROLL
        for (int j = 0; j < TERMS; ++j) {
            most[j] = nd_most(below);
            p = nd_mul(p, nd_mul(mean, 1.0 / (double)(j + 1)));
            below += p;
        }
    }

    ND_MEMBER bool known(unsigned word) const { return small && word <= most[TERMS - 1]; }

    template <int> ND_MEMBER double count(unsigned word, real mean) const
    {
        if (!known(word)) return nd_poisson_of(word, (double)mean);
        int n = 0;
        ND_UNROLL
        for (int j = 0; j + 1 < TERMS; ++j) n += word > most[j];
        return (double)n;
    }
};

#if ND_COUNTS
/* What a warp compares words with, for the mean that it had last: neighbours often have the same one.
 * The first j whose `most` is not below a word is found in five reads. */
struct nd_warp_counts { real mean; unsigned most[32]; };
__shared__ nd_warp_counts nd_last_mean[ND_COUNTS][ND_THREADS / 32];

/* At the beginning of a launch: no mean yet. */
ND_FN void nd_no_mean_yet()
{
    for (int i = 0; i < ND_COUNTS; ++i) nd_last_mean[i][threadIdx.x / 32].mean = -1;
}

/* Thread j finds the threshold of j; the sums are those of nd_poisson_inverted. */
ND_FN void nd_set_mean(nd_warp_counts &last, real mean)
{
    double p = nd_exp(-(double)mean), below = p, mine = p;
    ND_ROLLED
    for (int j = 0; j < 31; ++j) {
        p = nd_mul(p, nd_mul((double)mean, nd_one_over[j]));
        below += p;
        mine = nd_lane() > j ? below : mine;
    }
    nd_together();      /* all have read those of the mean before */
    last.most[nd_lane()] = nd_most(mine);
    last.mean = mean;
    nd_together();
}

/* Threads that advance other components in turn: called by a warp. A mean that few threads share is
 * not worth its thresholds. */
template <> struct nd_counts<false> {
    ND_MEMBER void load(double) {}

    /* The numbers of N components of each thread, if all of the warp have the mean that it had last,
     * and what is rare has not happened. The N searches wait for memory at the same time. */
    template <int which, int N>
    ND_MEMBER static bool all(const unsigned (&word)[N], const real (&mean)[N], real (&to)[N])
    {
        const nd_warp_counts &last = nd_last_mean[which][threadIdx.x / 32];
        bool known = true;
        int n[N];
        ND_UNROLL
        for (int i = 0; i < N; ++i) {
            n[i] = 0;
            known = known && (mean[i] > 0 ? mean[i] : 0) == last.mean && word[i] <= last.most[31];
        }
        ND_UNROLL
        for (int d = 16; d; d /= 2) {
            ND_UNROLL
            for (int i = 0; i < N; ++i) n[i] += word[i] > last.most[n[i] + d - 1] ? d : 0;
        }
        ND_UNROLL
        for (int i = 0; i < N; ++i) to[i] = (real)n[i];
        return nd_ballot(known) == 0xffffffffu;
    }

    template <int which> ND_MEMBER double count(unsigned word, real mean) const
    {
        enum { FEW = 8 };
        nd_warp_counts &last = nd_last_mean[which][threadIdx.x / 32];
        bool left = mean <= (real)ND_INVERTED, known = false;
        int n = 0;
        mean = mean > 0 ? mean : 0;
        while (const unsigned some = nd_ballot(left)) {
            const real one = nd_from(mean, __ffs((int)some) - 1);
            const bool mine = left && mean == one;
            if (last.mean != one) {
                if (nd_bits_in(nd_ballot(mine)) < FEW) break;
                nd_set_mean(last, one);
            }
            int j = 0;
            ND_UNROLL
            for (int d = 16; d; d /= 2) j += word > last.most[j + d - 1] ? d : 0;
            if (mine) n = j, known = word <= last.most[31];
            left = left && !mine;
        }
        return known ? (double)n : nd_poisson_of(word, (double)mean);
    }
};
#endif

/* The Poisson numbers of all components of a thread. */
template <int which, bool keeps, int N>
ND_FN void nd_count_all(const nd_counts<keeps> (&counts)[N], const unsigned (&word)[N], const real (&mean)[N], real (&to)[N])
{
    if constexpr (!keeps)
        if (nd_counts<keeps>::template all<which>(word, mean, to)) return;
    ND_UNROLL
    for (int i = 0; i < N; ++i) to[i] = (real)counts[i].template count<which>(word[i], mean[i]);
}
