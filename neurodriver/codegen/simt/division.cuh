/* What a model divides, on a device.
 *
 * Its text has a / nd_by() / b for a / b. nd_by is one of the two ways below, as each part of a
 * text says; both round correctly, and to both numbers below the least normal one are zero.
 */

/* Any a / b: the numbers without their exponents are divided, then the exponents.  Numbers below
 * the least normal one, given or found, count as zero; zero, infinity and NaN take the product
 * with 1 / b, which is exact for them. */
ND_FN double nd_over(double a, double b) {
    const int ah = __double2hiint(a), bh = __double2hiint(b);
    const int ae = ah >> 20 & 0x7ff, be = bh >> 20 & 0x7ff;
    const double m = __hiloint2double((ah & 0x800fffff) | 0x3ff00000, __double2loint(a));
    const double d = __hiloint2double((bh & 0x800fffff) | 0x3ff00000, __double2loint(b));
    const double q = nd_div(m, d);
    const int up = ae - be, e = (__double2hiint(q) >> 20 & 0x7ff) + up;
    const double beyond = __hiloint2double(((ah ^ bh) & 0x80000000) | (e > 0 ? 0x7ff00000 : 0), 0);
    const double y = (unsigned)(e - 1) < 2046u
        ? __hiloint2double(__double2hiint(q) + (up << 20), __double2loint(q)) : beyond;
    const double zero = __hiloint2double(ah & 0x80000000, 0);
    const double edge = __dmul_rn(ae ? a : zero, nd_reciprocal(b));
    return (unsigned)(ae - 1) < 2046u && (unsigned)(be - 1) < 2046u ? y : edge;
}
ND_FN float nd_over(float a, float b) {
    const int ab = __float_as_int(a), bb = __float_as_int(b);
    const int ae = ab >> 23 & 0xff, be = bb >> 23 & 0xff;
    const float m = __int_as_float((ab & 0x807fffff) | 0x3f800000);
    const float d = __int_as_float((bb & 0x807fffff) | 0x3f800000);
    const int q = __float_as_int(nd_div(m, d)), up = ae - be, e = (q >> 23 & 0xff) + up;
    const int beyond = ((ab ^ bb) & 0x80000000) | (e > 0 ? 0x7f800000 : 0);
    const float y = __int_as_float((unsigned)(e - 1) < 254u ? q + (up << 23) : beyond);
    const float edge = __fmul_rn(ae ? a : __int_as_float(ab & 0x80000000), nd_reciprocal(b));
    return (unsigned)(ae - 1) < 254u && (unsigned)(be - 1) < 254u ? y : edge;
}

/* a / nd_straight() / b and a / nd_branching() / b stand in the place of a / b in an expression.
 * In single precision nvcc's division takes fewer instructions, in double precision more. */
struct nd_straight {
    template <class T> ND_FN T over(T a, T b) { return a / b; }     /* whole numbers */
    ND_FN double over(double a, double b) { return nd_over(a, b); }
    ND_FN float over(float a, float b) { return nd_over(a, b); }
};
struct nd_branching {
    template <class T> ND_FN T over(T a, T b) { return a / b; }
    ND_FN double over(double a, double b) { return nd_over(a, b); }
};
template <class T, class How> struct nd_divided { T a; };
template <class T> ND_FN nd_divided<T, nd_straight> operator/(T a, nd_straight) { return {a}; }
template <class T> ND_FN nd_divided<T, nd_branching> operator/(T a, nd_branching) { return {a}; }
template <class T, class How, class U> ND_FN auto operator/(nd_divided<T, How> x, U b)
    -> decltype(x.a / b) {
    typedef decltype(x.a / b) both;
    return How::over((both)x.a, (both)b);
}
