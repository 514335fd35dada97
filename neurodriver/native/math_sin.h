/* Sine and cosine. Methods and bounds: see math.h. */
/* sin(x + turn pi/2).  The first piece of pi/2 leaves an exact remainder (a multiple of the
 * last place of 1/2, below 1); the other two carry it on past the cancellation. */
ND_FN double nd_sin_quarter(double x, unsigned long long turn) {
    double t = nd_fma(x, 0.63661977236758138, ND_ROUND_D);
    double n = t - ND_ROUND_D;
    double a = nd_fma(-n, 0x1.921fb54442d18p+0, x);
    double b = nd_mul(n, 0x1.1a62633145c07p-54);
    double bl = nd_fma(n, -0x1.f1976b7ed8fbcp-110, nd_fma(n, 0x1.1a62633145c07p-54, -b));
    double r = a - b;
    double part = r - a;
    double rl = ((a - (r - part)) - (b + part)) - bl;
    double z = nd_mul(r, r);
    double w = nd_mul(z, z);

    double even = nd_fma(w, -7.5865765881710725e-13, -2.5052106219521895e-08);
    double odd = nd_fma(w, 1.6058529572267877e-10, 2.7557319219301919e-06);
    even = nd_fma(w, even, -0.00019841269841265017);
    odd = nd_fma(w, odd, 0.0083333333333333315);
    even = nd_fma(w, even, -0.16666666666666666);
    double half_z = 0.5 * z;
    double s = r + nd_fma(nd_mul(r, z), nd_fma(z, odd, even), nd_fma(-half_z, rl, rl));

    even = nd_fma(w, 2.0876143827993133e-09, 2.480158729874307e-05);
    odd = nd_fma(w, -1.1382456778061306e-11, -2.7557317260008837e-07);
    even = nd_fma(w, even, 0.041666666666666664);
    odd = nd_fma(w, odd, -0.0013888888888887382);
    double h = 1.0 - half_z;
    double l = (1.0 - h) - half_z;
    double c = h + (l + nd_fma(w, nd_fma(z, odd, even), -nd_mul(r, rl)));

    unsigned long long k = nd_bits(t) + turn;
    double y = (k & 1ull) != 0ull ? c : s;
    return nd_from_bits(nd_bits(y) ^ ((k & 2ull) << 62));
}
ND_FN float nd_sin_quarter(float x, unsigned int turn) {
    float t = nd_fma(x, 0.636619772f, ND_ROUND_F);
    float n = t - ND_ROUND_F;
    float a = nd_fma(-n, 0x1.921fb6p+0f, x);
    float b = nd_mul(n, -0x1.777a5cp-25f);
    float bl = nd_fma(n, -0x1.ee59dap-50f, nd_fma(n, -0x1.777a5cp-25f, -b));
    float r = a - b;
    float part = r - a;
    float rl = ((a - (r - part)) - (b + part)) - bl;
    float z = nd_mul(r, r);

    float poly = nd_fma(z, 2.72437819e-06f, -0.00019840039f);
    poly = nd_fma(z, nd_fma(z, poly, 0.00833333191f), -0.166666672f);
    float half_z = 0.5f * z;
    float s = r + nd_fma(nd_mul(r, z), poly, nd_fma(-half_z, rl, rl));

    poly = nd_fma(z, -2.72958317e-07f, 2.48005599e-05f);
    poly = nd_fma(z, nd_fma(z, poly, -0.00138888881f), 0.0416666679f);
    float h = 1.0f - half_z;
    float l = (1.0f - h) - half_z;
    float c = h + (l + nd_fma(nd_mul(z, z), poly, -nd_mul(r, rl)));

    unsigned int k = nd_bits(t) + turn;
    float y = (k & 1u) != 0u ? c : s;
    return nd_from_bits(nd_bits(y) ^ ((k & 2u) << 30));
}

ND_FN double nd_sin(double x) {
    double y = nd_fabs(x) <= 0x1p30 ? nd_sin_quarter(x, 0ull) : ND_NAN_D;
    return nd_fabs(x) < 0x1p-27 ? x : y;
}
ND_FN float nd_sin(float x) {
    float y = nd_fabs(x) <= 0x1p17f ? nd_sin_quarter(x, 0u) : ND_NAN_F;
    return nd_fabs(x) < 0x1p-13f ? x : y;
}
ND_FN double nd_cos(double x) {
    return nd_fabs(x) <= 0x1p30 ? nd_sin_quarter(x, 1ull) : ND_NAN_D;
}
ND_FN float nd_cos(float x) {
    return nd_fabs(x) <= 0x1p17f ? nd_sin_quarter(x, 1u) : ND_NAN_F;
}
