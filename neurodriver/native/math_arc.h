/* Arc functions. Methods and bounds: see math.h. */
/* The angle of the point (x + xl, y + yl), in [0, pi]; y is not negative. */
ND_FN double nd_angle(double y, double yl, double x, double xl) {
    double w = nd_fabs(x);
    bool left = (nd_bits(x) & ND_SIGN_D) != 0ull, steep = y > w;
    double wl = left ? -xl : xl;
    double a = steep ? w : y, al = steep ? wl : yl;
    double b = steep ? y : w, bl = steep ? yl : wl;
    bool endless = b == ND_INF_D;
    a = endless ? (a == ND_INF_D ? 1.0 : a - a) : a;
    b = endless ? 1.0 : b;
    double scale = b > 0x1p900 ? 0x1p-100 : b < 0x1p-900 ? 0x1p100 : 1.0;
    a = nd_mul(a, scale);
    b = nd_mul(b == 0.0 ? 1.0 : b, scale);

    /* atan(a / b) = atan(u), or pi/4 + atan(u) beyond tan(pi/8); u + ul is the quotient */
    bool far = a > nd_mul(0.41421356237309503, b);
    double n = far ? a - b : a, nl = far ? (a - (n + b)) + (al - bl) : al;
    double d = far ? a + b : b, dl = far ? (a - (d - b)) + (al + bl) : bl;
    double u = n / d;
    double ul = (nd_fma(-u, d, n) + nd_fma(-u, dl, nl)) / d;
    double s = nd_mul(u, u);
    double p = nd_fma(s, 0.01628575685520846, -0.034570561981416406);
    p = nd_fma(s, p, 0.04551593220626108);
    p = nd_fma(s, p, -0.05230454270650148);
    p = nd_fma(s, p, 0.05878928997834762);
    p = nd_fma(s, p, -0.06666424885738254);
    p = nd_fma(s, p, 0.07692296375032143);
    p = nd_fma(s, p, -0.09090908753500877);
    p = nd_fma(s, p, 0.11111111105155447);
    p = nd_fma(s, p, -0.14285714285659828);
    p = nd_fma(s, p, 0.19999999999999804);
    p = nd_fma(s, p, -0.3333333333333333);
    double small = nd_fma(nd_mul(u, s), p, nd_fma(-s, ul, ul));

    double turns = far ? 1.0 : 0.0;
    turns = steep ? 2.0 - turns : turns;
    turns = left ? 4.0 - turns : turns;
    u = steep != left ? -u : u;
    small = steep != left ? -small : small;
    double high = nd_mul(turns, 0x1.921fb54442d18p-1);
    double low = nd_fma(turns, 0x1.1a62633145c07p-55, nd_fma(turns, 0x1.921fb54442d18p-1, -high));
    double sum = high + u;
    return sum + ((u - (sum - high)) + (low + small));
}
/* The same to 2^-37 of it, for arguments of single precision. */
ND_FN double nd_angle(double y, double x) {
    double w = nd_fabs(x);
    bool left = (nd_bits(x) & ND_SIGN_D) != 0ull, steep = y > w;
    double a = steep ? w : y, b = steep ? y : w;
    bool endless = b == ND_INF_D;
    a = endless ? (a == ND_INF_D ? 1.0 : a - a) : a;
    b = endless || b == 0.0 ? 1.0 : b;
    bool far = a > nd_mul(0.41421356237309503, b);
    double u = nd_div(far ? a - b : a, far ? a + b : b);
    double s = nd_mul(u, u);
    double p = nd_fma(s, -0.04043224825885423, 0.07135325122329855);
    p = nd_fma(s, p, -0.09028983500350317);
    p = nd_fma(s, p, 0.11107495135714461);
    p = nd_fma(s, p, -0.14285612511387016);
    p = nd_fma(s, p, 0.1999999891728858);
    p = nd_fma(s, p, -0.3333333333144073);
    u = nd_fma(nd_mul(u, s), p, u);
    double turns = far ? 1.0 : 0.0;
    turns = steep ? 2.0 - turns : turns;
    turns = left ? 4.0 - turns : turns;
    return nd_fma(turns, 0x1.921fb54442d18p-1, steep != left ? -u : u);
}

/* sqrt(1 - x^2): with x two sides of a right triangle whose third side is 1. */
ND_FN nd_pair_d nd_side(double x) {
    double w = nd_fabs(x), m = 1.0 - w, s = 1.0 + w;
    double ml = (1.0 - m) - w, sl = w - (s - 1.0);
    double t = nd_mul(m, s);
    double tl = nd_fma(m, s, -t) + nd_fma(m, sl, nd_mul(s, ml));
    double c = nd_sqrt(t);
    double cl = (nd_fma(-c, c, t) + tl) / (c + c);
    return {c, c == 0.0 ? 0.0 : cl};
}
ND_FN double nd_side(float x) { return nd_sqrt(nd_mul(1.0 - (double)x, 1.0 + (double)x)); }

ND_FN double nd_atan2(double y, double x) {
    return nd_with_sign(nd_angle(nd_fabs(y), 0.0, x, 0.0), y);
}
ND_FN float nd_atan2(float y, float x) {
    return nd_with_sign((float)nd_angle(nd_fabs((double)y), (double)x), y);
}
ND_FN double nd_atan(double x) { return nd_atan2(x, 1.0); }
ND_FN float nd_atan(float x) { return (float)nd_atan((double)x); }
ND_FN double nd_asin(double x) {
    nd_pair_d c = nd_side(x);
    return nd_with_sign(nd_angle(nd_fabs(x), 0.0, c.hi, c.lo), x);
}
ND_FN float nd_asin(float x) {
    return nd_with_sign((float)nd_angle(nd_fabs((double)x), nd_side(x)), x);
}
ND_FN double nd_acos(double x) {
    nd_pair_d c = nd_side(x);
    return nd_angle(c.hi, c.lo, x, 0.0);
}
ND_FN float nd_acos(float x) { return (float)nd_angle(nd_side(x), (double)x); }
