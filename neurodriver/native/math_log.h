/* Logarithms: log, log1p. Methods and bounds: see math.h. */
/* x = 2^k m with m in [sqrt(1/2), sqrt(2)), for positive finite x; subnormal x is first
 * scaled up.  Other x give some finite k and m, which the callers replace. */
struct nd_log_parts_d { double k, m; };
struct nd_log_parts_f { float k, m; };

ND_FN nd_log_parts_d nd_log_split(double x) {
    nd_log_parts_d p;
    double k0 = x < 0x1p-1022 ? 1077.0 : 1023.0;
    double xs = x < 0x1p-1022 ? x * 0x1p54 : x;
    /* the offset moves the cut between binades from 1 to sqrt(1/2) */
    unsigned long long u = nd_bits(xs) + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
    double biased = nd_from_bits(0x4330000000000000ull | (u >> 52)) - 0x1p52;
    p.k = biased - k0;
    p.m = nd_from_bits((u & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
    return p;
}
ND_FN nd_log_parts_f nd_log_split(float x) {
    nd_log_parts_f p;
    float k0 = x < 0x1p-126f ? 151.0f : 127.0f;
    float xs = x < 0x1p-126f ? x * 0x1p24f : x;
    unsigned int u = nd_bits(xs) + (0x3f800000u - 0x3f3504f3u);
    float biased = nd_from_bits(0x4b000000u | (u >> 23)) - 0x1p23f;
    p.k = biased - k0;
    p.m = nd_from_bits((u & 0x007fffffu) + 0x3f3504f3u);
    return p;
}

/* log(2^k m) + tail */
ND_FN double nd_log_join(nd_log_parts_d p, double tail) {
    double f = p.m - 1.0;
    double s = nd_div(f, 2.0 + f);
    double z = nd_mul(s, s);
    double half_ff = nd_mul(0.5 * f, f);
    double w = nd_mul(z, z);
    double even = nd_fma(w, 0.14619164777186419, 0.18182895746801428);
    double odd = nd_fma(w, 0.15331501721207419, 0.22222211043822487);
    even = nd_fma(w, even, 0.28571428626533335);
    odd = nd_fma(w, odd, 0.39999999999898272);
    even = nd_fma(w, even, 0.66666666666666696);
    double poly = nd_fma(z, odd, even);
    double less = nd_fma(-s, nd_fma(z, poly, half_ff), half_ff);
    double kl = nd_mul(p.k, 0x1.62e42fefa4000p-1);        /* exact */
    double h = kl + f;
    double l = (kl - h) + f;
    return h + ((nd_fma(p.k, -0x1.8432a1b0e2634p-43, l) + tail) - less);
}
ND_FN float nd_log_join(nd_log_parts_f p, float tail) {
    float f = p.m - 1.0f;
    float s = nd_div(f, 2.0f + f);
    float z = nd_mul(s, s);
    float half_ff = nd_mul(0.5f * f, f);
    float poly = nd_fma(z, nd_fma(z, 0.295820236f, 0.399887353f), 0.666666865f);
    float less = nd_fma(-s, nd_fma(z, poly, half_ff), half_ff);
    float kl = nd_mul(p.k, 0x1.62e8p-1f);                 /* exact */
    float h = kl + f;
    float l = (kl - h) + f;
    return h + ((nd_fma(p.k, -0x1.e8082ep-16f, l) + tail) - less);
}

ND_FN double nd_log(double x) {
    double y = nd_log_join(nd_log_split(x), 0.0);
    y = x < ND_INF_D ? y : x;
    double edge = x == 0.0 ? -ND_INF_D : ND_NAN_D;
    return x > 0.0 ? y : edge;
}
ND_FN float nd_log(float x) {
    float y = nd_log_join(nd_log_split(x), 0.0f);
    y = x < ND_INF_F ? y : x;
    float edge = x == 0.0f ? -ND_INF_F : ND_NAN_F;
    return x > 0.0f ? y : edge;
}

/* u = 1 + x rounds; what it lost, over u, is added to log(u). */
ND_FN double nd_log1p(double x) {
    double u = 1.0 + x;
    double part = u - 1.0;
    double lost = (1.0 - (u - part)) + (x - part);
    lost = u < 0x1p1000 ? lost : 0.0;                     /* no matter, and 1 / u may be too small */
    double y = nd_log_join(nd_log_split(u), nd_div(lost, u));
    y = x < ND_INF_D ? y : x;
    double edge = x == -1.0 ? -ND_INF_D : ND_NAN_D;
    y = x > -1.0 ? y : edge;
    return nd_fabs(x) < 0x1p-54 ? x : y;
}
ND_FN float nd_log1p(float x) {
    float u = 1.0f + x;
    float part = u - 1.0f;
    float lost = (1.0f - (u - part)) + (x - part);
    lost = u < 0x1p100f ? lost : 0.0f;                    /* no matter, and 1 / u may be too small */
    float y = nd_log_join(nd_log_split(u), nd_div(lost, u));
    y = x < ND_INF_F ? y : x;
    float edge = x == -1.0f ? -ND_INF_F : ND_NAN_F;
    y = x > -1.0f ? y : edge;
    return nd_fabs(x) < 0x1p-25f ? x : y;
}
