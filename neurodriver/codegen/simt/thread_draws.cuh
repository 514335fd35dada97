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

/* Poisson numbers of one mean: word > most[j] exactly where nd_poisson_inverted counts more than j,
 * as word + 1/2 and 2^32 P are exact, and so is their difference where it matters. What is rare, or
 * of a mean too large for that, is not `known`. */
template <bool keeps> struct nd_counts {
    static const int TERMS = 8;
    unsigned most[TERMS];
    bool small;

    ND_MEMBER void load(double mean)
    {
        if (!keeps) return;
        mean = mean > 0.0 ? mean : 0.0;
        small = mean <= ND_INVERTED;    /* so P(0) is 483 words at least */
        double p = nd_exp(-mean), below = p;
        ND_UNROLL
        for (int j = 0; j < TERMS; ++j) {
            const double least = -nd_floor(0.5 - below * 0x1p32);
            most[j] = least > 4294967295.0 ? 0xffffffffu : (unsigned)least - 1u;
            p = nd_mul(p, nd_mul(mean, 1.0 / (double)(j + 1)));
            below += p;
        }
    }

    ND_MEMBER bool known(unsigned word) const
    {
        return keeps && small && word <= most[TERMS - 1];
    }

    ND_MEMBER int count(unsigned word) const
    {
        int n = 0;
        ND_UNROLL
        for (int j = 0; j + 1 < TERMS; ++j) n += word > most[j];
        return n;
    }
};
