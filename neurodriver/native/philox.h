/* Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011,
 * doi 10.1145/2063384.2063405).
 *
 * A draw is a pure function of its coordinates; there is no state to keep, and neither the
 * number of threads nor their order changes a bit of it.  Pasted after math.h.
 *
 *     key      the component, 64 bits: the two Philox key words, low word first
 *     seed     the run's seed, 64 bits: counter words 2 (low) and 3 (high)
 *     number   of the block, its low 40 bits: word 0, and the top 8 bits of word 1
 *     stream   which random variable of the component, 0 .. 255: bits 16 .. 23 of word 1
 *     substep  stage within the step, 0 .. 65535: the low 16 bits of word 1
 *
 * A block has four words.  nd_normal and nd_poisson take one a step: word `step mod 4` of block
 * `step / 4`; nd_uniform takes two: words 2 (step mod 2) and the next of block `step / 2`.  So a
 * block serves some steps, and who advances them one after the other may keep it.  Draws of the
 * same coordinates are dependent: give each variable its own stream.  The last argument of
 * nd_uniform and nd_normal gives only the type of the result.
 */
#ifndef ND_PHILOX_H
#define ND_PHILOX_H

struct nd_block { unsigned int w0, w1, w2, w3; };

ND_FN unsigned int nd_mulhi(unsigned int a, unsigned int b) {
    return (unsigned int)(((unsigned long long)a * b) >> 32);
}

ND_FN nd_block nd_philox_round(nd_block c, unsigned int k0, unsigned int k1) {
    nd_block r;
    r.w0 = nd_mulhi(0xcd9e8d57u, c.w2) ^ c.w1 ^ k0;
    r.w1 = 0xcd9e8d57u * c.w2;
    r.w2 = nd_mulhi(0xd2511f53u, c.w0) ^ c.w3 ^ k1;
    r.w3 = 0xd2511f53u * c.w0;
    return r;
}

/* The ten rounds are written out, as a loop inside a loop over neurons may not vectorise.
 * The key grows each round by the fractions of the golden ratio and of sqrt(3). */
ND_FN nd_block nd_philox_block(nd_block c, unsigned int k0, unsigned int k1) {
    const unsigned int a = 0x9e3779b9u, b = 0xbb67ae85u;
    c = nd_philox_round(c, k0, k1);
    c = nd_philox_round(c, k0 + a, k1 + b);
    c = nd_philox_round(c, k0 + 2u * a, k1 + 2u * b);
    c = nd_philox_round(c, k0 + 3u * a, k1 + 3u * b);
    c = nd_philox_round(c, k0 + 4u * a, k1 + 4u * b);
    c = nd_philox_round(c, k0 + 5u * a, k1 + 5u * b);
    c = nd_philox_round(c, k0 + 6u * a, k1 + 6u * b);
    c = nd_philox_round(c, k0 + 7u * a, k1 + 7u * b);
    c = nd_philox_round(c, k0 + 8u * a, k1 + 8u * b);
    return nd_philox_round(c, k0 + 9u * a, k1 + 9u * b);
}

/* The bare generator, for the published known answers. */
ND_FN void nd_philox4x32_10(const unsigned int counter[4], const unsigned int key[2],
                            unsigned int out[4]) {
    nd_block c = {counter[0], counter[1], counter[2], counter[3]};
    c = nd_philox_block(c, key[0], key[1]);
    out[0] = c.w0;
    out[1] = c.w1;
    out[2] = c.w2;
    out[3] = c.w3;
}

ND_FN nd_block nd_draw(unsigned long long key, unsigned long long seed, long long number,
                       int substep, int stream) {
    unsigned long long n = (unsigned long long)number;
    nd_block c;
    c.w0 = (unsigned int)n;
    c.w1 = ((unsigned int)(n >> 32) & 0xffu) << 24 | ((unsigned int)stream & 0xffu) << 16
         | ((unsigned int)substep & 0xffffu);
    c.w2 = (unsigned int)seed;
    c.w3 = (unsigned int)(seed >> 32);
    return nd_philox_block(c, (unsigned int)key, (unsigned int)(key >> 32));
}

