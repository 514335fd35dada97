/* Rounding, remainders and tests: exact, so they are the same everywhere. */
ND_FN double nd_ceil(double x) { return -nd_floor(-x); }
ND_FN float nd_ceil(float x) { return -nd_floor(-x); }

/* To the nearest whole number; halves away from zero. */
ND_FN double nd_round(double x) {
    double a = nd_fabs(x), whole = nd_floor(a);
    return nd_with_sign(a - whole >= 0.5 ? whole + 1.0 : whole, x);
}
ND_FN float nd_round(float x) {
    float a = nd_fabs(x), whole = nd_floor(a);
    return nd_with_sign(a - whole >= 0.5f ? whole + 1.0f : whole, x);
}

/* x - n y for the whole number n next to x / y towards zero. */
#ifdef __CUDACC__
ND_FN double nd_fmod(double x, double y) { return fmod(x, y); }
ND_FN float nd_fmod(float x, float y) { return fmodf(x, y); }
#else
ND_FN double nd_fmod(double x, double y) { return __builtin_fmod(x, y); }
ND_FN float nd_fmod(float x, float y) { return __builtin_fmodf(x, y); }
#endif

ND_FN bool nd_isnan(double x) { return x != x; }
ND_FN bool nd_isnan(float x) { return x != x; }
ND_FN int nd_abs(int x) { return x < 0 ? -x : x; }
