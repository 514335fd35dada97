/* The components of a tile that have an event, as `nd_m` bits in words of 64. Most tiles have none,
 * and the row that is overwritten holds none. */
#define ND_TILE_WORDS (ND_TILE / 64)

#if defined(__AVX512F__)
typedef double nd_doubles __attribute__((vector_size(64), aligned(8), may_alias));
typedef float nd_floats __attribute__((vector_size(64), aligned(4), may_alias));
#define ND_UNEQUAL 4        /* or not a number */
#define ND_ROUNDING 4       /* as it is */

ND_FN unsigned long long nd_unequal(const double *x)
{
    const nd_doubles zero = {0};
    return (unsigned char)__builtin_ia32_cmppd512_mask(*(const nd_doubles *)x, zero, ND_UNEQUAL,
                                                       (unsigned char)-1, ND_ROUNDING);
}

ND_FN unsigned long long nd_unequal(const float *x)
{
    const nd_floats zero = {0};
    return (unsigned short)__builtin_ia32_cmpps512_mask(*(const nd_floats *)x, zero, ND_UNEQUAL,
                                                        (unsigned short)-1, ND_ROUNDING);
}

/* Which of 64 values are not zero. */
ND_FN unsigned long long nd_nonzero(const real *x)
{
    const int lanes = 64 / sizeof(real);
    unsigned long long set = 0;
#pragma GCC unroll 8
    for (int l = 0; l < 64; l += lanes) set |= nd_unequal(x + l) << l;
    return set;
}
#else
/* Which of 64 values are not zero; one by one only where any is. */
ND_FN unsigned long long nd_nonzero(const real *x)
{
    decltype(nd_bits(*x)) here = 0;
    for (int l = 0; l < 64; ++l) here |= nd_bits(x[l]) << 1;     /* but for the sign */
    unsigned long long set = 0;
    if (here)
        for (int l = 0; l < 64; ++l) set |= (unsigned long long)(x[l] != 0) << l;
    return set;
}
#endif

/* Read or write the part of a dirty bitmap that belongs to a tile. */
ND_FN void nd_read_dirty(const unsigned short *dirty, int m, unsigned long long *set)
{
    if (m == ND_TILE) {
        __builtin_memcpy(set, dirty, ND_TILE / 8);
        return;
    }
    for (int w = 0; w < ND_TILE_WORDS; ++w) set[w] = 0;
    for (int s = 0; s < m; s += ND_LANES)
        set[s / 64] |= (unsigned long long)dirty[s / ND_LANES] << s % 64;
}

ND_FN void nd_write_dirty(unsigned short *dirty, int m, const unsigned long long *set)
{
    if (m == ND_TILE) {
        __builtin_memcpy(dirty, set, ND_TILE / 8);
        return;
    }
    for (int s = 0; s < m; s += ND_LANES)
        dirty[s / ND_LANES] = (unsigned short)(set[s / 64] >> s % 64);
}

/* Write the events `out` of a tile into its part of a row, and update the dirty bitmap; zeros are not
 * written over zeros. Return whether there is any (1), and whether any is not 1 (2). */
ND_FN int nd_write_events(const real *out, real *row, unsigned short *dirty, int m)
{
    unsigned long long set[ND_TILE_WORDS], was[ND_TILE_WORDS], any = 0, old = 0;
    nd_read_dirty(dirty, m, was);
    for (int w = 0; w < ND_TILE_WORDS; ++w) {
        set[w] = nd_nonzero(out + 64 * w);
        if (m != ND_TILE) {     /* what lies beyond is of another tile */
            const int rest = m - 64 * w;
            const unsigned long long own = rest >= 64 ? ~0ull : rest <= 0 ? 0 : (1ull << rest) - 1;
            set[w] &= own;
            was[w] &= own;
        }
        any |= set[w];
        old |= was[w];
    }
    if (!(any | old)) return 0;
    nd_write_dirty(dirty, m, set);
    bool other = false;
    for (int w = 0; w < ND_TILE_WORDS; ++w) {
        for (unsigned long long left = set[w] | was[w]; left; left &= left - 1) {
            const int l = 64 * w + __builtin_ctzll(left);
            row[l] = out[l];
            other |= (out[l] != 0) & (out[l] != 1);
        }
    }
    return (any != 0) | other << 1;
}