/* (0, 1) from 53 bits: the multiples of 2^-53, and 2^-54 in place of 0.  The sum is exact. */
ND_FN double nd_unit_53(unsigned int high, unsigned int low) {
    double h = nd_from_bits(0x4330000000000000ull | high) - 0x1p52;
    double l = nd_from_bits(0x4330000000000000ull | (low >> 11)) - 0x1p52;
    double n = nd_fma(h, 0x1p21, l);
    return 0x1p-53 * (n > 0.5 ? n : 0.5);
}

/* (0, 1) from 24 bits: the multiples of 2^-24, and 2^-25 in place of 0. */
ND_FN float nd_unit_24(unsigned int word) {
    float n = (float)(int)(word >> 8);
    return 0x1p-24f * (n > 0.5f ? n : 0.5f);
}

ND_FN double nd_unit_of(unsigned int high, unsigned int low, double) {
    return nd_unit_53(high, low);
}
ND_FN float nd_unit_of(unsigned int high, unsigned int, float) { return nd_unit_24(high); }

ND_FN double nd_uniform(unsigned long long key, unsigned long long seed, long long step,
                        int substep, int stream, double) {
    nd_block b = nd_draw(key, seed, step >> 1, substep, stream);
    return (step & 1) != 0 ? nd_unit_53(b.w2, b.w3) : nd_unit_53(b.w0, b.w1);
}

ND_FN float nd_uniform(unsigned long long key, unsigned long long seed, long long step,
                       int substep, int stream, float) {
    nd_block b = nd_draw(key, seed, step >> 1, substep, stream);
    return nd_unit_24((step & 1) != 0 ? b.w2 : b.w0);
}

/* The word of a step whose draw takes one. */
ND_FN unsigned int nd_word(unsigned long long key, unsigned long long seed, long long step,
                           int substep, int stream) {
    nd_block b = nd_draw(key, seed, step >> 2, substep, stream);
    unsigned int even = (step & 2) != 0 ? b.w2 : b.w0, odd = (step & 2) != 0 ? b.w3 : b.w1;
    return (step & 1) != 0 ? odd : even;
}

/* ---- normal numbers --------------------------------------------------------------------
 *
 * The quantile of the normal distribution at u = (word + 1/2) 2^-32, in single precision for any
 * working type: within 1e-6 of its own size, so P(normal <= x) is right within 1e-7.  The tails
 * are cut at +-6.338, beyond which lie 2.4e-10 of the probability, and near them the numbers lie
 * as far apart as 32 bits make it: 0.01 at +-5.
 *
 * With x = 2 u - 1 and b = -log2(1 - x^2) the quantile is x times a smooth function of b, here a
 * quotient of two polynomials, fitted to the least relative error for b of 0 .. 31.  x and 1 - |x|
 * are both rounded from whole numbers, so neither the middle nor the tails lose digits. */
