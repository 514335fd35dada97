/* Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011,
 * doi 10.1145/2063384.2063405).
 *
 * A draw is a pure function of its coordinates; there is no state to keep, and neither the
 * number of threads nor their order changes a bit of it.  Pasted after math.h.
 *
 *     key      the component, 64 bits: the two Philox key words, low word first
 *     seed     the run's seed, 64 bits: counter words 2 (low) and 3 (high)
 *     step     time step; its low 40 bits count: word 0, and the top 8 bits of word 1
 *     stream   which random variable of the component, 0 .. 255: bits 16 .. 23 of word 1
 *     substep  stage within the step, 0 .. 65535: the low 16 bits of word 1
 *
 * The last argument gives only the type of the result.  nd_uniform and nd_normal of the same
 * coordinates come from the same block and are dependent: give each variable its own stream.
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

ND_FN nd_block nd_draw(unsigned long long key, unsigned long long seed, long long step,
                       int substep, int stream) {
    unsigned long long n = (unsigned long long)step;
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

ND_FN double nd_uniform(unsigned long long key, unsigned long long seed, long long step,
                        int substep, int stream, double) {
    nd_block b = nd_draw(key, seed, step, substep, stream);
    return nd_unit_53(b.w0, b.w1);
}

ND_FN float nd_uniform(unsigned long long key, unsigned long long seed, long long step,
                       int substep, int stream, float) {
    return nd_unit_24(nd_draw(key, seed, step, substep, stream).w0);
}

/* Box-Muller: radius from two words, angle from the other two; |result| < 8.66. */
ND_FN double nd_normal(unsigned long long key, unsigned long long seed, long long step,
                       int substep, int stream, double) {
    nd_block b = nd_draw(key, seed, step, substep, stream);
    double radius = nd_sqrt(-2.0 * nd_log(nd_unit_53(b.w0, b.w1)));
    return radius * nd_cos(6.2831853071795862 * nd_unit_53(b.w2, b.w3));
}

/* The radius takes 31 bits, so the tail reaches 6.66; a u that rounds to 1 gives 0. */
ND_FN float nd_normal(unsigned long long key, unsigned long long seed, long long step,
                      int substep, int stream, float) {
    nd_block b = nd_draw(key, seed, step, substep, stream);
    float n = (float)(int)(b.w0 >> 1);
    float u = 0x1p-31f * (n > 0.5f ? n : 0.5f);
    return nd_sqrt(-2.0f * nd_log(u)) * nd_cos(6.28318531f * nd_unit_24(b.w1));
}

/* ---- counts of a Poisson distribution --------------------------------------------------
 *
 * Up to a mean of 10 by inversion of the distribution function: P(count <= j) is summed up to
 * j = 35 (beyond it lie 2e-10 of the probability at a mean of 10).  Above it by the expansion of the
 * quantile in powers of 1 / sqrt(mean) to the fourth term (Giles 2016, doi 10.1145/2699466), with
 * a normal number: the probabilities P(count <= j) are right within 5e-5 at 10, 4e-6 at 32.
 * Both are computed and one is chosen, so a loop over neurons vectorises; what a lane does not
 * need may be NaN.  A mean of 0 and below gives 0. */
#ifdef __CUDACC__
#define ND_WRITTEN_OUT _Pragma("unroll")
#else
#define ND_WRITTEN_OUT _Pragma("GCC unroll 36")
#endif

#define ND_POISSON_OF(real)                                                                   \
    ND_FN real nd_poisson_small(real u, real mean) {                                          \
        real p = nd_exp(-mean), below = p, n = 0;                                             \
        ND_WRITTEN_OUT                                                                        \
        for (int j = 1; j <= 36; ++j) {                                                       \
            n += u >= below ? (real)1 : (real)0;                                              \
            p *= mean * ((real)1 / (real)j);                                                  \
            below += p;                                                                       \
        }                                                                                     \
        return n;                                                                             \
    }                                                                                         \
    ND_FN real nd_poisson_large(real z, real mean) {                                          \
        const real s = nd_sqrt(mean), y = z * z;                                              \
        const real first = (real)(1. / 3) + y * (real)(1. / 6);                               \
        const real second = z * ((real)(1. / 36) + y * (real)(1. / 72));                      \
        const real third = (real)(-8. / 405) + y * ((real)(7. / 810) + y * (real)(1. / 270)); \
        const real n = nd_floor(mean + s * z + first - second / s + third / mean);            \
        return n > 0 ? n : 0;                                                                 \
    }                                                                                         \
    /* 0 u: a condition that is the same for all neurons would split the loop. */             \
    ND_FN real nd_poisson(unsigned long long key, unsigned long long seed, long long step,    \
                          int substep, int stream, real mean) {                               \
        const real u = nd_uniform(key, seed, step, substep, stream, (real)0);                 \
        const real z = nd_normal(key, seed, step, substep, stream, (real)0);                  \
        const real small = nd_poisson_small(u, mean), large = nd_poisson_large(z, mean);      \
        return mean + (real)0 * u <= (real)10 ? small : large;                                \
    }
ND_POISSON_OF(double)
ND_POISSON_OF(float)

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
