/* Keys of names: the first 8 bytes of BLAKE2b (RFC 7693) of at most 128 bytes of text, without a
 * key, as the digest of 8 bytes has them. */
typedef unsigned long long nd_word;

static inline nd_word nd_turned(nd_word x, int n) { return x >> n | x << (64 - n); }

static inline void nd_mix(nd_word *v, int a, int b, int c, int d, nd_word x, nd_word y)
{
    v[a] += v[b] + x;
    v[d] = nd_turned(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = nd_turned(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = nd_turned(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = nd_turned(v[b] ^ v[c], 63);
}

/* The order of the 16 words of a block in each round; the last two rounds are the first two. */
static const unsigned char nd_order[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static const nd_word nd_first[8] = {
    0x6a09e667f3bcc908ull, 0xbb67ae8584caa73bull, 0x3c6ef372fe94f82bull, 0xa54ff53a5f1d36f1ull,
    0x510e527fade682d1ull, 0x9b05688c2b3e6c1full, 0x1f83d9abfb41bd6bull, 0x5be0cd19137e2179ull,
};

/* The key of one block, of whose bytes `length` are text and the others are 0. */
static inline nd_word nd_key_of(const unsigned char *text, int length)
{
    nd_word m[16], v[16];
    for (int i = 0; i < 16; ++i) {
        m[i] = 0;
        for (int byte = 7; byte >= 0; --byte) m[i] = m[i] << 8 | text[8 * i + byte];
    }
    const nd_word begin = nd_first[0] ^ 0x01010008ull;   /* 8 bytes, no key, one leaf */
    v[0] = begin;
    for (int i = 1; i < 8; ++i) v[i] = nd_first[i];
    for (int i = 0; i < 8; ++i) v[8 + i] = nd_first[i];
    v[12] ^= (nd_word)length;
    v[14] = ~v[14];   /* the last block */
    for (int round = 0; round < 12; ++round) {
        const unsigned char *o = nd_order[round % 10];
        for (int i = 0; i < 4; ++i)
            nd_mix(v, i, 4 + i, 8 + i, 12 + i, m[o[2 * i]], m[o[2 * i + 1]]);
        for (int i = 0; i < 4; ++i)
            nd_mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[o[8 + 2 * i]],
                   m[o[9 + 2 * i]]);
    }
    return begin ^ v[0] ^ v[8];
}

/* Keys of `count` names that begin with `head`, of `length` bytes, and count from 0. */
extern "C" void nd_numbered_keys(const char *head, int length, long long count, nd_word *out)
{
    unsigned char text[128] = {0};
    for (int i = 0; i < length; ++i) text[i] = (unsigned char)head[i];
    for (long long number = 0; number < count; ++number) {
        char digits[20];
        int size = 0;
        for (long long left = number; left || !size; left /= 10)
            digits[size++] = (char)('0' + left % 10);
        for (int i = 0; i < size; ++i) text[length + i] = (unsigned char)digits[size - 1 - i];
        out[number] = nd_key_of(text, length + size);
    }
}

/* Keys of `count` texts that stand in `width` bytes each, with zeros behind them. */
extern "C" void nd_text_keys(const char *texts, int width, long long count, nd_word *out)
{
    for (long long number = 0; number < count; ++number) {
        unsigned char text[128] = {0};
        int length = 0;
        for (int i = 0; i < width; ++i) {
            text[i] = (unsigned char)texts[number * width + i];
            if (text[i]) length = i + 1;
        }
        out[number] = nd_key_of(text, length);
    }
}