ND_FN float nd_quantile(unsigned int word) {
    int centred = (int)(word ^ 0x80000000u);
    int outer = (int)(word ^ (unsigned int)((int)word >> 31));     /* u or 1 - u, the smaller one */
    float x = ((float)centred + 0.5f) * 0x1p-31f;
    float end = ((float)outer + 0.5f) * 0x1p-31f;                  /* 1 - |x| */
    unsigned int y = nd_bits(nd_mul(end, 2.0f - end)) + (0x3f800000u - 0x3f3504f3u);
    float f = nd_from_bits((y & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float l = nd_fma(f, 0.16818659f, -0.267963856f);
    l = nd_fma(f, l, 0.296119571f);
    l = nd_fma(f, l, -0.359524459f);
    l = nd_fma(f, l, 0.480613112f);
    l = nd_fma(f, l, -0.721360207f);
    l = nd_fma(f, l, 1.44269657f);
    float b = nd_fma(-f, l, 127.0f - (float)(int)(y >> 23));
    float p = nd_fma(b, 4.68632834e-06f, 0.000230651916f);
    float q = nd_fma(b, 1.61361602e-07f, 3.91897695e-05f);
    p = nd_fma(b, p, 0.00395414745f);
    q = nd_fma(b, q, 0.000759020157f);
    p = nd_fma(b, p, 0.0431550965f);
    q = nd_fma(b, q, 0.0156960711f);
    p = nd_fma(b, p, 0.31355834f);
    q = nd_fma(b, q, 0.068719767f);
    p = nd_fma(b, p, 1.25331426f);
    q = nd_fma(b, q, 1.0f);
    return nd_div(nd_mul(x, p), q);
}

ND_FN double nd_normal(unsigned long long key, unsigned long long seed, long long step,
                       int substep, int stream, double) {
    return (double)nd_quantile(nd_word(key, seed, step, substep, stream));
}

ND_FN float nd_normal(unsigned long long key, unsigned long long seed, long long step,
                      int substep, int stream, float) {
    return nd_quantile(nd_word(key, seed, step, substep, stream));
}

/* ---- counts of a Poisson distribution --------------------------------------------------
 *
 * The quantile at u = (word + 1/2) 2^-32, in double precision for any working type.  Up to a mean
 * of 16 by inversion: the number of j with P(count <= j) <= u, summed up to j = 47, beyond which
 * lies less than half a word; so probabilities are right within 2^-32.  Above 16 by the expansion
 * of the quantile in powers of 1 / sqrt(mean) to the fifth term (Giles 2016,
 * doi 10.1145/2699466, has four), with the normal quantile: P(count <= j) is right within 4e-6 at
 * 16, 7e-7 at 32, 2e-7 from 64 on.  A mean of 0 and below gives 0. */
#define ND_INVERTED 16.0
#define ND_TERMS 48

ND_FN double nd_unit_of_word(unsigned int word) { return ((double)word + 0.5) * 0x1p-32; }

#ifdef __CUDACC__
static __constant__ double nd_one_over[ND_TERMS] = {
    1. / 1, 1. / 2, 1. / 3, 1. / 4, 1. / 5, 1. / 6, 1. / 7, 1. / 8,
    1. / 9, 1. / 10, 1. / 11, 1. / 12, 1. / 13, 1. / 14, 1. / 15, 1. / 16,
    1. / 17, 1. / 18, 1. / 19, 1. / 20, 1. / 21, 1. / 22, 1. / 23, 1. / 24,
    1. / 25, 1. / 26, 1. / 27, 1. / 28, 1. / 29, 1. / 30, 1. / 31, 1. / 32,
    1. / 33, 1. / 34, 1. / 35, 1. / 36, 1. / 37, 1. / 38, 1. / 39, 1. / 40,
    1. / 41, 1. / 42, 1. / 43, 1. / 44, 1. / 45, 1. / 46, 1. / 47, 1. / 48,
};

ND_FN double nd_poisson_inverted(unsigned int word, double mean) {
    const double u = nd_unit_of_word(word);
    double p = nd_exp(-mean), below = p;
    int n = 0;
    _Pragma("unroll 1")
    while (n < ND_TERMS && u >= below) {
        p = nd_mul(p, nd_mul(mean, nd_one_over[n]));
        below += p;
        ++n;
    }
    return (double)n;
}
#else
/* Without a way out, so that a loop over neurons vectorises. */
ND_FN double nd_poisson_inverted(unsigned int word, double mean) {
    const double u = nd_unit_of_word(word);
    double p = nd_exp(-mean), below = p, n = 0.0;
    _Pragma("GCC unroll 48")
    for (int j = 1; j <= ND_TERMS; ++j) {
        n += u >= below ? 1.0 : 0.0;
        p = nd_mul(p, nd_mul(mean, 1.0 / (double)j));
        below += p;
    }
    return n;
}
#endif

ND_FN double nd_poisson_expanded(unsigned int word, double mean) {
    const double z = (double)nd_quantile(word), y = nd_mul(z, z), s = nd_sqrt(mean);
    const double first = nd_fma(y, 1. / 6, 1. / 3);
    const double second = nd_mul(z, nd_fma(y, 1. / 72, 1. / 36));
    const double third = nd_fma(y, nd_fma(y, 1. / 270, 7. / 810), -8. / 405);
    const double fourth = nd_mul(z, nd_fma(y, nd_fma(y, -207. / 155520, -548. / 155520),
                                           2684. / 155520));
    const double more = nd_div(third + nd_div(fourth, s), mean) - nd_div(second, s);
    const double n = nd_floor(nd_fma(s, z, mean) + (first + more));
    return n > 0.0 ? n : 0.0;
}

ND_FN double nd_poisson_of(unsigned int word, double mean) {
    mean = mean > 0.0 ? mean : 0.0;
#ifdef __CUDACC__
    if (mean <= ND_INVERTED) return nd_poisson_inverted(word, mean);
    return nd_poisson_expanded(word, mean);
#else
    const double small = nd_poisson_inverted(word, mean);
    const double large = nd_poisson_expanded(word, mean);
    /* 0 u: a condition that is the same for all neurons would split the loop. */
    return mean + 0.0 * nd_unit_of_word(word) <= ND_INVERTED ? small : large;
#endif
}

ND_FN double nd_poisson(unsigned long long key, unsigned long long seed, long long step,
                        int substep, int stream, double mean) {
    return nd_poisson_of(nd_word(key, seed, step, substep, stream), mean);
}
ND_FN float nd_poisson(unsigned long long key, unsigned long long seed, long long step,
                       int substep, int stream, float mean) {
    return (float)nd_poisson_of(nd_word(key, seed, step, substep, stream), (double)mean);
}

/* ---- sub-units of a component ---------------------------------------------------------
 *
 * Their key is a block of the component's own; so the counter has room for the number of the
 * sub-unit (word 2) and of the draw within the sub-step (word 3; -1: before step 0). */
ND_FN nd_block nd_unit_draw(nd_block own, long long step, int substep, long long unit, int draw) {
    unsigned long long n = (unsigned long long)step;
    nd_block c;
    c.w0 = (unsigned int)n;
    c.w1 = ((unsigned int)(n >> 32) & 0xffu) << 24 | ((unsigned int)substep & 0xffffu);
    c.w2 = (unsigned int)unit;
    c.w3 = (unsigned int)draw;
    return nd_philox_block(c, own.w0, own.w1);
}

/* A rate: 0 for what is below, by the sign bit, which is one instruction. */
ND_FN float nd_positive(float rate) {
    int b = (int)nd_bits(rate);
    return nd_from_bits((unsigned int)(b > 0 ? b : 0));
}

/* [0, 1) from 32 bits, rounded to 24 and never to 1: u times any x > 0 is less than x. */
ND_FN float nd_fraction(unsigned int word) {
    float u = (float)word * 0x1p-32f;
    return u < 0x1.fffffep-1f ? u : 0x1.fffffep-1f;
}

/* Unit-exponential from 32 bits: -log of a number of [2^-33, 1], so at most 22.9 and never inf. */
ND_FN float nd_exponential(unsigned int word) {
    return -nd_log(((float)word + 0.5f) * 0x1p-32f);
}

/* A clock's time in whole ticks of 2^-26; what is negative or no number is 0. */
ND_FN int nd_ticks(float time) {
    float t = time * 0x1p26f;
    t = t > 0.0f ? t : 0.0f;
    return (int)(t < 2147483520.0f ? t : 2147483520.0f);
}

/* Numbers of [0, 1) that are spread evenly over any stretch of steps. */
ND_FN float nd_dither(long long step) {
    return (float)(int)(((unsigned int)step * 2654435769u) >> 8) * 0x1p-24f;
}

#endif
