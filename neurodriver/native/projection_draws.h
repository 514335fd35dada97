/* Random whole numbers of a row: single ones, sets of different ones, and their order. */
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
